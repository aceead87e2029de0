"""Expressions: names, attributes, items, comprehensions; how values, objects and fields come about."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .arguments import Arguments
from .assigning import Assigning
from .containers import STICKY, Containers
from .objects import Obj, State, deep_origins, parts
from .operators import Operators
from .values import CONST, NOTHING, UNKNOWN, Lit, Origin, Value, reads_of

#: Methods that change their receiver in place and put their arguments into it.
MUTATORS = frozenset((
    "append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear", "sort", "reverse",
    "appendleft", "popleft", "extendleft", "difference_update", "intersection_update", "symmetric_difference_update", "merge", "subtract",
    "__setitem__", "__delitem__", "rotate", "write", "writelines", "writerow", "writerows",
))


class Evaluator(Containers, Operators, Assigning):
    """Mixin of Walker: expressions and assignment targets."""

    # --- entry ---------------------------------------------------------------------------------------------------------
    def eval(self, node: Any, state: State) -> Value:
        return _EXPRESSIONS[type(node)](self, node, state)

    def parts(self, state: State, value: Value) -> Any:
        return parts(state, value)

    def deep(self, state: State, value: Value) -> frozenset:
        return deep_origins(state, value)

    def flat(self, state: State, value: Value) -> Value:
        """The value with the origins of all that it contains, as the payload of a write."""
        origins = deep_origins(state, value)
        return value if origins == value.origins else self.values.replace(value, origins=frozenset(origins - {CONST}) or origins)

    # --- literals and containers -----------------------------------------------------------------------------------------
    def _const(self, node: Any, state: State) -> Value:
        return self.values.const(node.value)

    def _fstring(self, node: Any, state: State) -> Value:
        return self.numbered(self.weakened(self.values.template([p if isinstance(p, str) else self.eval(p, state) for p in node.parts])), node, state)

    # --- names -----------------------------------------------------------------------------------------------------------
    def _name(self, node: Any, state: State) -> Value:
        frame = self.frames[-1]
        value = state.env.get(node.id)
        if value is not None:
            return value
        if frame.closure is not None and node.id in frame.closure:
            return frame.closure[node.id]
        return self.module_name(node.id, state)

    def module_name(self, name: str, state: State) -> Value:
        """A name of the module, an import or a builtin."""
        found = self.ask.name(self.frames[-1].scope.module, name)
        if found is not None:
            value = self.named(found, name, state)
            return self.row_object_of(value.dotted, value, state) if value.dotted else value
        return self.values.origin(Origin("global", name), ref=("dotted", "builtins." + name), name=name)

    def imported(self, dotted: str) -> Value:
        return self.values.origin(Origin("global", dotted), ref=("dotted", dotted), name=dotted.rsplit(".", 1)[-1])

    # --- attributes and items ------------------------------------------------------------------------------------------------
    def _attr(self, node: Any, state: State) -> Value:
        return self.attribute(self.eval(node.value, state), node.name, node, state)

    def seen_object(self, value: Value, state: State) -> Value:
        """The same value with the object that another function has made of it (`reset(order)`, then `order.total`)."""
        if value.objs or value.ref is not None or len(value.same) != 1:
            return value
        (origin,) = value.same
        oid = self.objects.get(("path", origin))
        return self.values.replace(value, objs=frozenset((oid,))) if oid in state.heap else value

    def attribute(self, base: Value, name: str, node: Any, state: State) -> Value:
        base = self.seen_object(base, state)
        if name in _OF_MEMBER and type(base.shape) is Lit:
            # A literal has no such attribute: it is the member of an enum, known by its value.
            return base if name == "value" else self.values.make(frozenset((CONST,)), name=name)
        if base.ref is not None:
            found = self.static_attribute(base, name, node, state)
            if found is not None:
                return found
        if base.flags & _QUERYISH or base.query is not None:
            found = self.query_attribute(base, name, state)
            if found is not None:
                return found
        if self.is_path(base):
            found = self.path_attribute(base, name)
            if found is not None:
                return found
        result: Optional[Value] = None
        for oid in base.objs:
            value = self.field(oid, name, node, state)
            if value is not None:
                result = value if result is None else self.values.join(result, value)
        if result is not None:
            if base.typ and result.typ is None and result.ref is None and self.vocabulary.leads_on(base.typ, name):
                return self.values.replace(result, typ=f"path:{base.typ}:{name}")
            return result
        if base.typ:
            found = self.lazy_attribute(base, name, node, state)
            if found is not None:
                return found
            found = self.typed_attribute(base, name, node, state)
            if found is not None:
                return found
        value = self.extend(base, name, state, node)
        return self.row_object_of(f"{base.name}.{name}", value, state) if base.name else value

    def extend(self, base: Value, step: str, state: State, node: Any = None) -> Value:
        """The part `step` of a value nothing more is known of."""
        same = frozenset(o.at(step) for o in base.same)
        return self.values.make(
            frozenset(o.at(step) for o in base.origins) or frozenset((UNKNOWN,)), same=same, name=step if not step.startswith("[") else base.name,
            flags=base.flags & STICKY,
        )

    def field(self, oid: int, name: str, node: Any, state: State) -> Optional[Value]:
        """Attribute or item `name` of a heap object; None when the object does not know it and the caller should go on."""
        obj = state.heap.get(oid)
        if obj is None:
            return None
        if name in obj.fields:
            return obj.fields[name]
        if obj.kind == "cursor":
            last = obj.fields.get("@last")
            if last is not None and not name.startswith("["):
                return self.extend(last, name, state)
            return None
        if obj.kind == "instance":
            return self.instance_attribute(oid, obj, name, node, state)
        if obj.kind in ("row", "path", "part") and obj.origin is not None:
            getter = self.getter_of(obj, name) if obj.kind == "row" else None
            if getter is not None:
                own = frozenset((obj.origin,))
                this = self.values.make(own, objs=frozenset((oid,)), typ=getter.cls.type_name if getter.cls else None, same=own, name="self")
                return self.call_scope(getter, Arguments(), node, state, this)
            return self.part_of(oid, obj, name, state)
        if name.startswith("[") and "@spread" in obj.fields:
            return self.known_part(obj.fields["@spread"], name, state)
        if name.startswith("[") and obj.elem is not None:
            return obj.elem
        if name.startswith("[") and obj.kind in ("dict", "list", "tuple"):
            return None
        return None

    def getter_of(self, obj: Obj, name: str) -> Any:
        """The property of that name of a row's class, or None."""
        cls = self.ask.klass_of(obj.cls) if isinstance(obj.cls, str) else obj.cls
        method = cls.method(name) if cls is not None and not name.startswith("[") else None
        return method if method is not None and method.is_property else None

    def part_of(self, oid: int, obj: Obj, name: str, state: State) -> Value:
        """A field of a loaded object that was not looked at before: an object of its own, since it may be changed in place."""
        if obj.elem is not None and name.startswith("["):
            return obj.elem
        origin = obj.origin.at(name)
        part = self.object_id_of((oid, name))
        typ = self.field_type(obj, name)
        model = self.relation_model(obj, name, typ)
        related = self.class_of(model[1]) if model is not None else None
        label = "" if name.startswith("[") else name if model is not None and model[1] is None else ""
        if model is not None:
            self.note_relation(obj, name, origin)
        state.put(part, Obj("part", origin, parent=(oid, name), session=obj.session, model=model, cls=related, label=label).but(detached=obj.detached))
        value = self.values.origin(origin, objs=frozenset((part,)), name=name if not name.startswith("[") else obj.label, typ=typ or (related.type_name if related is not None else None))
        current = state.heap[oid]
        state.put(oid, current.but(fields={**current.fields, name: value}))
        return value

    def object_id_of(self, key: tuple) -> int:
        found = self.objects.get(key)
        if found is None:
            found = self.objects[key] = len(self.objects) + 1
            if key[0] == "value":
                self.shared.setdefault("made", {})[found] = key[1:]
        return found

    def as_object(self, value: Value, state: State) -> Value:
        """Give a value that was only an access path (a parameter, something unresolved) an object, so that its fields can be followed."""
        if value.objs or value.ref is not None:
            return value
        # What it is decides, where that is one thing; else the one thing that it comes from (a loop's variable is one of these).
        own = value.same if len(value.same) == 1 else frozenset(o for o in value.origins if o.kind != "item")
        if len(own) != 1:
            return value
        (origin,) = own
        if origin.kind in ("const", "unknown", "clock", "random", "server"):
            return value
        oid = self.object_id_of(("path", origin))
        if oid not in state.heap:
            made = origin.kind == "opaque" and not origin.path and bool(value.name) and self.vocabulary.match("accessor_create", value.name)
            state.put(oid, Obj("path", origin, label=value.name, read=origin.n if origin.kind == "read" else None, new=made, cls=value.typ if self.model_module(value.typ) else None))
        return self.values.replace(value, objs=frozenset((oid,)))

    def rebind(self, node: Any, old: Value, new: Value, state: State) -> None:
        """Let the place a value was read from hold `new` (the same value, now with an object)."""
        if old is new:
            return
        if isinstance(node, ir.Name):
            frame = self.frames[-1]
            if node.id in state.env or frame.closure is None or node.id not in frame.closure:
                state.bind(node.id, new)
        elif isinstance(node, ir.Attr):
            base = self.eval(node.value, state)
            for oid in base.objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    state.put(oid, obj.but(fields={**obj.fields, node.name: new}))

    def _sub(self, node: Any, state: State) -> Value:
        base = self.eval(node.value, state)
        if isinstance(node.index, ir.Slice):
            for part in (node.index.lower, node.index.upper, node.index.step):
                if part is not None:
                    self.eval(part, state)
            if base.query is not None:
                return self.values.replace(base, flags=base.flags | {"sliced"})
            return self.altered(base, self.copy_container(base, node, state))
        index = self.eval(node.index, state)
        return self.item(base, index, node, state)

    def item(self, base: Value, index: Value, node: Any, state: State) -> Value:
        if base.query is not None:
            return self.query_item(base, node, state)
        found = self.model_subscript(base, index, node, state) or self.store_subscript(base, index, node, state)
        if found is not None:
            return found
        if base.ref is not None and base.ref[0] == "columns" and index.text is not None:
            return self.column(base.ref[1], index.text)
        if base.ref is not None and base.ref[0] in ("dotted", "class"):
            step = self.step_of(index) or "[*]"
            return self.values.make(frozenset(o.at(step) for o in base.origins) | (index.origins - {CONST}), name=base.name,
                                    same=frozenset(o.at(step) for o in base.same) if step != "[*]" else NOTHING)
        step = self.step_of(index)
        if step is None:
            inner = self.member(base, state)
            chosen = self.looked_up(inner, index)
            if chosen is not inner:
                return chosen
            if len(index.same) == 1 and len(inner.origins) == 1:
                # `table[key]`: the same key twice is the same member.
                key = "[" + _key_text(index) + "]"
                (only,) = inner.origins
                return self.values.make(inner.origins, same=frozenset((only._replace(path=only.path[:-1] + (key,)),)) if only.path else inner.same,
                                        objs=inner.objs, name=base.name, typ=inner.typ, ref=inner.ref)
            return inner
        result: Optional[Value] = None
        for oid in base.objs:
            value = self.field(oid, step, node, state)
            if value is None and step.startswith("[-"):
                obj = state.heap.get(oid)
                if obj is not None and obj.kind in ("tuple", "list"):
                    value = self.member(self.values.make(base.origins, objs=frozenset((oid,))), state)
            if value is not None:
                result = value if result is None else self.values.join(result, value)
        if result is not None:
            if result.typ is not None and index.text is not None and self.is_table(result):
                return self.values.replace(result, flags=result.flags | {f"at:{step}"})  # which of the tables in a mapping that a loop has filled
            return self.with_source(base, step, result)
        if not base.objs:
            base_object = self.as_object(base, state)
            if base_object is not base:
                self.rebind(node.value if isinstance(node, ir.Sub) else None, base, base_object, state)
                found = self.field(next(iter(base_object.objs)), step, node, state)
                return self.with_source(base, step, found) if found is not None else self.extend(base, step, state)
        return self.extend(base, step, state)

    def with_source(self, base: Value, step: str, part: Value) -> Value:
        """A part of what a method made (`status.split()[1]`, `row["path"].partition("/")[2]`) comes from what the method was called on."""
        if len(base.same) != 1 or len(base.origins) < 2 or next(iter(base.same)).kind != "opaque":
            return part
        source = frozenset(o.at(step) for o in base.origins - base.same if o.kind in ("read", "outcome") and (not o.path or o.path[-1] not in ("()", "(.)")))
        return self.values.replace(part, origins=part.origins | source) if source else part

    def looked_up(self, member: Value, index: Value) -> Value:
        """The member of a table of constants: which one it is was computed from the key (`NEXT[row.state]`)."""
        chosen = reads_of(index)
        if not chosen or any(o.kind not in ("const", "global") for o in member.origins):
            return member
        return self.values.replace(member, origins=(member.origins | chosen) - {CONST}, same=NOTHING, shape=None)

    # --- functions, comprehensions, awaits ------------------------------------------------------------------------------------
    def _lambda(self, node: Any, state: State) -> Value:
        return self.local_function(node, state)

    def local_function(self, node: Any, state: State) -> Value:
        """A function value with the names of its surroundings. The names are those of the moment of the call while we are inside."""
        frame = self.frames[-1]
        key = (id(node), frame.calls)
        closure = dict(frame.closure) if frame.closure else {}
        closure.update(state.env)
        self.local_functions[key] = (node, frame.scope, frame.excerpt, closure, frame.self_value)
        return self.values.origin(Origin("opaque", ("function", id(node.at) if node.at is not None else id(node))), ref=("local", key))

    def _comp(self, node: Any, state: State) -> Value:
        saved = dict(state.env)
        inner = state
        over: list = []
        passed: frozenset = NOTHING
        each = self.members_one_by_one(node, state)
        if each is not None:
            fields = {}
            for place, member in enumerate(each):
                self.assign(node.generators[0].target, member, inner, node)
                step = self.eval(node.elt, inner)
                if node.value is None:
                    fields[f"[{place}]"] = step
                    continue
                value = self.eval(node.value, inner)
                fields[f"[{step.text!r}]"] = self.keyed_gets(node, step, value, state) or value
            self._drop_names(state, saved)
            return self.container(node, "dict" if node.value is not None else "list", state, fields, None)
        asked = self.generated_query(node, state) if node.kind == "gen" else None
        if asked is not None:
            self._drop_names(state, saved)
            return asked
        for gen in node.generators:
            iterable = self.eval(gen.iter, inner)
            if iterable.query is not None:
                iterable = self.evaluated_query(iterable, gen, inner)  # of its filters nothing goes into what is made of its rows
            over.append(iterable)
            element, _ = self.element_of(iterable, gen, inner)
            self.assign(gen.target, element, inner, node)
            passed |= self.sifted_by(iterable)
            for test in gen.ifs:
                number = self.note_test(self.eval(test, inner), test, inner)
                passed |= {Origin("test", number, ("yes",))} if number is not None else NOTHING
        elt = self.eval(node.elt, inner)
        value = self.eval(node.value, inner) if node.value is not None else None
        fields: dict = {}
        if value is not None:
            value = self.keyed_gets(node, elt, value, state) or value
            if any(gen.ifs for gen in node.generators):
                # `{k: v for k, v in patch.items() if v is not None}`: something was left out.
                value = self.values.replace(value, origins=frozenset(o for o in value.origins if o.kind != "dump"))
                elt = self.values.replace(elt, origins=frozenset(o for o in elt.origins if o.kind != "dump"))
            value = self.values.replace(value, origins=(value.origins | elt.origins) - {CONST} or value.origins)
        elem = value if value is not None else elt
        self._drop_names(state, saved)
        result = self.container(node, "dict" if node.kind == "dict" else "list", state, fields, elem)
        self.note_sifted(result, passed)
        origins = result.origins
        filtered = any(gen.ifs for gen in node.generators)
        for iterable in over:
            # Which members are there depends on what was iterated (`[r for r in rows if …]`).
            origins |= frozenset(o for o in iterable.origins if o.kind != "dump") if filtered else iterable.origins
        return self.values.replace(result, origins=origins - {CONST} or origins)

    def note_sifted(self, result: Value, passed: frozenset) -> None:
        """Only what has passed these tests is in the list (`[n for n in names if n not in known]`)."""
        for oid in result.objs if passed else ():
            self.sifted[oid] = passed

    def sifted_by(self, value: Value) -> frozenset:
        """The tests that every member of a list has passed."""
        known = [self.sifted.get(oid, NOTHING) for oid in value.objs]
        return frozenset.intersection(*known) if known else NOTHING

    def members_one_by_one(self, node: Any, state: State) -> Optional[list]:
        """`[table.c[name] == value for name, value in match.items()]` over a mapping all of whose entries are known: the pairs; else None."""
        if len(node.generators) != 1 or node.generators[0].ifs:
            return None
        if node.value is None:
            return self.known_pairs(node.generators[0].iter, state)
        # `{name: row[name] for name in ("title", "servings")}`
        source = node.generators[0].iter
        known = self.known_items(self.eval(source, state), state) if isinstance(source, (ir.TupleX, ir.ListX, ir.Name)) else None
        return known if known and len(known) <= MAX_UNROLLED and all(value.text is not None for value in known) else None

    def known_pairs(self, source: Any, state: State) -> Optional[list]:
        """The pairs of `fields.items()`, where every entry of the mapping is known; else None."""
        if not (isinstance(source, ir.Call) and not source.args and isinstance(source.func, ir.Attr) and source.func.name == "items"):
            return None
        mapping = self.eval(source.func.value, state)
        known = self.mapping_items(mapping, state)
        if not known or len(known) > MAX_UNROLLED or any(not step.startswith(("['", '["')) for step in known):
            return None
        if any(state.heap[oid].kind != "dict" or state.heap[oid].elem is not None for oid in mapping.objs):
            return None
        return [self.container(source, "tuple", state, {"[0]": self.values.const(step[2:-2]), "[1]": value}, None, ("pair", step)) for step, value in known.items()]

    def _drop_names(self, state: State, saved: dict) -> None:
        for name in list(state.env):
            if name not in saved:
                state.unbind(name)
            elif state.env[name] is not saved[name]:
                state.bind(name, saved[name])

    def _await(self, node: Any, state: State) -> Value:
        return self.awaited(self.eval(node.value, state), node, state)

    def awaited(self, value: Value, node: Any, state: State) -> Value:
        if value.query is not None:
            return self.await_query(value, node, state)
        return value

    def _yield(self, node: Any, state: State) -> Value:
        frame = self.frames[-1]
        value = self.eval(node.value, state) if node.value is not None else self.values.none
        if frame.on_yield is not None:
            frame.on_yield(value, state)
            return self.values.unknown
        frame.yields.append(value)
        for part in self.parts(state, value):
            self.looked_at(state, part, "yielded")
        return self.values.unknown

    def _yield_from(self, node: Any, state: State) -> Value:
        value = self.eval(node.value, state)
        self.frames[-1].yields.append(self.element_of(value, node, state)[0])
        return self.values.make(value.origins)

    def _walrus(self, node: Any, state: State) -> Value:
        value = self.eval(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _starred(self, node: Any, state: State) -> Value:
        return self.eval(node.value, state)

    def _slice(self, node: Any, state: State) -> Value:
        return self.values.unknown

#: Flags that a part inherits from the whole.
#: Entries of a mapping that a comprehension is evaluated over one by one.
MAX_UNROLLED = 8
_OF_MEMBER = frozenset(("value", "name", "label"))  # what a member of an enum has
_QUERYISH = frozenset(("manager", "statement"))


def _key_text(index: Value) -> str:
    return ",".join(sorted(f"{o.kind}{o.n}{''.join(map(str, o.path))}" for o in index.same)) or "*"


_EXPRESSIONS = {
    ir.Const: Evaluator._const, ir.Name: Evaluator._name, ir.Attr: Evaluator._attr, ir.Sub: Evaluator._sub, ir.Slice: Evaluator._slice,
    ir.Bin: Evaluator._bin, ir.Unary: Evaluator._unary, ir.BoolOp: Evaluator._bool_op, ir.Compare: Evaluator._compare,
    ir.IfExp: Evaluator._if_exp, ir.Lambda: Evaluator._lambda, ir.TupleX: Evaluator._tuple, ir.ListX: Evaluator._list,
    ir.SetX: Evaluator._set, ir.DictX: Evaluator._dict, ir.Comp: Evaluator._comp, ir.FString: Evaluator._fstring,
    ir.Await: Evaluator._await, ir.Yield: Evaluator._yield, ir.YieldFrom: Evaluator._yield_from, ir.Walrus: Evaluator._walrus,
    ir.Starred: Evaluator._starred, ir.Call: lambda self, node, state: self.call(node, state),
}
