"""Locks that are keys of a store: `SET key owner NX PX 5000`, `cache.add`, and their release by deleting the key."""
from __future__ import annotations

from typing import Any, Iterable, Optional

from . import ir
from .events import KeyLock, Lock, LockEvent
from .objects import State
from .values import NOTHING, Origin, Value

_OPS = ("take", "drop", "extend")
MAX_BESIDE = 8  # functions beside a release that are looked at for where the lock is taken


class KeyLocks:
    """Mixin of Walker."""

    def note_key_locks(self, specs: Iterable, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """Note what a call does to a key that is a lock; the store's own entry says the rest. Returns what a taken lock answers, or None."""
        for spec in specs:
            if spec.entry.kind != "lock" or spec.op not in _OPS:
                continue
            bound = self.fit(spec, args)
            if bound is None or self.given(bound, "precondition"):
                continue
            if spec.op == "take" and any(param.role == "create_only" for param in spec.signature.params) and not self.given(bound, "create_only"):
                continue
            keys = bound.by_role.get("key", ())
            if not keys:
                continue
            words = self.words(keys[0][1])
            event = self.event(KeyLock, node, state, spec.op, how=spec.op, key=words, handled=bool(self.handling))
            event.handled = bool(self.handling) and event.handled
            event.ttl = bool(self.given(bound, "ttl")) or spec.get("ttl") is True and not any(value.is_none for _, value in bound.by_role.get("ttl", ()))
            event.doubts = frozenset((doubt,)) if doubt else NOTHING
            # Between WATCH and EXEC the owner may be compared first; a script compares by itself.
            event.owned = any(lock.kind == "optimistic" for lock in state.held)
            event.shown = False
            if spec.op == "take":
                return self._taken(event, node, state)
            state.held = frozenset(lock for lock in state.held if not (lock.kind in ("ttl", "session") and lock.owner is not None and lock.owner == words)) if spec.op == "drop" else state.held
            event.shown = self._taken_beside(words)
            return None
        return None

    def note_taken(self, result: Value, specs: Iterable, args: Any, receiver: Optional[Value], state: State) -> None:
        """The write that takes a lock is refused when somebody else holds it, and only its answer says so. `silent_if`: its answer says nothing."""
        numbers = frozenset(o.n for o in result.same if o.kind == "outcome")
        state.unchecked |= numbers
        self.trace.taken |= numbers
        for spec in specs:
            if spec.entry.kind == "lock" and spec.op == "take" and spec.get("silent_if") and receiver is not None and "opened" in receiver.flags:
                bound = self.fit(spec, args)
                if bound is not None and any(self._has_shape(bound, shape) for shape in spec.get("silent_if")):
                    self.trace.mute |= numbers

    @staticmethod
    def _has_shape(bound: Any, shape: str) -> bool:
        name, _, word = shape.replace("=", " ").partition(" ")
        value = bound.by_name.get(name)
        return value is None if word == "missing" else value is not None and repr(value.literal) == word

    def _taken(self, event: KeyLock, node: Any, state: State) -> Optional[Value]:
        lock = self.event(LockEvent, node, state, "key")
        lock.lock = Lock("ttl" if event.ttl else "session", lock.n, "session", owner=event.key)
        origin = Origin("lock", lock.n)
        return self.values.make(frozenset((origin,)), same=frozenset((origin,)))

    def taken_by_name(self, result: Value, node: Any, state: State) -> Value:
        """An unresolved `asetNx(key, 1)`, `try_acquire(key)`: where its answer says so, something is held."""
        lock = self.event(LockEvent, node, state, "key")
        lock.lock = Lock("pattern", lock.n, "session")
        origin = Origin("lock", lock.n)
        return self.values.replace(result, origins=result.origins | {origin}, same=result.same | {origin})

    def with_locks(self, result: Value, frame: Any) -> Value:
        """The answer of a helper that says no where a lock was refused: true, it is held."""
        refused = [{o for o in left.control if o.kind == "lock"} for left, value in frame.returns if value.literal in (False, None, 0)]
        others = [value for _, value in frame.returns if value.literal not in (False, None, 0)]
        if not refused or not others:
            return result
        told = frozenset(o for found in refused for o in found if self.trace.events[o.n].ctx.calls[:len(frame.calls)] == frame.calls)
        return self.values.replace(result, shape=None, origins=result.origins | told, same=result.same | told) if told else result

    def without_server(self, test: Any, body: tuple, end: State, rest: State) -> State:
        """`if redis: got = redis.setnx(…); if not got: return`: where there is nothing to ask for the lock, the program means to go on without it."""
        name = test.left if isinstance(test, ir.Compare) and len(test.rest) == 1 and test.rest[0][0] in ("is not", "!=") else test
        taken = frozenset(lock for lock in end.held - rest.held if lock.scope == "session" and lock.kind in ("ttl", "session", "pattern"))
        if not isinstance(name, ir.Name) or not taken or not _asks(body, name.id):
            return rest
        rest = rest.copy()
        rest.held |= taken
        return rest

    def _taken_beside(self, words: str) -> bool:
        """Does a method of the same class, or a function of the module, take a lock of this key, one that expires by itself?"""
        if words == "…" or self.beside or not self.frames:
            return False
        scope = self.frames[-1].scope
        module = getattr(scope, "module", None)
        if module is None or getattr(scope, "info", None) is None:
            return False
        infos = list(scope.cls.info.methods.values()) if scope.cls is not None else [info for info in module.index.functions.values() if not info.cls]
        says = " ".join((words, scope.qualname)).lower()
        if scope.cls is None and not any(word in says for word in ("lock", "lease", "mutex", "release", "semaphore")):
            return False
        found = self.shared.setdefault("locks taken", {})
        looked = 0
        for info in infos:
            other = module.scope(getattr(info, "key", None) or info.qualname)
            if other is None or other.key == scope.key or other.kinds is not None and "lock" not in other.kinds:
                continue
            if other.key not in found:
                looked += 1
                if looked > MAX_BESIDE:
                    break
                walker = type(self)(self.ask, self.vocabulary, self.values, self.shared)
                walker.beside = True
                trace = walker.walk(other)
                taken = frozenset(event.key for event in trace.of("keylock") if event.how == "take" and event.ttl)
                found[other.key] = taken if taken and _is_asked(trace, [value for _, value in walker.root_returns]) else NOTHING
            if words in found[other.key]:
                return True
        return False


def _is_asked(trace: Any, returned: list) -> bool:
    """Does anything hang on whether the key was had? One that is only put down where there is none yet (a flag, a registration) is no lock."""
    values = [*returned, *(side for test in trace.of("test") for side in (test.left, test.right) if side is not None), *(change.value for change in trace.of("change"))]
    return any(o.kind == "lock" for value in values for o in value.origins) or any(o.kind == "lock" for event in trace.events for o in event.ctx.control)


def _asks(body: tuple, name: str) -> bool:
    """Is a method of this name called in these statements?"""
    stack: list = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Node):
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and isinstance(node.func.value, ir.Name) and node.func.value.id == name:
                return True
            stack += [getattr(node, field) for field in node._fields]
    return False
