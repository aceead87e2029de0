"""What is printed, to the letter."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import fake_rules, finding, place, result  # noqa: F401

from noclobber import report
from noclobber.config import Resolver
from noclobber.engine import Item
from noclobber.finding import Edit, Failure, Fix, Guard, Related
from noclobber.report import Options
from noclobber.suppress import scan
from noclobber.verdict import Settled, settle

pytestmark = pytest.mark.usefixtures("fake_rules")

LINES = [
    "def transfer(cur, src, amount):",
    '    """Move money."""',
    "    check(amount)",
    "    row = cur.execute(SELECT)",
    "    new = row[0] - amount",
    "    cur.execute(UPDATE, (new, src))",
]


def judge(*findings: Any, lines: Sequence[str] = (), failures: tuple = (), **overrides: Any) -> Settled:
    settings = Resolver(
        {key.replace("_", "-"): value for key, value in overrides.items()}, isolated=True, cwd="/nowhere"
    ).for_path("a.py")
    return settle([Item(result(*findings, failures=failures, analysed=1), settings, scan(lines))])


def text(name: str, settled: Settled, lines: Any = LINES, **options: Any) -> str:
    stream = io.StringIO()
    report.write(
        name,
        settled,
        stream,
        lines if callable(lines) else lambda path: lines if path == "src/pay.py" else None,
        Options(**options),
    )
    return stream.getvalue()


def full_finding(**more: Any) -> Any:
    fields = {
        "related": (
            Related("read", place(4, 11, 30), "value read here"),
            Related("change", place(5, 5, 8), "new value computed from it"),
            Related("write", place(6, 5, 16), "written back; WHERE names only the id"),
        ),
        "guards": (
            Guard(place(3), "transaction.atomic", "READ COMMITTED lets both read"),
            Guard(place(9, path="src/db.py"), "threading.Lock", "this process only"),
        ),
        "help": "let the database do it: SET balance = balance - %s",
        "teach": '[[tool.noclobber.lock]]\nid = "x"',
        "census": "3 of 4 writers lock this row",
        "values": (("value", "`row[0]`"), ("changed", "`new`")),
        "doubts": frozenset({"maybe-same"}),
    }
    return finding(**{**fields, **more})


FULL = """\
error[RMW101] blind-sql-update: `accounts.balance` is overwritten from an earlier read
 --> src/pay.py:6:5  in transfer()
  |
4 |     row = cur.execute(SELECT)
  |           ------------------- value read here
5 |     new = row[0] - amount
  |     --- new value computed from it
6 |     cur.execute(UPDATE, (new, src))
  |     ^^^^^^^^^^^ written back; WHERE names only the id
  |
  = why: what blind-sql-update is
  = note: 3 of 4 writers lock this row
  = no guard: transaction.atomic (line 3): READ COMMITTED lets both read
  = no guard: threading.Lock (src/db.py:9): this process only
  = two writers:
      A  line 4  reads `row[0]`    accounts.balance: 100
      B  line 4  reads `row[0]`    accounts.balance: 100
      A  line 6  writes `new`      accounts.balance: 90
      B  line 6  writes `new`      accounts.balance: 80
  = help: let the database do it: SET balance = balance - %s
  = also: check-then-act, unchecked-rowcount
  = teach: if this is guarded where noclobber cannot see it:
    [[tool.noclobber.lock]]
    id = "x"
  = confidence: medium (the two keys are not provably the same) · noclobber rule RMW101 · URL

1 finding (1 error) · 1 file, 1 analysed, 0 failed · 2.1 s
"""


def test_full() -> None:
    settled = judge(full_finding(), finding("unchecked-rowcount"), finding("check-then-act"), preview=True)
    expected = FULL.replace("URL", settled.findings[0].url)
    assert text("full", settled, seconds=2.13) == expected


def test_full_without_footer_is_findings_only() -> None:
    assert text("full", judge(), footer=False) == ""
    assert text("full", judge()) == "no findings · 1 file, 1 analysed, 0 failed\n"


def test_interleaving_is_told_once_for_a_rule() -> None:
    shown = text("full", judge(finding(), finding(line=5), finding("stale-retry", line=3)))
    assert shown.count("= two writers:") == 1


def test_preview_is_marked() -> None:
    assert "= confidence: high · preview · noclobber rule RMW401" in text("full", judge(finding("stale-retry")))


def test_suppressed_on_request() -> None:
    settled = judge(finding(line=1, statement=(1, 1)), lines=["x  # noclobber: ignore[RMW101] -- nightly"])
    assert text("full", settled, footer=False) == ""
    shown = text("full", settled, show_suppressed=True)
    assert shown.startswith("suppressed error[RMW101] blind-sql-update: ")
    assert "  = suppressed: by the comment on line 1: nightly\n" in shown
    assert shown.endswith("no findings · 1 suppressed · 1 file, 1 analysed, 0 failed\n")


def test_failure() -> None:
    shown = text(
        "full", judge(failures=(Failure("RMW001", "src/pay.py", 3, "not Python: invalid syntax"),)), footer=False
    )
    assert shown == (
        "error[RMW001] unparsable-file: not Python: invalid syntax\n"
        " --> src/pay.py:3:1\n  |\n3 |     check(amount)\n  | ^\n  |\n"
        "  = more: noclobber rule RMW001\n\n"
    )


def test_places_in_another_file_and_in_none() -> None:
    other = {"src/pay.py": LINES, "src/db.py": ["def load(cur):", "    return cur.fetchone()"]}
    found = finding(
        related=(
            Related("read", place(2, 12, 26, "src/db.py"), "read here"),
            Related("lock", place(7, 1, 2, "gone.py"), "locked"),
        )
    )
    shown = text("full", judge(found), other.get)
    assert (
        " ::: src/db.py:2:12\n  |\n2 |     return cur.fetchone()\n  |            -------------- read here\n  |\n"
        in shown
    )
    assert "gone.py" not in shown
    shown = text("full", judge(finding()), lambda path: None)
    assert " --> src/pay.py:6:5  in transfer()\n  = value read here (line 4)\n  = why:" in shown


def snippet(source: str, start: int, end: int, end_line: int = 1) -> list[str]:
    found = finding(line=1, related=())
    found = replace(found, place=replace(found.place, column=start, end_column=end, end_line=end_line))
    rows = text("full", judge(found), [source, "next"], footer=False).split("\n")
    return rows[3:5]


@pytest.mark.parametrize(
    ("source", "start", "end", "shown"),
    [
        ("\tsave(x)", 2, 6, ["1 |     save(x)", "  |     ^^^^"]),
        ("a\tb = save()", 7, 11, ["1 | a    b = save()", "  |          ^^^^"]),
        ("s = '日本'; save()", 11, 15, ["1 | s = '日本'; save()", "  |             ^^^^"]),
        ("s = 'é\u0301'; save()", 11, 15, ["1 | s = 'é\u0301'; save()", "  |          ^^^^"]),
        ("x = '日本'", 5, 9, ["1 | x = '日本'", "  |     ^^^^^^"]),
        ("s = '\x1b[31m'; save()", 14, 18, ["1 | s = '\ufffd[31m'; save()", "  |              ^^^^"]),
        ("save(\u202ex)", 1, 5, ["1 | save(\ufffdx)", "  | ^^^^"]),
        ("\fsave()", 2, 6, ["1 | save()", "  | ^^^^"]),
        ("x", 5, 9, ["1 | x", "  |  ^"]),
    ],
)
def test_carets_stand_below_what_they_mean(source: str, start: int, end: int, shown: list[str]) -> None:
    assert snippet(source, start, end) == shown


def test_a_place_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    assert snippet("save(  ", 1, 3, end_line=2) == ["1 | save(", "  | ^^^^^"]


def test_a_very_long_line_is_cut_around_what_is_marked() -> None:
    source = "a" * 500 + "save()" + "b" * 500
    line, caret = snippet(source, 501, 505)
    assert line.startswith("1 | … aaa") and line.endswith("b …") and len(line) < 180
    assert line[caret.index("^") :][:4] == "save" and caret.count("^") == 4


def test_short_gaps_are_bridged_and_long_ones_shown_as_such() -> None:
    read = Related("read", place(1, 1, 5), "read here")

    def gap(size: int) -> str:
        source = ["read()", *(f"step({number})" for number in range(size)), "save()"]
        found = replace(finding(related=(read,)), place=place(size + 2, 1, 5))
        return text("full", judge(found), lambda path: source).split("\n   |\n")[0].split("\n  |\n")[1]

    head, tail = "1 | read()\n  | ---- read here\n", "save()\n  | ^^^^"
    assert gap(0) == f"{head}2 | {tail}"
    assert gap(1) == f"{head}2 | step(0)\n3 | {tail}"
    assert gap(2) == f"{head}2 | step(0)\n3 | step(1)\n4 | {tail}"
    assert gap(3) == f"{head}...\n5 | {tail}"


def test_blank_and_long_lines_between_are_cut() -> None:
    read = Related("read", place(1, 1, 5), "read here")
    source = ["read()", "", "x" * 300, "save()"]
    shown = text("full", judge(replace(finding(related=(read,)), place=place(4, 1, 5))), lambda path: source).split("\n")
    assert "2 |" in shown and "3 | " + "x" * 160 + " …" in shown


def test_a_script_has_no_function() -> None:
    assert "--> src/pay.py:6:5  at module level\n" in text("full", judge(finding(function="<module>")))
    assert "--> src/pay.py:6:5  in transfer()\n" in text("full", judge(finding(function="transfer")))


def test_message_cannot_break_out_of_its_line() -> None:
    assert "a b \ufffd[2Jc" in text("full", judge(finding(message="a\nb \x1b[2Jc")))
    assert text("concise", judge(finding(message="a\nb"))) == "src/pay.py:6:5: RMW101 a b (blind-sql-update)\n"


def test_many_findings_end_with_a_table() -> None:
    settled = judge(*(finding(line=line) for line in range(1, 51)), finding("stale-retry", line=99))
    shown = text("full", settled)
    assert shown.endswith(
        "50  RMW101  blind-sql-update\n 1  RMW401  stale-retry       preview\n\n"
        "Start with the surest: --min-confidence high; or with one rule: --select CODE\n"
        "51 findings (51 errors) · 1 file, 1 analysed, 0 failed\n"
    )
    assert "Start with" not in text("full", judge(*(finding(line=line) for line in range(1, 51))))


def test_summary_names_what_there_is() -> None:
    fixes = [replace(finding(line=n), fix=Fix(kind, "t", ())) for n, kind in ((1, "safe"), (2, "unsafe"))]
    settled = judge(
        *fixes, finding("blind-accessor-write", line=3), finding(line=5, doubts=frozenset({"process-lock"}))
    )
    settled.summary.baselined = 12
    assert (
        report.summary(settled)
        == "3 findings (2 errors, 1 warning) · 12 baselined · 1 safe fix, 1 unsafe · 1 file, 1 analysed, 0 failed"
    )
    assert report.summary(settled, 0.04, details=True) == (
        "3 findings (2 errors, 1 warning) · 12 baselined · 1 safe fix, 1 unsafe · 1 below the confidence asked for · "
        "1 file, 1 analysed, 0 failed · 0.0 s"
    )


def test_concise() -> None:
    fixes = [replace(finding(line=n), fix=Fix(kind, "t", ())) for n, kind in ((1, "safe"), (2, "unsafe"))]
    assert text("concise", judge(*fixes, finding(line=3))) == (
        "src/pay.py:1:5: RMW101 [*] `accounts.balance` is overwritten from an earlier read (blind-sql-update)\n"
        "src/pay.py:2:5: RMW101 [?] `accounts.balance` is overwritten from an earlier read (blind-sql-update)\n"
        "src/pay.py:3:5: RMW101 `accounts.balance` is overwritten from an earlier read (blind-sql-update)\n"
    )
    settled = judge(finding(line=1, statement=(1, 1)), lines=["x  # noclobber: ignore[RMW101] -- nightly"])
    assert text("concise", settled, show_suppressed=True).endswith(" (blind-sql-update) [suppressed, line 1]\n")


def test_json_is_the_documented_document() -> None:
    found = full_finding(fix=Fix("unsafe", "use F()", (Edit((6, 5), (6, 9), "é"),)))
    settled = judge(found, failures=(Failure("RMW001", "src/pay.py", 2, "bad"),))
    document = json.loads(text("json", settled))
    assert list(document) == ["version", "findings", "errors", "summary"]
    assert document["version"] == 1
    assert document["errors"] == [{"code": "RMW001", "path": "src/pay.py", "line": 2, "message": "bad"}]
    assert document["summary"] == {
        "files": 1,
        "analysed": 1,
        "failed": 1,
        "findings": {"error": 2, "warning": 0, "info": 0},
        "suppressed": 0,
        "baselined": 0,
        "fixable": 0,
        "unsafe_fixable": 1,
    }
    failed, shown = document["findings"]
    assert (failed["code"], failed["name"], failed["severity"]) == ("RMW001", "unparsable-file", "error")
    assert shown == {
        "code": "RMW101",
        "name": "blind-sql-update",
        "also": [],
        "severity": "error",
        "confidence": "medium",
        "level": "recommended",
        "message": "`accounts.balance` is overwritten from an earlier read",
        "path": "src/pay.py",
        "line": 6,
        "column": 5,
        "end_line": 6,
        "end_column": 16,
        "function": "transfer",
        "record": "accounts.balance",
        "related": [
            {
                "role": "read",
                "path": "src/pay.py",
                "line": 4,
                "column": 11,
                "end_line": 4,
                "end_column": 30,
                "message": "value read here",
            },
            {
                "role": "change",
                "path": "src/pay.py",
                "line": 5,
                "column": 5,
                "end_line": 5,
                "end_column": 8,
                "message": "new value computed from it",
            },
            {
                "role": "write",
                "path": "src/pay.py",
                "line": 6,
                "column": 5,
                "end_line": 6,
                "end_column": 16,
                "message": "written back; WHERE names only the id",
            },
        ],
        "guards": [
            {"path": "src/pay.py", "line": 3, "kind": "transaction.atomic", "why_not": "READ COMMITTED lets both read"},
            {"path": "src/db.py", "line": 9, "kind": "threading.Lock", "why_not": "this process only"},
        ],
        "interleaving": [
            {"worker": "A", "line": 4, "text": "reads `row[0]`", "state": "accounts.balance: 100"},
            {"worker": "B", "line": 4, "text": "reads `row[0]`", "state": "accounts.balance: 100"},
            {"worker": "A", "line": 6, "text": "writes `new`", "state": "accounts.balance: 90"},
            {"worker": "B", "line": 6, "text": "writes `new`", "state": "accounts.balance: 80"},
        ],
        "help": "let the database do it: SET balance = balance - %s",
        "teach": '[[tool.noclobber.lock]]\nid = "x"',
        "fix": {
            "applicability": "unsafe",
            "title": "use F()",
            "reason": "",
            "edits": [{"start": {"line": 6, "column": 5}, "end": {"line": 6, "column": 9}, "text": "é"}],
        },
        "fingerprint": settled.findings[1].fingerprint,
        "suppressed": None,
        "url": settled.findings[1].url,
    }


def test_json_of_suppressed_and_of_odd_paths() -> None:
    settled = judge(finding(line=1, statement=(1, 1)), lines=["x  # noclobber: ignore[RMW101] -- nightly"])
    assert json.loads(text("json", settled))["findings"] == []
    (shown,) = json.loads(text("json", settled, show_suppressed=True))["findings"]
    assert shown["suppressed"] == {"kind": "pragma", "reason": "nightly", "line": 1}
    assert text("json", judge(finding(path="\udcff.py"))).isascii()


@pytest.mark.parametrize("name", ["full", "concise"])
def test_colour_changes_no_text_and_nothing_is_wrapped_or_read_as_markup(name: str) -> None:
    message = "`d[key]` [red]x[/red] [/x] :warning: " + "long " * 60
    settled = judge(full_finding(message=message))
    plain, colored = text(name, settled), text(name, settled, color=True)
    assert "\x1b[" in colored and "\x1b[" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_plain_text_imports_no_rich() -> None:
    probe = (
        "import io, sys; from noclobber import report; from noclobber.verdict import Settled, Summary;"
        "[report.write(name, Settled((), (), (), 0, Summary(), {}), io.StringIO(), {}.get) for name in report.FORMATS];"
        "print(any(name.split('.')[0] == 'rich' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "False\n"


def test_unknown_format() -> None:
    with pytest.raises(KeyError):
        report.write("pdf", judge(), io.StringIO(), {}.get)
