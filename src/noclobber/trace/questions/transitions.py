"""Transitions: a field tested on a loaded row in Python, then written, without the write repeating the test."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator, Optional

from ..events import Change, Event, Read, Site, Trace, Write
from ..records import MAYBE, NO
from ..values import SERVER, Origin, Value
from .guards import anchor, asks_again, guard_between, guard_held, same
from .locks import Stale, loaded_by, stale_lock
from .objects import in_own_method
from .tests import Tested, filtered_by, is_constant, moved_before, same_constant, some_tests, tells_apart, tests_before, tests_of_field, unchanged_under_lock


@dataclass(slots=True)
class Transition:
    """tested: the test; write; field: the written column ('' for a delete); site: where the finding stands; start: the read, or the test's
    record as it came in; stale: the row lock that is there and does not help."""

    tested: Tested
    write: Write
    field: str
    label: str
    site: Site
    start: Event
    read: Optional[Read]
    change: Optional[Change]
    doubts: frozenset
    obj: str
    stale: Optional[Stale] = None


Match = Callable[[str, str], bool]


def object_transitions(trace: Trace) -> Iterator[Transition]:
    """Transitions of loaded objects that a save, flush or commit writes, and of rows that a statement writes."""
    match = trace.match
    for write in trace.of("write"):
        if write.record.family != "orm" or write.conditional or write.verb not in ("update", "delete"):
            continue
        if write.changes:
            yield from _of_changes(trace, write, match)
        elif write.verb == "update" and write.columns and not write.open_where or write.verb == "delete":
            yield from _of_statement(trace, write, match)


def _of_changes(trace: Trace, write: Write, match: Match) -> Iterator[Transition]:
    for n, path in sorted(write.changes):
        change = trace.events[n]
        if len(path) != 1 or in_own_method(trace, change):
            continue
        loaded = loaded_by(trace, change)
        tests = [t for t in tests_of_field(trace, write.base, change, write) if not write.unit or t.test is None or t.test.n < change.n]
        if loaded is not None:
            tests += filtered_by(trace, loaded)
        taken = _taken_over(trace, write, change, str(path[0]), match)
        tests += taken
        for tested in tests:
            if tested in taken:
                doubts = frozenset()
            else:
                doubts = decides(trace, tested, str(path[0]), change.value, change, write, match)
            if doubts is None or _made_before(trace, tested, write):
                continue
            start = loaded if loaded is not None else tested.test or change
            last = change if write.unit else None
            guard = guard_between(trace, loaded, write, last) if loaded is not None else guard_held(trace, tested.test or change, write)
            if guard is not None or asks_again(trace, loaded, write, tested.column, change) or unchanged_under_lock(trace, write.base, write) or mirrors(trace, loaded, change):
                break
            yield Transition(tested, write, str(path[0]), write.record.label, change.site if write.unit else anchor(write, change), start, loaded, change,
                             doubts, "transition" if write.unit else "", stale_lock(trace, loaded, write, change))
            return


def _taken_over(trace: Trace, write: Write, change: Change, field: str, match: Match) -> list:
    """`if lease.expires_at and lease.expires_at > now: return False`, then `lease.holder = me`: whoever finds it free takes it."""
    if not match("claim_column", field) or not tells_apart(change.value):
        return []
    return [tested for tested in some_tests(trace, write.base, change) if match("lease_end", tested.column) or match("claim_column", tested.column)]


def _made_before(trace: Trace, tested: Tested, write: Write) -> bool:
    """Has an earlier save of the object behind that test written the tested field already? Then that one is the transition."""
    for earlier in trace.of("write"):
        if earlier.n >= write.n:
            return False
        if earlier.record.obj == write.record.obj and earlier.record.obj is not None and any(str(path[0]) == tested.column for _, path in earlier.changes) \
                and tested.test is not None and earlier.n > tested.test.n and earlier.ctx.control <= write.ctx.control:
            return True
    return False


def mirrors(trace: Trace, loaded: Optional[Read], change: Change) -> bool:
    """Does the change only repeat in memory what a statement has written to rows of that table after the load?"""
    if loaded is None or len(change.field) != 1:
        return False
    for write in trace.of("write"):
        if loaded.n < write.n < change.n and write.verb == "update" and write.columns and not write.changes and write.record.table is not None and write.record.table == loaded.record.table:
            for column, value in write.columns:
                if column == str(change.field[0]) and (value is change.value or same_constant(value, change.value) or bool(value.same & change.value.same)):
                    return True
    return False


def _of_statement(trace: Trace, write: Write, match: Match) -> Iterator[Transition]:
    """`if order.status == "open": Order.objects.filter(pk=order.pk).update(status="paid")`, `session.delete(order)`."""
    if any(p.kind == "open" for p in write.preconditions):
        return
    for read in (event for event in trace.events[:write.n] if isinstance(event, Read) and event.record.family in ("orm", "sql")):
        answer = same(trace, read, write)
        if answer == NO or read.many and answer == MAYBE:
            continue
        listed = filtered_by(trace, read) if not (read.many or read.listed) or _rests_on(read, write) else ()  # rows that were only listed decide nothing
        for tested in (*tests_of_field(trace, {Origin("read", read.n)}, write), *listed):
            for column, value in write.columns or (("", None),):
                if column in write.self_columns:
                    doubts = frozenset() if _bounds_step(tested, column, write) else None
                else:
                    doubts = decides(trace, tested, column, value, write, write, match)
                if doubts is None or moved_before(trace, read, write, tested.column):
                    continue
                if guard_between(trace, read, write) is not None or unchanged_under_lock(trace, (Origin("read", read.n),), write):
                    return
                yield Transition(tested, write, column, write.record.label, write.site, read, read, None, doubts | ({"maybe-same"} if answer == MAYBE else frozenset()), "")
                return


def _bounds_step(tested: Tested, column: str, write: Write) -> bool:
    """`if wallet.credits < n: raise` before `credits = credits - n`: the sum is the database's, the bound is what was true at the read."""
    return tested.test is not None and tested.column == column and tested.op in ("<", "<=", ">", ">=") and not any(p.column == column for p in write.preconditions)


def _rests_on(read: Read, write: Write) -> bool:
    """Do the rows found say whether the statement is run, or which rows it writes?"""
    if any(o.kind == "read" and o.n == read.n for o in write.ctx.control):
        return True
    return any(o.kind == "read" and o.n == read.n for _, value in (*write.record.key, *(write.columns or ())) for o in value.origins)


def decides(trace: Trace, tested: Tested, column: str, value: Optional[Value], at: Event, write: Write, match: Match) -> Optional[frozenset]:
    """The doubts when this write depends on that test so that two who both pass it do harm; None: it does not. value: what is written; None:
    everything goes (DELETE)."""
    if any(name.removesuffix(" in") == tested.column for name, _ in write.record.key) or any(p.column == tested.column for p in write.preconditions):
        return None  # the write's own condition repeats it
    if _same_field(trace, tested, column, value, write, match):
        return frozenset()
    if tested.test is None or value is None or column == tested.column or column in _STAMPS or match("version_column", column):
        return None
    state = match("state_column", tested.column) or match("quota_column", tested.column)
    if not state or tested.right is None or tested.op in ("truth", "empty") or not is_constant(tested.right) or tested.right.is_none:
        return None
    changed = {str(path[0]) for _, path in write.changes} or {name for name, _ in write.columns or ()}
    if tested.column in changed or SERVER in value.origins:
        return None
    if match("remark_column", column) or not match("state_column", column) and any(o.kind == "clock" for o in value.origins):
        return None  # what was met, and when: a word about the record, whoever writes it last
    if value.literal is True and match("dirty_column", column):
        return None  # a mark that somebody looks at later; set once too often it costs a round
    # Another column, under a state: a plain state word counts, a flag hardly.
    flag = isinstance(tested.right.literal, bool)
    return frozenset(("other-column",)) if flag or tested.negative else frozenset()


#: Columns that only say when something was touched.
_STAMPS = frozenset(("updated_at", "modified_at", "last_seen", "last_used", "last_used_at", "last_activity", "last_login", "updated", "modified", "seen_at"))


def _same_field(trace: Trace, tested: Tested, column: str, value: Optional[Value], write: Write, match: Match) -> bool:
    name = tested.column
    state = match("state_column", name)
    claim = match("claim_column", name)
    if match("version_column", name) and not state:
        # The version of the row compared in Python with one from outside: then any column may be written.
        return tested.op in ("==", "is") and tested.right is not None and not is_constant(tested.right) and _from_outside(tested.right)
    constant = is_constant(tested.right) or tested.op in ("truth", "empty")
    bound = tested.op in ("<", "<=", ">", ">=")
    if tested.right is not None and any(o.kind in ("param", "opaque") for o in tested.right.origins) and not bound:
        return False  # ownership, permission, an answer of the caller
    if value is None:
        return (state or match("quota_column", name)) and constant and not bound and tested.op in ("==", "is", "in")
    if SERVER in value.origins and value.ref is None:
        return False
    if column == name:
        if not (constant or bound):
            return False
        fixed = is_constant(value)
        if tested.op in ("==", "is", "!=", "is not") and tested.right is not None and isinstance(tested.right.literal, bool):
            # `active == True` is the flag itself.
            return state and fixed and _relied_on(trace, tested, write)
        if tested.op in ("==", "is", "in") and not (tested.right is not None and tested.right.is_none):
            return (fixed or state) and not same_constant(tested.right, value) and not _among(tested, value)
        if tested.op in ("!=", "is not") and (same_constant(tested.right, value) or tested.right is not None and tested.right.is_none and value.is_none):
            return False  # the very value that is written
        if tested.op in ("truth",) or tested.op in ("is not", "!=") and tested.right is not None and tested.right.is_none:
            return fixed and state and not value.literal is True and _relied_on(trace, tested, write)
        # Of an empty field, or of one that is not yet what is written.
        if tested.op in ("empty", "is", "==", "!=", "is not", "not in"):
            if not claim and not state:
                return False
            if claim and not fixed and tells_apart(value):
                return True
            return _relied_on(trace, tested, write)
        return bound and fixed and state
    return False


def _among(tested: Tested, value: Value) -> bool:
    return False


def _from_outside(value: Value) -> bool:
    return any(o.kind == "param" for o in value.same) or any(o.kind == "param" for o in value.origins)


def _relied_on(trace: Trace, tested: Tested, write: Write) -> bool:
    """Does more than this one write happen because of the test: an effect, another record's write?"""
    if tested.test is None:
        return False
    branches = {(test.n, branch) for test, branch in tests_before(trace, write)}
    mine = next((branch for n, branch in branches if n == tested.test.n), "")
    wanted = Origin("test", tested.test.n, (mine,))
    for event in trace.events:
        if event.n == write.n or wanted not in event.ctx.control:
            continue
        if event.kind == "effect" or event.kind == "write" and event.record.obj != write.record.obj and event.verb in ("create", "update", "atomic", "append", "replace"):
            if event.record.family != "accessor" if event.kind == "write" else True:
                return True
    return False
