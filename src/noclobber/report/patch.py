"""A fix as a unified diff: what `explain`, the HTML page and people look at before they apply it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noclobber.report import Lines


def edited(lines: Sequence[str], edits: Sequence[Any]) -> list[str]:
    """The lines after the edits (finding.Edit: 1-based line and column, end exclusive), which do not overlap."""
    text = "".join(line + "\n" for line in lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: tuple[int, int]) -> int:
        line = min(max(place[0], 1), len(lines) + 1)
        return min(starts[line - 1] + place[1] - 1, len(text))

    for edit in reversed(sorted(edits, key=lambda edit: (edit.start, edit.end))):
        text = text[: offset(edit.start)] + edit.text + text[offset(edit.end) :]
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def diff(finding: Any, lines: Lines) -> list[str]:
    """The lines of the finding's fix as a unified diff; [] without a fix or without the file."""
    import difflib

    path = finding.place.path
    before = lines(path)
    if finding.fix is None or before is None:
        return []
    after = edited(before, finding.fix.edits)
    return list(difflib.unified_diff(list(before), after, f"a/{path}", f"b/{path}", lineterm=""))
