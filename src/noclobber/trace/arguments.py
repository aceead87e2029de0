"""The arguments of a call as the walk has evaluated them."""
from __future__ import annotations

from typing import Any, Optional

from .values import Value


class Argument:
    """One argument of a call: value, keyword ('' for positional), star ('', '*', '**'), and its expression."""

    __slots__ = ("value", "keyword", "star", "node")

    def __init__(self, value: Value, keyword: str = "", star: str = "", node: Any = None) -> None:
        self.value, self.keyword, self.star, self.node = value, keyword, star, node


class Arguments:
    """The arguments of a call with `*known` and `**known` spread out; open_star / open_kwargs: an unknown rest was spread.

    spread: (place of its first member, the value) of an unknown sequence that ends the positional ones; mapping: what was spread by name."""

    __slots__ = ("positional", "keywords", "open_star", "open_kwargs", "rest", "spread", "mapping")

    def __init__(self) -> None:
        self.positional: list[Argument] = []
        self.keywords: list[tuple[str, Argument]] = []
        self.open_star = self.open_kwargs = False
        self.rest: list[Value] = []
        self.spread: Optional[tuple[int, Value]] = None
        self.mapping: Optional[Value] = None

    def all(self) -> list[Value]:
        return [a.value for a in self.positional] + [a.value for _, a in self.keywords] + self.rest

    def after(self, first: Value) -> Arguments:
        """The same arguments with one before them."""
        other = Arguments()
        other.positional, other.keywords = [Argument(first), *self.positional], self.keywords
        other.open_star, other.open_kwargs, other.rest, other.mapping = self.open_star, self.open_kwargs, self.rest, self.mapping
        other.spread = (self.spread[0] + 1, self.spread[1]) if self.spread is not None else None
        return other

    def without(self, values: list) -> Arguments:
        """The same arguments but for some."""
        other = Arguments()
        other.positional = [a for a in self.positional if not any(a.value is value for value in values)]
        other.keywords = [(name, a) for name, a in self.keywords if not any(a.value is value for value in values)]
        other.open_star, other.open_kwargs, other.rest, other.mapping, other.spread = self.open_star, self.open_kwargs, self.rest, self.mapping, self.spread
        return other

    def get(self, name: str, place: Optional[int] = None) -> Optional[Value]:
        for keyword, argument in self.keywords:
            if keyword == name:
                return argument.value
        if place is not None and place < len(self.positional):
            return self.positional[place].value
        return None
