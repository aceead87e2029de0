"""Opaque tags (ETags): what was done to them on the way back. They may be sent as they came and compared for equality (RFC 9110 §8.8.3)."""
from __future__ import annotations

from typing import Any

from .objects import State
from .values import ALTERED, Origin, Template, Value

_ORDER = frozenset(("<", "<=", ">", ">="))


class Tags:
    """Mixin of Walker."""

    def is_tag(self, origin: Origin) -> bool:
        """Does it name an opaque tag: `resp.headers['ETag']`, `doc['@odata.etag']`, a parameter `etag`?"""
        if origin.kind not in ("read", "outcome", "param", "opaque"):
            return False
        for step in reversed(origin.path):
            name = str(step).strip("[]'\"")
            if step not in ("()", "(.)", "[*]", ALTERED, "…"):
                return self.vocabulary.match("entity_tag", name)
        return origin.kind == "param" and isinstance(origin.n, str) and self.vocabulary.match("entity_tag", origin.n.rpartition(".")[2])

    def altered(self, source: Value, result: Value) -> Value:
        """`result` was made by cutting, converting or counting with `source`: mark it where that is a tag."""
        if not source.origins:
            return result
        marks = frozenset(Origin(o.kind, o.n, o.path[:2] + (ALTERED,)) for o in source.same | source.origins
                          if o.kind in ("read", "outcome", "param", "opaque") and ALTERED not in o.path and self.is_tag(o))
        return self.values.replace(result, origins=result.origins | marks) if marks else result

    def weakened(self, value: Value) -> Value:
        """`f"W/{etag}"`, also where it is only one of the tags that may be sent."""
        parts = value.shape.parts if type(value.shape) is Template else ()
        if parts and isinstance(parts[0], str) and parts[0].startswith("W/"):
            for hole in parts[1:]:
                value = self.altered(hole, value) if isinstance(hole, Value) else value
        return value

    def tag_order(self, op: str, left: Value, right: Value, node: Any, state: State) -> None:
        """Tags compared for order: noted, so that what is decided by it can be told."""
        if op not in _ORDER:
            return
        for value in (left, right):
            for origin in value.origins:
                if self.is_tag(origin) and origin.kind in ("read", "outcome"):
                    self.trace.ordered.setdefault(Origin(origin.kind, origin.n), self.site(node))
