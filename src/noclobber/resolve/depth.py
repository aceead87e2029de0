"""How deep LibCST would nest a statement: what is deeper than it can take is not lowered (DESIGN §4)."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .names import import_names
from .source import LINE_END, Source

#: A root or helper that LibCST would nest deeper than this is not lowered (DESIGN §4).
DEPTH_LIMIT = 200

DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: Statement type → (fields with header expressions, fields with nested blocks). Simple statements are absent.
BLOCKS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
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
    BLOCKS[ast.TryStar] = BLOCKS[ast.Try]


_STRING = (r"(?:[rRbBuUfFtT]{0,3})(?:\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^\\']|\\.|'(?!''))*'''"
           r"|\"(?:[^\\\"\r\n]|\\(?:\r\n|.))*\"|'(?:[^\\'\r\n]|\\(?:\r\n|.))*')")
_PIECES = re.compile(r"(?s)#[^\r\n]*|(?P<string>" + _STRING + ")")
_GROUPING = re.compile(r"(?s)#[^\r\n]*|" + _STRING
                       + r"|(?P<tail>[\w)\]}])|(?P<open>[(\[{])|(?P<other>[^\s\\])")


#: Every level of nesting costs one of these at least.
_MARKS = re.compile(r"[(\[{.+\-*/%@&|^~\"'=:,<>]|\b(?:and|or|not|if|else|for|lambda|await|in|is|yield|from)\b")


class Meter:
    """Measures statements. Only those whose text may reach DEPTH_LIMIT are looked into."""

    def __init__(self, source: Source) -> None:
        self.lines = source.lines

    def statements(self, nodes, base: int, imports: dict[str, str] | None = None, rebound: set[str] | None = None,
                   skip_defs: bool = False) -> tuple[int, int]:
        """(depth, its line) of a list of statements. Fills `imports` and `rebound` (names of `global`) on the way."""
        deepest, deep_line = 0, 0
        stack = [(nodes, base)]
        blocks = BLOCKS
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
                if skip_defs and isinstance(node, DEFS):
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
            line += len(LINE_END.findall(text))
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
