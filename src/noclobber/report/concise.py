"""One line a finding: `path:line:column: RMW101 message (slug)`; what editors and flake8's readers parse."""

from __future__ import annotations

from typing import Any, TextIO

from noclobber.report import Lines, Options, emit, one_line, shown


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the findings; `[*]` marks a safe fix, `[?]` an unsafe one."""
    findings = shown(settled, options)
    rows = []
    for finding in findings:
        place = finding.place
        mark = "" if finding.fix is None else "[*] " if finding.fix.applicability == "safe" else "[?] "
        also = f" [suppressed, line {finding.suppressed[2]}]" if finding.suppressed else ""
        rows.append(
            [
                (one_line(place.path), "path"),
                (f":{place.line}:{place.column}: ", "dim"),
                (finding.code, finding.severity),
                (f" {mark}{one_line(finding.message)} ({finding.name}){also}", ""),
            ]
        )
    emit(rows, stream, options.color)
