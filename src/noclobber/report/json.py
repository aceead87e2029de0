"""The JSON document of DESIGN §8; `version` changes when a key changes its meaning."""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber.report import Lines, Options, shown

VERSION = 1


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write one document, valid whatever went wrong. ASCII only, so that no terminal's encoding can break it."""
    findings = shown(settled, options)
    json.dump(document(settled, findings), stream, indent=2)
    stream.write("\n")


def document(settled: Any, findings: list[Any]) -> dict[str, Any]:
    """The document as plain data."""
    numbers = settled.summary
    return {
        "version": VERSION,
        "findings": [_finding(finding) for finding in findings],
        "errors": [
            {"code": error.code, "path": error.path, "line": error.line, "message": error.message}
            for error in settled.errors
        ],
        "summary": {
            "files": numbers.files,
            "analysed": numbers.analysed,
            "failed": numbers.failed,
            "findings": dict(numbers.findings),
            "suppressed": numbers.suppressed,
            "baselined": numbers.baselined,
            "fixable": numbers.fixable,
            "unsafe_fixable": numbers.unsafe_fixable,
        },
    }


def _place(place: Any) -> dict[str, Any]:
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def _finding(finding: Any) -> dict[str, Any]:
    fix = None
    if finding.fix is not None:
        fix = {
            "applicability": finding.fix.applicability,
            "title": finding.fix.title,
            "reason": finding.fix.reason,
            "edits": [
                {
                    "start": {"line": edit.start[0], "column": edit.start[1]},
                    "end": {"line": edit.end[0], "column": edit.end[1]},
                    "text": edit.text,
                }
                for edit in finding.fix.edits
            ],
        }
    suppressed = None
    if finding.suppressed is not None:
        kind, reason, line = finding.suppressed
        suppressed = {"kind": kind, "reason": reason, "line": line}
    return {
        "code": finding.code,
        "name": finding.name,
        "also": list(finding.also),
        "severity": finding.severity,
        "confidence": finding.confidence,
        "level": finding.level,
        "message": finding.message,
        **_place(finding.place),
        "function": finding.function,
        "record": finding.record,
        "related": [
            {"role": related.role, **_place(related.place), "message": related.message} for related in finding.related
        ],
        "guards": [
            {"path": guard.place.path, "line": guard.place.line, "kind": guard.kind, "why_not": guard.why_not}
            for guard in finding.guards
        ],
        "interleaving": [
            {"worker": step.worker, "line": step.line, "text": step.text, "state": step.state}
            for step in finding.interleaving
        ],
        "help": finding.help,
        "teach": finding.teach,
        "fix": fix,
        "fingerprint": finding.fingerprint,
        "suppressed": suppressed,
        "url": finding.url,
    }
