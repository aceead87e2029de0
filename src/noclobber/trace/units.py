"""Units of work: what a session loads, holds, flushes and drops."""
from __future__ import annotations

from typing import Any, Optional

from .events import Expire, Lock, Pending, Precondition
from .frames import Elsewhere
from .objects import Obj, State
from .queries import KEEP, LOOKUPS
from .values import NOTHING, Query, Value


class Units:
    """Mixin of Walker."""

    # --- sessions --------------------------------------------------------------------------------------------------------------------
    def op_load(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`session.get(Entity, ident)`, `get_object_or_404(Model, pk=…)`."""
        tables = bound.by_role.get("table", ())
        if not tables:
            return None
        entity = tables[0][1]
        if entity.query is not None:
            value = entity
        else:
            if entity.shape is not None or doubt and not self.may_be_entity(entity):
                return None  # `session.get("cart")` of a web framework
            value = self.values.make(entity.origins, query=Query((spec.entry.kind, spec.entry.id), "select", (entity,)),
                                     flags=receiver.flags & KEEP if receiver is not None else NOTHING)
        query = value.query
        idents = bound.by_role.get("ident", ())
        if not idents and spec.signature.requires("ident"):
            return None  # `cache.get(entry)`
        for _, ident in idents:
            query = query._replace(filters=query.filters + (("pk", "=", self.flat(state, ident)),))
        filters = [(name, v) for name, v in bound.by_role.get("filter", ())]
        for name, v in list(filters):
            if v.ref is not None and v.ref[0] == "pred":
                filters.remove((name, v))
                query = query._replace(filters=query.filters + tuple(self._predicate(v)))
        for name, v in filters:
            column, _, lookup = name.partition(spec.get("lookup_separator") or "\0")
            query = query._replace(filters=query.filters + ((column, LOOKUPS.get(lookup, "=") if lookup else "=", self.flat(state, v)),))
        if self.given(bound, "lock"):
            query = query._replace(flags=query.flags | {"lock"} | {f"noop:{b}" for b in spec.get("noop_on") or ()})
        fresh = args.get("populate_existing")
        if fresh is not None and fresh.literal is True:
            query = query._replace(flags=query.flags | {"fresh"})
        value = self.values.replace(value, query=query)
        if receiver is not None and "serializable" in receiver.flags:
            state.held |= {Lock("serializable", 0, "session")}
        row = self.select_rows(value, "one", node, state, spec, session=receiver)
        return row

    def may_be_entity(self, value: Value) -> bool:
        """Something that may be a mapped class: a class, or a name as such have (`self.model`, `cls`, `entity`)."""
        return self.is_entity(value) or self.vocabulary.match("entity_argument", value.name or "_")

    def op_many(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        row = self.op_load(spec, bound, receiver, args, node, state, doubt)
        return self.container(node, "list", state, {}, row, "rows") if row is not None else None

    def op_scalar(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`count(p for p in Part)`."""
        rows = bound.first("table")
        return self.q_scalar(spec, bound, rows, args, node, state) if rows is not None and rows.query is not None else None

    def op_reload(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`session.refresh(obj)`."""
        target = bound.first("instance")
        if target is None:
            return None
        base_node = node.args[0].value if getattr(node, "args", None) else None
        if not target.objs:
            with_object = self.as_object(target, state)
            self.rebind(base_node, target, with_object, state)
            target = with_object
        for oid in target.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            if obj.model is None:
                state.put(oid, obj.but(model=((spec.entry.kind, spec.entry.id), None), session=receiver))
            self.reload_object(oid, spec, bound, args, node, state)
        return self.values.none

    def op_add(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`session.add(obj)`: a new object will be inserted, a loaded one stays what it is."""
        self.note_pending(spec, receiver, args, node, state)
        for value in args.all():
            self.attach(value, receiver, state)
            for part in self.parts(state, value):
                for oid in part.objs:
                    obj = state.heap.get(oid)
                    if obj is None:
                        continue
                    if obj.kind in ("path",) and obj.model is None and obj.pending:
                        state.put(oid, obj.but(model=((spec.entry.kind, spec.entry.id), None), session=receiver))
                    elif spec.entry.fields.get("unit_of_work") and (obj.kind == "new" or obj.kind == "instance" and obj.new and self.unit_entry(obj) is not None):
                        self.create_object(oid, obj, self.object_record(oid, obj, spec.entry, state), spec, node, state)
                        created = self.written_at(node, ("new", oid))
                        created.session = receiver
                        self.added.add(created.n)
        return self.values.none

    def note_pending(self, spec: Any, receiver: Optional[Value], args: Any, node: Any, state: State) -> None:
        """A unit of work inserts and deletes at its flush what it was given before."""
        if spec.entry.fields.get("unit_of_work"):
            given = [state.heap[oid].label for value in args.all() for oid in value.objs if oid in state.heap]
            self.passes(self.event(Pending, node, state, label=next(iter(given), "") or "the object", session=receiver, objs=self._objects(args.all())), state)

    @staticmethod
    def _objects(values: list) -> frozenset:
        return frozenset().union(*(value.objs for value in values)) if values else NOTHING

    def op_merge(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.note_pending(spec, receiver, args, node, state)
        for value in args.all():
            self.attach(value, receiver, state)
        given = bound.first("instance") or self.values.unknown
        for oid in given.objs:
            obj = state.heap.get(oid)
            rest = obj.fields.get("@rest") if obj is not None else None
            if rest is not None and obj.kind in ("new", "instance") and obj.new:
                # Made of a mapping that was filled elsewhere, some time ago: every column of it goes over the row.
                payload = self.values.derived([self.flat(state, v) for v in obj.fields.values()])
                self.write(node, state, record=self.object_record(oid, obj, spec.entry, state), verb="update", payload=payload, spec=spec, full=True, text="merge", extra=("merge", oid))
        return given

    def op_remove(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`session.delete(order)`, `engine.delete(order)`: the row goes, at the flush or at once."""
        self.note_pending(spec, receiver, args, node, state)
        for _, target in bound.by_role.get("instance", ()):
            for oid in sorted(target.objs):
                obj = state.heap.get(oid)
                if obj is None or obj.kind != "row" or obj.new or obj.detached:
                    continue
                versioned = self.version_guard(obj)
                gone = self.write(node, state, record=self.object_record(oid, obj, spec.entry, state), verb="delete", payload=self.values.const(None), spec=spec,
                                  preconditions=(Precondition("witness", "version column", self.values.unknown),) if versioned else (), outcome="raises" if versioned else "none",
                                  conflict=(), extra=("gone", oid))
                for origin in gone.same:
                    self.trace.events[origin.n].session = receiver
                    self.trace.events[origin.n].model = self.model_class(obj)
        return self.values.none

    def op_mutation(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`flag_modified(obj, "field")`: the in-place change of a JSON column is written after all."""
        given = args.all()
        if len(given) > 1 and given[1].text:
            for oid in given[0].objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    state.put(oid, obj.but(fields={**obj.fields, f"@flagged:{given[1].text}": self.values.const(True)}))
        return self.values.none

    def op_expire(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.event(Expire, node, state)
        self.session_expired(state)
        return self.values.none

    def session_expired(self, state: State) -> None:
        """From here on the session answers with what the database holds, not with what it remembers."""
        state.done |= {(region.id, "expired") for region in self.regions}

    def has_identity_map(self, query: Query) -> bool:
        entry = self.vocabulary.entry(*query.entry)
        if entry is not None and entry.kind == "builder":
            entry = self.vocabulary.entry("orm", self.builder_orm(entry.id))
        return entry is not None and bool(entry.fields.get("unit_of_work"))

    def tracked_change(self, oid: int, path: tuple, event: Any, state: State, node: Any) -> None:
        """A change of a loaded object; a hook for units of work that write at once."""

    def flush_units(self, session: Optional[Value], node: Any, state: State, spec: Any, commit: Optional[int]) -> None:
        """A flush or commit: every changed object of a unit of work goes to its row."""
        for oid in sorted(state.heap):
            obj = state.heap[oid]
            if not obj.pending or obj.kind not in ("row", "part", "path", "instance"):
                continue
            entry = self.unit_entry(obj)
            if entry is None:
                continue
            if obj.detached or self.other_session(session, obj.session):
                continue
            self.flush_object(oid, obj, entry, node, state, spec, commit, doubt=self.session_doubt(session, obj.session))

    def flush_object(self, oid: int, obj: Obj, entry: Any, node: Any, state: State, spec: Any, commit: Optional[int],
                     commit_unseen: bool = False, doubt: str = "") -> None:
        """commit_unseen: the commit is somewhere in a caller; then in-place changes, which may be of no column, do not count. doubt: a reason, or ''."""
        written = set()
        doubts = "class-unknown" if obj.cls is None else ""
        for path, n in obj.pending:
            if path[0].startswith(("[", "_", "<*")) or not all(step.startswith("[") for step in path[1:]):
                continue
            if len(path) == 1 and self.is_no_column(obj, str(path[0])):
                continue
            if len(path) > 1 and (node is None or commit_unseen or not self.in_place_written(obj, path[0], self.trace.events[n], state)):
                continue
            if len(path) == 1 and self.is_own_part(oid, path[0], self.trace.events[n], state) and not self.in_place_written(obj, path[0], self.trace.events[n], state):
                continue
            written.add((path, n))
        skipped = obj.pending - written
        if not written:
            return
        state.put(oid, obj.but(pending=frozenset(written)))
        outcome = self.persist_object(oid, entry, spec, node, state, None, doubts, unit=True, commit=commit, extra=("unit", oid))
        for origin in outcome.same:
            event = self.trace.events[origin.n]
            event.owed = commit_unseen
            event.doubts |= frozenset((doubt,)) if doubt else NOTHING
        state.put(oid, state.heap[oid].but(pending=frozenset(m for m in skipped if len(m[0]) > 1 and not m[0][1].startswith("["))))

    def is_no_column(self, obj: Obj, name: str) -> bool:
        """`run.flow_name = name`, of a mapped class all of whose bases are known and none of which has such an attribute: it stays with the object."""
        cls = self.model_class(obj)
        if cls is None or not all(self.vocabulary.listed("base", base) for base in cls.library_bases()):
            return False
        declared = [names for owner in cls.mro() for names in (owner.info.assigns, owner.info.annotations, owner.info.methods)]
        return any("__tablename__" in names for names in declared) and not any(name in names or "__table__" in names for names in declared)

    @staticmethod
    def is_own_part(oid: int, field: str, change: Any, state: State) -> bool:
        """`settings = row.settings; settings["on"] = True; row.settings = settings`: the very object that the field held; the unit of work sees no change in that."""
        parts = [state.heap[o] for o in change.value.objs if o in state.heap]
        return any(part.kind == "part" and part.parent == (oid, field) for part in parts)

    def in_place_written(self, obj: Obj, field: str, change: Any, state: State) -> bool:
        """In-place changes of a plain JSON column are not seen by the unit of work: only with flag_modified or a Mutable type.

        Of an unknown type it may be one; but what appends an object that was not made of literals here is a relationship.
        """
        if f"@flagged:{field}" in obj.fields:
            return True
        if obj.cls is None or isinstance(obj.cls, str):
            return change.op != "mutate" or "plain" in change.value.flags
        text = obj.cls.text_of(field)
        return not text or "Mutable" in text or "mutable" in text

    def unit_entry(self, obj: Obj) -> Any:
        if obj.model is not None:
            entry = self.vocabulary.entry(*obj.model[0])
            return entry if entry is not None and entry.fields.get("unit_of_work") else None
        cls = obj.cls
        if isinstance(cls, str) and cls.startswith("class:"):
            cls = self.ask.klass_of(cls)
        if cls is not None and not isinstance(cls, str):
            entry = self.orm_of_class(cls)
            return entry if entry is not None and entry.fields.get("unit_of_work") else None
        return None

    def drop_units(self, state: State) -> None:
        for oid, obj in list(state.heap.items()):
            if obj.pending and self.unit_entry(obj) is not None:
                state.put(oid, obj.but(pending=NOTHING))

    def root_ends(self, state: State) -> None:
        """Where the function ends, objects read from a session that it did not open are still to be committed, by whom that is."""
        for oid in sorted(state.heap):
            obj = state.heap[oid]
            if obj.kind != "row" or not obj.pending or obj.detached or obj.session is None or "opened" in obj.session.flags:
                continue
            entry = self.unit_entry(obj)
            if entry is None:
                continue
            first = min((n for _, n in obj.pending), default=None)
            if first is None:
                continue
            self.flush_object(oid, obj, entry, Elsewhere(self.trace.events[first]), state, None, None, commit_unseen=True)
