"""Is it the same record, and does a guard hold between a read and a write? What was met and is no guard?"""
from __future__ import annotations

from typing import Iterator, Optional

from ..events import Begin, Event, Lock, Read, Record, Site, Trace, Write
from ..records import MAYBE, NO, YES, same_record, same_value
from ..values import NOTHING, Origin, Value

#: Locks that guard when they are held from before the read until the write.
GUARDS = frozenset(("serializable", "begin", "advisory", "table", "session", "file", "ttl", "pattern", "row", "private", "optimistic"))
_WHY_NOT = {
    "atomic": "a transaction at READ COMMITTED: another one may commit between its read and its write",
    "process": "keeps out threads or tasks of this process only",
    "row": "locks another row, or was taken after the read",
}


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
    step = next((str(step) for step in origin.path if step != "[*]"), "[*]")  # a row out of a list, out of a generator
    if step in ("[*]", "()", "(.)"):
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
        if column in ("entity", "reference"):
            # The object that was read is written back: it carries its key.
            return any(o.kind == "read" and o.n == read.n for o in value.origins)
        if read.record.family in ("document", "key"):
            return _is_key_field(trace, read, column, value)
        for origin in value.same:
            if origin.kind == "read" and origin.n == read.n:
                name = column_of(trace, origin)
                if name == column or {name, column} <= {"pk", "id"} or column == "pk" and not origin.path:
                    return True
        return False

    record = write.record
    if record.family not in ("sql", "orm"):
        record = record._replace(key=tuple((column, _asked_by(trace, column, value)) for column, value in record.key))
    answer = same_record(read.record, record, key_from_read=key_from_read)
    return MAYBE if answer == NO and _of_the_whole(read, write) else answer


def _of_the_whole(read: Read, write: Write) -> bool:
    """Were all records of that receiver read (the rows of a sheet), one of which is written?"""
    if read.spec is None or not read.spec.get("whole") or read.record.store != write.record.store:
        return False
    mine, other = read.record.owner, write.record.owner
    return mine is not None and other is not None and same_value(mine, other) == YES


def _asked_by(trace: Trace, column: str, value: Value) -> Value:
    """`bucket.blob(found.name)`, where `found` was asked for by a key of its own: that key."""
    for origin in value.same:
        read = trace.events[origin.n] if origin.kind == "read" and len(origin.path) == 1 else None
        if isinstance(read, Read) and str(origin.path[0]).strip("[]'\"") in (*_ID_FIELDS, column):
            return dict(read.record.key).get(column, value)
    return value


def _is_key_field(trace: Trace, read: Read, column: str, value: Value) -> bool:
    """`replace(item=doc["id"], …)`: the key is a field of the very document that was read, by the key's name or by that of an id."""
    for origin in value.same:
        if origin.kind == "read" and origin.n == read.n and origin.path:
            name = str(origin.path[-1]).strip("[]'\"")
            if name == column or name in _ID_FIELDS and (column in _ID_FIELDS or column not in dict(read.record.key)):
                return True
    return False


_ID_FIELDS = frozenset(("id", "_id", "pk", "key", "name", "path", "uid"))


def guard_between(trace: Trace, read: Read, write: Event, change: Optional[Event] = None) -> Optional[Lock]:
    """The lock that is held from before (or with) the read until the write, or None.

    change: of a unit of work. A row lock that was held there is held at the flush as well: the commit ends both.
    """
    held = write.ctx.held
    if change is not None:
        held |= frozenset(lock for lock in change.ctx.held if lock.scope == "tx")
    for lock in sorted(held, key=lambda lock: lock.n):
        if lock.kind not in GUARDS:
            continue
        if lock.n == read.n and read.lock is not None or lock.source == read.n:
            return lock
        if lock not in read.ctx.held:
            continue
        if lock.kind == "row" and not _covers(trace, lock, read):
            continue
        if lock.kind == "optimistic" and lock.record is not None and same_record(lock.record, read.record) == NO:
            continue  # WATCH of another key
        return lock
    own = undone(trace, write) or won(trace, read, write, change)
    if own is not None:
        return own
    new = _made_before(trace, read, write)
    if new is not None:
        return new
    if read.lock is not None and read.lock.kind in GUARDS and read.lock not in write.ctx.freed and (change is None or read.lock not in change.ctx.freed):
        return read.lock  # taken with the read, wherever that was reached, and never given back
    return None


def undone(trace: Trace, write: Event) -> Optional[Lock]:
    """The transaction around the write that is rolled back on every way out of it: nobody ever sees what was written."""
    if trace.incomplete or not isinstance(write, Write) or write.unit:
        return None
    around = [lock for lock in sorted(write.ctx.held, key=lambda lock: lock.n) if lock.kind == "atomic" and 0 <= lock.n < len(trace.events) and isinstance(trace.events[lock.n], Begin)]
    # What a block inside the block has passed, the one around it need not tell again.
    ends = [*(trace.events[lock.n] for lock in around), *trace.of("commit")]
    if not around or any(write.n in end.passed for end in ends):
        return None
    # A block that only closes its connection passes nothing, either: here something is raised that ends it.
    return next((lock for lock in around for event in trace.of("raise") if event.n > write.n and lock in event.ctx.held), None)


def won(trace: Trace, start: Event, write: Event, change: Optional[Event] = None) -> Optional[Lock]:
    """A conditional write of this very row that was accepted before: who comes second was refused there, so what the winner writes is not blind.

    start: the read, or the change of an object that came from elsewhere. What was read before the row was won counts only when the condition asked
    for a value of that same read, or for all that the later write sets: others may have changed the rest meanwhile.
    """
    if not isinstance(write, Write):
        return None
    held = write.ctx.held | change.ctx.held if change is not None else write.ctx.held
    for lock in sorted((lock for lock in held if lock.kind == "claim" and lock.n != write.n), key=lambda lock: lock.n):
        claim = trace.events[lock.n]
        if not _same_row(claim.record, write.record) and not (isinstance(start, Read) and _same_row(claim.record, start.record)):
            continue
        if not isinstance(start, Read) or start.n > claim.n or asked_of(claim, start) or _retold(claim, write):
            return lock
    return None


def _same_row(claim: Record, other: Record) -> bool:
    """Of rows that a loop goes through the key may be told in more than one way; but a key both must have."""
    answer = same_record(claim, other)
    return answer == YES or answer != NO and bool({column for column, _ in claim.key} & {column for column, _ in other.key})


def asked_of(claim: Write, read: Read) -> bool:
    """`WHERE lease_expires_at = :the_one_that_was_read`: nothing has changed hands since the read."""
    asked = [p.value for p in claim.preconditions] + [value for column, value in claim.record.key if column not in _ID_FIELDS]
    return any(o.kind == "read" and o.n == read.n for value in asked for o in value.same)


def asks_for(read: Read, name: str) -> bool:
    """Does the read's key name the row that came in as the parameter `name`, itself or by its own key?"""
    return any(o.kind == "param" and str(o.n).rpartition(":")[2] == name and _row_of(o).path == () for _, value in read.record.key for o in value.same)


def asks_again(trace: Trace, loaded: Optional[Read], write: Event, column: str, change: Optional[Event] = None) -> bool:
    """Has a conditional write of this row that was accepted before asked for the column that was tested in Python?"""
    held = write.ctx.held | change.ctx.held if change is not None else write.ctx.held
    claims = (trace.events[lock.n] for lock in held if lock.kind == "claim" and lock.n != write.n)
    rows = [write.record, *([loaded.record] if loaded is not None else [])]
    return any(any(_same_row(claim.record, row) for row in rows) and column in {*(p.column for p in claim.preconditions), *(name.removesuffix(" in") for name, _ in claim.record.key)} for claim in claims)


def _retold(claim: Write, write: Write) -> bool:
    """Did the condition name every column that the later write sets?"""
    asked = {p.column for p in claim.preconditions} | {column.removesuffix(" in") for column, _ in claim.record.key}
    written = {str(path[0]) for _, path in write.changes} or {column for column, _ in write.columns or ()}
    return bool(written) and written <= asked


def _made_before(trace: Trace, read: Read, write: Event) -> Optional[Lock]:
    """The transaction in which the row was created that is read again by its key: until it is committed nobody else sees it."""
    keys = {origin._replace(path=origin.path[:-1]) for column, value in read.record.key if column in ("pk", "id") for origin in value.same
            if origin.path and str(origin.path[-1]) in ("pk", "id")}
    for event in trace.events[:read.n] if keys else ():
        if isinstance(event, Write) and event.verb == "create" and keys & event.base:
            return next((lock for lock in event.ctx.held & read.ctx.held & write.ctx.held if lock.kind in ("atomic", "serializable", "unit")), None)
    return None


def _covers(trace: Trace, lock: Lock, read: Read) -> bool:
    """A lock on row P covers the row read when it is P, or was reached from P or filtered by it."""
    parent = trace.events[lock.source]
    if same_record(parent.record, read.record) != NO:
        return True
    owners = {_row_of(o) for _, other in parent.record.key for o in other.same}
    for _, value in read.record.key:
        if any(o.kind == "read" and o.n == lock.source for o in value.origins):
            return True
        if any(_row_of(o) in owners for o in value.same):
            return True
    return False


def _row_of(origin: Origin) -> Origin:
    """`filter(order=order)` and `filter(order_id=order.pk)` say the same."""
    return origin._replace(path=origin.path[:-1]) if origin.path and str(origin.path[-1]) in ("pk", "id") else origin


def guard_held(trace: Trace, change: Event, write: Event) -> Optional[Lock]:
    """For an object that came in from outside: a lock held from the change until the write."""
    for lock in sorted(change.ctx.held & write.ctx.held, key=lambda lock: lock.n):
        if lock.kind in GUARDS and not (lock.kind == "row" and _of_the_copy(trace, lock, change)):
            return lock
    return undone(trace, write) or won(trace, change, write)


def _of_the_copy(trace: Trace, lock: Lock, change: Event) -> bool:
    """`Card.objects.select_for_update().get(pk=card.pk)`: the lock was taken by the key of the very object that is changed, which was loaded before it."""
    locking = trace.events[lock.source] if lock.source is not None else None
    bases = getattr(change, "base", NOTHING)
    if not isinstance(locking, Read) or any(o.kind == "read" and o.n == locking.n for o in bases):
        return False
    return any(column in ("pk", "id") and any(_row_of(o) in bases and o.path for o in value.same) for column, value in locking.record.key)


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
        elif lock.kind not in ("written", "claim") and lock not in start.ctx.held:
            found.append((event.site, f"{lock.kind} lock", "was taken after the read"))
    return found


def held_doubts(start: Event, write: Event) -> frozenset:
    if any(lock.kind == "process" for lock in write.ctx.held & start.ctx.held):
        return frozenset(("process-lock",))
    return frozenset()


def apart(first: Event, second: Event) -> Site:
    """The place of the second event seen from the function in which the two go different ways: its own, or the call through which it happens."""
    depth = 0
    for one, two in zip(first.ctx.calls, second.ctx.calls):
        if one != two:
            break
        depth += 1
    calls = second.ctx.calls
    return calls[depth][1] if depth < len(calls) and isinstance(calls[depth][1], Site) else second.site


def anchor(event: Event, scope: Event, shared: bool = False) -> Site:
    """The place of an event seen from the function of `scope`: the call in that function through which it happens.

    shared: where `scope` lies in a helper that has come back (a lock that a context manager took), from the function that called both.
    """
    outer, calls = scope.ctx.calls, event.ctx.calls
    if shared:
        outer = outer[:next((place for place, (a, b) in enumerate(zip(outer, calls)) if a != b), min(len(outer), len(calls)))]
    depth = len(outer)
    while len(calls) > depth and calls[:len(outer)] == outer and isinstance(calls[depth][1], Site):
        if len(calls[depth]) == 2:
            return calls[depth][1]
        depth += 1  # a callback that was handed in: the line stands in it
    return event.site
