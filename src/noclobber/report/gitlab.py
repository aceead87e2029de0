"""GitLab's Code Quality report: a JSON array. Equal fingerprints collapse into one, so repeated ones get a number."""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber.report import Lines, Options, shown
from noclobber.report.places import numbered, repository_path

SEVERITIES = {"error": "critical", "warning": "major", "info": "minor"}


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the array; `[]` when there is nothing."""
    findings = shown(settled, options)
    rows = []
    for finding, fingerprint in zip(findings, numbered(finding.fingerprint for finding in findings)):
        place = finding.place
        rows.append(
            {
                "type": "issue",
                "description": f"{finding.code} {finding.message} ({finding.name})",
                "check_name": finding.name,
                "categories": ["Bug Risk"],
                "fingerprint": fingerprint,
                "severity": "blocker" if finding.code == "RMW009" else SEVERITIES[finding.severity],
                "content": {"body": finding.help} if finding.help else {"body": finding.url},
                "location": {
                    "path": repository_path(place.path, options),
                    "positions": {
                        "begin": {"line": place.line, "column": place.column},
                        "end": {"line": place.end_line, "column": place.end_column},
                    },
                },
            }
        )
    json.dump(rows, stream, indent=2)
    stream.write("\n")
