"""What running a statement gives and writes: rows, their records and keys, changes by query."""
from __future__ import annotations

from typing import Any, Optional

from .events import Lock, Read, Record
from .modelclasses import is_class_name
from .objects import Obj, State
from .values import NOTHING, SERVER, Origin, Query, Value

_COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "in", "is": "is"}


class Rows:
    """Mixin of Walker."""

    # --- running queries ---------------------------------------------------------------------------------------------------------
    def run_query(self, statement: Value, receiver: Optional[Value], spec: Any, node: Any, state: State, doubt: str) -> Value:
        query = statement.query
        self.throw_io(state, node, spec)
        if receiver is not None:
            if "serializable" in receiver.flags:
                state.held |= {Lock("serializable", 0, "session")}
        if any("advisory" in v.flags for v in query.entity):
            self.hold_advisory(node, state, tuple(v.name for v in query.entity if "advisory" in v.flags))
            return self.values.unknown
        if query.verb == "select":
            row = self.select_rows(statement, "row", node, state, spec, session=receiver)
            return self.result_of(spec, receiver, row, node, state) if not spec.get("rows") else self._rows_of(row, spec, node, state)
        verb = {"update": "update", "delete": "delete", "insert": "create", "upsert": "upsert"}.get(query.verb, "update")
        value = self.query_write(statement, verb, spec, node, state, receiver)
        return self.result_of(spec, receiver, value, node, state)

    def _rows_of(self, row: Value, spec: Any, node: Any, state: State) -> Value:
        rows = spec.get("rows")
        if rows == "value":
            return self.first_column(row, node, state)
        return self.rows_value(row, rows, node, state)

    def table_key(self, value: Optional[Value], state: Optional[State] = None) -> Any:
        """What identifies the table of an entity: its literal name where known, else the class, else the value."""
        if value is None:
            return None
        if value.ref is not None and value.ref[0] in ("column", "expression"):
            return self.table_key(value.ref[1], state)
        if value.ref is not None and value.ref[0] == "columns":
            return self.table_key(value.ref[1], state)
        if value.ref is not None and value.ref[0] == "class":
            name = value.ref[1].table_name()
            return (name.lower(),) if name else (value.ref[1].type_name,)
        if value.dotted:
            return (value.dotted,)
        if state is not None:
            for name, key in self.receiver_keys(value, state).items():
                if key.text is not None:
                    return (key.text.lower(),)
        return (value,)

    def entity_label(self, value: Optional[Value], state: Optional[State] = None) -> str:
        if value is None:
            return "row"
        if value.ref is not None and value.ref[0] in ("column", "columns", "expression"):
            return self.entity_label(value.ref[1], state)
        if value.ref is not None and value.ref[0] == "class":
            return value.ref[1].name
        if value.dotted:
            return value.dotted.rsplit(".", 1)[-1]
        key = self.table_key(value, state)
        if key and isinstance(key[0], str):
            return key[0]
        return value.name or "row"

    def query_record(self, value: Value, state: State, written: Any = None) -> Record:
        query = value.query
        entity = query.entity[0] if query.entity else None
        key = tuple((self.key_name(column), v) for column, op, v in query.filters if op == "=" and column)
        key += tuple((column + " in", v) for column, op, v in query.filters if op == "in" and column)
        family = "sql" if query.entry[0] == "builder" and self.is_core(query) else "orm"
        return Record(family, "sql" if family == "sql" else query.entry[1], self.table_key(entity, state), key, None, self.entity_label(entity, state))

    @staticmethod
    def key_name(column: str) -> str:
        return "pk" if column in ("id", "pk") else column

    def is_core(self, query: Query) -> bool:
        """Over Table objects, not over mapped classes."""
        return bool(query.entity) and not any(self.is_entity(v) for v in query.entity)

    def is_entity(self, value: Value) -> bool:
        ref = value.ref
        if ref is None:
            return False
        if ref[0] == "class":
            return True
        if ref[0] in ("column", "expression"):
            return self.is_entity(ref[1])
        return ref[0] == "dotted" and is_class_name(ref[1].rsplit(".", 1)[-1])

    def select_rows(self, value: Value, how: str, node: Any, state: State, spec: Any = None, session: Optional[Value] = None) -> Value:
        """Evaluate a select. how: 'one' object, 'many', 'scalar', 'row' (of a result)."""
        query = value.query
        core = query.entry[0] == "builder" and self.is_core(query)
        record = self.query_record(value, state)
        columns = None
        names = [v.ref[2] if v.ref is not None and v.ref[0] in ("column", "expression") else None for v in query.entity]
        if names and all(names):
            columns = tuple(n.lower() for n in names)
        event = self.event(Read, node, state, "q", record=record, columns=columns, lock=None, many=how == "many", cached=False, spec=spec)
        event.partial = event.partial or "partial" in query.flags
        event.open_filter, event.ordered = "open" in query.flags, "ordered" in query.flags
        event.of_new = event.of_new is not False and self.asks_for_new(query, state)
        event.aggregate = how == "scalar" or "probe" in query.flags or any(v.ref is not None and v.ref[0] == "expression" for v in query.entity)
        if how != "many":
            for tried in self.tried_reads:
                tried.add(event.n)
            if any(self.vocabulary.match("not_found", name.replace(":", ".")) for names in self.caught for name in names):
                self.throw(state, frozenset(("DoesNotExist",)), ("missing", event.n))
        event.session = session if session is not None else query.session
        event.filters = tuple((column, op, v) for column, op, v in query.filters if column and not op.startswith("or "))
        self.lock_used(value)
        self.throw_io(state, node, spec)
        backends = value.flags | (session.flags if session is not None else NOTHING)
        open_ = any(lock.kind in ("atomic", "serializable", "unit", "begin") for lock in state.held)
        if "lock" in query.flags and "autocommit" in backends and not open_ and "pattern" not in query.flags:
            event.outside = "autocommit"
        elif "lock" in query.flags and not any(f"noop:{backend}" in query.flags for backend in backends):
            event.lock = Lock("pattern" if "pattern" in query.flags else "row", event.n, "tx", record, event.n)
            if "needs-transaction" in query.flags and not open_:
                entry = self.query_entry(value)
                event.outside = "none" if entry is not None and entry.fields.get("request_transactions") else "request"
            self.take(event.lock, state)
        if "locked" in value.flags:
            event.lock = Lock("pattern", event.n, "tx", record, event.n)
            self.take(event.lock, state)
        event.cached = not core and columns is None and "fresh" not in query.flags and self.has_identity_map(query)
        if how == "scalar":
            plain = columns is not None and len(columns) == 1 and query.entity[0].ref[0] == "column"
            return self.values.origin(Origin("read", event.n, (columns[0],) if plain else ()))
        if columns is not None or core:
            origin = Origin("read", event.n)
            oid = self.object_id(node, "sqlrow")
            state.put(oid, Obj("path", origin, label=record.label, read=event.n))
            row = self.values.origin(origin, objs=frozenset((oid,)))
            return self.container(node, "list", state, {}, row, "rows") if how == "many" else row
        flat = next((flag[5:] for flag in query.flags if flag.startswith("flat:")), None)
        if flat is not None:
            column = self.values.origin(Origin("read", event.n, (flat,)))
            return self.container(node, "list", state, {}, column, "rows") if how == "many" else column
        named = next((flag[4:].split(",") for flag in query.flags if flag.startswith("row:")), None)
        if named is not None:
            fields = {f"[{place}]": self.values.origin(Origin("read", event.n, (name,))) for place, name in enumerate(named)}
            row = self.container(node, "tuple", state, fields, None, "columns")
            row = self.values.replace(row, origins=row.origins | {Origin("read", event.n)}, same=frozenset((Origin("read", event.n),)))
            return self.container(node, "list", state, {}, row, "rows") if how == "many" else row
        row = self.row_object(value, event, node, state, session)
        if how == "many":
            return self.container(node, "list", state, {}, row, "rows")
        if how == "row":
            fields = {f"[{i}]": row if i == 0 else self.values.origin(Origin("read", event.n, (f"[{i}]",))) for i in range(max(1, len(query.entity)))}
            fields[record.label] = row
            return self.container(node, "tuple", state, fields, None, "entityrow")
        return row

    def asks_for_new(self, query: Query, state: State) -> bool:
        """Are the rows asked for by a row that was made here (`filter(order=order)`, `filter(order_id=order.pk)`)? Nobody else can have given it such rows."""
        for _, op, value in query.filters:
            if op != "=":
                continue
            if value.objs and all(self.is_new_row(state.heap.get(oid)) for oid in value.objs):
                return True
            if value.name and any(o.kind == "opaque" and not o.path for o in value.same) and self.vocabulary.match("accessor_create", value.name):
                return True  # `line = super().create(attrs)`
            owners = {o._replace(path=o.path[:-1]) for o in value.same if o.path and str(o.path[-1]) in ("pk", "id")}
            made = {obj.origin for obj in state.heap.values() if self.is_new_row(obj)} if owners else set()
            if owners and owners <= made.union(*(event.base for event in self.trace.of("write") if event.verb == "create")):
                return True
        return False

    def is_new_row(self, obj: Optional[Obj]) -> bool:
        return obj is not None and obj.new and (obj.model is not None or obj.kind == "instance" and obj.cls is not None and self.model_class(obj) is not None)

    def row_object(self, value: Value, event: Any, node: Any, state: State, session: Optional[Value] = None) -> Value:
        entity = value.query.entity[0] if value.query.entity else None
        oid = self.object_id(node, "row")
        origin = Origin("read", event.n) if event is not None else Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        typ, cls = self.entity_type(entity)
        entry = value.query.entry
        if entry[0] == "builder":
            entry = ("orm", self.builder_orm(entry[1]))
        label = self.entity_label(entity, state)
        state.put(oid, Obj("row", origin, model=(entry, entity), read=event.n if event is not None else None, cls=cls, label=label,
                           session=session if session is not None else value.query.session))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=typ, name="")

    def builder_orm(self, builder: str) -> str:
        for entry in self.vocabulary.entries("orm"):
            if entry.fields.get("unit_of_work") and builder.startswith(entry.id.split("-")[0]):
                return entry.id
        return builder

    def entity_type(self, entity: Optional[Value]) -> tuple:
        if entity is None:
            return None, None
        if entity.ref is not None and entity.ref[0] == "class":
            return entity.ref[1].type_name, entity.ref[1]
        if entity.dotted:
            return entity.dotted, None
        return None, None

    def query_write(self, value: Value, verb: str, spec: Any, node: Any, state: State, receiver: Optional[Value] = None) -> Value:
        query = value.query
        written = {name for name, _ in query.sets}
        if verb == "delete":
            written = {column for column, _, _ in query.filters if self.vocabulary.match("state_column", column)}
        predicates = [(column, op, v) for column, op, v in query.filters if column]
        key, preconditions = self.split_predicates(predicates, written)
        key = tuple((self.key_name(c), v) for c, v in key)
        entity = query.entity[0] if query.entity else None
        core = query.entry[0] == "builder" and self.is_core(query)
        record = Record("sql" if core else "orm", "sql" if core else query.entry[1], self.table_key(entity, state), key, None, self.entity_label(entity, state))
        payload = self.values.derived([v for _, v in query.sets] or [self.values.const(None)])
        self_columns = frozenset(name for name, v in query.sets if SERVER in v.origins)
        outcome = "row" if "returning" in query.flags else "count"
        result = self.write(node, state, record=record, verb=verb, payload=payload, preconditions=preconditions, spec=spec, columns=query.sets, outcome=outcome,
                          conflict=(), open_where="open" in query.flags, self_columns=self_columns, extra="q",
                          text="builder" if query.entry[0] == "builder" else "")
        for origin in result.same:
            event = self.trace.events[origin.n]
            event.model = self.class_of(entity)
            if verb == "create" and event.model is not None:
                self.note_unique(event, entity)
                event.keys = self.keys_of(event.model)
            for oid in entity.objs if core and verb == "create" else ():
                event.keys, event.unique_columns = self.declared_tables.get(oid, (event.keys, event.unique_columns))
                event.unique = bool(event.unique_columns) or event.unique
            self.trace.events[origin.n].session = receiver if receiver is not None else query.session
            self.trace.events[origin.n].others = any(op in ("!=", "not in", "is not") and (c in ("id", "pk") or c.endswith("_id")) for c, op, _ in predicates)
        if query.entry[0] == "builder" and verb == "update" and not core and entity is not None and entity.ref is not None and entity.ref[0] == "class":
            for origin in result.same:
                self.note_mapped_version(self.trace.events[origin.n], entity.ref[1], written, around=True)
        for origin in result.same if "spares" in query.flags else ():
            self.trace.events[origin.n].handled = True
        return result

    # --- columns and predicates ----------------------------------------------------------------------------------------------------
    def column_comparison(self, left: Value, op: str, right: Value) -> Optional[Value]:
        if left.ref is not None and left.ref[0] == "server" and op in _COMPARISONS:
            return self.values.make(right.origins | left.origins, ref=("pred", ((left.ref[1], _COMPARISONS[op] if op not in ("==",) else ">=", right),)))
        if left.ref is not None and left.ref[0] == "column" and op in _COMPARISONS:
            return self.values.make(right.origins | {SERVER}, ref=("pred", ((left.ref[2], _COMPARISONS[op], right),), left.ref[1]))
        if right.ref is not None and right.ref[0] == "column" and op in _COMPARISONS:
            return self.values.make(left.origins | {SERVER}, ref=("pred", ((right.ref[2], _COMPARISONS[op], left),), right.ref[1]))
        return None

    def server_operation(self, op: str, left: Value, right: Value) -> Value:
        origins = frozenset((SERVER,)) | left.origins | right.origins
        if op in ("&", "|"):
            found: list = []
            for side in (left, right):
                found += self._predicate(side)
            if op == "|":
                found = [(c, "or " + o, v) for c, o, v in found]
            return self.values.make(origins, ref=("pred", tuple(found)))
        for side in (left, right):
            if side.ref is not None and side.ref[0] in ("column", "server"):
                return self.values.make(origins, ref=("server", side.ref[2] if side.ref[0] == "column" else side.ref[1]))
        return self.values.make(origins)
