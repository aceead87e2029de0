"""What rules ask of a trace: is this write derived from that read, is it the same record, does a guard hold?"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Optional

from .events import Change, Event, Lock, Loop, Read, Site, Trace, Write
from .records import MAYBE, NO, YES, same_record
from .values import Origin, Value

#: Locks that guard when they are held from before the read until the write.
GUARDS = frozenset(("serializable", "begin", "advisory", "table", "session", "file", "ttl", "pattern", "row"))
_WHY_NOT = {
    "atomic": "a transaction at READ COMMITTED: another one may commit between its read and its write",
    "process": "keeps out threads or tasks of this process only",
    "row": "locks another row, or was taken after the read",
}


@dataclass(slots=True)
class Mark:
    """A related place: role of `finding.ROLES`, site, words."""

    role: str
    site: Site
    text: str


@dataclass(slots=True)
class Claim:
    """What a check says, before places and confidence. `site`: where the finding stands; `write`: the event it is about."""

    rule: str
    site: Site
    write: Event
    message: str
    related: list = field(default_factory=list)
    guards: list = field(default_factory=list)  # (Site, kind, why it is none)
    record: str = ""
    help: str = ""
    teach: str = ""
    doubts: frozenset = frozenset()
    variant: str = ""
    values: tuple = ()
    obj: str = ""


def reads_in(trace: Trace, value: Value) -> Iterator[tuple[Read, Origin]]:
    """(read, origin) of every read that a value derives from, by read."""
    for origin in sorted((o for o in value.origins if o.kind == "read"), key=lambda o: (o.n, str(o.path))):
        event = trace.events[origin.n]
        if isinstance(event, Read):
            yield event, origin


def column_of(trace: Trace, origin: Origin) -> Optional[str]:
    """The column that a path into a row names (`row['n']`, `row.n`, `row[0]`), or None."""
    if origin.kind != "read" or not origin.path:
        return None
    step = str(origin.path[0])
    if step in ("[*]", "()"):
        return None
    name = step.strip("[]")
    if step.startswith("[") and name.lstrip("-").isdigit():
        columns = getattr(trace.events[origin.n], "columns", None)
        place = int(name)
        return columns[place] if columns and -len(columns) <= place < len(columns) else None
    return name.strip("'\"").lower()


def same(trace: Trace, read: Read, write: Write) -> str:
    """yes / maybe / no: does the write go to the record that was read?"""
    def key_from_read(column: str, value: Value) -> bool:
        for origin in value.same:
            if origin.kind == "read" and origin.n == read.n:
                name = column_of(trace, origin)
                if name == column or {name, column} <= {"pk", "id"} or column == "pk" and not origin.path:
                    return True
        return False

    return same_record(read.record, write.record, key_from_read=key_from_read)


def guard_between(trace: Trace, read: Read, write: Event) -> Optional[Lock]:
    """The lock that is held from before (or with) the read until the write, or None."""
    for lock in sorted(write.ctx.held, key=lambda lock: lock.n):
        if lock.kind not in GUARDS:
            continue
        if lock.n == read.n and read.lock is not None or lock.source == read.n:
            return lock
        if lock not in read.ctx.held:
            continue
        if lock.kind == "row" and not _covers(trace, lock, read):
            continue
        return lock
    return None


def _covers(trace: Trace, lock: Lock, read: Read) -> bool:
    """A lock on row P covers the row read when it is P, or was reached from P or filtered by it."""
    parent = trace.events[lock.source]
    if same_record(parent.record, read.record) != NO:
        return True
    for _, value in read.record.key:
        if any(o.kind == "read" and o.n == lock.source for o in value.origins):
            return True
        mine = {o for o in value.same}
        if any(mine & other.same for _, other in parent.record.key):
            return True
    return False


def guard_held(change: Event, write: Event) -> Optional[Lock]:
    """For an object that came in from outside: a lock held from the change until the write."""
    for lock in sorted(change.ctx.held & write.ctx.held, key=lambda lock: lock.n):
        if lock.kind in GUARDS:
            return lock
    return None


def rejected(trace: Trace, start: Event, write: Event) -> list:
    """The guard ledger: what was held or open at the write and is no guard, with the reason."""
    found = []
    for lock in sorted(write.ctx.held, key=lambda lock: lock.n):
        event = trace.events[lock.n] if 0 <= lock.n < len(trace.events) else None
        if event is None:
            continue
        if lock.kind == "atomic":
            found.append((event.site, getattr(event, "label", "transaction"), _WHY_NOT["atomic"]))
        elif lock.kind == "process":
            found.append((event.site, "process-local lock", _WHY_NOT["process"]))
        elif lock.kind == "row":
            found.append((event.site, "row lock", _WHY_NOT["row"]))
        elif lock not in start.ctx.held:
            found.append((event.site, f"{lock.kind} lock", "was taken after the read"))
    return found


def held_doubts(start: Event, write: Event) -> frozenset:
    if any(lock.kind == "process" for lock in write.ctx.held & start.ctx.held):
        return frozenset(("process-lock",))
    return frozenset()


def anchor(event: Event, scope: Event) -> Site:
    """The place of an event seen from the function of `scope`: the call in that function through which it happens."""
    depth = len(scope.ctx.calls)
    calls = event.ctx.calls
    if len(calls) > depth and calls[:depth] == scope.ctx.calls and isinstance(calls[depth][-1], Site):
        return calls[depth][-1]
    return event.site


def blind_writes(trace: Trace, family: Iterable[str], verbs: Iterable[str]) -> Iterator[tuple[Write, Read, Origin, str]]:
    """(write, read, origin, same) of each write whose payload derives from an earlier read of the same record with no guard between.

    One for a write: the surest read, the nearest of these.
    """
    families, wanted = frozenset(family), frozenset(verbs)
    for write in trace.of("write"):
        if write.record.family not in families or write.verb not in wanted or write.conditional or write.open_where:
            continue
        if any(p.kind == "open" for p in write.preconditions):
            continue
        best = None
        for column, value in write.columns or (("", write.payload),):
            if column in write.self_columns:
                continue
            for read, origin in reads_in(trace, value):
                if read.record.family not in families | {"orm", "sql"}:
                    continue
                answer = same(trace, read, write)
                if answer == NO:
                    continue
                if guard_between(trace, read, write) is not None:
                    best = None
                    break
                rank = (answer == YES, read.n)
                if best is None or rank > best[0]:
                    best = (rank, read, origin, answer)
            else:
                continue
            break
        if best is not None:
            yield write, best[1], best[2], best[3]


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
