"""Statement builders beyond one statement's clauses: conjunctions of predicates, upserts, the row that an INSERT proposes."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .objects import Obj, State
from .values import NOTHING, SERVER, Value


class Builders:
    """Mixin of Walker."""

    def op_conjunction(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`and_(a, b)`: every part holds. A part that cannot be read stays one, so that the whole counts as open."""
        found: list = []
        for value in args.all():
            found += self._predicate(value)
        if args.open_star:
            found.append(("", "open", self.values.unknown))
        return self.values.make(self._union(args.all()) | {SERVER}, ref=("pred", tuple(found)))

    def op_disjunction(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`or_(a, b)`, `not_(a)`: no part of it need hold."""
        found: list = []
        for value in args.all():
            found += [(column, op if op == "open" else "or " + op, right) for column, op, right in self._predicate(value)]
        return self.values.make(self._union(args.all()) | {SERVER}, ref=("pred", tuple(found)))

    def q_conflict(self, spec: Any, bound: Any, receiver: Value, args: Any, node: Any, state: State) -> Value:
        """`insert(t).values(…).on_conflict_do_update(index_elements=[…], set_={…}, where=…)`: the INSERT overwrites the row that is there."""
        query = receiver.query
        proposed = dict(query.sets)
        names: list = []
        for _, value in bound.by_role.get("columns", ()):
            for item in self.known_items(value, state) or [value]:
                name = item.text or (item.ref[2] if item.ref is not None and item.ref[0] == "column" else None)
                if name:
                    names.append(name)
        if not names:
            names = [name for name in proposed if name in ("id", "key", "name", "pk") or name.endswith(("_id", "_key"))] or list(proposed)[:1]
        sets: list = []
        for name, value in bound.by_role.get("fields", ()):
            mapping = self.mapping_items(value, state)
            if mapping is not None and value.objs and mapping:
                sets += [(step[2:-2] if step.startswith(("['", '["')) else step, self.flat(state, v)) for step, v in mapping.items()]
            elif bound.by_name.get(name) is value and value.objs:
                sets.append(("?", self.values.replace(value, origins=value.origins | self.deep(state, value))))
            else:
                sets.append((name, self.flat(state, value)))
        sets = sets or [(name, value) for name, value in query.sets if name not in names]  # `on_conflict_replace()`: all that the INSERT has
        filters = tuple((name, "=", proposed[name]) for name in names if name in proposed)
        for _, value in bound.by_role.get("filter", ()):
            filters += tuple(self._predicate(value))
        flags = query.flags | ({"open"} if any(column == "" for column, _, _ in filters) else NOTHING)
        return self.values.replace(receiver, query=query._replace(verb="upsert", sets=tuple(sets), filters=filters, flags=flags))

    def proposed_row(self, base: Value, state: State) -> Value:
        """`stmt.excluded`: the row that the INSERT proposes; its columns are the values given."""
        oid = self.object_id_of(("excluded", base))
        fields = {name: value for name, value in base.query.sets if name != "?"}
        fields.update({f"[{name!r}]": value for name, value in base.query.sets if name != "?"})
        rest = next((value for name, value in base.query.sets if name == "?"), None)
        state.put(oid, Obj("dict", fields=fields, elem=rest))
        return self.values.make(base.origins, objs=frozenset((oid,)))

    # --- versions that a mapper keeps ------------------------------------------------------------------------------------------
    def mapped_version(self, cls: Any) -> Optional[tuple]:
        """(column, does the ORM raise it) of a class whose mapper compares a version (`__mapper_args__ = {"version_id_col": …}`), or None."""
        if cls is None or isinstance(cls, str):
            return None
        for entry in self.vocabulary.entries("orm"):
            switch = entry.fields.get("version_generator")
            for marker in entry.fields.get("version_markers", ()) if switch else ():
                name, _, key = marker.partition("[")
                found = cls.assign(name)
                items = [pair for statement in (found[2] if found is not None else ()) if isinstance(getattr(statement, "value", None), ir.DictX) for pair in statement.value.items]
                given = {k.value: v for k, v in items if isinstance(k, ir.Const)}
                column = given.get(key.strip("[]'\""))
                if column is not None:
                    label = column.id if isinstance(column, ir.Name) else column.name if isinstance(column, ir.Attr) else ""
                    off = given.get(switch)
                    return (label, not (isinstance(off, ir.Const) and off.value is False)) if label else None
        return None

    def note_mapped_version(self, write: Any, cls: Any, written: Any, around: bool) -> None:
        """A flush that compares a version which nothing raises, or a statement that goes around the one which flushes compare."""
        known = self.mapped_version(cls)
        if around and not any(name not in write.self_columns for name, _ in write.columns or ()):
            return  # the database computes: commuting writes need no version
        if known is not None and known[0] not in written and (around and not write.conditional or not around and not known[1]):
            write.kept, write.kept_how = known[0], "around" if around else "compared"
