"""ORMs and statement builders: querysets and statements under construction, rows as objects, sessions and their flushes."""
from __future__ import annotations

from typing import Any

from .builders import Builders
from .instances import Instances
from .modelclasses import ModelClasses
from .models import Models
from .objects import State
from .queries import Queries
from .rows import Rows
from .units import Units
from .values import CONST, NOTHING, SERVER, UNKNOWN, Origin, Value


class Orm(ModelClasses, Queries, Rows, Instances, Units, Models, Builders):
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
