"""Models: what a class says of its rows (relations, kinds of fields, unique keys), queries that begin on the class or on a relation of a row,
and calls that act on one object of an ORM."""
from __future__ import annotations

from typing import Any, Callable, Optional

from noclobber.knowledge.signatures import Bound

from . import ir
from .arguments import Arguments
from .events import Precondition, Read
from .objects import Obj, State
from .uniquekeys import UniqueKeys
from .values import NOTHING, SERVER, Origin, Query, Value

_BEGINNING = frozenset(("filter", "lock", "load", "many", "scalar", "check_exists", "set_write", "create", "upsert", "result", "persist", "chain"))
_ASKED_BY_NAME = frozenset(("filter", "exclude", "create", "get_or_create", "get"))
_VERBS = frozenset(("select", "update", "delete", "insert", "upsert"))
#: Names that only an ORM's models have: no import of the ORM is asked for.
_TELLING = frozenset(("get_or_none", "get_by_id", "select", "find_one", "find_many", "get_or_create", "update_or_create", "bulk_create", "set_by_id", "delete_by_id", "insert_many", "replace_many"))
_PLAIN_TYPES = frozenset(("str", "bytes", "list", "List", "dict", "Dict", "set", "Set", "tuple", "Tuple", "bool", "Sequence", "Mapping", "UUID"))


#: Arguments of a field that is set when the row is made, or by itself.
_SET_ONCE = ("primary_key", "unique", "auto_now", "auto_now_add")


class Models(UniqueKeys):
    """Mixin of Walker."""

    # --- facts of a class ------------------------------------------------------------------------------------------------------
    def class_of(self, value: Optional[Value]) -> Any:
        """The class of the project that an entity value names, or None."""
        if value is None:
            return None
        if value.ref is not None and value.ref[0] == "class":
            return value.ref[1]
        if value.ref is not None and value.ref[0] in ("column", "columns"):
            return self.class_of(value.ref[1])
        if value.dotted:
            found = self.ask.dotted(value.dotted)
            return found[1] if found is not None and found[0] == "class" else None
        return None

    def model_class(self, obj: Obj) -> Any:
        """The class of the project that an object is a row of, or None."""
        cls = obj.cls
        if isinstance(cls, str):
            cls = self.ask.klass_of(cls) if cls.startswith("class:") else None
        if cls is None and obj.model is not None:
            cls = self.class_of(obj.model[1])
        return cls

    def is_relation_field(self, cls: Any, name: str) -> Optional[bool]:
        """Does the field hold another row? None: the class does not tell."""
        entry = self.orm_of_class(cls)
        call = cls.field_call(name)
        if call is not None:
            return bool(self._listed_call("relations", entry, call))
        text = cls.annotation_text(name)
        if text:
            return any(word in text for word in ("Link[", "BackLink[", "Relation["))
        return None

    def _listed_call(self, field: str, entry: Any, call: tuple) -> bool:
        """Is the constructor, or one of the types given to it, in that list of the entry?"""
        names = [call[0], *(text.split("(")[0].split("[")[0] for text in call[1])]
        for listed in entry.fields.get(field, ()) or () if entry is not None else ():
            last = listed.rsplit(".", 1)[-1]
            for name in names:
                if name == listed or last != "*" and name.rsplit(".", 1)[-1] == last or last == "*" and name.startswith(listed[:-1]):
                    return True
        return False

    def related_class(self, cls: Any, name: str) -> tuple:
        """(class of the project or None, its name or '') of the row that a relation's field holds."""
        entry = self.orm_of_class(cls)
        call = cls.field_call(name)
        text = ""
        if call is not None and self._listed_call("relations", entry, call):
            text = call[1][0] if call[1] else call[2].get("to", call[2].get("model_name", call[2].get("model", "")))
        if not text:
            found = cls.annotation(name)
            text = cls.annotation_text(name) if found is not None else ""
            typ = self.annotation_type(found[1], found[0]) if found is not None else None
            other = self.ask.klass_of(typ) if typ and typ.startswith("class:") else None
            if other is not None and self.orm_of_class(other) is not None:
                return other, other.name
            if typ and typ.startswith("class:") or call is None:
                return None, ""
        text = text.strip("'\"").rsplit(".", 1)[-1] if text.startswith(("'", '"')) else text
        if text == "self":
            return cls, cls.name
        found = self.ask.resolve(cls.module, text) if text.replace(".", "").isidentifier() else None
        if found is not None and found[0] == "class":
            return found[1], found[1].name
        last = text.rsplit(".", 1)[-1]
        return None, last if last.isidentifier() and last[:1].isupper() else ""

    def leaves_nothing(self, cls: Any, changed: Any) -> bool:
        """Has a row no column beside the changed ones that another writer could have set meanwhile? Keys, timestamps that set themselves and the
        row that it belongs to stay as they are."""
        entry = self.orm_of_class(cls) if cls is not None else None
        if entry is None or not set(cls.library_bases()) <= set(entry.fields.get("base") or ()) or any(cls.field_call(name) is None for name in changed):
            return False
        for owner in cls.mro():
            for name in {*owner.info.assigns, *owner.info.annotations}:
                call = cls.field_call(name)
                if name in changed or self.vocabulary.reach.manager(name) or call is None and name not in owner.info.annotations:
                    continue
                if call is None:
                    return False
                words = call[2]
                if any(words.get(word) == "True" for word in _SET_ONCE):
                    continue
                belongs = self._listed_call("relations", entry, call) and words.get("null") != "True" and any("CASCADE" in text for text in (*call[1], *words.values()))
                if not belongs:
                    return False
        return True

    def holds_no_number(self, obj: Obj, name: str) -> bool:
        """Is the field declared as text, JSON, a list? Undeclared fields may be anything."""
        cls = self.model_class(obj)
        if cls is None:
            return False
        entry = self.orm_of_class(cls)
        call = cls.field_call(name)
        if call is not None and self._listed_call("not_numbers", entry, call):
            return True
        text = cls.annotation_text(name).replace("Mapped[", "").replace("Optional[", "").strip("'\"")
        return text.split("[")[0].split("|")[0].strip(" ]").rsplit(".", 1)[-1] in _PLAIN_TYPES

    # --- relations of a row ------------------------------------------------------------------------------------------------------
    def relation_model(self, obj: Obj, name: str, typ: Optional[str]) -> Any:
        """(entry, entity Value or None) of a part that may be a row of its own."""
        if obj.model is None and not (obj.kind == "instance" and obj.cls is not None):
            return None
        if name.startswith("["):
            return None
        entry = obj.model[0] if obj.model is not None else None
        cls = self.model_class(obj)
        if entry is None:
            found = self.orm_of_class(cls) if cls is not None else None
            if found is None:
                return None
            entry = (found.kind, found.id)
        if cls is not None:
            other, label = self.related_class(cls, name)
            if other is not None:
                return entry, self.class_value(other)
            if label:
                return entry, self.values.origin(Origin("global", label), ref=("dotted", label), name=label)
            if self.is_relation_field(cls, name) is False:
                return None  # a plain column
        return entry, None

    def note_relation(self, obj: Obj, name: str, origin: Origin) -> None:
        cls = self.model_class(obj)
        if cls is not None and self.is_relation_field(cls, name):
            self.trace.relations.add(origin)

    def related_element(self, iterable: Value, element: Value, state: State) -> None:
        """`for line in order.lines:`: each is a row of the related class."""
        for oid in iterable.objs:
            obj = state.heap.get(oid)
            owner = state.heap.get(obj.parent[0]) if obj is not None and obj.parent is not None else None
            if owner is None or obj.model is None or obj.cls is None:
                continue
            cls = self.model_class(owner)
            if cls is None or not self.is_relation_field(cls, obj.parent[1]):
                continue
            for inner in element.objs:
                current = state.heap.get(inner)
                if current is not None and current.kind == "path" and current.model is None:
                    state.put(inner, current.but(model=obj.model, cls=obj.cls, session=obj.session, label=self.entity_label(obj.model[1], state)))

    def row_object_of(self, name: str, value: Value, state: State) -> Value:
        """`flask_login.current_user`, `request.user`: a row that some middleware has loaded."""
        known = self.vocabulary.listed("row_objects", name)
        if not known or value.objs or len(value.same) != 1:
            return value
        (origin,) = value.same
        oid = self.object_id_of(("path", origin))
        if oid not in state.heap:
            state.put(oid, Obj("path", origin, label=name.rsplit(".", 1)[-1], model=((known[0].kind, known[0].id), None)))
        return self.values.replace(value, objs=frozenset((oid,)), ref=None)

    def related_query(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """`order.lines.filter(…)`: a query of the rows that belong to a row; None: it is none."""
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            owner = state.heap.get(obj.parent[0]) if obj is not None and obj.parent is not None else None
            if owner is None or obj.kind != "part" or obj.parent[1].startswith(("[", "_")):
                continue
            entry = self.entry_of_owner(owner)
            if entry is None or not entry.fields.get("related_managers"):
                continue
            specs = [s for s in entry.specs if s.signature.last == name and s.op in ("filter", "lock", "load", "many", "scalar", "check_exists", "set_write", "create", "upsert")]
            if not specs or not any(self.fit(s, args) is not None for s in specs):
                continue
            if name in ("get", "first", "last", "count", "update", "create") and self.plain_field(owner, obj.parent[1]):
                continue
            key = self.values.origin(owner.origin, objs=frozenset((obj.parent[0],))) if owner.origin is not None else self.values.unknown
            return self.related_rows(entry, receiver, obj.parent[1], key, name, args, node, state)
        return self.guessed_rows(receiver, name, args, node, state)

    def related_rows(self, entry: Any, receiver: Value, relation: str, key: Value, name: str, args: Any, node: Any, state: State) -> Value:
        """The method of a query of the rows that belong to the row `key`."""
        entity = self.values.make(receiver.origins, same=receiver.same, name=relation, ref=("relation", relation))
        query = Query((entry.kind, entry.id), "select", (entity,), filters=(("@owner", "=", key),), flags=frozenset(("related",)))
        begin = self.values.make(receiver.origins, query=query, flags=receiver.flags & frozenset(("sqlite", "serializable", "autocommit")), name=relation)
        return self.query_method(begin, name, args, node, state)

    def guessed_rows(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """`donor.donations.filter(year=2024)` of a row whose class is not known, in a file that imports the ORM: only its managers are asked by name."""
        if name not in _ASKED_BY_NAME or receiver.typ or len(receiver.same) != 1 or not _by_name_only(args):
            return None
        (origin,) = receiver.same
        relation = str(origin.path[-1]) if origin.path else ""
        if origin.kind not in ("param", "opaque", "read") or not relation.isidentifier() or relation != receiver.name or not _many_by_name(relation):
            return None
        imported = self.ask.imported_packages(self.frames[-1].scope.module)
        for entry in self.vocabulary.entries("orm"):
            if entry.fields.get("related_managers") and entry.fields.get("manager") and packages_of(entry) & imported:
                owner = self.values.origin(origin._replace(path=origin.path[:-1]))
                return self.related_rows(entry, receiver, relation, owner, name, args, node, state)
        return None

    def entry_of_owner(self, owner: Obj) -> Any:
        if owner.model is not None:
            return self.vocabulary.entry(*owner.model[0])
        if owner.kind in ("instance", "path") and owner.cls is not None:
            cls = self.model_class(owner)
            return self.orm_of_class(cls) if cls is not None else None
        return None

    def plain_field(self, owner: Obj, name: str) -> bool:
        """`row.settings.get("k")`, `row.meta.update({…})`: a JSON column's own methods."""
        cls = self.model_class(owner)
        if cls is not None and self.is_relation_field(cls, name) is not None:
            return True  # a declared column, or the one-side of a relation
        return not _many_by_name(name)

    def row_of_view(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """`self.get_object()` of a view: one row of what its get_queryset() gives, or of its `queryset`."""
        if not self.vocabulary.match("row_getter", name) or args.positional:
            return None
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind != "instance" or obj.cls is None or isinstance(obj.cls, str):
                continue
            begin = obj.cls.method("get_queryset")
            rows = self.call_scope(begin, Arguments(), node, state, receiver) if begin is not None and begin.key not in self.active else self.class_constant(obj.cls, "queryset", state)
            rows = rows if rows is not None else self.rows_of_named_model(obj.cls, state)
            if rows is not None and rows.query is not None and rows.query.verb == "select":
                query = rows.query
                if "may lock" in query.flags:  # `if self.request.method != "GET": rows = rows.select_for_update()`
                    query = query._replace(flags=query.flags | {"lock"})
                return self.select_rows(self.values.replace(rows, query=query._replace(filters=query.filters + (("@view", "=", self.values.origin(obj.origin)),))), "one", node, state)
        return None

    def rows_of_named_model(self, cls: Any, state: State) -> Optional[Value]:
        """`model = Gallery` in the body of a view: the rows that its get_object() looks in."""
        model = self.class_constant(cls, "model", state)
        if model is None or model.ref is None or model.ref[0] not in ("class", "dotted"):
            return None
        manager = self.manager_of(model, "objects")
        return self.values.replace(manager, query=manager.query._replace(flags=manager.query.flags - {"manager"})) if manager is not None else None

    # --- queries that begin on the class -------------------------------------------------------------------------------------------
    def model_class_method(self, cls: Any, name: str, receiver: Value, args: Any, node: Any, state: State) -> Optional[Value]:
        """`Model.get(…)`, `Model.select()` of a class of the project."""
        entry = self.orm_of_class(cls)
        if entry is None or not entry.fields.get("class_queries"):
            return None
        return self.class_query(entry, receiver, name, args, node, state)

    def imported_class_method(self, dotted: str, callee: Value, args: Any, node: Any, state: State) -> Optional[Value]:
        """The same of a class that was not found: which ORM it is of, imports and the call's shape tell."""
        owner, _, name = dotted.rpartition(".")
        module, _, last = owner.rpartition(".")
        if not module or not last[:1].isupper() or last.isupper() and len(last) > 1 or not self.begins_query(name):
            return None
        packages = self.ask.imported_packages(self.frames[-1].scope.module)
        best = None
        for entry in self.vocabulary.entries("orm"):
            if not entry.fields.get("class_queries"):
                continue
            specs = [s for s in entry.specs if s.signature.last == name and s.op in _BEGINNING]
            if not specs or all(self.fit(s, args) is None for s in specs):
                continue
            named = any(base.split(".")[0] in packages for base in entry.fields.get("base", ()) or () if not base.startswith(("*", "db.")))
            modular = entry in self.vocabulary.listed("model_modules", module)
            shaped = modular and (name in _TELLING or any(a.value.ref is not None and a.value.ref[0] == "pred" for a in args.positional)
                                  or _by_name_only(args) and any(s.op == "result" and s.signature.returns in _VERBS for s in specs))
            if module.split(".")[0] in packages_of(entry):
                continue  # a class of the ORM itself
            # In a coroutine a class that is asked by name (`await User.get(id=1)`) is one whose queries are awaited.
            awaited = modular and bool(entry.fields.get("awaitable")) and self.frames[-1].scope.info.is_async
            rank = (named and modular, named, shaped or awaited and _by_name_only(args), awaited)
            if any((rank[0], rank[2])) and (best is None or rank > best[0]):
                best = rank, entry
        if best is None:
            return None
        cls = self.values.origin(Origin("global", owner), ref=("dotted", owner), name=last)
        return self.class_query(best[1], cls, name, args, node, state)

    def is_called_manager(self, name: str) -> bool:
        known = self.shared.get("called managers")
        if known is None:
            known = self.shared["called managers"] = frozenset(
                name for entry in self.vocabulary.entries("orm") if any(s.signature.last == "__call__" and s.op == "filter" for s in entry.specs)
                for name in entry.fields.get("manager", ()) or ())
        return name in known

    def begins_query(self, name: str) -> bool:
        known = self.shared.get("class queries")
        if known is None:
            known = self.shared["class queries"] = frozenset(
                s.signature.last for entry in self.vocabulary.entries("orm") if entry.fields.get("class_queries") for s in entry.specs if s.op in _BEGINNING)
        return name in known

    def class_query(self, entry: Any, cls: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        specs = [s for s in entry.specs if s.signature.last == name and s.op in _BEGINNING]
        query = Query((entry.kind, entry.id), "select", (cls,), flags=frozenset(("manager",)))
        begin = self.values.make(cls.origins, query=query, name=cls.name)
        for spec in specs:
            if self.fit(spec, args) is None:
                continue
            if spec.op != "result":
                return self.query_method(begin, name, args, node, state)
            verb = spec.signature.returns
            if verb not in _VERBS:
                return None
            if verb == "select":
                return begin
            proposed = self.q_values(spec, None, self.values.replace(begin, query=query._replace(verb="insert" if verb == "upsert" else verb)), args, node, state)
            return self.q_conflict(spec, Bound(), proposed, args, node, state) if verb == "upsert" else proposed  # `Model.replace(…)`
        return None

    def q_execute(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        """`Model.update(…).where(…).execute()`."""
        verb = receiver.query.verb
        if verb == "select":
            return self.select_rows(receiver, "many", node, state, spec)
        return self.query_write(receiver, {"update": "update", "delete": "delete", "insert": "create", "upsert": "upsert"}.get(verb, "update"), spec, node, state)

    def model_subscript(self, base: Value, index: Value, node: Any, state: State) -> Optional[Value]:
        """`Model[key]` loads a row."""
        ref = base.ref
        if ref is None or ref[0] not in ("class", "dotted") or index.ref is not None:
            return None
        entry = self.subscript_entry(base)
        if entry is None:
            return None
        query = Query((entry.kind, entry.id), "select", (base,), filters=(("pk", "=", self.flat(state, index)),))
        return self.select_rows(self.values.make(base.origins, query=query), "one", node, state)

    def generated_query(self, node: Any, state: State) -> Optional[Value]:
        """`p for p in Part if p.name == name`, of an ORM to which such a generator is a query; None: it is none."""
        first = node.generators[0]
        if len(node.generators) != 1 or not isinstance(first.iter, (ir.Name, ir.Attr)):
            return None
        table = self.eval(first.iter, state)
        entry = self.entry_with("generators", table) if table.ref is not None and table.ref[0] in ("class", "dotted") else None
        if entry is None:
            return None
        self.assign(first.target, table, state, node)
        filters: list = []
        for test in first.ifs:
            filters += self._predicate(self.eval(test, state))
        asked = self.eval(node.elt, state)
        entity = asked if asked.ref is not None and asked.ref[0] == "column" else table
        flags = frozenset(("open",)) if any(column == "" for column, _, _ in filters) else NOTHING
        return self.values.make(table.origins | self._union(value for _, _, value in filters), query=Query((entry.kind, entry.id), "select", (entity,), filters=tuple(filters), flags=flags))

    def subscript_entry(self, base: Value) -> Any:
        return self.entry_with("subscript", base)

    def entry_with(self, field: str, base: Value) -> Any:
        """The ORM of a model class, where its entry has that field."""
        return self.entry_where(lambda entry: bool(entry.fields.get(field)), base)

    def entry_where(self, fits: Callable[[Any], bool], base: Value) -> Any:
        """The ORM of a model class, if it is such a one: by its bases, else by its module and what the file imports."""
        if base.ref is None or base.ref[0] not in ("class", "dotted"):
            return None
        if base.ref[0] == "class":
            entry = self.orm_of_class(base.ref[1])
            return entry if entry is not None and fits(entry) else None
        module, _, last = base.ref[1].rpartition(".")
        if not module or not last[:1].isupper() or last.isupper() and len(last) > 1:
            return None
        packages = self.ask.imported_packages(self.frames[-1].scope.module)
        for entry in self.vocabulary.listed("model_modules", module):
            if entry.kind == "orm" and fits(entry) and packages & packages_of(entry):
                return entry
        return None

    # --- acting on one object --------------------------------------------------------------------------------------------------------
    def op_persist_function(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`engine.save(obj)`, `super().update(obj, {"n": obj.n + 1})`: the fields that are given are set first."""
        targets = [value for _, value in bound.by_role.get("instance", ())]
        if spec.get("row") and receiver is not None:
            targets.append(self._with_object(self.attribute(receiver, spec.get("row"), node, state), node, state))
        if not targets:
            return None
        for name, value in bound.by_role.get("fields", ()):
            if spec.signature.param("fields") is not None and spec.signature.param("fields").kind == "varkw":
                self.put_attribute(targets[0], name, value, state, node, "assign")
        for _, given in self.given(bound, "fields"):
            for step, value in (self.mapping_items(given, state) or {}).items():
                if step.startswith(("['", '["')):
                    self.put_attribute(targets[0], step[2:-2], value, state, node, "assign")
        done: set = set()
        for target in targets:
            for part in self.parts(state, target):
                for oid in part.objs:
                    obj = state.heap.get(oid)
                    if obj is None or oid in done or obj.kind not in ("row", "path", "instance", "new"):
                        continue
                    done.add(oid)
                    if obj.model is None:
                        state.put(oid, obj.but(model=((spec.entry.kind, spec.entry.id), None)))
                    entry = self.vocabulary.entry(*obj.model[0]) if obj.model is not None else spec.entry
                    self.persist_object(oid, entry, spec, node, state, self.column_names(bound, state), doubt or ("class-unknown" if obj.cls is None else ""),
                                        bound=bound, extra=("persist", oid))
        return targets[0]

    def op_assign_function(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`Set({Model.n: 1})`, handed to an update: the mapping that it is given."""
        return bound.first("fields") if receiver is None else None

    def object_assign(self, oid: int, spec: Any, args: Any, node: Any, state: State) -> None:
        """`obj.set(n=1)`, `obj.update_from_dict(data)`: attributes of the object change."""
        this = self.values.make(NOTHING, objs=frozenset((oid,)))
        for name, argument in args.keywords:
            if spec.signature.param("fields") is None or spec.signature.param("fields").kind == "varkw":
                self.put_attribute(this, name, argument.value, state, node, "assign")
        for argument in args.positional:
            for step, value in (self.mapping_items(argument.value, state) or {}).items():
                if step.startswith(("['", '["')):
                    self.put_attribute(this, step[2:-2], value, state, node, "assign")
            dumped = self.dump_of_whole(argument.value, node, state)
            if dumped is not None or any(o.kind == "dump" for o in argument.value.origins):
                self.put_attribute(this, "<*>", dumped or argument.value, state, node, "assign")

    def object_set_write(self, oid: int, obj: Obj, entry: Any, spec: Any, bound: Any, args: Any, node: Any, state: State) -> Value:
        """`doc.set({…})`, `doc.update(inc__n=1)`: a statement that writes the object's row."""
        asked = [value for _, value in bound.by_role.get("filter", ()) if not value.is_none]
        columns = self.set_columns(entry, args.without(asked) if asked else args, state)
        record = self.object_record(oid, obj, entry, state)
        demanded: list = []
        for value in asked:  # `job.modify({"status": "new"}, set__status="taken")`
            more, conditions = self.split_predicates(self.filter_predicates(value, state) or [], {name for name, _ in columns})
            record = record._replace(key=(*record.key, *more))
            demanded += conditions
        payload = self.values.derived([v for _, v in columns] or [self.values.const(None)])
        versioned = self.version_guard(obj) and not spec.get("unversioned")
        preconditions = (*self.preconditions_of(spec, bound, None, state), *demanded)
        if versioned and not preconditions:
            preconditions = (Precondition("witness", "version column", self.values.unknown),)
        return self.write(node, state, record=record, verb="update", payload=payload, spec=spec, columns=columns, preconditions=preconditions,
                          self_columns=frozenset(name for name, v in columns if SERVER in v.origins), extra=("set", oid))

    def set_columns(self, entry: Any, args: Any, state: State) -> tuple:
        """((column, Value), …) of an update's arguments: keywords with operator prefixes, mappings, `{"$set": {…}}`, operator objects."""
        found: list = []
        separator = entry.fields.get("lookup_separator") or "\0"
        atomic, setting = entry.fields.get("atomic_operators") or (), entry.fields.get("set_operators") or ()
        for name, argument in args.keywords:
            value = self.flat(state, argument.value)
            head, _, rest = name.partition(separator)
            actions = self._column_actions(argument.value, state)
            if actions:
                found += actions
            elif rest and head in atomic:
                found.append((rest, self.values.make(value.origins | {SERVER})))
            elif rest and head in setting:
                found.append((rest, value))
            else:
                found.append((name, value))
        for argument in args.positional:
            found += self._column_actions(argument.value, state) or self._mapped_columns(argument.value, state)
        found += [("?", value) for value in args.rest]
        return tuple(found)

    def _mapped_columns(self, value: Value, state: State) -> list:
        """What a mapping says is written: `{"n": 1}`, `{Model.n: 1}`, `{"$set": {"n": 1}, "$inc": {"m": 1}}`."""
        found: list = []
        mapping = self.mapping_items(value, state)
        for step, inner in (mapping or {}).items():
            name = step[2:-2] if step.startswith(("['", '["')) else step
            if name == "$set":
                found += self._mapped_columns(inner, state)
            elif name.startswith("$"):
                computed = self.values.make(self.deep(state, inner) | {SERVER})
                found += [(column, computed) for column, _ in self._mapped_columns(inner, state)]
            else:
                found.append((name, self.flat(state, inner)))
        rest = self.rest_of(value, state, mapping)
        if rest is not None:
            found.append(("?", self.values.replace(rest, origins=rest.origins | self.deep(state, value))))
        return found

    def _column_actions(self, value: Value, state: State) -> list:
        """`[Model.n.add(1), Model.note.set(text)]`: what each action writes; [] where they are none."""
        known = self.known_items(value, state) or ()
        if not known or not all(item.ref is not None and item.ref[0] in ("assignment", "server") for item in known):
            return []
        return [(item.ref[1], self.flat(state, item.ref[2])) if item.ref[0] == "assignment" else (item.ref[1], self.values.make(item.origins | {SERVER})) for item in known]

    def left_unchecked(self, entry: Any, cls: Any, name: str) -> bool:
        """Does the declaration of an attribute say that its old value is not compared?"""
        call = cls.field_call(name) if cls is not None else None
        words = {*call[1], *(f"{key}={value}" for key, value in call[2].items())} if call is not None else set()
        return not words.isdisjoint(entry.fields.get("unchecked") or ())

    def optimistic_guard(self, entry: Any, obj: Obj, changes: Any, state: State) -> bool:
        """Does the ORM itself compare, at the flush, the attributes that these changes were computed from? It does for what was read in
        the unit of work that is open now, unless that was begun without the check or the attribute is left out of it."""
        if not entry.fields.get("optimistic"):
            return False
        cls = self.model_class(obj)
        if any(self.left_unchecked(entry, cls, str(path[0])) for _, path in changes):
            return False
        units = frozenset(lock for lock in state.held if lock.owner == "unit")
        if any(lock.kind == "atomic" for lock in units):
            return False
        for n, _ in changes:
            for origin in self.trace.events[n].value.origins:
                event = self.trace.events[origin.n] if origin.kind == "read" else None
                if isinstance(event, Read) and event.record.store == entry.id and frozenset(lock for lock in event.ctx.held if lock.owner == "unit") != units:
                    return False
        return True


def _many_by_name(name: str) -> bool:
    """A name such as the many-side of a relation has (`lines`, `order_set`), and a mapping hardly."""
    return name.endswith(("s", "_set", "_all")) and not name.endswith(
        ("settings", "ss", "status", "options", "params", "attrs", "attributes", "kwargs", "details", "args", "tags", "extras", "properties"))


def _by_name_only(args: Any) -> bool:
    """Arguments by name, and none by place."""
    return bool(args.keywords or args.open_kwargs) and not args.positional and not args.open_star


def packages_of(entry: Any) -> frozenset:
    return frozenset(base.split(".")[0] for base in entry.fields.get("base", ()) or () if not base.startswith(("*", "db.")))
