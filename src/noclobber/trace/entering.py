"""Entering a function of the project: its parameters, decorators and class; recursion; instances made."""
from __future__ import annotations

from typing import Any, Callable, Optional

from noclobber.knowledge.signatures import Bound

from . import ir
from .arguments import Argument, Arguments
from .frames import Collector, Frame
from .managers import OWN_ROWS
from .objects import Dead, Obj, State, join_states
from .values import CONST, NOTHING, UNKNOWN, Origin, Value

MAX_DEPTH = 6  # helpers walked into below one root
ENTERING_STEPS = 5_000  # helpers are not entered any more after so many steps of one root
#: A helper without any event of these kinds only computes: a long one is not walked, its result derives from its arguments.
_EVENTFUL = frozenset(("accessor-read", "accessor-write", "file-read", "file-write", "read", "write", "conditional", "create", "delete", "lock", "unlock", "begin", "replay", "effect", "conflict"))
MAX_PURE_LINES = 30
MAX_CHANGING_LINES = 120
RECEIVER_FLAGS = frozenset(("private", "sqlite", "serializable", "repeatable", "autocommit", "locked"))


class Entering:
    """Mixin of Walker."""

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
        if len(self.frames) > MAX_DEPTH or self.steps > ENTERING_STEPS:
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
        if mark in self.active or len(self.frames) > MAX_DEPTH + 2 or self.steps > ENTERING_STEPS:
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
        if mark in self.active or len(self.frames) > MAX_DEPTH or self.steps > ENTERING_STEPS:
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
        if len(args.positional) == 1 and not args.keywords and self.is_enum(cls):
            return args.positional[0].value  # `State(row["state"])`: the member of that value
        oid = self.object_id(node, "instance")
        own = Origin("opaque", self.object_id_of(("instance", id(node.at), self.frames[-1].calls)))
        state.put(oid, Obj("instance", own, cls=cls, new=True, label=cls.name))
        flags = frozenset().union(*(v.flags for v in args.all())) & RECEIVER_FLAGS if args.all() else NOTHING
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
        self.added_when_made(self.orm_of_class(cls), value, node, state)
        return value

    def added_when_made(self, entry: Any, value: Value, node: Any, state: State) -> None:
        """An ORM whose objects are in its unit of work as soon as they are made."""
        spec = self.adding_when_made(entry) if entry is not None else None
        if spec is not None:
            given = Arguments()
            given.positional = [Argument(value)]
            self.op_add(spec, Bound(), None, given, node, state, "")

    @staticmethod
    def adding_when_made(entry: Any) -> Any:
        """What an ORM says of the constructors of its models, when that alone adds the object."""
        return next((spec for spec in entry.ops("add") if spec.signature.last == "__init__"), None)

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
