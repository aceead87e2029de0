"""Querysets and statements: their predicates, locks and values, and what running one of their methods means."""
from __future__ import annotations

from typing import Any, Optional

from .arguments import Arguments
from .events import LockQuery
from .modelclasses import QUERY_OPS
from .objects import Obj, State
from .values import NOTHING, SERVER, Origin, Query, Value

LOOKUPS = {"exact": "=", "iexact": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "in", "isnull": "is null", "ne": "!="}
_COLUMN_METHODS = {"in_": "in", "is_": "is", "is_not": "is not", "isnot": "is not", "between": "between", "like": "like", "ilike": "like",
                   "not_in": "not in", "notin_": "not in", "startswith": "like", "contains": "like", "any": "or", "has": "or"}
KEEP = frozenset(("private", "sqlite", "serializable", "repeatable", "autocommit", "locked", "opened"))
_TEXT_LOOKUPS = frozenset(("contains", "icontains", "startswith", "istartswith", "endswith", "iendswith", "range", "year", "month", "day", "date", "regex", "iregex",
                           "has_key", "overlap", "week_day", "hour", "minute", "second", "contained_by", "search"))


class Queries:
    """Mixin of Walker."""

    # --- queries -------------------------------------------------------------------------------------------------------------
    def op_start(self, spec: Any, bound: Any, receiver: Any, args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.start_query(spec, spec.signature.returns, args, node, state, receiver)

    def start_query(self, spec: Any, verb: str, args: Any, node: Any, state: State, receiver: Optional[Value]) -> Value:
        entities = tuple(args.all())
        if receiver is not None and spec.entry.kind == "builder" and not any(param.role == "table" for param in spec.signature.params):
            entities = (receiver,)  # `table.update()`, where `db.update(Model)` names it
        if verb == "text":
            return self.values.make(entities[0].origins if entities else NOTHING,
                                    query=Query((spec.entry.kind, spec.entry.id), "text", (), text=entities[0] if entities else None))
        flags: set = set()
        if verb == "select" and len(entities) == 1 and entities[0].query is not None and entities[0].query.verb == "select" and entities[0].query.entity:
            inner = entities[0].query  # `select(exists().where(…))`: the answer is about those rows
            return self.values.make(entities[0].origins, query=inner._replace(flags=inner.flags | {"probe"}))
        session = receiver if receiver is not None and spec.entry.kind == "orm" else None
        query = Query((spec.entry.kind, spec.entry.id), verb, entities, flags=frozenset(flags), session=session)
        value = self.values.make(self._union(entities), query=query, flags=receiver.flags & KEEP if receiver is not None else NOTHING)
        return value

    def query_attribute(self, base: Value, name: str, state: State) -> Optional[Value]:
        if name in ("excluded", "inserted") and base.query.verb == "insert":
            return self.proposed_row(base, state)
        return self.values.make(base.origins, ref=("method", name, base), name=name)

    def query_item(self, base: Value, node: Any, state: State) -> Value:
        return self.select_rows(base, "one", node, state)

    def await_query(self, value: Value, node: Any, state: State) -> Value:
        """`await Model.filter(…)`: runs the query, where the ORM has it so."""
        entry = self.query_entry(value)
        if entry is None or not entry.fields.get("awaitable") or value.query.verb != "select":
            return value
        return self.select_rows(value, "one" if "one" in value.query.flags else "many", node, state)

    def evaluated_query(self, value: Value, node: Any, state: State) -> Value:
        """`list(queryset)`."""
        return self.select_rows(value, "many", node, state)

    def query_entry(self, value: Value) -> Any:
        return self.vocabulary.entry(*value.query.entry)

    def query_method(self, receiver: Value, name: str, args: Any, node: Any, state: State, *, own: bool = True) -> Value:
        """own=False: of the library's class, where a method of the project's calls `super()`."""
        if args.positional and self.vocabulary.match("ordering_call", name):
            receiver = self.values.replace(receiver, query=receiver.query._replace(flags=receiver.query.flags | {"ordered"}))
        done = self.manager_method(receiver, name, args, node, state) if own else None
        if done is not None:
            return done
        entry = self.query_entry(receiver)
        if "guess" in receiver.query.flags and entry is not None and not any(s.signature.last == name for s in entry.specs):
            receiver = self.guessed_again(receiver, name, args)
            entry = self.query_entry(receiver)
        query = receiver.query
        if "manager" in query.flags:
            receiver = self.own_rows(receiver, node, state)
            query = receiver.query
        specs = [s for s in entry.specs if s.signature.last == name and not (s.op in ("result", "run") and s.op != "result")] if entry is not None else []
        for spec in [s for s in specs if s.op in QUERY_OPS]:
            bound = self.fit(spec, args)
            if bound is None:
                continue
            step = "q_conflict" if spec.op == "upsert" and (entry.kind == "builder" or query.verb == "insert") else QUERY_OPS[spec.op]
            return getattr(self, step)(spec, bound, receiver, args, node, state)
        if query.entry[0] == "builder":
            # A statement asked for rows by a session of another library's making: keep it a statement.
            if name == "execution_options" or name == "options":
                return self._query_options(receiver, args)
            return receiver
        if name == "as_manager" or not entry.ops("chain"):
            return receiver
        chain = {s.signature.name for s in entry.ops("chain")}
        if "*" in chain or name in chain:
            for value in args.all():
                self.escapes(state, value, "passed on")
            if self.vocabulary.match("locking_reader", name):
                return self.values.replace(receiver, query=query._replace(flags=query.flags | {"lock", "pattern"}))
            return receiver
        return self.unresolved(name, receiver, args, node, state, method=True)

    def _query_options(self, receiver: Value, args: Any) -> Value:
        query = receiver.query
        if args.get("populate_existing") is not None and args.get("populate_existing").literal is True:
            query = query._replace(flags=query.flags | {"fresh"})
        return self.values.replace(receiver, query=query)

    def q_chain(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        if spec.settings.get("rows") == "value" and args.get("flat") is not None and len(args.positional) == 1 and args.positional[0].value.text:
            return self.values.replace(receiver, query=query._replace(flags=query.flags | {"flat:" + args.positional[0].value.text}))
        if spec.settings.get("rows") == "value" and args.positional and all(a.value.text for a in args.positional):
            return self.values.replace(receiver, query=query._replace(flags=query.flags | {"row:" + ",".join(a.value.text for a in args.positional)}))
        if spec.get("spares"):
            return self.values.replace(receiver, query=query._replace(flags=query.flags | {"spares"}))
        tables = tuple(value for _, value in bound.by_role.get("table", ())) if bound is not None else ()
        if tables and not any(self.is_entity(entity) or entity.ref is not None and entity.ref[0] in ("column", "columns") for entity in query.entity):
            counted = self.values.make(tables[0].origins, ref=("expression", tables[0], "count"), name=tables[0].name)
            return self.values.replace(receiver, query=query._replace(entity=(counted,)))  # `select(func.count()).select_from(Model)`
        if spec.settings.get("writes") == "loaded columns":
            return self.values.replace(receiver, query=query._replace(flags=query.flags | {"partial"}))
        if spec.settings.get("refreshes"):
            return self.values.replace(receiver, query=query._replace(flags=query.flags | {"fresh"}))
        if spec.signature.last == "execution_options":
            return self._query_options(receiver, args)
        return receiver

    def q_filter(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        filters = query.filters + self.predicates_of(args, spec, state)
        flags = query.flags
        if any(column == "" for column, _, _ in filters):
            flags |= {"open"}
        if spec.get("rows") == "one":
            flags |= {"one"}
        origins = receiver.origins | self._union(v for _, _, v in filters)
        entity = query.entity
        if not entity and query.verb == "select" and query.entry[0] == "builder":
            # `exists().where(User.email == email)`: the predicates alone say which table it is.
            entity = tuple(a.value.ref[2] for a in args.positional if a.value.ref is not None and a.value.ref[0] == "pred" and len(a.value.ref) > 2)[:1]
        return self.values.replace(receiver, origins=origins, query=query._replace(entity=entity, filters=filters, flags=flags))

    def predicates_of(self, args: Any, spec: Any, state: State) -> tuple:
        """Predicates of `filter(pk=1, status__in=[…])`, `where(T.c.id == 1)`, `filter(Q(…))`."""
        found: list = []
        separator = spec.get("lookup_separator") or ""
        negated = spec.signature.last == "exclude"
        for argument in args.positional:
            value = argument.value
            found += self._predicate(value)
        for name, argument in args.keywords:
            column, op = name, "="
            if separator and separator in name:
                head, _, tail = name.rpartition(separator)
                if tail in LOOKUPS or tail in _TEXT_LOOKUPS:
                    column, op = head, LOOKUPS.get(tail, "like")
            if negated:
                op = "!=" if op == "=" else "not " + op
            found.append((column, op, self.flat(state, argument.value)))
        if args.open_kwargs:
            for value in args.rest:
                found.append(("", "open", value))
        return tuple(found)

    def _predicate(self, value: Value) -> list:
        ref = value.ref
        if ref is not None and ref[0] == "pred":
            found = []
            for column, op, right in ref[1]:
                found.append((column, op, right))
            return found
        if ref is not None and ref[0] == "column":
            return [(ref[2], "=", self.values.const(True))]
        return [("", "open", value)]

    def q_values(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        sets = list(query.sets)
        for name, argument in args.keywords:
            sets.append((name, self.flat(state, argument.value)))
        for argument in args.positional:
            mapping = self.mapping_items(argument.value, state)
            if mapping:
                sets += [(step[2:-2] if step.startswith(("['", '["')) else step, self.flat(state, v)) for step, v in mapping.items()]
            rest = self.rest_of(argument.value, state, mapping)
            if rest is not None:
                sets.append(("?", self.values.replace(rest, origins=rest.origins | self.deep(state, argument.value))))
        for value in args.rest:
            sets.append(("?", value))
        return self.values.replace(receiver, query=query._replace(sets=tuple(sets)))

    def q_lock(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        flags = {"lock"}
        read = args.get("read")
        share = args.get("key_share")
        if (read is not None and read.literal is True) or (share is not None and share.literal is True):
            flags = {"share"}
        noop = spec.get("noop_on") or ()
        if "lock" in flags:
            if spec.get("requires") == "transaction":
                flags.add("needs-transaction")
            intent = self.event(LockQuery, node, state, record=self.query_record(receiver, state))
            intent.used = getattr(intent, "used", False)
            return self.values.replace(receiver, query=query._replace(flags=query.flags | flags | {f"noop:{b}" for b in noop}, lock_site=intent.n))
        return self.values.replace(receiver, query=query._replace(flags=query.flags | flags))

    def lock_used(self, value: Value) -> None:
        """A query that locks was run, or handed to something that may run it."""
        if value.query is not None and value.query.lock_site is not None:
            self.trace.events[value.query.lock_site].used = True

    def q_load(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        narrowed = self._narrowed(receiver, spec, args, state)
        if spec.get("locks"):
            narrowed = self.values.replace(narrowed, query=narrowed.query._replace(flags=narrowed.query.flags | {"lock"}))
        if spec.signature.last in ("get_or_create", "aget_or_create"):
            row = self.select_rows(narrowed, "one", node, state, spec)
            return self.container(node, "tuple", state, {"[0]": row, "[1]": self.values.unknown}, None, "pair")
        return self.select_rows(narrowed, "one", node, state, spec)

    def _narrowed(self, receiver: Value, spec: Any, args: Any, state: State) -> Value:
        if not args.positional and not args.keywords and not args.open_kwargs:
            return receiver
        ident = spec.signature.param("ident")
        if ident is not None and args.positional:
            query = receiver.query
            return self.values.replace(receiver, query=query._replace(filters=query.filters + (("pk", "=", self.flat(state, args.positional[0].value)),)))
        wanted = [(k, a) for k, a in args.keywords if k not in ("defaults", "create_defaults", "using")]
        if not wanted and not any(a.value.ref is not None for a in args.positional):
            return receiver
        inner = Arguments()
        inner.positional = [a for a in args.positional if a.value.ref is not None and a.value.ref[0] in ("pred",)]
        inner.keywords, inner.open_kwargs, inner.rest = wanted, args.open_kwargs, args.rest
        return self.q_filter(spec, None, receiver, inner, None, state)

    def q_many(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        return self.select_rows(receiver, "many", node, state, spec)

    def q_scalar(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        value = self.select_rows(receiver, "scalar", node, state, spec)
        return self.values.make(value.origins, same=value.same)

    def q_set_write(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        value = self.values.replace(receiver, query=query._replace(sets=query.sets + self.set_columns(self.query_entry(receiver), args, state)))
        return self.query_write(value, "update", spec, node, state)

    def q_remove(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        return self.query_write(receiver, "delete", spec, node, state)

    def q_create(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        payload = self.values.derived([self.flat(state, v) for v in args.all()] or [self.values.const(None)])
        fields = {k: a.value for k, a in args.keywords}
        for value in args.all():
            self.escapes(state, value, "passed on")
        entity = receiver.query.entity[0] if receiver.query.entity else None
        columns = tuple((name, self.flat(state, value)) for name, value in fields.items())
        columns += tuple(("@owner", value) for column, _, value in receiver.query.filters if column == "@owner")
        self.write(node, state, record=self.query_record(receiver, state), verb="create", payload=payload, spec=spec, columns=columns)
        event = self.written_at(node, 0)
        self.note_unique(event, entity, state)
        event.ctx = event.ctx._replace(control=event.ctx.control.union(*(self.sifted_by(value) for value in args.all())))
        event.keys = self.keys_of(self.class_of(entity))
        event.handled = event.handled or any(k == "ignore_conflicts" and a.value.literal is True for k, a in args.keywords)
        oid = self.object_id(node, "new")
        state.put(oid, Obj("new", fields=fields, new=True, cls=entity.dotted if entity is not None else None, model=(receiver.query.entry, entity)))
        self.created_before(oid, event.n)
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        event.base |= {own}
        value = self.values.make(frozenset((own,)), same=frozenset((own,)), objs=frozenset((oid,)))
        if spec.signature.last in ("create", "acreate"):
            return value
        return self.container(node, "tuple", state, {"[0]": value, "[1]": self.values.unknown}, None, "pair")

    def q_returning(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        query = receiver.query
        return self.values.replace(receiver, query=query._replace(flags=query.flags | {"returning"}))

    def q_upsert(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        narrowed = self._narrowed(receiver, spec, args, state)
        payload = self.values.derived([self.flat(state, v) for v in args.all()] or [self.values.const(None)])
        columns: list = []
        for name in ("defaults",):
            given = args.get(name)
            if given is not None:
                columns += [(step[2:-2], self.flat(state, v)) for step, v in (self.mapping_items(given, state) or {}).items()]
        record = self.query_record(narrowed, state)
        self.write(node, state, record=record, verb="upsert", payload=payload, spec=spec, columns=tuple(columns))
        row = self.row_object(narrowed, None, node, state)
        return self.container(node, "tuple", state, {"[0]": row, "[1]": self.values.unknown}, None, "pair")

    def q_bulk(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        entity = bound.first("entity")
        columns = self.column_names(bound, state)
        done: set = set()
        for part in self.parts(state, entity) if entity is not None else ():
            for oid in part.objs:
                obj = state.heap.get(oid)
                if obj is not None and oid not in done and obj.kind in ("row", "path", "part") and obj.pending:
                    done.add(oid)
                    self.persist_object(oid, self.query_entry(receiver), spec, node, state, columns, doubt="", extra=("bulk", oid))
        return self.values.unknown

    def column_names(self, bound: Any, state: State) -> Optional[frozenset]:
        """Literal column names of `update_fields=[…]`; None = all columns, or not to be known."""
        for _, value in self.given(bound, "columns"):
            known = self.known_items(value, state)
            if known is None:
                return self.words_among(value, state) or frozenset(("*", *(f"-{word}" for word in self.words_not_among(value, state))))
            names = [v.text if v.text is not None else v.ref[2] if v.ref is not None and v.ref[0] == "column" else None for v in known]
            return frozenset(n for n in names if n is not None) if all(n is not None for n in names) else frozenset(("*",))
        return None

    def column_method(self, receiver: Value, name: str, args: Any) -> Value:
        right = args.positional[0].value if args.positional else self.values.none
        if name in _COLUMN_METHODS:
            return self.values.make(right.origins | {SERVER}, ref=("pred", ((receiver.ref[2], _COLUMN_METHODS[name], right),)))
        if name == "set" and len(args.positional) == 1:
            return self.values.make(right.origins, ref=("assignment", receiver.ref[2], right))
        return self.values.make(receiver.origins | self._union(args.all()) | {SERVER}, ref=receiver.ref if name in ("desc", "asc", "label") else ("server", receiver.ref[2]))

    def op_chain(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`select(p for p in Part)`: the query that it is given."""
        rows = bound.first("table")
        return rows if rows is not None and rows.query is not None else None

    def op_set_write_function(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        return None
