"""Code that runs again: retry decorators, attempt loops, helpers that call back, recursion."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .objects import State
from .values import CONST, NOTHING, UNKNOWN, Value


class Policy:
    """A retry policy of a decorator or of `for attempt in …`. on: exception names it repeats on, None = any."""

    __slots__ = ("spec", "node", "label", "key", "on", "bound")

    def __init__(self, spec: Any, node: Any, label: str, key: Any, on: Optional[frozenset], bound: Any = None) -> None:
        self.spec, self.node, self.label, self.key, self.on, self.bound = spec, node, label, key, on, bound

    def repeats(self, walker: Any, types: Optional[frozenset]) -> bool:
        if self.on is None:
            return True
        if types is None:
            # An unresolved call may raise anything, but hardly the conflict class of this project.
            return any(walker.is_general_error(name) for name in self.on)
        return walker.catches(self.on, types) != "no"


class Replays:
    """Mixin of Walker."""

    def op_replay(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        for _, func in bound.by_role.get("func", ()):
            return self.in_policies([Policy(spec, node, spec.signature.last, id(node.at), None)], lambda entry: self._run_callback(func, node, entry), state) and self.values.unknown
        return None

    def _run_callback(self, func: Value, node: Any, state: State) -> State:
        self.callback(func, node, state)
        return state

    def policies_of(self, definition: Any, state: State) -> list:
        """The retry policies of a function's decorators, outermost first."""
        found = []
        for decorator in getattr(definition, "decorators", ()):
            found += self.policy_of(decorator, state, "decorator", getattr(definition, "name", ""))
        return found

    def policy_of(self, expression: Any, state: State, op: str, label: str) -> list:
        func, args = expression, None
        if isinstance(expression, ir.Call):
            func = expression.func
        name = self.static_name(func)
        if not name:
            return []
        specs = [s for s in self.vocabulary.functions(name) if s.entry.kind == "retry" and s.op == op]
        last = name.rsplit(".", 1)[-1]
        if not specs and "." in name:
            specs = [s for s in self.vocabulary.methods("_", last) if s.entry.kind == "retry" and s.op == op]
        if not specs:
            return []
        if isinstance(expression, ir.Call):
            args = self.arguments(expression, state.copy())
        else:
            from .calls import Arguments

            args = Arguments()
        for spec in specs:
            bound = self.fit(spec, args)
            if bound is not None:
                return [Policy(spec, expression, name, id(expression.at), self.policy_errors(spec, bound), bound)]
        return []

    def policy_errors(self, spec: Any, bound: Any) -> Optional[frozenset]:
        """What a policy repeats on: exception names, or None = any exception."""
        found: set = set()
        some = False
        for role in ("on", "exceptions"):
            for _, value in bound.by_role.get(role, ()):
                if value.is_none or value.literal is False:
                    continue
                some = True
                names = self.exception_names(value, deep=True)
                if names is None:
                    return None
                found |= names
        for name in spec.get("default_on", ()) or ():
            if not some:
                if name in ("Exception", "BaseException"):
                    return None
                found.add(name)
        return frozenset(found) if found else (None if some or not spec.get("default_on") else NOTHING)

    def attempts_of(self, node: Any, state: State) -> Optional[Policy]:
        """`for attempt in Retrying(…)`: the policy, or None."""
        if not isinstance(node.iter, ir.Call):
            value = self.eval(node.iter, state) if isinstance(node.iter, ir.Name) else None
            if value is not None and value.ref is not None and value.ref[0] == "retrying":
                return Policy(value.ref[1], node, value.ref[1].signature.last, id(node.at), value.ref[2])
            return None
        found = self.policy_of(node.iter, state, "loop", "")
        return found[0] if found else None

    def op_retry_loop(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.values.make(NOTHING, ref=("retrying", spec, self.policy_errors(spec, bound)))

    def op_retry_call(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        func = bound.first("func")
        if func is None:
            return None
        policy = Policy(spec, node, spec.signature.last, id(node.at), self.policy_errors(spec, bound))
        rest = [value for name, value in bound.extra if name is None]
        results: list = []

        def body(entry: State) -> Optional[State]:
            from .builtins import _arguments
            from .calls import Dead

            try:
                results.append(self.call_value(func, _arguments(*rest), node, entry))
            except Dead:
                return None
            return entry

        end = self.in_policies([policy], body, state)
        if end is not None and end is not state:
            state.adopt(end.copy())
        return results[-1] if results else self.values.unknown

    def recursive_call(self, scope: Any, args: Any, node: Any, state: State) -> None:
        """A function that calls itself after a refusal retries with these arguments: which writes send again what came in?"""
        frame = next((f for f in reversed(self.frames) if f.scope.key == scope.key and f.entry is not None), None)
        definition = scope.definition()
        if frame is None or definition is None:
            return
        again = self.bind_parameters(definition, args, frame.self_value, state.copy(), frame)
        stale = set()
        for n in state.lost:
            write = self.trace.events[n]
            if write.ctx.calls[:len(frame.calls)] != frame.calls:
                continue
            for name, value in again.items():
                before = frame.entry.get(name)
                if before is None or name == "self" or not (before is value or before.same & value.same):
                    continue
                if (before.origins - {CONST, UNKNOWN}) & write.payload.origins and not self.read_anew(write, frame):
                    stale.add(n)
        region = self.open_region(node, state, "recursion", scope.name)
        region.event.retried |= stale

    def read_anew(self, write: Any, frame: Any) -> bool:
        """Does the payload derive from a read that this activation of the function makes itself?"""
        return any(o.kind == "read" and self.trace.events[o.n].ctx.calls[:len(frame.calls)] == frame.calls and self.trace.events[o.n].n > frame.first
                   for o in write.payload.origins)

    def static_name(self, node: Any) -> str:
        """The dotted name of a decorator or constructor expression, through the import table; '' when it is none."""
        parts: list = []
        while isinstance(node, ir.Attr):
            parts.append(node.name)
            node = node.value
        if not isinstance(node, ir.Name):
            return ""
        value = self._name(node, State()) if not self.frames else self.frames[-1].closure and self.frames[-1].closure.get(node.id) or self.module_name(node.id, State())
        base = value.dotted if value is not None else ""
        if not base:
            return ".".join([node.id, *reversed(parts)]) if parts else ""
        return ".".join([base, *reversed(parts)])
