"""Locks that expire by themselves: who lets go of them, and do the writes under them ask whether the lock is still theirs?"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional

from ..events import Event, KeyLock, Read, Trace, Write
from ..records import NO, YES, same_record, same_table, same_value


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


class Ignored(NamedTuple):
    """A lock whose answer nobody looks at, or that always says yes. then: what is done as if it was held."""

    take: Write
    then: Event
    mute: bool


def ignored_takes(trace: Trace) -> Iterator[Ignored]:
    for n in sorted(trace.taken):
        take = trace.events[n]
        if not isinstance(take, Write) or n not in trace.unchecked | trace.mute or not _says_lock(trace, take):
            continue
        if any(event.n > n and isinstance(event, (Read, Write)) and getattr(event, "verb", "") != "delete" and same_record(take.record, event.record) == YES for event in trace.events):
            continue  # a counter that is set up, a value that is asked for next
        then = next((event for event in trace.events[n + 1:] if event.kind in ("effect", "write", "suspend") and (n in event.ctx.unseen or n in trace.mute)
                     and getattr(event, "verb", "") != "delete"), None)
        if then is not None:
            yield Ignored(take, then, n in trace.mute)


_LOCK_WORDS = ("lock", "lease", "mutex", "busy", "running", "claim", "leader", "semaphore", "in_progress", "in-progress")


def _says_lock(trace: Trace, take: Write) -> bool:
    words = " ".join((take.record.label, trace.root)).lower()
    return any(word in words for word in _LOCK_WORDS) and not any(o.kind == "read" for o in take.payload.origins)


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


def unfenced_by_rows(trace: Trace) -> Iterator[tuple[Write, Write]]:
    """(write, take) of each write that relies on a lease which is a row: taken under a condition on its end, committed, and nothing in the write asks
    whether it still holds."""
    takes = [write for write in trace.of("write") if _takes_lease(trace, write)]
    for take in takes:
        for write in trace.of("write"):
            if write.n > take.n and _relies_on(trace, take, write):
                yield write, take


def _takes_lease(trace: Trace, write: Write) -> bool:
    """A holder and the end of the lease are written, under a condition on its end as it was."""
    if write.verb not in ("update", "upsert") or write.record.family not in ("sql", "orm") or not write.columns:
        return False
    columns = {name for name, _ in write.columns}
    ends = {name for name in columns if trace.match("lease_end", name)}
    tested = {p.column for p in write.preconditions if p.kind in ("bound", "state", "witness")}
    return bool(ends & tested) and any(trace.match("holder_column", name) for name in columns)


def _relies_on(trace: Trace, take: Write, write: Write) -> bool:
    if write.verb not in ("update", "replace", "upsert", "delete") or write.conditional or write.open_where or write.unit or write.record.family == "file":
        return False
    if write.record.family in ("sql", "orm") and same_table(take.record.table, write.record.table) != NO:
        return False
    if not any(same_value(one, two) == YES for _, one in take.record.key for _, two in write.record.key):
        return False
    given = {o for value in (write.payload, *(v for _, v in write.columns or ()), *(p.value for p in write.preconditions)) for o in value.origins}
    if any(o.kind == "outcome" and o.n == take.n for o in given) or any(trace.match("version_column", name) for name, _ in write.columns or ()):
        return False  # the token goes along
    if take.ctx.held & write.ctx.held:
        return False  # one transaction, or another lock over both
    return any(take.n < event.n < write.n for event in trace.of("commit")) or any(lock.scope == "block" for lock in take.ctx.held)
