"""Functions exposed to a model: decorators, registrations, base classes, raw schemas; and the functions inside others that nobody here calls.

What makes a function a tool is in `rules/vocabulary/tools.toml`. What a tool does is what its trace says, whatever its name and its hints say.
"""
from __future__ import annotations

from typing import Any, Iterator, Optional

from . import ir
from .arguments import Argument, Arguments
from .exposed import Body, Exposure, Parameter, Returned, Schema
from .objects import Dead, State, join_states
from .values import NOTHING, Lit, Template, Value

_SCHEMA_KEYS = ("['input_schema']", "['inputSchema']", "['parameters']")
_DESCRIBING = frozenset(("description", "desc", "__doc__"))


class Tools:
    """Mixin of Walker."""

    # --- which functions are exposed -----------------------------------------------------------------------------------------------
    @property
    def tooling(self) -> Optional[Any]:
        """The module's `Collected`, when it may have tools; else None."""
        return self.shared.get("tooling")

    def tool_specs(self, expression: Any, state: State) -> tuple:
        """The vocabulary's specs of a decorator that exposes the function below it, () for any other."""
        func = expression.func if isinstance(expression, ir.Call) else expression
        if isinstance(func, ir.Name):
            dotted = self.eval(func, state).dotted
            return self._tool_ops(self.vocabulary.functions(dotted)) if dotted else ()
        if not isinstance(func, ir.Attr):
            return ()
        receiver = self.eval(func.value, state)
        if receiver.dotted:
            found = self._tool_ops(self.vocabulary.functions(f"{receiver.dotted}.{func.name}"))
            if found:
                return found
        for typ in self.library_types(receiver):
            found = self._tool_ops(self.vocabulary.methods(typ, func.name))
            if found:
                return found
        return () if self.is_own_class(receiver) and self.library_types(receiver) else self._tool_ops(self.vocabulary.methods("_", func.name))

    @staticmethod
    def _tool_ops(specs: Any) -> tuple:
        return tuple(spec for spec in specs if spec.entry.kind == "tool" and spec.op == "decorator")

    def exposing(self, definition: Any, state: State) -> Optional[Exposure]:
        """How the decorators of a definition expose it, or None. Scope and body are still to be filled in."""
        for decorator in getattr(definition, "decorators", ()):
            try:
                specs = self.tool_specs(decorator, state.copy())
                if specs:
                    return self._exposure(specs[0].entry, decorator, state.copy())
            except Dead:
                continue
        return None

    def _exposure(self, entry: Any, call: Any, state: State) -> Exposure:
        """What the arguments of a decorator or registration tell: name, description, argument schema, hints."""
        if not isinstance(call, ir.Call):
            return Exposure(entry)
        args = self.arguments(call, state)
        texts = [a.value.text for a in args.positional if a.value.text]
        named = {name: a.value for name, a in args.keywords}
        name = next((named[k].text for k in ("name", "name_override") if k in named and named[k].text), "") or (texts[0] if texts else "")
        description = next((self._whole_text(named[k]) for k in ("description", "description_override", "desc") if k in named), "") or " ".join(texts[1:])
        seen: tuple = ()
        for key in ("args_schema", "input_schema", "input_model", "fn_schema", "parameters"):
            if key in named:
                seen += self._schema_parameters(named[key], state)
        for argument in args.positional[1:]:
            seen += self._schema_parameters(argument.value, state)
        return Exposure(entry, name=name, description=description, seen=seen, readonly=any(self._hinted(path, named, state) for path in entry.fields.get("readonly_if", ())))

    def _hinted(self, path: str, named: dict, state: State) -> bool:
        head, _, rest = path.partition(".")
        value = named.get(head)
        if value is None:
            return False
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is not None and any(obj.fields[step].literal is True for step in (rest, f"['{rest}']") if step in obj.fields):
                return True
        return not rest and value.literal is True

    @staticmethod
    def _whole_text(value: Value) -> str:
        if value.text is not None:
            return value.text
        return " ".join(part for part in value.shape.parts if isinstance(part, str)) if type(value.shape) is Template else ""

    # --- parameters -----------------------------------------------------------------------------------------------------------------
    def parameters_of(self, definition: Any, scope: Any, skip_first: bool) -> tuple:
        found = []
        for place, param in enumerate(definition.params.items):
            if place == 0 and skip_first:
                continue
            typ = self.annotation_type(param.annotation, scope) if param.annotation is not None else None
            words = frozenset(_names_in(param.annotation)) | (frozenset(_names_in(param.default.func)) if isinstance(param.default, ir.Call) else NOTHING)
            fields: tuple = ()
            if typ and typ.startswith("class:"):
                fields = self._fields(self.ask.klass_of(typ))
            found.append(Parameter(param.name, typ or "", words, param.default is None and param.kind not in ("var", "varkw"), fields, param.kind))
        return tuple(found)

    @staticmethod
    def _fields(cls: Any) -> tuple:
        if cls is None:
            return ()
        found = []
        for name in cls.field_names():
            optional = any(name in base.info.assigns or "NotRequired[" in base.info.annotations.get(name, "") for base in cls.mro())
            found.append((name, not optional))
        return tuple(found)

    def _schema_parameters(self, value: Value, state: State) -> tuple:
        """Parameters of an argument schema: a class of the project, a JSON schema, a mapping of names to types."""
        if value.ref is not None and value.ref[0] == "class":
            return tuple(Parameter(name, "", NOTHING, required) for name, required in self._fields(value.ref[1]))
        properties = self._entry(value, "properties", state)
        if properties is None:
            return ()
        wanted = self._entry(value, "required", state)
        required = {v.text for v in (self.known_items(wanted, state) or ())} if wanted is not None else set()
        return tuple(Parameter(step[2:-2], "", NOTHING, step[2:-2] in required) for step in self.mapping_items(properties, state) or {} if step.startswith(("['", '["')))

    def _entry(self, value: Value, name: str, state: State) -> Optional[Value]:
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is not None and f"['{name}']" in obj.fields:
                return obj.fields[f"['{name}']"]
        return None

    # --- bodies -----------------------------------------------------------------------------------------------------------------------
    def note_body(self, root: Any, definition: Any, frame: Any, end: Optional[State]) -> None:
        """The root as a function that somebody may expose; then the functions inside it that are exposed where they are made."""
        if self.tooling is None:
            return
        if definition is not None and isinstance(definition, ir.FunctionDef):
            own = definition.params.items[0].name if root.cls is not None and not root.is_static and definition.params.items else ""
            body = Body(self.trace, 0, len(self.trace.events), definition.name, self.site(definition), self.parameters_of(definition, root, bool(own)),
                        _doc(definition), self._returned(frame.returns, end), root.key, own)
            self.trace.bodies.append(body)
            exposure = self.exposing(definition, State())
            if exposure is not None:
                self.tooling.add(exposure._replace(scope=root))
        self._inner_tools(frame, end)

    def _returned(self, returns: list, end: Optional[State]) -> tuple:
        found = [self._summary(state, value) for state, value in returns[:12]]
        if end is not None and not any(state is end for state, _ in returns):
            found.append(self._summary(end, self.values.none))
        return tuple(found)

    def _summary(self, state: State, value: Value) -> Returned:
        keys: set = set()
        origins: set = set()
        self._gather(state, value, keys, origins, 0)
        return Returned(state.won, state.lost, self.values.replace(value, origins=frozenset(origins)), frozenset(keys), not keys and not value.objs)

    def _gather(self, state: State, value: Value, keys: set, origins: set, depth: int) -> None:
        """Names of the entries and origins of all that a value holds, JSON texts looked into."""
        origins |= value.origins
        if value.ref is not None and value.ref[0] == "dumped":
            self._gather(state, value.ref[1], keys, origins, depth)
        if type(value.shape) is Template and depth < 5:
            for part in value.shape.parts:
                if isinstance(part, Value):
                    self._gather(state, part, keys, origins, depth + 1)
        if depth > 5:
            return
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            for step, inner in obj.fields.items():
                if step.startswith(("@",)):
                    continue
                if not step.startswith("[") or step.startswith(("['", '["')):
                    keys.add(step.strip("[]'\""))
                self._gather(state, inner, keys, origins, depth + 1)
            if obj.elem is not None:
                self._gather(state, obj.elem, keys, origins, depth + 1)

    def _inner_tools(self, frame: Any, end: Optional[State]) -> None:
        """Functions inside this one that were exposed while it ran: each is walked once, with the names that its surroundings end with."""
        waiting, self.inner = self.inner, []
        done = set()
        for value, exposure, made in waiting:
            key = value.ref[1]
            if key in done or len(done) > 60:
                continue
            done.add(key)
            start = end if end is not None else join_states(self.values, [s for s, _ in frame.returns]) or made
            body = self._inner_body(value, start.copy())
            if body is not None:
                self.trace.bodies.append(body)
                self.tooling.add(exposure._replace(body=body))

    def _inner_body(self, value: Value, state: State) -> Optional[Body]:
        key = value.ref[1]
        definition, scope, _, _, _ = self.local_functions[key]
        if not isinstance(definition, ir.FunctionDef):
            return None
        args = Arguments()
        env = self.parameters_as_unknown(definition, scope, state, nested=True)
        for param in definition.params.items:
            if param.kind in ("var", "varkw"):
                args.open_star, args.open_kwargs = args.open_star or param.kind == "var", args.open_kwargs or param.kind == "varkw"
                args.rest.append(env[param.name])
            elif param.kind == "kw":
                args.keywords.append((param.name, Argument(env[param.name], param.name)))
            else:
                args.positional.append(Argument(env[param.name]))
        first = len(self.trace.events)
        self.watched, self.watched_returns = ("local", *key), []
        saved = self.collectors, self.regions
        self.collectors, self.regions = [], []
        try:
            self.call_local(key, args, definition, state)
        except Dead:
            pass
        finally:
            self.collectors, self.regions = saved
            self.watched = None
        return Body(self.trace, first, len(self.trace.events), definition.name, self.site(definition), self.parameters_of(definition, scope, False),
                    _doc(definition), self._returned(self.watched_returns, None))

    def walk_returned(self, frame: Any) -> None:
        """The functions that a root hands out (`def wrapped` of a decorator): called by somebody else, with nothing known of their arguments."""
        waiting = [(value, state) for state, value in frame.returns]
        done: set = set()
        while waiting and len(done) < 6:
            value, state = waiting.pop(0)
            if value.ref is None or value.ref[0] != "local" or value.ref[1] in done:
                continue
            done.add(value.ref[1])
            if self._inner_body(value, state.copy()) is not None:
                waiting += [(inner, left) for left, inner in self.watched_returns]

    def note_inner(self, definition: Any, value: Value, state: State) -> None:
        """A def inside a function (or under an `if` of a module) whose decorators expose it."""
        if self.tooling is None or len(self.frames) != 1 or not definition.decorators:
            return
        exposure = self.exposing(definition, state)
        if exposure is not None:
            self.inner.append((value, exposure, state.copy()))

    # --- registrations and schemas ---------------------------------------------------------------------------------------------------------
    def op_register(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`add_tool(f)`, `StructuredTool.from_function(f)`, `Agent(tools=[f, g])`."""
        if self.tooling is not None:
            told = (self._exposure(spec.entry, node, state.copy()) if isinstance(node, ir.Call) else Exposure(spec.entry))._replace(site=self.site(node))
            for _, value in bound.by_role.get("func", ()):
                several = [part for part in self.parts(state, value) if part is not value] if value.objs else []
                for func in several or [value]:
                    self.expose(func, told if not several else Exposure(spec.entry, site=told.site), state)
        return self.op_make(spec, bound, None, args, node, state, doubt) if spec.signature.returns else None

    def expose(self, func: Value, exposure: Exposure, state: State) -> None:
        ref = func.ref
        if ref is None:
            return
        if ref[0] == "partial":
            self.expose(ref[1], exposure, state)
        elif ref[0] == "oneof":  # `for function in (read, write): server.add_tool(function)`
            for choice in ref[1]:
                self.expose(choice, exposure, state)
        elif ref[0] == "function":
            self.tooling.add(exposure._replace(scope=ref[1]))
        elif ref[0] == "dotted":
            found = self.ask.dotted(ref[1])
            if found is not None and found[0] == "function":
                self.tooling.add(exposure._replace(scope=found[1]))
        elif ref[0] == "local" and len(self.frames) == 1:
            self.inner.append((func, exposure, state.copy()))
        elif ref[0] == "method":
            for oid in ref[2].objs:
                obj = state.heap.get(oid)
                method = obj.cls.method(ref[1]) if obj is not None and obj.kind == "instance" else None
                if method is not None:
                    self.tooling.add(exposure._replace(scope=method))

    def op_schema(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`types.Tool(name=…, inputSchema={…})`."""
        if self.tooling is not None:
            given = {name: value for name, value in bound.by_name.items()}
            name = given["name"].text if "name" in given else None
            schema = given.get("inputSchema") or given.get("input_schema")
            if name and schema is not None:
                at = next((a.node.value for k, a in args.keywords if k == "name" and a.node is not None), node)
                description = self._whole_text(given["description"]) if "description" in given else ""
                self.tooling.schema(Schema(name, self.site(at), description + " " + self._told(schema, state), self._schema_parameters(schema, state)))
        return None

    def _told(self, schema: Value, state: State) -> str:
        """The descriptions inside a schema."""
        texts = []
        for part in self.parts(state, schema):
            for oid in part.objs:
                obj = state.heap.get(oid)
                if obj is not None and "['description']" in obj.fields:
                    texts.append(self._whole_text(obj.fields["['description']"]))
        return " ".join(dict.fromkeys(texts))

    def note_mapping(self, node: Any, value: Value, state: State) -> None:
        """A dict literal: a raw tool schema, or a table of handlers by tool name."""
        (oid,) = value.objs
        fields = state.heap[oid].fields
        name = fields.get("['name']")
        if name is not None and name.text:
            for key in _SCHEMA_KEYS:
                schema = fields.get(key)
                if schema is not None and self._entry(schema, "properties", state) is not None:
                    at = next((v for k, v in node.items if isinstance(k, ir.Const) and k.value == "name"), node)
                    description = self._whole_text(fields["['description']"]) if "['description']" in fields else ""
                    self.tooling.schema(Schema(name.text, self.site(at), description + " " + self._told(schema, state), self._schema_parameters(schema, state)))
                    return
        for step, inner in fields.items():
            if inner.ref is None or not step.startswith(("['", '["')):
                continue
            if inner.ref[0] == "function":
                self.tooling.handlers.setdefault(step[2:-2], inner.ref[1])
            elif inner.ref[0] == "method":
                for holder in inner.ref[2].objs:
                    obj = state.heap.get(holder)
                    method = obj.cls.method(inner.ref[1]) if obj is not None and obj.kind == "instance" else None
                    if method is not None:
                        self.tooling.handlers.setdefault(step[2:-2], method)
            elif inner.ref[0] == "local" and len(self.frames) == 1:
                self.inner.append((inner, Exposure(None, name="=" + step[2:-2]), state.copy()))

    # --- one of many tools behind one function ------------------------------------------------------------------------------------------------
    def dispatched(self, left: Value, op: str, right: Value) -> Optional[bool]:
        """`name == "update_ticket"` while one tool of a dispatching function is looked at: is it that one? None: no such test."""
        for text, other in ((left, right), (right, left)):
            if text.text in self.dispatch_names and type(other.shape) is not Lit and op in ("==", "!="):
                return (text.text == self.dispatch) == (op == "==")
        return None

    def dispatched_in(self, item: Value, members: Value, state: State) -> Optional[bool]:
        known = self.known_items(members, state)
        if not known or type(item.shape) is Lit or not all(v.text in self.dispatch_names for v in known):
            return None
        return any(v.text == self.dispatch for v in known)

    def dispatched_case(self, pattern: Any) -> Optional[bool]:
        texts = list(_pattern_texts(pattern))
        if not texts or not all(text in self.dispatch_names for text in texts):
            return None
        return self.dispatch in texts


def _pattern_texts(pattern: Any) -> Iterator[Any]:
    if pattern.kind == "value":
        for value in pattern.values:
            yield value.value if isinstance(value, ir.Const) else None
    elif pattern.kind == "or":
        for part in pattern.parts:
            yield from _pattern_texts(part)


def _names_in(node: Any) -> Iterator[str]:
    """Last parts of every name in an annotation."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, ir.Name):
            yield item.id
        elif isinstance(item, ir.Attr):
            yield item.name
        elif isinstance(item, ir.Const) and isinstance(item.value, str) and item.value.isidentifier():
            yield item.value
        elif isinstance(item, ir.Node):
            stack += [getattr(item, name) for name in item._fields]
        elif isinstance(item, tuple):
            stack += item


def _doc(definition: Any) -> str:
    first = definition.body[0] if definition.body else None
    if isinstance(first, ir.Expr) and isinstance(first.value, ir.Const) and isinstance(first.value.value, str):
        return first.value.value
    return ""


def describing_texts(cls: Any) -> str:
    """What a tool's class says to the model: its `description`, the descriptions of its inputs."""
    texts = [cls.info.qualname]
    for name in ("description", "inputs", "name"):
        found = cls.assign(name)
        for statement in found[2] if found is not None else ():
            stack = [statement.value] if isinstance(statement, (ir.Assign, ir.AnnAssign)) else []
            while stack:
                item = stack.pop()
                if isinstance(item, ir.Const) and isinstance(item.value, str):
                    texts.append(item.value)
                elif isinstance(item, ir.Node):
                    stack += [getattr(item, field) for field in reversed(item._fields)]
                elif isinstance(item, tuple):
                    stack += reversed(item)
    return " . ".join(texts)
