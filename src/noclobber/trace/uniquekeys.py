"""What refuses a second row: the primary key of a class, and the unique constraints that it declares."""
from __future__ import annotations

from typing import Any, Optional

from .objects import State
from .uniques import makes_itself, unique_groups
from .values import Value


class UniqueKeys:
    """Mixin of Walker."""

    def unique_of(self, entity: Optional[Value]) -> Optional[bool]:
        """Does the class declare a unique constraint beside its primary key? None: the class was not found."""
        cls = self.class_of(entity)
        if cls is None:
            return None
        entry = self.orm_of_class(cls)
        for base in cls.mro():
            for name in base.info.assigns:
                call = base.field_call(name)
                if call is not None and makes_itself(call):
                    continue
                if call is not None and (call[2].get("unique") == "True" or any("unique=True" in text for text in (*call[1], *call[2].values())) or "unique_with" in call[2] or call[0].rsplit(".", 1)[-1] == "OneToOneField"):
                    return True
        for name in self.unique_bodies(entry):
            text = cls.nested_text(name) + cls.text_of(name)
            if any(word in text for word in ("UniqueConstraint", "unique_together", "unique=True", "'unique'", '"unique"', "True)", "unique = True")):
                return True
        return False

    def keys_of(self, cls: Any) -> frozenset:
        """Columns of the primary key that the class or a base declares, else the one that its ORM gives it; none where it is not known."""
        found = declared_keys(cls)
        entry = self.orm_of_class(cls) if cls is not None and not found else None
        implicit = entry.fields.get("implicit_key") if entry is not None else None
        return frozenset((implicit,)) if implicit else found

    def unique_bodies(self, entry: Any) -> tuple:
        """Names in a class body that declare unique constraints; of every ORM for a class whose base was not found."""
        entries = (entry,) if entry is not None else self.vocabulary.entries("orm")
        return tuple(dict.fromkeys(name for found in entries for name in found.fields.get("unique_in", ()) or ()))

    def note_unique(self, event: Any, entity: Optional[Value], state: Optional[State] = None) -> None:
        """What refuses a second row like the one that is created."""
        if entity is not None and entity.ref is not None and entity.ref[0] == "relation" and state is not None:
            self._note_related(event, entity.ref[1], state)
            return
        event.unique = self.unique_of(entity)
        cls = self.class_of(entity)
        if cls is not None and event.unique:
            event.unique_columns = unique_groups(cls, self.unique_bodies(self.orm_of_class(cls)))

    def _note_related(self, event: Any, relation: str, state: State) -> None:
        """The same of `order.lines.create(…)`: the class is the one whose foreign key calls its other side so. There may be several, where the row is of a mixin."""
        owners = [self.model_class(state.heap[oid]) for column, value in event.columns or () if column == "@owner" for oid in value.objs if oid in state.heap]
        found = [(cls, field) for cls, field in self._many_sides(relation) if all(self._may_own(cls, field, owner) for owner in owners)]
        if not found or not all(self.unique_of(self.class_value(cls)) for cls, _ in found):
            return
        groups = [{frozenset("@owner" if name == field else name for name in group) for group in unique_groups(cls, self.unique_bodies(self.orm_of_class(cls)))} for cls, field in found]
        shared = frozenset.intersection(*map(frozenset, groups))
        if shared:
            event.owner_named = True
            event.unique, event.unique_columns = True, tuple(sorted(shared, key=sorted))

    def _many_sides(self, relation: str) -> list:
        """[(class, its foreign key)] that call the rows of one owner by this name."""
        known = self.shared.setdefault("many sides", {})
        if relation not in known:
            words = {word for entry in self.vocabulary.entries("orm") for word in entry.fields.get("many_side", ()) or ()}
            known[relation] = [
                (cls, name) for cls, name, call in self.ask.fields_saying(relation, words)
                if self._listed_call("relations", self.orm_of_class(cls), call)
            ]
        return known[relation]

    def _may_own(self, cls: Any, field: str, owner: Any) -> bool:
        """May the foreign key lead to a row of that class, of one above or below it?"""
        target, name = self.related_class(cls, field)
        if owner is None or not name:
            return True
        return owner.name == name if target is None else owner in target.mro() or target in owner.mro()


def declared_keys(cls: Any) -> frozenset:
    """Columns of the primary key that the class or a base declares."""
    found: set = set()
    for base in cls.mro() if cls is not None else ():
        for name in base.info.assigns:
            call = base.field_call(name)
            if call is not None and (call[2].get("primary_key") == "True" or any("primary_key=True" in text for text in (*call[1], *call[2].values()))):
                found.add(name)
    return frozenset(found)
