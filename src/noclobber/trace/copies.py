"""Copies of an object with other fields: `dataclasses.replace`, `row._replace`, `model.model_copy(update=…)`."""
from __future__ import annotations

from typing import Any

from .objects import Obj, State
from .values import CONST, Value


def with_changes(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`dataclasses.replace(obj, **changes)`, `row._replace(**changes)`: a copy with other fields."""
    value = args.positional[0].value if args.positional else None
    if value is None:
        return walker.values.unknown
    return _changed_copy(walker, value, {name: a.value for name, a in args.keywords}, walker._union(args.all()), node, state)


def model_copy(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`model.model_copy(update={…})`."""
    value, update = args.positional[0].value, args.get("update")
    found = walker.entries(update, state) if update is not None else ({}, None)
    if found is None or found[1] is not None:
        return walker.values.derived(args.all())
    return _changed_copy(walker, value, found[0], walker._union(args.all()).union(*(v.origins for v in found[0].values())), node, state)


def _changed_copy(walker: Any, value: Value, changes: dict, given: frozenset, node: Any, state: State) -> Value:
    origins = given | walker.deep(state, value)
    oid = walker.object_id(node, "copy")
    fields: dict = {}
    cls = loaded_row = None
    for old in value.objs:
        obj = state.heap.get(old)
        if obj is not None:
            fields.update(obj.fields)
            cls = obj.cls
            loaded_row = obj if len(value.objs) == 1 and obj.kind in ("path", "row", "part") and obj.origin is not None else None
    fields.update(changes)
    if loaded_row is not None and cls is None:
        state.put(oid, Obj("path", loaded_row.origin, fields=fields, label=loaded_row.label, read=loaded_row.read))  # what is not replaced is the row's
    else:
        state.put(oid, Obj("instance" if cls is not None and not isinstance(cls, str) else "new", None, fields=fields, cls=cls, new=True))
    return walker.values.make(origins - {CONST} or origins, objs=frozenset((oid,)), typ=value.typ)
