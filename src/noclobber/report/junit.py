"""JUnit XML: a test suite for each file, a failed test case for each finding, one that passed when there is none."""

from __future__ import annotations

from itertools import groupby
from typing import Any, TextIO
from xml.sax.saxutils import escape, quoteattr

from noclobber.report import Lines, Options, shown


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write one document. An empty suite counts as an error in several CI servers, so there is always a test case."""
    findings = shown(settled, options)
    errors = sum(finding.code == "RMW009" for finding in findings)
    seconds = f"{options.seconds or 0:.3f}"
    total = len(findings) or 1
    out = ['<?xml version="1.0" encoding="UTF-8"?>']
    out.append(f'<testsuites name="noclobber" tests="{total}" failures="{len(findings) - errors}" errors="{errors}" time="{seconds}">')
    if not findings:
        out.append('  <testsuite name="noclobber" tests="1" failures="0" errors="0">')
        out.append('    <testcase name="no findings" classname="noclobber"/>')
        out.append("  </testsuite>")
    for path, group in groupby(findings, key=lambda finding: finding.place.path):
        mine = list(group)
        broken = sum(finding.code == "RMW009" for finding in mine)
        out.append(f'  <testsuite name={_quoted(path)} tests="{len(mine)}" failures="{len(mine) - broken}" errors="{broken}">')
        for finding in mine:
            place = finding.place
            kind = "error" if finding.code == "RMW009" else "failure"
            name = f"{finding.code} {finding.name} at {place.line}:{place.column}"
            stem = path[:-3] if path.endswith(".py") else path
            body = [f"{place.path}:{place.line}:{place.column}: {finding.message}"]
            body += [f"line {r.place.line} of {r.place.path}: {r.message or r.role}" for r in finding.related]
            body += [finding.help] if finding.help else []
            out.append(f'    <testcase name={_quoted(name)} classname={_quoted(stem)} file={_quoted(path)} line="{place.line}">')
            out.append(f"      <{kind} type={_quoted(finding.severity)} message={_quoted(finding.message)}>{_text(chr(10).join(body))}</{kind}>")
            out.append("    </testcase>")
        out.append("  </testsuite>")
    out.append("</testsuites>")
    stream.write("\n".join(out) + "\n")


def _clean(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return "".join(char if char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff" else "\ufffd" for char in text)


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))


def _text(text: str) -> str:
    return escape(_clean(text))
