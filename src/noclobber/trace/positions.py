"""Where a node stands in its file. Nothing else knows LibCST's positions; only excerpts that hold a finding come here.

LibCST's position provider prints the whole excerpt once and recurses while it does; it runs once per excerpt, with a
raised recursion limit, and its answers are kept on the excerpt. Lines and columns are 1-based, columns count
characters, end columns are exclusive.
"""
from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .lower import Excerpt

#: Printing takes at most four frames per level of nesting, and triage lets at most 200 levels through.
_RECURSION = 5000


def place(excerpt: Excerpt, at: Any) -> tuple[int, int, int, int]:
    """The range of the whole node `at`: (line, column, end line, end column), without parentheses around it.

    Raises LookupError when `at` is None (an invented node) or no node of this excerpt.
    """
    span = _positions(excerpt)[at]
    return excerpt.to_file(span.start.line, span.start.column) + excerpt.to_file(span.end.line, span.end.column)


def statement_lines(excerpt: Excerpt, at: Any) -> tuple[int, int]:
    """First and last physical line of the smallest statement that holds the node `at`.

    Of a compound statement only the header counts: from its first decorator or keyword to the colon; `elif`, `except`
    and `case` have headers of their own. Raises LookupError as `place` does.
    """
    start = _positions(excerpt)[at].start
    if excerpt.units is None:
        excerpt.units = sorted(_units(excerpt))
    units = excerpt.units
    found = bisect_right(units, (start.line, start.column, sys.maxsize)) - 1
    if found < 0:
        raise LookupError("the node stands before every statement of the excerpt")
    first, _, last = units[found]
    return excerpt.to_file(first, 0)[0], excerpt.to_file(last, 0)[0]


def source_text(excerpt: Excerpt, at: Any, *, whole: bool = False) -> str:
    """The code of the node `at` with every run of whitespace made one space: its first line, or all of it when `whole`.

    Comment lines above a statement do not count. Raises LookupError when `at` is None.
    """
    if at is None:
        raise LookupError("an invented node has no text")
    if type(at) is cst.FunctionDef:
        return f"def {at.name.value}"  # a finding about a function: its text changes, its name stays
    with _deep():
        code = excerpt.module.code_for_node(at)
    lines = code.split("\n")
    while len(lines) > 1 and (not lines[0].strip() or lines[0].lstrip().startswith("#")):
        del lines[0]
    return " ".join((" ".join(lines) if whole else lines[0]).split())


@contextmanager
def _deep() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _positions(excerpt: Excerpt) -> Any:
    """Mapping of node → CodeRange (excerpt's lines, 0-based columns)."""
    if excerpt.positions is None:
        with _deep():
            excerpt.positions = MetadataWrapper(excerpt.module, unsafe_skip_copy=True).resolve(PositionProvider)
    return excerpt.positions


def _units(excerpt: Excerpt) -> Iterator[tuple[int, int, int]]:
    """(first line, column of its start, last line) of each small statement and each header, in excerpt lines.

    They do not overlap, so the one that begins last before a position is the one that holds it.
    """
    spans = _positions(excerpt)
    body: Any = excerpt.module.body
    rest: list[Any] = [body[0].body if excerpt.header_lines else excerpt.module]
    while rest:
        suite = rest.pop()
        for node in suite.body:
            if type(node) is cst.SimpleStatementLine:
                for small in node.body:
                    yield _unit(spans, small)
            elif isinstance(node, cst.BaseSmallStatement):  # of a suite on its header's line
                yield _unit(spans, node)
            else:
                yield from _headers(spans, node, rest)


def _unit(spans: Any, node: Any) -> tuple[int, int, int]:
    span = spans[node]
    return span.start.line, span.start.column, span.end.line


def _headers(spans: Any, node: Any, rest: list[Any]) -> Iterator[tuple[int, int, int]]:
    """The headers of one compound statement; its suites go onto `rest`."""
    parts: list[Any] = [node]
    while parts:
        part = parts.pop()
        decorators = getattr(part, "decorators", ())
        start = spans[decorators[0] if decorators else part].start
        if type(part) is cst.Match:
            colon = spans[part.whitespace_after_colon].start
            parts += part.cases
        else:
            suite = part.body
            colon = spans[suite.header if type(suite) is cst.IndentedBlock else suite.leading_whitespace].start
            rest.append(suite)
            parts += getattr(part, "handlers", ())
            others = (getattr(part, "orelse", None), getattr(part, "finalbody", None))
            parts += [other for other in others if other is not None]
        yield start.line, start.column, colon.line
