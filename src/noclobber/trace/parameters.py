"""What a walk takes for given: parameters by their annotations, instances and their attributes, constants of modules."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .entering import ENTERING_STEPS
from .events import Trace
from .frames import Frame
from .objects import Dead, Obj, State, join_states
from .uniques import table_keys
from .values import CONST, NOTHING, UNKNOWN, Lit, Origin, Query, Value

#: Methods of containers, texts and files: a call of one says nothing of the class.
_CONTAINER_METHODS = frozenset(name for kind in (dict, list, set, str, bytes) for name in dir(kind)) | {"read", "write", "close", "open", "flush", "run", "execute", "save", "put", "send"}
#: Steps that one `__init__` may take.
MAX_INIT_STEPS = 1_000


class Parameters:
    """Mixin of Walker."""

    # --- iteration ------------------------------------------------------------------------------------------------------------
    def element_of(self, iterable: Value, node: Any, state: State) -> tuple:
        """(value of the loop variable, key of the item origin or None when the loop counts attempts)."""
        if iterable.query is not None:
            iterable = self.evaluated_query(iterable, node, state)
        pair = self.dump_iteration(iterable, node, state)
        if pair is not None:
            return pair, self.object_id_of(("item", id(node.at), self.frames[-1].calls))
        last = self.last_of(iterable, state)
        if last is not None:
            element = last
        else:
            element = self.member(iterable, state)
        if element.typ is None and iterable.typ and self.vocabulary.known_type(iterable.typ):
            pass
        origins = self.deep(state, element) | iterable.origins
        if any(o.kind in ("read", "param", "opaque", "outcome") for o in origins):
            key = self.object_id_of(("item", id(node.at), self.frames[-1].calls))
            if isinstance(node, ir.For) and isinstance(node.target, ir.Name):
                element = self.as_object(element, state)  # it may be a record whose fields are changed in the loop
                self.related_element(iterable, element, state)
            return self.values.replace(element, origins=(element.origins - {CONST}) | {Origin("item", key)}), key
        return element, None

    def is_counted(self, node: Any) -> bool:
        """`range(n)`, `count()`, a literal tuple of pauses."""
        return isinstance(node, ir.Call) and isinstance(node.func, (ir.Name, ir.Attr)) and _name_of(node.func) in ("range", "count", "repeat", "islice")

    def counts_attempts(self, node: Any, iterable: Value, item: Any, state: State) -> bool:
        """Does the loop count attempts (`range(n)`, a tuple of pauses), or does it go over things?"""
        if self.is_counted(node.iter) or self.is_endless(iterable):
            return True
        known = self.known_items(iterable, state)
        if known:
            return all(isinstance(value.literal, (int, float)) for value in known)
        return item is None and not iterable.objs

    def is_endless(self, iterable: Value) -> bool:
        return "endless" in iterable.flags

    # --- annotations ------------------------------------------------------------------------------------------------------------
    def annotation_type(self, node: Any, scope: Any = None) -> Optional[str]:
        """The type that an annotation names: dotted, or 'class:…' of the project; None for containers and what is not known."""
        module = scope.module if scope is not None else self.frames[-1].scope.module
        return self._annotation(node, module, 0)

    def _annotation(self, node: Any, module: Any, depth: int) -> Optional[str]:
        if depth > 6:
            return None
        if isinstance(node, (ir.Name, ir.Attr)):
            dotted = ir.dotted(node)
            if not dotted:
                return None
            found = self.ask.resolve(module, dotted)
            if found is None:
                return None
            if found[0] == "class":
                return found[1].type_name
            if found[0] == "import":
                return found[1]
            if found[0] == "global":
                value = self.ask.alias(found[1], found[2])
                return self._annotation(value, found[1], depth + 1) if value is not None else None
            return None
        if isinstance(node, ir.Sub):
            head = ir.dotted(node.value).rsplit(".", 1)[-1]
            if head in ("Optional", "Annotated", "Mapped", "Final", "ClassVar", "Required", "NotRequired", "Union", "Type", "type"):
                inner = node.index.items if isinstance(node.index, ir.TupleX) else (node.index,)
                if head in ("Type", "type"):
                    return None
                for item in inner:
                    found = self._annotation(item, module, depth + 1)
                    if found:
                        return found
                return None
            if head in ("AsyncIterator", "Iterator", "Generator", "AsyncGenerator", "list", "List", "dict", "Dict", "tuple", "Tuple", "set", "Sequence", "Iterable",
                        "Callable", "Awaitable", "Coroutine", "Mapping", "frozenset", "Collection"):
                return None
            return self._annotation(node.value, module, depth + 1)
        if isinstance(node, ir.Bin) and node.op == "|":
            return self._annotation(node.left, module, depth + 1) or self._annotation(node.right, module, depth + 1)
        return None

    # --- globals and the values of a root ------------------------------------------------------------------------------------------
    def global_value(self, module: Any, name: str, state: State) -> Value:
        found = self.ask.global_statements(module, name)
        if found is None:
            return self.values.origin(Origin("global", f"{module.name}:{name}"), name=name)
        value = self.evaluated_constant(("global", module.name, name), found, name, state)
        if type(value.shape) is Lit and name in module.index.rebound:
            # `_maker = None`, which a function sets by `global _maker`: what it holds at a time is not known.
            return self.values.origin(Origin("global", f"{module.name}:{name}"), typ=value.typ, name=name)
        return value

    def evaluated_constant(self, key: tuple, found: tuple, name: str, state: State) -> Value:
        """The value of a module- or class-level name: its statements are walked, once for each root."""
        known = self.constants.get(key)
        if known is not None:
            value, heap = known
            for oid, obj in heap.items():
                if oid not in state.heap:
                    state.put(oid, obj)
            return value
        own = self.values.origin(Origin("global", f"{key[1]}:{name}"), name=name)
        self.constants[key] = (own, {})
        scope, excerpt, statements = found
        if len(self.frames) > 12:
            return own
        frame = Frame(scope, excerpt, scope.qualname, ("constant",) + key)
        inner = state.with_env({})
        inner.held = NOTHING
        before = state.heap
        self.frames.append(frame)
        saved = self.collectors, self.regions, self.active
        self.collectors, self.regions = [], []
        try:
            end = self.block(statements, inner)
            made = end.env.get(name) if end is not None else None
            if made is not None and key[0] == "global" and self.can_have_policy(made):
                end = self.block(self.ask.global_calls(scope.module, name), end)
        finally:
            self.frames.pop()
            self.collectors, self.regions, self.active = saved
        value = end.env.get(name) if end is not None else None
        if value is None:
            return own
        if value.shape is None and not value.same and value.ref is None and value.query is None:
            # Not a literal: the name itself is its identity.
            value = self.values.replace(value, origins=value.origins | own.origins, same=own.same)
        if not value.name and value.ref is None:
            value = self.values.replace(value, name=name)
        if self.is_table(value):
            self.declared_tables.update(dict.fromkeys(value.objs, table_keys(statements)))
        if name.isupper() and value.ref is None and value.query is None and not value.objs:
            value = self.values.replace(value, flags=value.flags | {"constant"})  # set once, whatever it was read from
        heap = {oid: obj for oid, obj in end.heap.items() if before.get(oid) is not obj}
        for oid, obj in heap.items():
            state.put(oid, obj)
        self.constants[key] = (value, heap)
        return value

    def parameters_as_unknown(self, definition: Any, scope: Any, state: State, prefix: str = "", nested: bool = False) -> dict:
        """nested: a function inside the scope's, which has no `self` of its own. The names a root starts with: parameters that nothing is known of but their annotation; `self` with what `__init__` makes of it."""
        env: dict = {}
        params = definition.params.items
        for place, param in enumerate(params):
            name = f"{prefix}{param.name}"
            if place == 0 and scope.cls is not None and not nested and not scope.is_static and param.kind in ("pos", "posonly"):
                if scope.is_class_method:
                    env[param.name] = self.class_value(scope.cls)
                else:
                    env[param.name] = self.self_object(scope, state, init=scope.name != "__init__")
                    self.frames[-1].self_value = env[param.name]
                continue
            typ = self.annotation_type(param.annotation, scope) if param.annotation is not None else None
            form = self.form_handed_in(param.name, name, scope, state) if typ is None and not nested else None
            if form is not None:
                env[param.name] = form
                continue
            if typ is None and param.annotation is None and param.kind == "pos" and len(self.frames) == 1:
                typ = self.class_by_use(definition, param.name, scope)
            value = self.values.origin(Origin("param", name), typ=typ, name=param.name)
            if param.kind == "var":
                value = self.values.make(frozenset((Origin("param", name),)), name=param.name)
            if param.kind == "varkw":
                oid = self.object_id_of(("kwargs", name))
                state.put(oid, Obj("path", Origin("param", name), label=param.name))
                value = self.values.origin(Origin("param", name), objs=frozenset((oid,)), name=param.name)
            if typ and typ.startswith("class:") and param.kind not in ("var", "varkw"):
                cls = self.ask.klass_of(typ)
                if cls is not None and self.orm_of_class(cls) is None and len(self.frames) < 4:
                    value = self.instance_parameter(cls, name, param.name, state)
                elif cls is not None:
                    oid = self.object_id_of(("path", Origin("param", name)))
                    state.put(oid, Obj("path", Origin("param", name), label=param.name, cls=cls))
                    value = self.values.replace(value, objs=frozenset((oid,)))
            if isinstance(param.annotation, ir.Sub) and not value.objs:
                value = self.with_context(value, param.annotation, name, scope, state)
            env[param.name] = value
        self.rows_handed_in(env, [param.name for param in params], prefix, state)
        return env

    def with_context(self, value: Value, annotation: Any, name: str, scope: Any, state: State) -> Value:
        """`ctx: RunContext[Deps]`: `ctx.deps` is an object of that class."""
        head = ir.dotted(annotation.value).rpartition(".")[2]
        attributes = self.context_attributes().get(head)
        if not attributes:
            return value
        inner = annotation.index.items[0] if isinstance(annotation.index, ir.TupleX) else annotation.index
        typ = self.annotation_type(inner, scope)
        if not typ:
            return value
        origin = Origin("param", name)
        cls = self.ask.klass_of(typ) if typ.startswith("class:") else None
        fields = {}
        for attribute in attributes:
            fields[attribute] = (self.instance_parameter(cls, f"{name}.{attribute}", attribute, state) if cls is not None
                                 else self.values.origin(origin.at(attribute), typ=typ, name=attribute))
        oid = self.object_id_of(("path", origin))
        state.put(oid, Obj("path", origin, label=value.name, fields=fields))
        return self.values.replace(value, objs=frozenset((oid,)))

    def context_attributes(self) -> dict:
        """Class of a framework's context → its attributes that hold what the program gave it."""
        known = self.shared.get("contexts")
        if known is None:
            known = self.shared["contexts"] = {}
            for entry in self.vocabulary.entries("tool"):
                for text in entry.fields.get("context", ()) or ():
                    head, _, attribute = text.rpartition(".")
                    known.setdefault(head, []).append(attribute)
        return known

    def class_by_use(self, definition: Any, name: str, scope: Any) -> Optional[str]:
        """The one class of the module that has all the methods which are called on a parameter without annotation; two at least, of
        names that no container has. None: there is none, or more than one."""
        called: set = set()
        stack: list = list(definition.body) if isinstance(definition.body, tuple) else [definition.body]
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                stack.extend(node)
                continue
            if not isinstance(node, ir.Node):
                continue
            if isinstance(node, (ir.FunctionDef, ir.Lambda)):
                continue
            if isinstance(node, ir.Assign) and any(isinstance(target, ir.Name) and target.id == name for target in node.targets):
                return None
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and isinstance(node.func.value, ir.Name) and node.func.value.id == name:
                called.add(node.func.name)
            stack.extend(getattr(node, field) for field in node._fields)
        if len(called - _CONTAINER_METHODS) < 2:
            return None
        module = scope.module
        found = [key for key, info in module.index.classes.items() if called <= info.methods.keys()]
        return module.klass(found[0]).type_name if len(found) == 1 else None

    def rows_handed_in(self, env: dict, names: list, prefix: str, state: State) -> None:
        """Parameters by which a framework hands a row in (`def handler(sender, instance, **kwargs)`), or a query of several: of that ORM, by their names only."""
        for entry in self.vocabulary.entries("orm"):
            for text in entry.fields.get("row_parameters", ()) or ():
                wanted, _, row = text.partition(" -> ")
                several = row.endswith("[]")
                row = row.removesuffix("[]")
                if row not in env or env[row].objs or not set(wanted.split(", ")) <= set(names):
                    continue
                if several and (not env[row].typ or env[row].typ.endswith("QuerySet")):
                    env[row] = self.values.make(env[row].origins, query=Query((entry.kind, entry.id), "select", (), flags=frozenset(("open",))), name=row)
                    continue
                if env[row].typ or several:
                    continue
                oid = self.object_id_of(("path", Origin("param", prefix + row)))
                state.put(oid, Obj("path", Origin("param", prefix + row), label=row, model=((entry.kind, entry.id), None)))
                env[row] = self.values.replace(env[row], objs=frozenset((oid,)))

    def self_object(self, scope: Any, state: State, init: bool = True) -> Value:
        oid = self.object_id_of(("self", scope.cls.type_name))
        origin = Origin("param", "self")
        value = self.values.origin(origin, objs=frozenset((oid,)), typ=scope.cls.type_name, name="self")
        if oid in state.heap:
            return value
        state.put(oid, Obj("instance", origin, cls=scope.cls, label="self"))
        if init:
            self.initialise(scope.cls, value, state)
        return value

    def instance_parameter(self, cls: Any, origin_name: str, name: str, state: State) -> Value:
        """A parameter that is an instance of a class of the project: its attributes are what `__init__` makes them."""
        origin = Origin("param", origin_name)
        oid = self.object_id_of(("instance", origin))
        value = self.values.origin(origin, objs=frozenset((oid,)), typ=cls.type_name, name=name)
        state.put(oid, Obj("instance", origin, cls=cls, label=name))
        self.initialise(cls, value, state)
        return value

    def initialise(self, cls: Any, value: Value, state: State) -> None:
        """Give an instance that came from outside the attributes that its `__init__` sets.

        `__init__` ran at another time: its events are not ours. It is walked once for each way to such an instance, and what its
        attributes derive from are the objects and parameters it was made of, never a read of this trace.
        """
        key = (cls.type_name, value)
        if key not in self.selves:
            self.selves[key] = {}
            if len(self.frames) <= 6:
                other = type(self)(self.ask, self.vocabulary, self.values, self.shared)
                other.trace = Trace(cls.name)
                other.frames, other.active = list(self.frames), list(self.active)
                other.steps = ENTERING_STEPS - MAX_INIT_STEPS
                before = State()
                for oid in value.objs:
                    before.put(oid, state.heap[oid])
                other.run_init(cls, value, before)
                self.selves[key] = {oid: self.without_events(obj) for oid, obj in before.heap.items()}
        for oid, obj in self.selves[key].items():
            if oid not in state.heap or oid in value.objs:
                state.put(oid, obj)

    def without_events(self, obj: Obj) -> Obj:
        fields = {name: self.detached(value) for name, value in obj.fields.items()}
        origin = obj.origin if obj.origin is None or obj.origin.kind not in ("read", "outcome") else None
        return obj.but(fields=fields, elem=self.detached(obj.elem) if obj.elem is not None else None, pending=NOTHING, changed=NOTHING, read=None,
                       origin=origin, model=obj.model if origin is not None else None)

    def detached(self, value: Value) -> Value:
        """The value without reads and outcomes of another trace."""
        if not any(o.kind in ("read", "outcome") for o in value.origins | value.same | value.incr):
            return value
        keep = frozenset(o for o in value.origins if o.kind not in ("read", "outcome"))
        return self.values.replace(value, origins=keep or frozenset((UNKNOWN,)), same=value.same & keep, incr=value.incr & keep)

    def run_init(self, cls: Any, value: Value, state: State) -> None:
        init = cls.method("__init__")
        if init is None or init.key in self.active or len(self.frames) > 6:
            return
        definition = init.definition()
        if definition is None:
            return
        frame = Frame(init, init.excerpt(), init.qualname, self.frames[-1].calls + (("init", init.key),))
        frame.self_value = value
        self.frames.append(frame)
        self.active.append(init.key)
        saved = self.collectors, self.regions
        self.collectors, self.regions = [], []
        try:
            label = next(iter(value.same)).n if value.same else value.name
            env = self.parameters_as_unknown_below(definition, init, state, f"{label}.", value)
            inner = state.with_env(env)
            end = self.block(definition.body, inner)
            states = [s for s, _ in frame.returns] + [end]
        finally:
            self.collectors, self.regions = saved
            self.active.pop()
            self.frames.pop()
        joined = join_states(self.values, states)
        if joined is not None:
            held, unchecked, done = state.held, state.unchecked, state.done
            restored = joined.with_env(state.env)
            restored.control = state.control
            state.adopt(restored)
            state.held, state.unchecked, state.done = held, unchecked, done
            for oid in value.objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    state.put(oid, obj.but(pending=NOTHING, changed=NOTHING))

    def parameters_as_unknown_below(self, definition: Any, scope: Any, state: State, prefix: str, self_value: Value) -> dict:
        env: dict = {}
        for place, param in enumerate(definition.params.items):
            if place == 0:
                env[param.name] = self_value
                continue
            typ = self.annotation_type(param.annotation, scope) if param.annotation is not None else None
            if typ and typ.startswith("class:"):
                cls = self.ask.klass_of(typ)
                if cls is not None and self.orm_of_class(cls) is None and len(self.frames) < 5:
                    env[param.name] = self.instance_parameter(cls, prefix + param.name, param.name, state)
                    continue
            env[param.name] = self.values.origin(Origin("param", prefix + param.name), typ=typ, name=param.name)
        return env

    def attribute_elsewhere(self, cls: Any, name: str, this: Value, state: State) -> Optional[Value]:
        """An attribute of self that another method than `__init__` sets: what is assigned there, evaluated with unknown parameters."""
        found = cls.annotation(name)
        if found is not None:
            typ = self.annotation_type(found[1], found[0])
            if typ:
                (origin,) = this.same or (Origin("param", "self"),)
                return self.values.origin(origin.at(name), typ=typ, name=name)
        key = ("elsewhere", cls.type_name, name)
        if key in self.active or len(self.frames) > 5:
            return None
        result: Optional[Value] = None
        self.active.append(key)
        try:
            for scope, expression in self.ask.attribute_writers(cls, name):
                if scope.name == "__init__" or scope.key in self.active:
                    continue
                frame = Frame(scope, scope.excerpt(), scope.qualname, self.frames[-1].calls + (("elsewhere", scope.key, name),))
                self.frames.append(frame)
                saved = self.collectors, self.regions
                self.collectors, self.regions = [], []
                try:
                    definition = scope.definition()
                    env = self.parameters_as_unknown_below(definition, scope, state, f"{scope.name}.", this) if definition is not None else {}
                    held = state.held
                    trial = state.with_env(env)
                    value = self.eval(expression, trial)
                    for oid in value.objs:
                        if oid in trial.heap and oid not in state.heap:
                            state.put(oid, trial.heap[oid])
                    state.held = held
                except Dead:
                    continue
                finally:
                    self.collectors, self.regions = saved
                    self.frames.pop()
                result = value if result is None else self.values.join(result, value)
        finally:
            self.active.remove(key)
        if result is not None and result.typ is None and result.ref is None:
            return None
        return result


def _name_of(node: Any) -> str:
    return node.id if isinstance(node, ir.Name) else node.name
