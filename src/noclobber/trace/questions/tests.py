"""Tests of a field: on which tests of a loaded record does an event depend, and what holds on its branch?"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Iterator, Optional

from ..events import SOME, Event, Read, Site, Test, Trace, Write
from ..records import NO, same_record
from ..values import CLOCK, RANDOM, Origin, Value
from .guards import column_of

_NEGATED = {"==": "!=", "!=": "==", "is": "is not", "is not": "is", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in", "truth": "empty"}
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!=", "is": "is", "is not": "is not"}


@dataclass(slots=True)
class Tested:
    """A test of one column of a record. `column op right` holds on the way to the event; op: ==, !=, is, is not, <, <=, >, >=, in, not in,
    truth, empty. read: the read whose WHERE holds the test, or that loaded the record; None: the record came from elsewhere."""

    column: str
    op: str
    right: Optional[Value]
    site: Site
    read: Optional[Read]
    origin: Origin
    test: Optional[Test] = None

    @property
    def negative(self) -> bool:
        return self.op in ("!=", "is not", "not in", "empty")


def tests_before(trace: Trace, *events: Event) -> Iterator[tuple[Test, str]]:
    """(test, 'yes' or 'no') of every test whose branch leads to the events."""
    seen = set()
    for event in events:
        for origin in sorted(event.ctx.control, key=str):
            if origin.kind == "test" and origin not in seen and len(origin.path) == 1:
                seen.add(origin)
                test = trace.events[origin.n]
                # A test whose both branches lead here decides nothing.
                if isinstance(test, Test) and Origin("test", origin.n, ("no" if origin.path[0] == "yes" else "yes",)) not in event.ctx.control:
                    yield test, origin.path[0]


def some_before(trace: Trace, event: Event) -> Iterator[tuple[Test, str]]:
    """(test, operator that holds) of the tests of which one or another has led here: what follows `if row.a and row.b: return`."""
    for origin in sorted(event.ctx.control, key=str):
        test = trace.events[origin.n] if origin.kind == "test" and origin.path[1:] == (SOME,) else None
        if isinstance(test, Test):
            yield test, test.op if origin.path[0] == "yes" else _NEGATED.get(test.op, "")


def some_tests(trace: Trace, bases: Iterable[Origin], event: Event) -> Iterator[Tested]:
    """Those of a column of one of the records."""
    bases = frozenset(bases)
    for test, op in some_before(trace, event):
        found = _field_of(trace, test.left, bases)
        if found is not None:
            read = trace.events[found[0].n] if found[0].kind == "read" else None
            yield Tested(found[1], op, test.right, test.site, read if isinstance(read, Read) else None, found[0], test)


def on_one_way(event: Event, write: Event) -> bool:
    """Can both happen in one run? Not where the one needs a test's true branch and the other its false one, or a helper says that it was not done."""
    if any(o.kind == "skipped" and o.n == event.n for o in write.ctx.control):
        return False
    mine = {(o.n, o.path) for o in event.ctx.control if o.kind == "test" and len(o.path) == 1}
    other = {(o.n, o.path) for o in write.ctx.control if o.kind == "test" and len(o.path) == 1}
    for n, branch in mine:
        against = (n, ("no",) if branch == ("yes",) else ("yes",))
        if against in other and against not in mine and (n, branch) not in other:
            return False
    return True


def tests_of_field(trace: Trace, bases: Iterable[Origin], *events: Event) -> Iterator[Tested]:
    """Tests of a column of the record that `bases` are (Origin('read', n), Origin('param', 'order')), on the way to the events."""
    bases = frozenset(bases)
    for test, branch in tests_before(trace, *events):
        op = test.op if branch == "yes" else _NEGATED.get(test.op, "")
        if not op:
            continue
        for side, other, way in ((test.left, test.right, op), (test.right, test.left, _MIRROR.get(op, ""))):
            found = _field_of(trace, side, bases) if way else None
            if found is not None:
                origin, column = found
                read = trace.events[origin.n] if origin.kind == "read" else None
                yield Tested(column, way, other, test.site, read if isinstance(read, Read) else None, origin, test)
                break


def _field_of(trace: Trace, value: Value, bases: frozenset) -> Optional[tuple]:
    """(origin, column) when the value is one field of one of the records, as it is."""
    for origin in sorted(value.same, key=str):
        for base in bases:
            if origin.kind == base.kind and origin.n == base.n and origin.path[:len(base.path)] == base.path and len(origin.path) == len(base.path) + 1:
                column = column_of(trace, origin) if origin.kind == "read" and str(origin.path[-1]).startswith("[") else str(origin.path[-1])
                if column and not column.startswith("[") and column not in ("()", "(.)", "…"):
                    return origin, column
    return None


def moved_before(trace: Trace, read: Read, write: Write, column: str) -> bool:
    """Has a write of that record in between made the test (`… SET status = 'sending' WHERE id = ? AND status = 'queued'`)? Whether anybody looked at its
    outcome is its own matter. Or has one set the column, so that the test is answered: what comes later ends what that one has begun."""
    return any(isinstance(event, Write) and (
        event.conditional and any(p.column == column for p in event.preconditions) and on_one_way(event, write)
        or column in dict(event.columns or ()) and (event.ctx.control <= write.ctx.control or _in_helper(event, write) and on_one_way(event, write))
    ) and same_record(event.record, write.record) != NO for event in trace.events[read.n + 1:write.n])


def _in_helper(event: Event, write: Event) -> bool:
    """Did it happen in a function that has given back the record since (`job = take()`)? The tests in there are behind us."""
    return bool(event.ctx.calls) and event.ctx.calls != write.ctx.calls[:len(event.ctx.calls)]


def unchanged_under_lock(trace: Trace, bases: Iterable[Origin], write: Write) -> bool:
    """`if row.version == locked.version: row.save()`: the older copy is written only while the locked row has the version that was loaded."""
    written = {str(path[0]) for _, path in write.changes} | {name for name, _ in write.columns or ()}
    for tested in tests_of_field(trace, bases, write):
        if tested.op not in ("==", "is") or tested.right is None or not (trace.match("version_column", tested.column) or tested.column in written):
            continue
        for origin in tested.right.same:
            locked = trace.events[origin.n] if origin.kind == "read" and origin.path and str(origin.path[-1]).strip("[]'\"") == tested.column else None
            if isinstance(locked, Read) and locked.lock is not None and locked.lock in write.ctx.held and same_record(locked.record, write.record) != NO:
                return True
    return False


def filtered_by(trace: Trace, read: Read) -> Iterator[Tested]:
    """The tests that a read's own WHERE holds: `get(pk=pk, status="open")`."""
    for column, value in read.record.key:
        if is_constant(value) and not column.endswith(" in") and column not in ("pk", "id", "@owner") and not trace.match("deletion_column", column):
            yield Tested(column, "==", value, read.site, read, Origin("read", read.n, (column,)))


def is_constant(value: Optional[Value]) -> bool:
    """A literal, an enum's member, a name of the module or of a class: the same for everybody who runs this line."""
    if value is None:
        return False
    if value.shape is not None and not hasattr(value.shape, "parts") or "constant" in value.flags:
        return True
    if value.ref is not None and value.ref[0] in ("dotted", "column", "class"):
        return True
    return bool(value.origins) and all(o.kind in ("const", "global") for o in value.origins)


def tells_apart(value: Value) -> bool:
    """Something that tells the claimants apart: a parameter, an id of this process, a random token."""
    return any(o.kind in ("param", "opaque", "random") for o in value.origins) or RANDOM in value.origins and CLOCK not in value.origins


def same_constant(a: Optional[Value], b: Optional[Value]) -> bool:
    """Are two constants certainly the same?"""
    if a is None or b is None:
        return False
    if a.shape is not None and a.shape == b.shape:
        return True
    if a.ref is not None and b.ref is not None and a.ref[0] == b.ref[0] and a.ref[0] in ("dotted", "column", "class"):
        return a.ref[1:] == b.ref[1:]
    mine, other = a.same - b.same, b.same - a.same
    return bool(a.same) and not mine and not other
