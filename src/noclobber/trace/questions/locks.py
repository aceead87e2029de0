"""A row lock is there: was what is written read under it?"""
from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional

from ..events import Change, Event, Lock, Read, Site, Trace, Write
from ..records import NO, YES, same_record
from ..values import Origin
from .guards import GUARDS


class Stale(NamedTuple):
    """site: the lock that does not help; why: words that follow "the row lock here"; unlock: where it was released, or None."""

    site: Site
    why: str
    unlock: Optional[Site] = None


def copies(trace: Trace, write: Write, change: Optional[Change], origins: Iterable[Origin]) -> dict:
    """{origin of a copy of the written row: the event that loaded it, or None}: other loads of the same record that the value derives from,
    and the object whose key the written row was loaded by."""
    loading = loaded_by(trace, change) if change is not None else None
    if loading is None:
        return {}
    found: dict = {}
    for origin in origins:
        read = trace.events[origin.n] if origin.kind == "read" else None
        if isinstance(read, Read) and read.n != loading.n and origin.path and read.record.family == "orm" and same_record(read.record, loading.record) == YES \
                and (read.record.key or not read.open_filter and not loading.open_filter):
            found[Origin("read", read.n)] = read
    for column, value in loading.record.key:
        if column in ("pk", "id"):
            for origin in value.same:
                if origin.kind == "param" and trace.route:
                    continue  # what a client has sent is no copy that was loaded here
                if origin.path and str(origin.path[-1]) in ("pk", "id") and origin.kind in ("opaque", "param", "read"):
                    base = origin._replace(path=origin.path[:-1])
                    event = trace.events[base.n] if base.kind == "read" and not base.path else None
                    found[base] = event if isinstance(event, Read) else None
    return found


def loaded_by(trace: Trace, change: Change) -> Optional[Read]:
    """The read that the changed object, or the one that it is a part of, came from; None: it came from elsewhere."""
    numbers = [change.row] if change.row is not None else [origin.n for origin in change.base if origin.kind == "read"]
    reads = [trace.events[n] for n in numbers]
    return max((read for read in reads if isinstance(read, Read)), key=lambda read: read.n, default=None)


def stale_lock(trace: Trace, source: Optional[Read], write: Write, change: Optional[Event]) -> Optional[Stale]:
    """Why a row lock that is there does not guard a value of `source` (None: of an object that came from elsewhere); None: there is none."""
    record = write.record
    loading = loaded_by(trace, change) or source if isinstance(change, Change) else source
    of_row = loading.record if isinstance(loading, Read) else record
    held = write.ctx.held | (frozenset(lock for lock in change.ctx.held if lock.scope == "tx") if write.unit and change is not None else frozenset())
    if source is not None and source.lock is not None and source.lock.kind == "row" and source.lock in write.ctx.freed:
        return Stale(source.site, "was given back before the write: its transaction ends in between")
    for lock in sorted(held, key=lambda lock: lock.n):
        if lock.kind != "row" or lock.source is None:
            continue
        locking = trace.events[lock.source]
        if not isinstance(locking, Read) or source is not None and locking.n <= source.n and locking.n != getattr(loading, "n", -1):
            continue
        if same_record(locking.record, of_row) == NO and locking.n != getattr(loading, "n", -1) and not _same_table(locking, of_row):
            continue
        if locking.n == getattr(loading, "n", -1):
            return Stale(locking.site, "is on this copy, but the value was computed from one that was loaded before it")
        return Stale(locking.site, "was taken after the row was loaded, and the older copy is written")
    for event in trace.of("lockquery"):
        if not event.used and event.n < write.n and _same_table(event, of_row):
            return Stale(event.site, "is asked for by a query that nobody runs")
    return None


def remembered(trace: Trace, source: Read) -> Optional[Read]:
    """The earlier load of the row in the same session, whose attributes a locked load gives back as they were; None: they are read anew."""
    if not source.cached or source.lock is None or source.lock.kind != "row":
        return None
    for event in trace.events[:source.n]:
        if isinstance(event, Read) and event.record.family == "orm" and event.lock is None and event.columns is None and _one_session(event, source) \
                and event.cached and same_record(event.record, source.record) == YES and not _expired(trace, event.n, source.n):
            return event
    return None


def _expired(trace: Trace, first: int, last: int) -> bool:
    return any(event.kind in ("commit", "expire") for event in trace.events[first:last])


def _one_session(a: Read, b: Read) -> bool:
    if a.session is None or b.session is None:
        return True
    return a.session is b.session or bool(a.session.same & b.session.same) or bool(a.session.objs & b.session.objs)


def _same_table(event: Event, record: object) -> bool:
    return event.record.table is not None and event.record.table == record.table


def held_over(lock: Lock, *events: Event) -> bool:
    return lock.kind in GUARDS and all(lock in event.ctx.held for event in events)


class Outside(NamedTuple):
    """A row lock that is asked for where no transaction is open. begin: the transaction that the function opens after it, or None."""

    read: Read
    why: str
    begin: Optional[Event] = None


def locks_outside(trace: Trace) -> Iterator[Outside]:
    """Row locks evaluated where the connection is visibly in autocommit, where the function opens its transaction only afterwards, or where a
    framework calls the root without one."""
    for read in trace.of("read"):
        if read.outside == "autocommit":
            yield Outside(read, "the connection commits each statement, so the lock is given back with this one")
        elif read.outside:
            begin = next((event for event in trace.of("begin") if event.n > read.n and event.ctx.calls == read.ctx.calls), None)
            if begin is not None:
                yield Outside(read, "the transaction is opened only after it", begin)
            elif trace.entry:
                yield Outside(read, f"a {_ENTRIES[trace.entry]} is called without a transaction")
            elif trace.route and read.outside == "request":
                yield Outside(read, "a handler of requests is called without a transaction")


_ENTRIES = {"command": "management command", "task": "task of a queue", "script": "script"}
