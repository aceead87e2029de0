"""Check, then act: writes whose being reached hangs on a value that was read from the same record, and which do not repeat that test (RULES, 107)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Iterator, Optional

from ..events import RaiseEvent, Read, Site, Test, Trace, Write
from ..records import NO, YES, same_record
from ..values import NOT_LITERAL, Origin, Value
from .guards import guard_between, held_doubts, same
from .tests import _MIRROR, _NEGATED, is_constant, moved_before, same_constant, some_before, tells_apart, tests_before
from .writes import _is_new, relies_on

_HOLDING = {"in": "holds", "not in": "holds not"}  # of the side on the right of `in`
_BOUNDS = frozenset(("<", "<=", ">", ">="))
_FILTER_OPS = {"=": "==", "is": "is", "in": "in", "is null": "is", "!=": "!=", "is not": "is not", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SAME_TYPE_STEPS = frozenset(("json()", "read()", "decode()", "strip()"))


@dataclass(slots=True)
class Act:
    """A write that a test of the same record lets through. site: of the test; column: what it looks at ('' = the record itself);
    how: 'same' (the write changes it), 'state' (it says who may act on the record), 'version', 'other', 'consumed'."""

    write: Write
    read: Read
    column: str
    op: str
    right: Optional[Value]
    site: Site
    how: str
    doubts: frozenset


def acts(trace: Trace, families: Iterable[str]) -> Iterator[Act]:
    """One for a write: the test that says most."""
    wanted = frozenset(families)
    order = ("version", "same", "state", "consumed", "other")
    for write in trace.of("write"):
        if write.record.family not in wanted or write.verb in ("create", "append") or write.open_where or write.conditional or write.unit:
            continue
        if not write.record.key or any(p.kind == "open" for p in write.preconditions) or _is_new(trace, write):
            continue
        found = sorted(_acts_of(trace, write, wanted), key=lambda act: (order.index(act.how), len(act.doubts), -act.read.n))
        if found:
            yield found[0]


def _acts_of(trace: Trace, write: Write, families: frozenset) -> Iterator[Act]:
    for test, branch in tests_before(trace, write):
        op = test.op if branch == "yes" else _NEGATED.get(test.op, "")
        for side, other, way in ((test.left, test.right, op), (test.right, test.left, _MIRROR.get(op) or _HOLDING.get(op, ""))):
            if not way:
                continue
            for read, columns, derived in _fields(trace, side):
                doubts = _unguarded(trace, read, write, families)
                if doubts is None:
                    continue
                for column in columns:
                    if moved_before(trace, read, write, column):
                        continue
                    how = _counts(trace, write, column, way, side, other, derived, _raised_on(trace, test, branch, write))
                    if how:
                        yield Act(write, read, column, way, other, test.site, how, doubts | ({"other-column"} if how == "other" else frozenset()))
    yield from _by_filter(trace, write, families)
    yield from _taken_over(trace, write, families)
    yield from _consumed(trace, write, families)


def _unguarded(trace: Trace, read: Read, write: Write, families: frozenset) -> Optional[frozenset]:
    """The doubts when the write goes to the record that was read and nothing guards between; else None."""
    if read.record.family not in families | {"sql"}:
        return None
    answer = same(trace, read, write)
    if answer == NO or guard_between(trace, read, write) is not None:
        return None
    return write.doubts | held_doubts(read, write) | (frozenset() if answer == YES else frozenset(("maybe-same",)))


def _fields(trace: Trace, value: Value) -> Iterator[tuple]:
    """(read, columns, derived?) of the field that a side of a test is, or is computed from."""
    reads = {o.n for o in value.origins if o.kind == "read"}
    if len(reads) != 1:
        return
    read = trace.events[next(iter(reads))]
    if not isinstance(read, Read):
        return
    direct = [o for o in value.same if o.kind == "read"]
    for origin in direct[:1]:
        columns = _columns(read, origin)
        if columns:
            yield read, columns, False
        return
    found: list = []
    for origin in sorted((o for o in value.origins if o.kind == "read"), key=str):
        found += [c for c in _columns(read, Origin("read", origin.n, tuple(s for s in origin.path if not s.startswith("(")))) if c not in found]
    if found:
        yield read, tuple(found), True


def _columns(read: Read, origin: Origin) -> tuple:
    """The columns that a path into what was read names: `row[0]`, `row.status`, `resp.json()["status"]`; ('',): the record itself, one value."""
    steps = [str(step) for step in origin.path if str(step) not in _SAME_TYPE_STEPS]
    if read.record.family == "key":
        steps = _unwrapped(read, steps)
    if not steps:
        return ("",) if read.record.family == "key" else ()  # a key holds one value
    if read.record.family not in ("sql", "orm"):
        return _path_names(steps)
    step = steps[0]
    if len(steps) > 1 and not step.startswith("["):
        return ()
    name = step.strip("[]")
    if step in ("[*]", "()", "(.)", "…", "[keys]"):
        return ()
    place: Optional[int] = None
    if step.startswith("[") and name.lstrip("-").isdigit():
        place = int(name)
    elif read.columns and name.strip("'\"").lower() in read.columns:
        place = read.columns.index(name.strip("'\"").lower())
    if place is not None and read.columns and -len(read.columns) <= place < len(read.columns):
        if read.sources and read.sources[place]:
            return read.sources[place]
        return (read.columns[place],) if read.columns[place] else ()
    if place is not None:
        return ()
    return (name.strip("'\"").lower(),) if not name.endswith("()") else ()


def _unwrapped(read: Read, steps: list) -> list:
    """Without what a client puts around the value: `value, meta = etcd.get(key)`."""
    around = str(read.spec.get("value") or "").replace("][", "]\0[").split("\0") if read.spec is not None else []
    return steps[len(around):] if steps[:len(around)] == around else steps


def _path_names(steps: list) -> tuple:
    """The names of a field of a document: its own, and with those around it (`resp["Item"]["address"]["city"]`: city, address.city, Item.address.city).
    What a client wraps around a document (`["Item"]`, `.to_dict()`) is only a name more."""
    names = [step.strip("[]'\"") if not step.endswith(")") else "" for step in steps]
    if not names[-1] or steps[-1] in ("[*]", "…", "[keys]", "json") or names[-1].lstrip("-").isdigit():
        return ()
    found = [names[-1].lower()]
    for name in reversed(names[:-1]):
        if not name or name.lstrip("-").isdigit() or name == "*":
            break
        found.append(f"{name}.{found[-1]}".lower())
    return tuple(found)


def _says_absent(trace: Trace, side: Optional[Value], right: Value) -> bool:
    """Compared with what the read gives where there is nothing: `cache.get(key, MISSING) is MISSING`."""
    reads = [trace.events[o.n] for o in side.same if o.kind == "read"] if side is not None else []
    return any(read.kind == "read" and same_constant(read.absent, right) for read in reads)


def _counts(trace: Trace, write: Write, column: str, op: str, side: Optional[Value], right: Optional[Value], derived: bool, raised: bool) -> str:
    """Why the test makes the write a check-then-act; '' when it does not (see RULES, finer points of 107)."""
    if column in ("id", "pk", "_id") or column.endswith("_id") and not trace.match("state_column", column):
        return ""
    if any(key in (column, column + " in") for key, _ in write.record.key) or any(p.column == column for p in write.preconditions):
        return ""
    names = dict(write.columns or ())
    whole = write.verb == "delete" or not names
    new = (names or dict(write.named)).get(column) if column or write.verb != "replace" else write.payload
    version = trace.match("version_column", column)
    constant = right is not None and op not in ("truth", "empty") and is_constant(right)
    # A key whose one value is compared with a word holds a state.
    worded = not column and constant and not right.is_none and op in ("==", "is", "in") and not _says_absent(trace, side, right)
    state = worded or trace.match("state_column", column) or trace.match("quota_column", column)
    if op in ("==", "is") and not constant and right is not None:
        # Compared with something from outside: a version or digest that the caller knows; else it says whose record it is.
        if derived:
            return "version" if (new is not None or whole) and _handed_in(right) and not _written(write, right) else ""
        return "version" if version and not _written(write, right) and (_handed_in(right) or _was_read(right)) else ""
    if op in _BOUNDS:
        if new is not None and (column in write.self_columns or state):
            return "same"
        if write.verb == "delete" and not _below_limit(op, right):
            return "same"
        # A number that is a key of its own: the bound is asked of what was read, the step is taken of what is there.
        steps = not column and write.verb == "atomic" and trace.match("counting", write.call) and write.n not in trace.weighed
        return "same" if steps and (raised or _goes_on(trace, write)) else ""
    if derived or op in _HOLDING.values():
        # `target not in ALLOWED[state]`, `(state, target) in ALLOWED`: a table says which state may follow which.
        listed = op in _HOLDING or op in _HOLDING.values()
        if state and derived and op in ("truth", "empty") and new is not None and column not in write.self_columns:
            return "same" if _judged(write, side) and (raised or relies_on(trace, write)) else ""
        return "same" if state and derived and listed and new is not None and _is_one_of(new, side, right) else ""
    if new is not None and (column not in write.self_columns):
        return _transition(trace, write, op, right, new, state, raised, constant)
    if column in write.self_columns:
        return ""
    if write.verb == "delete":
        return "state" if state and (op in ("truth", "empty") or constant and not right.is_none) else ""
    if not names:
        return ""
    return "state" if state and (op in ("truth", "empty") or constant and not right.is_none) else ""


def _below_limit(op: str, right: Optional[Value]) -> bool:
    """`if failures >= LIMIT: return`, then `cache.delete(key)`: who is not refused sets the count back, however far it has come."""
    if op not in ("<", "<=") or right is None or any(o.kind == "clock" for o in right.origins):
        return False
    return not isinstance(right.literal, (int, float)) or right.literal > 1


def _transition(trace: Trace, write: Write, op: str, right: Optional[Value], new: Value, state: bool, raised: bool, constant: bool) -> str:
    """The tested column gets another value."""
    claims = state and (raised or relies_on(trace, write))
    if right is not None and op != "truth" and op != "empty" and (right is new or right.shape is None and right.origins == new.origins):
        return ""  # the very value that is written, whatever it is
    if op in ("truth", "empty") or constant and right is not None and right.is_none:
        filled = new.literal is NOT_LITERAL or bool(new.literal)
        empty = op == "empty" or op in ("is", "==") and right is not None and right.is_none
        if not state:
            return ""  # a default for an empty field, a flag set once
        # `if not used: used = True` alone only avoids a needless write; a claim refuses the second one, or goes on to do something.
        return "same" if not (empty and filled) or claims else ""
    if not constant:
        return ""
    if op in ("!=", "is not", "not in"):
        if same_constant(new, right):
            return "same" if claims else ""  # the very value that is written
        return "same" if state or is_constant(new) else ""
    if same_constant(new, right):
        return ""
    return "same" if state or is_constant(new) else ""


def _is_one_of(new: Value, *sides: Optional[Value]) -> bool:
    """Is the new value among what a test looks at?"""
    return any(side is not None and (same_constant(new, side) or bool(new.same & (side.same | side.origins))) for side in sides)


def _goes_on(trace: Trace, write: Write) -> bool:
    """Is something else done after it, of another record?"""
    return any(event.kind == "effect" or isinstance(event, Write) and same_record(event.record, write.record) == NO for event in trace.events[write.n + 1:])


def _judged(write: Write, side: Optional[Value]) -> bool:
    """`if not is_free(seat): raise`: computed from the record alone, from constants, the time, and what is to be written."""
    mine = {o.n for o in side.same if o.kind == "opaque"} if side is not None else set()
    written = {o for _, value in write.columns or () for o in value.origins}
    return side is not None and all(o.kind in ("read", "clock", "const", "global") or o.kind == "opaque" and o.n in mine or o in written or o.kind == "param" and o._replace(path=()) in written
                                    for o in side.origins)


def _handed_in(value: Value) -> bool:
    return any(o.kind in ("param", "opaque", "global") for o in value.origins) and not any(o.kind == "clock" for o in value.origins)


def _was_read(value: Value) -> bool:
    return any(o.kind == "read" for o in value.same)


def _written(write: Write, value: Value) -> bool:
    """Is the value one of those that are written?"""
    return any(v is value or v.same & value.same for _, v in write.columns or ())


def _raised_on(trace: Trace, test: Test, branch: str, write: Write) -> bool:
    """Does the other branch of the test end in an exception? Of `if used or expired: raise` neither test alone leads to it: it is the way without the write's own branch."""
    mine, other = Origin("test", test.n, (branch,)), Origin("test", test.n, ("no" if branch == "yes" else "yes",))
    if any(isinstance(event, RaiseEvent) and other in event.ctx.control for event in trace.events[test.n:]):
        return True
    return any(isinstance(event, RaiseEvent) and mine not in event.ctx.control and {o for o in event.ctx.control if o.kind == "test" and len(o.path) == 1} <= write.ctx.control
               for event in trace.events[test.n:write.n])


def _by_filter(trace: Trace, write: Write, families: frozenset) -> Iterator[Act]:
    """The read's own WHERE holds the test, and the write goes to a row that came out of it."""
    for event in trace.of("read"):
        if event.n > write.n or not event.filters or not _comes_from(trace, event, write):
            continue
        doubts = _unguarded(trace, event, write, families)
        if doubts is None:
            continue
        for column, op, right in event.filters:
            way = _FILTER_OPS.get(op, "")
            if not way or column not in dict(write.columns or ()) or moved_before(trace, event, write, column):
                continue
            how = _counts(trace, write, column, way, None, right, False, True)
            if how == "same" and (way not in ("==", "is", "in") or is_constant(right)):
                yield Act(write, event, column, way, right, event.site, how, doubts)


def _taken_over(trace: Trace, write: Write, families: frozenset) -> Iterator[Act]:
    """`if lease and lease["expires_at"] > now: raise Held`, then the holder is written: whoever finds it free takes it."""
    names = [(name.rpartition(".")[2], value) for name, value in write.columns or write.named]
    if not any(trace.match("claim_column", name) and tells_apart(value) for name, value in names):
        return
    for test, op in some_before(trace, write):
        for side, other in ((test.left, test.right), (test.right, test.left)):
            for read, columns, _ in _fields(trace, side):
                doubts = _unguarded(trace, read, write, families)
                for column in columns if doubts is not None else ():
                    if (trace.match("lease_end", column) or trace.match("claim_column", column)) and not moved_before(trace, read, write, column):
                        yield Act(write, read, column, op, other, test.site, "state", doubts)


def _comes_from(trace: Trace, read: Read, write: Write) -> bool:
    """Is the key of the write taken from a row of that read, or is the write reached only where such a row was found?"""
    if any(o.kind == "read" and o.n == read.n for _, value in write.record.key for o in value.same):
        return True
    return any(o.kind == "read" and o.n == read.n for o in write.ctx.control)


def _consumed(trace: Trace, write: Write, families: frozenset) -> Iterator[Act]:
    """A record that is there once (a ticket, a code): found, deleted, its content used, and nobody asks whether the delete was the one that removed it."""
    if write.verb != "delete" or write.n not in trace.unchecked:
        return
    yield from _redeemed(trace, write, families)
    for test, branch in tests_before(trace, write):
        op = test.op if branch == "yes" else _NEGATED.get(test.op, "")
        if not (op == "truth" or op in ("is not", "!=") and test.right.is_none):
            continue
        for origin in test.left.same:
            read = trace.events[origin.n] if origin.kind == "read" else None
            if not isinstance(read, Read) or origin.path or read.n not in trace.used or read.record.family == "sql":
                continue
            doubts = _unguarded(trace, read, write, families)
            if doubts is not None:
                yield Act(write, read, "", op, test.right, test.site, "consumed", doubts)


def _redeemed(trace: Trace, write: Write, families: frozenset) -> Iterator[Act]:
    """`if r.get(key) == code: r.delete(key)`: what was sent to somebody once, given back, and deleted; two who give it back at once both find it."""
    if write.record.family != "key" or not any(trace.match("single_use", word) for word in (write.record.label.lower(), write.site.function.rpartition(".")[2].lower())):
        return
    for test, branch in tests_before(trace, write):
        op = test.op if branch == "yes" else _NEGATED.get(test.op, "")
        sides = (test.left, test.right) if test.right is not None else (test.left,)
        numbers = {o.n for side in sides for o in side.origins if o.kind == "read"}
        given = any(o.kind in ("param", "opaque", "global") for side in sides for o in side.origins)
        if op not in ("==", "is", "truth") or len(numbers) != 1 or not given or op == "truth" and test.left.same:
            continue
        read = trace.events[numbers.pop()]
        doubts = _unguarded(trace, read, write, families) if isinstance(read, Read) and read.record.family == "key" else None
        if doubts is not None:
            yield Act(write, read, "", op, test.right, test.site, "consumed", doubts)
