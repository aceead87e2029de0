"""What is exposed to a model: functions walked with nothing known of their arguments, tools, and the tools of a module together."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from .events import Site
from .values import NOTHING, Value


class Parameter(NamedTuple):
    """One parameter as a model sees it. typ: dotted type, 'class:…' of the project or ''; words: last parts of every name in its annotation and
    default (`Annotated[str, InjectedToolArg]`, `= Depends(f)`); required: it has no default; fields: ((name, required), …) of a class of the project."""

    name: str
    typ: str = ""
    words: frozenset = NOTHING
    required: bool = True
    fields: tuple = ()
    kind: str = "pos"


class Returned(NamedTuple):
    """What a function may give back. won, lost: writes that this way has seen accepted, refused; value: with the origins of all that it contains;
    keys: names of the entries in it, at any depth; plain: text, number or truth value without any entry; raised: it is an exception's text."""

    won: frozenset
    lost: frozenset
    value: Value
    keys: frozenset
    plain: bool
    raised: bool = False


class Body(NamedTuple):
    """A function walked with unknown arguments: its events are `trace.events[first:last]`."""

    trace: Any
    first: int
    last: int
    name: str
    site: Site
    parameters: tuple
    doc: str
    returned: tuple
    key: Any = None
    own: str = ""  # its first parameter, when that is the object

    @property
    def events(self) -> list:
        return self.trace.events[self.first:self.last]


class Exposure(NamedTuple):
    """A function is handed to a model. scope: of the project, or None with `body` (a function inside another); entry: of the vocabulary, or None.

    seen: parameters beside those of the function (of an argument schema); readonly: it says that it changes nothing; site: of the registration.
    """

    entry: Any
    scope: Any = None
    body: Optional[Body] = None
    name: str = ""
    description: str = ""
    seen: tuple = ()
    readonly: bool = False
    site: Optional[Site] = None


class Schema(NamedTuple):
    """A raw JSON-schema tool. site: of its name; parameters: its properties."""

    name: str
    site: Site
    description: str
    parameters: tuple


class Tool(NamedTuple):
    """A tool. site: where findings about it stand; visible: the parameters that the model gives; description: all that the model is told."""

    name: str
    site: Site
    body: Body
    visible: tuple
    description: str
    readonly: bool = False
    signals: tuple = ()  # exceptions that go back to the model
    raw: bool = False  # a raw schema: whatever the handler is given comes from the model
    version: str = ""  # the parameter that carries a version or the text as it was
    whole: bool = False  # the description asks for the complete object


class Toolbox:
    """The tools of a module. versions: {(shape of a record): names of its version columns} as seen in the module (`questions.tools.shape`)."""

    __slots__ = ("tools", "versions", "words", "is_version", "is_creating", "is_patching")

    def __init__(self) -> None:
        self.tools: list[Tool] = []
        self.versions: dict = {}
        self.words: frozenset = NOTHING  # headers that are witnesses and that the module names
        self.is_version: Callable = bool  # (name) → is it a version's name?
        self.is_creating: Callable = bool  # (name) → does a tool of that name make something new?
        self.is_patching: Callable = bool  # (name) → does a call of that name leave alone what it is not given?


class Collected:
    """What the walks of a module have seen exposed."""

    def __init__(self) -> None:
        self.exposures: list[Exposure] = []
        self.schemas: dict[str, Schema] = {}
        self.handlers: dict[str, Any] = {}  # tool name → Scope of the function that a table names for it
        self._seen: set = set()

    def add(self, exposure: Exposure) -> None:
        """One exposure for each function; a name with '=' names the raw schema that the body belongs to."""
        key = exposure.scope.key if exposure.scope is not None else id(exposure.body.site.at)
        if (key, exposure.name.startswith("=")) not in self._seen:
            self._seen.add((key, exposure.name.startswith("=")))
            self.exposures.append(exposure)

    def schema(self, schema: Schema) -> None:
        self.schemas.setdefault(schema.name, schema)
