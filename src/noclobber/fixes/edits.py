"""Edits of one excerpt's source text, found through LibCST's nodes and kept as ranges of the file's own text.

A `Sheet` answers where a node stands and what surrounds it, and collects edits; everything outside of them stays as it is: comments,
quotes, indentation, line ends, a form feed, a missing last line break. What cannot be done so raises `Refused` with the reason.
"""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Sequence

import libcst as cst

from noclobber.finding import Edit
from noclobber.trace import positions

from .apply import Lines


class Refused(Exception):
    """No fix here. The message is the reason, in words for people."""


class Spot(NamedTuple):
    """Where a node stands: `node`, its whole statement (a SimpleStatementLine or a compound one); `small`: the small statement, or None;
    `block`: what holds it; `siblings`, `at`: the statements of the block and its place among them."""

    node: Any
    small: Any
    block: Any
    siblings: Sequence[Any]
    at: int


class Sheet:
    """The text of one excerpt. `source`: resolve.Source of the file; `excerpt`: trace.lower.Excerpt."""

    def __init__(self, source: Any, excerpt: Any) -> None:
        self.source, self.excerpt, self.text = source, excerpt, source.text
        self.lines = Lines(source.text)
        self.edits: list[tuple[int, int, str]] = []
        self._parents: Optional[dict] = None
        self._quote: Optional[str] = None

    # --- where things stand ----------------------------------------------------------------------------------------------------
    def span(self, node: Any) -> tuple[int, int]:
        """Offsets of the node, without parentheses around it. Raises Refused for a node that is not of this excerpt."""
        try:
            line, column, end_line, end_column = positions.place(self.excerpt, node)
        except LookupError:
            raise Refused("the code stands in another place than the finding") from None
        return self.lines.offset(line, column), self.lines.offset(end_line, end_column)

    def outer(self, node: Any) -> tuple[int, int]:
        """Offsets of the node with the parentheses around it."""
        start, end = self.span(node)
        if getattr(node, "lpar", ()):
            start, end = self.span(node.lpar[0])[0], self.span(node.rpar[-1])[1]
        return start, end

    def code(self, node: Any) -> str:
        """The node's text as it stands in the file, with its parentheses."""
        start, end = self.outer(node)
        return self.text[start:end]

    def parent(self, node: Any) -> Any:
        if self._parents is None:
            self._parents = {}
            stack = [self.excerpt.module]
            while stack:
                inner = stack.pop()
                for child in children(inner):
                    self._parents[child] = inner
                    stack.append(child)
        return self._parents.get(node)

    def ancestors(self, node: Any) -> Iterator[Any]:
        """Parents of a node, nearest first."""
        while (node := self.parent(node)) is not None:
            yield node

    def inside(self, node: Any, around: Any) -> bool:
        return node is around or any(found is around for found in self.ancestors(node))

    def around(self, node: Any, *kinds: type) -> Any:
        """The nearest node of these kinds that holds `node`, or is it; None."""
        if isinstance(node, kinds):
            return node
        return next((found for found in self.ancestors(node) if isinstance(found, kinds)), None)

    def function(self, node: Any) -> Any:
        """The innermost function that a node stands in, or the excerpt's module."""
        return next((found for found in self.ancestors(node) if isinstance(found, cst.FunctionDef)), self.excerpt.module)

    def spot(self, node: Any) -> Spot:
        """The statement that holds the node. Raises Refused where it shares its line with others."""
        small = None
        while node is not None:
            if isinstance(node, cst.BaseSmallStatement):
                small = node
            above = self.parent(node)
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                if isinstance(node, cst.SimpleStatementLine) and len(node.body) > 1:
                    raise Refused("several statements share the line")
                if isinstance(node, cst.SimpleStatementLine):
                    small = node.body[0]
                siblings = above.body if isinstance(above, (cst.IndentedBlock, cst.Module)) else None
                if siblings is None:
                    raise Refused("the statement shares the line of its header")
                return Spot(node, small, above, siblings, next(place for place, other in enumerate(siblings) if other is node))
            if isinstance(node, cst.SimpleStatementSuite):
                raise Refused("the statement shares the line of its header")
            node = above
        raise Refused("no statement holds it")

    def indent(self, spot: Spot) -> str:
        """The blanks before a statement, as they stand in the file."""
        start = self.span(spot.node)[0]
        line, _ = self.lines.place(start)
        before = self.text[self.lines.starts[line - 1]:start]
        if before.strip(" \t\f"):
            raise Refused("something stands before the statement on its line")
        return before.replace("\f", "")

    def rows(self, node: Any) -> list[str]:
        """The node's lines without the indentation of its first one, to be put elsewhere. Raises Refused where they cannot be moved."""
        code = self.code(node)
        rows = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(rows) == 1:
            return rows
        if any(isinstance(inner, (cst.SimpleString, cst.FormattedString)) and "\n" in self.code(inner) for inner in walk(node)):
            raise Refused("a text of several lines would have to be moved")
        line, _ = self.lines.place(self.outer(node)[0])
        first = self.text[self.lines.starts[line - 1]:]
        indent = first[:len(first) - len(first.lstrip(" \t"))]
        if any(row.strip() and not row.startswith(indent) for row in rows[1:]):
            raise Refused("the lines are indented in a way of their own")
        return [rows[0], *(row[len(indent):] if row.strip() else "" for row in rows[1:])]

    @property
    def width(self) -> int:
        """How long the file lets its lines be: as its longest ones are, 88 at least, 120 at most."""
        return min(max((len(line) for line in self.source.lines), default=88), 120) if any(len(line) > 88 for line in self.source.lines) else 88

    def laid_out(self, spot: Spot, text: str) -> str:
        """A statement in place of one at `spot`: where it is too long for a line, the arguments of its last call stand below, each on a line of its own if they must."""
        indent = self.indent(spot)
        if len(indent) + len(text) <= self.width or not text.endswith(")"):
            return text
        try:
            statement = cst.parse_statement(text)
        except cst.ParserSyntaxError:
            return text
        calls = [node for node in walk(statement) if isinstance(node, cst.Call) and node.args]
        outer = next((node for node in calls if not any(node is not other and node in set(walk(other)) for other in calls)), None)
        if outer is None:
            return text
        module = cst.Module([])
        parts = [module.code_for_node(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in outer.args]
        inner = ", ".join(parts)
        tail = f"({inner})"
        if not text.endswith(tail):
            return text
        unit, newline = self.unit(spot), self.newline(self.span(spot.node)[0])
        step = newline + indent + unit
        body = step + inner if len(indent) + len(unit) + len(inner) <= self.width else "".join(f"{step}{part}," for part in parts)
        return f"{text[:-len(tail)]}({body}{newline}{indent})"

    def unit(self, spot: Spot) -> str:
        """One step of indentation, as the code around has it."""
        inner = self.indent(spot)
        for found in self.ancestors(spot.block):
            if isinstance(found, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and self.parent(found) is not None:
                try:
                    outer = self.indent(self.spot(found))
                except Refused:
                    break
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer):]
                break
        return inner if inner else "\t" if "\n\t" in self.text else "    "

    def newline(self, offset: int) -> str:
        """The line break in use near an offset."""
        line, _ = self.lines.place(offset)
        for number in (line, line - 1, 1):
            if 1 <= number <= len(self.lines.starts):
                end, behind = self.lines.end(number)
                if behind > end:
                    return self.text[end:behind]
        return "\n"

    @property
    def quote(self) -> str:
        """The quotes that most strings of the file are written with."""
        if self._quote is None:
            import io
            import tokenize

            single = double = 0
            try:
                for token in tokenize.generate_tokens(io.StringIO("\n".join(self.source.lines) + "\n").readline):
                    if token.type == tokenize.STRING or token.type == getattr(tokenize, "FSTRING_START", -1):
                        text = token.string.lstrip("rRbBfFuUtT")
                        single += text[:1] == "'"
                        double += text[:1] == '"' and not text.startswith('"""')
            except (tokenize.TokenError, SyntaxError, ValueError):
                pass  # what was counted so far tells enough
            self._quote = "'" if single > double else '"'
        return self._quote

    def quoted(self, text: str) -> str:
        quote = self.quote
        return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote

    # --- edits -----------------------------------------------------------------------------------------------------------------
    def replace_range(self, start: int, end: int, text: str) -> None:
        if "#" in self.text[start:end] and any(True for _ in _comments(self.text[start:end])):
            raise Refused("a comment stands in the way")
        self.edits.append((start, end, text))

    def replace(self, node: Any, text: str) -> None:
        """The node, with parentheses around it, becomes `text`."""
        self.replace_range(*self.outer(node), text)

    def insert(self, offset: int, text: str) -> None:
        self.edits.append((offset, offset, text))

    def insert_after(self, spot: Spot, rows: Sequence[str]) -> None:
        """New lines below a simple statement, at its indentation (`rows` are indented further by themselves, with the unit's steps)."""
        indent = self.indent(spot)
        line, _ = self.lines.place(max(self.span(spot.node)[1] - 1, 0))
        end, behind = self.lines.end(line)
        newline = self.newline(end)
        text = newline.join(indent + row if row else "" for row in rows)
        self.edits.append((behind, behind, text + newline) if behind > end else (end, end, newline + text))

    def insert_before(self, spot: Spot, rows: Sequence[str]) -> None:
        """New lines above a statement and the comments that belong to it."""
        indent = self.indent(spot)
        line, _ = self.lines.place(self.span(spot.node)[0])
        leading = list(getattr(spot.node, "leading_lines", ()))
        if isinstance(spot.node, (cst.FunctionDef, cst.ClassDef)) and spot.node.decorators:
            line, _ = self.lines.place(self.span(spot.node.decorators[0])[0])
        while leading and leading.pop().comment is not None:
            line -= 1
        at = self.lines.starts[line - 1]
        while self.text[at:at + 1] == "\f":
            at += 1
        newline = self.newline(at)
        self.edits.append((at, at, "".join((indent + row if row else "") + newline for row in rows)))

    def delete(self, spot: Spot, comment: bool = False) -> None:
        """The statement goes, with its lines. Raises Refused where a comment (unless `comment`: it is kept elsewhere) or a block without statements
        would be left."""
        if len(spot.siblings) < 2:
            raise Refused("the block would be empty")
        start, end = self.span(spot.node)
        first, _ = self.lines.place(start)
        last, _ = self.lines.place(max(end - 1, 0))
        stop, behind = self.lines.end(last)
        if self.text[end:stop].strip() and not comment or "\f" in self.text[self.lines.starts[first - 1]:start]:
            raise Refused("a comment stands behind what would go")
        begin = self.lines.starts[first - 1]
        self.indent(spot)
        if behind == stop and first > 1:  # the file's last line has no line break: the one before loses its
            begin = self.lines.end(first - 1)[0]
        self.edits.append((begin, behind, ""))

    def add_argument(self, call: Any, text: str) -> None:
        """`name=value` behind the last argument of a call, laid out as the others are."""
        close = self.span(call)[1] - 1
        if not call.args:
            self.edits.append((close, close, text))
            return
        last = call.args[-1]
        if len(call.args) == 1 and isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
            raise Refused("the call's only argument is a generator")
        end = self.outer(last.value)[1]
        if not isinstance(last.comma, cst.Comma):
            tail = self.text[end:close]
            if "#" in tail:
                raise Refused("a comment stands in the way")
            self.edits.append((end, end, ", " + text))
            return
        comma = self.span(last.comma)[0] + 1
        if "\n" in self.text[comma:close] or "\r" in self.text[comma:close]:
            line, _ = self.lines.place(self.span(last)[0])
            row = self.text[self.lines.starts[line - 1]:]
            indent = row[: len(row) - len(row.lstrip(" \t"))]
            here, _ = self.lines.place(comma)
            stop, _ = self.lines.end(here)
            self.edits.append((stop, stop, self.newline(comma) + indent + text + ","))
        else:
            self.edits.append((comma, comma, " " + text))

    def finished(self) -> tuple[Edit, ...]:
        """The edits as lines and columns, in order; those that touch as one. Raises Refused where two of them overlap."""
        found: list[tuple[int, int, str]] = []
        for start, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            if found and start < found[-1][1]:
                raise Refused("the changes overlap")
            if found and start == found[-1][1]:
                start, text = found[-1][0], found.pop()[2] + text
            found.append((start, end, text))
        return tuple(Edit(self.lines.place(start), self.lines.place(end), text) for start, end, text in found)


def children(node: Any) -> Iterator[Any]:
    """The nodes right below a node, in order of its fields; cheaper than LibCST's `children`, which rebuilds them."""
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, cst.CSTNode):
                    yield item


def walk(node: Any) -> Iterator[Any]:
    """A node and all below it, in no order that counts."""
    stack = [node]
    while stack:
        inner = stack.pop()
        yield inner
        stack.extend(children(inner))


def _comments(text: str) -> Iterator[str]:
    """Comments in a piece of code, by a small reader of quotes: the piece may be no whole expression."""
    quote, at = "", 0
    while at < len(text):
        if quote:
            if text[at] == "\\":
                at += 1
            elif text.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
        elif text[at] == "#":
            yield text[at:]
            return
        elif text[at] in "\"'":
            quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
            at += len(quote) - 1
        at += 1
