"""External effects: what they are, and what makes them repeatable."""
from __future__ import annotations

from typing import Any, Optional

from .events import Effect, Suspend
from .objects import Obj, State
from .values import Origin, Value


class Effects:
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
        if any(self.is_call_shape(shape, bound) for shape in spec.get("idempotent_if", ()) or ()):
            own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
            return self.values.origin(own)
        # The call itself may fail before anything is done: that repeats nothing but this call.
        self.throw_io(state, node)
        for value in args.all():
            self.escapes(state, value, "sent")
        what = spec.get("kind") or "effect"
        label = f"{receiver.name}.{spec.signature.last}" if receiver is not None and receiver.name else spec.signature.name
        event = self.event(Effect, node, state, what=what, label=label, key=key, entry=(spec.entry.kind, spec.entry.id))
        event.key = key
        self.note_transport(event, self.http_verb(spec, bound), receiver, args, node, state)
        state.done |= {(region.id, event.n) for region in self.regions}
        if what in ("http", "model"):
            self.event(Suspend, node, state, "effect", what=label)
        origin = Origin("outcome", event.n)
        oid = self.object_id(node, "effect")
        state.put(oid, Obj("path", origin, label=label))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=spec.signature.returns or None)

    def is_call_shape(self, shape: str, bound: Any) -> bool:
        """`url *search*`: does the argument of that name look like this?"""
        from fnmatch import fnmatchcase

        name, _, glob = shape.partition(" ")
        value = bound.by_name.get(name)
        return value is not None and fnmatchcase(self.words(value).lower(), glob)
