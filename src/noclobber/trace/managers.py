"""Managers and querysets that a project writes itself: `objects = AccountManager()`, whose methods are queries on the model."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .models import packages_of
from .objects import State
from .values import Query, Value

#: What a query is asked beside its filters and reads.
_QUERY_WORDS = frozenset(("get", "first", "last", "create", "update", "get_or_create", "update_or_create", "select_for_update", "bulk_update", "aget", "afirst", "acreate", "aupdate"))

#: Calls that give the query itself: a manager's own rows, before a method of the project narrows or locks them.
OWN_ROWS = frozenset(("get_queryset", "get_query_set", "all", "_clone", "_chain", "using", "db_manager"))


class Managers:
    """Mixin of Walker."""

    def manager_classes(self, receiver: Value) -> tuple:
        """Classes of the project that make up the manager that a query began with, nearest first."""
        entity = receiver.query.entity[0] if receiver.query.entity else None
        if entity is None or entity.ref is None or entity.ref[0] != "class":
            return ()
        cls = entity.ref[1]
        names = [flag[8:] for flag in receiver.query.flags if flag.startswith("manager=")]
        known = self.shared.setdefault("managers", {})
        key = (cls.type_name, *names)
        if key not in known:
            known[key] = tuple(found for name in names for found in self._classes_in(cls, name))
        return known[key]

    def _classes_in(self, cls: Any, name: str) -> list:
        found = cls.assign(name)
        if found is None:
            return []
        scope, _, statements = found
        classes: list = []
        stack = [statement.value for statement in statements if isinstance(statement, (ir.Assign, ir.AnnAssign)) and statement.value is not None]
        while stack:
            node = stack.pop(0)
            if isinstance(node, ir.Call):  # AccountManager(), Manager.from_queryset(AccountQuerySet)()
                stack += [node.func, *(argument.value for argument in node.args)]
                continue
            if isinstance(node, ir.Attr) and node.name in ("as_manager", "from_queryset"):
                node = node.value
            text = ir.dotted(node)
            target = self.ask.resolve(scope.module, text) if text else None
            if target is not None and target[0] == "class":
                classes.append(target[1])
            elif target is not None and target[0] == "global":  # Objects = Manager.from_queryset(AccountQuerySet)
                value = self.ask.alias(target[1], target[2])
                if isinstance(value, ir.Call):
                    scope = _At(target[1])
                    stack.append(value)
        return classes

    def manager_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """The call of a method that the project's manager or queryset defines; None where it has no such method."""
        classes = self.manager_classes(receiver)
        for cls in classes:
            method = cls.method(name)
            if method is not None:
                return self.call_scope(method, args, node, state, receiver)
        return receiver if classes and name in OWN_ROWS else None


    def own_query(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """`self.filter(…)` in a method of the project's manager or queryset, where nobody has said which model's it is; None: it is none."""
        if not self.is_query_method(name) and name not in _QUERY_WORDS:
            return None
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind != "instance" or obj.cls is None or isinstance(obj.cls, str):
                continue
            begun = self.query_of_manager(obj.cls)
            if begun is not None:
                entry, model = begun
                entity = (self.class_value(model),) if model is not None else ()
                query = Query((entry.kind, entry.id), "select", entity, flags=frozenset(("related",)))
                return self.query_method(self.values.make(receiver.origins, query=query, name=name), name, args, node, state)
        return None

    def query_of_manager(self, cls: Any) -> Optional[tuple]:
        """(entry, the model of its module that has such a manager or None) of a class of managers; None: it is none."""
        known = self.shared.setdefault("manager models", {})
        if cls.type_name not in known:
            bases = [base.rstrip("()") for base in cls.library_bases() if base.rstrip("()").endswith(("Manager", "QuerySet"))]
            packages = {base.split(".")[0] for base in bases}
            entry = next((entry for entry in self.vocabulary.entries("orm") if entry.fields.get("manager") and packages & packages_of(entry)), None)
            models = [cls.module.klass(key) for key in cls.module.index.classes] if entry is not None else []
            owners = [model for model in models if any(cls in self._classes_in(model, name) for name in model.info.assigns)]
            known[cls.type_name] = (entry, owners[0] if len(owners) == 1 else None) if entry is not None else None
        return known[cls.type_name]


class _At:
    """Where a name is to be looked up."""

    def __init__(self, module: Any) -> None:
        self.module = module
