"""By file: its name, then a line for each finding."""

from __future__ import annotations

from itertools import groupby
from typing import Any, TextIO

from noclobber.report import Lines, Options, Row, emit, one_line, shown, summary


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the groups and, with `options.footer`, the line of numbers."""
    rows: list[Row] = []
    for path, group in groupby(shown(settled, options), key=lambda finding: finding.place.path):
        mine = list(group)
        rows.append([(one_line(path), "path"), (":", "")])
        places = [f"{finding.place.line}:{finding.place.column}" for finding in mine]
        edge = max(map(len, places))
        for finding, place in zip(mine, places):
            mark = "suppressed: " if finding.suppressed else ""
            rows.append(
                [
                    (f"  {place:<{edge}}  ", "dim"),
                    (finding.code, finding.severity),
                    (f" {mark}{one_line(finding.message)} ({finding.name})", ""),
                ]
            )
        rows.append([])
    if options.footer:
        rows.append([(summary(settled, options.seconds, details=options.details), "bold")])
    emit(rows, stream, options.color)
