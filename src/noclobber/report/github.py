"""Workflow commands of GitHub Actions: annotations on the changed files, and the report for the log.

A step shows ten annotations of a kind and drops the others without a word, so the worst come first, the rest are counted, and
everything stands in the log and in the step's summary.
"""

from __future__ import annotations

from typing import Any, TextIO

from noclobber.report import Lines, Options, count, one_line, shown, summary
from noclobber.report.places import by_weight, repository_path

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
#: Annotations of one kind that a step shows.
LIMIT = 10
#: $GITHUB_STEP_SUMMARY may hold 1 MiB.
SUMMARY_BYTES = 1_000_000


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the annotations, one line for each finding, and what was not annotated."""
    findings = shown(settled, options)
    left = dict.fromkeys(COMMANDS, LIMIT)
    rest = 0
    for finding in by_weight(findings):
        if not left[finding.severity]:
            rest += 1
            continue
        left[finding.severity] -= 1
        stream.write(_command(finding, options) + "\n")
    for finding in findings:
        place = finding.place
        stream.write(
            f"{one_line(place.path)}:{place.line}:{place.column}: {finding.code} {one_line(finding.message)} ({finding.name})\n"
        )
    if rest:
        stream.write(f"{count(rest, 'finding')} more not annotated: a step shows {LIMIT} of a kind\n")


def _command(finding: Any, options: Options) -> str:
    place = finding.place
    fields = {"file": repository_path(place.path, options), "line": place.line, "endLine": place.end_line}
    if place.end_line == place.line:  # columns are only read then
        fields.update(col=place.column, endColumn=max(place.end_column, place.column + 1))
    fields["title"] = f"{finding.code} {finding.name}"
    said = finding.message
    reads = [r for r in finding.related if r.role in ("read", "witness") and r.place != place]
    if reads:
        where = reads[0].place
        said += f" (read at line {where.line})" if where.path == place.path else f" (read at {where.path}:{where.line})"
    if finding.help:
        said += f"\n{finding.help}"
    given = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    return f"::{COMMANDS[finding.severity]} {given}::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(settled: Any, options: Options = Options()) -> str:
    """Markdown for $GITHUB_STEP_SUMMARY: a table of all findings, cut where it gets too long, with the rest counted."""
    findings = by_weight(shown(settled, options))
    out = [f"### noclobber: {summary(settled, options.seconds)}", ""]
    if findings:
        out += ["| where | rule | finding |", "|---|---|---|"]
    size = sum(len(line.encode()) + 1 for line in out)
    for number, finding in enumerate(findings):
        place = finding.place
        cells = (
            f"`{place.path}:{place.line}`",
            f"[{finding.code} {finding.name}]({finding.url})" if finding.url else f"{finding.code} {finding.name}",
            finding.message + (f"<br>{finding.help}" if finding.help else ""),
        )
        row = "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"
        size += len(row.encode()) + 1
        if size > SUMMARY_BYTES:
            out += ["", f"{count(len(findings) - number, 'finding')} more: see the log."]
            break
        out.append(row)
    return "\n".join(out) + "\n"
