"""Forms made after a model: the row that one holds, or the new one that saving it makes."""
from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any, Optional

from .objects import Obj, State
from .values import Origin, Value

_MODEL = re.compile(r"^\s*model\s*=\s*([A-Za-z_][\w.]*)", re.MULTILINE)


class Forms:
    """Mixin of Walker."""

    def op_form_save(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`form.save(commit=False)`: the row that the form was given, else a new one of its model, created unless that waits for its own save()."""
        entity = self.model_of_form(receiver.typ) if receiver is not None and receiver.typ else None
        if entity is None:
            return None
        for oid in receiver.objs:
            held = state.heap[oid].fields.get("instance") if oid in state.heap else None
            if held is not None and not held.is_none:
                return held
        manager = self.manager_of(entity, "objects")
        if manager is None:
            return None
        cls = entity.ref[1] if entity.ref[0] == "class" else entity.dotted
        oid = self.object_id(node, "new")
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        filled = self.values.make(self.deep(state, receiver))
        state.put(oid, Obj("new", own, fields={"@rest": filled}, new=True, cls=cls, model=(manager.query.entry, entity), label=self.entity_label(entity, state)))
        commit = bound.by_name.get("commit")
        if commit is None or commit.literal is not False:
            obj = state.heap[oid]
            self.create_object(oid, obj, self.object_record(oid, obj, spec.entry, state), spec, node, state)
        return self.values.make(filled.origins | {own}, same=frozenset((own,)), objs=frozenset((oid,)), typ=cls if isinstance(cls, str) else cls.type_name)

    def model_of_form(self, typ: str) -> Optional[Value]:
        """The model that `class Meta: model = …` of a form's class names."""
        cls = self.ask.klass_of(typ) if typ.startswith("class:") else None
        found = _MODEL.search(cls.nested_text("Meta")) if cls is not None else None
        target = self.ask.resolve(cls.module, found.group(1)) if found is not None else None
        if target is None:
            return None
        if target[0] == "class":
            return self.class_value(target[1])
        name = target[1] if target[0] == "import" else ""
        return self.values.origin(Origin("global", name), ref=("dotted", name), name=name.rpartition(".")[2]) if name else None

    def form_handed_in(self, name: str, origin_name: str, scope: Any, state: State) -> Optional[Value]:
        """`def form_valid(self, form)` of a view: a form of the class that the view names; where the view edits a row, it holds that."""
        for entry in self.vocabulary.entries("orm") if scope.cls is not None else ():
            for text in entry.fields.get("form_parameters", ()) or ():
                parameter, _, attribute = text.partition(" -> ")
                named = self.class_constant(scope.cls, attribute, state) if parameter == name else None
                if named is None or named.ref is None or named.ref[0] != "class":
                    continue
                value = self.instance_parameter(named.ref[1], origin_name, name, state)
                entity = self.model_of_form(value.typ or "")
                editing = entry.fields.get("editing_views") or ()
                if entity is not None and any(fnmatchcase(base, glob) for base in scope.cls.library_bases() for glob in editing):
                    self.hold_row(value, entity, state)
                return value
        return None

    def hold_row(self, form: Value, entity: Value, state: State) -> None:
        manager = self.manager_of(entity, "objects")
        for oid in form.objs if manager is not None else ():
            origin = state.heap[oid].origin.at("instance")
            row = self.object_id_of(("path", origin))
            state.put(row, Obj("path", origin, label=self.entity_label(entity, state), model=(manager.query.entry, entity)))
            held = self.values.origin(origin, objs=frozenset((row,)), name="instance")
            state.put(oid, state.heap[oid].but(fields={**state.heap[oid].fields, "instance": held}))
