"""What a retry after a conflict sends again: is it read anew?"""
from __future__ import annotations

from typing import Optional

from ..events import Change, Loop, Read, Trace, Write
from ..records import NO, YES, same_record
from ..values import Origin
from .guards import column_of, same

INSIDE, OUTSIDE = "inside", "outside"


def place_of(trace: Trace, loop: Loop, write: Write, origin: Origin) -> Optional[str]:
    """Where a value was had: inside the scope (anew in each attempt) or outside (the same each time); None where it does not matter or nobody can tell."""
    if origin.kind == "read":
        return INSIDE if loop.n in trace.events[origin.n].ctx.loops or _is_touched(trace, loop, write, origin) else OUTSIDE
    if origin.kind == "opaque":
        made = trace.made.get(origin.n)
        if made is None:
            return None
        loops, derived = made
        if loop.n in loops:
            return None if derived else INSIDE
        return INSIDE if _is_touched(trace, loop, write, origin) else OUTSIDE
    if origin.kind == "param":
        if any(step in ("[*]", "()", "(.)") for step in origin.path):
            return None  # `repo.get(key)`: had by a call, nobody can tell when
        return INSIDE if _is_touched(trace, loop, write, origin) else OUTSIDE
    if origin.kind == "outcome":
        return INSIDE if loop.n in trace.events[origin.n].ctx.loops else OUTSIDE
    if origin.kind in ("exc", "item", "unknown", "clock", "random", "server"):
        return INSIDE
    return None


def _is_touched(trace: Trace, loop: Loop, write: Write, origin: Origin) -> bool:
    """Something unresolved is called on it, or given it, inside the scope (`doc.reload()`): it may be another afterwards."""
    return any(
        loop.n in loops and at is not write.site.at and len(path) < len(origin.path) and origin.path[:len(path)] == path
        for path, loops, at in trace.touched.get((origin.kind, origin.n), ())
    )


def could_conflict(write: Write) -> bool:
    """It carries a condition, or its document does (`_rev`, `resourceVersion`): somebody asks for its conflict answer."""
    return write.conditional or write.conflict_handled and write.verb in ("replace", "update") and bool(write.payload.origins)


def stale_part(trace: Trace, loop: Loop, write: Write) -> Optional[tuple]:
    """(what is stale, its read or None, why) when the scope sends `write` again with something from before the conflict."""
    if not could_conflict(write) or write.verb == "create" and write.record.family == "document":
        return None  # a document that is there already refuses its second making, whatever its version

    def concerns(origin: Origin) -> bool:
        read = trace.events[origin.n]
        return isinstance(read, Read) and (write.record.family == "accessor" or same(trace, read, write) != NO or _of_loaded(trace, read, write))

    payload = {o for _, value in write.columns or () for o in value.origins} | set(write.payload.origins)
    witness = {o for p in write.preconditions if p.kind == "witness" for o in p.value.origins}
    if loop.items and any(o.kind == "item" for o in payload):
        return None
    content = {o: place_of(trace, loop, write, o) for o in payload - witness or payload}
    reads = sorted((o for o, place in content.items() if o.kind == "read" and place == OUTSIDE and concerns(o)), key=str)
    fresh = [o for o, place in content.items() if place == INSIDE and (o.kind == "opaque" or o.kind == "read" and concerns(o))]
    if reads and not fresh:
        return "content", trace.events[reads[0].n], "it was computed from a read outside the loop" if loop.how == "loop" else "it was computed from a read outside"
    places = {o: place_of(trace, loop, write, o) for o in witness if o.kind != "const"}
    if OUTSIDE in places.values() and INSIDE not in places.values() and not any("[*]" in o.path and o.kind != "opaque" for o in places) and not any(o.kind == "read" for o in fresh):
        read = next((trace.events[o.n] for o in sorted(places, key=str) if o.kind == "read"), None)
        if read is None or concerns(next(o for o in sorted(places, key=str) if o.kind == "read")):
            return "version", read, "it was read outside the loop" if read is not None and loop.how == "loop" else "it came in from outside and never changes"
    if n_unseen(trace, loop, write, payload | witness):
        read = next(trace.events[o.n] for o in sorted(payload | witness, key=str) if o.kind == "read" and (getattr(trace.events[o.n], "cached", False) or getattr(trace.events[o.n], "snapshot", False)))
        return "content", read, "the re-read is answered from what was read before (an identity map, a cache, one snapshot) and cannot see the winner"
    decided = decided_outside(trace, loop, write)
    if decided is not None:
        return "decision", decided, "it was taken on a read outside the loop, and the record may be in another state now"
    return None


def _of_loaded(trace: Trace, read: Read, write: Write) -> bool:
    """An earlier load of the row whose loaded object is written."""
    loads = (trace.events[o.n] for o in write.base if o.kind == "read")
    return any(isinstance(load, Read) and same_record(read.record, load.record) == YES for load in loads)


def decided_outside(trace: Trace, loop: Loop, write: Write) -> Optional[Read]:
    """The read outside the scope on whose field it was decided to change that very field, where nothing inside asks again."""
    tested: dict[str, Read] = {}
    for origin in sorted(write.ctx.control, key=str):
        if origin.kind != "read" or not origin.path:
            continue
        read = trace.events[origin.n]
        if not isinstance(read, Read) or same(trace, read, write) == NO:
            continue
        if loop.n in read.ctx.loops:
            return None
        tested.setdefault(_field(trace, origin), read)
    if not tested:
        return None
    written = {column.lower() for column, _ in write.columns or ()}
    for event in trace.events:
        if isinstance(event, Change) and loop.n in event.ctx.loops and event.n < write.n and event.field:
            written.add(str(event.field[-1]).strip("[]'\"").lower())
    return next((read for field, read in tested.items() if field in written), None)


def _field(trace: Trace, origin: Origin) -> str:
    column = column_of(trace, origin)
    last = str(origin.path[-1]).strip("[]'\"").lower()
    return column if column is not None and len(origin.path) == 1 else last


def n_unseen(trace: Trace, loop: Loop, write: Write, origins: set) -> bool:
    """Every read of it in the loop is answered from a session's identity map, and nothing expires it before the next try."""
    if write.n not in loop.unseen:
        return False
    reads = [trace.events[o.n] for o in origins if o.kind == "read" and loop.n in trace.events[o.n].ctx.loops]
    reads = [read for read in reads if isinstance(read, Read) and same(trace, read, write) != NO]
    return bool(reads) and all(read.cached or read.snapshot for read in reads)
