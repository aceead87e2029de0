"""Model classes, their managers and columns, and the attributes of what is typed as a record."""
from __future__ import annotations

from typing import Any, Optional

from .arguments import Arguments
from .models import packages_of
from .objects import Obj, State
from .values import NOTHING, SERVER, Lit, Origin, Query, Value

#: Begins a flag of a value: which module the class of the row is from that it was reached through.
PART_OF = "part of "
QUERY_OPS = {
    "filter": "q_filter", "lock": "q_lock", "load": "q_load", "many": "q_many", "scalar": "q_scalar", "check_exists": "q_scalar",
    "set_write": "q_set_write", "remove": "q_remove", "create": "q_create", "upsert": "q_upsert", "values": "q_values", "persist": "q_bulk",
    "chain": "q_chain", "columns": "q_returning", "execute": "q_execute",
}


class ModelClasses:
    """Mixin of Walker."""

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
            if is_class_name(last):
                manager = self.manager_of(base, name)
                if manager is not None:
                    return manager
                if name == "__table__":
                    return base
            if name in ("c", "columns") and not is_class_name(last):
                return self.values.make(base.origins, ref=("columns", base))
            found = self.ask.dotted(f"{dotted}.{name}")
            if found is not None:
                return self.named(found, name, state)
            if is_class_name(last) and name.islower() and not name.startswith("_") and "." in dotted:
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
            if entry.fields.get("manager") and "objects" in entry.fields["manager"] and any(s.signature.last == name and s.op in QUERY_OPS and self.fit(s, args) is not None for s in entry.specs):
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
        return module if module and is_class_name(last) and self.vocabulary.listed("model_modules", module) else ""

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
        # A field that is only annotated is each instance's own.
        constant = self.class_constant(cls, name, state) if cls.assign(name) is not None else None
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
            own = self.orm_of_class(obj.cls)
            # A mixin names no base; that its save() is given columns tells what it is mixed into.
            return (own, "") if own is not None or args is None else self.orm_by_columns(name, args)
        if typ and typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            return (self.orm_of_class(cls), "") if cls is not None else (None, "")
        for module in (self.model_module(typ), self.module_of_owner(value, obj, state)):
            found = self.likely_orm(module, name, args) if module else None
            if found is not None:
                return found, "class-unknown"
        return self.orm_by_columns(name, args) if args is not None else (None, "")

    def orm_by_columns(self, name: str, args: Any) -> tuple:
        """(ORM entry, doubt) of `obj.save(update_fields=[…])`: that keyword tells."""
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


def is_class_name(name: str) -> bool:
    return name[:1].isupper() and not (name.isupper() and len(name) > 1)
