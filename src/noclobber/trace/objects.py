"""Abstract objects and the state of one path: environment, heap, and what is certain (DESIGN §2, May and must).

A `State` is copied at every branch, so copies share their dictionaries until one of them writes. An `Obj` is never changed in place.
"""
from __future__ import annotations

from typing import Any, Iterator, Optional

from .values import NOTHING, Origin, Value, Values


class Dead(Exception):
    """Control cannot go on from here (a helper that always raises, `abort()`, `sys.exit()`)."""


class Obj:
    """An object of the heap.

    kind: 'row' (loaded from a store), 'new' (made here), 'path' (reached through a parameter or a field), 'dict', 'list',
    'instance' (of a class of the project), 'cursor'. origin: the Origin of the object itself; a field that was never
    written has `origin.at(field)`. parent: (object, step) of the object it is a part of: changing it changes the parent.
    changed: {(path of steps, number of the Change event)}. elem: one value for all members (weak updates).
    model: (entry key, entity Value) of ORM rows. session: Value of the session it came from; detached: that session is closed. new: made here, not handed on.
    """

    __slots__ = ("kind", "origin", "fields", "elem", "parent", "changed", "model", "session", "new", "cls", "handed", "read", "label",
                 "pending", "detached")

    def __init__(self, kind: str, origin: Optional[Origin] = None, *, fields: Optional[dict] = None, elem: Optional[Value] = None,
                 parent: Optional[tuple] = None, model: Any = None, session: Optional[Value] = None, new: bool = False,
                 cls: Any = None, read: Optional[int] = None, label: str = "") -> None:
        self.kind, self.origin, self.fields, self.elem, self.parent = kind, origin, fields or {}, elem, parent
        self.changed: frozenset = NOTHING
        self.model, self.session, self.new, self.cls, self.read, self.label = model, session, new, cls, read, label
        self.handed = False
        self.pending: frozenset = NOTHING  # changed since the last flush
        self.detached = False

    def but(self, **changes: Any) -> Obj:
        copy = Obj.__new__(Obj)
        for name in Obj.__slots__:
            setattr(copy, name, changes[name] if name in changes else getattr(self, name))
        return copy

    def same_as(self, other: Obj) -> bool:
        return self is other or all(getattr(self, name) == getattr(other, name) for name in Obj.__slots__)


_SETS = ("env", "heap")
#: Stands in the marks of `State.done` for the running functions themselves, beside the numbers of loops: a function may call itself again.
ACTIVATION = -1


class State:
    """What holds on one path.

    env: {name: Value}; heap: {object id: Obj}; held: locks certainly held (must); freed: row locks given back (may); won / lost: writes that some way here has seen accepted / refused (may);
    unchecked: writes whose outcome has not been looked at (may); done: effects, reads and writes passed (may), for retry scopes;
    control: origins of the tests passed so far in the open branches.
    """

    __slots__ = ("env", "heap", "held", "freed", "won", "lost", "unchecked", "done", "control", "_own_env", "_own_heap")

    def __init__(self) -> None:
        self.env: dict[str, Value] = {}
        self.heap: dict[int, Obj] = {}
        self.held: frozenset = NOTHING
        self.freed: frozenset = NOTHING
        self.won: frozenset = NOTHING
        self.lost: frozenset = NOTHING
        self.unchecked: frozenset = NOTHING
        self.done: frozenset = NOTHING
        self.control: frozenset = NOTHING
        self._own_env = self._own_heap = True

    def copy(self) -> State:
        other = State.__new__(State)
        for name in State.__slots__:
            setattr(other, name, getattr(self, name))
        self._own_env = self._own_heap = other._own_env = other._own_heap = False
        return other

    def bind(self, name: str, value: Value) -> None:
        if self.env.get(name) is value:
            return
        if not self._own_env:
            self.env, self._own_env = dict(self.env), True
        self.env[name] = value

    def unbind(self, name: str) -> None:
        if name in self.env:
            if not self._own_env:
                self.env, self._own_env = dict(self.env), True
            del self.env[name]

    def put(self, oid: int, obj: Obj) -> None:
        if not self._own_heap:
            self.heap, self._own_heap = dict(self.heap), True
        self.heap[oid] = obj

    def with_env(self, env: dict) -> State:
        """The same state in another function's names."""
        other = self.copy()
        other.env, other._own_env = env, True
        return other

    def adopt(self, other: State) -> None:
        """Take over everything from `other`."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))
        other._own_env = other._own_heap = self._own_env = self._own_heap = False

    def equals(self, other: State) -> bool:
        if self.held != other.held or self.freed != other.freed or self.won != other.won or self.lost != other.lost or self.unchecked != other.unchecked or self.done != other.done:
            return False
        if self.env is not other.env and self.env != other.env:
            return False
        if self.heap is other.heap:
            return True
        if self.heap.keys() != other.heap.keys():
            return False
        return all(obj is other.heap[oid] or obj.same_as(other.heap[oid]) for oid, obj in self.heap.items())


def join_objects(values: Values, a: Obj, b: Obj) -> Obj:
    if a is b:
        return a
    fields = a.fields
    if a.fields is not b.fields:
        fields = {}
        for name in {**a.fields, **b.fields}:
            left, right = a.fields.get(name), b.fields.get(name)
            if name == "@spread" and left is not right:
                continue
            if left is None and a.origin is not None and a.kind in ("row", "path", "instance"):
                left = values.origin(a.origin.at(name))
            if right is None and b.origin is not None and b.kind in ("row", "path", "instance"):
                right = values.origin(b.origin.at(name))
            fields[name] = values.join(left, right)
    elem = a.elem if a.elem is b.elem else values.join(a.elem, b.elem) if a.elem is not None or b.elem is not None else None
    # What was changed where the row is new is no change of a row that others have.
    pending = a.pending | b.pending if a.new == b.new else b.pending if a.new else a.pending
    joined = a.but(fields=fields, elem=elem, changed=a.changed | b.changed, pending=pending, new=a.new and b.new,
                   handed=a.handed or b.handed, detached=a.detached and b.detached, session=b.session if a.session is None or a.detached and not b.detached and b.session is not None else a.session,
                   read=a.read if a.read is not None else b.read, origin=a.origin if a.origin == b.origin else (a.origin or b.origin))
    return a if joined.same_as(a) else b if joined.same_as(b) else joined


#: Locks of which one may stand for the other (an advisory lock, and a lock of the process where the database has none), the surest first.
_EITHER = ("advisory", "session", "table", "file", "process")


def either_lock(one: frozenset, other: frozenset) -> frozenset:
    """Where each of two ways has taken a lock of its own, one is held: the surer of the two is kept."""
    mine, theirs = ([lock for lock in held if lock.kind in _EITHER and lock.scope == "session"] for held in (one - other, other - one))
    if not mine or not theirs:
        return NOTHING
    return frozenset((min(mine + theirs, key=lambda lock: (_EITHER.index(lock.kind), lock.n)),))


def join_states(values: Values, states: list) -> Optional[State]:
    """Join of the live ones among `states` (None = that path does not arrive). Names unbound on one path keep the other's value."""
    live = [state for state in states if state is not None]
    if not live:
        return None
    result = live[0]
    if len(live) == 1:
        return result
    result = result.copy()
    for other in live[1:]:
        if result.env is not other.env:
            env = None
            for name in other.env.keys() | result.env.keys():
                left, right = result.env.get(name), other.env.get(name)
                if left is right:
                    continue
                if env is None:
                    env = dict(result.env)
                env[name] = values.join(left, right)
            if env is not None:
                result.env, result._own_env = env, True
        if result.heap is not other.heap:
            heap = None
            for oid, right in other.heap.items():
                left = result.heap.get(oid)
                if left is right:
                    continue
                if heap is None:
                    heap = dict(result.heap)
                heap[oid] = right if left is None else join_objects(values, left, right)
            if heap is not None:
                result.heap, result._own_heap = heap, True
        result.held = result.held & other.held | either_lock(result.held, other.held) if result.held != other.held else result.held
        result.freed |= other.freed
        result.won |= other.won
        result.lost |= other.lost
        result.unchecked |= other.unchecked
        result.done |= other.done
        result.control &= other.control
    return result


def parts(state: State, value: Value, depth: int = 4, seen: Optional[set] = None) -> Iterator[Value]:
    """The value and everything inside its containers, `depth` levels deep."""
    yield value
    if depth == 0 or not value.objs:
        return
    seen = set() if seen is None else seen
    for oid in value.objs:
        if oid in seen:
            continue
        seen.add(oid)
        obj = state.heap.get(oid)
        if obj is None:
            continue
        for inner in list(obj.fields.values()) + ([obj.elem] if obj.elem is not None else []):
            yield from parts(state, inner, depth - 1, seen)


def deep_origins(state: State, value: Value) -> frozenset:
    """Origins of a value with all that its containers hold."""
    if not value.objs:
        return value.origins
    found: set = set()
    for part in parts(state, value):
        found |= part.origins
    return frozenset(found)
