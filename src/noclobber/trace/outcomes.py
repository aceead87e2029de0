"""What becomes of a write: its outcome looked at, checked by a helper, handed out, or refused."""
from __future__ import annotations

from typing import Any, Optional

from .events import Check, Lock
from .exceptions import BAD_STATUS
from .objects import Obj, State
from .values import Value

#: What a call to a remote thing may raise beside its conflict: transport errors.
IO_ERRORS = frozenset(("*io",))


_CONTAINER_METHODS = frozenset(("get", "items", "keys", "values", "copy", "pop", "setdefault", "update", "append", "sort", "strip", "split", "lower", "upper",
                                "clear", "popitem", "reverse", "save", "delete", "refresh_from_db", "asave", "adelete", "encode", "decode"))


#: Parts of a response that say how the request ended.
_STATUS_STEPS = frozenset(("status_code", "status", "code", "ok", "is_success", "is_error", "is_client_error", "reason", "reason_phrase", "getcode()"))


_TESTED = frozenset(("test", "tested", "compared", "match"))


class Outcomes:
    """Mixin of Walker."""

    def throw_io(self, state: State, node: Any, spec: Any = None) -> None:
        if self.collectors:
            self.throw(state, self.io_of(spec), ("io", id(node)))

    def op_check(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`raise_for_status()`: looks at the outcome; goes on only where it was accepted."""
        if receiver is None:
            return None
        self.check_outcome(receiver, state, node, raising=True)
        return receiver if spec.signature.returns in ("", "self") else self.values.none

    def check_outcome(self, value: Value, state: State, node: Any, *, raising: bool) -> None:
        numbers = [o.n for o in value.origins if o.kind == "outcome"]
        if raising and self.collectors:
            refused = state.copy()
            own = frozenset(n for n in numbers if self.trace.events[n].kind == "write")
            # Where a test has already taken the conflict out, it is another failure.
            refused.lost |= own - state.won
            refused.won -= own
            refused.unchecked -= own
            refused.done = self.sent_only(refused.done, numbers)
            self.throw(refused, BAD_STATUS, ("check", tuple(numbers)))
        for n in numbers:
            self.note_check(n, state, node, "raise_for_status")
            if self.trace.events[n].kind == "write":
                self.accepted(n, state)
                state.lost -= {n}

    def accepted(self, n: int, state: State) -> None:
        """From here on the write is known to have been accepted. One that asked for more than the key has won the row: who comes second is refused."""
        state.won |= {n}
        event = self.trace.events[n]
        if event.verb in ("update", "replace", "upsert") and event.record.family in ("sql", "orm", "document") and self.asks(event):
            # A state that was changed stays; without that the row is locked until the transaction ends.
            state.held |= {Lock("claim", n, "claim" if event.conditional else "tx", event.record)}

    def asks(self, write: Any) -> bool:
        """Does its condition ask for a state, an owner or a version beside the key?"""
        if write.conditional:
            return True
        match = self.vocabulary.match
        return any(match(group, column.removesuffix(" in")) for column, _ in write.record.key for group in ("state_column", "claim_column", "version_column"))

    def note_check(self, n: int, state: State, node: Any, how: str) -> None:
        state.unchecked -= {n}
        if node is not None:
            self.event(Check, node, state, n, how, write=n, how=how)

    def looked_at(self, state: State, value: Value, how: str) -> None:
        """A test, comparison or return saw this value: whatever outcome it carries has been looked at."""
        if not state.unchecked:
            return
        seen = frozenset(o.n for o in value.origins if o.kind == "outcome" and self.tells_outcome(o, how))
        if seen:
            state.unchecked -= seen

    def tells_outcome(self, origin: Any, how: str) -> bool:
        """A part of a response is handed on: does it tell whether the write was accepted? Its body and its headers do not, unless they are tested."""
        event = self.trace.events[origin.n]
        if not origin.path or event.kind != "write":
            return True
        if event.tells and origin.path[0] not in (event.tells, "[*]", "()", "(.)"):
            return how in _TESTED  # the responses beside `succeeded`
        if event.outcome != "status":
            return True
        return how in _TESTED or any(str(step) in _STATUS_STEPS for step in origin.path)

    def escapes(self, state: State, value: Value, how: str) -> None:
        if self.swallows and how != "returned":
            for part in self.parts(state, value) if value.objs else (value,):
                self.fate_is_told(state, part)
        for part in self.parts(state, value) if value.objs else (value,):
            self.looked_at(state, part, how)
            self.trace.used.update(o.n for o in part.origins if o.kind == "read" and (o.path or self.trace.events[o.n].record.family == "key"))
            if part.query is not None:
                self.lock_used(part)

    def response_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """A method of what a read or write gave back, without arguments: a part of it (`resp.json()`, `body.read()`)."""
        single = [o for o in receiver.same if o.kind in ("read", "outcome")]
        if len(single) != 1 or args.positional or receiver.shape is not None:
            return None
        if any(state.heap[oid].model is not None for oid in receiver.objs if oid in state.heap) or name in _CONTAINER_METHODS:
            return None
        step = f"{name}()"
        origin = single[0].at(step)
        oid = self.object_id_of(("path", origin))
        if oid not in state.heap:
            state.put(oid, Obj("path", origin, label=receiver.name, read=origin.n if origin.kind == "read" else None))
        return self.values.origin(origin, objs=frozenset((oid,)), name=receiver.name)
