"""The outline of a module: functions, classes, imports, what its statements bind."""
from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from noclobber.older import for_older_python

from .depth import BLOCKS, DEFS, Meter, token_bound
from .names import dotted_text, import_names
from .source import Source, SourceError

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Blocks in which a later import is an alternative to the first one, not its replacement.
_ALTERNATIVES = frozenset({"handlers", "orelse"})


@dataclass(slots=True)
class FunctionInfo:
    """One outermost function or method; defs nested in it belong to it.

    `qualname`: 'Cls.meth', 'outer'. `key`: the key in `ModuleIndex.functions`; it differs from `qualname` ('Cls.x@2':
    the second definition) only where a name is defined again. `cls`: key of the class or None.
    `start`..`end`: physical lines, 1-based, inclusive; `start` is the line of the first decorator's '@'.
    `inline`: the def does not begin its own logical line, so it must be lowered with lines `outer`.
    `depth`: nesting as LibCST counts it; above DEPTH_LIMIT exactly where the true depth is, below it short statements
    count one. `deep_line`: the line of the deepest place. `imports`: names bound by imports anywhere inside.
    """

    qualname: str
    name: str
    cls: str | None
    start: int
    end: int
    def_line: int
    params: tuple[str, ...]
    decorators: tuple[str, ...]
    is_async: bool
    depth: int = 0
    deep_line: int = 0
    inline: bool = False
    outer: tuple[int, int] = (0, 0)
    imports: dict[str, str] = field(default_factory=dict)
    key: str = ""


@dataclass(slots=True)
class ClassInfo:
    """One class that is not inside a function. `bases`: dotted text; 'f()' for a call, '' for anything else without a
    name.

    `assigns`: class-level name → (first, last) lines of every statement that binds it. `annotations`: name → text.
    `loose`: line ranges of the class body's statements that are no def and no class. `imports`: made in the body.
    """

    qualname: str
    start: int
    end: int
    def_line: int
    bases: tuple[str, ...]
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    assigns: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()
    loose: tuple[tuple[int, int], ...] = ()
    imports: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    deep_line: int = 0
    inline: bool = False
    outer: tuple[int, int] = (0, 0)
    key: str = ""


@dataclass(slots=True)
class ModuleIndex:
    """What one module defines. Picklable; holds no tree.

    `imports`: local name → target as written ('a.b.C'; relative ones keep their dots: '..models.Account').
    `choices`: names with several import targets (try/except) → all of them, `imports` holding the first.
    `stars`: targets of star imports ('pkg.mod', '.mod'). `assigns`: module-level name → lines of the binding
    statements.
    `rebound`: names that some function declares `global`. `loose`: line ranges of module statements that are no def or
    class.
    `depth`, `deep_line`: of the loose statements.
    """

    module: str
    path: str
    imports: dict[str, str] = field(default_factory=dict)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    assigns: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    rebound: frozenset[str] = frozenset()
    loose: tuple[tuple[int, int], ...] = ()
    depth: int = 0
    deep_line: int = 0

    @property
    def is_package(self) -> bool:
        return self.path.replace("\\", "/").rsplit("/", 1)[-1] in ("__init__.py", "__init__.pyi")


def index_module(source: Source, module: str = "") -> tuple[ModuleIndex, ast.Module]:
    """The outline of a file and its tree (for triage; the caller drops it at once).

    Raises SourceError: reason 'syntax' where the running Python refuses the text (the slow path may still read it),
    'deep' where its parser runs out of depth.
    """
    tree = parse(source)
    index = ModuleIndex(module, source.path)
    _Indexer(source, index).run(tree)
    return index, tree


def parse(source: Source) -> ast.Module:
    """The file's tree. Raises SourceError as `index_module` does."""
    text = source.text
    if "\r" in text:
        text = "\n".join(source.lines) + "\n"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are no business of ours, and stderr is the user's
            try:
                return ast.parse(text)
            except SyntaxError:
                older = for_older_python(text) if sys.version_info < (3, 14) else text
                if older == text:
                    raise
                return ast.parse(older)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), max(len(source.lines), 1))
        raise SourceError(line, error.msg or "invalid syntax") from None
    except (RecursionError, MemoryError):
        line = token_bound(source) or 1
        raise SourceError(line, f"too deeply nested at line {line}", "deep") from None
    except ValueError as error:  # lone surrogates of odd codecs, integers above the digit limit
        raise SourceError(1, str(error) or "invalid source") from None


def _decorator_text(node: ast.AST) -> str:
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return dotted_text(node)


def _base_text(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = dotted_text(node.func)
        return name and name + "()"
    while isinstance(node, ast.Subscript):
        node = node.value
    return dotted_text(node)


class _Indexer:
    def __init__(self, source: Source, index: ModuleIndex) -> None:
        self.source = source
        self.lines = source.lines
        self.index = index
        self.meter = Meter(source)
        self.walrus = ":=" in source.text
        self.rebound: set[str] = set()
        self.choices: dict[str, list[str]] = {}
        self.found: dict[str, list[FunctionInfo]] = {}
        self.found_classes: dict[str, list[tuple[ClassInfo, dict[str, list[FunctionInfo]]]]] = {}

    def run(self, tree: ast.Module) -> None:
        index = self.index
        stars: list[str] = []
        assigns, loose, depth, classes = self.block(
            tree.body, index.imports, stars, None, "", self.found, self.choices, 0)
        index.assigns, index.loose = assigns, loose
        index.depth, index.deep_line = depth
        while classes:  # a queue, not recursion: classes may nest
            node, prefix, outer = classes.pop(0)
            self.class_(node, prefix, outer, classes)
        index.stars = tuple(dict.fromkeys(stars))
        index.rebound = frozenset(self.rebound)
        index.choices = {name: tuple(targets) for name, targets in self.choices.items() if len(targets) > 1}
        give_keys(index, self.found, self.found_classes)

    # one level: the module, or the body of a class
    def block(self, body, imports, stars, cls, prefix, functions, choices, base, outer=None):
        """Reads the statements of one level, through its if/try/with/for.

        Returns (assigns, loose, (depth, line), classes).
        """
        assigns: dict[str, list[tuple[int, int]]] = {}
        loose: list[tuple[int, int]] = []
        classes: list[tuple[ast.ClassDef, str, tuple[int, int] | None]] = []
        fresh = True
        for node in body:
            if isinstance(node, DEFS):
                fresh = True
            elif fresh:
                loose.append((node.lineno, node.end_lineno))
                fresh = False
            else:
                loose[-1] = (loose[-1][0], max(loose[-1][1], node.end_lineno))
        # (statements, next one, is this an alternative branch, lines of the enclosing statement): source order
        stack = [(body, 0, False, None)]
        while stack:
            statements, place, alternative, around = stack.pop()
            if place == len(statements):
                continue
            stack.append((statements, place + 1, alternative, around))
            node = statements[place]
            kind = type(node)
            if kind in _FUNCTIONS_SET:
                self.function(node, cls, prefix, functions, outer or around or (node.lineno, node.end_lineno))
            elif kind is ast.ClassDef:
                classes.append((node, prefix, outer or around))
            elif kind is ast.Import or kind is ast.ImportFrom:
                for name, target in import_names(node):
                    if name == "*":
                        stars.append(target)
                    elif alternative and name in imports:
                        known = choices[name]
                        if target not in known:
                            known.append(target)
                    else:
                        imports[name] = target
                        choices[name] = [target]
            elif kind in BLOCKS:
                lines = around
                if lines is None:
                    lines = node.lineno, node.end_lineno
                names = _binders(node, self.walrus)
                if names:  # `except` and `case` are lowered with their statement
                    span = lines if kind in _PARTS else (node.lineno, node.end_lineno)
                    for name in names:
                        assigns.setdefault(name, []).append(span)
                for name in reversed(BLOCKS[kind][1]):
                    nested = getattr(node, name)
                    if nested:
                        stack.append((nested, 0, alternative or name in _ALTERNATIVES, lines))
            elif kind in _BINDING or self.walrus:
                names = _binders(node, self.walrus)
                if names:
                    span = self.own_lines(statements, place, around)
                    for name in names:
                        assigns.setdefault(name, []).append(span)
        deepest = self.meter.statements(body, base, skip_defs=True)
        return {name: tuple(dict.fromkeys(spans)) for name, spans in assigns.items()}, tuple(loose), deepest, classes

    def own_lines(self, statements: Sequence[ast.stmt], place: int, around: tuple[int, int] | None) -> tuple[int, int]:
        """Whole physical lines of a simple statement, with those that share a line with it."""
        node = statements[place]
        if self.lines[node.lineno - 1][:node.col_offset].strip() == "" and (
                place + 1 == len(statements) or statements[place + 1].lineno > node.end_lineno):
            return node.lineno, node.end_lineno
        first, last = place, place
        while first and statements[first - 1].end_lineno >= statements[first].lineno:
            first -= 1
        while last + 1 < len(statements) and statements[last + 1].lineno <= statements[last].end_lineno:
            last += 1
        node = statements[first]
        line = self.lines[node.lineno - 1].encode("utf-8", "surrogatepass")
        if around and line[:node.col_offset].strip():
            return around  # `if x: y = 1` is not lowered without its header
        return node.lineno, statements[last].end_lineno

    def head(self, node: ast.AST) -> tuple[int, bool]:
        """(line of the first decorator's '@' or of the def, does it share that logical line)."""
        first = node.lineno
        column = node.col_offset
        if node.decorator_list:
            first = node.decorator_list[0].lineno
            while first > 1 and not self.lines[first - 1].lstrip(" \t\f").startswith("@"):
                first -= 1
            return first, first > 1 and self.lines[first - 2].endswith("\\")
        before = self.lines[first - 1]
        inline = bool(before[:column].strip()) if before.isascii() else bool(before.encode()[:column].strip())
        return first, inline or (first > 1 and self.lines[first - 2].endswith("\\") and self.continued(first - 1))

    def continued(self, line: int) -> bool:
        """Does this line's backslash join it to the next one (it is not inside a comment)?"""
        return not self.lines[line - 1].lstrip().startswith("#") and "#" not in self.lines[line - 1]

    def widen(self, outer: tuple[int, int]) -> tuple[int, int]:
        first, last = outer
        while first > 1 and self.lines[first - 2].endswith("\\") and self.continued(first - 1):
            first -= 1
        return first, last

    def function(self, node, cls, prefix, functions, outer) -> None:
        start, inline = self.head(node)
        arguments = node.args
        params = [item.arg for item in arguments.posonlyargs]
        params += [item.arg for item in arguments.args]
        if arguments.vararg:
            params.append(arguments.vararg.arg)
        params += [item.arg for item in arguments.kwonlyargs]
        if arguments.kwarg:
            params.append(arguments.kwarg.arg)
        info = FunctionInfo(prefix + node.name, node.name, cls, start, node.end_lineno, node.lineno, tuple(params),
                            tuple([_decorator_text(item) for item in node.decorator_list]),
                            type(node) is ast.AsyncFunctionDef, inline=inline)
        if inline:
            info.outer = self.widen((min(outer[0], start), max(outer[1], info.end)))
        info.depth, info.deep_line = self.meter.statements([node], 0, info.imports, self.rebound)
        for name in self.rebound & info.imports.keys():  # `global boto3; import boto3`
            self.index.imports.setdefault(name, info.imports[name])
        functions.setdefault(info.qualname, []).append(info)

    def class_(self, node: ast.ClassDef, prefix: str, outer, queue: list) -> None:
        start, inline = self.head(node)
        qualname = prefix + node.name
        info = ClassInfo(qualname, start, node.end_lineno, node.lineno,
                         tuple([_base_text(item) for item in node.bases]),
                         decorators=tuple([_decorator_text(item) for item in node.decorator_list]), inline=inline)
        around = outer or (start, node.end_lineno)
        if inline:
            info.outer = self.widen((min(around[0], start), max(around[1], info.end)))
        methods: dict[str, list[FunctionInfo]] = {}
        stars: list[str] = []
        info.assigns, info.loose, depth, inner = self.block(
            node.body, info.imports, stars, qualname, qualname + ".", methods, {}, 1, around)
        info.depth, info.deep_line = depth
        for statement in node.body:
            if type(statement) is ast.AnnAssign and type(statement.target) is ast.Name:
                info.annotations[statement.target.id] = self.segment(statement.annotation)
        queue.extend(inner)
        self.found_classes.setdefault(qualname, []).append((info, methods))

    def segment(self, node: ast.AST) -> str:
        """The text of a node as written. `ast` columns are UTF-8 bytes."""
        lines = self.lines[node.lineno - 1:node.end_lineno]
        if len(lines) == 1 and lines[0].isascii():
            return lines[0][node.col_offset:node.end_col_offset]
        raw = [line.encode("utf-8", "surrogatepass") for line in lines]
        raw[-1] = raw[-1][:node.end_col_offset]
        raw[0] = raw[0][node.col_offset:]
        return "\n".join(line.decode("utf-8", "surrogatepass") for line in raw)


def give_keys(index: ModuleIndex, functions: dict[str, list[FunctionInfo]], classes: dict[str, list]) -> None:
    """Fill `index.functions` and `index.classes`: the plain name is the key of the definition that a reader of the name gets, 'name@n' that of the others.

    functions: qualified name → its definitions in order. classes: qualified name → [(ClassInfo, {method: definitions})] in order.
    """
    for infos in functions.values():
        _keyed(infos, index.functions)
    methods: dict[str, list[FunctionInfo]] = {}
    for qualname, pairs in classes.items():
        for number, (info, own) in enumerate(pairs, 1):
            info.key = qualname if number == len(pairs) else f"{qualname}@{number}"
            index.classes[info.key] = info
            for name, infos in own.items():
                methods.setdefault(name, []).extend(infos)
                for item in infos:
                    item.cls = info.key
                info.methods[infos[0].name] = _main(infos)
    for infos in methods.values():
        _keyed(infos, index.functions)


_FUNCTIONS_SET = frozenset(_FUNCTIONS)
_PARTS = frozenset({ast.ExceptHandler, ast.match_case})
_BINDING = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, getattr(ast, "TypeAlias", ast.Assign)})
_SHADOWS = frozenset({"setter", "deleter", "getter", "overload"})


def _main(infos: list[FunctionInfo]) -> FunctionInfo:
    """The definition that the name stands for: the last one that is no setter, deleter or overload."""
    for info in reversed(infos):
        if not any(text.rsplit(".", 1)[-1] in _SHADOWS for text in info.decorators):
            return info
    return infos[-1]


def _keyed(infos: list[FunctionInfo], functions: dict[str, FunctionInfo]) -> None:
    main = _main(infos) if len(infos) > 1 else infos[0]
    for number, info in enumerate(infos, 1):
        info.key = info.qualname if info is main else f"{info.qualname}@{number}"
        functions[info.key] = info


def _target_names(target: ast.AST) -> Iterator[str]:
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, (ast.Tuple, ast.List)):
            stack.extend(reversed(node.elts))
        elif isinstance(node, ast.Starred):
            stack.append(node.value)


def _binders(node: ast.AST, walrus: bool) -> list[str]:
    """Names that a statement itself binds (not those of its nested blocks, not imports)."""
    names: list[str] = []
    if isinstance(node, ast.Assign):
        for target in node.targets:
            names.extend(_target_names(target))
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
        names.extend(_target_names(node.target))
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            names.extend(_target_names(node.target))
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                names.extend(_target_names(item.optional_vars))
    elif isinstance(node, ast.ExceptHandler):
        if node.name:
            names.append(node.name)
    elif isinstance(node, ast.match_case):
        for inner in _descend([node.pattern]):
            for attribute in ("name", "rest"):
                name = getattr(inner, attribute, None)
                if isinstance(name, str):
                    names.append(name)
    elif type(node).__name__ == "TypeAlias":
        names.extend(_target_names(node.name))
    if walrus:
        headers = BLOCKS.get(type(node))
        start = [node] if headers is None else [getattr(node, name, None) for name in headers[0]]
        flat = [item for entry in start for item in (entry if isinstance(entry, list) else [entry]) if item is not None]
        names.extend(inner.target.id for inner in _descend(flat) if isinstance(inner, ast.NamedExpr))
    return names


def _descend(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
