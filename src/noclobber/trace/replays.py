"""Code that runs again: retry decorators, attempt loops, helpers that call back, recursion."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .frames import Collector
from .objects import ACTIVATION, State
from .policies import Policies, Policy
from .values import CONST, NOTHING, UNKNOWN, Value


class Replays(Policies):
    """Mixin of Walker."""

    def op_replay(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        for _, func in bound.by_role.get("func", ()):
            given, lock = self.transaction_argument(spec, receiver, node, state)
            end = self.in_policies([Policy(spec, node, spec.signature.last, id(node.at), replays="transaction")], lambda entry: self._run_callback(func, node, entry, given), state)
            if lock is not None:
                state.held -= {lock}
            return end and self.values.unknown
        return None

    def _run_callback(self, func: Value, node: Any, state: State, given: tuple) -> State:
        from .builtins import _arguments

        with self.handing_over():
            self.callback(func, node, state, _arguments(*given) if given else None)
        return state

    def attempts_of(self, node: Any, state: State) -> Optional[Policy]:
        """`for attempt in Retrying(…)`: the policy, or None."""
        if not isinstance(node.iter, ir.Call):
            value = self.eval(node.iter, state) if isinstance(node.iter, (ir.Name, ir.Attr)) else None
            if value is not None and value.ref is not None and value.ref[0] == "retrying":
                return value.ref[1].at(node)
            return None
        policy = self.policy_of(node.iter, state, ("loop",))
        return policy.at(node) if policy is not None else None

    def op_retry_loop(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.values.make(NOTHING, ref=("retrying", self.made_policy((spec,), args, node, spec.signature.last, state)))

    def op_retry_call(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`caller(on, func, *args)`: runs a callback again."""
        func = bound.first("func")
        if func is None:
            return None
        policy = self.made_policy((spec,), args, node, spec.signature.last, state)
        given = self.policy_in(bound.first("policy"), state)
        if given is not None:
            policy = given.at(node)
        if policy is None:
            return None
        if any(value.literal == 1 for _, value in bound.by_role.get("stop", ())):
            return None
        from .builtins import _arguments

        inner = _arguments(*(self.values.unknown for _ in spec.get("gives", ()) or ()), *(value for name, value in bound.extra if name is None))
        inner.keywords = [(name, argument) for name, argument in args.keywords if name not in bound.by_name]
        bundle = args.get("args")
        if bundle is not None:  # `execute_activity(f, args=[a, b])`
            inner.positional += _arguments(*(self.known_items(bundle, state) or ())).positional
        return self.run_retried(policy, func, inner, node, state)

    def call_policy(self, policy: Policy, args: Any, node: Any, state: State) -> Optional[Value]:
        """A policy or retrier that is called: with a callable alone it wraps it (`policy(func)`), a retrier runs it (`retrier(func, *args)`)."""
        if not args.positional:
            return None
        func = args.positional[0].value
        if policy.spec.op in ("decorator", "policy"):
            return self.values.make(func.origins, ref=("retried", policy.at(node), func), name=func.name)
        inner = args.after(func)
        inner.positional = args.positional[1:]
        return self.run_retried(policy.at(node), func, inner, node, state)

    def run_retried(self, policy: Policy, func: Value, args: Any, node: Any, state: State) -> Value:
        """Call a function that a policy runs again, with these arguments each time."""
        from .objects import Dead

        results: list = []

        def body(entry: State) -> Optional[State]:
            try:
                with self.handing_over():
                    results.append(self.call_value(func, args, node, entry))
            except Dead:
                return None
            return entry

        end = self.in_policies([policy], body, state)
        if end is None:
            raise Dead
        if end is not state:
            control = state.control
            state.adopt(end.copy())
            state.control = control
        return results[-1] if results else self.values.unknown

    def try_again(self, region: Any, backs: list, head: Any, body: Any) -> None:
        """One more attempt from the states right after a refusal alone: is the write then sent without its condition (`headers = {}`, `etag = None`)?"""
        refused = [back for back in backs if any(n in region.event.retried for n in back.lost - back.won)]
        if not refused or self.sent is not None:
            return
        known = {n: self.trace.events[n].preconditions for n in region.event.retried}
        frame = self.frames[-1]
        returns, breaks, continues = len(frame.returns), region.breaks, region.continues
        region.breaks, region.continues = [], []
        self.sent = {}
        self.collectors.append(Collector())
        self.regions.append(region)
        try:
            for back in refused[:2]:
                entry = back.copy()
                entry.done = frozenset(d for d in entry.done if d[0] != region.id)
                entry.won -= frozenset(known)
                entry.lost -= frozenset(known)
                inside, _ = head(entry)
                if inside is not None:
                    self.block(body, inside)
        finally:
            self.regions.pop()
            self.collectors.pop()
            sent, self.sent = self.sent, None
            del frame.returns[returns:]
            region.breaks, region.continues = breaks, continues
            for n, preconditions in known.items():
                self.trace.events[n].preconditions = preconditions
        for n, ways in sent.items():
            if n in known and self.trace.events[n].conditional and any(all(p.kind == "exists" for p in way) for way in ways):
                region.event.dropped.add(n)

    def note_given(self, name: str, node: Any) -> None:
        """In a loop a function is called that was handed in: what the loop repeats is its caller's (or the decorated function)."""
        frame, event = self.frames[-1], self.regions[-1].event
        if event.how == "loop" and event.ctx.calls == frame.calls and (frame.entry is not None and name in frame.entry or frame.closure is not None and name in frame.closure):
            event.given.add(id(node.at))

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
        self.done_again(region.event, frame, state)

    def done_again(self, loop: Any, frame: Any, state: State) -> None:
        """Effects of this activation that were done before the refusal, or that failed themselves, are done once more by the next one."""
        def mine(n: int) -> bool:
            return self.trace.events[n].ctx.calls[:len(frame.calls)] == frame.calls

        refused = [n for n in state.lost if mine(n)]
        for mark, what in state.done:
            if mark != ACTIVATION:
                continue
            if type(what) is tuple and what[0] == "sent" and mine(what[1]):
                loop.resent.add(what[1])
            elif type(what) is int and refused and mine(what):
                loop.replayed.setdefault(what, max(refused))

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
