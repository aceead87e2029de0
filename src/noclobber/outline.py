"""The outline of a file that the running Python's `ast` refuses and LibCST reads (DESIGN §4): made of its ir statements.

`resolve.index_module` does the same from `ast`; the two agree on every file that both can read (tests/test_outline.py).
"""
from __future__ import annotations

from typing import Any, Iterator, Optional

from noclobber.resolve import ClassInfo, FunctionInfo, ModuleIndex, Source, give_keys
from noclobber.trace import ir, positions

_DEFS = (ir.FunctionDef, ir.ClassDef)
Span = tuple[int, int]


def outline(source: Source, excerpt: Any, module: str = "") -> ModuleIndex:
    """The outline of the whole file, given the excerpt that `lower.lower_module` made of it.

    Depths stay 0: `resolve.token_bound` has bounded the text before it was lowered.
    """
    index = ModuleIndex(module, source.path)
    _Outliner(source, excerpt, index).run()
    return index


def _blocks(node: Any) -> tuple[tuple[Any, bool], ...]:
    """(nested block, is it an alternative to an earlier one) of a compound statement that is no def and no class."""
    kind = type(node)
    if kind is ir.If:
        return (*((body, number > 0) for number, (_, body) in enumerate(node.branches)), (node.orelse, True))
    if kind is ir.While or kind is ir.For:
        return (node.body, False), (node.orelse, True)
    if kind is ir.Try:
        return ((node.body, False), *((handler.body, True) for handler in node.handlers), (node.orelse, True), (node.final, False))
    if kind is ir.With:
        return ((node.body, False),)
    if kind is ir.Match:
        return tuple((case.body, False) for case in node.cases)
    return ()


def _headers(node: Any) -> Iterator[Any]:
    """The expressions that stand in a statement itself, not in its nested blocks."""
    kind = type(node)
    if kind is ir.If:
        yield from (test for test, _ in node.branches)
    elif kind is ir.While:
        yield node.test
    elif kind is ir.For:
        yield from (node.target, node.iter)
    elif kind is ir.Try:
        yield from (handler.types for handler in node.handlers if handler.types is not None)
    elif kind is ir.With:
        yield from (value for value, _ in node.items)
    elif kind is ir.Match:
        yield node.subject
        yield from (case.guard for case in node.cases if case.guard is not None)
    else:
        yield node


def _descend(node: Any) -> Iterator[Any]:
    """Every node below, but not inside a lambda."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, (tuple, list)):
            stack.extend(node)
        elif isinstance(node, ir.Node):
            yield node
            if type(node) is not ir.Lambda:
                stack.extend(getattr(node, name) for name in node._fields)


def _target_names(target: Any) -> Iterator[str]:
    stack = [target]
    while stack:
        node = stack.pop()
        if type(node) is ir.Name:
            yield node.id
        elif type(node) is ir.TupleX or type(node) is ir.ListX:
            stack.extend(reversed(node.items))
        elif type(node) is ir.Starred:
            stack.append(node.value)


def _binders(node: Any) -> list[str]:
    """Names that a statement itself binds (not those of its nested blocks, not imports)."""
    names: list[str] = []
    kind = type(node)
    if kind is ir.Assign:
        for target in node.targets:
            names.extend(_target_names(target))
    elif kind is ir.AugAssign or kind is ir.For or kind is ir.AnnAssign and node.value is not None:
        names.extend(_target_names(node.target))
    elif kind is ir.With:
        for _, target in node.items:
            if target is not None:
                names.extend(_target_names(target))
    elif kind is ir.Try:
        names.extend(handler.name for handler in node.handlers if handler.name)
    elif kind is ir.Match:
        for case in node.cases:
            names.extend(case.pattern.names)
    for header in _headers(node):
        names.extend(inner.target.id for inner in _descend(header) if type(inner) is ir.Walrus)
    return names


def _dotted(node: Any) -> str:
    """'a.b.c' of a chain of attributes on a name, else ''."""
    parts: list[str] = []
    while type(node) is ir.Attr:
        parts.append(node.name)
        node = node.value
    if type(node) is not ir.Name:
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def _decorator(node: Any) -> str:
    while type(node) is ir.Call or type(node) is ir.Sub:
        node = node.func if type(node) is ir.Call else node.value
    return _dotted(node)


def _base(node: Any) -> str:
    if type(node) is ir.Call:
        name = _dotted(node.func)
        return name and name + "()"
    while type(node) is ir.Sub:
        node = node.value
    return _dotted(node)


class _Outliner:
    def __init__(self, source: Source, excerpt: Any, index: ModuleIndex) -> None:
        self.source, self.excerpt, self.index = source, excerpt, index
        self.lines = source.lines
        self.rebound: set[str] = set()
        self.choices: dict[str, list[str]] = {}
        self.found: dict[str, list[FunctionInfo]] = {}
        self.classes: dict[str, list[tuple[ClassInfo, dict[str, list[FunctionInfo]]]]] = {}

    def run(self) -> None:
        index = self.index
        stars: list[str] = []
        index.assigns, index.loose, queue = self.block(self.excerpt.body, index.imports, stars, None, "", self.found, self.choices)
        while queue:  # classes may nest
            node, prefix, around = queue.pop(0)
            self.klass(node, prefix, around, queue)
        index.stars = tuple(dict.fromkeys(stars))
        index.rebound = frozenset(self.rebound)
        index.choices = {name: tuple(targets) for name, targets in self.choices.items() if len(targets) > 1}
        give_keys(index, self.found, self.classes)

    def span(self, node: Any) -> Span:
        line, _, end, end_column = positions.place(self.excerpt, node.at)
        # LibCST ends a block behind the line end of its last statement.
        return line, end - 1 if end_column == 1 and end > line else end

    def block(self, body: tuple, imports: dict, stars: list, cls: Optional[str], prefix: str, functions: dict,
              choices: dict) -> tuple[dict, tuple[Span, ...], list]:
        """Reads the statements of one level, through its if/try/with/for: (assigns, loose, [(class, prefix, outer lines)])."""
        assigns: dict[str, list[Span]] = {}
        loose: list[Span] = []
        queue: list = []
        fresh = True
        for node in body:
            if isinstance(node, _DEFS):
                fresh = True
                continue
            first, last = self.span(node)
            if fresh:
                loose.append((first, last))
                fresh = False
            else:
                loose[-1] = (loose[-1][0], max(loose[-1][1], last))
        stack: list = [(body, 0, False, None)]
        while stack:
            statements, at, alternative, around = stack.pop()
            if at == len(statements):
                continue
            stack.append((statements, at + 1, alternative, around))
            node = statements[at]
            if type(node) is ir.FunctionDef:
                self.function(node, cls, prefix, functions, around)
            elif type(node) is ir.ClassDef:
                queue.append((node, prefix, around))
            elif type(node) is ir.Import:
                for name, target in node.names:
                    if name == "*":
                        stars.append(target)
                    elif alternative and name in imports:
                        if target not in choices.setdefault(name, [imports[name]]):
                            choices[name].append(target)
                    else:
                        imports[name] = target
                        choices[name] = [target]
            else:
                nested = _blocks(node)
                names = _binders(node)
                if names:
                    part = bool(nested) and isinstance(node, (ir.Try, ir.Match))  # lowered with the statement around it
                    span = around if part and around else self.span(node) if nested else self.own_lines(statements, at, around)
                    for name in names:
                        assigns.setdefault(name, []).append(span)
                lines = around or (self.span(node) if nested else None)
                for inner, other in reversed(nested):
                    if inner:
                        stack.append((inner, 0, alternative or other, lines))
        return {name: tuple(dict.fromkeys(spans)) for name, spans in assigns.items()}, tuple(loose), queue

    def own_lines(self, statements: tuple, at: int, around: Optional[Span]) -> Span:
        """Whole physical lines of a simple statement, with those that share a line with it."""
        first = last = at
        while first and self.span(statements[first - 1])[1] >= self.span(statements[first])[0]:
            first -= 1
        while last + 1 < len(statements) and self.span(statements[last + 1])[0] <= self.span(statements[last])[1]:
            last += 1
        line, column, _, _ = positions.place(self.excerpt, statements[first].at)
        if around and self.lines[line - 1][:column - 1].strip():
            return around  # `if x: y = 1` is not lowered without its header
        return line, self.span(statements[last])[1]

    def head(self, node: Any) -> tuple[int, bool]:
        """(line of the first decorator's '@' or of the def, does it share its logical line)."""
        line, column, _, _ = positions.place(self.excerpt, node.at)
        if node.decorators:
            line = positions.place(self.excerpt, node.decorators[0].at)[0]
            while line > 1 and not self.lines[line - 1].lstrip(" \t\f").startswith("@"):
                line -= 1
            return line, False
        joined = line > 1 and self.lines[line - 2].endswith("\\") and "#" not in self.lines[line - 2]
        return line, joined or bool(self.lines[line - 1][:column - 1].strip())

    def function(self, node: Any, cls: Optional[str], prefix: str, functions: dict, around: Optional[Span]) -> None:
        start, inline = self.head(node)
        def_line, end = self.span(node)
        info = FunctionInfo(prefix + node.name, node.name, cls, start, end, def_line, tuple(item.name for item in node.params.items),
                            tuple(_decorator(item) for item in node.decorators), bool(node.is_async), inline=inline)
        if inline:
            first, last = around or (start, end)
            while first > 1 and self.lines[first - 2].endswith("\\"):
                first -= 1
            info.outer = min(first, start), max(last, end)
        for inner in _descend(node.body):
            if type(inner) is ir.Import:
                for name, target in inner.names:
                    info.imports.setdefault(name, target)
            elif type(inner) is ir.Global:
                self.rebound.update(inner.names)
        for name in self.rebound & info.imports.keys():  # `global boto3; import boto3`
            self.index.imports.setdefault(name, info.imports[name])
        functions.setdefault(info.qualname, []).append(info)

    def klass(self, node: Any, prefix: str, around: Optional[Span], queue: list) -> None:
        start, inline = self.head(node)
        def_line, end = self.span(node)
        qualname = prefix + node.name
        info = ClassInfo(qualname, start, end, def_line, tuple(_base(item) for item in node.bases),
                         decorators=tuple(_decorator(item) for item in node.decorators), inline=inline)
        if inline:
            info.outer = around or (start, end)
        methods: dict[str, list[FunctionInfo]] = {}
        info.assigns, info.loose, inner = self.block(node.body, info.imports, [], qualname, qualname + ".", methods, {})
        for statement in node.body:
            if type(statement) is ir.AnnAssign and type(statement.target) is ir.Name:
                info.annotations[statement.target.id] = self.text(statement.annotation)
        queue.extend(inner)
        self.classes.setdefault(qualname, []).append((info, methods))

    def text(self, node: Any) -> str:
        """The text of a node as written."""
        try:
            line, column, end, end_column = positions.place(self.excerpt, node.at)
        except LookupError:
            return ""
        lines = self.lines[line - 1:end]
        lines[-1] = lines[-1][:end_column - 1]
        lines[0] = lines[0][column - 1:]
        return "\n".join(lines)
