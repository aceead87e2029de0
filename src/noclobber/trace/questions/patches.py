"""Partial updates that write every field of the patch, the unset ones as NULL."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

from ..events import Change, Dump, Event, Trace
from ..values import Origin
from .tests import tests_before


@dataclass(slots=True)
class Patch:
    dump: Dump
    use: Event
    label: str
    doubts: frozenset


def unset_written(trace: Trace) -> Iterator[Patch]:
    for dump in trace.of("dump"):
        if not _is_partial(trace, dump) or _asks_what_was_sent(trace, dump) or _is_of_another(trace, dump):
            continue
        origin = Origin("dump", dump.n)
        use = next((event for event in trace.events if event.n != dump.n and _writes(event, origin) and not _asked(trace, event, origin)), None)
        if use is not None and not ((_replaces(trace, dump) or _is_part(trace, dump)) and _in_one_column(use, origin)):
            label = use.record.label if use.kind == "write" else dump.label or "the row"
            yield Patch(dump, use, label, frozenset() if dump.optional or dump.handler == "keys" else frozenset(("class-unknown",)))


def _is_partial(trace: Trace, dump: Dump) -> bool:
    named = bool(dump.label) and trace.match("partial_class", dump.label)
    if dump.handler == "put":
        return named
    if dump.handler == "update" and dump.label and dump.whole and not dump.all_optional and not trace.match("patch_class", dump.label):
        return named  # `update(id, user)` of a repository: by its name alone it may be given complete records
    if dump.handler in ("patch", "update", "keys"):
        return True
    return named or bool(dump.optional) and trace.match("patch_class", dump.label)


#: Where a model keeps the names of the fields that were sent.
_SENT = frozenset(("model_fields_set", "__fields_set__"))


def _asks_what_was_sent(trace: Trace, dump: Dump) -> bool:
    """`if "tokens" not in settings.model_fields_set: data.pop("tokens")`: the author knows the difference, field by field."""
    return any(o.path and str(o.path[-1]) in _SENT and o._replace(path=o.path[:-1]) in dump.source
               for test in trace.of("test") for value in (test.left, test.right) for o in value.origins)


def _is_of_another(trace: Trace, dump: Dump) -> bool:
    """`if not isinstance(data, TalkUpdate): data = TalkUpdate(**data.model_dump())`: it is of another class than the one that its annotation names first."""
    for test, branch in tests_before(trace, dump):
        ref = test.left.ref
        if branch == "no" and ref is not None and ref[0] == "isinstance" and ref[1].same & dump.source:
            cls = ref[2].ref
            if cls is not None and cls[0] == "class" and cls[1].name == dump.label:
                return True
    return False


def _replaces(trace: Trace, dump: Dump) -> bool:
    """`update_settings(config)`: the whole of what came in, of a class that is no patch; only the function's name may mean a partial update."""
    return dump.handler == "update" and dump.whole and not trace.match("patch_class", dump.label) and not trace.match("partial_class", dump.label)


def _is_part(trace: Trace, dump: Dump) -> bool:
    """`step.usage = result.usage.model_dump()`: a part of what came in, where neither is of a class that is a patch, is a value of its own."""
    return not dump.whole and not dump.of_patch and dump.handler in ("", "update") and not trace.match("patch_class", dump.label) and not trace.match("partial_class", dump.label)


def _in_one_column(event: Event, origin: Origin) -> bool:
    """Does the dump become the value of one column (a JSON document that is replaced), not columns of the record?"""
    if isinstance(event, Change):
        return not str(event.field[0]).startswith("<")
    return [name for name, value in event.columns or () if origin in value.origins and name != "?"] != [] and len([name for name, value in event.columns if origin in value.origins]) == 1


def _writes(event: Event, origin: Origin) -> bool:
    if isinstance(event, Change):
        if origin not in event.value.origins or str(event.field[0]).startswith("["):
            return False
        return event.row is not None or any(base.kind in ("read", "opaque", "param") and base.n != "self" for base in event.base)
    if event.kind != "write" or event.verb not in ("update", "upsert", "replace") or event.record.family not in ("orm", "sql"):
        return False
    return any(origin in value.origins for _, value in event.columns or ()) or origin in event.payload.origins and not event.changes


def _asked(trace: Trace, event: Event, origin: Origin) -> bool:
    """Is each value tested before it is written (`if value is not None`)?"""
    return any(origin in test.left.origins or origin in test.right.origins for test, _ in tests_before(trace, event))
