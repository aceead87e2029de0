"""Versions that a write compares, or that other code compares, and that it leaves as they are."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional

from ..events import Precondition, Read, Site, Trace, Write
from ..expressions import DESCRIPTORS
from .guards import column_of
from .refusals import names_row
from .tests import is_constant, same_constant

#: Names of versions that the store or the content itself moves, or that are the record's own address.
_MOVED_BY_OTHERS = ("xmin", "rowversion", "hash", "digest", "checksum", "sha", "etag", "_seq_no", "modifyindex", "resourceversion", "resource_version")
#: Names of times: a trigger or the table's own `ON UPDATE` may move them. Documents have neither.
_TIMES = ("updated", "modified", "timestamp", "_at")


@dataclass(slots=True)
class Unbumped:
    """how: 'compared' (its own precondition), 'around' (other code compares it), 'lease' (a takeover that keeps the token)."""

    write: Write
    version: str
    how: str
    site: Site
    doubts: frozenset = frozenset()


def unbumped(trace: Trace) -> Iterator[Unbumped]:
    for write in trace.of("write"):
        if write.verb == "replace" and write.kept and not _moved_by_others(write, write.kept):
            yield Unbumped(write, write.kept, write.kept_how, write.site)
        if write.verb not in ("update", "upsert") or write.open_where or write.unit and not write.changes:
            continue
        columns = {name for name, _ in write.columns or ()}
        if write.kept and write.kept not in columns:
            changed = [trace.events[n].site for n, _ in sorted(write.changes)] if write.unit else []
            yield Unbumped(write, write.kept, write.kept_how, changed[0] if changed else write.site)
        elif columns and "?" not in columns and not write.unit:
            compared = _compared(trace, write, columns)
            if compared is not None:
                yield Unbumped(write, compared.column, "compared", write.site)


def _compared(trace: Trace, write: Write, columns: set) -> Optional[Precondition]:
    """The version in the write's condition that it does not move.

    Its value comes from a read of that column (then it is no part of the key), or it stands beside a key that names the row already.
    """
    if any(p.kind == "state" and _leaves(write, p) for p in write.preconditions):
        return None  # the state that the condition asks for is gone after the write: a second one is refused for that
    for precondition in write.preconditions:
        name = precondition.column
        if precondition.kind != "witness" or name in columns or not trace.match("version_column", name) or _moved_by_others(write, name):
            continue
        reads = [o for o in precondition.value.same if o.kind == "read"]
        if any(_is_that_column(trace, o, name) for o in reads) and names_row(write, without=name) and not _was_key(trace, write, precondition, reads):
            return precondition
    return None


def _leaves(write: Write, precondition: Precondition) -> bool:
    """Does the write set the column of its condition to another constant?"""
    new = dict(write.columns or ()).get(precondition.column)
    return new is not None and is_constant(new) and is_constant(precondition.value) and not same_constant(new, precondition.value)


def _moved_by_others(write: Write, name: str) -> bool:
    low = name.lower()
    return any(part in low for part in _MOVED_BY_OTHERS) or write.record.family != "document" and any(part in low for part in _TIMES)


def _is_that_column(trace: Trace, origin: object, name: str) -> bool:
    """Its name may stand before a descriptor of its type: `item["version"]["N"]`."""
    names = [str(step).strip("[]'\"").lower() for step in origin.path]
    return bool(names) and (column_of(trace, origin) == name.lower() or name.lower() in (names[-1], *(names[-2:-1] if str(names[-1]).upper() in DESCRIPTORS else ())))


def _was_key(trace: Trace, write: Write, precondition: Precondition, reads: list) -> bool:
    """Rows with the same key were gone through, and their versions tell them apart (`model_versions`): such a column is part of the key."""
    names = {column for column, _ in write.record.key}
    for origin in reads:
        read = trace.events[origin.n]
        if not isinstance(read, Read):
            continue
        known = {column for column, _ in read.record.key}
        if precondition.column in known or names <= known and any(loop > read.n and trace.events[loop].items for loop in write.ctx.loops):
            return True
    return False
