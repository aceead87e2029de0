"""Fields of objects that an ORM loads and saves: is the value derived from the loaded row, and is the save guarded?"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional

from ..events import Change, Event, Read, Site, Trace, Write
from ..records import MAYBE, NO
from ..values import Origin, Value
from .guards import anchor, column_of, guard_between, guard_held, reads_in, same
from .locks import Stale, copies, loaded_by, remembered, stale_lock
from .tests import tests_of_field, unchanged_under_lock


@dataclass(slots=True)
class Derived:
    """A field of a loaded object that is written with a value derived from the loaded row. kind: 'increment' | 'derived'.

    stale: the row lock that is there and does not help, or None; remembered: only because the session gives back what it loaded before it.
    """

    kind: str
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
    remembered: bool = False


#: Columns that say which row it is; they never change, so a value made of them is not stale.
_IDENTITY = frozenset(("pk", "id", "uuid", "_id"))
_OWN_METHODS = ("save", "clean", "full_clean", "asave", "clean_fields", "pre_save", "validate")


def derived_changes(trace: Trace) -> Iterator[Derived]:
    """Changes of loaded objects that a save, flush or commit writes, unguarded. Active record: one for each write, at the save
    (an increment before other derivations); unit of work: one for each field and commit, at the first such change."""
    for write in trace.of("write"):
        if write.record.family != "orm" or not write.changes or write.conditional or write.verb != "update":
            continue
        found = derived_fields(trace, write)
        if write.unit:
            # `row.set(a=…, b=…)`: one statement, one finding.
            statements: dict = {}
            for item in found.values():
                known = statements.setdefault(id(item.site.at), item)
                if known.kind != "increment" and item.kind == "increment":
                    statements[id(item.site.at)] = item
            yield from statements.values()
        elif found:
            yield min(found.values(), key=lambda item: (item.kind != "increment", item.change.n))


def derived_fields(trace: Trace, write: Write) -> dict[str, Derived]:
    """field → what is derived from the loaded row and written unguarded, of all that a save or flush writes."""
    found: dict[str, Derived] = {}
    for n, path in sorted(write.changes):
        item = _derived(trace, write, trace.events[n], path)
        if item is not None and (item.field not in found or (item.kind == "increment" and found[item.field].kind != "increment")):
            found[item.field] = item
    return found


def _derived(trace: Trace, write: Write, change: Change, path: tuple) -> Optional[Derived]:
    """One change of a written object, when it is derived from the row and nothing guards it."""
    if in_own_method(trace, change) or normalising(trace, write, change) or _buried(trace, write, change):
        return None
    others = copies(trace, write, change, change.value.origins)
    if _refilled(trace, write, change, path):
        return None
    kind, base = _kind_of(trace, change, path, write.base), None
    if kind is None:
        for base in others:
            kind = _kind_of(trace, change, path, frozenset((base,)))
            if kind is not None:
                break
        else:
            return None
    if kind == "derived" and len(path) == 1 and trace.match("remark_column", str(path[0])) and not _of_itself(change, str(path[0])):
        return None  # `error = f"{row.name}: {reason}"`: a word about what happened
    if kind == "derived" and len(path) == 1 and not _of_itself(change, str(path[0])) and _default(trace, write, change, str(path[0])):
        return None
    loaded = loaded_by(trace, change)
    read = loaded if base is None else others[base]
    read = read if isinstance(read, Read) else None
    start = read if read is not None else change
    last = change if write.unit else None
    by_session = False
    if base is not None and read is None:
        guard = None  # computed from an object that came from elsewhere, before the row was loaded
    else:
        guard = guard_between(trace, read, write, last) if read is not None else guard_held(trace, change, write)
    if guard is None and unchanged_under_lock(trace, write.base | ({Origin("read", read.n)} if read is not None else frozenset()), write):
        return None
    if guard is not None:
        earlier = remembered(trace, read) if read is not None and guard.source == read.n else None
        if earlier is None:
            return None
        stale, by_session = Stale(read.site, "waits for the other writer, but the session gives back the attributes as it loaded them before"), True
        start = read = earlier
    else:
        stale = stale_lock(trace, read, write, change)
    field = ".".join(path) if len(path) > 1 and not path[1].startswith("[") else str(path[0])
    if field.startswith("<"):
        field = "…"  # `setattr(row, name, …)`: which one, only the caller knows
    return Derived(kind, write, field, write.record.label, change.site if write.unit else anchor(write, change), start, read, change, frozenset(),
                   field if write.unit else "", stale, by_session)


def _refilled(trace: Trace, write: Write, change: Change, path: tuple) -> bool:
    """`self.details = {"name": …}`, then `self.details["size"] = …`: what is completed was put there anew before, and is not what was loaded."""
    if len(path) < 2:
        return False
    for n, other in write.changes:
        earlier = trace.events[n]
        if other == path[:1] and n < change.n and earlier.obj == change.obj and earlier.op == "assign" and earlier.ctx.control <= change.ctx.control \
                and earlier.ctx.calls == change.ctx.calls[:len(earlier.ctx.calls)] and _kind_of(trace, earlier, other, write.base) is None \
                and not any(o.kind == base.kind and o.n == base.n and o.path == (*base.path, str(path[0])) for o in earlier.value.origins for base in write.base):
            return True
    return False


def _buried(trace: Trace, write: Write, change: Change) -> bool:
    """`row.email = f"{row.email}.deleted"` beside `row.deleted_at = now()`, or where that is set: the name of a row that is put away; nobody changes it after that."""
    if len(change.field) != 1 or not change.value.origins or change.value.incr:
        return False
    for n, path in write.changes:
        other = trace.events[n]
        if len(path) == 1 and n != change.n and trace.match("deletion_column", str(path[0])) and not other.value.is_none and other.value.literal not in (False, 0):
            return is_text(change.value)
    return is_text(change.value) and any(
        tested.op == "truth" and trace.match("deletion_column", tested.column) for tested in tests_of_field(trace, write.base, change, write))


def is_text(value: Value) -> bool:
    """Is it put together as a text?"""
    return hasattr(value.shape, "parts")


def _of_itself(change: Change, field: str) -> bool:
    """Is the value made of the field's own old value?"""
    return any(o.kind == base.kind and o.n == base.n and o.path[:len(base.path) + 1] == (*base.path, field) for o in change.value.origins for base in change.base)


def _default(trace: Trace, write: Write, change: Change, field: str) -> bool:
    """`if not user.full_name: user.full_name = user.username`: a default for an empty field."""
    return any(tested.column == field and (tested.op == "empty" or tested.op in ("is", "==") and tested.right is not None and tested.right.is_none)
               for tested in tests_of_field(trace, write.base, change, write))


def in_own_method(trace: Trace, change: Change) -> bool:
    """Normalising a field inside the model's own save(), clean() or validator is no finding; changing another row there is none of that."""
    functions = [change.site.function, *(call[1].function for call in change.ctx.calls if isinstance(call[1], Site))]
    if not any(_is_own(name) for name in functions) or any(base.path for base in change.base):
        return False
    read = loaded_by(trace, change)
    return read is None or not _is_own(read.site.function)


def _is_own(function: str) -> bool:
    return "." in function and function.rpartition(".")[2] in _OWN_METHODS


def normalising(trace: Trace, write: Write, change: Change) -> bool:
    """`def save(row): row.note = short(row.note); session.add(row)`: a field of what was handed in is put into form before it is stored, as in save() or clean().

    Nothing else enters the value, and the function that does it has not loaded the row.
    """
    if not change.formed or len(change.field) != 1 or change.value.incr:
        return False
    own = {(base.kind, base.n, *base.path, change.field[0]) for base in change.base}
    origins = [o for o in change.value.origins if o.kind not in ("const", "opaque")]
    if not origins or not all(any((o.kind, o.n, *o.path)[:len(known)] == known for known in own) for o in origins):
        return False
    read = loaded_by(trace, change)
    if read is not None and read.ctx.calls[:len(change.ctx.calls)] == change.ctx.calls:
        return False
    return any(event.objs and change.obj in event.objs and event.n > change.n and event.ctx.calls == change.ctx.calls for event in trace.of("pending"))


def _kind_of(trace: Trace, change: Change, path: tuple, bases: frozenset) -> Optional[str]:
    """increment: the field is its own old value plus or minus something; derived: computed from this row in sight; else None."""
    field = path[0]
    value = change.value
    if len(path) == 1 and "reference" in value.flags:
        return None  # the id of another row is written, whatever that row was made of
    plain = "no number" not in value.flags and not any(step.startswith("[") for step in path[1:])
    for base in bases:
        old = base
        for step in path:
            old = old.at(step)
        if plain and any(o == old for o in value.incr):
            return "increment"
    for origin in value.origins:
        for base in bases:
            if origin.kind != base.kind or origin.n != base.n or origin.path[:len(base.path)] != base.path or len(origin.path) <= len(base.path):
                continue
            rest = origin.path[len(base.path):]
            step, opaque = str(rest[0]), rest[-1] in ("()", "(.)")
            if step == field:
                if len(path) == 1 and origin in value.same:
                    continue  # written back as it was, or a default for an empty field
                if opaque and len(rest) > 2 or rest[-1] == "(.)":
                    continue  # an id inside it was given to some call: what came back is not made of the field
                return "derived"
            if opaque or len(path) > 1 or step in _IDENTITY or step.endswith(("_id", "()")) or step == "…" or step.isupper() or step.startswith("_") or trace.match("set_once_column", step):
                continue
            if len(rest) > 1 and origin._replace(path=origin.path[:len(base.path) + 1]) in trace.relations:
                continue  # `self.range.…`: of another row
            if all(str(part).startswith("[") for part in rest[1:]):
                return "derived"  # a sibling column; `self.rule.date` is another record's
    if change.op in ("mutate", "item", "aug") and len(path) > 1:
        return "derived"
    return None


def _changed_in_place(trace: Trace, write: Write, origin: Origin) -> bool:
    """`row.unread.pop(name)`, then `update(set__unread=row.unread)`: the very object, and something else in it."""
    return any(event.n < write.n and event.op in ("mutate", "item", "aug") and origin in event.base for event in trace.of("change"))


def derived_updates(trace: Trace) -> Iterator[Derived]:
    """`queryset.update(n=row.n + 1)`, `update(Model).values(n=row.n + 1)`: a set-based write of a value from a loaded row."""
    for write in trace.of("write"):
        if write.record.family != "orm" or write.changes or write.verb not in ("update", "upsert") or write.conditional or write.open_where:
            continue
        best = None
        for column, value in write.columns or ():
            if column in write.self_columns:
                continue
            for read, origin in reads_in(trace, value):
                if read.record.family not in ("orm", "sql") or not origin.path or origin.path[-1] == "(.)" or origin.path[-1] == "()" and str(origin.path[0]) != column:
                    continue
                answer = same(trace, read, write)
                if answer == NO or guard_between(trace, read, write) is not None or str(origin.path[0]) in _IDENTITY:
                    continue
                own = column_of(trace, origin) == column
                if not own and trace.match("set_once_column", column_of(trace, origin) or ""):
                    continue
                if unchanged_under_lock(trace, (Origin("read", read.n),), write):
                    continue
                if own and origin in value.same and not _changed_in_place(trace, write, origin):
                    continue
                kind = "increment" if own and origin in value.incr else "derived"
                item = Derived(kind, write, column, write.record.label, write.site, read, read, None,
                               frozenset(("maybe-same",)) if answer == MAYBE else frozenset(), "")
                if best is None or (item.kind == "increment", own) > (best[0].kind == "increment", best[1]):
                    best = item, own
                break
        if best is not None:
            yield best[0]  # one finding for one write
