"""Methods of one loaded object: saving, creating, reloading and removing its row."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Lock, Precondition, Read, Record
from .models import packages_of
from .objects import Obj, State
from .values import NOTHING, Origin, Value

#: What a method of a loaded object may be.
_OBJECT_OPS = frozenset(("persist", "reload", "remove", "assign", "set_write"))


class Instances:
    """Mixin of Walker."""

    def instance_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """save(), refresh_from_db(), delete() of a model object."""
        if not self.vocabulary_has_instance_method(name):
            return None
        result: Optional[Value] = None
        value = receiver
        if not value.objs:
            entry, _ = self.orm_of(value, None, name, args, state)
            if entry is None:
                return None
            value = self._with_object(value, node, state)
        for oid in sorted(value.objs):
            obj = state.heap.get(oid)
            if obj is None:
                continue
            entry, doubt = self.orm_of(value, obj, name, args, state)
            if entry is None:
                continue
            for spec in entry.specs:
                if spec.signature.last != name or spec.op not in _OBJECT_OPS or spec.op == "set_write" and entry.fields.get("related_managers"):
                    continue  # `order.lines.update(…)` is of other rows
                if spec.signature.param("instance") is not None or spec.signature.param("entity") is not None:
                    continue
                bound = self.fit(spec, args)
                if bound is None:
                    continue
                result = self.values.none
                if spec.op == "persist":
                    result = self.persist_object(oid, entry, spec, node, state, self.column_names(bound, state), doubt, bound=bound)
                    if len(value.same) > 1 and ("write", id(self.site(node).at), self.frames[-1].calls, ("obj", oid)) in self.index:
                        self.written_at(node, ("obj", oid)).either = True
                elif spec.op == "reload":
                    self.reload_object(oid, spec, bound, args, node, state)
                elif spec.op == "assign":
                    self.object_assign(oid, spec, args, node, state)
                    result = value
                elif spec.op == "set_write":
                    result = self.object_set_write(oid, obj, entry, spec, bound, args, node, state)
                else:
                    self.write(node, state, record=self.object_record(oid, obj, entry, state), verb="delete", payload=self.values.const(None), spec=spec)
                break
        return result

    def awaited_later(self, receiver: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """`await Order.get(id=key).prefetch_related("lines")`: between a load and its `await` stands what only shapes the query; the row stays the row."""
        if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr) or not isinstance(node.func.value, ir.Call):
            return None
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            entry = self.vocabulary.entry(*obj.model[0]) if obj is not None and obj.kind == "row" and obj.model is not None else None
            if entry is None or not entry.fields.get("awaitable") or any(spec.signature.last == name and spec.op != "chain" for spec in entry.specs):
                return None
        return receiver if receiver.objs else None

    def is_query_method(self, name: str) -> bool:
        known = self.shared.get("query methods")
        if known is None:
            known = self.shared["query methods"] = frozenset(
                s.signature.last for entry in self.vocabulary.entries("orm") for s in entry.specs if s.op in ("filter", "many", "scalar", "check_exists"))
        return name in known

    def vocabulary_has_instance_method(self, name: str) -> bool:
        known = self._instance_methods
        if known is None:
            known = self._instance_methods = frozenset(
                s.signature.last for entry in self.vocabulary.entries("orm") for s in entry.specs
                if s.op in _OBJECT_OPS and s.signature.param("instance") is None and s.signature.param("entity") is None)
        return name in known

    def object_record(self, oid: int, obj: Obj, entry: Any, state: State) -> Record:
        entity = obj.model[1] if obj.model is not None else None
        label = obj.label or self.entity_label(entity, state)
        table = self.table_key(entity, state) if entity is not None else ((obj.cls.table_name() or obj.cls.type_name,) if obj.cls is not None and not isinstance(obj.cls, str)
                                                                          else (obj.cls,) if obj.cls else None)
        key = (("pk", self.values.origin(obj.origin.at("pk"))),) if obj.origin is not None else ()
        return Record("orm", entry.id, table, key, oid, label)

    def is_composite(self, obj: Obj, name: str, columns: frozenset) -> bool:
        """`order.total = Money(…)`, saved as `total_amount` and `total_currency`: an attribute that several columns stand behind."""
        if not any(column.startswith(name + "_") for column in columns):
            return False
        cls = self.model_class(obj)
        call = cls.field_call(name) if cls is not None else None
        entry = self.orm_of_class(cls) if cls is not None else None
        return call is None or entry is None or packages_of(entry).isdisjoint({call[0].partition(".")[0]})

    def row_label(self, label: str, obj: Obj, node: Any) -> str:
        """What a finding calls a saved row: its class, else the variable that it is saved through, not the helper or relation it came from."""
        if label[:1].isupper():
            return label
        cls = self.model_class(obj)
        if cls is not None:
            return cls.name
        receiver = node.func.value if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else None
        return receiver.id if isinstance(receiver, ir.Name) and receiver.id not in ("self", "cls") else label

    def persist_object(self, oid: int, entry: Any, spec: Any, node: Any, state: State, columns: Optional[frozenset], doubt: str,
                       unit: bool = False, commit: Optional[int] = None, extra: Any = 0, bound: Any = None) -> Value:
        """The object's changed fields go to its row."""
        obj = state.heap[oid]
        record = self.object_record(oid, obj, entry, state)
        record = record._replace(label=self.row_label(record.label, obj, node))
        if obj.new or obj.kind == "new" or self.is_copy(obj, bound):
            return self.create_object(oid, obj, record, spec, node, state)
        own = [(path, n) for path, n in obj.pending if not path[0].startswith(("[", "_", "<*"))
               and all(step.startswith("[") or self.is_embedded(obj, entry, path[0]) for step in path[1:])]
        if entry.fields.get("item_changes"):
            own = [(path, n) for path, n in own if not self.writes_item_alone(path, self.trace.events[n])]
        if columns is not None and "*" not in columns:
            own = [(path, n) for path, n in own if path[0] in columns or self.is_composite(obj, path[0], columns)]
        elif columns is not None:
            own = [(path, n) for path, n in own if f"-{path[0]}" not in columns]
        changes = frozenset((n, path) for path, n in own)
        fields = {path[0] for path, _ in own}
        payload = self.values.derived([self.trace.events[n].value for n, _ in sorted(changes)] or [self.values.const(None)])
        doubts: set = set()
        if doubt:
            doubts.add(doubt)
        if obj.origin is not None and obj.origin.kind == "param" and obj.read is None:
            doubts.add("parameter")
        if obj.handed:
            doubts.add("handed-over")
        versioned = not (spec is not None and spec.get("unversioned")) and (self.version_guard(obj) or self.optimistic_guard(entry, obj, changes, state))
        preconditions = (Precondition("witness", "version column", self.values.unknown),) if versioned else ()
        if bound is not None and bound.by_role.get("precondition"):
            preconditions += self.preconditions_of(spec, bound, None, state)
        writes_all = columns is None and not unit and not (spec is not None and spec.get("writes") == "changed columns")
        value = self.write(
            node, state, record=record, verb="update", payload=payload, preconditions=preconditions, spec=spec,
            columns=tuple((f, self.flat(state, obj.fields[f])) for f in sorted(fields) if f in obj.fields), changes=changes,
            base=frozenset((obj.origin, Origin("read", obj.read)) if obj.read is not None and obj.kind != "part" else (obj.origin,)), full=writes_all, unit=unit,
            doubts=frozenset(doubts), outcome="raises" if versioned else "none", conflict=("raises StaleDataError",) if versioned else (), extra=extra or ("obj", oid),
        )
        event = self.written_at(node, extra or ("obj", oid))
        event.commit, event.session = commit, obj.session
        event.model = self.model_class(obj)
        event.alone = writes_all and self.leaves_nothing(event.model, {str(path[0]) for _, path in changes})
        if unit and versioned:
            self.note_mapped_version(event, self.model_class(obj), fields, around=False)
        current = state.heap[oid]
        left = frozenset(mark for mark in current.pending if mark not in set(own))
        state.put(oid, current.but(pending=left))
        return value

    def create_object(self, oid: int, obj: Obj, record: Record, spec: Any, node: Any, state: State) -> Value:
        """A new object goes to a row of its own."""
        own = {name: self.flat(state, value) for name, value in obj.fields.items() if not name.startswith(("@", "[", "<", "_"))}
        payload = self.values.derived([self.flat(state, v) for v in obj.fields.values()] or [self.values.const(None)])
        value = self.write(node, state, record=record, verb="create", payload=payload, spec=spec, columns=tuple(own.items()), extra=("new", oid))
        event = self.written_at(node, ("new", oid))
        cls = self.model_class(obj)
        if cls is not None:
            self.note_unique(event, self.class_value(cls))
        if obj.origin is not None:
            event.base |= {obj.origin}
        event.keys = self.keys_of(cls)
        event.handled = event.handled or self.created_before(oid, event.n) or self.saves_by_key(spec, event)
        return value

    def created_before(self, oid: int, n: int) -> bool:
        """A new object is created once: by create(), where a session was given it, or by its first save."""
        return self.first_creates.setdefault(oid, n) < n

    def saves_by_key(self, spec: Any, event: Any) -> bool:
        """`Model(id=known).save()`, where the ORM then updates the row with that key if there is one: two of it never come about."""
        if spec is None or spec.op != "persist" or not spec.entry.fields.get("save_upserts"):
            return False
        # A key that was only looked at is none that was set.
        given = {name for name, value in event.columns or () if not any(o.path and o._replace(path=o.path[:-1]) in event.base for o in value.same)}
        return bool(event.keys) and all(key in given or len(event.keys) == 1 and given & {"pk", "id"} for key in event.keys)

    @staticmethod
    def writes_item_alone(path: tuple, change: Any) -> bool:
        """`doc.labels[key] = value`, where the ORM writes the changed key only: a value that owes nothing to what was loaded."""
        if len(path) < 2 or change.op != "item":
            return False
        return not any(o.kind == base.kind and o.n == base.n and len(o.path) > len(base.path) and o.path[:len(base.path)] == base.path
                       for o in change.value.origins for base in change.base)

    def is_embedded(self, obj: Obj, entry: Any, name: str) -> bool:
        """`doc.shelf.pieces` is part of the document, unless the field holds a reference to another."""
        if not entry.fields.get("embedded"):
            return False
        cls = self.model_class(obj)
        return cls is None or not self.is_relation_field(cls, name)

    def is_copy(self, obj: Obj, bound: Any) -> bool:
        """`obj.pk = None; obj.save()`, `save(force_insert=True)`: the values go to a new row."""
        for name in ("pk", "id"):
            key = obj.fields.get(name)
            if key is not None and key.is_none:
                return True
        forced = bound.by_name.get("force_insert") if bound is not None else None
        return forced is not None and forced.literal is True

    def version_guard(self, obj: Obj) -> bool:
        """A version column that the ORM itself checks."""
        cls = obj.cls
        if cls is None and obj.model is not None and obj.model[1] is not None and obj.model[1].ref is not None and obj.model[1].ref[0] == "class":
            cls = obj.model[1].ref[1]
        if cls is None or isinstance(cls, str):
            return False
        markers = [m for entry in self.vocabulary.entries("orm") for m in entry.fields.get("version_markers", ()) or ()]
        return any(cls.mentions(marker) for marker in markers)

    def reload_object(self, oid: int, spec: Any, bound: Any, args: Any, node: Any, state: State) -> None:
        obj = state.heap[oid]
        entry = spec.entry
        record = self.object_record(oid, obj, entry, state)
        event = self.event(Read, node, state, ("reload", oid), record=record, columns=None, lock=None, many=False, cached=False, spec=spec)
        self.throw_io(state, node, spec)
        locked = False
        for value in args.all():
            if value.query is not None and "lock" in value.query.flags:
                locked = True
        for _, value in self.given(bound, "lock"):
            locked = True
        flags = obj.session.flags if obj.session is not None else NOTHING
        if locked and not flags & {"sqlite", "autocommit"}:
            event.lock = Lock("row", event.n, "tx", record, event.n)
            self.take(event.lock, state)
        names = None
        for _, value in bound.by_role.get("columns", ()):
            known = self.known_items(value, state)
            if known is not None and all(v.text for v in known):
                names = {v.text for v in known}
        if names is None:
            state.put(oid, obj.but(origin=Origin("read", event.n), fields={}, read=event.n, changed=NOTHING, pending=NOTHING, handed=False))
        else:
            fields = dict(obj.fields)
            for name in names:
                fields[name] = self.values.origin(Origin("read", event.n, (name,)))
            keep = frozenset(m for m in obj.pending if m[0][0] not in names)
            if not locked and obj.origin is not None:
                # Some columns (or a relation) are read anew: the row is still the one that was loaded before.
                fields.update((name, self.values.origin(obj.origin.at(name))) for name in names)
            state.put(oid, obj.but(fields=fields, read=event.n if locked or obj.origin is None else obj.read, pending=keep, changed=keep))
