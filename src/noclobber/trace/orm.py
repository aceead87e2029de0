"""ORMs and statement builders: querysets and statements under construction, rows as objects, sessions and their flushes."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .builders import Builders
from .events import Expire, Lock, LockQuery, Pending, Precondition, Read, Record
from .models import Models, packages_of
from .objects import Obj, State
from .values import CONST, NOTHING, SERVER, UNKNOWN, Lit, Origin, Query, Value

_COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "in", "is": "is"}
_LOOKUPS = {"exact": "=", "iexact": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "in", "isnull": "is null", "ne": "!="}
_COLUMN_METHODS = {"in_": "in", "is_": "is", "is_not": "is not", "isnot": "is not", "between": "between", "like": "like", "ilike": "like",
                   "not_in": "not in", "notin_": "not in", "startswith": "like", "contains": "like", "any": "or", "has": "or"}


class Orm(Models, Builders):
    """Mixin of Walker."""

    # --- static names --------------------------------------------------------------------------------------------------------
    def named(self, found: tuple, name: str, state: State) -> Value:
        """The Value of what `ask` found under a name."""
        kind = found[0]
        if kind == "function":
            scope = found[1]
            return self.values.origin(Origin("global", f"{scope.module.name}:{scope.qualname}"), ref=("function", scope, None), name=scope.name)
        if kind == "class":
            return self.class_value(found[1])
        if kind == "import":
            return self.imported(found[1])
        return self.global_value(found[1], found[2], state)

    def class_value(self, cls: Any) -> Value:
        return self.values.origin(Origin("global", cls.type_name), ref=("class", cls), name=cls.name)

    def static_attribute(self, base: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """`Model.objects`, `Table.c.column`, `Class.CONSTANT`, `module.name`."""
        kind = base.ref[0]
        if kind == "columns":
            return self.column(base.ref[1], name)
        if kind == "column":
            return self.values.make(base.origins | {SERVER}, ref=("column", base.ref[1], base.ref[2]))
        if kind == "class":
            cls = base.ref[1]
            manager = self.manager_of(base, name) or self.own_manager(base, name)
            if manager is not None:
                return manager
            method = cls.method(name)
            if method is not None:
                return self.values.origin(Origin("global", f"{cls.type_name}.{name}"), ref=("function", method, None), name=name)
            inner = cls.nested(name)
            if inner is not None:
                return self.class_value(inner)
            if name == "__table__":
                return base
            if name in ("c", "columns") and cls.assign(name) is None:
                return self.values.make(base.origins, ref=("columns", base))
            if self.orm_of_class(cls) is not None and not name.startswith("_"):
                return self.column(base, name)
            constant = self.class_constant(cls, name, state)
            if constant is not None and (type(constant.shape) is Lit or not self.is_enum(cls)):
                return constant
            return self.values.origin(Origin("global", f"{cls.type_name}.{name}"), ref=("dotted", f"{cls.type_name}.{name}"), name=name)
        if kind == "dotted":
            dotted = base.ref[1]
            last = dotted.rsplit(".", 1)[-1]
            if _is_class_name(last):
                manager = self.manager_of(base, name)
                if manager is not None:
                    return manager
                if name == "__table__":
                    return base
            if name in ("c", "columns") and not _is_class_name(last):
                return self.values.make(base.origins, ref=("columns", base))
            found = self.ask.dotted(f"{dotted}.{name}")
            if found is not None:
                return self.named(found, name, state)
            if _is_class_name(last) and name.islower() and not name.startswith("_") and "." in dotted:
                return self.column(base, name)
            return self.values.origin(Origin("global", f"{dotted}.{name}"), ref=("dotted", f"{dotted}.{name}"), name=name)
        if kind == "transaction" and base.typ:
            return None
        return None

    def column(self, table: Value, name: str) -> Value:
        label = table.dotted or (table.ref[1].type_name if table.ref is not None and table.ref[0] == "class" else f"{id(table)}")
        return self.values.make(frozenset((SERVER, Origin("global", f"{label}.{name}"))), ref=("column", table, name), name=name)

    def manager_of(self, base: Value, name: str) -> Optional[Value]:
        """`Model.objects`: a query on the model, of the ORM that its class says; else of one that the file imports; else of the first."""
        own = self.orm_of_class(base.ref[1]) if base.ref is not None and base.ref[0] == "class" else None
        fitting = [
            entry for entry in ((own,) if own is not None else self.vocabulary.entries("orm"))
            if any(glob == name or (glob.startswith("*") and name.endswith(glob[1:])) for glob in entry.fields.get("manager", ()) or ())
        ]
        if not fitting:
            return None
        flags = {"manager", f"manager={name}"}
        if len(fitting) > 1:
            imported = self.ask.imported_packages(self.frames[-1].scope.module)
            module = base.dotted.rpartition(".")[0]
            modular = self.vocabulary.listed("model_modules", module) if module else ()
            fitting.sort(key=lambda entry: (not packages_of(entry) & imported, entry not in modular))
            if own is None and not packages_of(fitting[0]) & imported:
                flags.add("guess")
        entry = fitting[0]
        query = Query((entry.kind, entry.id), "select", (base,), flags=frozenset(flags))
        return self.values.make(base.origins, query=query, name=name)

    def own_manager(self, base: Value, name: str) -> Optional[Value]:
        """`Model.locked` where the class says that it is a manager of the project, whatever it is called."""
        cls = base.ref[1]
        entry = self.orm_of_class(cls)
        if entry is None or not entry.fields.get("manager") or cls.field_call(name) is None:
            return None
        classes = self._classes_in(cls, name)
        if not any(b.rstrip("()").rsplit(".", 1)[-1].endswith(("Manager", "QuerySet")) or ".from_queryset" in b for found in classes for b in found.library_bases()):
            return None
        return self.values.make(base.origins, query=Query((entry.kind, entry.id), "select", (base,), flags=frozenset(("manager", f"manager={name}"))), name=name)

    def own_rows(self, receiver: Value, node: Any, state: State) -> Value:
        """The rows that a manager of the project begins with, where it overrides get_queryset()."""
        from .calls import Arguments

        if "manager" not in receiver.query.flags:
            return receiver
        plain = self.values.replace(receiver, query=receiver.query._replace(flags=receiver.query.flags - {"manager"}))
        begin = next((method for cls in self.manager_classes(receiver) for method in (cls.method("get_queryset"),) if method is not None), None)
        if begin is None or begin.key in self.active:
            return plain
        rows = self.call_scope(begin, Arguments(), node, state, plain)
        return rows if rows.query is not None and rows.query.verb == "select" else plain

    def guessed_again(self, receiver: Value, name: str, args: Any) -> Value:
        """A query of a class that was not found, begun by a manager that several ORMs have: a method that only another of them has says which."""
        query = receiver.query
        if "guess" not in query.flags:
            return receiver
        for entry in self.vocabulary.entries("orm"):
            if entry.fields.get("manager") and "objects" in entry.fields["manager"] and any(s.signature.last == name and s.op in _QUERY_OPS and self.fit(s, args) is not None for s in entry.specs):
                return self.values.replace(receiver, query=query._replace(entry=(entry.kind, entry.id), flags=query.flags - {"guess"}))
        return receiver

    def class_constant(self, cls: Any, name: str, state: State) -> Optional[Value]:
        found = cls.assign(name)
        if found is None:
            typ = cls.annotation(name)
            if typ is not None:
                resolved = self.annotation_type(typ[1], typ[0])
                return self.values.origin(Origin("global", f"{cls.type_name}.{name}"), typ=resolved, name=name)
            return None
        return self.evaluated_constant(("class", cls.type_name, name), found, name, state)

    def is_enum(self, cls: Any) -> bool:
        """Does the class only name constants?"""
        return any(self.vocabulary.match("enum_base", base.rsplit(".", 1)[-1]) for base in cls.library_bases())

    def typed_attribute(self, base: Value, name: str, node: Any, state: State) -> Optional[Value]:
        typ = base.typ
        if typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            if cls is None:
                return None
            method = cls.method(name)
            if method is not None and method.is_property:
                from .calls import Arguments

                return self.call_scope(method, Arguments(), node, state, base)
            if method is not None:
                return self.values.make(base.origins, ref=("function", method, base), name=name)
            found = cls.annotation(name)
            value = self.extend(base, name, state, node)
            if found is not None:
                resolved = self.annotation_type(found[1], found[0])
                return self.values.replace(value, typ=resolved) if resolved else value
            if self.orm_of_class(cls) is None and cls.assign(name) is not None:
                return self.class_constant(cls, name, state)
            return None
        if name in ("c", "columns") and self.is_table(base):
            return self.values.make(base.origins, ref=("columns", base))
        if name == "__table__":
            return base
        made = self.store_attribute(base, name, node, state)
        if made is not None:
            return made
        if self.vocabulary.known_type(typ) and not typ.startswith("path:"):
            value = self.extend(base, name, state, node)
            return self.values.replace(value, typ=f"path:{typ}:{name}", flags=value.flags | (base.flags & frozenset(("sqlite", "serializable", "repeatable", "autocommit", "opened"))))
        if typ.startswith("path:"):
            value = self.extend(base, name, state, node)
            return self.values.replace(value, typ=f"{typ}.{name}")
        module = self.model_module(typ)
        if module and not name.startswith("_"):
            value = self.extend(base, name, state, node)
            return self.values.replace(value, flags=value.flags | {PART_OF + module})
        return None

    def model_module(self, typ: Optional[str]) -> str:
        """The module of models that a class which was not found is imported from; '' where it is none."""
        module, _, last = typ.rpartition(".") if typ and not typ.startswith(("class:", "path:")) else ("", "", "")
        return module if module and _is_class_name(last) and self.vocabulary.listed("model_modules", module) else ""

    def is_table(self, value: Value) -> bool:
        return bool(value.typ) and value.typ.rsplit(".", 1)[-1] == "Table"

    def field_type(self, obj: Obj, name: str) -> Optional[str]:
        cls = obj.cls
        if cls is None or isinstance(cls, str):
            cls = self.ask.klass_of(cls) if isinstance(cls, str) and cls.startswith("class:") else None
        if cls is None:
            return None
        found = cls.annotation(name)
        return self.annotation_type(found[1], found[0]) if found is not None else None

    def instance_attribute(self, oid: int, obj: Obj, name: str, node: Any, state: State) -> Optional[Value]:
        from .calls import Arguments

        cls = obj.cls
        this = self.values.make(frozenset((obj.origin,)) if obj.origin else NOTHING, objs=frozenset((oid,)), typ=cls.type_name,
                                same=frozenset((obj.origin,)) if obj.origin else NOTHING, name="self")
        if name.startswith("["):
            members = self.known_items(this, state) if name[1:-1].isdigit() else None
            return members[int(name[1:-1])] if members is not None and int(name[1:-1]) < len(members) else None
        if name == "__dict__" and self.fields_in_order(this, state) is not None:
            return self.fields_as_dict(this, node, state)
        method = cls.method(name)
        if method is not None:
            if method.is_property:
                return self.call_scope(method, Arguments(), node, state, this)
            return self.values.make(this.origins, ref=("function", method, this), name=name)
        if self.orm_of_class(cls) is not None and not name.isupper():
            if self.manager_of(this, name) is not None and name in ("objects",):
                return None
            return self.part_of(oid, obj, name, state)
        declared = cls.annotation(name)
        if declared is not None and obj.origin is not None and obj.origin.kind == "param" and obj.origin.n != "self":
            # A field of a request model or dataclass that came in: what its class says is its type and default, not its value.
            value = self.part_of(oid, obj, name, state)
            typ = self.annotation_type(declared[1], declared[0])
            if typ and value.typ is None:
                value = self.values.replace(value, typ=typ)
                state.put(oid, state.heap[oid].but(fields={**state.heap[oid].fields, name: value}))
            return value
        constant = self.class_constant(cls, name, state)
        if constant is not None:
            return constant
        value = self.attribute_elsewhere(cls, name, this, state)
        if value is not None:
            current = state.heap[oid]
            state.put(oid, current.but(fields={**current.fields, name: value}))
            return value
        if obj.origin is None:
            return None
        return self.part_of(oid, obj, name, state)

    # --- queries -------------------------------------------------------------------------------------------------------------
    def op_start(self, spec: Any, bound: Any, receiver: Any, args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.start_query(spec, spec.signature.returns, args, node, state, receiver)

    def start_query(self, spec: Any, verb: str, args: Any, node: Any, state: State, receiver: Optional[Value]) -> Value:
        entities = tuple(args.all())
        if receiver is not None and spec.entry.kind == "builder":
            entities = (receiver,)  # `table.update()`
        if verb == "text":
            return self.values.make(entities[0].origins if entities else NOTHING,
                                    query=Query((spec.entry.kind, spec.entry.id), "text", (), text=entities[0] if entities else None))
        flags: set = set()
        if verb == "select" and len(entities) == 1 and entities[0].query is not None and entities[0].query.verb == "select" and entities[0].query.entity:
            inner = entities[0].query  # `select(exists().where(…))`: the answer is about those rows
            return self.values.make(entities[0].origins, query=inner._replace(flags=inner.flags | {"probe"}))
        session = receiver if receiver is not None and spec.entry.kind == "orm" else None
        query = Query((spec.entry.kind, spec.entry.id), verb, entities, flags=frozenset(flags), session=session)
        value = self.values.make(self._union(entities), query=query, flags=receiver.flags & _KEEP if receiver is not None else NOTHING)
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
        for spec in [s for s in specs if s.op in _QUERY_OPS]:
            bound = self.fit(spec, args)
            if bound is None:
                continue
            step = "q_conflict" if spec.op == "upsert" and (entry.kind == "builder" or query.verb == "insert") else _QUERY_OPS[spec.op]
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
                if tail in _LOOKUPS or tail in _TEXT_LOOKUPS:
                    column, op = head, _LOOKUPS.get(tail, "like")
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
        from .calls import Arguments

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
        event = self.index[("write", id(self.site(node).at), self.frames[-1].calls, 0)]
        self.note_unique(event, entity)
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

    # --- running queries ---------------------------------------------------------------------------------------------------------
    def run_query(self, statement: Value, receiver: Optional[Value], spec: Any, node: Any, state: State, doubt: str) -> Value:
        query = statement.query
        self.throw_io(state, node, spec)
        if receiver is not None:
            if "serializable" in receiver.flags:
                state.held |= {Lock("serializable", 0, "session")}
        if any("advisory" in v.flags for v in query.entity):
            self.hold_advisory(node, state, any("xact" in v.name for v in query.entity))
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
        return ref[0] == "dotted" and _is_class_name(ref[1].rsplit(".", 1)[-1])

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
            return self.values.origin(Origin("read", event.n))
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

    def column_method(self, receiver: Value, name: str, args: Any) -> Value:
        right = args.positional[0].value if args.positional else self.values.none
        if name in _COLUMN_METHODS:
            return self.values.make(right.origins | {SERVER}, ref=("pred", ((receiver.ref[2], _COLUMN_METHODS[name], right),)))
        if name == "set" and len(args.positional) == 1:
            return self.values.make(right.origins, ref=("assignment", receiver.ref[2], right))
        return self.values.make(receiver.origins | self._union(args.all()) | {SERVER}, ref=receiver.ref if name in ("desc", "asc", "label") else ("server", receiver.ref[2]))

    def construct_library_class(self, cls: Any, args: Any, node: Any, state: State) -> Optional[Value]:
        return None

    # --- which ORM ---------------------------------------------------------------------------------------------------------------------
    def orm_of_class(self, cls: Any) -> Any:
        for base in cls.library_bases():
            for entry in self.vocabulary.listed("base", base):
                if entry.kind == "orm":
                    return entry
        return None

    def orm_of(self, value: Value, obj: Optional[Obj], name: str, args: Any, state: State) -> tuple:
        """(ORM entry of an instance, doubt) or (None, '')."""
        if obj is not None and obj.model is not None:
            kind, id_ = obj.model[0]
            entry = self.vocabulary.entry(kind, id_)
            unknown = obj.cls is None or isinstance(obj.cls, str)
            return entry, "class-unknown" if unknown else ""
        typ = value.typ or (obj.cls if obj is not None and isinstance(obj.cls, str) else None)
        if obj is not None and obj.kind == "instance" and obj.cls is not None and not isinstance(obj.cls, str):
            return self.orm_of_class(obj.cls), ""
        if typ and typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            return (self.orm_of_class(cls), "") if cls is not None else (None, "")
        for module in (self.model_module(typ), self.module_of_owner(value, obj, state)):
            found = self.likely_orm(module, name, args) if module else None
            if found is not None:
                return found, "class-unknown"
        if args is not None:
            for entry in self.vocabulary.entries("orm"):
                for spec in entry.ops("persist"):
                    param = spec.signature.param("columns")
                    if spec.signature.last == name and param is not None and any(k == param.name for k, _ in args.keywords):
                        return entry, "name-only"
        return None, ""

    def module_of_owner(self, value: Value, obj: Optional[Obj], state: State) -> str:
        """`talk.access_code` of `talk: Talk`: the module of models that the class of the row is from which this one was reached; '' where it is not known."""
        owner = state.heap.get(obj.parent[0]) if obj is not None and obj.parent is not None and not obj.parent[1].startswith("[") else None
        if owner is not None and isinstance(owner.cls, str):
            return self.model_module(owner.cls)
        return next((flag.removeprefix(PART_OF) for flag in value.flags if flag.startswith(PART_OF)), "")

    def likely_orm(self, module: str, name: str, args: Any) -> Any:
        """The ORM of a class that was not found, which a module of models holds: of those whose method takes such a call, one that the file imports; else the first."""
        fitting = [
            entry for entry in self.vocabulary.listed("model_modules", module)
            if any(s.signature.last == name and (args is None or self.fit(s, args) is not None) for s in entry.specs if s.op in ("persist", "reload", "remove"))
        ]
        imported = self.ask.imported_packages(self.frames[-1].scope.module) if len(fitting) > 1 else NOTHING
        return next((entry for entry in fitting if packages_of(entry) & imported), fitting[0] if fitting else None)

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
        event = self.index[("write", id(self.site(node).at), self.frames[-1].calls, extra or ("obj", oid))]
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
        event = self.index[("write", id(self.site(node).at), self.frames[-1].calls, ("new", oid))]
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
                                     flags=receiver.flags & _KEEP if receiver is not None else NOTHING)
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
            query = query._replace(filters=query.filters + ((column, _LOOKUPS.get(lookup, "=") if lookup else "=", self.flat(state, v)),))
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

    def op_chain(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`select(p for p in Part)`: the query that it is given."""
        rows = bound.first("table")
        return rows if rows is not None and rows.query is not None else None

    def op_set_write_function(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        return None

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
                        created = self.index[("write", id(self.site(node).at), self.frames[-1].calls, ("new", oid))]
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
            self.flush_object(oid, obj, entry, _AtSite(self.trace.events[first].site.at), state, None, None, commit_unseen=True)

    # --- dynamic attributes --------------------------------------------------------------------------------------------------------
    def dynamic_step(self, name: Value) -> str:
        """The step that stands for an attribute whose name is not known: the same name twice is the same attribute; '' where nothing is known of it."""
        known = name.same or name.origins - {CONST, SERVER, UNKNOWN}
        return "<" + ",".join(sorted(f"{o.kind}{o.n}{''.join(map(str, o.path))}" for o in known)) + ">" if known else "" if UNKNOWN in name.origins else f"<{self.object_id_of(('step', name))}>"

    def dynamic_field(self, base: Value, name: Value) -> frozenset:
        """`getattr(obj, name)` with an unknown name."""
        key = self.dynamic_step(name)
        return frozenset(o.at(key) for o in base.same) if key else NOTHING

    def put_dynamic(self, base: Value, name: Value, value: Value, state: State, node: Any, base_node: Any) -> None:
        key = self.dynamic_step(name)
        if not name.same and not value.origins & frozenset(o.at(key) for o in base.same):
            key = ""  # one of several attributes (`for name, new in patch.items()`): which, is not said
        self.copied_over(base, value, state)
        self.put_attribute(base, key or "<*>", value, state, node, "assign", base_node)


class _AtSite:
    """Stands for a node where only its handle is known."""

    __slots__ = ("at",)

    def __init__(self, at: Any) -> None:
        self.at = at


#: Begins a flag of a value: which module the class of the row is from that it was reached through.
PART_OF = "part of "
#: What a method of a loaded object may be.
_OBJECT_OPS = frozenset(("persist", "reload", "remove", "assign", "set_write"))
_KEEP = frozenset(("private", "sqlite", "serializable", "repeatable", "autocommit", "locked", "opened"))
_TEXT_LOOKUPS = frozenset(("contains", "icontains", "startswith", "istartswith", "endswith", "iendswith", "range", "year", "month", "day", "date", "regex", "iregex",
                           "has_key", "overlap", "week_day", "hour", "minute", "second", "contained_by", "search"))
_QUERY_OPS = {
    "filter": "q_filter", "lock": "q_lock", "load": "q_load", "many": "q_many", "scalar": "q_scalar", "check_exists": "q_scalar",
    "set_write": "q_set_write", "remove": "q_remove", "create": "q_create", "upsert": "q_upsert", "values": "q_values", "persist": "q_bulk",
    "chain": "q_chain", "columns": "q_returning", "execute": "q_execute",
}


def _is_class_name(name: str) -> bool:
    return name[:1].isupper() and not (name.isupper() and len(name) > 1)


def _q_returning(self: Any, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
    query = receiver.query
    return self.values.replace(receiver, query=query._replace(flags=query.flags | {"returning"}))


Orm.q_returning = _q_returning
