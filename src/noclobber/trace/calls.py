"""Calls: who is called, with what, and what comes back.

A function of the project is walked with the values of this very call (its summary for these arguments): what it does to its
arguments, the events it makes and what it returns are thereby applied at the call. A function already on the stack answers
"no effects". What cannot be resolved returns what went in, and is handed every object that it was given.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional

from . import ir
from .builtins import BUILTINS, COMPUTING, INHERITED, derived
from .evaluate import MUTATORS
from .events import CallEvent, Lock, LockEvent, Suspend
from .managers import OWN_ROWS
from .objects import Dead, Obj, State, join_states
from .spans import TRANSACTION
from .values import CONST, NOTHING, UNKNOWN, Lit, Origin, Template, Value

MAX_DEPTH = 6  # helpers walked into below one root
MAX_STEPS = 5_000  # helpers are not entered any more after so many steps of one root
#: A helper without any event of these kinds only computes: a long one is not walked, its result derives from its arguments.
_EVENTFUL = frozenset(("accessor-read", "accessor-write", "file-read", "file-write", "read", "write", "conditional", "create", "delete", "lock", "unlock", "begin", "replay", "effect", "conflict"))
MAX_PURE_LINES = 30
MAX_CHANGING_LINES = 120


class Argument:
    """One argument of a call: value, keyword ('' for positional), star ('', '*', '**'), and its expression."""

    __slots__ = ("value", "keyword", "star", "node")

    def __init__(self, value: Value, keyword: str = "", star: str = "", node: Any = None) -> None:
        self.value, self.keyword, self.star, self.node = value, keyword, star, node


class Arguments:
    """The arguments of a call with `*known` and `**known` spread out; open_star / open_kwargs: an unknown rest was spread.

    spread: (place of its first member, the value) of an unknown sequence that ends the positional ones; mapping: what was spread by name."""

    __slots__ = ("positional", "keywords", "open_star", "open_kwargs", "rest", "spread", "mapping")

    def __init__(self) -> None:
        self.positional: list[Argument] = []
        self.keywords: list[tuple[str, Argument]] = []
        self.open_star = self.open_kwargs = False
        self.rest: list[Value] = []
        self.spread: Optional[tuple[int, Value]] = None
        self.mapping: Optional[Value] = None

    def all(self) -> list[Value]:
        return [a.value for a in self.positional] + [a.value for _, a in self.keywords] + self.rest

    def after(self, first: Value) -> Arguments:
        """The same arguments with one before them."""
        other = Arguments()
        other.positional, other.keywords = [Argument(first), *self.positional], self.keywords
        other.open_star, other.open_kwargs, other.rest, other.mapping = self.open_star, self.open_kwargs, self.rest, self.mapping
        other.spread = (self.spread[0] + 1, self.spread[1]) if self.spread is not None else None
        return other

    def get(self, name: str, place: Optional[int] = None) -> Optional[Value]:
        for keyword, argument in self.keywords:
            if keyword == name:
                return argument.value
        if place is not None and place < len(self.positional):
            return self.positional[place].value
        return None


class Calls:
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
                mapping = self.mapping_items(value, state)
                known = {k: v for k, v in (mapping or {}).items() if k.startswith("['") or k.startswith('["')}
                for step, inner in known.items():
                    name = step[2:-2]
                    result.keywords.append((name, Argument(inner, name, node=arg)))
                empty = mapping == {} and all(state.heap[oid].kind == "dict" for oid in value.objs)
                rest = self.rest_of(value, state, mapping) if mapping or empty else self.values.make(value.origins)
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

    def container_method(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Optional[Value]:
        first = args.positional[0].value if args.positional else None
        dumped = self.dump_method(receiver, name, args, node, state)
        if dumped is not None:
            return dumped
        if name == "get" and first is not None and len(args.positional) <= 2:
            value = self.item(receiver, first, _receiver_sub(node), state)
            if len(args.positional) == 2:
                return self.defaulted(value, args.positional[1].value)
            return value
        if name in ("setdefault", "pop") and first is not None and self.step_of(first) is not None:
            value = self.item(receiver, first, _receiver_sub(node), state)
            default = args.positional[1].value if len(args.positional) > 1 else None
            receiver = self._with_object(receiver, node, state)
            if name == "setdefault" and default is not None:
                if default.objs and not any(state.heap[o].kind == "part" for o in value.objs if o in state.heap):
                    value = self.values.replace(value, objs=value.objs | default.objs)
                for oid in receiver.objs:
                    obj = state.heap.get(oid)
                    if obj is not None:
                        state.put(oid, obj.but(fields={**obj.fields, self.step_of(first): value}))
            if name == "pop":
                self.taken_out(receiver, self.step_of(first), state)
            self.mutated(receiver, state, node)
            return value
        if name in MUTATORS and (receiver.objs or name in _SURE_MUTATORS or not receiver.typ) and not self.is_relation(receiver, name, args, state):
            return self._mutator(receiver, name, args, node, state)
        if name in ("copy", "deepcopy", "__copy__") and not args.positional:
            return self.copy_container(receiver, node, state)
        if name in ("items", "values", "keys") and not args.positional:
            return self._view(receiver, name, node, state)
        if name == "format" and receiver.text is not None:
            return self._format(receiver, args, state)
        if name == "join" and first is not None and receiver.text is not None:
            return self._join(receiver, first, state)
        if name in _TEXT_METHODS and (receiver.text is not None or type(receiver.shape) is Template):
            if type(receiver.shape) is Template and name in ("strip", "lstrip", "rstrip", "encode", "rstrip"):
                return receiver
            return self._text_method(receiver, name, args)
        if name in _SAME_METHODS and not args.positional:
            return receiver
        if name in ("hexdigest", "digest") and "digest" in receiver.flags:
            return self.values.replace(self.unresolved(name, receiver, args, node, state, method=True), flags=receiver.flags)
        return None

    def is_relation(self, receiver: Value, name: str, args: Arguments, state: State) -> bool:
        """`order.items.add(x)`, `order.lines.update(n=1)`: methods of a related manager, not a change of a column of the row."""
        if name not in _MANAGER_METHODS or name == "update" and not args.keywords:
            return False
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            owner = state.heap.get(obj.parent[0]) if obj is not None and obj.parent is not None else None
            if owner is None or obj.parent[1].startswith("["):
                continue
            if owner.model is not None or owner.kind == "path" or owner.kind == "instance" and self.orm_of_class(owner.cls) is not None:
                return True
        return False

    def _with_object(self, receiver: Value, node: Any, state: State) -> Value:
        if receiver.objs:
            return receiver
        with_object = self.as_object(receiver, state)
        if with_object is not receiver:
            self.rebind(node.func.value if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else None, receiver, with_object, state)
        return with_object

    def _mutator(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Value:
        base_node = node.func.value if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else None
        if self.swallows:
            self.is_done_about(state)
        added: Optional[Value] = None
        for value in args.all() if name not in _TAKING else ():  # what `pop(key)` is given does not go in
            inner = self.member(value, state) if name in ("extend", "update", "extendleft") and value.objs else value
            added = inner if added is None else self.values.join(added, inner)
        receiver = self._with_object(receiver, node, state)
        placed = False  # every member that goes in has a name of its own
        if name in ("update", "__setitem__"):
            mapping: dict = {}
            placed = name == "update" and not args.open_kwargs and not args.open_star
            for value in args.positional:
                known = self.mapping_items(value.value, state)
                placed &= known is not None and self.rest_of(value.value, state, known) is None
                mapping.update(known or {})
            mapping.update({f"[{k!r}]": a.value for k, a in args.keywords})
            for oid in receiver.objs:
                obj = state.heap.get(oid)
                if obj is not None and mapping:
                    state.put(oid, obj.but(fields={**obj.fields, **mapping}))
        taken = self.member(receiver, state) if name in ("pop", "popitem", "popleft", "setdefault") else None
        self.mutated(receiver, state, node, base_node, added, placed)
        return taken if taken is not None else self.values.none

    def defaulted(self, value: Value, default: Value) -> Value:
        """`d.get(k, default)`: the member or the default; a literal default does not end its identity."""
        if type(default.shape) is Lit:
            return self.values.replace(value, shape=None)
        return self.values.replace(value, origins=(value.origins | default.origins) - {CONST} or value.origins, same=value.same | default.same, objs=value.objs | default.objs)

    def _view(self, receiver: Value, name: str, node: Any, state: State) -> Value:
        member = self.member(receiver, state)
        if name == "keys":
            return self.values.make(frozenset(o.at("[keys]") for o in receiver.origins))
        if name == "items":
            key = self.values.make(frozenset(o.at("[keys]") for o in receiver.origins))
            pair = self.container(node, "tuple", state, {"[0]": key, "[1]": member}, None, "pair")
            return self.container(node, "list", state, {}, pair, "view")
        return self.container(node, "list", state, {}, member, "view")

    def _format(self, receiver: Value, args: Arguments, state: State) -> Value:
        import string

        parts: list = []
        place = 0
        try:
            for literal, field, _, _ in string.Formatter().parse(receiver.text or ""):
                parts.append(literal)
                if field is None:
                    continue
                head = field.split(".")[0].split("[")[0]
                value = args.get(head) if head and not head.isdigit() else None
                if value is None and (not head or head.isdigit()):
                    index = int(head) if head else place
                    place += 0 if head else 1
                    value = args.positional[index].value if index < len(args.positional) else None
                parts.append(value if value is not None and head == field else self.values.derived(value) if value is not None else self.values.unknown)
        except (ValueError, IndexError):
            return self.values.derived(receiver, args.all())
        return self.values.template(parts)

    def _join(self, receiver: Value, first: Value, state: State) -> Value:
        known = self.known_items(first, state)
        if known is None or not known:
            return self.values.make(self.deep(state, first) - {CONST} or first.origins)
        parts: list = []
        for i, value in enumerate(known):
            if i:
                parts.append(receiver.text)
            parts.append(value)
        return self.values.template(parts)

    def _text_method(self, receiver: Value, name: str, args: Arguments) -> Value:
        literals = [a.value.literal for a in args.positional]
        text = receiver.text
        if text is not None and all(isinstance(v, (str, int)) for v in literals) and name in _FOLDABLE:
            try:
                return self.values.const(getattr(text, name)(*literals))
            except (TypeError, ValueError):
                pass
        return self.values.derived(receiver, args.all())

    # --- dotted names ---------------------------------------------------------------------------------------------------------
    def call_dotted(self, dotted: str, callee: Value, args: Arguments, node: Any, state: State) -> Value:
        found = self.ask.dotted(dotted)
        if found is not None:
            value = self.named(found, dotted, state)
            if value.ref is not None and value.ref[0] != "dotted":
                return self.call_value(value, args, node, state)
        handler = BUILTINS.get(dotted)
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
        origins = frozenset(_named(o) if id(v) in forms else o for v in args.all() for o in v.origins) - {CONST} if args.all() else NOTHING
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        flags = frozenset().union(*(v.flags for v in args.all())) & _RECEIVER_FLAGS if args.all() else NOTHING
        return self.values.make(origins | {own}, same=frozenset((own,)), objs=frozenset((oid,)), typ=dotted, flags=flags)

    # --- functions of the project -------------------------------------------------------------------------------------------------
    def call_scope(self, scope: Any, args: Arguments, node: Any, state: State, self_value: Optional[Value] = None) -> Value:
        definition = scope.definition()
        if definition is None:
            self.trace.incomplete.add(scope.qualname)
            return self.unresolved(scope.qualname, self.values.unknown, args, node, state)
        if scope.key in self.active:
            return self.recursion(scope, args, node, state)
        if self_value is not None and scope.cls is not None and self.is_stub(definition):
            return self.unresolved(scope.name, self_value, args, node, state, method=True)
        if len(self.frames) > MAX_DEPTH or self.steps > MAX_STEPS:
            self.trace.incomplete.add(scope.qualname)
            return self.unresolved(scope.qualname, self.values.unknown, args, node, state)
        if scope.is_context_manager and not getattr(self, "_entering", False):
            return self.values.origin(Origin("opaque", self.object_id_of(("cm", id(node.at), self.frames[-1].calls))),
                                      ref=("contextmanager", scope, self.remember(args), self_value))
        if self.sought and scope.key not in self.sought and self.is_beside(scope):
            return self.unresolved(scope.name, self_value or self.values.unknown, args, node, state, method=self_value is not None)
        if self.only_computes(scope):
            for value in args.all():
                self.escapes(state, value, "passed on")
            return self.values.make(frozenset().union(*(self.deep(state, v) for v in args.all())) - {CONST} or frozenset((UNKNOWN,)) if args.all()
                                    else frozenset((Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls))),)))
        static = scope.is_static
        bound = None if static else self_value
        return self.enter(definition, scope, scope.excerpt(), args, node, state, bound, None, scope.key)

    @staticmethod
    def is_beside(scope: Any) -> bool:
        """A helper that neither holds nor loads under a lock, or a long one: not what a caller is looked at for."""
        kinds = scope.kinds
        return kinds is not None and not kinds & {"lock", "begin"} or scope.info.end - scope.info.start > MAX_PURE_LINES

    @staticmethod
    def only_computes(scope: Any) -> bool:
        """A long helper that touches no store and has no effect: walking it would tell nothing but that its result derives from its arguments."""
        kinds = scope.kinds
        if kinds is None or kinds & _EVENTFUL:
            return False
        lines = scope.info.end - scope.info.start
        return lines > (MAX_CHANGING_LINES if "change" in kinds else MAX_PURE_LINES)

    def call_local(self, key: tuple, args: Arguments, node: Any, state: State) -> Value:
        definition, scope, excerpt, closure, self_value = self.local_functions[key]
        mark = ("local", key[0], key[1])
        if mark in self.active or len(self.frames) > MAX_DEPTH + 2 or self.steps > MAX_STEPS:
            return self.values.derived(args.all() or [self.values.unknown])
        outer = self.frames[-1]
        surroundings = dict(closure)
        if outer.calls == key[1]:
            # Still inside the function that defined it: it sees the names as they are now.
            surroundings.update(state.env)
        return self.enter(definition, scope, excerpt, args, node, state, None, surroundings, mark)

    def enter(self, definition: Any, scope: Any, excerpt: Any, args: Arguments, node: Any, state: State, self_value: Optional[Value],
              closure: Optional[dict], mark: Any, undecorated: Any = None) -> Value:
        """Walk a function with these arguments. undecorated: the frame to use when a wrapper of its decorators calls it."""
        from .walk import Frame

        name = definition.name if isinstance(definition, ir.FunctionDef) else "<lambda>"
        function = scope.qualname if closure is None else f"{scope.qualname}.{name}"
        entry: tuple = (id(node.at), self.site(node))
        of_lambda = self.frames[-1].function.endswith("<lambda>")
        if self.handed or of_lambda or closure is not None and isinstance(mark, tuple) and mark[0] == "local" and self.frames[-1].calls != mark[2]:
            entry += ("callback",)
        self.handed = False
        self.trace.callees.setdefault(self.frames[-1].calls + (entry,), (function, scope.path))
        if undecorated is None and self.vocabulary.declares("locking_reader", name):
            self.lock_by_name(node, state)  # the user says so, whatever its code shows
        frame = undecorated or Frame(scope, excerpt, function, self.frames[-1].calls + (entry,), closure)
        if undecorated is not None:
            self.decorating.append(None)
            try:
                return self._entered(definition, frame, args, node, state, self_value, closure, mark)
            finally:
                self.decorating.pop()
        frame.self_value = self_value
        if isinstance(definition, ir.FunctionDef) and definition.decorators:
            given = args if self_value is None else args.after(self_value)
            value = self.through_decorators(definition, frame, given, node, state, lambda again, inner: self.enter(
                definition, scope, excerpt, again, node, inner, None, closure, mark, frame))
            if value is not None:
                return value
        return self._entered(definition, frame, args, node, state, self_value, closure, mark)

    def _entered(self, definition: Any, frame: Any, args: Arguments, node: Any, state: State, self_value: Optional[Value], closure: Optional[dict], mark: Any) -> Value:
        remembered = self.is_remembered(definition)
        try:
            return self._entered_anew(definition, frame, args, node, state, self_value, closure, mark)
        finally:
            if remembered:
                for event in self.trace.of("read"):
                    if event.ctx.calls[:len(frame.calls)] == frame.calls:
                        event.cached = True

    def _entered_anew(self, definition: Any, frame: Any, args: Arguments, node: Any, state: State, self_value: Optional[Value], closure: Optional[dict], mark: Any) -> Value:
        policies = self.policies_of(definition, state) if isinstance(definition, ir.FunctionDef) and definition.decorators else []
        contexts = self.contexts_of(definition, state) if isinstance(definition, ir.FunctionDef) and definition.decorators else []
        env = self.bind_parameters(definition, args, self_value, state, frame)
        frame.entry, frame.first = dict(env), len(self.trace.events) - 1
        inner = state.with_env(env)
        inner.control = state.control
        self.frames.append(frame)
        self.active.append(mark)
        opened = self.open_call()
        try:
            def body(entry: State) -> Optional[State]:
                frame.returns = []
                if isinstance(definition, ir.Lambda):
                    try:
                        frame.returns.append((entry, self.eval(definition.body, entry)))
                    except Dead:
                        pass
                    return join_states(self.values, [s for s, _ in frame.returns])
                end = self.in_contexts(definition, contexts, frame, lambda again: self.block(definition.body, again), entry)
                if end is not None:
                    frame.returns.append((end, self.values.none))
                return join_states(self.values, [s for s, _ in frame.returns])

            after = self.in_policies(policies, body, inner)
        finally:
            self.active.pop()
            self.frames.pop()
            self.close_call(opened, state)
            if self.watched is not None and mark == self.watched:
                self.watched_returns = list(frame.returns)
        if after is None:
            raise Dead
        self.judge_swallows(frame)
        if self.swallows:
            after = join_states(self.values, [s for s, _ in frame.returns]) or after
        result: Optional[Value] = None
        for _, value in frame.returns:
            result = value if result is None else self.values.join(result, value)
        if result is not None and len(frame.returns) > 1:
            result = self.with_locks(self.with_verdicts(result, frame, node), frame)
        if result is not None and result.typ is None and not result.objs and result.ref is None and result.query is None and result.shape is None:
            result = self.with_promised_class(result, definition, frame)
        if frame.yields:
            elem = frame.yields[0]
            for value in frame.yields[1:]:
                elem = self.values.join(elem, value)
            restored = after.with_env(state.env)
            state_after = restored
            state_after.control = state.control
            state.adopt(state_after)
            return self.container(node, "list", state, {}, elem, "generator")
        restored = after.with_env(state.env)
        restored.control = state.control
        state.adopt(restored)
        return result if result is not None else self.values.none

    def with_promised_class(self, result: Value, definition: Any, frame: Any) -> Value:
        """`def get(cls) -> JobQueue:`: what nothing else is known of is an object of the class that the function says it gives."""
        returns = getattr(definition, "returns", None)
        if returns is None:
            return result
        own = frame.scope.cls if ir.dotted(returns).rpartition(".")[2] == "Self" else None
        typ = own.type_name if own is not None else self.annotation_type(returns, frame.scope)
        cls = self.ask.klass_of(typ) if typ and typ.startswith("class:") else None
        if cls is None or any(base.rpartition(".")[2] in ("Protocol", "ABC", "Generic") for base in cls.library_bases()) or self.orm_of_class(cls) is not None:
            return result  # what stands behind an interface is not known
        return self.values.replace(result, typ=typ)

    def open_call(self) -> bool:
        """From here on exceptions leave a function that has names of its own; to be closed by `close_call`. False: nobody catches them."""
        from .walk import Collector

        if self.collectors:
            self.collectors.append(Collector())
        return bool(self.collectors)

    def close_call(self, opened: bool, caller: State) -> list:
        """Let what was raised in the function go on in the caller, with the caller's names. Returns the states as they were."""
        left: list = []
        if not opened:
            return left
        for raised, types, cause in self.collectors.pop().raised:
            left.append(raised)
            if self.collectors:
                outside = raised.copy()
                outside.env, outside._own_env, caller._own_env = caller.env, False, False
                self.rethrow(outside, types, cause)
        return left

    def through_decorators(self, definition: Any, frame: Any, args: Arguments, node: Any, state: State, run: Callable) -> Optional[Value]:
        """Call a function through those decorators of the project that call it in a loop or in a block; None: it has none.

        run(args, state): calls the function itself. The decorators are evaluated with it, and what they return is called.
        """
        mark = ("decorated", id(definition), frame.calls)
        if mark in self.active or len(self.frames) > MAX_DEPTH or self.steps > MAX_STEPS:
            return None
        made = state.with_env({})
        made.held = NOTHING
        self.frames.append(frame)
        self.active.append(mark)
        saved = self.collectors, self.regions
        self.collectors, self.regions = [], []
        try:
            layers = [decorator for decorator in definition.decorators if self.wraps_around(decorator, frame)]
            if not layers:
                return None
            self.undecorated[mark] = run
            outermost = self.site(layers[0])  # it stands in the file of the function, not in that of its caller
            value = self.values.origin(Origin("opaque", ("function", id(definition))), ref=("undecorated", mark))
            for decorator in reversed(layers):
                given = Arguments()
                given.positional = [Argument(value)]
                value = self.call_value(self.eval(decorator, made), given, decorator, made)
        except Dead:
            return None
        finally:
            self.collectors, self.regions = saved
            self.active.pop()
            self.frames.pop()
        if value.ref is None or value.ref[0] not in ("local", "function", "partial"):
            return None
        for oid, obj in made.heap.items():
            if oid not in state.heap:
                state.put(oid, obj)
        self.active.append(mark)
        self.decorating.append(outermost)
        try:
            return self.call_value(value, args, node, state)
        finally:
            self.active.pop()
            self.decorating.pop()

    def wraps_around(self, decorator: Any, frame: Any) -> bool:
        """Is this decorator a function of the project whose wrapper calls its argument in a loop or in a block?"""
        func = decorator.func if isinstance(decorator, ir.Call) else decorator
        if not isinstance(func, ir.Name):
            return False
        value = frame.closure.get(func.id) if frame.closure else None
        if value is None:
            found = self.ask.name(frame.scope.module, func.id)
            if found is None or found[0] != "function" or found[1].is_context_manager:
                return False
            if found[1].key in self.sought:
                return True
            definition = found[1].definition()
        else:
            definition = self.local_functions[value.ref[1]][0] if value.ref is not None and value.ref[0] == "local" else None
        known = self.shared.setdefault("wrappers", {})
        if id(definition) not in known:
            self.keep.append(definition)
            known[id(definition)] = isinstance(definition, ir.FunctionDef) and _runs_argument(definition)
        return known[id(definition)]

    def is_remembered(self, definition: Any) -> bool:
        """`@lru_cache`: the second call answers with what the first one read."""
        for decorator in getattr(definition, "decorators", ()):
            func = decorator.func if isinstance(decorator, ir.Call) else decorator
            if isinstance(func, (ir.Name, ir.Attr)) and self.vocabulary.match("remembering", func.id if isinstance(func, ir.Name) else func.name):
                return True
        return False

    def remember(self, args: Arguments) -> int:
        self.remembered.append(args)
        return len(self.remembered) - 1

    def bind_parameters(self, definition: Any, args: Arguments, self_value: Optional[Value], state: State, frame: Any) -> dict:
        env: dict = {}
        positional = [a.value for a in args.positional]
        keywords = {name: a.value for name, a in args.keywords}
        if self_value is not None:
            positional.insert(0, self_value)
        spread = self.values.derived(args.rest) if args.rest else None
        place = 0 if self_value is None else -1  # of a parameter among the arguments that were given
        for param in definition.params.items:
            if param.kind == "var":
                env[param.name] = self._var_positional(definition, positional, spread if args.open_star else None, param, state, frame)
                positional = []
                continue
            if param.kind == "varkw":
                fields = {f"[{k!r}]": v for k, v in keywords.items()}
                frame_key = (id(param), frame.calls)
                oid = self.object_id_of(("kwargs", frame_key))
                state.put(oid, Obj("dict", fields=fields, elem=spread if args.open_kwargs else None, new=True))
                env[param.name] = self.values.make(self._union(fields.values()) or frozenset((CONST,)), objs=frozenset((oid,)))
                continue
            value: Optional[Value] = None
            if param.kind in ("pos", "posonly") and positional:
                value = positional.pop(0)
            elif param.name in keywords and param.kind != "posonly":
                value = keywords.pop(param.name)
            elif spread is not None and (args.open_star or args.open_kwargs):
                found = self.spread_argument(args, param.name if param.kind != "posonly" else "", place if param.kind in ("pos", "posonly") else -1, state)
                value = found if found is not None else spread
            elif param.default is not None:
                value = self.default_value(param.default, frame, state)
            if value is None:
                value = self.values.unknown
            if value.typ is None and param.annotation is not None and not value.objs and value.ref is None:
                typ = self.annotation_type(param.annotation, frame.scope)
                if typ:
                    value = self.values.replace(value, typ=typ)
            place += 1
            env[param.name] = value
        return env

    def _union(self, values: Any) -> frozenset:
        found: set = set()
        for value in values:
            found |= value.origins
        return frozenset(found - {CONST})

    def _var_positional(self, definition: Any, positional: list, spread: Optional[Value], param: Any, state: State, frame: Any) -> Value:
        oid = self.object_id_of(("args", id(param), frame.calls))
        state.put(oid, Obj("tuple", fields={f"[{i}]": v for i, v in enumerate(positional)}, elem=spread, new=True))
        return self.values.make(self._union(positional) or frozenset((CONST,)), objs=frozenset((oid,)))

    def default_value(self, node: Any, frame: Any, state: State) -> Value:
        self.frames.append(frame)
        try:
            return self.eval(node, state.with_env({}))
        finally:
            self.frames.pop()

    def construct(self, cls: Any, args: Arguments, node: Any, state: State) -> Value:
        """An instance of a class of the project: `__init__` is walked; dataclass-like fields are bound by name and order."""
        done = self.construct_library_class(cls, args, node, state)
        if done is not None:
            return done
        if len(args.positional) == 1 and not args.keywords and self.is_enum(cls):
            return args.positional[0].value  # `State(row["state"])`: the member of that value
        oid = self.object_id(node, "instance")
        own = Origin("opaque", self.object_id_of(("instance", id(node.at), self.frames[-1].calls)))
        state.put(oid, Obj("instance", own, cls=cls, new=True, label=cls.name))
        flags = frozenset().union(*(v.flags for v in args.all())) & _RECEIVER_FLAGS if args.all() else NOTHING
        value = self.values.make(frozenset((own,)) | self._union(args.all()), same=frozenset((own,)), objs=frozenset((oid,)),
                                 typ=cls.type_name, flags=flags)
        init = cls.method("__init__")
        if init is not None:
            self.call_scope(init, args, node, state, value)
            return value
        names = cls.field_names()
        fields = dict(state.heap[oid].fields)
        for name, argument in zip(names, args.positional):
            fields[name] = argument.value
        for name, argument in args.keywords:
            fields[name] = argument.value
        if args.open_star or args.open_kwargs:
            given = {name for name, _ in args.keywords}
            for place, name in enumerate(names):
                part = self.spread_argument(args, name, place, state) if name not in given and place >= len(args.positional) else None
                if part is not None:
                    fields[name] = part
        if args.open_kwargs:
            fields["@rest"] = self.values.derived(args.rest)
        state.put(oid, state.heap[oid].but(fields=fields))
        return value

    def constructed(self, cls: Any, args: Arguments, node: Any, state: State) -> Value:
        """`Model.model_validate(data)`: a new object, filled with what the data holds."""
        oid = self.object_id(node, "instance")
        own = Origin("opaque", self.object_id_of(("instance", id(node.at), self.frames[-1].calls)))
        fields = {"@rest": self.values.derived([self.flat(state, value) for value in args.all()])} if args.all() else {}
        state.put(oid, Obj("instance", own, cls=cls, new=True, label=cls.name, fields=fields))
        return self.values.make(frozenset((own,)) | self._union(args.all()), same=frozenset((own,)), objs=frozenset((oid,)), typ=cls.type_name)

    def call_super(self, name: str, args: Arguments, node: Any, state: State) -> Value:
        frame = self.frames[-1]
        cls = frame.scope.cls
        self_value = state.env.get("self") or (frame.closure or {}).get("self")
        if cls is not None:
            method = self.next_method(cls, name, self_value, state) or cls.inherited(name)
            if method is not None and self_value is not None:
                return self.call_scope(method, args, node, state, self_value)
        if self_value is not None and self_value.query is not None:
            return self_value if name in OWN_ROWS else self.query_method(self_value, name, args, node, state, own=False)
        if self_value is not None:
            done = self.library_method(self_value, name, args, node, state)
            if done is not None:
                return done
        return self.unresolved(name, self_value or self.values.unknown, args, node, state, method=True)

    def next_method(self, cls: Any, name: str, self_value: Optional[Value], state: State) -> Any:
        """What `super()` in a mixin means: the next class in the order of the object's own class, which the mixin does not know."""
        found = [state.heap[oid].cls for oid in self_value.objs if oid in state.heap and state.heap[oid].kind == "instance"] if self_value is not None else []
        if self_value is not None and not found and self_value.typ and self_value.typ.startswith("class:"):
            found = [self.ask.klass_of(self_value.typ)]
        line = found[0].mro() if found and found[0] is not None else []
        for base in line[line.index(cls) + 1:] if cls in line else ():
            info = base.info.methods.get(name)
            if info is not None:
                return base.module.scope(info.key or info.qualname)
        return None

    def call_class_attribute(self, cls: Any, name: str, receiver: Value, args: Arguments, node: Any, state: State) -> Value:
        method = cls.method(name)
        if method is not None:
            if method.is_class_method:
                return self.call_scope(method, args, node, state, receiver)
            return self.call_scope(method, args, node, state, None)
        done = self.model_class_method(cls, name, receiver, args, node, state)
        if done is not None:
            return done
        if name == "_make" and args.positional and self.is_named_tuple(cls):
            inner = Arguments()
            inner.open_star, inner.spread, inner.rest = True, (0, args.positional[0].value), [self.member(args.positional[0].value, state)]
            return self.construct(cls, inner, node, state)
        if self.vocabulary.match("constructing", name) and self.orm_of_class(cls) is not None:
            return self.constructed(cls, args, node, state)
        value = self.attribute(receiver, name, node, state)
        if value.ref is not None and value.ref[0] not in ("dotted", "column"):
            return self.call_value(value, args, node, state)
        done = self.apply(tuple(spec for spec in self.vocabulary.methods("_", name) if spec.op == "decode"), receiver, name, args, node, state)
        return done if done is not None else self.unresolved(name, receiver, args, node, state, method=True)

    def recursion(self, scope: Any, args: Arguments, node: Any, state: State) -> Value:
        """A function on the stack answers "no effects"; that it runs again with these arguments is what retry rules look at."""
        self.recursive_call(scope, args, node, state)
        for value in args.all():
            self.escapes(state, value, "passed on")
        return self.values.derived([*args.all(), self.values.unknown])

    # --- what is not known --------------------------------------------------------------------------------------------------------
    def unresolved(self, name: str, receiver: Value, args: Arguments, node: Any, state: State, method: bool = False) -> Value:
        """A call of something unknown: returns what went in; may raise; is handed the objects it is given."""
        if self.vocabulary.match("forgetting", name):
            self.session_expired(state)
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
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        origins: set = {own}
        forms = {id(a.value) for name, a in args.keywords if name == "instance"}
        for value in given:
            origins |= {_named(o) if id(value) in forms else _weak(o) for o in self.deep(state, value)}
        if method:
            mine = self.deep(state, receiver)
            if self.is_query_method(name):
                mine = frozenset(_weak(o) for o in mine)  # `order.lines.count()`: of other rows
            origins |= {o.at("()") if o.kind != "read" else o for o in mine} if receiver.typ or receiver.ref else mine
        origins.discard(CONST)
        origins.discard(UNKNOWN)
        loops = tuple(region.id for region in self.regions)
        self.note_accessor(name, own, receiver, args, node, state, method)
        # An object that holds what it is given (`ReplaceOptions(cas=cas)`) is as old as that; a function of a bare key (`fetch(key)`) may ask somebody.
        holds = name[:1].isupper() and any(o.kind == "param" for o in origins)
        self.trace.made[own.n] = loops, holds or any(o.kind in ("read", "param") and o.path for o in origins) or any(o.kind == "read" for o in origins)
        if loops and not quiet:
            for value in (receiver, *given) if method else given:
                for o in value.same:
                    self.trace.touched.setdefault((o.kind, o.n), set()).add((o.path, loops, node.at))
        flags = receiver.flags & _RECEIVER_FLAGS
        column = next((value.ref for value in given if value.ref is not None and value.ref[0] == "column"), None) if not method else None
        result = self.values.make(frozenset(origins), same=frozenset((own,)), flags=flags, name=name, ref=("expression", *column[1:]) if column is not None else None)
        return self.promised(name, result, receiver, args, node, state)

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

    # --- with ------------------------------------------------------------------------------------------------------------------------
    def enter_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Optional[State]:
        if "attempt" in manager.flags:
            return self._attempt_block(state, inside)
        if manager.ref is not None and manager.ref[0] == "contextmanager":
            return self._generator_context(node, expression, manager, state, inside)
        library = self.library_context(node, expression, manager, state, inside)
        if library is not NotImplemented:
            return library
        for oid in manager.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind != "instance":
                continue
            for entry, leave in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
                method = obj.cls.method(entry)
                if method is not None:
                    before = state.held

                    def drop(left: State, before: frozenset = before) -> None:
                        self.left_block(before, left)

                    bound = self.call_scope(method, Arguments(), expression, state, manager)
                    end = self.leaving(inside, state, bound, drop)
                    if end is None:
                        return None
                    exit_method = obj.cls.method(leave)
                    if exit_method is not None:
                        args = Arguments()
                        args.positional = [Argument(self.values.none)] * 3
                        self.call_scope(exit_method, args, node, end, manager)
                    return end
        return inside(state, None)

    def _attempt_block(self, state: State, inside: Callable) -> Optional[State]:
        end = inside(state, None)
        if end is not None and self.regions:
            for region in reversed(self.regions):
                if region.event.how == "attempts":
                    region.breaks.append(end)
                    return None
        return end

    def _generator_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Optional[State]:
        """`@contextmanager`: its code before the yield, the block, its code after."""
        _, scope, remembered, self_value = manager.ref
        args = self.remembered[remembered]
        ends: list = []
        before = state.held

        def leave(left: State) -> None:
            self.left_block(before, left)

        thrown: list = []  # states in which the block is left by an exception

        def on_yield(value: Value, inner: State) -> None:
            helper = self.frames.pop()
            place = len(self.active) - 1 - self.active[::-1].index(scope.key)
            del self.active[place]  # the block is the caller's code: another `with` of this helper in it is no recursion
            opened = self.open_call()
            try:
                entry = inner.with_env(state.env)
                end = self.leaving(inside, entry, value, leave, raising=False)
            finally:
                thrown.extend(self.close_call(opened, inner))
                self.active.insert(place, scope.key)
                self.frames.append(helper)
            if end is None:
                raise Dead
            env = inner.env
            ends.append(end.env)
            control = inner.control
            inner.adopt(end.with_env(env))
            inner.control = control

        definition = scope.definition()
        if scope.key in self.active or len(self.frames) > MAX_DEPTH:
            return inside(state, None)
        # `if self._depth: yield; return` joins what an outer block has begun: a lock that one of the ways to a yield takes is held in the block.
        taken: set = set()
        if _count_yields(definition) > 1:
            def look(value: Value, inner: State) -> None:
                taken.update(lock for lock in inner.held - before if lock.kind in _JOINED_LOCKS)

            self._run_generator(scope, definition, args, self_value, expression, state.copy(), look)

        def on_yield_joined(value: Value, inner: State) -> None:
            if taken and not taken & inner.held:
                inner.held |= taken
            on_yield(value, inner)

        states = self._run_generator(scope, definition, args, self_value, expression, state, on_yield_joined, thrown)
        joined = join_states(self.values, states)
        if joined is None:
            return None
        result = joined.with_env(ends[-1] if ends else state.env)
        result.control = state.control
        return result

    def _run_generator(self, scope: Any, definition: Any, args: Arguments, self_value: Optional[Value], expression: Any, state: State, on_yield: Callable,
                       thrown: Optional[list] = None) -> list:
        """Walk the code of a `@contextmanager`; the states in which it ends."""
        from .walk import Frame

        frame = Frame(scope, scope.excerpt(), scope.qualname, self.frames[-1].calls + ((id(expression.at), self.site(expression)),))
        frame.on_yield = on_yield
        env = self.bind_parameters(definition, args, None if scope.is_static else self_value, state, frame)
        self.frames.append(frame)
        self.active.append(scope.key)
        opened = self.open_call()
        try:
            end = self.block(definition.body, state.with_env(env))
            return [s for s, _ in frame.returns] + [end]
        finally:
            self.active.pop()
            self.frames.pop()
            self.close_call(opened, join_states(self.values, thrown or []) or state)


#: Locks that a block of the project's own context manager holds when any way to its yield takes them.
_JOINED_LOCKS = frozenset(("begin", "serializable", "advisory", "table", "file", "session"))


def _count_yields(definition: Any) -> int:
    """How many yields a function has itself."""
    found, stack = 0, list(definition.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ir.FunctionDef, ir.Lambda)):
            continue
        if isinstance(node, ir.Yield):
            found += 1
        if isinstance(node, ir.Node):
            stack.extend(getattr(node, field) for field in node._fields)
        elif isinstance(node, (tuple, list)):
            stack.extend(node)
    return found


_MANAGER_METHODS = frozenset(("add", "remove", "clear", "set", "update", "discard"))
_TAKING = frozenset(("pop", "popitem", "popleft", "remove", "discard", "clear"))
_SURE_MUTATORS = frozenset(("append", "extend", "setdefault", "appendleft"))
_TEXT_METHODS = frozenset(("strip", "lstrip", "rstrip", "lower", "upper", "replace", "encode", "decode", "title", "removeprefix", "removesuffix",
                           "split", "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "zfill", "format_map"))
#: Methods of a text that give back something else than the text.
_CUTTING = frozenset(("strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition", "lower", "upper", "casefold"))
_FOLDING = frozenset(("lower", "upper", "casefold"))
_FOLDABLE = frozenset(("strip", "lstrip", "rstrip", "lower", "upper", "replace", "removeprefix", "removesuffix"))
_SAME_METHODS = frozenset(("strip", "encode", "decode", "tolist", "as_tuple"))
_RECEIVER_FLAGS = frozenset(("private", "sqlite", "serializable", "repeatable", "autocommit", "locked"))


def _runs_argument(definition: Any) -> bool:
    """Does a decorator (or what it defines) call one of its parameters in a loop, a `with`, a handler or before a `finally`?"""
    names: set = set()
    stack: list = [(definition, False)]
    calls: list = []
    while stack:
        node, inside = stack.pop()
        if isinstance(node, tuple):
            stack += [(inner, inside) for inner in node]
            continue
        if not isinstance(node, ir.Node):
            continue
        if isinstance(node, ir.FunctionDef):
            names |= {param.name for param in node.params.items if param.kind in ("pos", "posonly")}
        elif isinstance(node, ir.Call) and inside:
            calls.append({part.id for part in (node.func, *(arg.value for arg in node.args)) if isinstance(part, ir.Name)})
        inside = inside or isinstance(node, (ir.For, ir.While, ir.With, ir.Handler)) or isinstance(node, ir.Try) and bool(node.final)
        stack += [(getattr(node, field), inside) for field in node._fields]
    return any(names & call for call in calls)


def _is_function(value: Value) -> bool:
    return value.ref is not None and value.ref[0] in ("function", "local", "partial")


def _weak(origin: Origin) -> Origin:
    """Through an opaque call: derived, but not in sight (DESIGN: as the argument of an opaque call a sibling field does not count)."""
    return origin if origin.path and origin.path[-1] in ("()", "(.)") else origin.at("()")


def _named(origin: Origin) -> Origin:
    """The row that a form is to change (`instance=order.address`): which one it is, not what it holds."""
    return origin if origin.path and origin.path[-1] == "(.)" else origin.at("(.)")


def _receiver_sub(node: Any) -> Any:
    """For `x.get(k)`: something whose `.value` is the receiver's expression, so that an object made on the way can be bound to it."""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
        return ir.Sub(node.func.value, ir.Const(None), at=node.at)
    return None
