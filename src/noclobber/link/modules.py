"""Modules of the project as the walk sees them, lowered on demand, once."""
from __future__ import annotations

from typing import Any, Optional

from noclobber.project import Entry, Project
from noclobber.resolve import absolute, dotted

from .classes import Class
from .scopes import Scope

#: Lowered lines of other modules that are kept from file to file of a run (about 3 KiB each).
_KEPT_LINES = 60_000


class Library:
    """The modules of a project as they are asked for: lowered parts of them stay from file to file of a run.

    `project`: None for a file by itself. `kinds_of(entry, start)`: the kinds that triage saw in each scope of a
    module, for an analysis that starts in another. `vocabulary`: what it
    knows by a dotted name is a library's, also where the project holds its source.
    """

    def __init__(self, project: Optional[Project] = None, kinds_of: Any = None, vocabulary: Any = None) -> None:
        self.project, self.vocabulary = project, vocabulary
        self._kinds_of = kinds_of
        self._start: Optional[Entry] = None
        self._modules: dict[str, Module] = {}
        self._shown: dict[str, Module] = {}

    def module(self, entry: Entry) -> Module:
        found = self._modules.get(entry.path)
        if found is None or found.entry is not entry:
            found = self._modules[entry.path] = self._shown[entry.source.path] = Module(entry, self)
        return found

    def shown(self, path: str) -> Optional[Module]:
        """The module whose places reports show as `path`."""
        return self._shown.get(path)

    def by_name(self, name: str) -> Optional[Module]:
        for module in self._modules.values():
            if module.name == name:
                return module
        entry = self.project.by_name(name) if self.project is not None else None
        return self.module(entry) if entry is not None else None

    def start(self, entry: Entry) -> Module:
        """The module whose analysis begins."""
        self._start = entry
        for module in self._modules.values():
            module.forget_kinds()
        return self.module(entry)

    def kinds(self, entry: Entry) -> dict[str, frozenset]:
        if self._kinds_of is None or entry.facts is None or self._start is None or self._start.facts is None:
            return {}
        return self._kinds_of(entry, self._start)

    @property
    def lowered_lines(self) -> int:
        return sum(module.lowered_lines for module in self._modules.values())

    def trim(self) -> None:
        """Forget what was lowered, when it is much. Between two files only: nodes are compared by identity."""
        if sum(module.kept_lines for module in self._modules.values()) > _KEPT_LINES:
            self._modules.clear()
            self._shown.clear()

    def follow(self, module: Module, target: str) -> Optional[tuple]:
        """(module, name in it) that an import target of `module` comes to, or None where it is not of this project."""
        if self.project is None:
            return None
        found = self.project.follow(module.entry, target)
        return (self.module(found[0]), found[1]) if found is not None else None

    def is_library(self, dotted_name: str) -> bool:
        vocabulary = self.vocabulary
        return vocabulary is not None and bool(vocabulary.known_type(dotted_name) or vocabulary.functions(dotted_name))

    def target(self, module: Module, target: str) -> tuple:
        """What an import target of `module` is: ('function', scope), ('class', class), ('global', module, name) or ('import', dotted)."""
        name = absolute(module.index, target)
        if self.is_library(name):
            return ("import", name)
        found = self.follow(module, target)
        if found is None:
            return ("import", name)
        return found[0].member(found[1]) or ("import", f"{found[0].name}.{found[1]}" if found[1] else found[0].name)


class Module:
    """One file: source, outline, and what has been lowered of it. `name`: dotted module name or the path."""

    def __init__(self, entry: Entry, library: Library) -> None:
        self.entry, self.library = entry, library
        self.source, self.index = entry.source, entry.index
        self.name = entry.name
        self.path = entry.source.path
        self.excerpts: dict[tuple, Any] = {}
        self.scopes: dict[str, Scope] = {}
        self.classes: dict[str, Class] = {}
        self.lowered_lines = 0
        self.kept_lines = 0
        self.problems: list[tuple[int, str]] = []
        self._kinds: Optional[dict[str, frozenset]] = None
        self.versions: Optional[dict] = None  # see Ask.sql_versions

    @property
    def kinds(self) -> dict[str, frozenset]:
        """Of triage: scope → kinds. Empty: not known."""
        if self._kinds is None:
            self._kinds = self.library.kinds(self.entry)
        return self._kinds

    def forget_kinds(self) -> None:
        self._kinds = None

    def member(self, name: str) -> Optional[tuple]:
        """What a name of the module's top level is, with the classes below one by dots; None: nothing that it makes."""
        index = self.index
        if name in index.functions:
            return ("function", self.scope(name))
        if name in index.classes:
            return ("class", self.klass(name))
        if name in index.assigns:
            return ("global", self, name)
        return None

    def class_named(self, text: str) -> Optional[Class]:
        """The project's class that a dotted name means in this module."""
        if text in self.index.classes:
            return self.klass(text)
        head, _, rest = text.partition(".")
        target = self.index.imports.get(head)
        found: Optional[tuple] = None
        if target is not None:
            found = self.library.target(self, f"{target}.{rest}" if rest else target)
        elif self.index.stars and head not in self.index.assigns:
            found = self.starred(text)
        return found[1] if found is not None and found[0] == "class" else None

    def starred(self, name: str) -> Optional[tuple]:
        """What a name means that a star import of a project's module brings."""
        project = self.library.project
        if project is None or not self.index.stars:
            return None
        found = project.inside(self.entry, name)
        return self.library.module(found[0]).member(found[1]) if found is not None and found[0] is not self.entry else None

    def lower(self, first: int, last: int, indented: bool) -> Any:
        """The excerpt of these lines, or None where it cannot be lowered (noted in `problems`)."""
        key = (first, last)
        if key not in self.excerpts:
            from noclobber.trace import lower

            try:
                self.excerpts[key] = lower.lower_lines(self.source, first, last, indented=indented)
                self.lowered_lines += last - first + 1
                self.kept_lines += last - first + 1
            except lower.LowerError as error:
                self.excerpts[key] = None
                self.problems.append((error.line, error.message))
        return self.excerpts[key]

    def made_by(self, name: str) -> str:
        """For `Base = declarative_base()`: the dotted name of what is called, with `()`; '' for anything else."""
        first, last = self.index.assigns[name][0]
        text = "".join(self.source.lines[first - 1:last]).partition("=")[2].strip()
        head, bracket, _ = text.partition("(")
        target = dotted(self.index, head.strip()) if bracket else None
        return f"{target}()" if target else ""

    def scope(self, key: str) -> Scope:
        found = self.scopes.get(key)
        if found is None:
            found = self.scopes[key] = Scope(self, self.index.functions[key])
        return found

    def klass(self, key: str) -> Class:
        found = self.classes.get(key)
        if found is None:
            found = self.classes[key] = Class(self, self.index.classes[key])
        return found
