"""Sessions of a unit of work: which objects a session holds, and until when.

An object is written only by a flush or commit of a session that holds it: from its load (or `add`, `merge`) until the session is closed.
"""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .objects import State
from .values import Value

#: Mark in `State.done` of what an open transaction has passed (see `spans`).
_TX = "tx"


class Sessions:
    """Mixin of Walker."""

    def opened_by(self, value: Optional[Value], expression: Any) -> bool:
        """Was this value made by the very call that a `with` enters (`with Session() as s`, `with get_session() as s`)? One that was only handed through was not."""
        if value is None or not isinstance(expression, (ir.Call, ir.Await)):
            return False
        inside = set()
        node = expression
        while isinstance(node, (ir.Await, ir.Call, ir.Attr)):
            inside.add(id(node.at))
            node = node.func if isinstance(node, ir.Call) else node.value
        outer = self.frames[-1].calls
        for origin in value.same:
            made = self.shared.get("made", {}).get(origin.n) if origin.kind == "opaque" else None
            if made is None:
                return False
            at, calls = made
            if not (calls == outer and at in inside or calls[:len(outer)] == outer and len(calls) > len(outer) and calls[len(outer)][0] in inside):
                return False
        return bool(value.same)

    @staticmethod
    def one_session(a: Optional[Value], b: Optional[Value]) -> bool:
        """Are these certainly the same session?"""
        return a is not None and b is not None and (a is b or bool(a.same & b.same) or bool(a.objs & b.objs))

    def other_session(self, a: Optional[Value], b: Optional[Value]) -> bool:
        """Are these certainly two sessions? One of them was opened here, and the other is not that one."""
        if a is None or b is None or not a.same or not b.same or self.one_session(a, b):
            return False
        return any("opened" in value.flags or value.same <= self.own_sessions for value in (a, b))

    def session_doubt(self, a: Optional[Value], b: Optional[Value]) -> str:
        """A reason for doubt where two sessions of different origin may be one and the same, or not."""
        return "session-unknown" if a is not None and b is not None and a.same and b.same and not self.one_session(a, b) else ""

    def session_closed(self, session: Value, state: State) -> None:
        """`with Session() as s:` is left, `s.close()`: its objects are detached, its transaction is over, and what it has not committed is undone."""
        for oid, obj in list(state.heap.items()):
            if obj.session is not None and not obj.detached and self.one_session(session, obj.session):
                state.put(oid, obj.but(detached=True))
        events = self.trace.events
        state.held = frozenset(lock for lock in state.held if not (
            lock.scope == "tx" and lock.source is not None and self.one_session(session, getattr(events[lock.source], "session", None))))
        state.done = frozenset(mark for mark in state.done if not (
            mark[0] == _TX and events[mark[1]].kind in ("write", "pending") and self.one_session(session, events[mark[1]].session)))

    def attach(self, value: Value, session: Optional[Value], state: State) -> None:
        """`session.add(obj)`: from here on this session writes what was and will be changed in it."""
        for part in self.parts(state, value):
            for oid in part.objs:
                obj = state.heap.get(oid)
                if obj is not None and obj.detached:
                    state.put(oid, obj.but(detached=False, session=session))

    def copied_over(self, base: Value, value: Value, state: State) -> None:
        """`for name, value in row.model_dump().items(): setattr(saved, name, value)`: what was changed in the detached row goes over the other copy."""
        for oid in base.objs:
            target = state.heap.get(oid)
            if target is None or target.detached or target.session is None:
                continue
            for other, obj in list(state.heap.items()):
                if obj.detached and obj.pending and obj.cls is not None and obj.cls == target.cls and obj.origin is not None and any(
                        o.kind == obj.origin.kind and o.n == obj.origin.n for o in value.origins):
                    state.put(other, obj.but(detached=False, session=target.session))

    def op_detach(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`session.close()`, `session.expunge(obj)`, `session.expunge_all()`."""
        target = bound.first("instance")
        if target is not None:
            for oid in target.objs:
                if oid in state.heap:
                    state.put(oid, state.heap[oid].but(detached=True))
        elif receiver is not None:
            self.session_closed(receiver, state)
        self.session_expired(state)
        return self.values.none
