"""Saves that write every column of a row although one or two were changed."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional

from ..events import Event, Read, Site, Trace, Write
from .guards import GUARDS, anchor, guard_between
from .locks import loaded_by
from .objects import in_own_method
from .tests import on_one_way, unchanged_under_lock

MAX_CHANGED = 2  # columns; who changes more means the row as a whole
_REMOTE = frozenset(("http", "model", "remote", "email", "payment", "sms", "chat"))
_REMOTE_FAMILIES = frozenset(("http", "object"))


@dataclass(slots=True)
class FullSave:
    """fields: the changed columns; between: the model, network or sleep call that stands between load and save, or None."""

    write: Write
    fields: tuple
    site: Site
    read: Optional[Read]
    between: Optional[Event]
    doubts: frozenset


def full_saves(trace: Trace) -> Iterator[FullSave]:
    for write in trace.of("write"):
        if write.record.family != "orm" or not write.full or write.alone or write.conditional or write.verb != "update":
            continue
        if write.text == "merge":
            yield FullSave(write, tuple(sorted(column for column, _ in write.columns or ())), write.site, None, None, frozenset())
            continue
        changes = [trace.events[n] for n, _ in sorted(write.changes)]
        fields = tuple(sorted({str(path[0]) for _, path in write.changes}))
        if not changes or len(fields) > MAX_CHANGED or any(in_own_method(trace, change) for change in changes):
            continue
        read = next((found for found in map(lambda change: loaded_by(trace, change), changes) if found is not None), None)
        if read is None and not (trace.entry == "task" and all(origin.kind == "param" and not origin.path and origin.n != "self" for origin in write.base)):
            continue
        if read is not None and (read.partial or read.columns is not None or guard_between(trace, read, write) is not None):
            continue
        if unchanged_under_lock(trace, write.base, write):
            continue
        if read is None and any(lock.kind in GUARDS for lock in write.ctx.held):
            continue
        first = read.n if read is not None else -1
        between = next((event for event in trace.events[first + 1:write.n] if _waits(event) and on_one_way(event, write)), None)
        yield FullSave(write, fields, anchor(write, changes[0]), read, between, frozenset(("process-lock",)) if any(lock.kind == "process" for lock in write.ctx.held) else frozenset())


def _waits(event: Event) -> bool:
    if event.kind == "suspend":
        return True
    if event.kind == "effect":
        return event.what in _REMOTE
    return event.kind in ("read", "write") and event.record.family in _REMOTE_FAMILIES
