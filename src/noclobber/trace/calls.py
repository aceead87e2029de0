"""Calls: who is called, with what, and what comes back.

A function of the project is walked with the values of this very call (its summary for these arguments): what it does to its
arguments, the events it makes and what it returns are thereby applied at the call. A function already on the stack answers
"no effects". What cannot be resolved returns what went in, and is handed every object that it was given.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional

from . import ir
from .arguments import Argument, Arguments
from .builtins import BUILTINS, COMPUTING, INHERITED, derived
from .composing import part_maker
from .contexts import Contexts
from .entering import RECEIVER_FLAGS, Entering
from .handing import Handing, named
from .methods import Methods
from .objects import Dead, Obj, State, join_states
from .values import CONST, NOTHING, Origin, Value


class Calls(Methods, Entering, Handing, Contexts):
    """Mixin of Walker."""

    # --- a call -----------------------------------------------------------------------------------------------------------
    def call(self, node: Any, state: State) -> Value:
        self.steps += 1
        # `a.b().c().d()`: long chains must not recurse.
        chain = []
        inner = node
        while isinstance(inner, ir.Call) and isinstance(inner.func, ir.Attr) and isinstance(inner.func.value, (ir.Call, ir.Await)):
            chain.append(inner)
            inner = inner.func.value
            if isinstance(inner, ir.Await):
                break
        if len(chain) < 30 or not isinstance(inner, ir.Call):
            return self._call(node, state)
        value = self._call(inner, state)
        for step in reversed(chain):
            value = self.call_method(value, step.func.name, self.arguments(step, state), step, state)
        return value

    def _call(self, node: Any, state: State) -> Value:
        func = node.func
        if isinstance(func, ir.Attr):
            if isinstance(func.value, ir.Call) and isinstance(func.value.func, ir.Name) and func.value.func.id == "super":
                return self.call_super(func.name, self.arguments(node, state), node, state)
            receiver = self.eval(func.value, state)
            return self.call_method(receiver, func.name, self.arguments(node, state), node, state)
        callee = self.eval(func, state)
        if self.regions and callee.ref is not None and isinstance(func, ir.Name):
            self.note_given(func.id, node)
        args = self.arguments(node, state)
        if isinstance(func, ir.Name) and self.frames[-1].entry and func.id in self.frames[-1].entry and len(self.frames) > 1:
            with self.handing_over():
                return self.call_value(callee, args, node, state)
        return self.call_value(callee, args, node, state)

    @contextmanager
    def handing_over(self) -> Iterator[None]:
        """The function that is called next was handed in as a callback: its lines stand for themselves, not for the call of it."""
        before, self.handed = self.handed, True
        try:
            yield
        finally:
            self.handed = before

    def arguments(self, node: Any, state: State) -> Arguments:
        result = Arguments()
        for arg in node.args:
            value = self.eval(arg.value, state)
            if arg.star == "*":
                known = self.known_items(value, state)
                if known is None:
                    result.spread = None if result.open_star else (len(result.positional), value)
                    result.open_star = True
                    result.rest.append(self.member(value, state))
                else:
                    result.positional.extend(Argument(v, node=arg) for v in known)
            elif arg.star == "**":
                mapping = self.one_of_mappings(value, state) or self.mapping_items(value, state)
                known = {k: v for k, v in (mapping or {}).items() if k.startswith("['") or k.startswith('["')}
                for step, inner in known.items():
                    name = step[2:-2]
                    result.keywords.append((name, Argument(inner, name, node=arg)))
                empty = mapping == {} and all(state.heap[oid].kind == "dict" for oid in value.objs)
                rest = self.rest_of(value, state, mapping) if mapping and len(value.objs) == 1 or empty else None if mapping else self.values.make(value.origins)
                if rest is not None:
                    result.mapping = None if result.open_kwargs else value
                    result.open_kwargs = True
                    result.rest.append(rest)
            elif arg.keyword:
                result.keywords.append((arg.keyword, Argument(value, arg.keyword, node=arg)))
            else:
                result.positional.append(Argument(value, node=arg))
        if result.spread is not None and result.spread[0] != len(result.positional):
            result.spread = None  # more follow after it: which are theirs is not known
        return result

    def one_of_mappings(self, value: Value, state: State) -> Optional[dict]:
        """The entries of a mapping that is one of several written out (`{"IfMatch": etag}` here, `{"IfNoneMatch": "*"}` there): whatever any of them holds."""
        found: dict = {}
        for oid in value.objs if len(value.objs) > 1 else ():
            obj = state.heap.get(oid)
            if obj is None or obj.kind != "dict" or obj.elem is not None:
                return None
            for step, inner in obj.fields.items():
                if step.startswith("["):
                    found[step] = self.values.join(found[step], inner) if step in found else inner
        return found or None

    def spread_argument(self, args: Arguments, name: str, place: int, state: State) -> Optional[Value]:
        """What a parameter or field gets of `*row` or `**row`: the member at its place, or of its name."""
        if args.spread is not None and place >= args.spread[0]:
            return self.known_part(args.spread[1], f"[{place - args.spread[0]}]", state)
        if args.mapping is not None and name:
            return self.known_part(args.mapping, f"[{name!r}]", state)
        return None

    def known_part(self, base: Value, step: str, state: State) -> Value:
        """The member of a container or a row that a literal index names."""
        result: Optional[Value] = None
        for oid in base.objs:
            value = self.field(oid, step, None, state)
            if value is not None:
                result = value if result is None else self.values.join(result, value)
        return result if result is not None else self.extend(base, step, state)

    def call_value(self, callee: Value, args: Arguments, node: Any, state: State) -> Value:
        ref = callee.ref
        if ref is not None:
            kind = ref[0]
            if kind == "dotted":
                return self.call_dotted(ref[1], callee, args, node, state)
            if kind == "function":
                return self.call_scope(ref[1], args, node, state, ref[2])
            if kind == "local":
                return self.call_local(ref[1], args, node, state)
            if kind == "class":
                return self.construct(ref[1], args, node, state)
            if kind == "partial":
                merged = Arguments()
                merged.positional = [Argument(v) for v in ref[2]] + args.positional
                merged.keywords = [(k, Argument(v, k)) for k, v in ref[3]] + args.keywords
                merged.open_star, merged.open_kwargs, merged.rest, merged.mapping = args.open_star, args.open_kwargs, args.rest, args.mapping
                return self.call_value(ref[1], merged, node, state)
            if kind == "oneof":
                return self.call_one_of(ref[1], args, node, state)
            if kind == "method":
                return self.call_method(ref[2], ref[1], args, node, state)
            if kind == "undecorated":
                return self.undecorated[ref[1]](args, state)
        if callee.query is not None:
            return self.query_method(callee, "__call__", args, node, state)
        found = self.call_typed_value(callee, args, node, state)
        if found is not None:
            return found
        return self.unresolved(callee.name, callee, args, node, state)

    def call_one_of(self, choices: tuple, args: Arguments, node: Any, state: State) -> Value:
        """One of several functions is called: each is walked, from the same state."""
        ends: list = []
        result: Optional[Value] = None
        for choice in choices:
            trial = state.copy()
            try:
                value = self.call_value(choice, args, node, trial)
            except Dead:
                continue
            result = value if result is None else self.values.join(result, value)
            ends.append(trial)
        if result is None:
            raise Dead
        control = state.control
        state.adopt(join_states(self.values, ends).copy())
        state.control = control
        return result

    # --- methods --------------------------------------------------------------------------------------------------------------
    def call_method(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Value:
        ref = receiver.ref
        if name == "_make" and len(args.positional) == 1 and not args.keywords:
            return args.positional[0].value  # of a named tuple: the row under other names
        if ref is not None:
            if ref[0] in ("dotted", "class") and self.is_called_manager(name):
                manager = self.attribute(receiver, name, node, state)
                if manager.query is not None:
                    return self.call_value(manager, args, node, state)  # `Model.objects(name=…)`
            if ref[0] == "dotted":
                return self.call_dotted(f"{ref[1]}.{name}", receiver, args, node, state)
            if ref[0] == "class":
                return self.call_class_attribute(ref[1], name, receiver, args, node, state)
            if ref[0] == "column":
                return self.column_method(receiver, name, args)
            if ref[0] == "transaction" and name.startswith("__"):
                done = self.transaction_method(receiver, name, node, state)
                if done is not None:
                    return done
        if receiver.query is not None:
            return self.query_method(receiver, name, args, node, state)
        if self.is_path(receiver):
            found = self.path_method(receiver, name, args, node, state)
            if found is not None:
                return found
        several = self.overrides(receiver, name, state)
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and obj.kind == "instance":
                method = obj.cls.method(name)
                if method is not None and several:
                    return self.unresolved(name, receiver, args, node, state, method=True)
                if method is not None:
                    return self.call_scope(method, args, node, state, receiver)
                if name in obj.fields:
                    return self.call_value(obj.fields[name], args, node, state)
                if method is None and name in INHERITED and self.is_named_tuple(obj.cls):
                    return INHERITED[name](self, args.after(receiver), node, state)
        if name in INHERITED and not args.positional and receiver.same:
            return INHERITED[name](self, args.after(self.as_object(receiver, state)), node, state)  # only named tuples have such a method
        if self.vocabulary.match("deferred", name) and not self.is_own_class(receiver):
            self.run_later(name, receiver, args, node, state)
        done = self.library_method(receiver, name, args, node, state)
        if done is not None:
            return done
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and name in obj.fields and obj.fields[name].ref is not None:
                return self.call_value(obj.fields[name], args, node, state)
        if receiver.typ and receiver.typ.startswith("class:"):
            cls = self.ask.klass_of(receiver.typ)
            method = cls.method(name) if cls is not None else None
            if method is not None:
                return self.call_scope(method, args, node, state, receiver)
        return self.plain_method(receiver, name, args, node, state)

    @staticmethod
    def overrides(receiver: Value, name: str, state: State) -> bool:
        """May the receiver be an object of several classes that mean different things by this name? Then it is not known what is called."""
        if len(receiver.objs) < 2:
            return False
        found = {state.heap[oid].cls.method(name) for oid in receiver.objs if oid in state.heap and state.heap[oid].kind == "instance"} - {None}
        return len(found) > 1

    def plain_method(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Value:
        """A method of a container, a text or something unknown: gives back what went in, may change the receiver only."""
        if name in _FOLDING and not args.all() and receiver.same and receiver.shape is None:
            # `email.lower()` twice is the same text twice.
            own = Origin("opaque", self.object_id_of(("folded", name, receiver.same)))
            return self.altered(receiver, self.values.make(frozenset((own, *(o if o.kind == "read" else o.at("()") for o in receiver.origins))), same=frozenset((own,)), name=name))
        if name in _CUTTING and (args.positional or name in ("lower", "upper", "casefold")) and receiver.shape is None:
            return self.altered(receiver, self.unresolved(name, receiver, args, node, state, method=True))
        builtin = self.container_method(receiver, name, args, node, state) if name != "get" or not self.keeps_records(receiver, state) else None
        if builtin is not None:
            return builtin
        return self.unresolved(name, receiver, args, node, state, method=True)

    # --- dotted names ---------------------------------------------------------------------------------------------------------
    def call_dotted(self, dotted: str, callee: Value, args: Arguments, node: Any, state: State) -> Value:
        found = self.ask.dotted(dotted)
        if found is not None:
            value = self.named(found, dotted, state)
            if value.ref is not None and value.ref[0] != "dotted":
                return self.call_value(value, args, node, state)
        handler = BUILTINS.get(dotted) or part_maker(self.vocabulary, dotted)
        if handler is not None:
            return handler(self, args, node, state)
        last = dotted.rsplit(".", 1)[-1]
        if self.vocabulary.match("deferred", last):
            self.run_later(last, callee, args, node, state)
        done = self.library_function(dotted, args, node, state)
        if done is not None:
            return done
        if callee.dotted != dotted:
            # `from app.db import session; session.get(…)`: an imported object, known by its habitual name at best.
            done = self.library_method(self.values.replace(callee, ref=None), last, args, node, state)
            if done is not None:
                return done
        if dotted.startswith(COMPUTING) and not last[:1].isupper():
            return derived(self, args, node, state)
        if self.vocabulary.match("no_return", last):
            self.throw(state, frozenset(("Exception",)))
            raise Dead
        done = self.imported_class_method(dotted, callee, args, node, state)
        if done is not None:
            return done
        if last[:1].isupper() and not last.isupper():
            return self.construct_unknown(dotted, args, node, state)
        return self.unresolved(last, callee, args, node, state)

    def construct_unknown(self, dotted: str, args: Arguments, node: Any, state: State) -> Value:
        """An instance of a class that was not found: a new object with its keyword arguments as fields."""
        fields = {name: argument.value for name, argument in args.keywords}
        for i, argument in enumerate(args.positional):
            fields[f"@{i}"] = argument.value
        if args.open_kwargs:
            fields["@rest"] = self.values.derived(args.rest)
        for value in args.all():
            self.escapes(state, value, "passed on")
        oid = self.object_id(node, "new")
        state.put(oid, Obj("new", fields=fields, new=True, cls=dotted, label=dotted.rsplit(".", 1)[-1]))
        forms = {id(a.value) for name, a in args.keywords if name == "instance"}
        origins = frozenset(named(o) if id(v) in forms else o for v in args.all() for o in v.origins) - {CONST} if args.all() else NOTHING
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        flags = frozenset().union(*(v.flags for v in args.all())) & RECEIVER_FLAGS if args.all() else NOTHING
        made = self.values.make(origins | {own}, same=frozenset((own,)), objs=frozenset((oid,)), typ=dotted, flags=flags)
        cls = self.values.origin(Origin("global", dotted), ref=("dotted", dotted))
        self.added_when_made(self.entry_where(lambda entry: self.adding_when_made(entry) is not None, cls), made, node, state)
        return made


#: Methods of a text that give back something else than the text.
_CUTTING = frozenset(("strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition", "lower", "upper", "casefold"))
_FOLDING = frozenset(("lower", "upper", "casefold"))
