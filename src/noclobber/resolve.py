"""Names to targets: one file's text, its outline, its import table. The stdlib's `ast` only.

`triage` and `link` share this module, so triage never sees less than link can follow (DESIGN §4). Everything here is
iterative: a file may hold an expression of 20,000 operands. Nothing refers to an `ast` node once `index_module` has
returned, except the tree it hands out for triage.
"""
from __future__ import annotations

import ast
import builtins
import codecs
import re
import sys
import warnings
from dataclasses import dataclass, field
from os.path import abspath
from typing import Iterable, Iterator, Sequence

from noclobber.older import for_older_python

#: A root or helper that LibCST would nest deeper than this is not lowered (DESIGN §4).
DEPTH_LIMIT = 200

_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$", re.DOTALL)
_BUILTINS = frozenset(dir(builtins))


class SourceError(Exception):
    """A file that cannot be read or parsed. `reason`: 'encoding', 'syntax' or 'deep' (too deeply nested)."""

    def __init__(self, line: int, message: str, reason: str = "syntax") -> None:
        super().__init__(line, message, reason)
        self.line = line
        self.message = message
        self.reason = reason

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(slots=True)
class Source:
    """One file, decoded. `text` has no byte order mark; `lines` have no line ends (split at \\n, \\r\\n, \\r only).

    `encoding` is a codec name with which `text.encode(encoding)` gives `data` back ('utf-8-sig' where a mark was
    dropped).
    """

    path: str
    data: bytes
    text: str
    lines: list[str]
    encoding: str

    @classmethod
    def decode(cls, path: str, data: bytes) -> Source:
        """Decode by byte order mark, then PEP 263 cookie, then UTF-8.

        Raises SourceError (reason 'encoding') for an unknown codec, undecodable bytes and NUL characters.
        """
        mark = data.startswith(codecs.BOM_UTF8)
        body = data[3:] if mark else data
        encoding, line = cookie(body)
        if mark:
            if encoding not in ("", "utf-8"):
                message = f"the byte order mark says utf-8, the coding cookie says {encoding}"
                raise SourceError(line, message, "encoding")
            encoding = "utf-8"
        try:
            text = body.decode(encoding or "utf-8")
        except LookupError:
            raise SourceError(line, f"unknown encoding {encoding}", "encoding") from None
        except UnicodeDecodeError as error:
            at = len(_LINE_END_BYTES.findall(body, 0, error.start)) + 1
            raise SourceError(at, f"byte 0x{body[error.start]:02x} is not {encoding or 'utf-8'}", "encoding") from None
        except (UnicodeError, ValueError) as error:
            raise SourceError(line, f"not {encoding}: {error}", "encoding") from None
        nul = text.find("\0")
        if nul >= 0:
            raise SourceError(len(_LINE_END.findall(text, 0, nul)) + 1, "the file holds a NUL character", "encoding")
        return cls(path, data, text, split_lines(text), "utf-8-sig" if mark else encoding or "utf-8")


def split_lines(text: str) -> list[str]:
    """Physical lines as Python counts them, without their ends. A last line end opens no further line."""
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def cookie(body: bytes) -> tuple[str, int]:
    """(normalised codec name or "", line of the cookie). PEP 263: line 1, or line 2 below a blank or comment line."""
    at = 0
    for number in (1, 2):
        end = _LINE_END_BYTES.search(body, at)
        line = body[at:end.start()] if end else body[at:]
        found = _COOKIE.match(line)
        if found:
            name = found[1].decode("ascii", "replace")
            try:
                return codecs.lookup(name).name, number
            except LookupError:
                raise SourceError(number, f"unknown encoding {name}", "encoding") from None
        if not end or not _BLANK.match(line):
            break
        at = end.end()
    return "", 1


# --- the outline -------------------------------------------------------------------------------------------------


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


_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Statement type → (fields with header expressions, fields with nested blocks). Simple statements are absent.
_BLOCKS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ast.If: (("test",), ("body", "orelse")),
    ast.While: (("test",), ("body", "orelse")),
    ast.For: (("target", "iter"), ("body", "orelse")),
    ast.AsyncFor: (("target", "iter"), ("body", "orelse")),
    ast.With: (("items",), ("body",)),
    ast.AsyncWith: (("items",), ("body",)),
    ast.Try: ((), ("body", "handlers", "orelse", "finalbody")),
    ast.ExceptHandler: (("type",), ("body",)),
    ast.Match: (("subject",), ("cases",)),
    ast.match_case: (("pattern", "guard"), ("body",)),
    ast.FunctionDef: (("decorator_list", "args", "returns"), ("body",)),
    ast.AsyncFunctionDef: (("decorator_list", "args", "returns"), ("body",)),
    ast.ClassDef: (("decorator_list", "bases", "keywords"), ("body",)),
}
if hasattr(ast, "TryStar"):
    _BLOCKS[ast.TryStar] = _BLOCKS[ast.Try]
#: Blocks in which a later import is an alternative to the first one, not its replacement.
_ALTERNATIVES = frozenset({"handlers", "orelse"})


def dotted_text(node: ast.AST | None) -> str:
    """'a.b.c' of a chain of attributes on a name, else ''."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


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


def import_names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """(local name, target as written) of one import statement; a star import is ('*', module)."""
    if isinstance(node, ast.Import):
        return [(alias.asname, alias.name) if alias.asname else (alias.name.split(".", 1)[0],) * 2
                for alias in node.names]
    base = "." * node.level + (node.module or "")
    joint = "" if not base or base.endswith(".") else "."
    return [("*", base) if alias.name == "*" else (alias.asname or alias.name, base + joint + alias.name)
            for alias in node.names]


class _Indexer:
    def __init__(self, source: Source, index: ModuleIndex) -> None:
        self.source = source
        self.lines = source.lines
        self.index = index
        self.meter = _Meter(source)
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
        self.settle()

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
            if isinstance(node, _DEFS):
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
            elif kind in _BLOCKS:
                lines = around
                if lines is None:
                    lines = node.lineno, node.end_lineno
                names = _binders(node, self.walrus)
                if names:  # `except` and `case` are lowered with their statement
                    span = lines if kind in _PARTS else (node.lineno, node.end_lineno)
                    for name in names:
                        assigns.setdefault(name, []).append(span)
                for name in reversed(_BLOCKS[kind][1]):
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

    def settle(self) -> None:
        """Give keys: the plain name to the definition that a reader of the name gets, 'name@n' to the others."""
        index = self.index
        for infos in self.found.values():
            _keyed(infos, index.functions)
        methods: dict[str, list[FunctionInfo]] = {}
        for qualname, pairs in self.found_classes.items():
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
        headers = _BLOCKS.get(type(node))
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


# --- depth as LibCST nests it ------------------------------------------------------------------------------------

_STRING = (r"(?:[rRbBuUfFtT]{0,3})(?:\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^\\']|\\.|'(?!''))*'''"
           r"|\"(?:[^\\\"\r\n]|\\(?:\r\n|.))*\"|'(?:[^\\'\r\n]|\\(?:\r\n|.))*')")
_PIECES = re.compile(r"(?s)#[^\r\n]*|(?P<string>" + _STRING + ")")
_GROUPING = re.compile(r"(?s)#[^\r\n]*|" + _STRING
                       + r"|(?P<tail>[\w)\]}])|(?P<open>[(\[{])|(?P<other>[^\s\\])")


#: Every level of nesting costs one of these at least.
_MARKS = re.compile(r"[(\[{.+\-*/%@&|^~\"'=:,<>]|\b(?:and|or|not|if|else|for|lambda|await|in|is|yield|from)\b")


class _Meter:
    """Measures statements. Only those whose text may reach DEPTH_LIMIT are looked into."""

    def __init__(self, source: Source) -> None:
        self.lines = source.lines

    def statements(self, nodes, base: int, imports: dict[str, str] | None = None, rebound: set[str] | None = None,
                   skip_defs: bool = False) -> tuple[int, int]:
        """(depth, its line) of a list of statements. Fills `imports` and `rebound` (names of `global`) on the way."""
        deepest, deep_line = 0, 0
        stack = [(nodes, base)]
        blocks = _BLOCKS
        while stack:
            body, depth = stack.pop()
            depth += 1
            if depth > deepest and body:
                deepest, deep_line = depth, getattr(body[0], "lineno", deep_line)
            room = DEPTH_LIMIT - depth
            for node in body:
                fields = blocks.get(type(node))
                if fields is None:
                    if node.end_lineno == node.lineno and node.end_col_offset - node.col_offset <= room:
                        pass
                    elif type(node) is ast.Expr and type(node.value) is ast.Constant and self.docstring(node):
                        pass
                    elif not self.shallow(node.lineno, node.end_lineno, room):
                        own, line = self.expression([node], depth - 1)
                        if own > deepest:
                            deepest, deep_line = own, line
                    if imports is not None:
                        kind = type(node)
                        if kind is ast.Import or kind is ast.ImportFrom:
                            for name, target in import_names(node):
                                imports.setdefault(name, target)
                        elif kind is ast.Global:
                            rebound.update(node.names)
                    continue
                if skip_defs and isinstance(node, _DEFS):
                    continue
                if self.long_header(node, fields, room):
                    for first, last, part in self.header(node, fields[0]):
                        if not self.shallow(first, last, room):
                            own, line = self.expression([part], depth)
                            if own > deepest:
                                deepest, deep_line = own, line
                for name in fields[1]:
                    nested = getattr(node, name)
                    if nested:
                        stack.append((nested, depth))
        return deepest, deep_line

    def long_header(self, node: ast.AST, fields, room: int) -> bool:
        """Is a compound statement's header more than one short line?"""
        if not fields[0]:
            return False
        first = getattr(node, "lineno", 0)
        if not first or node.__dict__.get("decorator_list"):
            return True
        body = getattr(node, fields[1][0])[0]
        return getattr(body, "lineno", first + 9) > first + 1 or len(self.lines[first - 1]) > room

    def header(self, node: ast.AST, fields: tuple[str, ...]) -> Iterator[tuple[int, int, ast.AST]]:
        """(first line, last line, part) of the header's expressions."""
        for name in fields:
            entry = getattr(node, name)
            for part in entry if type(entry) is list else (entry,):
                if part is None:
                    continue
                if hasattr(part, "lineno"):
                    yield part.lineno, part.end_lineno, part
                    continue
                inner = list(ast.iter_child_nodes(part))  # arguments, withitem: no position of their own
                if inner:
                    yield min([item.lineno for item in inner]), max([item.end_lineno for item in inner]), part

    def shallow(self, first: int, last: int, room: int) -> bool:
        """Can the text of these lines not hold more than `room` levels? Two bounds: its length, its marks."""
        if first == last:
            text = self.lines[first - 1]
            return len(text) <= room or len(_MARKS.findall(text)) + 4 <= room
        if sum(map(len, self.lines[first - 1:last])) <= room:
            return True
        return len(_MARKS.findall("\n".join(self.lines[first - 1:last]))) + 4 <= room

    def expression(self, nodes: list[ast.AST], base: int) -> tuple[int, int]:
        """(depth, line of the deepest place) of nodes and all below them."""
        deepest, deep_line, line = 0, 0, 1
        first, last = 1 << 60, 0
        stack = [(node, base + 1) for node in nodes]
        while stack:
            node, depth = stack.pop()
            if isinstance(node, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
                continue
            if isinstance(node, ast.BoolOp):
                count = len(node.values)
                for place, value in enumerate(node.values):
                    stack.append((value, depth + count - max(place, 1)))
                depth += count - 1
            elif isinstance(node, ast.JoinedStr) or (
                    isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))):
                depth += self.pieces(node) - 1
            if not isinstance(node, ast.BoolOp):
                for child in ast.iter_child_nodes(node):
                    stack.append((child, depth + 1))
            line = getattr(node, "lineno", line)
            if depth > deepest:
                deepest, deep_line = depth, line
            first, last = min(first, line), max(last, getattr(node, "end_lineno", line))
        if deepest <= DEPTH_LIMIT < deepest + sum(line.count("(") for line in self.lines[first - 1:last]):
            deepest += self.grouping(first, last)
        return deepest, deep_line

    def docstring(self, node: ast.Expr) -> bool:
        """Is the statement one triple-quoted string?"""
        text = "\n".join(self.lines[node.lineno - 1:node.end_lineno])
        return text.count('"""') == 2 and text.endswith('"""') and text.lstrip().startswith(('"""', 'r"""'))

    def pieces(self, node: ast.AST) -> int:
        """How many string literals stand side by side here."""
        if node.lineno == node.end_lineno and node.end_col_offset - node.col_offset < 8:
            return 1
        raw = [line.encode("utf-8", "surrogatepass") for line in self.lines[node.lineno - 1:node.end_lineno]]
        raw[-1] = raw[-1][:node.end_col_offset]
        raw[0] = raw[0][node.col_offset:]
        text = b"\n".join(raw).decode("utf-8", "replace")
        return max(1, sum(1 for found in _PIECES.finditer(text) if found["string"]))

    def grouping(self, first: int, last: int) -> int:
        """How deep brackets nest that are no call and no subscript: the tree does not show them."""
        text = "\n".join(self.lines[first - 1:last])
        tail = False
        opened: list[int] = []
        level = most = 0
        for found in _GROUPING.finditer(text):
            kind = found.lastgroup
            if kind == "open":
                own = 0 if tail or found[0] != "(" else 1
                opened.append(own)
                level += own
                most = max(most, level)
                tail = False
            elif found["tail"] in (")", "]", "}") if kind == "tail" else False:
                if opened:
                    level -= opened.pop()
                tail = True
            else:
                tail = kind == "tail"
        return most


_TOKEN = re.compile(
    r"(?s)(?P<comment>#[^\r\n]*)|(?P<string>" + _STRING + r")|(?P<join>\\[ \t]*(?:\r\n|\r|\n))|(?P<end>\r\n|\r|\n)"
    r"|(?P<number>(?:\d|\.\d)[\w.]*)|(?P<name>\w+)|(?P<dots>\.\.\.)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>[,;])"
    r"|(?P<colon>:(?!=))|(?P<arrow>->)|(?P<operator>\*\*|//|<<|>>|[-+*/%@&|^~.])|(?P<space>[ \t\f]+)|(?P<other>.)")
_NESTING_WORDS = frozenset("and or not if else lambda await for in is yield from".split())


def token_bound(source: Source, limit: int = DEPTH_LIMIT) -> int | None:
    """The line of the first place that LibCST may nest deeper than `limit`, or None.

    For files whose text the running Python's `ast` refuses. Counts brackets, operators since the last comma, adjacent
    strings, elifs and blocks; never less than the true nesting, sometimes more.
    """
    line = 1
    blocks: list[list[int]] = []  # [indentation, elifs of the chain that is open at it]
    # per open bracket: [operators since the last comma, lambdas whose ':' is to come]
    levels: list[list[int]] = [[0, 0]]
    base = total = 0  # depth of the blocks, of the expression
    line_start, indent, previous = True, 0, ""
    for token in _TOKEN.finditer(source.text):
        kind, text = token.lastgroup, token[0]
        if kind == "space":
            if line_start:
                indent = len(text.replace("\f", "").expandtabs(8))
            continue
        if kind == "comment":
            continue
        if kind == "join":
            line += 1
            continue
        if kind == "end":
            line += 1
            if len(levels) == 1:
                levels[0], total, line_start, indent, previous = [0, 0], 0, True, 0, ""
            continue
        if line_start:
            line_start = False
            while blocks and blocks[-1][0] > indent:
                base -= 1 + blocks.pop()[1]
            if not blocks or blocks[-1][0] < indent:
                blocks.append([indent, 0])
                base += 1
            if text == "elif":
                blocks[-1][1] += 1
                base += 1
            elif text != "else":
                base -= blocks[-1][1]
                blocks[-1][1] = 0
        extra = 0
        if kind == "open":
            if previous in ("name", "close", "string"):
                levels[-1][0] += 1
                total += 1
            levels.append([0, 0])
            total += 1
        elif kind == "close":
            if len(levels) > 1:
                total -= 1 + levels.pop()[0]
        elif kind == "comma":
            if not levels[-1][1] or text == ";":
                total -= levels[-1][0]
                levels[-1] = [0, 0]
        elif kind == "colon":
            levels[-1][1] = max(0, levels[-1][1] - 1)
        elif kind == "operator" or kind == "name" and text in _NESTING_WORDS:
            levels[-1][0] += 1
            total += 1
            if text == "lambda":
                levels[-1][1] += 1
            kind = "operator"
        elif kind == "string":
            if previous == "string":
                levels[-1][0] += 1
                total += 1
            if "{" in text:
                extra = _inside(text)
            line += len(_LINE_END.findall(text))
        if base + total + extra > limit:
            return line
        previous = kind
    return None


def _inside(text: str) -> int:
    """A bound for what a replacement field of a (possibly formatted) string nests: its brackets and operators."""
    level = most = operators = 0
    for character in text:
        if character in "([{":
            level += 1
        elif character in ")]}":
            level = max(0, level - 1)
            if not level:
                operators = 0
        elif level and character in "+-*/%@&|^~.":
            operators += 1
        most = max(most, level + operators)
    return most


# --- names -------------------------------------------------------------------------------------------------------


def dotted(index: ModuleIndex, names: str | Iterable[str], imports: dict[str, str] | None = None) -> str | None:
    """The dotted target of a name as written: 'sa.orm.Session' → 'sqlalchemy.orm.Session'.

    `names`: dotted text or its parts. `imports`: a function's own imports, asked first. Relative targets become
    absolute where the module's name is known, else keep their dots. Names of this module and builtins stand for
    themselves ('Foo' → 'Foo'). None: the first name is bound nowhere in sight, or `names` is no dotted name.
    """
    parts = names.split(".") if isinstance(names, str) else list(names)
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    first = parts[0]
    target = imports.get(first) if imports else None
    if target is None:
        target = index.imports.get(first)
    if target is not None:
        parts[0] = absolute(index, target)
        return ".".join(parts) if not parts[0].endswith(".") else parts[0] + ".".join(parts[1:])
    if first in index.functions or first in index.classes or first in index.assigns or first in index.rebound \
            or first in _BUILTINS:
        return ".".join(parts)
    return None


def absolute(index: ModuleIndex, target: str) -> str:
    """A relative import target made absolute; unchanged when the module's name is unknown or too short."""
    if not target.startswith("."):
        return target
    rest = target.lstrip(".")
    level = len(target) - len(rest)
    package = index.module.split(".") if index.module else []
    if index.is_package:
        level -= 1
    if not index.module or level > len(package):
        return target
    package = package[:len(package) - level]
    if not package and not rest:
        return target
    return ".".join(package + ([rest] if rest else []))


def module_name(path: str, root: str) -> str:
    """'shop.models' for '<root>/shop/models.py'; `__init__.py` is its package. '' where no import can name it."""
    file, base = abspath(path).replace("\\", "/"), abspath(root).replace("\\", "/").rstrip("/") + "/"
    if not file.startswith(base):
        return ""
    stem, dot, suffix = file[len(base):].rpartition(".")
    if not dot or suffix not in ("py", "pyi", "pyw"):
        return ""
    parts = stem.split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""
