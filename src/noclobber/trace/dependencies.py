"""Rows that a framework loads before it calls a handler: `wallet: Wallet = Depends(load_wallet)`."""
from __future__ import annotations

from typing import Any

from . import ir
from .arguments import Argument, Arguments
from .models import packages_of
from .objects import Dead, Obj, State
from .values import Value


class Dependencies:
    """Mixin of Walker."""

    def rows_depended_on(self, definition: Any, scope: Any, args: dict, state: State) -> None:
        """Give those parameters of a root that are rows what the function behind them returns.

        The framework calls it with the handler's own parameters of these names: one session, one key. Its reads are events of this walk.
        """
        for param in definition.params.items:
            value = args.get(param.name)
            marked, found = self.dependency_of(param, scope) if value is not None and not value.objs else (False, None)
            if not marked or not self.may_be_row(value):
                continue
            if found is None:
                args[param.name] = self.row_from_elsewhere(value, state)
                continue
            if found.key in self.active:
                continue
            given = Arguments()
            for inner in found.definition().params.items:
                if inner.kind in ("pos", "kw") and inner.name in args and inner.name != param.name:
                    given.keywords.append((inner.name, Argument(args[inner.name], inner.name)))
            try:
                loaded = self.call_scope(found, given, definition, state)
            except Dead:
                continue
            if any(oid in state.heap and state.heap[oid].kind == "row" for oid in loaded.objs):
                args[param.name] = self.values.replace(loaded, name=param.name)

    def row_from_elsewhere(self, value: Value, state: State) -> Value:
        """A row that a function loads which was not found: of the ORM whose unit of work the file uses, when its class is one of a module of models."""
        module = (value.typ or "").rpartition(".")[0]
        if len(value.same) != 1 or not module or not self.vocabulary.listed("model_modules", module):
            return value
        imported = self.ask.imported_packages(self.frames[-1].scope.module)
        entry = next((entry for entry in self.vocabulary.entries("orm") if entry.fields.get("unit_of_work") and packages_of(entry) & imported), None)
        if entry is None:
            return value
        (origin,) = value.same
        oid = self.object_id_of(("path", origin))
        state.put(oid, Obj("path", origin, label=(value.typ or "").rpartition(".")[2], model=((entry.kind, entry.id), None)))
        return self.values.replace(value, objs=frozenset((oid,)))

    def may_be_row(self, value: Value) -> bool:
        """Is it annotated as a model, as a class that was not found and is no library's that is known, or not at all?"""
        typ = value.typ or ""
        if not typ:
            return True
        if typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            return cls is not None and self.orm_of_class(cls) is not None
        return typ.rpartition(".")[2][:1].isupper() and not self.vocabulary.known_type(typ)

    def dependency_of(self, param: Any, scope: Any) -> tuple:
        """(does the framework give the parameter, the function of the project that loads it or None): `= Depends(load)`, `Annotated[Row, Depends(load)]`."""
        for node in (param.default, param.annotation):
            marked, found = self._depended(node, scope.module, 0)
            if marked:
                return True, found
        return False, None

    def _depended(self, node: Any, module: Any, depth: int) -> tuple:
        if depth > 4:
            return False, None
        if isinstance(node, ir.Call) and self.vocabulary.match("dependency_marker", ir.dotted(node.func).rpartition(".")[2]) and node.args:
            found = self.ask.resolve(module, ir.dotted(node.args[0].value))
            return True, found[1] if found is not None and found[0] == "function" else None
        if isinstance(node, ir.Sub) and ir.dotted(node.value).rpartition(".")[2] == "Annotated":
            for item in node.index.items if isinstance(node.index, ir.TupleX) else ():
                marked, found = self._depended(item, module, depth + 1)
                if marked:
                    return True, found
        if isinstance(node, (ir.Name, ir.Attr)):
            known = self.ask.resolve(module, ir.dotted(node))
            value = self.ask.alias(known[1], known[2]) if known is not None and known[0] == "global" else None
            return self._depended(value, known[1], depth + 1) if value is not None else (False, None)
        return False, None
