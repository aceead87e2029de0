"""LibCST → ir: the excerpts that are parsed, and the only code that reads LibCST nodes while a scope is analysed.

The visitor is a table from node type to function: `CSTNode.visit` rebuilds every node even when it only reads.
Whitespace and parenthesis fields are never looked at. Left-nested chains (`a + b + …`, `a.b().c()…`, `a and b and …`,
elif) are unrolled in loops; everything else costs one or two frames a level, so that the depth limit of 200 fits into
Python's recursion limit.

Excerpts: a scope is parsed from its own physical lines, under one invented `if 1:` when they are indented; nothing is
dedented, so that the text of multi-line strings and all columns stay as they are in the file.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from .. import ir
from .statements import lower_statements
from .text import gap, margin, prepare

if TYPE_CHECKING:
    from ...resolve import Source

__all__ = ["Excerpt", "LowerError", "lower_lines", "lower_module", "lower_ranges"]

HEADER = "if 1:"


class LowerError(Exception):
    """The text could not be lowered. `line`: 1-based line of the file; `message`: what was wrong."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(line, message)
        self.line = line
        self.message = message

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(slots=True, eq=False)
class Excerpt:
    """One parsed piece of a file.

    `first`: the file's line (1-based) that is the excerpt's first own line. `header_lines`: 1 when the invented
    `if 1:` stands above it, else 0. `body`: tuple of ir statements (without the invented `if`). `dropped`: excerpt
    line (1-based, header counted) → number of characters cut off its beginning (form feeds). `positions`, `units`:
    caches of `trace.positions`.
    """

    source: Source
    first: int
    header_lines: int
    module: cst.Module
    body: tuple[ir.Node, ...] = ()
    dropped: dict[int, int] = field(default_factory=dict)
    positions: Any = None
    units: Any = None

    def to_file(self, line: int, column: int) -> tuple[int, int]:
        """LibCST's (1-based line, 0-based column) of the excerpt → the file's (1-based line, 1-based column)."""
        return line + self.first - 1 - self.header_lines, column + 1 + self.dropped.get(line, 0)


def lower_lines(source: Source, first: int, last: int, *, indented: bool) -> Excerpt:
    """Lower the statements on the physical lines `first`..`last` (1-based, inclusive).

    `indented`: the lines stand inside a block; they are parsed under an invented header. Raises LowerError.
    """
    _check_range(source, first, last)
    return _lower(source, source.lines[first - 1:last], first, indented)


def lower_ranges(source: Source, ranges: Iterable[tuple[int, int]]) -> Excerpt:
    """Lower loose statements given by line ranges (1-based, inclusive; any order; of a module or of one class body).

    Lines between the ranges become blank; the first code line of each gap becomes `pass` at its own indentation,
    which keeps a block that holds only defs from being empty. No range at all gives an empty body. Raises LowerError.
    """
    lines: list[str] = []
    begin = end = 0  # first line of the excerpt, last line that was taken
    for first, last in sorted(ranges):
        _check_range(source, first, last)
        if not begin:
            begin, end = first, first - 1
        if last <= end:
            continue
        lines += gap(source.lines[end:first - 1])
        lines += source.lines[max(first - 1, end):last]
        end = last
    return _lower(source, lines, begin or 1, bool(lines) and margin(lines[0]) != "")


def lower_module(source: Source) -> Excerpt:
    """Lower the whole file (slow path). Raises LowerError."""
    return _lower(source, source.lines, 1, False)


def _check_range(source: Source, first: int, last: int) -> None:
    if not 1 <= first <= last <= len(source.lines):
        raise LowerError(max(first, 1), f"no such lines: {first} to {last}")


def _lower(source: Source, lines: Sequence[str], first: int, indented: bool) -> Excerpt:
    header = 1 if indented else 0
    try:
        text, dropped = prepare([HEADER, *lines] if header else lines)
        module = cst.parse_module(text)
        nodes: Any = module.body
        if header:
            block = nodes[0]
            if len(nodes) != 1 or block.orelse is not None:
                raise LowerError(first, "the lines are not one block")
            nodes = block.body.body
        return Excerpt(source, first, header, module, lower_statements(nodes), dropped)
    except LowerError:
        raise
    except cst.ParserSyntaxError as error:
        line, reason = _reason(error.message)
        line = min(max(line - header, 1), max(len(lines), 1))
        raise LowerError(first + line - 1, reason) from None
    except RecursionError:
        raise LowerError(first, "too deeply nested") from None
    except Exception as error:
        raise LowerError(first, f"{type(error).__name__}: {error}") from error
    except BaseException as error:
        # A panic in LibCST's Rust code is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise LowerError(first, "LibCST panicked") from error


def _reason(message: str) -> tuple[int, str]:
    """(line of the parsed text, what was wrong) from LibCST's message, cut to a bounded length.

    Its parser errors read "parser error: error at LINE:COLUMN: …", where the place is that of the token behind the
    culprit (`raw_line` is one more, mostly). Its tokenizer errors have no place: line 1.
    """
    line = 1
    kind, _, text = message.partition(" error: ")
    if kind == "parser" and text.startswith("error at "):
        position, _, text = text.removeprefix("error at ").partition(": ")
        number, _, column = position.partition(":")
        if number.isdecimal():
            line = int(number) - (column == "0")
    text = text or message
    return line, text if len(text) <= 120 else text[:117] + "..."
