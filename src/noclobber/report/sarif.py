"""SARIF 2.1.0, as GitHub code scanning reads it and the OASIS schema demands it.

Paths are relative to the repository's root; the first location is the write, one line, so that the alert shows in a pull
request; silenced findings are left out, for GitHub shows them as open alerts.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber import __version__
from noclobber.report import Lines, Options, count, shown
from noclobber.report.places import Text, by_weight, repository_path, uri

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOME = "https://github.com/noclobber/noclobber"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
#: GitHub takes no more results in a run.
LIMIT = 25_000
#: GitHub shows no more of a description.
LONGEST = 1024


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write one log with one run; ASCII only."""
    json.dump(document(settled, lines, options), stream, indent=2)
    stream.write("\n")


def document(settled: Any, lines: Lines, options: Options) -> dict[str, Any]:
    """The log as plain data."""
    findings = shown(settled, options)
    dropped = 0
    if len(findings) > LIMIT:
        dropped = len(findings) - LIMIT
        findings = by_weight(findings)[:LIMIT]
    text = Text(lines)
    index = {slug: number for number, slug in enumerate(sorted({f.name for f in findings}, key=lambda s: settled.pages[s].code))}
    notes = [_notification(error, options) for error in settled.errors]
    if dropped:
        notes.append({"level": "warning", "message": {"text": f"{count(dropped, 'finding')} left out: a run may hold {LIMIT} at most."}})
    run = {
        "tool": {
            "driver": {
                "name": "noclobber",
                "version": __version__,
                "semanticVersion": _semantic(__version__),
                "informationUri": HOME,
                "rules": [_rule(settled.pages[slug], [f.url for f in findings if f.name == slug][0]) for slug in index],
                "notifications": [_rule(page, HOME) for page in settled.pages.values() if page.code in {e.code for e in settled.errors}],
            }
        },
        "invocations": [{"executionSuccessful": not settled.errors, "toolExecutionNotifications": notes}],
        "automationDetails": {"id": "noclobber/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, index[f.name], text, options) for f in findings],
    }
    if not run["tool"]["driver"]["notifications"]:
        del run["tool"]["driver"]["notifications"]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _semantic(version: str) -> str:
    numbers = version.split("+")[0].split(".")
    digits = ["".join(char for char in part if char.isdigit()) or "0" for part in numbers[:3]]
    return ".".join([*digits, *["0"] * (3 - len(digits))])


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def _rule(page: Any, url: str) -> dict[str, Any]:
    what = page.sections.get("What it does") or page.summary
    right, wrong = page.trust["right"], page.trust["wrong"]
    precision = "medium" if not right + wrong else "high" if right * 10 >= 9 * (right + wrong) else "low"
    return {
        "id": page.code,
        "name": "".join(word.capitalize() for word in page.slug.split("-")),
        "shortDescription": {"text": _sentence(page.summary)},
        "fullDescription": {"text": _cut(_sentence(" ".join(what.split())))},
        "help": {"text": page.text.strip() or _sentence(page.summary), "markdown": page.text.strip() or _sentence(page.summary)},
        "helpUri": url,
        "defaultConfiguration": {"level": LEVELS[page.severity]},
        "properties": {
            "tags": ["concurrency", "correctness", page.family],
            "precision": precision,
            "problem.severity": "recommendation" if page.severity == "info" else page.severity,
        },
    }


def _notification(error: Any, options: Options) -> dict[str, Any]:
    note: dict[str, Any] = {"level": "error", "descriptor": {"id": error.code}, "message": {"text": _sentence(error.message)}}
    location: dict[str, Any] = {"artifactLocation": _artifact(error.path, options)}
    if error.line:
        location["region"] = {"startLine": error.line}
    note["locations"] = [{"physicalLocation": location}]
    return note


def _artifact(path: str, options: Options) -> dict[str, Any]:
    where: dict[str, Any] = {"uri": uri(path, options)}
    if not repository_path(path, options).startswith("/"):
        where["uriBaseId"] = "%SRCROOT%"
    return where


def _region(place: Any, line: str | None = None) -> dict[str, Any]:
    region: dict[str, Any] = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": max(place.end_column, place.column + 1) if place.end_line == place.line else max(place.end_column, 1),
    }
    if line is not None:
        region["snippet"] = {"text": line}
    return region


def _location(place: Any, text: Text, options: Options, message: str = "", number: int | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(place.path, options), "region": _region(place, text.line(place.path, place.line))}
    }
    if number is not None:
        location["id"] = number
    if message:
        location["message"] = {"text": _sentence(message)}
    return location


def _result(finding: Any, rule: int, text: Text, options: Options) -> dict[str, Any]:
    place = finding.place
    primary = _location(place, text, options)
    if finding.function:
        primary["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    related = [r for r in finding.related if r.place != place]
    links = [
        f"[{r.message or r.role}]({number})".replace("\n", " ")
        for number, r in enumerate(related, 1)
        if r.role in ("read", "witness", "lock", "loop", "transaction")
    ][:3]
    said = _sentence(_plain(finding.message))
    if links:
        said += " See: " + ", ".join(links) + "."
    if finding.help:
        said += f"\nRepair: {_sentence(_plain(finding.help))}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": said},
        "locations": [primary],
        "partialFingerprints": {"noclobber/v1": finding.fingerprint},
    }
    line_hash = text.line_hash(place.path, place.line)
    if line_hash:
        result["partialFingerprints"]["primaryLocationLineHash"] = line_hash
    if related:
        result["relatedLocations"] = [_location(r.place, text, options, r.message or r.role, number) for number, r in enumerate(related, 1)]
    steps = [r for r in finding.related if r.role in _FLOW]
    if steps:
        flow = [{"location": _location(r.place, text, options, r.message or r.role), "kinds": [r.role]} for r in steps]
        if all(r.role != "write" for r in steps):
            flow.append({"location": _location(place, text, options, finding.message), "kinds": ["write"]})
        result["codeFlows"] = [{"message": {"text": "How the value travels, and where it is lost."}, "threadFlows": [{"locations": flow}]}]
    properties: dict[str, Any] = {"confidence": finding.confidence, "name": finding.name}
    if finding.interleaving:
        properties["interleaving"] = [
            {"worker": step.worker, "line": step.line, "text": step.text, "state": step.state} for step in finding.interleaving
        ]
    if finding.guards:
        properties["guards"] = [
            {"path": guard.place.path, "line": guard.place.line, "kind": guard.kind, "whyNot": guard.why_not} for guard in finding.guards
        ]
    if finding.census:
        properties["census"] = finding.census
    if finding.also:
        properties["also"] = list(finding.also)
    result["properties"] = properties
    if finding.fix is not None:
        result["fixes"] = [
            {
                "description": {"text": _sentence(f"{finding.fix.title} ({finding.fix.applicability}" + (f": {finding.fix.reason})" if finding.fix.reason else ")"))},
                "artifactChanges": [
                    {
                        "artifactLocation": _artifact(place.path, options),
                        "replacements": [
                            {
                                "deletedRegion": {
                                    "startLine": edit.start[0],
                                    "startColumn": edit.start[1],
                                    "endLine": edit.end[0],
                                    "endColumn": edit.end[1],
                                },
                                "insertedContent": {"text": edit.text},
                            }
                            for edit in finding.fix.edits
                        ],
                    }
                ],
            }
        ]
    if finding.suppressed is not None:
        kind, reason, _ = finding.suppressed
        result["suppressions"] = [{"kind": "external" if kind == "baseline" else "inSource", **({"justification": reason} if reason else {})}]
    return result


_FLOW = ("read", "witness", "change", "write", "lock", "loop", "conflict", "transaction", "call", "effect")


def _plain(text: str) -> str:
    """Text in which nothing reads as an embedded link."""
    return text.replace("](", "] (")
