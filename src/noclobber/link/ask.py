"""The walk's questions, answered for one file and what it leads to."""
from __future__ import annotations

import re
from typing import Any, Iterator, Optional

from noclobber.trace import ir

from .classes import Class
from .modules import Module
from .scopes import Scope, statements_at

#: Functions of other modules that are looked at as callers of one function.
MAX_CALLERS = 20
#: Kinds of events of a function that may write an ORM's row (triage): the others are no writers of a field.
_WRITES_ROWS = frozenset(("orm-persist", "orm-update", "orm-flush", "orm-session-read"))
#: Lines of a global table of functions.
MAX_TABLE_LINES = 80


class Ask:
    """The answers for one file and what it leads to. `asked`: questions about other modules → digest of the answer (DESIGN §6)."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.library = module.library
        self._writers: dict[tuple, list] = {}
        self._hooks: dict[str, list] = {}
        self._dotted: dict[str, Optional[tuple]] = {}
        self._words: dict[str, dict[str, list]] = {}  # module → word → functions whose text has it
        self._callers: dict[tuple, list] = {}  # scope's key → its callers
        self._unused: dict[tuple, bool] = {}
        self.asked: dict[str, str] = {}

    def _note(self, question: str, found: Optional[tuple]) -> Optional[tuple]:
        """Remember what was asked of other modules: the answer depends on the text of the module that holds it."""
        module = found[1] if found is not None and found[0] == "global" else getattr(found[1], "module", None) if found is not None else None
        self.asked.setdefault(question, module.entry.digest if module is not None else "")
        return found

    # --- names -------------------------------------------------------------------------------------------------------------
    def name(self, module: Module, name: str) -> Optional[tuple]:
        index = module.index
        if name in index.functions or name in index.classes:
            return module.member(name)
        target = index.imports.get(name)
        if target is not None:
            return self._note(f"name {module.name} {target}", self.library.target(module, target))
        if name in index.assigns:
            return ("global", module, name)
        if index.stars:
            return self._note(f"name {module.name} *.{name}", module.starred(name))
        return None

    def resolve(self, module: Module, text: str) -> Optional[tuple]:
        """The target of a dotted name as written in `module`."""
        head, _, rest = text.partition(".")
        found = self.name(module, head)
        if found is None:
            return ("import", text) if not rest else None
        if not rest:
            return found
        if found[0] == "import":
            target = module.index.imports.get(head)
            return self._note(f"name {module.name} {text}", self.library.target(module, f"{target}.{rest}")) if target is not None else None
        if found[0] == "class":
            owner = found[1].module
            key = f"{found[1].info.qualname}.{rest}"
            return ("class", owner.klass(key)) if key in owner.index.classes else None
        return None

    def dotted(self, text: str) -> Optional[tuple]:
        """What a dotted target inside the project is; None for a module, for what is not of the project, and for a library's name."""
        if text not in self._dotted:
            self._dotted[text] = self._note(f"dotted {text}", self._find(text))
        return self._dotted[text]

    def _find(self, text: str) -> Optional[tuple]:
        if self.library.is_library(text):
            return None
        found = self.library.follow(self.module, text) if "." in text else None
        if found is not None:
            return found[0].member(found[1]) if found[1] else None
        name = text
        while "." in name:  # a module that only another source root can name
            name = name.rpartition(".")[0]
            module = self.library.by_name(name)
            if module is not None:
                rest = text[len(name) + 1:]
                return module.member(rest) or (self.name(module, rest) if "." not in rest else None)
        return None

    def imported_packages(self, module: Module) -> frozenset:
        """Top-level packages that the module imports."""
        return frozenset(target.lstrip(".").split(".")[0] for target in (*module.index.imports.values(), *module.index.stars))

    def alias(self, module: Module, name: str) -> Any:
        """The expression that a global name is bound to (`SessionDep = Annotated[…]`), or None."""
        found = self.global_statements(module, name)
        if found is None:
            return None
        for statement in found[2]:
            if isinstance(statement, ir.Assign):
                return statement.value
        return None

    def global_statements(self, module: Module, name: str) -> Optional[tuple]:
        ranges = module.index.assigns.get(name)
        return statements_at(module, ranges, "<module>") if ranges else None

    def global_calls(self, module: Module, name: str) -> tuple:
        """Statements of the module's own level that call a method of a global name: `session.mount(…)`."""
        found: list = []
        for first, last in module.index.loose:
            number = first
            while number <= last and len(found) < 8:
                text = module.source.lines[number - 1]
                end = number
                if text.startswith(f"{name}."):
                    depth = text.count("(") - text.count(")")
                    while depth > 0 and end < last:
                        end += 1
                        depth += module.source.lines[end - 1].count("(") - module.source.lines[end - 1].count(")")
                    excerpt = module.lower(number, end, False)
                    if excerpt is not None:
                        found += excerpt.body
                number = end + 1
        return tuple(found)

    # --- classes ------------------------------------------------------------------------------------------------------------
    def klass_of(self, type_name: str) -> Optional[Class]:
        kind, _, rest = type_name.partition(":")
        name, _, key = rest.rpartition(":")
        if kind != "class":
            return None
        module = self.module if name == self.module.name else self.library.by_name(name)
        return module.klass(key) if module is not None and key in module.index.classes else None

    def attribute_writers(self, cls: Class, name: str) -> list:
        """[(method scope, expression)] of `self.name = expression` in the methods of the class."""
        key = (cls.type_name, name)
        if key not in self._writers:
            found = []
            for owner in cls.mro():
                for info in owner.info.methods.values():
                    text = "\n".join(owner.module.source.lines[info.start - 1:info.end])
                    if f"self.{name}" not in text and f".{name} =" not in text:
                        continue
                    scope = owner.module.scope(info.key or info.qualname)
                    definition = scope.definition()
                    if definition is not None:
                        found += [(scope, value) for value in _self_assigns(definition, name)]
            self._writers[key] = found
        return self._writers[key]

    def sql_versions(self, module: Module, is_version: Any) -> dict:
        """{table: (version column, columns set together with it, is it a fencing token)} that the SQL texts of a module tell."""
        if module.versions is None:
            from noclobber.trace.sql.versions import versions_of

            module.versions = versions_of(module.source.text, is_version)
        return module.versions

    def fields_saying(self, text: str, keywords: Any) -> list:
        """[(class, field, constructor)] of fields of the project's classes whose constructor is given this text by one of the keywords."""
        said = [f"{keyword}={quote}{text}{quote}" for keyword in sorted(keywords) for quote in "'\""]
        found = []
        for module in dict.fromkeys((self.module, *(module for words in said for module in self._mentioning(words)))):
            for key, info in module.index.classes.items():
                for name, ranges in info.assigns.items():
                    first, last = ranges[0]
                    if any(words in line for line in module.source.lines[first - 1:last] for words in said):
                        cls = module.klass(key)
                        call = cls.field_call(name)
                        if call is not None and any(call[2].get(keyword, "").strip("'\"") == text for keyword in keywords):
                            found.append((cls, name, call))
        return found

    # --- hooks -----------------------------------------------------------------------------------------------------------------
    def hooks(self, event: str) -> list:
        """Functions registered for a library's event, `@listens_for(target, "begin")`, in this module and in others that say so."""
        if event not in self._hooks:
            found = []
            for module in (self.module, *self._mentioning("listens_for")):
                for key, info in module.index.functions.items():
                    if any(text.split("(")[0].rsplit(".", 1)[-1] in ("listens_for", "listen", "receiver") for text in info.decorators):
                        scope = module.scope(key)
                        definition = scope.definition()
                        for decorator in definition.decorators if definition is not None else ():
                            if isinstance(decorator, ir.Call) and any(isinstance(a.value, ir.Const) and a.value.value == event for a in decorator.args):
                                found.append(scope)
            self._hooks[event] = found
        return self._hooks[event]

    def heard_by(self, scope: Scope) -> frozenset:
        """Names of the signals that call a function: `post_delete.connect(handlers.tidy_up)`, `@receiver(post_delete)`."""
        found = set()
        if "receiver" in (text.rpartition(".")[2] for text in scope.info.decorators):
            above = "\n".join(scope.module.source.lines[scope.info.start - 1:scope.info.def_line - 1])
            for given in re.findall(r"receiver\(([^)]*)\)", above):
                found |= {name.rpartition(".")[2] for name in re.findall(r"[\w.]+", given.partition("sender")[0])}
        connected = re.compile(rf"(\w+)\.connect\(\s*(?:receiver\s*=\s*)?(?:\w+\.)*{re.escape(scope.name)}\b")
        for module in (scope.module, *self._mentioning(scope.name)):
            found |= set(connected.findall(module.source.text))
        return frozenset(found)

    def _mentioning(self, word: str) -> list:
        """Other modules of the project whose text holds a word."""
        project = self.library.project
        entries = project.mentions(word) if project is not None else []
        self.asked.setdefault(f"mentions {word}", " ".join(entry.digest for entry in entries))
        return [self.library.module(entry) for entry in entries if entry is not self.module.entry]

    def writers(self, field: str) -> list:
        """Scopes of the project whose text may write a field of that name, by file and line."""
        found = []
        writes = re.compile(rf"\b{re.escape(field)}\s*(?:[-+*/|&]|//)?=(?!=)|['\"]{re.escape(field)}['\"]")
        for module in sorted((self.module, *self._mentioning(field)), key=lambda module: module.entry.path):
            for key, info in module.index.functions.items():
                if not writes.search("\n".join(module.source.lines[info.start - 1:info.end])):
                    continue
                scope = module.scope(key)
                if scope.kinds is None or scope.kinds & _WRITES_ROWS:
                    found.append(scope)
        return found

    # --- callers -------------------------------------------------------------------------------------------------------------
    def callers(self, scope: Scope) -> list:
        """Scopes whose text calls something of this name: of its own module, and of other modules that import it or, for a method,
        say its name after a dot."""
        if scope.key not in self._callers:
            self._callers[scope.key] = self._find_callers(scope)
        return self._callers[scope.key]

    def _find_callers(self, scope: Scope) -> list:
        found = []
        name = scope.name
        home = scope.module
        words = self._words.get(home.name)
        if words is None:
            words = self._words[home.name] = {}
            for key, info in home.index.functions.items():
                for word in set(_WORD.findall("\n".join(home.source.lines[info.start - 1:info.end]))):
                    words.setdefault(word, []).append((key, info))
        for key, info in words.get(name, ()):
            if (home.name, key) == scope.key:
                continue
            text = "\n".join(home.source.lines[info.start - 1:info.end])
            if _calls(text, name) and _reaches(home.scope(key), text, scope, name):
                found.append(home.scope(key))
        found += self._through_tables(home, name, scope.key)
        if name.startswith("__"):
            return found
        for module in self._mentioning(name):
            if module is home or len(found) >= MAX_CALLERS:
                continue
            if scope.cls is None and not self._imports(module, scope):
                continue
            for key, info in module.index.functions.items():
                text = "\n".join(module.source.lines[info.start - 1:info.end])
                said = name if scope.cls is None else "." + name
                if name in text and _calls(text, said) and _reaches(module.scope(key), text, scope, said):
                    found.append(module.scope(key))
        return list(dict.fromkeys(found))[:MAX_CALLERS]

    def is_unused(self, scope: Scope) -> bool:
        """A plain function of a module that the project names nowhere else: dead, or meant for others."""
        if scope.cls is not None or scope.info.decorators or not isinstance(scope, Scope):
            return False
        home = scope.module
        if scope.key not in self._unused:
            self._unused[scope.key] = (len(re.findall(rf"\b{re.escape(scope.name)}\b", home.source.text)) < 2
                                       and not any(module is not home for module in self._mentioning(scope.name)))
        return self._unused[scope.key]

    def _through_tables(self, home: Module, name: str, own: tuple) -> list:
        """Functions that say the name of a global table which holds the function: `HANDLERS = {"paid": on_paid}`."""
        found = []
        for table, ranges in home.index.assigns.items():
            first, last = ranges[0]
            if table == name or last - first > MAX_TABLE_LINES or not _calls("\n".join(home.source.lines[first - 1:last]).partition("=")[2], name):
                continue
            found += [home.scope(key) for key, _ in self._words[home.name].get(table, ()) if (home.name, key) != own]
            for module in self._mentioning(table):
                if module is not home and any(self.library.follow(module, target) == (home, table) for target in module.index.imports.values()):
                    found += [module.scope(key) for key, info in module.index.functions.items()
                              if _calls("\n".join(module.source.lines[info.start - 1:info.end]), table)]
        return found

    def _imports(self, module: Module, scope: Scope) -> bool:
        """Does a module import this function, or the module that it stands in?"""
        tables = (module.index.imports, *(info.imports for info in module.index.functions.values() if info.imports))
        for table in tables:
            for target in table.values():
                followed = self.library.follow(module, target)
                if followed is not None and followed[0] is scope.module and followed[1] in ("", scope.name):
                    return True
        return any(found is not None and found[0] is scope.module for found in (self.library.follow(module, star) for star in module.index.stars))


#: What stands before a method's name that is the caller's own.
_OWN = re.compile(r"(?:(?<![\w.])(?:self|cls)|super\(\))\.?$")
_WORD = re.compile(r"\w+")


def _calls(text: str, name: str) -> bool:
    """Does the text hold `name(` or `name` as a word of its own beside its definition?"""
    return next(_uses(text, name), None) is not None


def _uses(text: str, name: str) -> Iterator[int]:
    """Where the text says the name as a word of its own beside its definition."""
    at = text.find(name)
    while at >= 0:
        before = text[at - 1] if at and name[0] != "." else " "
        after = text[at + len(name):at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            lead = text[max(0, at - 4):at]
            if not lead.endswith("def "):
                yield at
        at = text.find(name, at + 1)


def _reaches(caller: Scope, text: str, scope: Scope, name: str) -> bool:
    """May the caller's text reach a method by this name? Where it is only said of the caller's own object (`self.f`, `super().f`), the method
    must be one of the caller's class or of its bases."""
    own = caller.cls
    if own is None or scope.cls is None or any(not _OWN.search(text[max(0, at - 12):at]) for at in _uses(text, name)):
        return True
    return any(cls == scope.cls for cls in own.mro())


def _self_assigns(definition: Any, name: str) -> Iterator[Any]:
    stack = list(reversed(definition.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Assign):
            for target in node.targets:
                if isinstance(target, ir.Attr) and target.name == name and isinstance(target.value, ir.Name) and target.value.id == "self":
                    yield node.value
        elif isinstance(node, ir.AnnAssign) and node.value is not None:
            target = node.target
            if isinstance(target, ir.Attr) and target.name == name and isinstance(target.value, ir.Name) and target.value.id == "self":
                yield node.value
        for suite in ir.suites(node):
            stack.extend(suite)
