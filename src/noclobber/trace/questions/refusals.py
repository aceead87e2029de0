"""Conditional writes: which condition can refuse one, does the refusal matter, and can another writer cause it at all?"""
from __future__ import annotations

from typing import Optional

from ..events import Event, Precondition, Read, Trace, Write
from ..records import NO
from .guards import guard_between, same
from .tests import is_constant, tests_of_field
from .writes import relies_on

#: Columns that divide a table among tenants: a row needs another one beside them.
_TENANTS = frozenset(("tenant", "namespace", "org", "organization", "organisation", "account", "workspace", "project", "subject", "user", "team", "company", "site", "realm", "agent"))
#: What a foreign key may be called in an ORM, where its column has no `_id`.
_ORM_KEYS = frozenset(("pk", "id", "uuid", "key", "name", "slug", "code", "token", "guid", "email", "username"))


def refusing(trace: Trace, write: Write) -> Optional[Precondition]:
    """The precondition whose refusal somebody has to look at, or None: there is none, it matters to nobody, or no other writer can cause it."""
    if not names_row(write) or _of_owner(trace, write) or _lets_go(trace, write) or _held_since_read(trace, write) or _read_again(trace, write):
        return None
    written = {name for name, _ in write.columns or ()}
    extremes = {p.column for p in write.preconditions if _keeps_extreme(trace, write, p)}
    preconditions = [p for p in write.preconditions if p.column not in extremes]
    for precondition in preconditions:
        if precondition.kind == "witness" and _fills(trace, write, precondition):
            continue
        if precondition.kind in ("witness", "bound") and (precondition.column in written or write.verb == "delete" or names_row(write, without=precondition.column)):
            return precondition
    for precondition in preconditions:
        if precondition.kind == "state" and _matters(trace, write, precondition) and relies_on(trace, write):
            return precondition
    return None


def already_gone(trace: Trace, refusal: Event, writes: list) -> bool:
    """Was nothing asked for but a deletion, without a condition of its own? Refused, the row has gone already, and that is what was wanted."""
    if writes:
        return all(write.verb == "delete" and not write.preconditions and write.record.family == "orm" for write in writes)
    changes = [change for change in trace.of("change") if change.n < refusal.n and change.site.function == refusal.site.function and change.ctx.calls == refusal.ctx.calls]
    return bool(changes) and all(change.takes for change in changes)


def left_alone(trace: Trace, refusal: Event, writes: list) -> bool:
    """A sweep over many records that deletes what has come to its end: one that has changed meanwhile is passed over, and that is what the condition is for."""
    loop = trace.events[refusal.ctx.loops[-1]] if refusal.ctx.loops else None
    return bool(writes) and loop is not None and loop.items and all(write.verb == "delete" for write in writes)


def _of_owner(trace: Trace, write: Write) -> bool:
    """`SET lease_until = :later WHERE state = 'held' AND owner = :me`: whatever rows one holds, none of them by its key."""
    columns = [column.removesuffix(" in") for column, _ in write.record.key]
    return bool(columns) and all(trace.match("state_column", column) or trace.match("claim_column", column) for column in columns)


def _lets_go(trace: Trace, write: Write) -> bool:
    """A lease given back, a mark taken away, where it is still the own one: who finds another one there has nothing to do.

    `DELETE … WHERE name = :n AND owner = :me`, `SET error = NULL WHERE id = :id AND error = :seen`.
    """
    asked = {p.column for p in write.preconditions if p.kind in ("state", "witness") and not p.value.is_none}
    if write.verb == "delete":
        return any(trace.match("claim_column", column) and not is_constant(p.value) for p in write.preconditions for column in (p.column,))
    emptied = {column for column, value in write.columns or () if value.is_none or value.literal == ""}
    others = {column for column, _ in write.columns or ()} - emptied
    return write.verb == "update" and bool(emptied & asked) and all(trace.match("version_column", column) for column in others - asked) and not others & asked


def _read_again(trace: Trace, write: Write) -> bool:
    """Is the row loaded anew right after the write, whoever has written it, and nothing done here as if it had been won?"""
    read: Optional[Read] = None
    for event in trace.events[write.n + 1:]:
        inside = event.ctx.calls[:len(write.ctx.calls)] == write.ctx.calls
        if read is None and inside and isinstance(event, Read) and same(trace, event, write) != NO:
            if event.aggregate or event.lock is not None or not event.ctx.control <= write.ctx.control:
                return False
            read = event
        elif event.kind in ("effect", "write", "call") and (read is None or inside):
            return False
    return read is not None


def _keeps_extreme(trace: Trace, write: Write, precondition: Precondition) -> bool:
    """`SET seen_at = :t WHERE id = :id AND seen_at < :t`: the greatest (or least) value stands in the end, whoever comes last; nothing else is lost with a refusal."""
    if precondition.kind != "bound" or write.verb != "update":
        return False
    own, others = None, []
    for name, value in write.columns or ():
        if name == precondition.column:
            own = value
        elif name not in write.self_columns and not all(o.kind in ("const", "clock", "server") for o in value.origins):
            others.append(name)
    same = own is not None and (own is precondition.value or bool(own.same & precondition.value.same) or own.ref is not None and own.ref == precondition.value.ref)
    return same and not others and not trace.match("strong_version", precondition.column)


def _matters(trace: Trace, write: Write, precondition: Precondition) -> bool:
    """`deleted_at IS NULL`: a mark that is set once is no state that somebody wins; `latest_id = :gone`: a reference is taken away where it still stands."""
    if trace.match("state_column", precondition.column):
        return True
    return not precondition.value.is_none and not precondition.column.endswith("_id")


def _fills(trace: Trace, write: Write, precondition: Precondition) -> bool:
    """`if row.due is None: filter(pk=row.pk, due=row.due).update(due=…)`: who is late finds it filled, and nothing else is lost."""
    column = precondition.column
    if trace.match("state_column", column) or any(o.kind == "param" and o.n != "self" for o in write.payload.origins) or relies_on(trace, write, one_round=True):
        return False
    bases = {origin._replace(path=origin.path[:-1]) for origin in precondition.value.same if origin.path}
    return any(tested.column == column and (tested.op == "empty" or tested.op in ("is", "==") and tested.right is not None and tested.right.is_none)
               for tested in tests_of_field(trace, bases, write))


def names_row(write: Write, without: str = "") -> bool:
    """Does the key name one row? A foreign key or a tenant alone names many: that some of them are left out is what such an update is for."""
    label = write.record.label.lower()
    foreign = set()
    if write.others:
        return False
    for column, value in write.record.key:
        if column == without or column.endswith(" in") or value is not None and any(value.literal is plain for plain in (None, True, False)):
            continue  # `lines=None` says what kind of rows, not which
        if value is not None and value.ref is not None and value.ref[0] == "column":
            continue  # joined with another table: its rows
        name = column.lower()
        stem = name.removesuffix("_id").removesuffix("_uuid")
        if stem in _TENANTS and not _own(stem, label):
            continue
        if stem != name and not _own(stem, label):
            foreign.add(stem)
            continue
        if is_constant(value) and not (name in _ORM_KEYS or name.endswith("_key")):
            continue  # the same in all of a kind
        if write.record.family == "orm" and not (name in _ORM_KEYS or name.endswith(("_key", "_id"))):
            foreign.add(stem)
            continue
        return True
    return len(foreign) > 1  # a link's two ends


def _own(stem: str, label: str) -> bool:
    """`order_id` of `orders`, `shop_order`; the `flow_id` of `flow_versions`, the `user_id` of `user_tenant` are of other tables."""
    return any(name.endswith(stem) for name in (label, label.removesuffix("s"), label.removesuffix("es"), label.removesuffix("ies") + "y"))


def _held_since_read(trace: Trace, write: Write) -> bool:
    """The record was read under a lock that is still held: nobody else can have changed it since."""
    for read in trace.of("read"):
        if read.n < write.n and isinstance(read, Read) and read.record.family in (write.record.family, "sql", "orm"):
            if guard_between(trace, read, write) is not None and same(trace, read, write) != NO:
                return True
    return False
