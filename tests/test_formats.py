"""The formats for machines, each read back as its consumer reads it: what is demanded, what is escaped, which unit a column has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fakes import fake_rules, finding, place, result  # noqa: F401
from test_report import LINES, full_finding, judge, text

from noclobber import config, report
from noclobber.finding import Edit, Failure, Fix, Related
from noclobber.report import github, places
from noclobber.verdict import Settled

pytestmark = pytest.mark.usefixtures("fake_rules")

#: Names and texts that break what is not escaped.
ODD = "dé,p/a:b%c&<x>.py"
SAID = 'a ` 100% "of", <b>\nsecond: line]]> [x](y)'


def odd(**more: Any) -> Any:
    return finding(path=ODD, message=SAID, related=(Related("read", place(4, 11, 24, ODD), "read\nhere"),), **more)


def fixed() -> Any:
    return full_finding(fix=Fix("unsafe", "let the database do it", (Edit((6, 5), (6, 16), "cur.run"),)))


def test_the_formats_of_the_settings_are_the_formats_there_are() -> None:
    assert config.SETTINGS["output-format"].choices == report.FORMATS


@pytest.mark.parametrize("form", report.FORMATS)
def test_every_format_prints_everything_there_is(form: str) -> None:
    for settled in (judge(), judge(full_finding(), odd()), judge(failures=(Failure("RMW009", "src/x.py", 0, "broken"),)), judge(fixed())):
        shown = text(form, settled)
        assert not shown or shown.endswith("\n")
        assert len(settled.findings) == 0 or "RMW" in shown
        assert "\x1b" not in shown


# --- SARIF ------------------------------------------------------------------------------------------------------------

#: Object of the SARIF 2.1.0 schema → (required, allowed) keys of those that are written here.
SARIF = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool", "results"}, {"invocations", "automationDetails", "originalUriBaseIds", "columnKind"}),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules", "notifications"}),
    "rule": (
        {"id", "shortDescription", "fullDescription", "help"},
        {"name", "helpUri", "defaultConfiguration", "properties"},
    ),
    "invocation": ({"executionSuccessful"}, {"toolExecutionNotifications"}),
    "result": (
        {"message", "ruleId", "ruleIndex", "level", "locations", "partialFingerprints"},
        {"relatedLocations", "codeFlows", "fixes", "suppressions", "properties"},
    ),
    "location": ({"physicalLocation"}, {"id", "message", "logicalLocations"}),
    "region": ({"startLine", "startColumn", "endLine", "endColumn"}, {"snippet"}),
}


def holds(value: dict[str, Any], kind: str) -> dict[str, Any]:
    required, allowed = SARIF[kind]
    assert required <= set(value) <= required | allowed, f"{kind}: {sorted(value)}"
    return value


def sarif(settled: Settled, **options: Any) -> dict[str, Any]:
    """The run of the document, with everything in it that the schema and GitHub demand asserted."""
    log = holds(json.loads(text("sarif", settled, **options)), "log")
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    holds(run, "run")
    driver = holds(run["tool"]["driver"], "driver")
    ids = [holds(rule, "rule")["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"].strip() and len(rule["fullDescription"]["text"]) <= 1024
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert len(rule["properties"]["tags"]) <= 20
    for invocation in run["invocations"]:
        holds(invocation, "invocation")
        for note in invocation["toolExecutionNotifications"]:
            assert note["message"]["text"] and note["level"] in ("error", "warning")
    for one in run["results"]:
        holds(one, "result")
        assert one["ruleId"] == ids[one["ruleIndex"]]
        assert all(one["partialFingerprints"].values())
        numbers = set()
        flows = [step["location"] for flow in one.get("codeFlows", ()) for thread in flow["threadFlows"] for step in thread["locations"]]
        for location in (*one["locations"], *one.get("relatedLocations", ()), *flows):
            physical = holds(location, "location")["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert not uri.startswith("/") and "\\" not in uri and ":" not in uri and " " not in uri
            region = holds(physical["region"], "region")
            assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
            numbers.add(location.get("id"))
    return run


def test_sarif_tells_the_way_of_the_value() -> None:
    run = sarif(judge(full_finding()), cwd="/repo", root="/repo")
    (one,) = run["results"]
    (thread,) = one["codeFlows"][0]["threadFlows"]
    assert [step["kinds"] for step in thread["locations"]] == [["read"], ["change"], ["write"]]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in thread["locations"]] == [4, 5, 6]
    assert [related["id"] for related in one["relatedLocations"]] == [1, 2]
    assert "[value read here](1)" in one["message"]["text"]
    assert one["level"] == "error" and one["properties"]["confidence"] == "medium"
    assert [guard["kind"] for guard in one["properties"]["guards"]] == ["transaction.atomic", "threading.Lock"]
    assert len(one["properties"]["interleaving"]) == 4
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["automationDetails"]["id"].endswith("/")


def test_sarif_paths_are_relative_to_the_repository() -> None:
    run = sarif(judge(odd()), cwd="/repo/sub", root="/repo")
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "sub/d%C3%A9%2Cp/a%3Ab%25c%26%3Cx%3E.py", "uriBaseId": "%SRCROOT%"}


def test_sarif_says_when_the_run_was_not_complete() -> None:
    run = sarif(judge(finding(), failures=(Failure("RMW009", "src/pay.py", 3, "internal error: x"), Failure("RMW001", "b.py", 0, "not Python"))))
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert sorted(note["descriptor"]["id"] for note in invocation["toolExecutionNotifications"]) == ["RMW001", "RMW009"]
    assert {note["id"] for note in run["tool"]["driver"]["notifications"]} == {"RMW001", "RMW009"}


def test_sarif_leaves_silenced_findings_out_unless_asked() -> None:
    settled = judge(finding(line=1, statement=(1, 1)), lines=["x  # noclobber: ignore[RMW101] -- nightly"])
    assert sarif(settled)["results"] == []
    (one,) = sarif(settled, show_suppressed=True)["results"]
    assert one["suppressions"] == [{"kind": "inSource", "justification": "nightly"}]


def test_sarif_fix() -> None:
    (one,) = sarif(judge(fixed()))["results"]
    (change,) = one["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {"deletedRegion": {"startLine": 6, "startColumn": 5, "endLine": 6, "endColumn": 16}, "insertedContent": {"text": "cur.run"}}
    ]


def test_sarif_keeps_what_a_run_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    from noclobber.report import sarif as module

    monkeypatch.setattr(module, "LIMIT", 2)
    run = sarif(judge(finding("blind-accessor-write", line=1), finding(line=2), finding(line=3)))
    assert [one["level"] for one in run["results"]] == ["error", "error"]
    assert "1 finding left out" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_line_hashes_are_those_of_the_upload_action() -> None:
    """Known answers of github/codeql-action (src/fingerprints.test.ts)."""
    known = {
        "": ["c129715d7a2bc9a3"],
        " a\nb\n  \t\tc\n d": ["271789c17abda88f", "54703d4cd895b18", "180aee12dab6264", "a23a3dc5e078b07b"],
        " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n": [
            "e9496ae3ebfced30", "fb7c023a8b9ccb3f", "ce8ba1a563dcdaca", "e20e36e16fcb0cc8", "b3edc88f2938467e", "c8e28b0b4002a3a0", "c129715d7a2bc9a3",
        ],
    }
    for text, hashes in known.items():
        assert places.line_hashes(text.split("\n")) == [f"{value}:1" for value in hashes]
    equal = places.line_hashes(["same"] * 40)
    assert len(set(equal)) == 40 and equal[1].rpartition(":")[0] == equal[0].rpartition(":")[0] and equal[1].endswith(":2")


#: Read at import: every test starts without the project's variables.
TOOL = os.environ.get("NOCLOBBER_SARIF_MULTITOOL", "")


def multitool() -> str:
    """The executable of the npm package @microsoft/sarif-multitool: named by the environment, or on the path."""
    return TOOL if TOOL and os.access(TOOL, os.X_OK) else shutil.which("sarif-multitool") or ""


@pytest.mark.services
@pytest.mark.skipif(not multitool(), reason="@microsoft/sarif-multitool is not here")
def test_sarif_is_clean_under_the_multitool(tmp_path: Path) -> None:
    file = tmp_path / "x.sarif"
    file.write_text(text("sarif", judge(full_finding(), odd(), fixed(), failures=(Failure("RMW009", "src/pay.py", 3, "x"),)), cwd="/repo", root="/repo"))
    done = subprocess.run([multitool(), "validate", str(file), "--rule-kind", "Sarif;Ghas"], capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert "Analysis completed successfully" in said, said
    assert ": error " not in said and ": warning " not in said, said


# --- GitHub -----------------------------------------------------------------------------------------------------------


def test_github_escapes() -> None:
    first = text("github", judge(odd()), cwd="/repo", root="/repo").split("\n")[0]
    assert first.startswith("::error file=dé%2Cp/a%3Ab%25c&<x>.py,line=6,endLine=6,col=5,endColumn=16,title=RMW101 blind-sql-update::")
    assert '::a ` 100%25 "of", <b>%0Asecond: line]]>' in first


def test_github_has_columns_only_within_one_line() -> None:
    long = finding(message="m")
    long = replace(long, place=replace(long.place, end_line=9))
    first = text("github", judge(long)).split("\n")[0]
    assert "line=6,endLine=9,title=" in first and "col=" not in first


def test_github_shows_the_worst_and_counts_the_rest() -> None:
    many = [finding(line=n, message=f"m{n}") for n in range(1, 14)] + [finding("blind-accessor-write", line=n) for n in range(20, 23)]
    shown = text("github", judge(*many)).split("\n")
    commands = [line for line in shown if line.startswith("::")]
    assert [line.split(" ")[0] for line in commands] == ["::error"] * 10 + ["::warning"] * 3
    assert sum(line.startswith("src/pay.py:") for line in shown) == 16
    assert shown[-2] == "3 findings more not annotated: a step shows 10 of a kind"


def test_github_step_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = github.step_summary(judge(odd(), finding(line=9)))
    assert shown.startswith("### noclobber: 2 findings (2 errors)")
    assert shown.count("\n| `") == 2
    monkeypatch.setattr(github, "SUMMARY_BYTES", 400)
    assert "1 finding more: see the log." in github.step_summary(judge(odd(), finding(line=9)))


# --- GitLab, JUnit, rdjson, lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["gitlab", "rdjson"])
def test_the_schema(form: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(__file__).parent / "schemas" / f"{form}.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    everything = (finding(line=9), odd(), finding("blind-accessor-write", line=20), fixed())
    for settled in (judge(), judge(*everything, failures=(Failure("RMW009", "src/pay.py", 3, "x"), Failure("RMW001", "src/x.py", 0, "y")))):
        document = json.loads(text(form, settled, cwd="/r/s", root="/r"))
        validator.validate(document)
    rows = document if form == "gitlab" else document["diagnostics"]
    assert len(rows) == len(everything) + 2
    for wrong in ({"severity": "high"}, {"location": {}}):
        changed = [{**rows[0], **wrong}]
        assert not validator.is_valid(changed if form == "gitlab" else {**document, "diagnostics": changed})


def test_gitlab() -> None:
    rows = json.loads(text("gitlab", judge(finding(), finding(line=9), odd(), finding("blind-accessor-write", line=20)), cwd="/r/s", root="/r"))
    assert len({row["fingerprint"] for row in rows}) == 4
    for row in rows:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(row)
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["positions"]["begin"]["line"] > 0
        assert row["location"]["path"].startswith("s/")
    assert json.loads(text("gitlab", judge())) == []


def test_gitlab_fingerprints_hold_no_line() -> None:
    one, other = (json.loads(text("gitlab", judge(finding(line=line))))[0]["fingerprint"] for line in (6, 60))
    assert one == other


def test_junit() -> None:
    root = ElementTree.fromstring(text("junit", judge(odd(), replace(finding(), message="bad \x00\x1b char"), failures=(Failure("RMW009", "src/pay.py", 3, "x"),))))
    assert root.attrib["tests"] == "3" and root.attrib["failures"] == "2" and root.attrib["errors"] == "1"
    cases = root.findall("testsuite/testcase")
    assert {case.attrib["file"] for case in cases} == {ODD, "src/pay.py"}
    assert len(root.findall("testsuite/testcase/failure")) == 2 and len(root.findall("testsuite/testcase/error")) == 1
    assert SAID in root.findall("testsuite/testcase/failure")[0].text
    clean = ElementTree.fromstring(text("junit", judge()))
    assert len(clean.findall("testsuite/testcase")) == 1 and not clean.findall(".//failure")


def test_rdjson_columns_are_bytes() -> None:
    lines = ["", "", "", 's = "é𐐀"; row = read()', "", "é𐐀 = write()"]
    found = replace(
        full_finding(),
        place=place(6, 6, 13),
        related=(Related("read", place(4, 17, 23), "read"),),
        fix=Fix("unsafe", "t", (Edit((6, 6), (6, 11), "x"),)),
    )
    (one,) = json.loads(text("rdjson", judge(found), lines=lines))["diagnostics"]
    raw = lines[5].encode()
    start, end = one["location"]["range"]["start"], one["location"]["range"]["end"]
    assert raw[start["column"] - 1 : end["column"] - 1] == b"write()"[: end["column"] - start["column"]]
    assert start["column"] == len("é𐐀 = ".encode()) + 1
    related = one["related_locations"][0]["location"]["range"]["start"]["column"]
    assert lines[3].encode()[related - 1 :].startswith(b"read()") or related == len(lines[3][:16].encode()) + 1
    assert one["severity"] == "ERROR" and one["code"]["value"] == "RMW101"
    assert one["suggestions"] == [{"range": {"start": start, "end": {"line": 6, "column": start["column"] + 5}}, "text": "x"}]


def test_rdjson_suggests_the_whole_fix_or_nothing() -> None:
    """reviewdog shows each suggestion with its own button: one that holds half of a fix breaks the code."""
    edits = (Edit((1, 1), (1, 1), "from db import F\n"), Edit((3, 5), (3, 8), "b"), Edit((4, 1), (5, 1), ""))

    def suggestions(lines: Sequence[str], edits: Sequence[Edit]) -> Any:
        (one,) = json.loads(text("rdjson", judge(full_finding(fix=Fix("unsafe", "t", tuple(edits)))), lines=lines))["diagnostics"]
        return one.get("suggestions")

    lines = ["import db", "é = 1", "a = xyz, 2", "gone", "kept"]
    (only,) = suggestions(lines, edits)
    assert only["range"] == {"start": {"line": 1, "column": 1}, "end": {"line": 5, "column": 1}}
    assert only["text"] == "from db import F\nimport db\né = 1\na = b, 2\n"
    far = ["import db", *["pass"] * 60, "a = xyz"]
    assert suggestions(far, (edits[0], Edit((62, 5), (62, 8), "b"))) is None
    assert suggestions(["import db"], (edits[0], Edit((9, 5), (9, 8), "b"))) is None


def test_json_lines() -> None:
    settled = judge(finding(), failures=(Failure("RMW009", "src/pay.py", 3, "x"),))
    rows = [json.loads(line) for line in text("jsonl", settled).splitlines()]
    assert [row["type"] for row in rows] == ["finding", "finding", "error", "summary"]
    document = json.loads(text("json", settled))
    assert [{k: v for k, v in row.items() if k != "type"} for row in rows if row["type"] == "finding"] == document["findings"]


def test_grouped() -> None:
    assert text("grouped", judge(finding(), finding("blind-accessor-write", line=10)), footer=False) == (
        "src/pay.py:\n"
        "  6:5   RMW101 `accounts.balance` is overwritten from an earlier read (blind-sql-update)\n"
        "  10:5  RMW106 `accounts.balance` is overwritten from an earlier read (blind-accessor-write)\n\n"
    )


# --- HTML -------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Whether the page is well formed, what it loads, what it shows."""

    VOID = ("meta", "input", "br", "link", "img")

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.articles: list[dict[str, str]] = []
        self.words: list[str] = []
        self.feed(document)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: Sequence[Any]) -> None:
        values = dict(attrs)
        self.loads += [values[name] for name in ("src", "href") if values.get(name) and not values[name].startswith("#")]
        if tag == "article":
            self.articles.append(values)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)


def test_html_is_one_page_that_loads_nothing() -> None:
    page = Page(text("html", judge(full_finding(), odd(line=3), fixed())))
    assert page.loads == []
    assert [article["data-rule"] for article in page.articles] == ["RMW101"] * len(page.articles)
    shown = "".join(page.words)
    for line in LINES[3:6]:
        assert line in shown
    assert "accounts.balance: 80" in shown and "3 of 4 writers lock this row" in shown and "this process only" in shown


def test_html_shows_the_fix_as_a_diff() -> None:
    shown = "".join(Page(text("html", judge(fixed()))).words)
    assert "-    cur.execute(UPDATE, (new, src))" in shown and "+    cur.run(UPDATE, (new, src))" in shown


def test_html_escapes_what_code_holds() -> None:
    lines = [*LINES[:5], "    cur.execute('</pre><script>alert(1)</script>')"]
    document = text("html", judge(replace(full_finding(), message="<img src=x onerror=alert(1)>")), lines=lines)
    assert "<script>alert" not in document and "<img" not in document
    Page(document)


def test_html_without_findings() -> None:
    assert "No findings." in text("html", judge())


@pytest.mark.services
@pytest.mark.skipif(not shutil.which("chromium"), reason="no browser")
def test_html_in_a_browser(tmp_path: Path) -> None:
    """The page's own script runs under its own policy: it counts what the filters leave."""
    file = tmp_path / "x.html"
    file.write_text(text("html", judge(full_finding(), finding("blind-accessor-write", line=3))), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120
    )
    assert ">2 of 2</output>" in done.stdout, done.stderr[-500:]
