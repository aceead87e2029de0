"""External effects: what they are, and what makes them repeatable."""
from __future__ import annotations

from typing import Any, Optional

from .events import Effect, Fresh, Suspend
from .objects import ACTIVATION, Obj, State
from .outcomes import IO_ERRORS
from .spans import Spans
from .values import NOTHING, Origin, Value

#: Answers after which nobody knows whether the request was done; 503 and 429 say that it was not.
_FAILED = frozenset((500, 502, 504, 520, 522, 524))


class Effects(Spans):
    """Mixin of Walker."""

    def op_effect(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        key: Optional[Value] = None
        for _, value in self.given(bound, "idempotency_key"):
            key = value
        wanted = [h.lower() for h in spec.get("idempotency_headers", ()) or ()]
        for _, headers in bound.by_role.get("headers", ()):
            for name, value in self.header_items(headers, state):
                if name.lower() in wanted:
                    key = value
        for name, value in bound.extra:
            if name and self.vocabulary.match("idempotency_argument", name):
                key = value
        key = key or self.key_in_body(bound, state)
        what = spec.get("kind") or "effect"
        asks = what == "http" and self.asks_only(bound, state)
        if asks:
            self.passes(self.event(Suspend, node, state, "effect", what=spec.signature.name, model=True), state)
        if asks or any(self.is_call_shape(shape, bound) for shape in spec.get("idempotent_if", ()) or ()):
            own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
            return self.values.origin(own)
        if self.swallows:
            self.is_done_about(state)
        label = f"{receiver.name}.{spec.signature.last}" if receiver is not None and receiver.name else spec.signature.name
        event = self.event(Effect, node, state, what=what, label=label, key=key, entry=(spec.entry.kind, spec.entry.id), help=spec.get("help") or "")
        event.key = key
        event.delayed = any(self.vocabulary.match("delay_argument", name) and not argument.value.is_none and argument.value.literal != 0 for name, argument in args.keywords)
        event.given |= frozenset().union(*(self.deep(state, value) for value in args.all())) if args.all() else NOTHING
        # The call itself may fail: that repeats nothing but this call, and nobody knows whether it was done.
        if self.collectors:
            failed = state.copy()
            failed.done |= {(mark, ("sent", event.n)) for mark in (ACTIVATION, *(region.id for region in self.regions))}
            self.throw(failed, IO_ERRORS, ("io", id(node)))
        for value in args.all():
            self.escapes(state, value, "sent")
        self.note_transport(event, self.http_verb(spec, bound), receiver, args, node, state)
        state.done |= {(mark, event.n) for mark in (ACTIVATION, *(region.id for region in self.regions))}
        self.passes(event, state)
        if what in ("http", "model"):
            self.passes(self.event(Suspend, node, state, "effect", what=label, model=True), state)
        origin = Origin("outcome", event.n)
        oid = self.object_id(node, "effect")
        state.put(oid, Obj("path", origin, label=label))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=spec.signature.returns or None)

    @staticmethod
    def sent_bodies(bound: Any) -> list:
        """What a request carries."""
        sent = [value for _, value in bound.by_role.get("payload", ())] + [value for name, value in bound.by_name.items() if name in ("json", "data", "params", "body", "payload")]
        return sent + [value for name, value in bound.extra if name in ("json", "data", "body", "Message", "MessageBody")]

    def asks_only(self, bound: Any, state: State) -> bool:
        """`data={"grant_type": "refresh_token", …}`: a request for a token; what it answers is all that it is for."""
        return any(self.vocabulary.match("asking_field", name) for value in self.sent_bodies(bound) for name, _ in self.header_items(value, state))

    def key_in_body(self, bound: Any, state: State) -> Optional[Value]:
        """`json={…, "idempotency_key": key}`: the receiver is told which decision it is."""
        for value in self.sent_bodies(bound):
            for part in (value, *(inner for _, inner in self.header_items(value, state))):
                for name, inner in self.header_items(part, state):
                    if self.vocabulary.match("idempotency_argument", name) and not inner.is_none:
                        return inner
        return None

    # --- keys that are made anew ------------------------------------------------------------------------------------------
    def made_fresh(self, what: str, node: Any, state: State) -> frozenset:
        """Origins of a random value or a clock's: inside a loop or a retried function each round makes another one."""
        if node is None or not self.regions and not self.calls_itself():
            return NOTHING
        return frozenset((Origin("fresh", self.event(Fresh, node, state, what=what).n),))

    def calls_itself(self) -> bool:
        kinds = getattr(self.frames[-1].scope, "kinds", None)
        return kinds is not None and "recursion" in kinds

    def numbered(self, value: Value, node: Any, state: State) -> Value:
        """A text with the number of the attempt in it is another one with each attempt."""
        if self.regions and any(o.kind == "attempt" or o.kind == "param" and o.path[-1:] == ("retries",) for o in value.origins):
            return self.values.replace(value, origins=value.origins | self.made_fresh("attempt", node, state))
        return value

    def counted(self, node: Any, added: Value, value: Value) -> Value:
        """`attempt += 1` in a loop counts its rounds."""
        if self.regions and node.op == "+" and added.literal == 1 and not any(o.kind in ("read", "param", "opaque", "item", "outcome") for o in value.origins):
            return self.values.replace(value, origins=value.origins | {Origin("attempt", self.regions[-1].id)})
        return value

    # --- effects whose outcome is not known -------------------------------------------------------------------------------
    def sent_only(self, done: frozenset, failed: Any) -> frozenset:
        """The marks of a path on which these effects have failed: they are not done, but they were sent."""
        left = frozenset(mark for mark in done if mark[1] not in failed)
        return left | frozenset((mark[0], ("sent", mark[1])) for mark in done - left if isinstance(mark[0], int) and self.trace.events[mark[1]].kind == "effect")

    def answered(self, value: Value, op: str, right: Optional[Value], yes: State, no: State) -> None:
        """A test of the status that a request was answered with: where it says that the server has failed, nobody knows whether the request was done."""
        for origin in value.same:
            effect = self.trace.events[origin.n] if origin.kind == "outcome" and origin.path else None
            if effect is None or effect.kind != "effect" or effect.what != "http":
                continue
            last = str(origin.path[-1])
            if op == "truth":
                branch = no if last in ("ok", "is_success") else yes if last in ("is_error", "is_server_error") else None
            elif last in ("status_code", "status"):
                codes = self._codes(right, no) if right is not None else set()
                first = right.literal if right is not None else None
                branch = yes if op in ("==", "in") and codes & _FAILED else no if op in ("!=", "not in") and codes & _FAILED else None
                if op in ("<", ">=") and first == 500:
                    branch = no if op == "<" else yes
                elif op in (">", "<=") and first == 499:
                    branch = yes if op == ">" else no
            else:
                branch = None
            if branch is None:
                continue
            loops = effect.ctx.loops
            branch.done = frozenset(mark for mark in self.sent_only(branch.done, (effect.n,)) if mark not in {(n, "fine") for n in loops}) | {(n, "raised") for n in loops}

    def unsent(self, state: State, names: Optional[frozenset]) -> State:
        """After an exception that says that the connection never came about, nothing was sent."""
        if names and all(self.vocabulary.match("unsent_exception", name.replace(":", ".").rsplit(".", 1)[-1]) for name in names):
            state.done = frozenset(mark for mark in state.done if not (type(mark[1]) is tuple and mark[1][0] == "sent"))
        return state

    def is_call_shape(self, shape: str, bound: Any) -> bool:
        """`url *search*`: does the argument of that name look like this?"""
        from fnmatch import fnmatchcase

        name, _, glob = shape.partition(" ")
        value = bound.by_name.get(name)
        return value is not None and fnmatchcase(self.words(value).lower(), glob)
