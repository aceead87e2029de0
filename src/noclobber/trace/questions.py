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
        if column == "entity":
            # The object that was read is written back: it carries its key.
            return any(o.kind == "read" and o.n == read.n for o in value.origins)
        for origin in value.same:
            if origin.kind == "read" and origin.n == read.n:
                name = column_of(trace, origin)
                if name == column or {name, column} <= {"pk", "id"} or column == "pk" and not origin.path:
                    return True
        return False

    return same_record(read.record, write.record, key_from_read=key_from_read)


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
    while len(calls) > depth and calls[:len(scope.ctx.calls)] == scope.ctx.calls and isinstance(calls[depth][1], Site):
        if len(calls[depth]) == 2:
            return calls[depth][1]
        depth += 1  # a callback that was handed in: the line stands in it
    return event.site


def blind_writes(trace: Trace, family: Iterable[str], verbs: Iterable[str]) -> Iterator[tuple[Write, Read, Origin, str]]:
    """(write, read, origin, same) of each write whose payload derives from an earlier read of the same record with no guard between.

    One for a write: the surest read, the nearest of these.
    """
    families, wanted = frozenset(family), frozenset(verbs)
    for write in trace.of("write"):
        if write.record.family not in families or write.verb not in wanted or write.conditional or write.open_where:
            continue
        if any(p.kind == "open" for p in write.preconditions) or _is_new(trace, write):
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


def _is_new(trace: Trace, write: Write) -> bool:
    """The key is what an INSERT of this function gave back: nobody else knows the row yet."""
    for _, value in write.record.key:
        for origin in value.same:
            if origin.kind == "outcome" and isinstance(trace.events[origin.n], Write) and trace.events[origin.n].verb == "create":
                return True
    return False


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


def help_of(write: Write, general: str, field: str = "", record: str = "") -> str:
    """The repair in the library's own terms where the vocabulary has a line for it, else in general ones."""
    return (write.help or general).replace("{field}", field).replace("{record}", record)


def flow(trace: Trace, read: Read, write: Write) -> list:
    """The changes between read and write through which the value went, as related places."""
    marks = []
    for event in trace.of("change"):
        if read.n < event.n < write.n and any(o.kind == "read" and o.n == read.n for o in (*event.value.origins, *event.base)):
            marks.append(Mark("change", event.site, "the new value is computed from it"))
    return marks[:3]


def relies_on(trace: Trace, write: Write) -> bool:
    """Does something after the write count on its having been accepted: an effect, another write, with nothing asked between?"""
    for event in trace.events[write.n + 1:]:
        if event.kind == "effect":
            return True
        if event.kind == "write" and event.n != write.n and event.verb != "append":
            return True
        if event.kind == "call" and any(o.kind == "read" or any(o in v.same for _, v in write.record.key) for o in event.value.origins):
            return True  # what was read with the row goes on as if it were ours
    return False


# --- objects that an ORM loads and saves ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Derived:
    """A field of a loaded object that is written with a value derived from the loaded row. kind: 'increment' | 'derived'."""

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
    help: str = ""


#: Columns that say which row it is; they never change, so a value made of them is not stale.
_IDENTITY = frozenset(("pk", "id", "uuid", "_id"))
_OWN_METHODS = ("save", "clean", "full_clean", "asave", "clean_fields", "pre_save", "validate")


def derived_changes(trace: Trace) -> Iterator[Derived]:
    """Changes of loaded objects that a save, flush or commit writes, unguarded. Active record: one for each write, at the save
    (an increment before other derivations); unit of work: one for each field and commit, at the first such change."""
    for write in trace.of("write"):
        if write.record.family != "orm" or not write.changes or write.conditional or write.verb != "update":
            continue
        found: dict[str, Derived] = {}
        for n, path in sorted(write.changes):
            change = trace.events[n]
            kind = _kind_of(change, path, write.base)
            if kind is None or _in_own_method(change):
                continue
            read = trace.events[change.row] if change.row is not None else None
            start = read if isinstance(read, Read) else change
            guard = guard_between(trace, read, write, change if write.unit else None) if isinstance(read, Read) else guard_held(change, write)
            if guard is not None:
                continue
            field = str(path[0])
            item = Derived(kind, write, field, write.record.label, change.site if write.unit else anchor(write, change), start,
                           read if isinstance(read, Read) else None, change, frozenset(), field if write.unit else "")
            if field not in found or (kind == "increment" and found[field].kind != "increment"):
                found[field] = item
        if write.unit:
            yield from found.values()
        elif found:
            yield min(found.values(), key=lambda item: (item.kind != "increment", item.change.n))


def _in_own_method(change: Change) -> bool:
    """Normalising a field inside the model's own save(), clean() or validator is no finding."""
    functions = [change.site.function, *(call[1].function for call in change.ctx.calls if isinstance(call[1], Site))]
    return any("." in name and name.rpartition(".")[2] in _OWN_METHODS for name in functions)


def _kind_of(change: Change, path: tuple, bases: frozenset) -> Optional[str]:
    """increment: the field is its own old value plus or minus something; derived: computed from this row in sight; else None."""
    field = path[0]
    value = change.value
    for base in bases:
        old = base.at(field)
        if len(path) == 1 and any(o == old for o in value.incr):
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
            if opaque or len(path) > 1 or step in _IDENTITY or step.endswith(("_id", "()")) or step == "…" or step.isupper() or step.startswith("_"):
                continue
            if all(str(part).startswith("[") for part in rest[1:]):
                return "derived"  # a sibling column; `self.rule.date` is another record's
    if change.op in ("mutate", "item", "aug") and len(path) > 1:
        return "derived"
    return None


def derived_updates(trace: Trace) -> Iterator[Derived]:
    """`queryset.update(n=row.n + 1)`, `update(Model).values(n=row.n + 1)`: a set-based write of a value from a loaded row."""
    for write in trace.of("write"):
        if write.record.family != "orm" or write.changes or write.verb != "update" or write.conditional or write.open_where:
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
                if own and origin in value.same:
                    continue
                kind = "increment" if own and origin in value.incr else "derived"
                item = Derived(kind, write, column, write.record.label, write.site, read, read, None,
                               frozenset(("maybe-same",)) if answer == MAYBE else frozenset(), "")
                if best is None or (item.kind == "increment", own) > (best[0].kind == "increment", best[1]):
                    best = item, own
                break
        if best is not None:
            yield best[0]  # one finding for one write


# --- retries -------------------------------------------------------------------------------------------------------------------


def stale_part(trace: Trace, loop: Loop, write: Write) -> Optional[tuple]:
    """(what is stale, its read or None, why) when the loop sends `write` again with something from before the conflict."""
    if not write.conditional:
        return None
    def concerns(origin: Origin) -> bool:
        read = trace.events[origin.n]
        return isinstance(read, Read) and (write.record.family == "accessor" or same(trace, read, write) != NO)

    payload = {o for _, value in write.columns or () for o in value.origins} | set(write.payload.origins)
    witness = {o for p in write.preconditions if p.kind == "witness" for o in p.value.origins}
    if any(o.kind == "item" for o in payload) and loop.items:
        return None
    origin = is_stale_in(loop, payload - witness or payload, trace, concerns)
    if origin is not None:
        return "content", trace.events[origin.n], "it was computed from a read outside the loop"
    origin = is_stale_in(loop, witness, trace, concerns)
    if origin is not None:
        return "version", trace.events[origin.n], "it was read outside the loop"
    handed = [o for o in witness if o.kind in ("param", "opaque") and not str(o.path[-1:]).count("()")]
    if witness and all(o.kind in ("param", "const") for o in witness) and handed and write.record.family != "accessor":
        if not any(o.kind == "read" for o in payload):
            return "version", None, "it came in from outside and never changes"
    if n_unseen(trace, loop, write, payload | witness):
        read = next(trace.events[o.n] for o in sorted(payload | witness, key=str) if o.kind == "read" and getattr(trace.events[o.n], "cached", False))
        return "content", read, "the session answers the read from its identity map and cannot see the winner"
    return None


def n_unseen(trace: Trace, loop: Loop, write: Write, origins: set) -> bool:
    """Every read of it in the loop is answered from a session's identity map, and nothing expires it before the next try."""
    if write.n not in loop.unseen:
        return False
    reads = [trace.events[o.n] for o in origins if o.kind == "read" and loop.n in trace.events[o.n].ctx.loops]
    reads = [read for read in reads if isinstance(read, Read) and same(trace, read, write) != NO]
    return bool(reads) and all(read.cached for read in reads)
