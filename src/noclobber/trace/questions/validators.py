"""Witnesses on their way back: are they what came with the value, and as they came?"""
from __future__ import annotations

from typing import Iterator, Optional

from ..events import Precondition, Read, Site, Trace, Write
from ..records import NO, YES
from ..values import ALTERED, Origin, Template, Value
from .guards import guard_between, reads_in, same
from .writes import blind_writes


def misused(trace: Trace) -> Iterator[tuple[Write, str, str, Optional[Site]]]:
    """(write, kind, header or argument, where it was read or compared) of each write whose opaque tag was misused. One for a write.

    kinds: 'altered' (cut, counted with), 'rebuilt' (put together by hand), 'order' (compared for order before), 'other' (of another record),
    'no-witness' (it came with the read and is not its version), 'any' (`*` after a read), 'exists' (a comparison that only asks whether the record is there).
    """
    for write in trace.of("write"):
        for condition in write.preconditions:
            if condition.kind != "witness":
                continue
            found = _no_witness(trace, write, condition)
            if found is None and (condition.where == "header" or write.record.family == "object"):
                found = _misuse(trace, write, condition)
            elif found is None and write.record.family == "document" and (trace.match("entity_tag", condition.column) or condition.column in _PLACES):
                other = _of_another(trace, write, condition.value)
                found = ("other", other.site) if other is not None else None
            if found is not None:
                yield write, found[0], condition.column, found[1]
                break
    for write, read, _, answer in blind_writes(trace, ("http", "object", "document"), ("replace",)):
        # A document's tag that is handed over, and then not compared (`MatchConditions.IfPresent`); that something exists is asked in many ways.
        star = next((p for p in write.preconditions if p.kind == "exists" and (write.record.family != "document" or p.value.dotted)), None)
        if star is not None and answer == YES:
            yield write, "exists" if star.value.dotted else "any", star.column, read.site


#: Arguments that say at which place of its log a document was read.
_PLACES = frozenset(("if_seq_no", "if_primary_term"))


def _no_witness(trace: Trace, write: Write, condition: Precondition) -> Optional[tuple[str, Optional[Site]]]:
    """A part of the read's answer that is no version, whatever it is called (the first member of what Consul's get() gives)."""
    for read, origin in reads_in(trace, condition.value):
        if origin in condition.value.same and "".join(origin.path) in (read.spec.get("no_witness") or () if read.spec is not None else ()) and same(trace, read, write) != NO:
            return "no-witness", read.site
    return None


def _misuse(trace: Trace, write: Write, condition: Precondition) -> Optional[tuple[str, Optional[Site]]]:
    value = condition.value
    if _is_rebuilt(value):
        return "rebuilt", None
    if any(ALTERED in origin.path for origin in value.origins):
        return "altered", next((read.site for read, _ in reads_in(trace, value)), None)
    for origin in sorted(write.ctx.control, key=str):
        site = trace.ordered.get(Origin(origin.kind, origin.n))
        if site is not None and isinstance(trace.events[origin.n], Read) and same(trace, trace.events[origin.n], write) != NO:
            return "order", site
    other = _of_another(trace, write, value)
    return ("other", other.site) if other is not None else None


_MADE_HERE = frozenset(("number", "digest"))


def _is_rebuilt(value: Value) -> bool:
    """A digest of the content, quotes or `W/` around a number or around a part of a tag."""
    if "digest" in value.flags:
        return True
    if type(value.shape) is not Template:
        return False
    text = "".join(part for part in value.shape.parts if isinstance(part, str))
    holes = [part for part in value.shape.parts if isinstance(part, Value)]
    return text.startswith("W/") and bool(holes) or '"' in text and any(hole.flags & _MADE_HERE for hole in holes)


def _of_another(trace: Trace, write: Write, value: Value) -> Optional[Read]:
    """The read of another record that the tag came with, where the content comes from a read of this one."""
    tags = [(read, origin) for read, origin in reads_in(trace, value) if origin in value.same]
    if len(tags) != 1 or tags[0][0].record.family != write.record.family or same(trace, tags[0][0], write) != NO:
        return None
    other = tags[0][0]
    own = [read for read, _ in reads_in(trace, write.payload) if same(trace, read, write) == YES]
    if not own or other in own or any(read is other for read, _ in reads_in(trace, write.payload)) and not _of_one_kind(other, own[0]):
        return None
    return other


def _of_one_kind(a: Read, b: Read) -> bool:
    """Two resources under one form of address (`/shops/{source}/prices`, `/shops/{target}/prices`): each has a tag of its own."""
    mine, other = ([tuple(part for part in v.shape.parts if isinstance(part, str)) for _, v in read.record.key if type(v.shape) is Template] for read in (a, b))
    return bool(mine) and mine == other


def split_witnesses(trace: Trace) -> Iterator[tuple[Write, Read, Read]]:
    """(write, read of the value, later read of the witness) of each conditional write whose two halves come from separate requests."""
    for write in trace.of("write"):
        witness = {origin for p in write.preconditions if p.kind == "witness" for origin in p.value.origins}
        later = [trace.events[n] for n in sorted({o.n for o in witness if o.kind == "read"})]
        later = [read for read in later if isinstance(read, Read) and same(trace, read, write) != NO]
        if not later:
            continue
        content = {o for value in (write.payload, *(v for _, v in write.columns or ())) for o in value.origins} - witness
        values = [trace.events[n] for n in sorted({o.n for o in content if o.kind == "read"})]
        values = [read for read in values if isinstance(read, Read) and same(trace, read, write) != NO]
        if not values or any(read in values for read in later) or max(r.n for r in values) > min(r.n for r in later):
            continue
        if any(guard_between(trace, read, write) is not None for read in values) or _tied(trace, write, values, later):
            continue
        yield write, values[-1], later[0]


def _tied(trace: Trace, write: Write, values: list, later: list) -> bool:
    """The second read answers only for the version of the first, or both versions were compared."""
    numbers = {read.n for read in values}
    for read in later:
        if any(o.kind == "read" and o.n in numbers for p in read.preconditions for o in p.value.origins):
            return True
    return any(
        o.kind == "read" and o.n in numbers and o.path and (trace.match("version_column", _name(o)) or trace.match("entity_tag", _name(o)))
        for o in write.ctx.control
    )


def _name(origin: Origin) -> str:
    return str(origin.path[-1]).strip("[]'\"()")
