"""Calls of what cannot be looked into, and functions that are handed on to be run there or later."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .arguments import Argument, Arguments
from .entering import RECEIVER_FLAGS
from .events import CallEvent, Lock, LockEvent, Suspend
from .objects import Dead, State, join_states
from .spans import TRANSACTION
from .values import CONST, NOTHING, UNKNOWN, Lit, Origin, Template, Value


class Handing:
    """Mixin of Walker."""

    # --- what is not known --------------------------------------------------------------------------------------------------------
    def unresolved(self, name: str, receiver: Value, args: Arguments, node: Any, state: State, method: bool = False) -> Value:
        """A call of something unknown: returns what went in; may raise; is handed the objects it is given."""
        if self.vocabulary.match("forgetting", name):
            self.session_expired(state)
        done = self.called_at_once(name, args, node, state)
        if done is not None:
            return done
        if name == "retry" and method:
            self.task_again(receiver, args, node, state)
        quiet = self.vocabulary.match("harmless", name) or self.is_logger(receiver)
        given = args.all()
        if self.streams:
            self.feed_by_call(receiver, given, state)
        if self.swallows and not quiet and not self.is_idle_call(name):
            self.is_done_about(state)
        for value in given:
            if not quiet:
                self.escapes(state, value, "passed on")
                self.hand_over(state, value)
        if not quiet:
            if state.unchecked and given:
                self.event(CallEvent, node, state, name=name, value=self.values.derived([self.flat(state, v) for v in given]))
            self.throw(state, None, ("call", name, self.package_of(receiver)))
            for value in given:
                if value.ref is not None and value.ref[0] in ("local", "function") and not self.vocabulary.match("deferred", name):
                    self.callback(value, node, state)
        own = Origin("opaque", self.object_id_of(self.same_place(name, receiver, args, method) or ("value", id(node.at), self.frames[-1].calls)))
        origins: set = {own}
        forms = {id(a.value) for name, a in args.keywords if name == "instance"}
        for value in given:
            origins |= {named(o) if id(value) in forms else _weak(o) for o in self.deep(state, value)}
        if method:
            mine = self.deep(state, receiver)
            if self.is_query_method(name):
                mine = frozenset(_weak(o) for o in mine)  # `order.lines.count()`: of other rows
            origins |= {o.at("()") if o.kind != "read" else o for o in mine} if receiver.typ or receiver.ref else mine
        origins.discard(CONST)
        origins.discard(UNKNOWN)
        loops = tuple(region.id for region in self.regions)
        fetched = self.note_accessor(name, own, receiver, args, node, state, method)
        # An object that holds what it is given (`ReplaceOptions(cas=cas)`) is as old as that; a function of a bare key (`fetch(key)`) may ask somebody.
        holds = name[:1].isupper() and any(o.kind == "param" for o in origins)
        self.trace.made[own.n] = loops, holds or any(o.kind in ("read", "param") and o.path for o in origins) or any(o.kind == "read" for o in origins)
        if loops and not quiet:
            for value in (receiver, *given) if method else given:
                for o in value.same:
                    self.trace.touched.setdefault((o.kind, o.n), set()).add((o.path, loops, node.at))
        flags = receiver.flags & RECEIVER_FLAGS
        column = next((value.ref for value in given if value.ref is not None and value.ref[0] == "column"), None) if not method else None
        result = self.values.make(frozenset(origins), same=frozenset((own,)), flags=flags, name=name, ref=("expression", *column[1:]) if column is not None else None)
        if fetched:
            result = self.as_object(result, state)  # a change of `store.get(key) or {}` is one of what was stored
        return self.promised(name, result, receiver, args, node, state)

    def same_place(self, name: str, receiver: Value, args: Arguments, method: bool) -> Optional[tuple]:
        """What an unresolved call that only says where something is (`order_url(id)`, `root.joinpath(*parts)`) gives each time it is made of the same; else None."""
        if not self.vocabulary.match("place", name) or self.vocabulary.match("fresh_place", name) or args.open_star or args.open_kwargs:
            return None
        parts = [("", _as_written(a.value)) for a in args.positional] + sorted((k, _as_written(a.value)) for k, a in args.keywords)
        whose = _as_written(receiver) or receiver.objs or receiver.ref
        if not whose or not parts and not method or any(not part for _, part in parts):
            return None
        return ("place", name, whose, tuple(parts))

    def callable_of(self, argument: Argument, state: State) -> Value:
        """A function that was given as an argument; `table.put_item` is that method of the table."""
        value, node = argument.value, argument.node.value if isinstance(argument.node, ir.Arg) else None
        if value.ref is not None or value.query is not None or not isinstance(node, ir.Attr):
            return value
        root = node.value
        while isinstance(root, ir.Attr):
            root = root.value
        if not isinstance(root, ir.Name):
            return value
        return self.values.replace(value, ref=("method", node.name, self.eval(node.value, state)))

    def called_at_once(self, name: str, args: Arguments, node: Any, state: State) -> Optional[Value]:
        """`loop.run_in_executor(None, f, x)`, `zk.retry(zk.get, path)`: the function is called, and what it gives comes back. None: it is no such call."""
        if not self.vocabulary.match("calling", name):
            return None
        for place, argument in enumerate(args.positional[:2]):
            func = self.callable_of(argument, state)
            if func.ref is not None and func.ref[0] in ("function", "local", "partial", "method", "oneof"):
                inner = Arguments()
                inner.positional, inner.keywords = args.positional[place + 1:], args.keywords
                inner.open_star, inner.open_kwargs, inner.rest = args.open_star, args.open_kwargs, args.rest
                return self.call_value(func, inner, node, state)
        return None

    def promised(self, name: str, result: Value, receiver: Value, args: Arguments, node: Any, state: State) -> Value:
        """What the name of an unresolved callee promises (`_names.toml`): a lock, a conditional write. A name may silence only."""
        if self.vocabulary.match("locking_reader", name):
            self.lock_by_name(node, state)
            return self.values.replace(result, flags=result.flags | {"locked"})
        if self.vocabulary.match("lock_taker", name) or name in ("acquire", "aacquire") and bool(receiver.name) and self.vocabulary.match("lock_factory", receiver.name):
            return self.taken_by_name(result, node, state)
        if self.vocabulary.match("advisory_call", name):
            return self.values.replace(result, flags=result.flags | {"advisory"})
        if self.vocabulary.match("pausing", name):
            # a pause between two tries: does it differ at random?
            length = args.positional[0].value if args.positional else next((a.value for _, a in args.keywords), None)
            event = self.event(Suspend, node, state, what=name, value=length)
            state.done |= {(region.id, ("pause", event.n)) for region in self.regions}
            self.passes(event, state)
        elif self.vocabulary.match("suspending", name):
            self.passes(self.event(Suspend, node, state, what=name), state)
        self.pattern_write(name, result, receiver, args, node, state)
        return result

    def lock_by_name(self, node: Any, state: State) -> None:
        lock = self.event(LockEvent, node, state)
        lock.lock = Lock("pattern", lock.n, "tx")
        self.take(lock.lock, state)

    def is_logger(self, receiver: Value) -> bool:
        return bool(receiver.name) and self.vocabulary.match("harmless_receiver", receiver.name)

    def hand_over(self, state: State, value: Value) -> None:
        """The objects in `value` are known elsewhere from now on."""
        for part in self.parts(state, value):
            for oid in part.objs:
                obj = state.heap.get(oid)
                if obj is not None and not obj.handed and obj.kind in ("row", "path", "part", "instance", "new"):
                    state.put(oid, obj.but(handed=True))

    def callback(self, value: Value, node: Any, state: State, args: Optional[Arguments] = None) -> Optional[Value]:
        """A function given to something that calls it at some time (or never)."""
        trial = state.copy()
        try:
            result = self.call_value(value, args or Arguments(), node, trial)
        except Dead:
            return None
        joined = join_states(self.values, [state, trial])
        control = state.control
        state.adopt(joined.copy())
        state.control = control
        return result

    def run_later(self, name: str, receiver: Value, args: Arguments, node: Any, state: State) -> None:
        """`task.delay(…)`, `on_commit(f)`, `Thread(target=f)`: a call at another time, without the caller's locks, transaction, loops and handlers."""
        inner = Arguments()
        func = receiver if _is_function(receiver) else None
        if func is None:
            place = next((i for i, a in enumerate(args.positional) if _is_function(a.value)), None)
            if place is not None:
                func, inner.positional = args.positional[place].value, args.positional[place + 1:]
            else:
                func = next((a.value for k, a in args.keywords if _is_function(a.value)), None)
        elif not name.startswith("apply"):
            inner.positional = args.positional
        if func is None or func.ref[0] == "function" and func.ref[1].key in self.active:
            return
        bundle, mapping = args.get("args"), args.get("kwargs")
        if name.startswith("apply") and func is receiver:
            bundle, mapping = args.get("args", 0), args.get("kwargs", 1)
        if bundle is not None:
            known = self.known_items(bundle, state)
            inner.positional = [Argument(v) for v in known or ()]
            inner.open_star, inner.rest = known is None, [] if known is not None else [self.member(bundle, state)]
        if mapping is not None:
            items = self.mapping_items(mapping, state) or {}
            inner.keywords = [(k[2:-2], Argument(v, k[2:-2])) for k, v in items.items() if k.startswith(("['", '["'))]
        elif bundle is None:
            inner.keywords = [(k, a) for k, a in args.keywords if a.value is not func]
        if func.ref[0] == "function" and func.ref[2] is None and func.ref[1].cls is None and func.ref[1].info.params[:1] == ("self",):
            func = self.values.replace(func, ref=("function", func.ref[1], self.values.origin(Origin("param", "self"), name="self")))  # a bound task is given itself
        later = state.copy()
        later.freed |= later.held
        later.held = NOTHING
        later.done = frozenset(mark for mark in later.done if mark[0] != TRANSACTION)
        saved = self.collectors, self.regions, self.handling, self.handling_writes
        self.collectors, self.regions, self.handling, self.handling_writes = [], [], [], []
        try:
            self.call_value(func, inner, node, later)
        except Dead:
            return
        finally:
            self.collectors, self.regions, self.handling, self.handling_writes = saved
        state.unchecked |= later.unchecked


def _is_function(value: Value) -> bool:
    return value.ref is not None and value.ref[0] in ("function", "local", "partial")


def _weak(origin: Origin) -> Origin:
    """Through an opaque call: derived, but not in sight (DESIGN: as the argument of an opaque call a sibling field does not count)."""
    return origin if origin.path and origin.path[-1] in ("()", "(.)") else origin.at("()")


def named(origin: Origin) -> Origin:
    """The row that a form is to change (`instance=order.address`): which one it is, not what it holds."""
    return origin if origin.path and origin.path[-1] == "(.)" else origin.at("(.)")


def _as_written(value: Value) -> Any:
    """What makes two values the same one, whatever else is known of them."""
    if type(value.shape) is Lit:
        return value.shape
    return value if type(value.shape) is Template else value.same or value.dotted
