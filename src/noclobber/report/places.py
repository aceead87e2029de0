"""What formats for machines need of places: paths from the repository's root, column units, GitHub's hash of a line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from noclobber.report import Lines, Options


def repository_path(path: str, options: Options) -> str:
    """A shown path (relative to `options.cwd`) relative to the repository's root, with `/`; absolute when it lies outside."""
    if not options.root:
        return path
    absolute = os.path.normpath(os.path.join(options.cwd or os.getcwd(), path))
    prefix = options.root.rstrip(os.sep) + os.sep
    return (absolute[len(prefix) :] if absolute.startswith(prefix) else absolute).replace(os.sep, "/")


def uri(path: str, options: Options) -> str:
    """The path as a relative URI reference (percent-encoded), or a file: URI when it lies outside the repository."""
    path = repository_path(path, options)
    encoded = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{encoded}" if path.startswith("/") else encoded


def byte_column(line: str, column: int) -> int:
    """The 1-based column in UTF-8 bytes of a 1-based column in characters."""
    return len(line[: column - 1].encode("utf-8", "surrogateescape")) + max(column - 1 - len(line), 0) + 1


def numbered(fingerprints: Iterable[str]) -> list[str]:
    """The fingerprints with a running number for repeated ones: equal ones would collapse into one."""
    counts: dict[str, int] = {}
    out = []
    for text in fingerprints:
        counts[text] = counts.get(text, 0) + 1
        out.append(text if counts[text] == 1 else f"{text}:{counts[text]}")
    return out


_BLOCK = 100
_MOD = 37
_MASK = (1 << 64) - 1


def line_hashes(lines: Sequence[str]) -> list[str]:
    """`primaryLocationLineHash` of each line, as github/codeql-action computes it where it is missing: a rolling hash over the
    next 100 characters that are no blanks, and a running number of equal ones."""
    first = pow(_MOD, _BLOCK, 1 << 64)
    window = [0] * _BLOCK
    starts = [-1] * _BLOCK  # the line that begins at this place of the window
    hashes = [""] * (len(lines) + 1)
    counts: dict[str, int] = {}
    value, index, number = 0, 0, 0
    units = "\n".join(lines).encode("utf-16-le", "surrogatepass")
    line_start = True

    def output() -> None:
        text = format(value, "x")
        counts[text] = counts.get(text, 0) + 1
        if starts[index] < len(hashes):
            hashes[starts[index]] = f"{text}:{counts[text]}"
        starts[index] = -1

    for at in range(0, len(units) + 2, 2):
        unit = units[at] | units[at + 1] << 8 if at < len(units) else 0xFFFF  # the end
        if unit in (0x20, 0x09):
            continue
        if starts[index] != -1:
            output()
        if line_start:
            line_start = False
            number += 1
            starts[index] = number
        line_start = unit == 0x0A
        value = (_MOD * value + unit - first * window[index]) & _MASK
        window[index] = unit
        index = (index + 1) % _BLOCK
    for _ in range(_BLOCK):
        if starts[index] != -1:
            output()
        value = (_MOD * value - first * window[index]) & _MASK
        window[index] = 0
        index = (index + 1) % _BLOCK
    return hashes[1:]


class Text:
    """The lines of shown paths, read once, and what is derived from them."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._hashes: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        """A physical line; None when the file or the line is not there."""
        text = self._lines(path)
        return text[number - 1] if text is not None and 0 < number <= len(text) else None

    def column(self, path: str, number: int, column: int) -> int:
        """A column in UTF-8 bytes; as it is when the file cannot be read."""
        text = self.line(path, number)
        return column if text is None else byte_column(text, column)

    def between(self, path: str, start: tuple[int, int], end: tuple[int, int]) -> str | None:
        """The text from a 1-based (line, column) to another, with `\\n` between lines; None when it is not there."""
        text = [self.line(path, number) for number in range(start[0], end[0] + 1)]
        if not text:
            return None
        text[-1] = "" if text[-1] is None and end[1] == 1 and len(text) > 1 else text[-1]  # behind the last line
        if any(line is None for line in text):
            return None if start != end else ""
        text[-1] = text[-1][: end[1] - 1]
        text[0] = text[0][start[1] - 1 :]
        return "\n".join(text)

    def line_hash(self, path: str, number: int) -> str:
        """GitHub's hash of a line, or ""."""
        if path not in self._hashes:
            text = self._lines(path)
            self._hashes[path] = line_hashes(text) if text is not None else []
        known = self._hashes[path]
        return known[number - 1] if 0 < number <= len(known) else ""


def by_weight(findings: Sequence[Any]) -> list[Any]:
    """The findings, the worst and surest first: where only some can be shown, these are."""
    from noclobber.finding import CONFIDENCES, SEVERITIES

    return sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), -CONFIDENCES.index(f.confidence)))
