"""What is open while a function is walked: its frame, its loops and retry regions, the exceptions that its blocks may meet."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from .events import Event, Loop
from .objects import State
from .values import NOTHING, Value


class Frame:
    """One function being walked. `scope`: what `ask` knows of it (module, qualname, class); closure: names of the enclosing function."""

    __slots__ = ("scope", "excerpt", "returns", "self_value", "closure", "on_yield", "yields", "function", "calls", "entry", "first", "globals_", "fallen")

    def __init__(self, scope: Any, excerpt: Any, function: str, calls: tuple, closure: Optional[dict] = None) -> None:
        self.scope, self.excerpt, self.function, self.calls, self.closure = scope, excerpt, function, calls, closure
        self.returns: list = []
        self.self_value: Optional[Value] = None
        self.on_yield: Optional[Callable] = None
        self.yields: list = []
        self.globals_: set = set()
        self.fallen: Optional[State] = None  # a root's body that ended without a return
        self.entry: Optional[dict] = None  # its parameters as they came in
        self.first = -1  # number of the last event before it


class Region:
    """An open loop or retry region."""

    __slots__ = ("id", "event", "breaks", "continues", "back", "items")

    def __init__(self, id_: int, event: Loop) -> None:
        self.id, self.event = id_, event
        self.breaks: list = []
        self.continues: list = []
        self.back: list = []  # states that lead back to the top


class Past(NamedTuple):
    """The cause of an exception of unknown type that has left a block whose handlers take the exceptions of these names: it is none of them."""

    names: frozenset
    cause: Any


class Collector:
    """Exceptional states of an open try or retry region: (state, types or None, cause)."""

    __slots__ = ("_by_facts",)

    def __init__(self) -> None:
        self._by_facts: dict = {}

    def add(self, state: State, types: Optional[frozenset], cause: Any) -> None:
        """Of the states with the same facts the latest is kept: it has all the names that the earlier ones had."""
        key = (types, state.held, state.won, state.lost, state.unchecked, state.done, cause.names if type(cause) is Past else NOTHING)
        if len(self._by_facts) < 40 or key in self._by_facts:
            self._by_facts[key] = (state, types, cause)

    @property
    def raised(self) -> list:
        return list(self._by_facts.values())


class Elsewhere:
    """Stands for the node of an earlier event, in whatever function that was."""

    __slots__ = ("at", "site", "calls")

    def __init__(self, event: Event) -> None:
        self.at, self.site, self.calls = event.site.at, event.site, event.ctx.calls
