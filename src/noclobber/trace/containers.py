"""Dicts, lists, tuples and sets: displays, their known members, copies."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .objects import Obj, State
from .values import CONST, EXCEPT, NOT, NOTHING, Lit, Template, Value, words_in

STICKY = frozenset(("private", "sqlite", "serializable", "autocommit", "attempt", "repeatable"))


class Containers:
    """Mixin of Walker."""

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
        return self.values.make(frozenset(o.at("[*]") for o in value.origins), name=value.name, flags=value.flags & STICKY)

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
