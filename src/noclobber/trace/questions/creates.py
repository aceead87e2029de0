"""Creates that rest on an earlier look at the table: is the row there, how many are there, which number is next?"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Iterator, Optional

from ..events import Read, Test, Trace, Write
from ..records import NO, same_table, same_value
from ..values import Origin, Value
from .guards import GUARDS, asked_of
from .tests import is_constant, tests_before

_NEGATED = {"==": "!=", "!=": "==", "is": "is not", "is not": "is", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in", "truth": "empty"}
_BOUNDS = frozenset(("<", "<=", ">", ">="))
_NUMBERING = ("max", "number", "count", "order", "position", "index", "seq", "serial", "version", "rank", "sort", "no", "nr", "num", "revision", "step", "weight", "priority", "level")


@dataclass(slots=True)
class Create:
    """how: 'exists' (a row was looked for), 'bound' (rows were counted against a bound), 'number' (a column is computed from rows)."""

    how: str
    write: Write
    read: Read
    label: str
    column: str
    doubts: frozenset
    constraint: bool


def resting_creates(trace: Trace) -> Iterator[Create]:
    for write in trace.of("write"):
        if write.verb != "create" or write.record.family not in ("orm", "sql") or write.handled or write.record.table is None:
            continue
        if any(p.kind == "create" for p in write.preconditions):
            continue
        found = _number(trace, write) or _looked_for(trace, write)
        if found is not None:
            yield found


def _reads_before(trace: Trace, write: Write) -> Iterator[Read]:
    for event in reversed(trace.events[:write.n]):
        if isinstance(event, Read) and event.record.family in ("orm", "sql") and event.record.table is not None and not event.of_new and of_table(event, write):
            yield event


def of_table(read: Read, write: Write) -> bool:
    """Does the read look at the table that the row is created in? `order.refunds` are rows of Refund where its order is given."""
    mine, other = read.record.table, write.record.table
    if same_table(mine, other) == "yes":
        return True
    owner = dict(read.record.key).get("@owner")
    if owner is None:
        return False
    words = read.record.label.lower().removesuffix("_set").replace("_", "")
    label = write.record.label.lower().replace("_", "")
    stem = words[:-3] + "y" if words.endswith("ies") else words[:-2] if words.endswith("ses") else words.rstrip("s")
    if len(stem) < 3 or not (label.endswith(stem) or stem.endswith(label)):
        return False
    return any(_overlap(owner, value) for _, value in write.columns or ())


def _overlap(a: Value, b: Value) -> bool:
    if a is b and any(o.kind not in ("const", "unknown") for o in a.origins):
        return True  # a number drawn at random, looked for and then given
    return bool(a.same & b.same) or bool(a.objs & b.objs) or same_value(a, b) != NO


def _guarded(trace: Trace, read: Read, write: Write) -> bool:
    held = read.ctx.held & write.ctx.held
    if any(lock.kind in GUARDS for lock in held) or read.lock is not None and read.lock not in write.ctx.freed:
        return True
    # `UPDATE … SET revision = :new WHERE revision = :seen` was accepted before: what rests on the same look is nobody else's.
    return any(lock.kind == "claim" and asked_of(trace.events[lock.n], read) for lock in write.ctx.held)


def _doubts(read: Read, write: Write) -> frozenset:
    return frozenset(("process-lock",)) if any(lock.kind == "process" for lock in read.ctx.held & write.ctx.held) else frozenset()


def _number(trace: Trace, write: Write) -> Optional[Create]:
    """`number = highest + 1`, `serial = count() + 1`: a column computed from rows of the same table."""
    for column, value in write.columns or ():
        for origin in value.incr:
            read = trace.events[origin.n] if origin.kind == "read" else None
            if not isinstance(read, Read) or read.n >= write.n or not of_table(read, write) or _guarded(trace, read, write):
                continue
            step = str(origin.path[0]).strip("[]'\"").lower() if origin.path else ""
            if origin.path and not step.isdigit() and step != column.lower() and not any(word in step for word in _NUMBERING) and not any(word in column.lower() for word in _NUMBERING):
                continue  # an amount of another row, not a number in a sequence
            return Create("number", write, read, write.record.label, column, _doubts(read, write), bool(write.unique) or column in write.keys)
    return None


def _looked_for(trace: Trace, write: Write) -> Optional[Create]:
    """The create is reached where a row was not found, or where the rows counted are still below a bound."""
    reads = {read.n: read for read in _reads_before(trace, write)}
    if not reads:
        return None
    missing = {origin.n for origin in write.ctx.control if origin.kind == "read" and origin.path == ("@missing",)}
    found: list = [("exists", reads[n], frozenset()) for n in missing if n in reads]
    for test, branch in tests_before(trace, write):
        op = test.op if branch == "yes" else _NEGATED.get(test.op, "")
        for side, other, way in ((test.left, test.right, op), (test.right, test.left, _mirrored(op))):
            sums = [o for o in side.incr | side.origins if way in _BOUNDS and o.kind == "read" and getattr(trace.events[o.n], "aggregate", False)]  # `given + amount > limit`, `wanted > capacity - given`
            for origin in side.same or (side.origins if way == "empty" and side.objs else sums):
                read = reads.get(origin.n) if origin.kind == "read" and _whole(trace, origin) else None
                how = _meaning(way, other, read) if read is not None else None
                if how is None and read is not None and origin not in side.same | side.incr and way in _BOUNDS:
                    how = "bound"  # what is left after the rows counted were taken off
                if how == "bound" and other is not None and any(o.kind == "read" and o.n in reads and not o.path for o in other.origins):
                    continue  # two counts of the same rows, none of them a bound
                if how:
                    found.append((how, read, frozenset()))
        if op in ("not in",):
            for n in sorted({o.n for o in test.right.origins if o.kind == "read" and o.n in reads and reads[o.n].many}):
                found.append(("exists", reads[n], _collected(test.right, n)))
    found += [("exists", read, frozenset()) for read in reads.values() if _tried_until_free(trace, read, write)]
    for how, read, columns in sorted(found, key=lambda item: -item[1].n):
        if how == "exists" and read.ordered and not read.many and not write.unique:
            continue  # the latest of many is asked for: that there are several is normal
        if not _guarded(trace, read, write) and _concerns(read, write):
            return Create(how, write, read, write.record.label, "", _doubts(read, write), _refuses_second(write, read, how, columns) or how == "exists" and _by_primary_key(read, write))
    return None


def _tried_until_free(trace: Trace, read: Read, write: Write) -> bool:
    """`while Page.objects.filter(slug=slug).exists(): slug = …`: a loop that ends where no row of that key is left, before the create."""
    if not read.aggregate or set(read.ctx.loops) <= set(write.ctx.loops):
        return False
    return any(isinstance(event, Test) and event.op == "truth" and any(o.kind == "read" and o.n == read.n for o in event.left.same) and event.ctx.loops == read.ctx.loops for event in trace.events[read.n:write.n])


def _collected(value: Value, n: int) -> frozenset:
    """The columns of a read's rows that a set holds: `{(link.cluster_id, link.role) for link in links}`."""
    steps = (next((str(step) for step in o.path if not str(step).startswith("[")), "") for o in value.origins if o.kind == "read" and o.n == n)
    return frozenset(step for step in steps if step and not step.startswith("("))


def _refuses_second(write: Write, read: Read, how: str, collected: frozenset) -> bool:
    """Does a unique constraint cover what was looked for? Where its columns are not known, any counts. collected: columns that a value was compared with in Python."""
    if not write.unique or how != "exists" or not write.unique_columns:
        return bool(write.unique)
    columns = {column.removesuffix(" in").split("__")[0].removesuffix("_id") for column in (*(c for c, _ in read.record.key), *(c for c, _, _ in read.filters), *collected)}
    owner = "@owner" in columns and not write.owner_named  # `project.checks.filter(slug=slug)`: the name of the foreign key is not said
    columns |= {column.removesuffix("_id") for column, value in write.columns or () if is_constant(value) and not value.is_none}  # the same in every such row
    return any(len({name.removesuffix("_id") for name in group} - columns) <= owner for group in write.unique_columns)


def _by_primary_key(read: Read, write: Write) -> bool:
    """Was the row looked for by its primary key, which the create sets as well? Then the database refuses the second."""
    keys = write.keys or (frozenset(("id",)) if write.record.family == "sql" else frozenset())
    short = next(iter(keys)) if len(keys) == 1 else "pk"  # `pk` is whatever the key is called

    def named(columns: Iterable[str]) -> set:
        return {short if column in ("pk", "id") else column for column in columns}

    return bool(keys) and keys <= named(column for column, _ in read.record.key) and keys <= named(column for column, _ in write.columns or ())


def _mirrored(op: str) -> str:
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)


def _whole(trace: Trace, origin: Origin) -> bool:
    """The row, the rows or the count themselves, not one column of a row."""
    if not origin.path:
        return True
    read = trace.events[origin.n]
    step = str(origin.path[0])
    return len(origin.path) == 1 and (step in ("[*]",) or step.strip("[]'\"").isdigit() and (read.record.family == "sql" or read.aggregate)) or read.aggregate and len(origin.path) == 1


def _meaning(op: str, other: Optional[Value], read: Read) -> Optional[str]:
    """What the branch says of the rows: 'exists' = there is none, 'bound' = fewer than a bound; None: they are there."""
    literal = other.literal if other is not None else None
    zero = isinstance(literal, (int, float)) and not isinstance(literal, bool) and literal == 0
    if op == "empty":
        return "exists"
    if op in ("is", "==") and (other is not None and other.is_none or zero or literal is False):
        return "exists"
    if op in ("is not", "!=") and literal is True:
        return "exists"
    if op in ("<", "<=") and not zero:
        return "exists" if literal == 1 and op == "<" else "bound"
    if op == "<=" and zero:
        return "exists"
    return None


def _concerns(read: Read, write: Write) -> bool:
    """Was that row looked for which is created: does a column get what the read was filtered by? An unfiltered look concerns every row."""
    key = [(column, value) for column, value in read.record.key]
    if not key:
        return not read.open_filter
    if write.columns is None or not write.columns:
        whole = {(o.kind, o.n, o.path) for o in write.payload.origins if o.kind in ("param", "opaque")}
        return any(_overlap(value, write.payload) or value.same & write.payload.origins
                   # `filter(day=form.cleaned_data["day"])`, then `form.save()`: the form holds what was asked for.
                   or any((o.kind, o.n, o.path[:cut]) in whole for o in value.same for cut in range(len(o.path))) for _, value in key)
    shared = False
    for column, value in key:
        name = column.removesuffix(" in").split("__")[0]
        for own, given in write.columns:
            if own == name or own.removesuffix("_id") == name.removesuffix("_id") or name == "@owner":
                if _overlap(value, given):
                    shared = True
                elif type(value.shape) is type(given.shape) and value.shape is not None and value.shape != given.shape:
                    return False  # another kind of row was looked for
    if shared:
        return True
    return any(bool(value.same & given.origins) for _, value in key for _, given in write.columns if value.same)
