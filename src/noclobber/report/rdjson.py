"""reviewdog's Diagnostic Format: one JSON document. Columns count UTF-8 bytes."""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber.report import Lines, Options, shown
from noclobber.report.places import Text, repository_path

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}
#: A suggestion of more lines is left out.
LONGEST = 40


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write one document; a fix becomes a suggestion that reviewdog offers in the review."""
    text = Text(lines)
    document = {
        "source": {"name": "noclobber", "url": "https://github.com/noclobber/noclobber"},
        "diagnostics": [_diagnostic(finding, text, options) for finding in shown(settled, options)],
    }
    json.dump(document, stream, indent=2)
    stream.write("\n")


def _range(path: str, start: tuple[int, int], end: tuple[int, int], text: Text) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "column": text.column(path, *start)},
        "end": {"line": end[0], "column": text.column(path, *end)},
    }


def _location(place: Any, text: Text, options: Options) -> dict[str, Any]:
    return {
        "path": repository_path(place.path, options),
        "range": _range(place.path, (place.line, place.column), (place.end_line, place.end_column), text),
    }


def _diagnostic(finding: Any, text: Text, options: Options) -> dict[str, Any]:
    said = f"{finding.message} ({finding.name})" + (f"\n{finding.help}" if finding.help else "")
    made: dict[str, Any] = {
        "message": said,
        "location": _location(finding.place, text, options),
        "severity": SEVERITIES[finding.severity],
        "code": {"value": finding.code, "url": finding.url},
    }
    related = [r for r in finding.related if r.place != finding.place]
    if related:
        made["related_locations"] = [{"message": r.message or r.role, "location": _location(r.place, text, options)} for r in related]
    suggestion = _suggestion(finding, text)
    if suggestion is not None:
        made["suggestions"] = [suggestion]
    return made


def _suggestion(finding: Any, text: Text) -> dict[str, Any] | None:
    """The whole fix as one suggestion, with the text between its edits: reviewdog offers each suggestion with a button of its own,
    and half a fix is worse than none. None where the edits lie too far apart to be read in a review, or the file is not there."""
    if finding.fix is None or not finding.fix.edits:
        return None
    path = finding.place.path
    edits = sorted(finding.fix.edits, key=lambda edit: (edit.start, edit.end))
    start, end = edits[0].start, max(edit.end for edit in edits)
    if end[0] - start[0] >= LONGEST:
        return None
    pieces, at = [], start
    for edit in edits:
        between = text.between(path, at, edit.start)
        if between is None:
            return None
        pieces += [between, edit.text]
        at = edit.end
    return {"range": _range(path, start, end, text), "text": "".join(pieces)}
