"""Functions and loose statements of a module: their lowered bodies and what is known of them without them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from noclobber.resolve import DEPTH_LIMIT, FunctionInfo
from noclobber.trace import ir

if TYPE_CHECKING:
    from .classes import Class
    from .modules import Module


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
    def cls(self) -> Optional[Class]:
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

    def __init__(self, module: Module, qualname: str, ranges: tuple, cls: Optional[Class], depth: int) -> None:
        self.module, self.qualname, self.ranges, self.depth = module, qualname, ranges, depth
        self.name, self.path, self.key = qualname, module.path, (module.name, qualname)
        self._cls = cls
        self.is_static = self.is_class_method = self.is_property = self.is_context_manager = False
        self._excerpt: Any = False

    @property
    def cls(self) -> Optional[Class]:
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


def statements_at(module: Module, ranges: tuple, qualname: str) -> Optional[tuple]:
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
