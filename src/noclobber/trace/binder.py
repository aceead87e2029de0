"""The holes of a SQL text bound to the values that the program puts there."""
from __future__ import annotations

from typing import Any, Optional

from .objects import State
from .values import CONST, SERVER, Value


def identity_like(value: Value) -> bool:
    return any(o.kind in ("read", "param") for o in value.origins)


class Binder:
    """Gives the Values of placeholders and holes of one execution."""

    def __init__(self, walker: Any, params: list, holes: tuple, state: State, var: bool) -> None:
        self.walker, self.holes, self.state = walker, holes, state
        self.positional: Optional[list] = None
        self.mapping: dict = {}
        self.rest: Optional[Value] = None
        self.source: Optional[Value] = None  # an object whose items are the named parameters
        self.parts_of: Optional[Value] = None  # something unknown whose items are the named parameters
        if var:
            self.positional = list(params)
        elif params:
            first = params[0]
            known = walker.known_items(first, state)
            mapping = walker.mapping_items(first, state)
            if known is not None:
                self.positional = known
                if known and walker.known_items(known[0], state) is not None and len(known) == 1:
                    self.positional = walker.known_items(known[0], state)
            elif self.prefix(first, state):
                self.positional = self.prefix(first, state)
                self.rest = walker.member(first, state)
            elif mapping:
                self.mapping = mapping
                self.rest = walker.rest_of(first, state, mapping)
                self.source = first
            else:
                self.rest = walker.flat(state, first)
                if first.same and all(state.heap[oid].kind in ("path", "part", "row") for oid in first.objs if oid in state.heap):
                    self.parts_of = first
                if walker.mapping_items(first, state) is not None:
                    member = walker.member(first, state)
                    items = walker.known_items(member, state)
                    if items is not None:
                        self.positional = items
                    inner = walker.mapping_items(member, state)
                    if inner:
                        self.mapping = inner
            if self.positional is None and not self.mapping:
                self.positional = [walker.item(first, walker.values.const(i), None, state) for i in range(self.columns_of_row(first))] or None

    def columns_of_row(self, value: Value) -> int:
        """How many columns has it, where it is a row as it was read (`cur.execute(sql, row)`)? 0: it is none."""
        if len(value.same) != 1:
            return 0
        (origin,) = value.same
        read = self.walker.trace.events[origin.n] if origin.kind == "read" and not origin.path else None
        return len(read.columns) if read is not None and read.kind == "read" and read.record.family == "sql" and read.columns else 0

    def prefix(self, value: Value, state: State) -> list:
        """The leading members of a sequence whose tail is not known (`[now] + ids`)."""
        found: list = []
        for oid in value.objs if len(value.objs) == 1 else ():
            obj = state.heap.get(oid)
            while obj is not None and obj.kind == "list" and f"[{len(found)}]" in obj.fields:
                found.append(obj.fields[f"[{len(found)}]"])
        return found

    def everything(self) -> list:
        found = list(self.positional or ()) + list(self.mapping.values())
        return found + ([self.rest] if self.rest is not None else [])

    def ref(self, ref: Any, part: Any = None) -> Value:
        """What a placeholder stands for. part: a function that takes a part of it (value, state)."""
        if ref.name is not None:
            found = self.mapping.get(f"[{ref.name!r}]")
            if found is None and self.source is not None and self.rest is not None:
                found = self.walker.item(self.source, self.walker.values.const(ref.name), None, self.state)
            if found is None and self.parts_of is not None:
                found = self.walker.known_part(self.parts_of, f"[{ref.name!r}]", self.state)
            if found is not None:
                return self.walker.flat(self.state, part(found, self.state) if part is not None else found)
        elif self.positional is not None and 0 <= ref.position < len(self.positional):
            found = self.positional[ref.position]
            return self.walker.flat(self.state, part(found, self.state) if part is not None else found)
        if self.rest is not None:
            return self.rest
        return self.walker.values.unknown

    def value(self, expression: Any) -> Value:
        values = self.walker.values
        if expression.form == "param" and len(expression.refs) == 1:
            return self.ref(expression.refs[0])
        if expression.form == "hole" and len(expression.holes) == 1 and not expression.refs:
            return self.holes[expression.holes[0]]
        if expression.form == "literal":
            return values.const(expression.value)
        if expression.function == "__member" and len(expression.refs) == 1:  # of a list (`sql.lists`)
            return self.ref(expression.refs[0], self.walker.member)
        if expression.form == "subquery":
            return values.make(frozenset((SERVER,)))
        found: set = set()
        for ref in expression.refs:
            found |= self.ref(ref).origins
        for hole in expression.holes:
            found |= self.holes[hole].origins
        if expression.columns:
            found.add(SERVER)
        return values.make(frozenset(found) - ({CONST} if len(found) > 1 else set()) or frozenset((CONST,)))

    def name(self, parts: tuple) -> tuple:
        """A table name template with its holes filled."""
        out: list = []
        for part in parts:
            piece: Any = part
            if isinstance(part, int):
                hole = self.holes[part]
                piece = hole.text.lower() if hole.text is not None else hole
            if isinstance(piece, str) and out and isinstance(out[-1], str):
                out[-1] += piece
            else:
                out.append(piece)
        return tuple(out)
