"""Answers the walk's questions: a name's target, a function's body, a class's facts, who calls this.

In this issue the answers come from the module at hand; names of other modules are answered with their dotted target only.
Everything is lowered on demand, once.
"""
from __future__ import annotations

import re
from typing import Any, Iterator, Optional

from noclobber.resolve import DEPTH_LIMIT, ClassInfo, FunctionInfo, ModuleIndex, Source, absolute, dotted
from noclobber.trace import ir


class Module:
    """One file: source, outline, and what has been lowered of it. `name`: dotted module name or the path."""

    def __init__(self, source: Source, index: ModuleIndex) -> None:
        self.source, self.index = source, index
        self.name = index.module or source.path
        self.path = source.path
        self.excerpts: dict[tuple, Any] = {}
        self.scopes: dict[str, Scope] = {}
        self.classes: dict[str, Class] = {}
        self.lowered_lines = 0
        self.problems: list[tuple[int, str]] = []
        self.kinds: dict[str, frozenset] = {}  # of triage: scope → kinds

    def lower(self, first: int, last: int, indented: bool) -> Any:
        """The excerpt of these lines, or None where it cannot be lowered (noted in `problems`)."""
        key = (first, last)
        if key not in self.excerpts:
            from noclobber.trace import lower

            try:
                self.excerpts[key] = lower.lower_lines(self.source, first, last, indented=indented)
                self.lowered_lines += last - first + 1
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
                    self.module.lowered_lines += sum(last - first + 1 for first, last in self.ranges)
                except lower.LowerError as error:
                    self.module.problems.append((error.line, error.message))
        return self._excerpt

    def definition(self) -> None:
        return None

    def body(self) -> tuple:
        excerpt = self.excerpt()
        return excerpt.body if excerpt is not None else ()


class Class:
    """Facts of a class of the project, those of its bases in the module included."""

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
        """This class and its bases of the module, nearest first."""
        if self._mro is None:
            self._mro = [self]
            found = [self]
            for base in self.info.bases:
                key = self._local_base(base)
                if key is not None and key != self.info.qualname:
                    for cls in self.module.klass(key).mro():
                        if cls not in found and len(found) < 30:
                            found.append(cls)
            self._mro = found
        return self._mro

    def _local_base(self, base: str) -> Optional[str]:
        base = base.split("[")[0]
        if base in self.module.index.classes:
            return base
        return None

    def library_bases(self) -> tuple:
        """Dotted names of the bases that are not of this module."""
        if self._library is None:
            found: list = []
            for cls in self.mro():
                for base in cls.info.bases:
                    text = base.split("[")[0]
                    if cls._local_base(text) is not None:
                        continue
                    called = text.endswith("()")
                    target = dotted(self.module.index, text[:-2] if called else text)
                    if target is None:
                        continue
                    if target in self.module.index.assigns:
                        made = self.module.made_by(target)
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
        if isinstance(node, ir.If):
            for _, inner in node.branches:
                stack.extend(inner)
            stack.extend(node.orelse)
        elif isinstance(node, ir.ClassDef):
            stack.extend(node.body)
        elif isinstance(node, (ir.With, ir.While, ir.For)):
            stack.extend(node.body)
        elif isinstance(node, ir.Try):
            for part in (node.body, node.orelse, node.final):
                stack.extend(part)
            for handler in node.handlers:
                stack.extend(handler.body)
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
    """The module-only answerer."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._writers: dict[tuple, list] = {}
        self._hooks: dict[str, list] = {}
        self._words: Optional[dict[str, list]] = None  # word → functions whose text has it

    # --- names -------------------------------------------------------------------------------------------------------------
    def name(self, module: Module, name: str) -> Optional[tuple]:
        index = module.index
        if name in index.functions:
            return ("function", module.scope(name))
        if name in index.classes:
            return ("class", module.klass(name))
        target = index.imports.get(name)
        if target is not None:
            return ("import", absolute(index, target))
        if name in index.assigns:
            return ("global", module, name)
        for info in ():
            pass
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
            return ("import", f"{found[1]}.{rest}")
        if found[0] == "class":
            key = f"{found[1].info.qualname}.{rest}"
            return ("class", module.klass(key)) if key in module.index.classes else None
        return None

    def dotted(self, text: str) -> Optional[tuple]:
        """A dotted target inside the project: in this issue only names of the module itself."""
        if self.module.index.module and text.startswith(self.module.index.module + "."):
            name = text[len(self.module.index.module) + 1:]
            return self.name(self.module, name) if "." not in name else None
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
        prefix = f"class:{self.module.name}:"
        if type_name.startswith(prefix):
            key = type_name[len(prefix):]
            if key in self.module.index.classes:
                return self.module.klass(key)
        return None

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

    # --- hooks -----------------------------------------------------------------------------------------------------------------
    def hooks(self, event: str) -> list:
        """Functions of the module registered for a library's event: `@listens_for(target, "begin")`."""
        if event not in self._hooks:
            found = []
            for key, info in self.module.index.functions.items():
                if any(text.split("(")[0].rsplit(".", 1)[-1] in ("listens_for", "listen", "receiver") for text in info.decorators):
                    scope = self.module.scope(key)
                    definition = scope.definition()
                    for decorator in definition.decorators if definition is not None else ():
                        if isinstance(decorator, ir.Call) and any(isinstance(a.value, ir.Const) and a.value.value == event for a in decorator.args):
                            found.append(scope)
            self._hooks[event] = found
        return self._hooks[event]

    # --- callers -------------------------------------------------------------------------------------------------------------
    def callers(self, scope: Scope) -> list:
        """Scopes of the module whose text calls something of this name."""
        found = []
        name = scope.name
        if self._words is None:
            self._words = {}
            for key, info in self.module.index.functions.items():
                for word in set(_WORD.findall("\n".join(self.module.source.lines[info.start - 1:info.end]))):
                    self._words.setdefault(word, []).append((key, info))
        for key, info in self._words.get(name, ()):
            if (self.module.name, key) == scope.key:
                continue
            if _calls("\n".join(self.module.source.lines[info.start - 1:info.end]), name):
                found.append(self.module.scope(key))
        return found


_WORD = re.compile(r"\w+")


def _calls(text: str, name: str) -> bool:
    """Does the text hold `name(` or `name` as a word of its own beside its definition?"""
    at = text.find(name)
    while at >= 0:
        before = text[at - 1] if at else " "
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
        elif isinstance(node, ir.If):
            for _, inner in node.branches:
                stack.extend(inner)
            stack.extend(node.orelse)
        elif isinstance(node, (ir.With, ir.While, ir.For)):
            stack.extend(node.body)
        elif isinstance(node, ir.Try):
            for part in (node.body, node.orelse, node.final):
                stack.extend(part)
            for handler in node.handlers:
                stack.extend(handler.body)
