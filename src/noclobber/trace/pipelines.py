"""Transactions that notice another writer at their end: WATCH and MULTI, sessions, transaction objects; and what is queued in a pipeline.

Such a transaction guards what is read *in* it and written *through* it. A call beside it (a write on the plain client, a read without
the session) sees none of its protection: `seen_by` gives the state as the call sees it.
"""
from __future__ import annotations

from typing import Any, Optional

from .events import Event, Lock, LockEvent, Precondition
from .objects import Obj, State
from .records import NO, same_value
from .values import Origin, Value

OPTIMISTIC = "optimistic"


class Pipelines:
    """Mixin of Walker."""

    # --- who is in the transaction --------------------------------------------------------------------------------------------------
    def seen_by(self, spec: Any, bound: Any, receiver: Optional[Value], state: State) -> State:
        """The state as a call of a store sees it: without the transactions that it has no part in."""
        mine = frozenset(lock for lock in state.held if lock.kind == OPTIMISTIC)
        if not mine:
            return state
        kept = frozenset(lock for lock in mine if self._takes_part(lock, spec, bound, receiver, state))
        if kept == mine:
            return state
        seen = state.copy()
        seen.held = state.held - (mine - kept)
        return seen

    def _takes_part(self, lock: Lock, spec: Any, bound: Any, receiver: Optional[Value], state: State) -> bool:
        if lock.owner == "watch":
            if spec.op == "read":
                return True  # read after WATCH, whoever asks
            return receiver is not None and self._is_queue(receiver, state) and self._mark(receiver, "@multi", state)
        if spec.get("in_transaction"):
            return True
        return bool([value for _, value in bound.by_role.get("txn", ()) if not value.is_none])

    def _is_queue(self, receiver: Value, state: State) -> bool:
        return any("@queue" in state.heap[oid].fields for oid in receiver.objs if oid in state.heap)

    def _mark(self, receiver: Value, name: str, state: State) -> bool:
        return any(name in state.heap[oid].fields for oid in receiver.objs if oid in state.heap)

    def _set_marks(self, receiver: Value, state: State, *names: str, clear: bool = False) -> None:
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            fields = {name: value for name, value in obj.fields.items() if not clear or not name.startswith(("@multi", "@watch", "@q:"))}
            fields.update({name: self.values.const(True) for name in names})
            state.put(oid, obj.but(fields=fields))

    def watch_preconditions(self, payload: Value, spec: Any, receiver: Optional[Value], state: State) -> tuple:
        """A queued write whose payload was read under WATCH is refused when the key has changed."""
        held = [lock for lock in state.held if lock.kind == OPTIMISTIC and lock.owner == "watch"]
        if not held or receiver is None or not self._is_queue(receiver, state) or not self._mark(receiver, "@multi", state):
            return ()
        reads = [self.trace.events[o.n] for o in payload.origins if o.kind == "read"]
        if any(not any(lock in read.ctx.held and _watches(lock, read) for lock in held) for read in reads):
            return ()
        return (Precondition("witness", "WATCH", self.values.unknown),)

    # --- WATCH, MULTI, EXEC ---------------------------------------------------------------------------------------------------------
    def begin_watch(self, spec: Any, bound: Any, receiver: Optional[Value], node: Any, state: State) -> Value:
        """`pipe.watch(key)`: from here on reads are protected, until EXEC; `pipe.multi()`: from here on calls are queued."""
        if spec.get("guard"):
            event = self.event(LockEvent, node, state)
            # No name, or names that are not told: it is taken to watch what is read.
            record = self.record_of(spec, bound, receiver, state) if len(bound.by_role.get("key", ())) == 1 else None
            event.lock = Lock(OPTIMISTIC, event.n, "watch", record=record, owner="watch")
            state.held |= {event.lock}
            if receiver is not None:
                self._set_marks(receiver, state, "@watch")
        elif receiver is not None:
            self._set_marks(receiver, state, "@multi")
        return self.values.none

    def end_watch(self, state: State) -> None:
        state.held = frozenset(lock for lock in state.held if lock.kind != OPTIMISTIC or lock.owner != "watch")

    def queued(self, value: Value, event: Event, spec: Any, receiver: Optional[Value], state: State) -> Value:
        """What a call on a pipeline gives back: the pipeline, until EXEC answers; between WATCH and MULTI the answer itself."""
        if receiver is None or not self._is_queue(receiver, state):
            return value
        if self._mark(receiver, "@watch", state) and not self._mark(receiver, "@multi", state):
            return value
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                state.put(oid, obj.but(fields={**obj.fields, f"@q:{event.n}": value}))
        return receiver

    def execute_queue(self, spec: Any, receiver: Optional[Value], node: Any, state: State) -> Value:
        """EXEC: the answers of what was queued, in order; a refusal leaves from here."""
        values: dict[int, Value] = {}
        for oid in receiver.objs if receiver is not None else ():
            obj = state.heap.get(oid)
            if obj is not None:
                values.update({int(name[3:]): value for name, value in obj.fields.items() if name.startswith("@q:")})
        if receiver is not None:
            self._set_marks(receiver, state, clear=True)
        self.end_watch(state)
        numbers = frozenset(n for n in values if self.trace.events[n].kind == "write" and self.trace.events[n].conditional)
        raised = frozenset(show[7:].split("[")[0].strip() for show in spec.get("conflict") or () if show.startswith("raises "))
        if self.collectors:
            if numbers and raised:
                refused = state.copy()
                refused.lost |= numbers
                refused.won -= numbers
                self.throw(refused, raised, ("write", max(numbers)))
            self.throw_io(state, node)
        state.won |= numbers
        state.lost -= numbers
        once = {self.trace.events[n].ctx.loops for n in values} <= {tuple(region.id for region in self.regions)}
        ordered = [values[n] for n in sorted(values)]
        if once:
            return self.container(node, "list", state, {f"[{i}]": value for i, value in enumerate(ordered)}, None, "answers")
        elem: Optional[Value] = None
        for value in ordered:
            elem = value if elem is None else self.values.join(elem, value)
        return self.container(node, "list", state, {}, elem, "answers")

    # --- callbacks and transaction objects ---------------------------------------------------------------------------------------------
    def in_optimistic(self, spec: Any, node: Any, state: State, owner: str) -> Lock:
        event = self.event(LockEvent, node, state, owner)
        event.lock = Lock(OPTIMISTIC, event.n, "block", owner=owner)
        state.held |= {event.lock}
        return event.lock

    def hold_read(self, spec: Any, bound: Any, n: int, state: State) -> None:
        """A read that was given the transaction is compared at its commit."""
        if [value for _, value in bound.by_role.get("txn", ()) if not value.is_none] or spec.get("in_transaction"):
            state.held |= {Lock(OPTIMISTIC, n, "tx", source=n, owner="txn")}

    def transaction_argument(self, spec: Any, receiver: Optional[Value], node: Any, state: State) -> tuple:
        """(what a callback that runs in a transaction is called with, the lock it holds) of a `replay` that guards; (nothing, None) for others."""
        if spec.entry.kind != "store" or not spec.get("guard"):
            return (), None
        typ = spec.signature.returns
        if not typ:
            return (receiver,) if receiver is not None else (), self.in_optimistic(spec, node, state, "txn")
        oid = self.object_id(node, "transaction")
        own = Origin("opaque", self.object_id_of(("transaction", id(node.at), self.frames[-1].calls)))
        state.put(oid, Obj("cursor", own, fields={"@queue": self.values.const(True), "@watch": self.values.const(True)}))
        value = self.values.make(frozenset((own,)), same=frozenset((own,)), typ=typ, objs=frozenset((oid,)))
        return (value,), self.in_optimistic(spec, node, state, "watch")


def _watches(lock: Lock, read: Event) -> bool:
    """Is it the key of the read that is watched, as far as can be told?"""
    watched, key = lock.record.key if lock.record is not None else (), getattr(read, "record", None)
    if not watched or key is None or key.family != "key" or not key.key:
        return True
    return same_value(watched[0][1], key.key[0][1]) != NO
