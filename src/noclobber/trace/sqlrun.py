"""SQL text that is run: statements become reads, writes and locks; rows become values; WHERE becomes key and preconditions."""
from __future__ import annotations

from typing import Any, Iterable, Optional

from .binder import Binder, identity_like
from .events import Begin, Commit, Lock, LockEvent, Precondition, Read, Record, Site
from .objects import Obj, State
from .values import NOTHING, Lit, Origin, Query, Template, Value

_FALLBACKS = frozenset(("coalesce", "ifnull", "nvl", "isnull"))


class SqlRunner:
    """Mixin of Walker."""

    # --- finding the text ---------------------------------------------------------------------------------------------------
    def by_mappings(self, statement: Value, rows: Value, state: State) -> Value:
        """`execute(update(Article), [{"id": a.id, "price": p} for …])`: each mapping holds the key and the new values of one row."""
        items = self.mapping_items(self.member(rows, state), state) or {}
        known = {step[2:-2]: self.flat(state, value) for step, value in items.items() if step.startswith(("['", '["'))}
        keys = tuple(("pk", "=", known.pop(name)) for name in ("id", "pk") if name in known)
        if not keys or not known:
            return statement
        query = statement.query
        return self.values.replace(statement, query=query._replace(sets=tuple(known.items()), filters=query.filters + keys))

    def op_run(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        if spec.get("language") == "command":
            return self.run_command(spec, bound, args, node, state)
        statement = bound.first("statement") or bound.first("sql") or self.prepared(receiver, state)
        if statement is None and bound.first("table") is not None:  # `bulk_update_mappings(Article, rows)`
            table = bound.first("table")
            statement = self.values.make(table.origins, query=Query((spec.entry.kind, spec.entry.id), "update", (table,)))
        if statement is None:
            return None
        given = bound.by_role.get("params", ())
        plain = {p.name for p in spec.signature.params if p.kind != "varkw"}
        params = [v for name, v in given if name in plain]
        if len(params) < len(given):  # `execute("… = :id", id=5)`
            params.append(self.container(node, "dict", state, {f"[{name!r}]": v for name, v in given if name not in plain}, None, "binds"))
        more = [v for name, v in bound.extra if name is None]
        var = _is_var(spec, "params")
        if more and params and not spec.entry.fields.get("types"):
            var = True  # `conn.execute("… $1 … $2", a, b)` on a connection whose library is not known
        if var or spec.signature.param("params") is None:
            params += more
        text = statement.query.text if statement.query is not None and statement.query.verb == "text" else statement
        if text is not statement and statement.query.sets and not params:  # `text("… :id").bindparams(id=id)`
            params = [self.container(node, "dict", state, {f"[{name!r}]": v for name, v in statement.query.sets if name != "?"}, None, "binds")]
        self.handed_at = self.handed_by(statement, text)
        try:
            if statement.query is not None and statement.query.verb != "text":
                if statement.query.verb == "update" and not statement.query.sets and len(params) == 1:
                    statement = self.by_mappings(statement, params[0], state)
                return self.run_query(statement, receiver, spec, node, state, doubt)
            if "advisory" in statement.flags:
                self.hold_advisory(node, state, (statement.name,))
                return self.values.unknown
            if spec.get("row_lists") and text.text is not None:
                from .sql.lists import with_one_row

                row = bound.by_name.get("template")
                text = self.values.const(with_one_row(text.text, row.text or "" if row is not None else ""))
            return self.run_sql(text, params, spec, receiver, node, state, doubt, var=var)
        finally:
            self.handed_at = None

    @staticmethod
    def prepared(receiver: Optional[Value], state: State) -> Optional[Value]:
        """The text that a prepared statement was made of."""
        for oid in receiver.objs if receiver is not None else ():
            obj = state.heap.get(oid)
            if obj is not None and "@statement" in obj.fields:
                return obj.fields["@statement"]
        return None

    def handed_by(self, *statement: Optional[Value]) -> Optional[Site]:
        """Where the statement was handed to a helper that runs whatever it gets (`execute_db("UPDATE …", args)`): the call that says what is written."""
        found = None
        for frame in reversed(self.frames):
            given = frame.entry.values() if frame.entry is not None else ()
            if not any(value is part for value in given for part in statement if part is not None):
                break
            call = frame.calls[-1][1] if frame.calls else None
            if not isinstance(call, Site) or call.at is None:
                break
            found = call
        return found

    def sql_by_text(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """A method of an unknown receiver whose first argument is SQL text: the text says what it is."""
        entry = self.vocabulary.entry("store", "dbapi")
        if entry is None or not args.positional:
            return None
        first = args.positional[0].value
        text = first.query.text if first.query is not None and first.query.verb == "text" else first
        builder = first.query is not None and first.query.verb != "text" and first.query.entry[0] == "builder"
        if not builder and not self.looks_like_sql(text):
            return None
        for spec in entry.specs:
            if spec.op == "run" and spec.signature.name == name:
                bound = self.fit(spec, args)
                if bound is not None:
                    return self.op_run(spec, bound, receiver, args, node, state, "name-only")
        return None

    def looks_like_sql(self, value: Value) -> bool:
        from . import sql

        template = self.template_of(value)
        return template is not None and sql.looks_like_sql(template[0])

    def template_of(self, value: Optional[Value]) -> Optional[tuple]:
        """(template for sql.parse, holes as Values); None when the value is no text."""
        if value is None:
            return None
        if value.text is not None:
            return (value.text,), ()
        if type(value.shape) is Template:
            parts: list = []
            holes: list = []
            for part in value.shape.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    parts.append(len(holes))
                    holes.append(part)
            return tuple(parts), tuple(holes)
        return None

    # --- running ------------------------------------------------------------------------------------------------------------
    def run_sql(self, text: Optional[Value], params: list, spec: Any, receiver: Optional[Value], node: Any, state: State, doubt: str,
                var: bool = False) -> Optional[Value]:
        from . import sql

        template = self.template_of(text)
        for value in params:
            self.hand_over_params(state, value)
        if template is None:
            self.throw_io(state, node, spec)
            return self.result_of(spec, receiver, None, node, state)
        dialect = spec.get("dialect")
        if receiver is not None and "sqlite" in receiver.flags:
            dialect = "sqlite"
        statements = sql.parse(template[0], dialect)
        last: Optional[Value] = None
        binder = Binder(self, params, template[1], state, var)
        for place, statement in enumerate(statements):
            value = self.run_statement(statement, binder, spec, receiver, node, state, doubt, place, dialect)
            last = value if value is not None else last
        return self.result_of(spec, receiver, last, node, state)

    def hand_over_params(self, state: State, value: Value) -> None:
        return None

    def result_of(self, spec: Any, receiver: Optional[Value], last: Optional[Value], node: Any, state: State) -> Value:
        """What `execute()` returns: the cursor, the count, the rows, as the signature says."""
        returns = spec.signature.returns
        rows = spec.get("rows")
        if last is None:
            last = self.values.origin(Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls))))
        if rows:
            result = self.rows_value(last, rows, node, state)
        elif returns:
            if returns.endswith("ScalarResult"):
                last = self.first_column(last, node, state)
            fresh = receiver is None or returns != receiver.typ
            oid = self.object_id(node, "cursor")
            if not fresh:
                for cursor in receiver.objs:
                    obj = state.heap.get(cursor)
                    if obj is not None:
                        state.put(cursor, obj.but(fields={**obj.fields, "@last": last}))
            state.put(oid, Obj("cursor", fields={"@last": last}))
            flags = receiver.flags & _FLAGS if receiver is not None else NOTHING
            return self.values.make(last.origins, same=last.same, objs=frozenset((oid,)), typ=returns, flags=flags)
        else:
            result = last
        if receiver is not None:
            receiver = self.cursor_receiver(receiver, node, state)
            for cursor in receiver.objs:
                obj = state.heap.get(cursor)
                if obj is not None and obj.kind in ("cursor", "path"):
                    state.put(cursor, obj.but(fields={**obj.fields, "@last": last}, kind="cursor"))
        return result

    def cursor_receiver(self, receiver: Value, node: Any, state: State) -> Value:
        if receiver.objs:
            return receiver
        with_object = self.as_object(receiver, state)
        if with_object is not receiver:
            func = getattr(node, "func", None)
            self.rebind(getattr(func, "value", None), receiver, with_object, state)
        return with_object

    def rows_value(self, row: Value, rows: str, node: Any, state: State) -> Value:
        if rows == "many":
            for origin in row.origins:
                if origin.kind == "read" and isinstance(self.trace.events[origin.n], Read):
                    self.trace.events[origin.n].listed = True
            return self.container(node, "list", state, {}, row, "rows")
        if rows == "value":
            return self.first_column(row, node, state)
        return row

    def first_column(self, row: Value, node: Any, state: State) -> Value:
        return self.item(row, self.values.const(0), None, state)

    def op_fetch(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        if receiver is None:
            return None
        last = self.last_of(receiver, state)
        if last is None:
            return None
        rows = spec.get("rows")
        if rows is None:  # `scalars()`, `mappings()`: still a result
            inner = self.first_column(last, node, state) if spec.signature.returns == "scalars" else last
            oid = self.object_id(node, "cursor")
            state.put(oid, Obj("cursor", fields={"@last": inner}))
            return self.values.make(inner.origins, objs=frozenset((oid,)), typ=receiver.typ, flags=receiver.flags & _FLAGS)
        return self.rows_value(last, rows, node, state)

    def last_of(self, receiver: Value, state: State) -> Optional[Value]:
        found: Optional[Value] = None
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and "@last" in obj.fields:
                found = obj.fields["@last"] if found is None else self.values.join(found, obj.fields["@last"])
        return found

    def cursor_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """fetchone() of a cursor whose type is not known, but that has run a statement."""
        last = self.last_of(receiver, state)
        if last is None:
            return None
        for kind, id_ in (("store", "dbapi"), ("orm", "sqlalchemy")):
            entry = self.vocabulary.entry(kind, id_)
            for spec in entry.specs if entry is not None else ():
                if spec.op == "fetch" and spec.signature.name == name:
                    bound = self.fit(spec, args)
                    if bound is not None:
                        return self.op_fetch(spec, bound, receiver, args, node, state, "")
        return None

    # --- one statement ---------------------------------------------------------------------------------------------------------
    def run_statement(self, statement: Any, binder: Binder, spec: Any, receiver: Optional[Value], node: Any, state: State, doubt: str,
                      place: int, dialect: Optional[str]) -> Optional[Value]:
        verb = statement.verb
        if statement.advisory:
            self.hold_advisory(node, state, statement.advisory)
        if verb == "begin":
            return self.sql_begin(statement, receiver, node, state, dialect)
        if verb == "isolation":
            if "serializable" in statement.isolation or ("repeatable" in statement.isolation and dialect != "mysql"):
                state.held |= {Lock("serializable", 0, "tx")}
            return None
        if verb in ("commit", "rollback"):
            self.span_ends(self.event(Commit, node, state, place, label=verb.upper()), state, well=verb == "commit")
            self.release(state, "tx")
            self.session_expired(state)
            state.held = frozenset(lock for lock in state.held if not (lock.kind in ("begin", "atomic") and lock.scope == "tx"))
            return None
        if verb == "lock_table":
            event = self.event(LockEvent, node, state, place)
            event.lock = Lock("table", event.n, "tx", Record("sql", "sql", binder.name(statement.table), (), None, ""))
            state.held |= {event.lock}
            return None
        self.throw_io(state, node, spec)
        if receiver is not None and "serializable" in receiver.flags:
            state.held |= {Lock("serializable", 0, "session")}
        if receiver is not None and "private" in receiver.flags:
            state.held |= {Lock("private", 0, "session")}
        if receiver is not None and "repeatable" in receiver.flags and dialect == "postgres":
            state.held |= {Lock("serializable", 0, "session")}
        for number, inner in enumerate(statement.walk()):
            if inner is not statement and inner.verb in _WRITES:
                # `WITH gone AS (DELETE … RETURNING …) …`: a part that writes by itself.
                part = self.sql_write(inner, binder, spec, receiver, node, state, doubt, (place, number))
                state.unchecked -= {o.n for o in part.same}  # the outer statement tells what it did
        if verb == "select":
            value = self.sql_read(statement, binder, spec, receiver, node, state, place, dialect)
            if statement.advisory and value is not None:
                # `SELECT pg_try_advisory_lock(…)`: a test of the answer says whether it was had.
                lock = self.event(LockEvent, node, state, "advisory").lock
                self.tried.update((o.n, lock) for o in value.origins if o.kind == "read")
            return value
        if verb in _WRITES:
            return self.sql_write(statement, binder, spec, receiver, node, state, doubt, place)
        return None

    def sql_begin(self, statement: Any, receiver: Optional[Value], node: Any, state: State, dialect: Optional[str]) -> None:
        event = self.event(Begin, node, state, label=f"BEGIN {statement.mode}".strip().upper())
        self.session_expired(state)
        if "serializable" in statement.isolation or ("repeatable" in statement.isolation and dialect == "postgres"):
            kind = "serializable"
        elif dialect == "sqlite" or statement.mode in ("immediate", "exclusive", "deferred"):
            kind = "begin"  # words of SQLite
        else:
            kind = "atomic"
        state.held |= {Lock(kind, event.n, "tx")}
        return None

    def hold_advisory(self, node: Any, state: State, names: tuple) -> None:
        """names: of the database's functions that take it."""
        event = self.event(LockEvent, node, state, "advisory")
        event.lock = Lock("advisory", event.n, "tx" if any("xact" in name for name in names) else "session")
        event.asked = all("try_" in name for name in names)
        state.held |= {event.lock}

    def sql_record(self, statement: Any, binder: Binder, key: Iterable, spec: Any) -> Record:
        table = binder.name(statement.table)
        label = "".join(p if isinstance(p, str) else "{" + self.words(p) + "}" for p in table) if table else "?"
        return Record("sql", "sql", table, tuple(key), None, label)

    def sql_read(self, statement: Any, binder: Binder, spec: Any, receiver: Optional[Value], node: Any, state: State, place: int,
                 dialect: Optional[str]) -> Value:
        key = []
        for predicate in statement.where:
            if predicate.op in ("=", "is") and predicate.column is not None and not predicate.in_or and isinstance(predicate.column, str):
                key.append((predicate.column, binder.value(predicate.value)))
        record = self.sql_record(statement, binder, key, spec)
        columns = None
        if statement.columns and not statement.star:
            columns = tuple(name if isinstance(name, str) else None for name, _ in statement.columns)
        event = self.event(Read, node, state, place, record=record, columns=columns, lock=None, many=not (statement.limit_one or statement.aggregate),
                           cached=False, spec=spec)
        event.filters = tuple(self.sql_filters(statement.where, binder))
        if statement.columns and not statement.star and not statement.aggregate:
            event.sources = tuple(tuple(c for c in expression.columns if isinstance(c, str)) for _, expression in statement.columns)
        strength = statement.strongest_lock() if callable(statement.strongest_lock) else statement.strongest_lock
        flags = receiver.flags | self.set_flags(receiver, state) if receiver is not None else NOTHING
        if strength in ("update", "no key update") and dialect != "sqlite":
            open_ = any(lock.kind in ("atomic", "serializable", "begin") for lock in state.held)
            if ("autocommit" in flags or spec.get("autocommit") is True) and not open_:
                event.outside = "autocommit"  # given back with its own statement
            else:
                event.lock = Lock("row", event.n, "tx", record, event.n)
                self.take(event.lock, state)
        if statement.open_tail:
            event.cached = False
        # InnoDB's REPEATABLE READ: until the transaction ends every plain SELECT answers from the snapshot of the first one.
        event.snapshot = dialect == "mysql" and not strength and "autocommit" not in flags and spec.get("autocommit") is not True and receiver is not None and "opened" in receiver.flags
        origin = Origin("read", event.n)
        oid = self.object_id(node, "sqlrow", place)
        state.put(oid, Obj("path", origin, label=record.label, read=event.n))
        return self.values.origin(origin, objs=frozenset((oid,)))

    def sql_filters(self, where: Iterable, binder: Binder) -> Iterable:
        """(column, operator, Value) of the conditions that every row fulfils."""
        for predicate in where:
            columns = [c for c in (predicate.column, *predicate.left.columns) if isinstance(c, str)]
            if columns and predicate.must and predicate.own and predicate.inner is None:
                yield columns[0], predicate.op, binder.value(predicate.value)

    def column_of(self, origin: Origin) -> Optional[str]:
        """The column that a path into a row names: `row['n']`, `row.n`, `row[0]`, `row[0]['k']` → 'n'."""
        if not origin.path:
            return None
        event = self.trace.events[origin.n]
        step = origin.path[0]
        if step in ("[*]", "()"):
            return None
        name = step.strip("[]")
        if step.startswith("[") and name.lstrip("-").isdigit():
            columns = getattr(event, "columns", None)
            place = int(name)
            return columns[place] if columns and -len(columns) <= place < len(columns) else None
        return name.strip("'\"").lower()

    def sql_write(self, statement: Any, binder: Binder, spec: Any, receiver: Optional[Value], node: Any, state: State, doubt: str,
                  place: int) -> Value:
        verb = {"update": "update", "delete": "delete", "replace": "replace", "merge": "update"}.get(statement.verb, "create")
        sets = statement.sets
        where = statement.where
        if statement.verb == "insert":
            if statement.conflict == "update":
                verb, sets, where = "upsert", statement.conflict_sets, statement.conflict_where
            elif statement.conflict == "replace":
                verb = "replace"
            else:
                verb = "create"
        columns = []
        server: set = set()
        fallbacks: set = set()
        for column, expression in sets:
            name = column if isinstance(column, str) else "?"
            value = binder.value(expression)
            if expression.form == "excluded":
                proposed = statement.assigns(expression.column) if isinstance(expression.column, str) else None
                value = next((binder.value(e) for c, e in statement.sets if c == expression.column), value) if proposed is not None else value
            if expression.self_columns:
                server |= {c for c in expression.self_columns if isinstance(c, str)}
            columns.append((name, value))
            if name in expression.self_columns and expression.refs and (expression.function in _FALLBACKS or expression.form == "case"):
                fallbacks.add(name)
        written = {name for name, _ in columns}
        if verb == "delete":
            # A DELETE writes every column, but what says which row is its key: only a state or version column is a condition.
            written |= {p.column for p in where if isinstance(p.column, str) and self.vocabulary.match("state_column", p.column)}
        predicates = []
        for predicate in where:
            column = predicate.column if isinstance(predicate.column, str) else None
            value = binder.value(predicate.value)
            if predicate.op in ("exists", "not exists") and predicate.inner is not None:
                predicates += self.inner_predicates(predicate.inner, binder)
                continue
            if column is not None and predicate.op == "=" and predicate.value.columns and not predicate.value.refs and column not in written:
                continue  # joined with another table: which rows, the other conditions say
            if column is None:
                names = [c for c in (*predicate.left.columns, *predicate.value.columns) if isinstance(c, str)]
                column = names[0] if names else None
                if predicate.left.refs and not predicate.value.refs:
                    value = binder.value(predicate.left)
            if column is None:
                continue
            predicates.append((column, predicate.op if not predicate.in_or else "or " + predicate.op, value))
        if verb in ("upsert", "replace") and statement.verb in ("insert", "replace"):
            keys = set(statement.conflict_keys) if statement.conflict_keys else None
            inserted = [(c, binder.value(e)) for c, e in statement.sets if isinstance(c, str)]
            key_columns = [(c, v) for c, v in inserted if (c in keys if keys else c in ("id", "key", "name", "k", "pk") or c.endswith("_id") or c.endswith("key"))]
            if not key_columns and inserted and statement.verb in ("insert", "replace"):
                key_columns = inserted[:1]
            key, preconditions = self.split_predicates(predicates, written)
            key = tuple(key_columns)
            columns = columns or inserted
            if verb == "replace":
                columns = [c for c in inserted if c not in key_columns]
        else:
            key, preconditions = self.split_predicates(predicates, written)
        if verb == "delete":
            preconditions = tuple(p for p in preconditions if p.kind != "bound")  # an age limit: what is younger is to stay
        payload = self.values.derived([v for _, v in columns] or [self.values.const(None)])
        if statement.open_sets and binder.holes:
            payload = self.values.derived([payload, *binder.holes, *binder.everything()])
        record = self.sql_record(statement, binder, key, spec)
        doubts = set()
        if statement.verb == "unread":
            doubts.add("sql-unread")
        if doubt and receiver is not None and not receiver.typ:
            doubts.add(doubt)
        outcome = "row" if statement.returning else "count"
        if spec.get("outcome") and "none" in spec.get("outcome"):
            outcome = "count"
        result = self.write(
            node, state, record=record, verb=verb, payload=payload, preconditions=preconditions, spec=spec, columns=tuple(columns), outcome=outcome,
            conflict=(), doubts=frozenset(doubts), extra=place, open_where=statement.open_where or statement.open_tail, self_columns=frozenset(server),
            text="sql",
        )
        for origin in result.same:
            self.trace.events[origin.n].fallbacks |= frozenset(fallbacks)
            self.trace.events[origin.n].others = any(op in ("!=", "<>", "not in") and (c in ("id", "pk") or c.endswith("_id")) for c, op, _ in predicates)
            if statement.verb == "insert" and statement.conflict:
                self.trace.events[origin.n].handled = True  # its own conflict clause decides
        if verb in ("update", "upsert") and not statement.open_sets:
            for origin in result.same:
                self.note_kept_version(self.trace.events[origin.n], statement, written)
        return result

    def note_kept_version(self, write: Any, statement: Any, written: set) -> None:
        """The statement goes around a version that other statements of its module compare, or takes a lease over and keeps the old token."""
        table = statement.table[0] if len(statement.table) == 1 and isinstance(statement.table[0], str) else None
        known = self.ask.sql_versions(self.frames[-1].scope.module, lambda name: self.vocabulary.match("version_column", name)).get(table)
        if known is None:
            return
        version, together, token = known
        if version in written or any(p.column == version and p.kind != "scope" for p in write.preconditions):
            return
        plain = {name for name, _ in write.columns if name not in write.self_columns}
        takes = any(self.vocabulary.match("holder_column", name) for name in plain)
        if token and takes:
            write.kept, write.kept_how = version, "lease"
        elif not token and not write.conditional and plain & together:
            write.kept, write.kept_how = version, "around"

    def inner_predicates(self, inner: Any, binder: Binder) -> list:
        """`EXISTS (SELECT 1 FROM leases WHERE token = :t)`: a fencing token checked in the same statement."""
        found = []
        for predicate in inner.where:
            if isinstance(predicate.column, str):
                found.append((predicate.column, "exists", binder.value(predicate.value)))
        return found

    def split_predicates(self, predicates: list, written: set) -> tuple:
        """WHERE into key and preconditions: a predicate guards only if the statement writes that column or it is version-like."""
        key: list = []
        preconditions: list = []
        for column, op, value in predicates:
            if op == "is null":  # a queryset's `__isnull=True`
                op, value = ("is", self.values.none) if value.literal is not False else ("is not", self.values.none)
            version = self.vocabulary.match("version_column", column)
            if op.startswith("or "):
                if column in written or version:
                    preconditions.append(Precondition("bound", column, value))
                continue
            if op == "exists":
                if version:
                    preconditions.append(Precondition("witness", column, value))
                continue
            if op in ("=", "is") and (version or column in written):
                literal = type(value.shape) is Lit
                constant = literal or not identity_like(value)
                if version and not (literal and column in written and not isinstance(value.shape.value, int)):
                    preconditions.append(Precondition("witness", column, value))
                elif any(o.kind == "read" for o in value.origins):
                    preconditions.append(Precondition("witness", column, value))
                else:
                    preconditions.append(Precondition("state" if constant or True else "", column, value))
                continue
            if op in ("=", "is"):
                key.append((column, value))
            elif op in ("in", "not in"):
                if column in written:
                    preconditions.append(Precondition("state", column, value))
                else:
                    key.append((column + " in", value))
            elif column in written:
                # `balance - :n >= 0`; an age limit on a column that stays as it is (`expires_at < now()`) is none.
                preconditions.append(Precondition("bound", column, value))
            else:
                preconditions.append(Precondition("scope", column, value))
        return tuple(key), tuple(preconditions)


def _is_var(spec: Any, role: str) -> bool:
    param = spec.signature.param(role)
    return param is not None and param.kind == "var"


_WRITES = frozenset(("update", "delete", "insert", "replace", "merge"))
_FLAGS = frozenset(("sqlite", "serializable", "repeatable", "autocommit", "locked", "private"))
