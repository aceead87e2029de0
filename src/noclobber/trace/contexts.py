"""Context managers: locks and transactions of a `with`, generators of the project run around its block."""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .arguments import Argument, Arguments
from .entering import MAX_DEPTH
from .frames import Frame
from .objects import Dead, State, join_states
from .values import Value

#: Locks that a block of the project's own context manager holds when any way to its yield takes them.
_JOINED_LOCKS = frozenset(("begin", "serializable", "advisory", "table", "file", "session"))


class Contexts:
    """Mixin of Walker."""

    # --- with ------------------------------------------------------------------------------------------------------------------------
    def enter_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Optional[State]:
        if "attempt" in manager.flags:
            return self._attempt_block(state, inside)
        if manager.ref is not None and manager.ref[0] == "contextmanager":
            return self._generator_context(node, expression, manager, state, inside)
        library = self.library_context(node, expression, manager, state, inside)
        if library is not NotImplemented:
            return library
        for oid in manager.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind != "instance":
                continue
            for entry, leave in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
                method = obj.cls.method(entry)
                if method is not None:
                    before = state.held

                    def drop(left: State, before: frozenset = before) -> None:
                        self.left_block(before, left)

                    bound = self.call_scope(method, Arguments(), expression, state, manager)
                    end = self.leaving(inside, state, bound, drop)
                    if end is None:
                        return None
                    exit_method = obj.cls.method(leave)
                    if exit_method is not None:
                        args = Arguments()
                        args.positional = [Argument(self.values.none)] * 3
                        self.call_scope(exit_method, args, node, end, manager)
                    return end
        return inside(state, None)

    def _attempt_block(self, state: State, inside: Callable) -> Optional[State]:
        end = inside(state, None)
        if end is not None and self.regions:
            for region in reversed(self.regions):
                if region.event.how == "attempts":
                    region.breaks.append(end)
                    return None
        return end

    def _generator_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Optional[State]:
        """`@contextmanager`: its code before the yield, the block, its code after."""
        _, scope, remembered, self_value = manager.ref
        args = self.remembered[remembered]
        ends: list = []
        before = state.held

        def leave(left: State) -> None:
            self.left_block(before, left)

        thrown: list = []  # states in which the block is left by an exception

        def on_yield(value: Value, inner: State) -> None:
            helper = self.frames.pop()
            place = len(self.active) - 1 - self.active[::-1].index(scope.key)
            del self.active[place]  # the block is the caller's code: another `with` of this helper in it is no recursion
            opened = self.open_call()
            try:
                entry = inner.with_env(state.env)
                end = self.leaving(inside, entry, value, leave, raising=False)
            finally:
                thrown.extend(self.close_call(opened, inner))
                self.active.insert(place, scope.key)
                self.frames.append(helper)
            if end is None:
                raise Dead
            env = inner.env
            ends.append(end.env)
            control = inner.control
            inner.adopt(end.with_env(env))
            inner.control = control

        definition = scope.definition()
        if scope.key in self.active or len(self.frames) > MAX_DEPTH:
            return inside(state, None)
        # `if self._depth: yield; return` joins what an outer block has begun: a lock that one of the ways to a yield takes is held in the block.
        taken: set = set()
        if _count_yields(definition) > 1:
            def look(value: Value, inner: State) -> None:
                taken.update(lock for lock in inner.held - before if lock.kind in _JOINED_LOCKS)

            self._run_generator(scope, definition, args, self_value, expression, state.copy(), look)

        def on_yield_joined(value: Value, inner: State) -> None:
            if taken and not taken & inner.held:
                inner.held |= taken
            on_yield(value, inner)

        states = self._run_generator(scope, definition, args, self_value, expression, state, on_yield_joined, thrown)
        joined = join_states(self.values, states)
        if joined is None:
            return None
        result = joined.with_env(ends[-1] if ends else state.env)
        result.control = state.control
        return result

    def _run_generator(self, scope: Any, definition: Any, args: Arguments, self_value: Optional[Value], expression: Any, state: State, on_yield: Callable,
                       thrown: Optional[list] = None) -> list:
        """Walk the code of a `@contextmanager`; the states in which it ends."""
        frame = Frame(scope, scope.excerpt(), scope.qualname, self.frames[-1].calls + ((id(expression.at), self.site(expression)),))
        frame.on_yield = on_yield
        env = self.bind_parameters(definition, args, None if scope.is_static else self_value, state, frame)
        self.frames.append(frame)
        self.active.append(scope.key)
        opened = self.open_call()
        try:
            end = self.block(definition.body, state.with_env(env))
            return [s for s, _ in frame.returns] + [end]
        finally:
            self.active.pop()
            self.frames.pop()
            self.close_call(opened, join_states(self.values, thrown or []) or state)


def _count_yields(definition: Any) -> int:
    """How many yields a function has itself."""
    found, stack = 0, list(definition.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ir.FunctionDef, ir.Lambda)):
            continue
        if isinstance(node, ir.Yield):
            found += 1
        if isinstance(node, ir.Node):
            stack.extend(getattr(node, field) for field in node._fields)
        elif isinstance(node, (tuple, list)):
            stack.extend(node)
    return found
