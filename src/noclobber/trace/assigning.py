"""Assignment to names, attributes, items and patterns, and changes in place."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Change, Site
from .objects import Obj, State
from .operators import is_text
from .values import CONST, NOTHING, Origin, Value


class Assigning:
    """Mixin of Walker."""

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
                    if not str(path[0]).startswith("<"):
                        self.seen_from_caller(event, node)
                    event.takes = op == "mutate" and isinstance(node, ir.Call) and getattr(node.func, "name", "") in ("remove", "discard")
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

    def seen_from_caller(self, event: Change, node: Any) -> None:
        """`for name, value in fields.items(): setattr(row, name, value)` in a helper: the caller has named the column, so it is its call that changes it."""
        calls = event.ctx.calls
        if calls and len(calls[-1]) == 2 and isinstance(calls[-1][1], Site) and calls == self.frames[-1].calls and _is_named_elsewhere(node, self.frames[-1].entry or {}):
            event.site, event.ctx = calls[-1][1], event.ctx._replace(calls=calls[:-1])

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
            if current.objs and node.op in ("+", "|", "-", "&") and not is_text(added) and not isinstance(added.literal, (int, float)):
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


def _is_named_elsewhere(node: Any, handed: dict) -> bool:
    """Is it a `setattr(row, name, …)` whose name is no literal, or a `row.sqlmodel_update(data)` of a mapping that was handed in?"""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
        return bool(node.args) and all(isinstance(arg.value, ir.Name) and arg.value.id in handed for arg in node.args)
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "setattr" and len(node.args) == 3 and not isinstance(node.args[1].value, (ir.Const, ir.FString))
