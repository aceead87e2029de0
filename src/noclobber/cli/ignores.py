"""`--add-ignore REASON`: a comment above each finding's statement, so that the next run is silent and says why."""

from __future__ import annotations

import os
from typing import Any

from noclobber.cli.common import Failed
from noclobber.cli.fixing import replace_file


def add_ignores(settled: Any, reason: str, cwd: str) -> tuple[int, int]:
    """Write `# noclobber: ignore[CODES] -- reason` above the statement of each shown finding. Returns (comments, files).

    What the linter says of itself is left alone: an unreadable file cannot be silenced, a useless comment should go. The file's
    encoding, line ends and everything else in it stay as they are. Raises Failed.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise Failed("option `--add-ignore` needs a reason")
    by_file: dict[str, dict[int, set[str]]] = {}
    for finding in settled.findings:
        if finding.code.startswith("RMW0"):
            continue
        first = finding.statement[0] or finding.place.line
        by_file.setdefault(finding.place.path, {}).setdefault(first, set()).add(finding.code)
    total = 0
    for path, lines in by_file.items():
        total += _write(os.path.join(cwd, path), path, lines, reason)
    return total, len(by_file)


def _write(file: str, shown: str, lines: dict[int, set[str]], reason: str) -> int:
    import ast

    from noclobber.resolve import Source, SourceError

    try:
        with open(file, "rb") as stream:
            data = stream.read()
        source = Source.decode(shown, data)
        comment = reason.encode("utf-8" if source.encoding.startswith("utf-8") else source.encoding)  # utf-8-sig would add a BOM
    except (OSError, SourceError, UnicodeEncodeError) as error:
        raise Failed(f"{shown}: {getattr(error, 'strerror', None) or error}") from None
    rows = data.splitlines(keepends=True) if b"\x0c" not in data and b"\x0b" not in data else _split(data)
    starts = _bare_lines(ast, data)
    written = 0
    for line in sorted(lines, reverse=True):
        while line > 1 and line not in starts:
            line -= 1  # a comment within an expression or a string would be none
        row = rows[line - 1]
        body = row.lstrip(b" \t\x0c")
        indent = row[: len(row) - len(body)].replace(b"\x0c", b"")
        end = b"\r\n" if row.endswith(b"\r\n") else b"\r" if row.endswith(b"\r") else b"\n"
        codes = ", ".join(sorted(lines.get(line) or lines[max(key for key in lines if key >= line)]))
        rows.insert(line - 1, indent + f"# noclobber: ignore[{codes}] -- ".encode() + comment + end)
        written += 1
    try:
        replace_file(file, b"".join(rows))
    except OSError as error:
        raise Failed(f"cannot write {shown}: {(error.strerror or str(error)).lower()}") from None
    return written


def _split(data: bytes) -> list[bytes]:
    """Physical lines with their ends: form feeds do not end one."""
    import re

    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", data)


def _bare_lines(ast: Any, data: bytes) -> set[int]:
    """Lines on which a statement (or its decorator) starts: a comment line may stand above each."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError) as error:
        raise Failed(f"a file with findings cannot be parsed here: {error}") from None
    starts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            starts.add(node.lineno)
            starts.update(decorator.lineno for decorator in getattr(node, "decorator_list", ()))
    return starts
