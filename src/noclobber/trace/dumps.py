"""Partial updates: a patch model that is written out with every field, the unset ones too."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Dump
from .objects import State
from .values import Origin, Value

_METHODS = frozenset(("model_dump", "dict"))
_EXCLUDING = frozenset(("exclude_unset", "exclude_none", "exclude_defaults", "include"))
_FIELD_TABLES = frozenset(("model_fields", "__fields__", "__annotations__"))
_MODEL_BASES = ("pydantic.", "sqlmodel.", "ninja.", "msgspec.")


class Dumps:
    """Mixin of Walker."""

    def patch_class(self, value: Value) -> tuple:
        """(is it a model of input data, has it fields that may be left out: True, False, None = not known, its name)."""
        if value.query is not None or value.ref is not None or not value.typ:
            return False, None, ""
        if value.typ.startswith("class:"):
            cls = self.ask.klass_of(value.typ)
            if cls is None:
                return False, None, ""
            bases = cls.library_bases()
            if not any(base.startswith(_MODEL_BASES) or base.rsplit(".", 1)[-1] in ("BaseModel", "Schema", "SQLModel") for base in bases):
                # The base stands in another module: what it is cannot be told.
                return (bool(bases) and self.orm_of_class(cls) is None and self.vocabulary.match("patch_class", cls.name)), None, cls.name
            names = cls.field_names()
            return True, any(_may_be_left_out(cls, name) for name in names), cls.name
        name = value.typ.rsplit(".", 1)[-1]
        return self.vocabulary.match("patch_class", name), None, name

    def dump_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """`patch.model_dump()`: a mapping of every field."""
        if name not in _METHODS or args.positional or args.open_kwargs or any(k in _EXCLUDING and a.value.literal is not False for k, a in args.keywords):
            return None
        known, optional, label = self.patch_class(receiver)
        if not known or optional is False:
            return None
        return self.dumped(receiver, label, optional, node, state)

    def dumped(self, source: Value, label: str, optional: Optional[bool], node: Any, state: State) -> Value:
        event = self.event(Dump, node, state, label=label, optional=optional, handler=self.handler_kind())
        event.whole = not any(o.path for o in source.same)
        event.all_optional = self.is_all_optional(source)
        event.source = source.same
        event.of_patch = event.of_patch or self.is_of_patch(source, state)
        return self.values.make(source.origins | {Origin("dump", event.n)}, name=source.name)

    def is_of_patch(self, part: Value, state: State) -> bool:
        """Is it a part of a parameter whose class is a patch (`data.config` of `data: CameraUpdate`)?"""
        for origin in part.same:
            whole = state.env.get(str(origin.n).rpartition(":")[2]) if origin.kind == "param" and origin.path else None
            if whole is not None and whole.typ and self.vocabulary.match("patch_class", whole.typ.replace(":", ".").rpartition(".")[2]):
                return True
        return False

    def is_all_optional(self, value: Value) -> bool:
        """Is it of a class of the project in which every field may be left out?"""
        cls = self.ask.klass_of(value.typ) if value.typ and value.typ.startswith("class:") else None
        names = list(cls.field_names()) if cls is not None else []
        return bool(names) and all(_may_be_left_out(cls, name) for name in names)

    def handler_kind(self) -> str:
        """'patch' where the function around is a partial update by its decorator, 'update' by its name only, 'put' where it replaces, '' else."""
        for frame in reversed(self.frames):
            info = getattr(frame.scope, "info", None)
            for text in info.decorators if info is not None else ():
                verb = text.split("(")[0].rsplit(".", 1)[-1].lower()
                if verb in ("patch", "put", "post"):
                    return "put" if verb == "post" else verb
        for frame in reversed(self.frames):
            if self.vocabulary.match("patch_function", frame.scope.name):
                return "update"
        return ""

    def dump_iteration(self, iterable: Value, node: Any, state: State) -> Optional[Value]:
        """`for name, value in patch:` goes over every field of the model."""
        named = self.field_names(iterable, node, state) if isinstance(node, ir.For) else None
        if named is not None:
            return named
        known, optional, label = self.patch_class(iterable)
        if not known or optional is False or not isinstance(node, ir.For) or not isinstance(node.target, (ir.TupleX, ir.ListX)) or len(node.target.items) != 2:
            return None
        value = self.dumped(iterable, label, optional, node.iter, state)
        key = self.values.make(iterable.origins)
        return self.container(node, "tuple", state, {"[0]": key, "[1]": value}, None, "dumppair")

    def field_names(self, iterable: Value, node: Any, state: State) -> Optional[Value]:
        """`for field in Patch.model_fields:` goes over the names of every field, set or not; None: it does not."""
        walked = node.iter
        if isinstance(walked, ir.Call) and not walked.args and isinstance(walked.func, ir.Attr) and walked.func.name in ("keys", "items"):
            walked = walked.func.value
        if not isinstance(walked, ir.Attr) or walked.name not in _FIELD_TABLES:
            return None
        owner = self.eval(walked.value, state)
        if owner.ref is not None and owner.ref[0] == "class":
            owner = self.values.make(owner.origins, typ=owner.ref[1].type_name)
        elif owner.dotted:
            owner = self.values.make(owner.origins, typ=owner.dotted)
        known, optional, label = self.patch_class(owner)
        if not known or optional is False:
            return None
        name = self.dumped(owner, label, optional, node.iter, state)
        if isinstance(node.target, (ir.TupleX, ir.ListX)) and len(node.target.items) == 2:
            return self.container(node, "tuple", state, {"[0]": name, "[1]": self.values.make(owner.origins)}, None, "dumppair")
        return name

    def dump_of_whole(self, value: Value, node: Any, state: State) -> Optional[Value]:
        """`vars(patch)`, `sqlmodel_update(patch)`."""
        known, optional, label = self.patch_class(value)
        if not known or optional is False:
            return None
        return self.dumped(value, label, optional, node, state)

    def keyed_gets(self, node: Any, elt: Value, value: Value, state: State) -> Optional[Value]:
        """`{field: args.get(field) for field in FIELDS}`: what was not sent becomes None."""
        if node.kind != "dict" or len(node.generators) != 1 or node.generators[0].ifs or not isinstance(node.generators[0].target, ir.Name):
            return None
        call = node.value
        name = node.generators[0].target.id
        if not (isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name == "get" and len(call.args) == 1
                and isinstance(call.args[0].value, ir.Name) and call.args[0].value.id == name and isinstance(node.elt, ir.Name) and node.elt.id == name):
            return None
        event = self.event(Dump, node, state, label="", optional=None, handler=self.handler_kind() or "keys")
        return self.values.replace(value, origins=value.origins | {Origin("dump", event.n)})


def _may_be_left_out(cls: Any, name: str) -> bool:
    """A field with None for what was not sent."""
    text = cls.text_of(name)
    if "=" not in text:
        return False
    default = text.partition("=")[2]
    return "None" in default
