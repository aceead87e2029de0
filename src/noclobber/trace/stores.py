"""What library calls mean: the vocabulary's specs turned into events: dispatch, records, preconditions, reads and writes.

No library is named here: everything comes from `rules/vocabulary/`. Outcomes, transactions, replays and effects have modules of their
own; SQL text is in `sqlrun`, ORMs and statement builders in `orm`.
"""
from __future__ import annotations

from typing import Any, Optional

from .accessors import Accessors
from .batches import Batches
from .blobs import Blobs, fits_only
from .commands import Commands
from .documents import Documents
from .dumps import Dumps
from .effects import Effects
from .events import Precondition, Record, Write
from .files import Files
from .forms import Forms
from .managers import Managers
from .objects import State
from .orm import Orm
from .outcomes import Outcomes
from .pipelines import Pipelines
from .preconditions import Preconditions
from .receivers import Receivers
from .replays import Replays
from .requests import Requests
from .sessions import Sessions
from .sqlrun import SqlRunner
from .tags import Tags
from .tools import Tools
from .transactions import Transactions
from .values import NOTHING, SERVER, Lit, Value
from .writes import Writes


class Stores(Receivers, Preconditions, Writes, Accessors, Sessions, Dumps, Outcomes, Requests, Blobs, Files, Tags, Transactions, Replays, Effects, Commands, Batches, Documents, Pipelines, SqlRunner, Managers, Forms, Orm):
    """Mixin of Walker."""

    def fit(self, spec: Any, args: Any) -> Any:
        bound = spec.bind(
            [a.value for a in args.positional], [(k, a.value) for k, a in args.keywords],
            open_star=args.open_star, open_kwargs=args.open_kwargs, literal=_literal,
        )
        if bound is None:
            return None
        for condition in spec.get("unless", ()) or ():
            name, _, what = condition.partition(" ")
            given = bound.by_name.get(name)
            if what == "missing" and given is None or given is not None and type(given.shape) is Lit and str(given.shape.value) == what:
                return None
        if spec.get("only_if") and not fits_only(spec, bound, self.words):
            return None
        return bound

    def library_function(self, dotted: str, args: Any, node: Any, state: State) -> Optional[Value]:
        atomic = self.vocabulary.listed("atomic_values", dotted)
        if atomic:  # `Increment(1)`: computed where it is stored
            whole = any(entry.kind == "store" for entry in atomic)  # an expression of an ORM has values in it
            return self.values.make(frozenset((SERVER,)) if whole else self._union(args.all()) | {SERVER})
        specs = self.vocabulary.functions(dotted)
        result = self.apply(specs, None, dotted, args, node, state)
        if any(spec.op == "attach" for spec in specs):
            if result is None and dotted.rsplit(".", 1)[-1][:1].isupper():
                result = self.construct_unknown(dotted, args, node, state)
            self.attach_policy(specs, None, result, args, node, state)
        return result

    def library_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        if receiver.ref is not None and receiver.ref[0] == "transaction":
            return None
        if receiver.ref is not None and receiver.ref[0] == "request":
            return self.request_method(receiver, name, args, state)
        if receiver.ref is not None and receiver.ref[0] == "retrying" and receiver.ref[1] is not None and args.positional and args.positional[0].value.ref is not None:
            return self.call_policy(receiver.ref[1], args, node, state)  # `retrier.call(func, …)`
        done = self.instance_method(receiver, name, args, node, state)
        if done is None:
            done = self.awaited_later(receiver, name, node, state)
        if done is None:
            done = self.related_query(receiver, name, args, node, state) or self.row_of_view(receiver, name, args, node, state) or self.own_query(receiver, name, args, node, state)
        if done is not None:
            return done
        specs: tuple = ()
        doubt = ""
        for typ in self.library_types(receiver):
            if typ.startswith("path:"):
                _, base, path = typ.split(":", 2)
                specs = self.vocabulary.methods(base, f"{path}.{name}")
            else:
                specs = self.vocabulary.methods(typ, name)
            if specs:
                break
        if not specs:
            done = self.cursor_method(receiver, name, args, node, state)
            if done is not None:
                return done
        if not specs and not self.is_own_class(receiver):
            specs = self.vocabulary.methods("_", name)
            if specs and all(self.fit(spec, args) is None for spec in specs):
                specs = ()
        if not specs and not self.is_own_class(receiver) and not self.is_plain(receiver, state):
            specs = self.vocabulary.by_name(receiver.name, name) if receiver.name else ()
            if any(state.heap[oid].kind in ("new", "instance") for oid in receiver.objs if oid in state.heap):
                specs = tuple(spec for spec in specs if spec.entry.kind != "effect")  # `ExponentialBackoff().delay()` is no task
            doubt = "name-only"
        if not specs:
            done = self.sql_by_text(receiver, name, args, node, state)
            if done is not None:
                return done
            return self.response_method(receiver, name, args, node, state)
        if any(spec.op == "attach" for spec in specs):
            self.attach_policy(specs, receiver, None, args, node, state)
        return self.apply(specs, receiver, name, args, node, state, doubt)

    def library_types(self, receiver: Value) -> list:
        """Types under which the vocabulary may know the receiver: its own, and the library bases of a class of the project."""
        typ = receiver.typ
        if not typ:
            return []
        if typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            return list(cls.library_bases()) if cls is not None else []
        return [typ]

    def is_own_class(self, receiver: Value) -> bool:
        return bool(receiver.typ) and receiver.typ.startswith("class:")

    def is_plain(self, receiver: Value, state: State) -> bool:
        """A container, text or object made here: no store, whatever its name."""
        if receiver.shape is not None:
            return True
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and (obj.kind in ("dict", "list", "tuple", "row", "part") and obj.kind != "path"):
                return True
        return any(o.kind in ("read", "outcome") for o in receiver.same)

    def apply(self, specs: Any, receiver: Optional[Value], name: str, args: Any, node: Any, state: State, doubt: str = "") -> Optional[Value]:
        """The first spec that fits decides the result; effects are noted beside it."""
        taken = self.note_key_locks(specs, receiver, args, node, state, doubt) if any(spec.entry.kind == "lock" for spec in specs) else None
        result = self._apply_specs(specs, receiver, name, args, node, state, doubt)
        if taken is not None and result is not None:
            self.note_taken(result, specs, args, receiver, state)
        if taken is not None:
            return self.values.replace(result, origins=result.origins | taken.origins, same=result.same | taken.same) if result is not None else taken
        return result

    def _apply_specs(self, specs: Any, receiver: Optional[Value], name: str, args: Any, node: Any, state: State, doubt: str = "") -> Optional[Value]:
        effect = None
        for spec in specs:
            if doubt and spec.entry.kind == "lock":
                continue
            bound = self.fit(spec, args)
            if bound is None:
                continue
            if spec.entry.fields.get("last_writer_wins"):
                return None
            handler = _OPS.get((spec.entry.kind, spec.op)) or _OPS.get(("*", spec.op))
            if handler is None:
                continue
            if spec.entry.kind == "effect" and spec.op == "call":
                effect = effect or (handler, spec, bound)
                continue
            result = handler(self, spec, bound, receiver, args, node, state, doubt)
            if result is not None:
                return result
        if effect is not None:
            handler, spec, bound = effect
            return handler(self, spec, bound, receiver, args, node, state, doubt)
        return None

    def store_subscript(self, base: Value, index: Value, node: Any, state: State) -> Optional[Value]:
        """`store[key]`: a read, or what is reached through it (`client[db][collection]`)."""
        return self._operator_call(base, "__getitem__", (index,), node, state)

    def store_subscript_write(self, base: Value, index: Value, value: Value, state: State, node: Any) -> bool:
        return self._operator_call(base, "__setitem__", (index, value), node, state) is not None

    def store_subscript_delete(self, base: Value, index: Value, state: State, node: Any) -> bool:
        return self._operator_call(base, "__delitem__", (index,), node, state) is not None

    def store_attribute(self, base: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """`client.db.collection`: attributes of any name that the vocabulary knows."""
        if name.startswith("_"):
            return None
        return self._operator_call(base, "__getattr__", (self.values.const(name),), node, state)

    def _operator_call(self, base: Value, name: str, given: tuple, node: Any, state: State) -> Optional[Value]:
        from .builtins import _arguments

        if base.dotted and name == "__getitem__":  # `caches["sessions"]`
            specs = self.vocabulary.functions(f"{base.dotted}.{name}")
            return self.apply(specs, None, name, _arguments(*given), node if node is not None else base, state) if specs else None
        own = self.own_operator(base, name, state) if base.objs and base.ref is None else None
        if own is not None:
            return self.call_scope(own, _arguments(*given), node if node is not None else base, state, base)
        if base.ref is not None or not self.vocabulary.has_operators:
            return None

        for typ in self.library_types(base):
            if typ.startswith("path:"):
                continue
            specs = tuple(spec for spec in self.vocabulary.methods(typ, name) if spec.signature.name == name)
            if specs:
                return self.apply(specs, base, name, _arguments(*given), node if node is not None else base, state)
        return None

    @staticmethod
    def own_operator(base: Value, name: str, state: State) -> Any:
        """The method of the project that `obj[key]` comes to, where the object's class has one; else None."""
        if len(base.objs) != 1:
            return None
        obj = state.heap.get(next(iter(base.objs)))
        return obj.cls.method(name) if obj is not None and obj.kind == "instance" and obj.cls is not None and not isinstance(obj.cls, str) else None

    def call_typed_value(self, callee: Value, args: Any, node: Any, state: State) -> Optional[Value]:
        """Calling an instance: a session factory, a retrier, a task."""
        for typ in self.library_types(callee):
            specs = self.vocabulary.methods(typ, "__call__")
            if specs:
                return self.apply(specs, callee, "__call__", args, node, state)
        if callee.ref is not None and callee.ref[0] in ("retrying", "policy") and args.positional and callee.ref[1] is not None:
            return self.call_policy(callee.ref[1], args, node, state)
        if callee.ref is not None and callee.ref[0] == "retried":
            return self.run_retried(callee.ref[1], callee.ref[2], args, node, state)
        return None

    def pattern_write(self, name: str, result: Value, receiver: Value, args: Any, node: Any, state: State) -> None:
        """An unresolved call that takes a witness (`put_json(key, doc, if_mod_revision=rev)`) is a conditional write of some store. A yes or no is none."""
        for keyword, argument in args.keywords:
            value = argument.value
            if self.vocabulary.match("witness_argument", keyword) and not value.is_none and value.shape is None and value.typ != "bool" and len(args.all()) > 1:
                key = tuple(("key", a.value) for a in args.positional[:1])
                record = Record("accessor", receiver.name or name, None, key, None, self.words(key[0][1]) if key else name)
                others = [a.value for a in args.positional[1:]] + [a.value for k, a in args.keywords if k != keyword]
                event = self.event(
                    Write, node, state, "pattern", record=record, verb="replace", payload=self.values.derived([self.flat(state, v) for v in others] or [self.values.unknown]),
                    columns=None, preconditions=(Precondition("witness", keyword, value),), outcome="raises", conflict=frozenset(("*conflict",)), changes=NOTHING,
                    full=False, entry=("", ""), unit=False, base=NOTHING, doubts=frozenset(("name-only",)), commit=None, open_where=False,
                    self_columns=NOTHING, text="", conflict_handled=False, help="", refused=state.lost - state.won,
                )
                state.won -= {event.n}
                state.lost -= {event.n}
                if self.collectors:
                    refused = state.copy()
                    refused.lost |= {event.n}
                    self.throw(refused, frozenset(("*conflict",)), ("write", event.n))
                state.won |= {event.n}
                return


def _literal(value: Any) -> Any:
    from noclobber.knowledge.signatures import NOTHING as UNGIVEN

    if type(value) is Value and type(value.shape) is Lit:
        return value.shape.value
    parts = getattr(value.shape, "parts", None) if type(value) is Value else None
    if parts and isinstance(parts[0], str):
        return parts[0]  # enough for a URL's scheme
    if type(value) is Value and value.dotted and value.name.isupper():
        return value.name  # a constant of a library: `fcntl.LOCK_UN`
    return UNGIVEN


#: (table, list) of the vocabulary → what a call of it does.
_OPS: dict = {
    ("*", "make"): Stores.op_make, ("*", "made_by"): Stores.op_make, ("*", "result"): Stores.op_make,
    ("store", "run"): Stores.op_run, ("orm", "run"): Stores.op_run, ("*", "fetch"): Stores.op_fetch,
    ("store", "read"): Stores.op_read, ("store", "write"): Stores.op_write, ("store", "create"): Stores.op_write,
    ("store", "delete"): Stores.op_write, ("store", "atomic"): Stores.op_write, ("store", "append"): Stores.op_write,
    ("store", "lock"): Stores.op_lock, ("store", "unlock"): Stores.op_unlock, ("*", "begin"): Stores.op_begin,
    ("*", "commit"): Stores.op_commit, ("*", "flush"): Stores.op_flush, ("*", "rollback"): Stores.op_rollback,
    ("*", "check"): Stores.op_check, ("store", "request"): Stores.op_build_request, ("store", "batch"): Stores.op_batch, ("store", "change"): Stores.op_change, ("store", "decode"): Stores.op_decode, ("store", "encode"): Stores.op_encode,
    ("*", "replay"): Stores.op_replay, ("*", "transaction"): Stores.op_transaction,
    ("transaction", "enter"): Stores.op_transaction, ("*", "after_commit"): Stores.op_after_commit,
    ("lock", "enter"): Stores.op_enter_lock, ("lock", "unlock"): Stores.op_unlock, ("effect", "call"): Stores.op_effect,
    ("retry", "loop"): Stores.op_retry_loop, ("retry", "call"): Stores.op_retry_call, ("retry", "decorator"): Stores.op_retry_policy,
    ("retry", "policy"): Stores.op_retry_policy, ("retry", "condition"): Stores.op_retry_condition, ("retry", "pause"): Stores.op_retry_pause,
    ("orm", "load"): Stores.op_load, ("orm", "many"): Stores.op_many, ("orm", "reload"): Stores.op_reload,
    ("orm", "persist"): Stores.op_persist_function, ("orm", "form_save"): Stores.op_form_save, ("orm", "add"): Stores.op_add, ("orm", "merge"): Stores.op_merge,
    ("orm", "create"): Stores.op_add, ("orm", "remove"): Stores.op_remove, ("orm", "mutation"): Stores.op_mutation,
    ("orm", "detach"): Stores.op_detach, ("orm", "scalar"): Stores.op_scalar, ("orm", "chain"): Stores.op_chain, ("orm", "assign"): Stores.op_assign_function, ("orm", "expire"): Stores.op_expire, ("orm", "check_exists"): Stores.op_scalar,
    ("orm", "set_write"): Stores.op_set_write_function, ("orm", "upsert"): Stores.op_add,
    ("builder", "start"): Stores.op_start, ("builder", "conjunction"): Stores.op_conjunction, ("builder", "disjunction"): Stores.op_disjunction, ("tool", "register"): Tools.op_register, ("tool", "schema"): Tools.op_schema,
}
