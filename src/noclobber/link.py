"""Answers the walk's questions: a name's target, a function's body, a class's facts, who calls this.

The answers come from the module at hand and from the modules of its project that it imports; callers from those that name the function.
Everything is lowered on demand, once. What cannot be found is answered with the dotted target only.
"""
from __future__ import annotations

import re
from typing import Any, Iterator, Optional

from noclobber.project import Entry, Project
from noclobber.resolve import DEPTH_LIMIT, ClassInfo, FunctionInfo, absolute, dotted
from noclobber.trace import ir

#: Lowered lines of other modules that are kept from file to file of a run (about 3 KiB each).
_KEPT_LINES = 60_000
#: Functions of other modules that are looked at as callers of one function.
MAX_CALLERS = 20
#: Lines of a global table of functions.
MAX_TABLE_LINES = 80


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

    def module(self, entry: Entry) -> "Module":
        found = self._modules.get(entry.path)
        if found is None or found.entry is not entry:
            found = self._modules[entry.path] = self._shown[entry.source.path] = Module(entry, self)
        return found

    def shown(self, path: str) -> Optional["Module"]:
        """The module whose places reports show as `path`."""
        return self._shown.get(path)

    def by_name(self, name: str) -> Optional["Module"]:
        for module in self._modules.values():
            if module.name == name:
                return module
        entry = self.project.by_name(name) if self.project is not None else None
        return self.module(entry) if entry is not None else None

    def start(self, entry: Entry) -> "Module":
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

    def follow(self, module: "Module", target: str) -> Optional[tuple]:
        """(module, name in it) that an import target of `module` comes to, or None where it is not of this project."""
        if self.project is None:
            return None
        found = self.project.follow(module.entry, target)
        return (self.module(found[0]), found[1]) if found is not None else None

    def is_library(self, dotted_name: str) -> bool:
        vocabulary = self.vocabulary
        return vocabulary is not None and bool(vocabulary.known_type(dotted_name) or vocabulary.functions(dotted_name))

    def target(self, module: "Module", target: str) -> tuple:
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

    def class_named(self, text: str) -> Optional["Class"]:
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

    def scope(self, key: str) -> "Scope":
        found = self.scopes.get(key)
        if found is None:
            found = self.scopes[key] = Scope(self, self.index.functions[key])
        return found

    def klass(self, key: str) -> "Class":
        found = self.classes.get(key)
        if found is None:
            found = self.classes[key] = Class(self, self.index.classes[key])
        return found


class Scope:
    """A function or method of the project."""

    def __init__(self, module: Module, info: FunctionInfo) -> None:
        self.module, self.info = module, info
        self.qualname, self.name, self.path = info.qualname, info.name, module.path
        self.key = (module.name, info.key or info.qualname)
        self._definition: Any = False

    @property
    def kinds(self) -> Optional[frozenset]:
        """Event kinds that triage saw in it and below; None: not known."""
        return self.module.kinds.get(self.info.key or self.info.qualname)

    @property
    def cls(self) -> Optional["Class"]:
        return self.module.klass(self.info.cls) if self.info.cls is not None else None

    def excerpt(self) -> Any:
        info = self.info
        if info.depth > DEPTH_LIMIT:
            return None
        if info.inline:
            return self.module.lower(*info.outer, self._indented(info.outer[0]))
        return self.module.lower(info.start, info.end, self._indented(info.start))

    def _indented(self, line: int) -> bool:
        text = self.module.source.lines[line - 1].lstrip("\f")
        return text[:1] in (" ", "\t")

    def definition(self) -> Any:
        if self._definition is False:
            self._definition = None
            excerpt = self.excerpt()
            if excerpt is not None:
                self._definition = find_definition(excerpt.body, self.info.name)
        return self._definition

    def body(self) -> tuple:
        definition = self.definition()
        return definition.body if definition is not None else ()

    def _decorated(self, *names: str) -> bool:
        return any(text.split("(")[0].rsplit(".", 1)[-1] in names for text in self.info.decorators)

    @property
    def is_static(self) -> bool:
        return self._decorated("staticmethod")

    @property
    def is_class_method(self) -> bool:
        return self._decorated("classmethod") or self.name == "__init_subclass__"

    @property
    def is_property(self) -> bool:
        return self._decorated("property", "cached_property", "hybrid_property")

    @property
    def is_context_manager(self) -> bool:
        return self._decorated("contextmanager", "asynccontextmanager")


class Loose:
    """The loose statements of a module or of a class body."""

    def __init__(self, module: Module, qualname: str, ranges: tuple, cls: Optional["Class"], depth: int) -> None:
        self.module, self.qualname, self.ranges, self.depth = module, qualname, ranges, depth
        self.name, self.path, self.key = qualname, module.path, (module.name, qualname)
        self._cls = cls
        self.is_static = self.is_class_method = self.is_property = self.is_context_manager = False
        self._excerpt: Any = False

    @property
    def cls(self) -> Optional["Class"]:
        return None

    def excerpt(self) -> Any:
        if self._excerpt is False:
            self._excerpt = None
            if self.depth <= DEPTH_LIMIT and self.ranges:
                from noclobber.trace import lower

                try:
                    self._excerpt = lower.lower_ranges(self.module.source, self.ranges)
                    lines = sum(last - first + 1 for first, last in self.ranges)
                    self.module.lowered_lines += lines
                    self.module.kept_lines += lines
                except lower.LowerError as error:
                    self.module.problems.append((error.line, error.message))
        return self._excerpt

    def definition(self) -> None:
        return None

    def body(self) -> tuple:
        excerpt = self.excerpt()
        return excerpt.body if excerpt is not None else ()


class Class:
    """Facts of a class of the project, those of its bases in the project included."""

    def __init__(self, module: Module, info: ClassInfo) -> None:
        self.module, self.info = module, info
        self.name = info.qualname.rsplit(".", 1)[-1]
        self.type_name = f"class:{module.name}:{info.key or info.qualname}"
        self._mro: Optional[list] = None
        self._library: Optional[tuple] = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and self.type_name == other.type_name

    def __hash__(self) -> int:
        return hash(self.type_name)

    def mro(self) -> list:
        """This class and its bases in the project, nearest first."""
        if self._mro is None:
            self._mro = [self]
            found = [self]
            for base in self.info.bases:
                below = self.module.class_named(base.split("[")[0])
                if below is not None and below != self:
                    for cls in below.mro():
                        if cls not in found and len(found) < 30:
                            found.append(cls)
            self._mro = found
        return self._mro

    def library_bases(self) -> tuple:
        """Dotted names of the bases that are not of this project; `f()` for what a call made."""
        if self._library is None:
            found: list = []
            for cls in self.mro():
                index = cls.module.index
                for base in cls.info.bases:
                    text = base.split("[")[0]
                    if cls.module.class_named(text) is not None:
                        continue
                    called = text.endswith("()")
                    name = text[:-2] if called else text
                    target = dotted(index, name)
                    if target is None:
                        continue
                    maker: Any = cls.module if target in index.assigns else None
                    if maker is None and name.partition(".")[0] in index.imports:
                        followed = cls.module.library.follow(cls.module, index.imports[name.partition(".")[0]] + name[len(name.partition(".")[0]):])
                        if followed is not None and followed[1] in followed[0].index.assigns:
                            maker, target = followed
                    if maker is not None:
                        made = maker.made_by(target)
                        if made:
                            found.append(made)
                        continue
                    found.append(target + ("()" if called else ""))
            self._library = tuple(dict.fromkeys(found))
        return self._library

    def ancestors(self) -> list:
        return [cls.name for cls in self.mro()] + list(self.library_bases())

    def method(self, name: str) -> Optional[Scope]:
        for cls in self.mro():
            info = cls.info.methods.get(name)
            if info is not None:
                return cls.module.scope(info.key or info.qualname)
        return None

    def inherited(self, name: str) -> Optional[Scope]:
        for cls in self.mro()[1:]:
            info = cls.info.methods.get(name)
            if info is not None:
                return cls.module.scope(info.key or info.qualname)
        return None

    def assign(self, name: str) -> Optional[tuple]:
        """(scope, excerpt, statements) of a class-level assignment."""
        for cls in self.mro():
            ranges = cls.info.assigns.get(name)
            if ranges:
                return _statements(cls.module, ranges, f"{cls.info.qualname}.{name}")
        return None

    def annotation(self, name: str) -> Optional[tuple]:
        """(scope, expression) of a class-level annotation."""
        for cls in self.mro():
            text = cls.info.annotations.get(name)
            if text:
                expression = annotation_expression(text)
                if expression is not None:
                    return Loose(cls.module, cls.info.qualname, (), None, 0), expression
        return None

    def field_names(self) -> list:
        """Names of the fields of a dataclass-like class, in order."""
        names: list = []
        for cls in reversed(self.mro()):
            for name in cls.info.annotations:
                if name not in names:
                    names.append(name)
        return names

    def text_of(self, name: str) -> str:
        """The source text of a class-level assignment or annotation."""
        for cls in self.mro():
            ranges = cls.info.assigns.get(name)
            if ranges:
                first, last = ranges[0]
                return "\n".join(cls.module.source.lines[first - 1:last])
        return ""

    def field_call(self, name: str) -> Optional[tuple]:
        """(dotted constructor, argument texts, {keyword: text}) of `name = Constructor(…)` in the class body; None: no such assignment."""
        for cls in self.mro():
            if name in cls.info.assigns:
                return _constructor(cls.module, cls.info.assigns[name][0])
        return None

    def annotation_text(self, name: str) -> str:
        return next((text for cls in self.mro() for text in (cls.info.annotations.get(name),) if text), "")

    def nested(self, name: str) -> Optional["Class"]:
        """A class inside this one or inside a base (`Order.Status`)."""
        for cls in self.mro():
            key = f"{cls.info.qualname}.{name}"
            if key in cls.module.index.classes:
                return cls.module.klass(key)
        return None

    def nested_text(self, name: str) -> str:
        """The source of a class inside this one (`class Meta`), those of its bases after it; '' where there is none."""
        found = []
        for cls in self.mro():
            inner = cls.module.index.classes.get(f"{cls.info.qualname}.{name}")
            if inner is not None:
                found.append("\n".join(cls.module.source.lines[inner.start - 1:inner.end]))
        return "\n".join(found)

    def mentions(self, marker: str) -> bool:
        """Does the class body hold a marker such as `__mapper_args__['version_id_col']`, `Settings['use_revision = True']` or a field class?"""
        name, _, key = marker.partition("[")
        key = key.strip("[]'\"")
        for cls in self.mro():
            if key:
                method = cls.info.methods.get(name)
                ranges = cls.info.assigns.get(name) or (((method.start, method.end),) if method is not None else ())
                inner = cls.module.index.classes.get(f"{cls.info.qualname}.{name}")
                if any(key in "\n".join(cls.module.source.lines[a - 1:b]) for a, b in (*ranges, *(((inner.start, inner.end),) if inner is not None else ()))):
                    return True
                continue
            last = name.rsplit(".", 1)[-1]
            for ranges in cls.info.assigns.values():
                text = "\n".join(cls.module.source.lines[ranges[0][0] - 1:ranges[0][1]])
                if last + "(" in text:
                    return True
        return False

    def table_name(self) -> str:
        for cls in self.mro():
            ranges = cls.info.assigns.get("__tablename__")
            if ranges:
                text = cls.module.source.lines[ranges[0][0] - 1]
                value = text.partition("=")[2].strip().strip("'\"")
                if value.isidentifier():
                    return value
        return ""


def _constructor(module: Module, lines: tuple) -> Optional[tuple]:
    """(dotted constructor, argument texts, {keyword: text}) of the assignment at these lines whose value is a call, else None."""
    import ast
    from textwrap import dedent

    first, last = lines
    if last - first > 60:
        return None
    try:
        statement = ast.parse(dedent("\n".join(module.source.lines[first - 1:last]))).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return None
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call):
        return None
    head = ast.unparse(call.func)
    return (dotted(module.index, head) or head, tuple(ast.unparse(a) for a in call.args),
            {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg})


def annotation_expression(text: str) -> Any:
    """The ir of an annotation given as text; None when it does not parse."""
    import ast

    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _annotation_ir(tree, 0)


def _annotation_ir(node: Any, depth: int) -> Any:
    import ast

    if depth > 20:
        return None
    if isinstance(node, ast.Name):
        return ir.Name(node.id)
    if isinstance(node, ast.Attribute):
        inner = _annotation_ir(node.value, depth + 1)
        return ir.Attr(inner, node.attr) if inner is not None else None
    if isinstance(node, ast.Subscript):
        head, index = _annotation_ir(node.value, depth + 1), _annotation_ir(node.slice, depth + 1)
        return ir.Sub(head, index if index is not None else ir.Const(None)) if head is not None else None
    if isinstance(node, ast.Tuple):
        return ir.TupleX(tuple(filter(None, (_annotation_ir(item, depth + 1) for item in node.elts))))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = _annotation_ir(node.left, depth + 1), _annotation_ir(node.right, depth + 1)
        return ir.Bin("|", left or ir.Const(None), right or ir.Const(None))
    if isinstance(node, ast.Constant):
        return annotation_expression(node.value) if isinstance(node.value, str) else ir.Const(node.value)
    return None


def find_definition(body: tuple, name: str) -> Any:
    """The def of that name among statements (those under an `if` header included)."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, ir.FunctionDef) and node.name == name:
            return node
        for suite in (node.body,) if isinstance(node, ir.ClassDef) else ir.suites(node):
            stack.extend(suite)
    return None


def _statements(module: Module, ranges: tuple, qualname: str) -> Optional[tuple]:
    """(scope, excerpt, statements) of the statements at these lines."""
    scope = Loose(module, qualname, tuple(ranges[:4]), None, 0)
    statements: list = []
    excerpt = None
    for first, last in ranges[:4]:
        if last - first > 400:
            return None
        text = module.source.lines[first - 1].lstrip("\f")
        excerpt_here = module.lower(first, last, text[:1] in (" ", "\t"))
        if excerpt_here is None:
            return None
        if excerpt is None:
            excerpt = excerpt_here
            statements.extend(excerpt_here.body)
        # Further bindings of the same name: the first one decides, as most code means it.
        break
    return scope, excerpt, tuple(statements)


class Ask:
    """The answers for one file and what it leads to. `asked`: questions about other modules → digest of the answer (DESIGN §6)."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.library = module.library
        self._writers: dict[tuple, list] = {}
        self._hooks: dict[str, list] = {}
        self._dotted: dict[str, Optional[tuple]] = {}
        self._words: dict[str, dict[str, list]] = {}  # module → word → functions whose text has it
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
        return _statements(module, ranges, "<module>") if ranges else None

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
            from .trace.sql.versions import versions_of

            module.versions = versions_of(module.source.text, is_version)
        return module.versions

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
                if writes.search("\n".join(module.source.lines[info.start - 1:info.end])):
                    found.append(module.scope(key))
        return found

    # --- callers -------------------------------------------------------------------------------------------------------------
    def callers(self, scope: Scope) -> list:
        """Scopes whose text calls something of this name: of its own module, and of other modules that import it or, for a method,
        say its name after a dot."""
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
            if _calls("\n".join(home.source.lines[info.start - 1:info.end]), name):
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
                if name in text and _calls(text, name if scope.cls is None else "." + name):
                    found.append(module.scope(key))
        return list(dict.fromkeys(found))[:MAX_CALLERS]

    def is_unused(self, scope: Scope) -> bool:
        """A plain function of a module that the project names nowhere else: dead, or meant for others."""
        if scope.cls is not None or scope.info.decorators or not isinstance(scope, Scope):
            return False
        home = scope.module
        return len(re.findall(rf"\b{re.escape(scope.name)}\b", home.source.text)) < 2 and not any(module is not home for module in self._mentioning(scope.name))

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


_WORD = re.compile(r"\w+")


def _calls(text: str, name: str) -> bool:
    """Does the text hold `name(` or `name` as a word of its own beside its definition?"""
    at = text.find(name)
    while at >= 0:
        before = text[at - 1] if at and name[0] != "." else " "
        after = text[at + len(name):at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            lead = text[max(0, at - 4):at]
            if not lead.endswith("def "):
                return True
        at = text.find(name, at + 1)
    return False


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
