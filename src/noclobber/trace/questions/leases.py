"""Locks that expire by themselves: who lets go of them, and do the writes under them ask whether the lock is still theirs?"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional

from ..events import KeyLock, Trace


class Unowned(NamedTuple):
    """A lock's key that is deleted, or given a longer life, by somebody who may not hold it any more. taken: where it was taken, if in sight."""

    event: KeyLock
    taken: Optional[KeyLock]


def unowned(trace: Trace) -> Iterator[Unowned]:
    events = [event for event in trace.events if isinstance(event, KeyLock)]
    takes = [event for event in events if event.how == "take"]
    renewed = {event.key for event in events if event.how == "extend"}
    for event in events:
        if event.how == "take" or event.owned or event.handled:
            continue
        mine = [take for take in takes if take.key == event.key and take.n < event.n and take.key != "…"]
        # `if r.setnx(k, v): r.expire(k, 30)` gives the first lifetime.
        mine = [take for take in mine if take.ttl or event.how == "drop" and event.key in renewed]
        if mine or event.shown:
            yield Unowned(event, mine[-1] if mine else None)


@contextmanager
def without_ttl_locks(trace: Trace) -> Iterator[None]:
    """The same trace as if locks that expire by themselves were not there."""
    saved = [(event, event.ctx) for event in trace.events]
    try:
        for event, ctx in saved:
            event.ctx = ctx._replace(held=frozenset(lock for lock in ctx.held if lock.kind != "ttl"))
        yield
    finally:
        for event, ctx in saved:
            event.ctx = ctx
