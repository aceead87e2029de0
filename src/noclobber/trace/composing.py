"""Statements composed of parts that know what they are: psycopg's `sql.SQL("UPDATE {} SET n = %s").format(sql.Identifier(table))`. They become text."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .objects import State
from .values import Lit, Value


def text_in_statement(walker: Any, args: Any, node: Any, state: State) -> Value:
    return args.positional[0].value if args.positional else walker.values.unknown


def name_in_statement(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`sql.Identifier("public", table)`: a name in a statement."""
    pieces: list = []
    for value in args.all():
        pieces += [".", value] if pieces else [value]
    return walker.values.template(pieces)


def literal_in_statement(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = args.positional[0].value if args.positional else None
    if value is None or type(value.shape) is not Lit:
        return walker.values.template([value]) if value is not None else walker.values.unknown
    given = value.literal
    return walker.values.const("NULL" if given is None else "'" + given.replace("'", "''") + "'" if isinstance(given, str) else str(given))


def placeholder(walker: Any, args: Any, node: Any, state: State) -> Value:
    name = args.positional[0].value if args.positional else None
    return walker.values.const("%s") if name is None or name.is_none else walker.values.template(["%(", name, ")s"])


def composed(walker: Any, args: Any, node: Any, state: State) -> Value:
    parts = walker.known_items(args.positional[0].value, state) if args.positional else None
    return walker.values.template(parts) if parts else walker.values.derived(args.all() or [walker.values.unknown])


#: The field of a store that lists such calls → what one gives.
_PARTS: dict[str, Callable] = {
    "statement_text": text_in_statement, "statement_name": name_in_statement, "statement_literal": literal_in_statement,
    "statement_placeholder": placeholder, "statement_joined": composed,
}


def part_maker(vocabulary: Any, dotted: str) -> Optional[Callable]:
    """What makes the part of a statement that a call of this name stands for; None: it stands for none."""
    return next((make for field, make in _PARTS.items() if vocabulary.listed(field, dotted)), None)
