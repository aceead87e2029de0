"""Effects that a conditional write records afterwards: when it is refused, the effect is done and nobody knows."""
from __future__ import annotations

from typing import Iterator, NamedTuple

from ..events import Effect, Event, Read, Trace, Write
from ..records import NO, same_record
from .effects import LASTING
from .guards import GUARDS, same


class Unrecorded(NamedTuple):
    effect: Effect
    write: Write


def unrecorded(trace: Trace) -> Iterator[Unrecorded]:
    """(effect, write): the write that tells of the effect comes after it and may be refused; nothing was written of the intent before."""
    said: set = set()
    for write in trace.of("write"):
        if not write.conditional or write.verb not in ("update", "replace", "upsert") or write.unit or write.record.family in ("file", "remote"):
            continue
        for effect in trace.of("effect"):
            if effect.n >= write.n or effect.n in said or effect.what not in LASTING or effect.key is not None:
                continue
            if _tells(trace, write, effect) and _same_path(trace, effect, write) and not _intended(trace, effect, write) and not _safe(effect, write):
                said.add(effect.n)
                yield Unrecorded(effect, write)


def _tells(trace: Trace, write: Write, effect: Effect) -> bool:
    """Is it about the same record, and does the write say that it is done: by what it answered, or by a state?"""
    keys = {(o.kind, o.n, o.path) for _, value in write.record.key for o in value.same}
    about = any((o.kind, o.n, o.path) in keys or o.kind == "read" and isinstance(trace.events[o.n], Read) and same(trace, trace.events[o.n], write) != NO for o in effect.given)
    answered = any(o.kind == "outcome" and o.n == effect.n for value in (write.payload, *(v for _, v in write.columns or ())) for o in value.origins)
    stated = any(trace.match("state_column", name) for name, _ in write.columns or ())
    return about and (answered and stated if effect.what == "http" else answered or stated)


def _same_path(trace: Trace, effect: Effect, write: Write) -> bool:
    """No test has parted the ways to the two, the write is in every loop of the effect and no other: a retry has rules of its own."""
    if effect.ctx.loops != write.ctx.loops or any(not trace.events[n].items for n in effect.ctx.loops):
        return False
    ways = {(o.n, o.path) for o in effect.ctx.control if o.kind == "test" and len(o.path) == 1}
    return not any(o.kind == "test" and len(o.path) == 1 and any(n == o.n and path != o.path for n, path in ways) and (o.n, o.path) not in ways for o in write.ctx.control)


def _intended(trace: Trace, effect: Effect, write: Write) -> bool:
    """Was the record, or one of the same function, written before the effect: a claim, an intent, an outbox row?"""
    for event in trace.of("write"):
        if event.n < effect.n and event.verb in ("update", "replace", "upsert", "create", "append") and (event.verb in ("create", "append") or same_record(event.record, write.record) != NO):
            return True
    return False


def _safe(effect: Event, write: Event) -> bool:
    """A lock that is held over both: nobody else can make the write be refused."""
    return any(lock.kind in GUARDS for lock in effect.ctx.held & write.ctx.held)
