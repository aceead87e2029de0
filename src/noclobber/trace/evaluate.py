"""Expressions: how values, objects and fields come about. Targets of assignments stand here too: they are the other half of reading."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Change, Test
from .objects import Dead, Obj, State, deep_origins, join_states, parts
from .values import CONST, EXCEPT, NOT, NOTHING, SERVER, UNKNOWN, Lit, Origin, Template, Value, reads_of, words_in

#: Methods that change their receiver in place and put their arguments into it.
MUTATORS = frozenset((
    "append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear", "sort", "reverse",
    "appendleft", "popleft", "extendleft", "difference_update", "intersection_update", "symmetric_difference_update", "merge", "subtract",
    "__setitem__", "__delitem__", "rotate", "write", "writelines", "writerow", "writerows",
))
_TEXT_OPS = frozenset(("+", "-"))


class Evaluator:
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
        return self.numbered(self.values.template([p if isinstance(p, str) else self.eval(p, state) for p in node.parts]), node, state)

    def object_id(self, node: Any, kind: str, extra: Any = 0) -> int:
        """Identity of the object made at a node: stable over the rounds of a fixpoint, different for each call path."""
        key = (id(node.at) if isinstance(node, ir.Node) and node.at is not None else id(node), self.frames[-1].calls, kind, extra)
        found = self.objects.get(key)
        if found is None:
            found = self.objects[key] = len(self.objects) + 1
            self.keep.append(node)
        return found

    def container(self, node: Any, kind: str, state: State, fields: dict, elem: Optional[Value], extra: Any = 0) -> Value:
        oid = self.object_id(node, kind, extra)
        state.put(oid, Obj(kind, fields=fields, elem=elem, new=True))
        origins: set = set()
        for part in [*fields.values(), *([elem] if elem is not None else [])]:
            origins |= part.origins
        if len(origins) > 1:
            origins.discard(CONST)
        return self.values.make(frozenset(origins) or frozenset((CONST,)), objs=frozenset((oid,)))

    def _tuple(self, node: Any, state: State) -> Value:
        return self._sequence(node, "tuple", state)

    def _list(self, node: Any, state: State) -> Value:
        return self._sequence(node, "list", state)

    def _set(self, node: Any, state: State) -> Value:
        return self._sequence(node, "list", state)

    def _sequence(self, node: Any, kind: str, state: State) -> Value:
        fields: dict = {}
        elem: Optional[Value] = None
        place = 0
        certain = True
        for item in node.items:
            if isinstance(item, ir.Starred):
                inner = self.eval(item.value, state)
                known = self.known_items(inner, state)
                if known is not None and certain:
                    for value in known:
                        fields[f"[{place}]"] = value
                        place += 1
                    continue
                certain = False
                spread = self.member(inner, state)
                elem = spread if elem is None else self.values.join(elem, spread)
                continue
            value = self.eval(item, state)
            if certain and place < 40:
                fields[f"[{place}]"] = value
                place += 1
            else:
                elem = value if elem is None else self.values.join(elem, value)
        return self.container(node, kind, state, fields, elem)

    def _dict(self, node: Any, state: State) -> Value:
        fields: dict = {}
        elem: Optional[Value] = None
        for key, value in node.items:
            inner = self.eval(value, state)
            if key is None:
                mapping = self.mapping_items(inner, state)
                if mapping is not None:
                    fields.update(mapping)
                rest = self.rest_of(inner, state, mapping)
                if rest is not None:
                    if elem is None and self.is_whole(inner, state):
                        fields["@spread"] = inner
                    else:
                        fields.pop("@spread", None)
                    elem = rest if elem is None else self.values.join(elem, rest)
                continue
            name = self.eval(key, state)
            step = self.step_of(name)
            if step is None:
                inner = self.values.replace(inner, origins=inner.origins | name.origins) if name.origins - {CONST} else inner
            if step is None and type(name.shape) is Template and isinstance(name.shape.parts[0], str):
                step = f"[{self.words(name)!r}]"  # `{f"wards.{ward}": …}`: which one is not known, but that it is one of the wards
                inner = self.values.join(fields[step], inner) if step in fields else inner
            if step is None:
                elem = inner if elem is None else self.values.join(elem, inner)
                fields.pop("@spread", None)
            else:
                fields[step] = inner
        result = self.container(node, "dict", state, fields, elem)
        if self.tooling is not None:
            self.note_mapping(node, result, state)
        return result

    @staticmethod
    def step_of(index: Value) -> Optional[str]:
        """The path step of a literal index, e.g. "['name']" or "[0]"; None when the index is not literal."""
        if type(index.shape) is Lit and isinstance(index.shape.value, (str, int)) and not isinstance(index.shape.value, bool):
            return f"[{index.shape.value!r}]"
        if index.ref is not None and index.ref[0] == "column":
            return f"[{index.ref[2]!r}]"  # `{Model.field: value}`
        return None

    def mapping_items(self, value: Value, state: State) -> Optional[dict]:
        """Known entries of a dict value as {step: Value}."""
        if len(value.objs) != 1:
            return None
        obj = state.heap.get(next(iter(value.objs)))
        return {k: v for k, v in obj.fields.items() if k.startswith("[")} if obj is not None else None

    def rest_of(self, value: Value, state: State, mapping: Optional[dict]) -> Optional[Value]:
        """What a mapping holds beside its known entries: unknown members, or all of it when nothing is known."""
        if mapping is None or not value.objs:
            return self.values.make(value.origins)
        obj = state.heap.get(next(iter(value.objs)))
        if obj.kind in ("row", "path", "part"):
            return self.values.make(value.origins)
        return obj.elem

    def known_items(self, value: Value, state: State) -> Optional[list]:
        """The members of a sequence whose length is known, in order; None otherwise. Of several that it may be: member by member what either holds."""
        return self._each(value, state, self._items_of)

    def _each(self, value: Value, state: State, members: Any) -> Optional[list]:
        found: Optional[list] = None
        for oid in value.objs:
            obj = state.heap.get(oid)
            mine = members(obj) if obj is not None else None
            if mine is None or found is not None and len(found) != len(mine):
                return None
            found = mine if found is None else [self.values.join(a, b) for a, b in zip(found, mine)]
        return found

    def _items_of(self, obj: Obj) -> Optional[list]:
        if obj.kind == "instance" and self.is_named_tuple(obj.cls):
            return self._fields_of(obj)
        if obj.kind not in ("tuple", "list") or obj.elem is not None:
            return None
        steps = [f"[{i}]" for i in range(len(obj.fields))]
        return [obj.fields[s] for s in steps] if all(s in obj.fields for s in steps) else None

    @staticmethod
    def _fields_of(obj: Obj) -> Optional[list]:
        if obj.kind != "instance" or obj.cls is None or isinstance(obj.cls, str):
            return None
        names = obj.cls.field_names()
        return [obj.fields[name] for name in names] if names and all(name in obj.fields for name in names) else None

    def fields_in_order(self, value: Value, state: State) -> Optional[list]:
        """The fields of an instance of a dataclass-like class, all of them; None where one is not known."""
        return self._each(value, state, self._fields_of)

    def is_whole(self, value: Value, state: State) -> bool:
        """Is it one record, of which any member may be asked for (a row, a document, a parameter)?"""
        if len(value.same) != 1 or value.ref is not None or value.query is not None:
            return False
        kinds = {state.heap[oid].kind for oid in value.objs if oid in state.heap}
        return kinds <= {"path", "row", "part"} and next(iter(value.same)).kind in ("read", "param", "opaque", "item")

    def fields_as_dict(self, value: Value, node: Any, state: State) -> Value:
        """`asdict(x)`, `x._asdict()`, `vars(x)`: a new mapping of the fields of an instance."""
        fields: dict = {}
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                fields.update({f"[{n!r}]": v for n, v in obj.fields.items() if not n.startswith(("[", "@"))})
        result = self.container(node, "dict", state, fields, self.values.make(value.origins) if not fields else None, "fields")
        return self.values.replace(result, origins=(result.origins | value.origins) - {CONST} or result.origins)

    @staticmethod
    def is_named_tuple(cls: Any) -> bool:
        """Is it a class whose instances are tuples with names?"""
        return cls is not None and not isinstance(cls, str) and any(base.rsplit(".", 1)[-1] == "NamedTuple" for base in cls.library_bases())

    def words_among(self, value: Value, state: State) -> Optional[frozenset]:
        """The texts that a list may hold which is built up of literals (`names.append("x")`); None: it may hold others."""
        found: set = set()
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind not in ("tuple", "list"):
                return None
            for inner in (*obj.fields.values(), *([obj.elem] if obj.elem is not None else ())):
                words = words_in(inner)
                if words is None:
                    return None
                found |= words
        return frozenset(found) or None

    def words_not_among(self, value: Value, state: State) -> frozenset:
        """The texts that a list certainly does not hold: `set(names) - {"x"}`."""
        found: Optional[frozenset] = None
        for oid in value.objs:
            obj = state.heap.get(oid)
            inner = (*obj.fields.values(), *([obj.elem] if obj.elem is not None else ())) if obj is not None else ()
            if obj is None or obj.kind not in ("tuple", "list") or any(EXCEPT not in part.flags and words_in(part) is None for part in inner):
                return NOTHING
            without = [frozenset(flag[len(NOT):] for flag in part.flags if flag.startswith(NOT)) for part in inner if EXCEPT in part.flags]
            said = frozenset().union(*(words_in(part) for part in inner if EXCEPT not in part.flags))
            here = frozenset.intersection(*without) - said if without else NOTHING
            found = here if found is None else found & here
        return found or NOTHING

    def member(self, value: Value, state: State) -> Value:
        """One value for any member of a container."""
        result: Optional[Value] = None
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            for inner in [*(v for k, v in obj.fields.items() if k.startswith("[")), *([obj.elem] if obj.elem is not None else [])]:
                result = inner if result is None else self.values.join(result, inner)
            if obj.kind in ("row", "path", "part") and obj.origin is not None:
                more = self.values.origin(obj.origin.at("[*]"))
                result = more if result is None else self.values.join(result, more)
        if result is not None:
            return result
        return self.values.make(frozenset(o.at("[*]") for o in value.origins), name=value.name, flags=value.flags & _STICKY)

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
            flags=base.flags & _STICKY,
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
                from .calls import Arguments

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

    # --- operators ---------------------------------------------------------------------------------------------------------
    def _bin(self, node: Any, state: State) -> Value:
        # Left-nested chains of thousands of operands must not recurse.
        chain = []
        left = node
        while isinstance(left, ir.Bin):
            chain.append(left)
            left = left.left
        value = self.eval(left, state)
        for step in reversed(chain):
            value = self.binary(step.op, value, self.eval(step.right, state), step, state)
        return value

    def binary(self, op: str, left: Value, right: Value, node: Any, state: State) -> Value:
        if left.ref is not None and left.ref[0] in ("pred", "column", "server") or right.ref is not None and right.ref[0] in ("pred", "column", "server"):
            return self.server_operation(op, left, right)
        if SERVER in left.origins or SERVER in right.origins:
            return self.values.make(frozenset((SERVER,)) | left.origins | right.origins)
        if op == "+" and (_is_text(left) or _is_text(right)):
            joined = self.numbered(self.values.template([left, right]), node, state)
            return self.altered(right, joined) if left.text is not None and left.text.startswith("W/") else joined  # a strong tag made weak
        if op == "/" and (self.is_path(left) or self.is_path(right)):
            return self.path(left, "/", right)
        if op == "%" and _is_text(left):
            return self.percent_format(left, right, state)
        if op == "-" and left.objs and self.words_among(right, state):
            return self.without(left, self.words_among(right, state), node, state)
        if op == "-" and right.objs and any(o.kind == "read" for o in right.origins) and self._is_list(right, state):
            return self.difference(left, right, node, state)
        if op == "|" and (left.objs or right.objs):
            return self.merged(left, right, node, state)
        if op == "+" and (left.objs or right.objs) and (self.known_items(left, state) is not None or self.known_items(right, state) is not None
                                                      or self._is_list(left, state) or self._is_list(right, state)):
            return self.merged(left, right, node, state)
        incr = NOTHING
        if op in _TEXT_OPS and not _not_number(left, state) and not _not_number(right, state):
            incr = left.same | left.incr
            if op == "+":
                incr |= right.same | right.incr
        origins = left.origins | right.origins
        if len(origins) > 1:
            origins -= {CONST}
        if type(left.shape) is Lit and type(right.shape) is Lit and op in _TEXT_OPS:
            try:
                folded = left.shape.value + right.shape.value if op == "+" else left.shape.value - right.shape.value
                if isinstance(folded, (int, float, str)) and (not isinstance(folded, str) or len(folded) < 10_000):
                    return self.values.const(folded)
            except TypeError:
                pass
        steps = frozenset(o for o in incr if o.kind != "const")
        return self.values.make(origins, incr=steps, flags=_MINUS if steps and op == "-" else NOTHING)

    def difference(self, left: Value, right: Value, node: Any, state: State) -> Value:
        """`wanted - known`, two sets: the members of the first that are not in the second."""
        member = self.member(left, state)
        number = self.event(Test, node, state, "minus", left=member, op="not in", right=right).n
        result = self.container(node, "list", state, {}, member, "minus")
        self.note_sifted(result, self.sifted_by(left) | {Origin("test", number, ("yes",))})
        return self.values.replace(result, origins=(result.origins | left.origins | right.origins) - {CONST} or result.origins)

    @staticmethod
    def _is_list(value: Value, state: State) -> bool:
        return any(state.heap[oid].kind in ("list", "tuple") for oid in value.objs if oid in state.heap)

    def without(self, left: Value, words: frozenset, node: Any, state: State) -> Value:
        """`set(names) - {"a", "b"}`."""
        known = self.words_among(left, state)
        if known is not None:
            return self.container(node, "list", state, {}, self._one_word(known - words))
        member = self.member(left, state)
        return self.container(node, "list", state, {}, self.values.replace(member, flags=member.flags | {EXCEPT} | {NOT + word for word in words}))

    def _one_word(self, words: frozenset) -> Optional[Value]:
        result: Optional[Value] = None
        for word in sorted(words):
            value = self.values.const(word)
            result = value if result is None else self.values.join(result, value)
        return result

    def merged(self, left: Value, right: Value, node: Any, state: State) -> Value:
        """`a | b`, `a + b` of containers: a new container with the members of both."""
        fields: dict = {}
        elem: Optional[Value] = None
        known = self.known_items(left, state)
        if known and node.op == "+":
            tail = self.member(right, state)
            whole = self.container(node, "list", state, {f"[{i}]": v for i, v in enumerate(known)}, tail)
            return self.values.replace(whole, origins=(whole.origins | left.origins | right.origins) - {CONST} or whole.origins)
        for side in (left, right):
            mapping = self.mapping_items(side, state)
            is_dict = any(state.heap[oid].kind == "dict" for oid in side.objs if oid in state.heap)
            if mapping is not None and is_dict:
                fields.update(mapping)
                rest = self.rest_of(side, state, mapping)
            else:
                rest = self.member(side, state)
                rest = self.values.replace(rest, origins=rest.origins | side.origins) if side.origins - {CONST} else rest
            if rest is not None:
                elem = rest if elem is None else self.values.join(elem, rest)
        value = self.container(node, "dict" if fields and elem is None else "list" if not fields else "dict", state, fields, elem)
        origins = (value.origins | left.origins | right.origins) - {CONST}
        return self.values.replace(value, origins=origins or value.origins)

    def percent_format(self, left: Value, right: Value, state: State) -> Value:
        """`"… %s …" % args` with the pieces kept."""
        text = left.text
        items = self.known_items(right, state)
        if text is None:
            return self.values.derived(left, self.flat(state, right))
        pieces = _split_percent(text)
        holes = [p for p in pieces if p[0] == "hole"]
        args = items if items is not None else [right] if len(holes) == 1 else None
        mapping = self.mapping_items(right, state)
        if pieces is None or (args is None and mapping is None) or (args is not None and mapping in (None, {}) and len(args) != len(holes)):
            return self.values.derived(left, self.flat(state, right))
        out: list = []
        place = 0
        for kind, piece in pieces:
            if kind == "text":
                out.append(piece)
            elif piece and mapping:
                out.append(mapping.get(f"[{piece!r}]", self.values.unknown))
            elif args is not None and place < len(args):
                out.append(args[place])
                place += 1
            else:
                return self.values.derived(left, self.flat(state, right))
        return self.values.template(out)

    def _unary(self, node: Any, state: State) -> Value:
        value = self.eval(node.operand, state)
        if node.op == "not":
            self.looked_at(state, value, "test")
            return self.values.make(value.origins, ref=("not", value))
        if node.op == "-" and type(value.shape) is Lit and isinstance(value.shape.value, (int, float)):
            return self.values.const(-value.shape.value)
        if value.ref is not None and value.ref[0] == "pred":
            return self.values.make(value.origins, ref=("pred", (("", "or", value),)))
        return self.values.make(value.origins, objs=value.objs if node.op == "~" else NOTHING, query=value.query)

    def _bool_op(self, node: Any, state: State) -> Value:
        # Each operand is evaluated only where the ones before let it: `lock and write()`.
        results: list[Value] = []
        ends: list = []
        current: Optional[State] = state.copy()
        for i, operand in enumerate(node.values):
            try:
                value = self.eval(operand, current)
            except Dead:
                break  # `x or abort(404)`: what comes after has an x
            if i == len(node.values) - 1:
                results.append(value)
                ends.append(current)
                break
            results.append(value)
            yes, no = self.refine(value, operand, current)
            stop, current = (no, yes) if node.op == "and" else (yes, no)
            if stop is not None:
                ends.append(stop)
            if current is None:
                break
        if not ends or not results:
            raise Dead
        self._rejoin(state, ends)
        if node.op == "or":
            return self._or_value(results)
        value = results[-1]
        for other in results[:-1]:
            value = self.values.replace(value, origins=(value.origins | other.origins) - {CONST} or value.origins)
        return value

    def _or_value(self, results: list) -> Value:
        """`x or default`: for an empty field its default; the identity of x survives a literal default (`x or 0`)."""
        first = results[0]
        for other in results[1:]:
            if other.is_none or (type(other.shape) is Lit and not first.objs):
                first = self.values.make(first.origins, same=first.same, incr=first.incr, objs=first.objs, typ=first.typ, name=first.name,
                                         flags=first.flags, query=first.query)
            else:
                first = self.values.join(first, other)
        return first

    def _rejoin(self, state: State, ends: list) -> None:
        control = state.control
        joined = join_states(self.values, ends)
        if joined is not None:
            state.adopt(joined.copy())
            state.control = control

    def _compare(self, node: Any, state: State) -> Value:
        left = self.eval(node.left, state)
        first = left
        rights = []
        for op, right in node.rest:
            rights.append((op, self.eval(right, state)))
        if len(rights) == 1:
            op, right = rights[0]
            if self.dispatch is not None and op in ("in", "not in"):
                decided = self.dispatched_in(first, right, state)
                if decided is not None:
                    return self.values.const(decided == (op == "in"))
            predicate = self.column_comparison(first, op, right)
            if predicate is not None:
                return predicate
        origins = first.origins
        for _, right in rights:
            origins |= self.deep(state, right)
        for op, right in rights:
            self.tag_order(op, left, right, node, state)
            left = right
        for value in (first, *(r for _, r in rights)):
            self.looked_at(state, value, "compared")
        result = self.values.make(origins - {CONST} or origins, ref=("compare", first, rights[0][0], rights[0][1]) if len(rights) == 1 else None)
        return result

    def _if_exp(self, node: Any, state: State) -> Value:
        yes, no = self.test(node.test, state.copy())
        results, ends = [], []
        for branch, expression in ((yes, node.body), (no, node.orelse)):
            if branch is not None:
                try:
                    results.append(self.eval(expression, branch))
                    ends.append(branch)
                except Dead:
                    continue
        if not ends:
            raise Dead
        self._rejoin(state, ends)
        value = results[0] if results else self.values.unknown
        for other in results[1:]:
            value = self.values.join(value, other)
        return value

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
                fields[f"[{place}]"] = self.eval(node.elt, inner)
            self._drop_names(state, saved)
            return self.container(node, "list", state, fields, None)
        asked = self.generated_query(node, state) if node.kind == "gen" else None
        if asked is not None:
            self._drop_names(state, saved)
            return asked
        for gen in node.generators:
            iterable = self.eval(gen.iter, inner)
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
        if node.kind == "dict" or node.value is not None or len(node.generators) != 1 or node.generators[0].ifs:
            return None
        source = node.generators[0].iter
        if not (isinstance(source, ir.Call) and not source.args and isinstance(source.func, ir.Attr) and source.func.name == "items"):
            return None
        mapping = self.eval(source.func.value, state)
        known = self.mapping_items(mapping, state)
        if not known or len(known) > MAX_UNROLLED or any(not step.startswith(("['", '["')) for step in known):
            return None
        if any(state.heap[oid].kind != "dict" or state.heap[oid].elem is not None for oid in mapping.objs):
            return None
        return [self.container(node, "tuple", state, {"[0]": self.values.const(step[2:-2]), "[1]": value}, None, ("pair", step)) for step, value in known.items()]

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
        self.frames[-1].yields.append(self.member(value, state))
        return self.values.make(value.origins)

    def _walrus(self, node: Any, state: State) -> Value:
        value = self.eval(node.value, state)
        state.bind(node.target.id, value)
        return value

    def _starred(self, node: Any, state: State) -> Value:
        return self.eval(node.value, state)

    def _slice(self, node: Any, state: State) -> Value:
        return self.values.unknown

    # --- assignment ------------------------------------------------------------------------------------------------------------
    def assign(self, target: Any, value: Value, state: State, node: Any) -> None:
        kind = type(target)
        if kind is ir.Name:
            if not value.name or value.name in ("self",):
                value = self.values.replace(value, name=target.id) if value.ref is None else value
            state.bind(target.id, value)
        elif kind is ir.Attr:
            self.set_attribute(target, value, state, node, "assign")
        elif kind is ir.Sub:
            self.set_item(target, value, state, node, "assign")
        elif kind in (ir.TupleX, ir.ListX):
            self.unpack(target, value, state, node)
        elif kind is ir.Starred:
            self.assign(target.value, value, state, node)

    def unpack(self, target: Any, value: Value, state: State, node: Any) -> None:
        items = target.items
        star = next((i for i, item in enumerate(items) if isinstance(item, ir.Starred)), None)
        for i, item in enumerate(items):
            if isinstance(item, ir.Starred):
                self.assign(item.value, self.container(item, "list", state, {}, self.member(value, state)), state, node)
            elif star is not None and i > star:
                self.assign(item, self.member(value, state), state, node)
            else:
                self.assign(item, self.item(value, self.values.const(i), None, state), state, node)

    def set_attribute(self, target: Any, value: Value, state: State, node: Any, op: str) -> None:
        base = self.eval(target.value, state)
        self.put_attribute(base, target.name, value, state, node, op, target.value)

    def put_attribute(self, base: Value, name: str, value: Value, state: State, node: Any, op: str, base_node: Any = None) -> None:
        if not base.objs:
            with_object = self.as_object(base, state)
            if with_object is not base:
                self.rebind(base_node, base, with_object, state)
                base = with_object
        if self.setting(base, name, value, state, node):
            return
        for oid in base.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            if len(base.objs) > 1 and name in obj.fields:
                value_here = self.values.join(obj.fields[name], value)
            else:
                value_here = value
            state.put(oid, obj.but(fields={**obj.fields, name: value_here}))
            self.changed(oid, name, value, state, node, op)

    def set_item(self, target: Any, value: Value, state: State, node: Any, op: str) -> None:
        base = self.eval(target.value, state)
        if isinstance(target.index, ir.Slice):
            index = self.values.unknown
        else:
            index = self.eval(target.index, state)
        if self.store_subscript_write(base, index, value, state, node):
            return
        self.put_item(base, index, value, state, node, op, target.value)

    def put_item(self, base: Value, index: Value, value: Value, state: State, node: Any, op: str, base_node: Any = None) -> None:
        if not base.objs:
            with_object = self.as_object(base, state)
            if with_object is not base:
                self.rebind(base_node, base, with_object, state)
                base = with_object
        step = self.step_of(index)
        if index.origins - {CONST}:
            value = self.values.replace(value, origins=(value.origins | index.origins) - {CONST})
        for oid in base.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            if step is not None and len(base.objs) == 1:
                state.put(oid, obj.but(fields={**obj.fields, step: value}))
            else:
                elem = value if obj.elem is None else self.values.join(obj.elem, value)
                if obj.origin is not None and obj.elem is None:
                    elem = self.values.join(elem, self.values.origin(obj.origin.at("[*]")))
                state.put(oid, _scattered(obj).but(elem=elem))
            self.changed(oid, step or "[*]", value, state, node, "item" if op == "assign" else op)

    def delete_item(self, target: Any, state: State) -> None:
        base = self.eval(target.value, state)
        if not isinstance(target.index, ir.Slice):
            index = self.eval(target.index, state)
            if self.store_subscript_delete(base, index, state, target):
                return
            self.taken_out(base, self.step_of(index), state)
        self.mutated(base, state, target, target.value)

    def taken_out(self, base: Value, step: Optional[str], state: State) -> None:
        """`del doc["etag"]`: it is not there any more."""
        for oid in base.objs if step is not None and len(base.objs) == 1 else ():
            obj = state.heap.get(oid)
            if obj is not None and (step in obj.fields or obj.origin is not None):
                state.put(oid, obj.but(fields={**obj.fields, step: self.values.none}))

    def mutated(self, base: Value, state: State, node: Any, base_node: Any = None, value: Optional[Value] = None, placed: bool = False) -> None:
        """An in-place change of a container (`append`, `del x[k]`): the members may now hold `value`; placed: it is known which, and they do."""
        if self.streams:
            self.feed(base, value, state)
        if value is not None and any(o.kind == "read" for o in base.same):
            self.updated_in_place(base, value, node, state)
        if not base.objs:
            with_object = self.as_object(base, state)
            if with_object is not base:
                self.rebind(base_node, base, with_object, state)
                base = with_object
        for oid in base.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            if value is not None and not placed:
                state.put(oid, _scattered(obj).but(elem=value if obj.elem is None else self.values.join(obj.elem, value)))
            what = value if value is not None else self.values.make(NOTHING)
            if obj.origin is not None:
                what = self.values.replace(what, origins=what.origins | {obj.origin})
            if value is None or value.shape is not None or any(self.made_of_literals(state.heap[o]) for o in value.objs if o in state.heap):
                what = self.values.replace(what, flags=what.flags | {"plain"})
            self.changed(oid, "[*]", what, state, node, "mutate")

    @staticmethod
    def made_of_literals(obj: Obj) -> bool:
        """A dict, list or tuple written out here, not the copy of something unknown."""
        return obj.kind in ("dict", "list", "tuple") and bool(obj.fields)

    def changed(self, oid: int, step: str, value: Value, state: State, node: Any, op: str) -> None:
        """Note a change on the object and on all it is a part of, with the path from each."""
        path: tuple = (step,)
        event: Optional[Change] = None
        seen = set()
        while oid is not None and oid not in seen:
            seen.add(oid)
            obj = state.heap.get(oid)
            if obj is None:
                return
            if obj.kind in ("row", "path", "part", "instance") and obj.origin is not None:
                if event is None:
                    event = self.event(Change, node, state, path, obj=oid, field=path, value=self.referred(state, value, obj, path), op=op,
                                       base=frozenset((obj.origin, Origin("read", obj.read))) if obj.read is not None and obj.kind != "part"
                                       else frozenset((obj.origin,)), row=obj.read, detached=obj.detached,
                                   formed=op == "assign" and _is_formed(getattr(node, "value", None)))
                    if len(path) == 1 and event.value.incr and self.holds_no_number(obj, str(path[0])):
                        event.value = self.values.replace(event.value, flags=event.value.flags | {"no number"})
                mark = (path, event.n)
                if len(path) == 1 and op == "assign":
                    obj = self.overwritten(oid, obj, path, event, state)
                if mark not in obj.changed or mark not in obj.pending:
                    state.put(oid, obj.but(changed=obj.changed | {mark}, pending=obj.pending | {mark}))
                    self.tracked_change(oid, path, event, state, node)
            if obj.parent is None or len(path) > 5:
                return
            oid, step = obj.parent
            if event is not None and obj.origin is not None and _is_item(path):
                # A change inside a field is derived from the rest of that field, which is written back with it.
                event.value = self.values.replace(event.value, origins=event.value.origins | {obj.origin})
            path = (step,) + path

    def referred(self, state: State, value: Value, owner: Obj, path: tuple) -> Value:
        """What a field holds now. Another row is only referred to: what is in it is not written."""
        objs = [state.heap[oid] for oid in value.objs if oid in state.heap]
        rows = [obj.kind == "row" or obj.kind == "instance" and self.orm_of_class(obj.cls) is not None or obj.kind in ("path", "part") and obj.model is not None for obj in objs]
        if len(path) == 1:
            cls = self.model_class(owner)
            known = any(row and (obj.kind not in ("path", "part") or obj.model[1] is not None) for row, obj in zip(rows, objs))
            if known or cls is not None and cls.field_call(path[0]) is not None and self.is_relation_field(cls, path[0]):
                value = self.values.replace(value, flags=value.flags | {"reference"})
        if objs and all(row or obj.kind == "new" for row, obj in zip(rows, objs)):
            return value
        return self.flat(state, value)

    def overwritten(self, oid: int, obj: Obj, path: tuple, event: Change, state: State) -> Obj:
        """What was pending for a field is gone once the field is set to something that owes nothing to the object."""
        if any(o.kind == base.kind and o.n == base.n and o.path[:len(base.path)] == base.path for o in event.value.origins for base in event.base):
            return obj
        left = frozenset(mark for mark in obj.pending if mark[0][0] != path[0])
        if left != obj.pending:
            obj = obj.but(pending=left)
            state.put(oid, obj)
        return obj

    def aug_assign(self, node: Any, state: State) -> State:
        target = node.target
        if isinstance(target, ir.Name):
            current = self.eval(target, state)
            added = self.eval(node.value, state)
            if current.objs and node.op in ("+", "|", "-", "&") and not _is_text(added) and not isinstance(added.literal, (int, float)):
                self.mutated(current, state, node, target, self.member(added, state))
                if node.op == "|":
                    mapping = self.mapping_items(added, state)
                    for oid in current.objs:
                        obj = state.heap.get(oid)
                        if obj is not None and mapping:
                            state.put(oid, obj.but(fields={**obj.fields, **mapping}))
                if not self._is_number_object(current, state):
                    state.bind(target.id, self.values.replace(current, origins=(current.origins | added.origins) - {CONST} or current.origins))
                    return state
            value = self.counted(node, added, self.binary(node.op, current, added, node, state))
            state.bind(target.id, self.values.replace(value, name=target.id) if value.ref is None else value)
        elif isinstance(target, ir.Attr):
            current = self.eval(target, state)
            added = self.eval(node.value, state)
            self.set_attribute(target, self.binary(node.op, current, added, node, state), state, node, "aug")
        elif isinstance(target, ir.Sub):
            current = self.eval(target, state)
            added = self.eval(node.value, state)
            self.set_item(target, self.binary(node.op, current, added, node, state), state, node, "aug")
        return state

    @staticmethod
    def _is_number_object(value: Value, state: State) -> bool:
        """A field of a row has an object only because it may be a container; as a target of `x += 1` it is a plain value."""
        return any(state.heap[oid].kind in ("part", "path") for oid in value.objs if oid in state.heap)

    # --- patterns --------------------------------------------------------------------------------------------------------------
    def bind_pattern(self, pattern: Any, subject: Value, state: State) -> None:
        for name in pattern.names:
            state.bind(name, self.values.make(frozenset(o for o in self.deep(state, subject)), name=name,
                                              same=subject.same if pattern.kind == "capture" else NOTHING,
                                              objs=subject.objs if pattern.kind == "capture" else NOTHING,
                                              typ=subject.typ if pattern.kind == "capture" else None))

    def copy_container(self, value: Value, node: Any, state: State, extra: Any = 0) -> Value:
        """`dict(x)`, `list(x)`, `x[:]`, `copy(x)`: a new container with the same members; changing it does not change x."""
        fields: dict = {}
        elem: Optional[Value] = None
        kind = "list"
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            kind = "dict" if obj.kind == "dict" or any(k.startswith("['") for k in obj.fields) else kind
            for name, inner in obj.fields.items():
                if not name.startswith("["):
                    continue
                fields[name] = inner if name not in fields else self.values.join(fields[name], inner)
            if obj.elem is not None:
                elem = obj.elem if elem is None else self.values.join(elem, obj.elem)
            if obj.kind in ("row", "path", "part") and obj.origin is not None:
                more = self.values.origin(obj.origin.at("[*]"))
                elem = more if elem is None else self.values.join(elem, more)
        if not value.objs:
            elem = self.values.make(frozenset(o.at("[*]") for o in value.origins))
        copied = self.container(node, kind, state, fields, elem, extra)
        return self.values.replace(copied, origins=(copied.origins | value.origins) - {CONST} or copied.origins, name=value.name)


#: Flags that a part inherits from the whole.
#: Entries of a mapping that a comprehension is evaluated over one by one.
MAX_UNROLLED = 8
_OF_MEMBER = frozenset(("value", "name", "label"))  # what a member of an enum has
_MINUS = frozenset(("minus",))  # something was taken from it
_STICKY = frozenset(("private", "sqlite", "serializable", "autocommit", "attempt", "repeatable"))
_QUERYISH = frozenset(("manager", "statement"))


def _scattered(obj: Obj) -> Obj:
    """The object once any of its members may have been set: what it was spread from does not tell them any more."""
    return obj.but(fields={name: value for name, value in obj.fields.items() if name != "@spread"}) if "@spread" in obj.fields else obj


def _is_item(path: tuple) -> bool:
    return path[0].startswith("[")


def _is_formed(node: Any) -> bool:
    """Is this expression one call, a slice, or a choice between such and a constant?"""
    if isinstance(node, ir.Await):
        return _is_formed(node.value)
    if isinstance(node, ir.IfExp):
        return all(isinstance(branch, ir.Const) or _is_formed(branch) for branch in (node.body, node.orelse))
    return isinstance(node, ir.Call) or isinstance(node, ir.Sub) and isinstance(node.index, ir.Slice)


def _key_text(index: Value) -> str:
    return ",".join(sorted(f"{o.kind}{o.n}{''.join(map(str, o.path))}" for o in index.same)) or "*"


def _is_text(value: Value) -> bool:
    return type(value.shape) is Template or (type(value.shape) is Lit and isinstance(value.shape.value, str))


def _not_number(value: Value, state: State) -> bool:
    """Certainly no number: text, a list, dict or set made here."""
    if _is_text(value) or "text" in value.flags:
        return True
    return any(state.heap[oid].kind in ("dict", "list", "tuple") for oid in value.objs if oid in state.heap)


def _split_percent(text: str) -> Any:
    """`"a %s b %(x)d"` → [('text', 'a '), ('hole', ''), …]."""
    pieces: list = []
    i = 0
    plain = ""
    while i < len(text):
        if text[i] != "%" or i + 1 >= len(text):
            plain += text[i]
            i += 1
            continue
        if text[i + 1] == "%":
            plain += "%"
            i += 2
            continue
        j = i + 1
        name = ""
        if text[j] == "(":
            end = text.find(")", j)
            if end < 0:
                plain += text[i]
                i += 1
                continue
            name = text[j + 1:end]
            j = end + 1
        while j < len(text) and text[j] in "#0- +.123456789":
            j += 1
        if j >= len(text) or text[j] not in "diouxXeEfFgGcrsa":
            plain += text[i]
            i += 1
            continue
        if plain:
            pieces.append(("text", plain))
            plain = ""
        pieces.append(("hole", name))
        i = j + 1
    if plain:
        pieces.append(("text", plain))
    return pieces


_EXPRESSIONS = {
    ir.Const: Evaluator._const, ir.Name: Evaluator._name, ir.Attr: Evaluator._attr, ir.Sub: Evaluator._sub, ir.Slice: Evaluator._slice,
    ir.Bin: Evaluator._bin, ir.Unary: Evaluator._unary, ir.BoolOp: Evaluator._bool_op, ir.Compare: Evaluator._compare,
    ir.IfExp: Evaluator._if_exp, ir.Lambda: Evaluator._lambda, ir.TupleX: Evaluator._tuple, ir.ListX: Evaluator._list,
    ir.SetX: Evaluator._set, ir.DictX: Evaluator._dict, ir.Comp: Evaluator._comp, ir.FString: Evaluator._fstring,
    ir.Await: Evaluator._await, ir.Yield: Evaluator._yield, ir.YieldFrom: Evaluator._yield_from, ir.Walrus: Evaluator._walrus,
    ir.Starred: Evaluator._starred, ir.Call: lambda self, node, state: self.call(node, state),
}
