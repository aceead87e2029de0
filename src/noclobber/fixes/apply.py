"""Text edits put into a file's text, byte for byte the same outside of them. No analysis, no LibCST: the command line needs only this."""
from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Iterable, Sequence

from noclobber.finding import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")


class Lines:
    """Offsets ↔ (line, column) of a text; lines end at \\n, \\r\\n, \\r only, both are 1-based, columns count characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column - 1

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def end(self, line: int) -> tuple[int, int]:
        """(offset of the line's end, offset behind its line break)."""
        behind = self.starts[line] if line < len(self.starts) else len(self.text)
        at = behind
        while at > self.starts[line - 1] and self.text[at - 1] in "\r\n":
            at -= 1
        return at, behind


def apply(source: Any, edits: Iterable[Edit]) -> bytes:
    """The file's bytes after the edits. `source`: resolve.Source. Raises ValueError when edits overlap or cannot be encoded, or when the
    file is one whose bytes its own encoding does not give back."""
    text = source.text
    if text.encode(source.encoding) != source.data:
        raise ValueError("the file's bytes cannot be written back as they are")
    lines = Lines(text)
    spans = sorted(((lines.offset(*edit.start), lines.offset(*edit.end), edit.text) for edit in edits), key=lambda span: span[:2])
    out, at = [], 0
    for start, end, new in spans:
        if start < at or end < start or end > len(text):
            raise ValueError("edits overlap")
        out += [text[at:start], new]
        at = end
    out.append(text[at:])
    return "".join(out).encode(source.encoding)


def compatible(taken: Sequence[Edit], edits: Sequence[Edit]) -> bool:
    """May these edits be applied together with those? Not where they touch; the same import added by both counts once."""
    return all(edit in taken and _is_import(edit) or not any(_touch(edit, other) for other in taken) for edit in edits)


def _is_import(edit: Edit) -> bool:
    return edit.start == edit.end and edit.text.lstrip().startswith(("from ", "import "))


def _touch(a: Edit, b: Edit) -> bool:
    return a.start <= b.end and b.start <= a.end
