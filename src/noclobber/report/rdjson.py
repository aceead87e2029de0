"""reviewdog's Diagnostic Format: one JSON document. Columns count UTF-8 bytes."""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber.report import Lines, Options, shown
from noclobber.report.places import Text, repository_path

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


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
    if finding.fix is not None:
        made["suggestions"] = [
            {"range": _range(finding.place.path, edit.start, edit.end, text), "text": edit.text} for edit in finding.fix.edits
        ]
    return made
