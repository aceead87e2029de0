"""What a retry after a conflict sends again: is it read anew?"""
from __future__ import annotations

from typing import Any, Iterable, Optional

from ..events import Loop, Read, Trace, Write
from ..records import NO
from ..values import Origin
from .guards import same


def is_stale_in(loop: Loop, origins: Iterable[Origin], trace: Trace, accept: Any) -> Optional[Origin]:
    """An origin read outside the loop, when all that `accept` lets count was read outside; None when something is read anew inside."""
    outside: Optional[Origin] = None
    for origin in sorted(origins, key=str):
        if origin.kind != "read" or not accept(origin):
            continue
        if loop.n in trace.events[origin.n].ctx.loops:
            return None
        outside = outside or origin
    return outside


def stale_part(trace: Trace, loop: Loop, write: Write) -> Optional[tuple]:
    """(what is stale, its read or None, why) when the loop sends `write` again with something from before the conflict."""
    if not write.conditional:
        return None
    def concerns(origin: Origin) -> bool:
        read = trace.events[origin.n]
        return isinstance(read, Read) and (write.record.family == "accessor" or same(trace, read, write) != NO)

    payload = {o for _, value in write.columns or () for o in value.origins} | set(write.payload.origins)
    witness = {o for p in write.preconditions if p.kind == "witness" for o in p.value.origins}
    if any(o.kind == "item" for o in payload) and loop.items:
        return None
    origin = is_stale_in(loop, payload - witness or payload, trace, concerns)
    if origin is not None:
        return "content", trace.events[origin.n], "it was computed from a read outside the loop"
    origin = is_stale_in(loop, witness, trace, concerns)
    if origin is not None:
        return "version", trace.events[origin.n], "it was read outside the loop"
    handed = [o for o in witness if o.kind in ("param", "opaque") and not str(o.path[-1:]).count("()")]
    if witness and all(o.kind in ("param", "const") for o in witness) and handed and write.record.family != "accessor":
        if not any(o.kind == "read" for o in payload):
            return "version", None, "it came in from outside and never changes"
    if n_unseen(trace, loop, write, payload | witness):
        read = next(trace.events[o.n] for o in sorted(payload | witness, key=str) if o.kind == "read" and getattr(trace.events[o.n], "cached", False))
        return "content", read, "the session answers the read from its identity map and cannot see the winner"
    return None


def n_unseen(trace: Trace, loop: Loop, write: Write, origins: set) -> bool:
    """Every read of it in the loop is answered from a session's identity map, and nothing expires it before the next try."""
    if write.n not in loop.unseen:
        return False
    reads = [trace.events[o.n] for o in origins if o.kind == "read" and loop.n in trace.events[o.n].ctx.loops]
    reads = [read for read in reads if isinstance(read, Read) and same(trace, read, write) != NO]
    return bool(reads) and all(read.cached for read in reads)
