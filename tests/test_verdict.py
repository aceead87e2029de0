"""What is shown, in which order it is decided, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import fake_rules, finding, place, result  # noqa: F401

from noclobber.config import Config, Resolver
from noclobber.engine import Item
from noclobber.finding import CAPS, DOUBTS, Failure, Fix, Guard
from noclobber.suppress import Noqa, scan
from noclobber.verdict import Settled, confidence_of, settle

pytestmark = pytest.mark.usefixtures("fake_rules")


def config(**overrides: Any) -> Config:
    return Resolver(
        {key.replace("_", "-"): value for key, value in overrides.items()}, isolated=True, cwd="/nowhere"
    ).for_path("a.py")


def judge(
    *findings: Any,
    lines: list[str] | None = None,
    noqa: dict | None = None,
    failures: tuple = (),
    whole: bool = False,
    no_ignores: bool = False,
    **overrides: Any,
) -> Settled:
    item = Item(result(*findings, failures=failures), config(**overrides), scan(lines or []), noqa or {})
    return settle([item], whole=whole, no_ignores=no_ignores)


def names(settled: Settled) -> list[str]:
    return [found.name for found in settled.findings]


# --- confidence -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("doubts", "confidence"),
    [
        ((), "high"),
        (("parameter",), "medium"),
        (("parameter", "maybe-same"), "low"),
        (("parameter", "maybe-same", "sql-unread"), ""),
        (("process-lock",), "low"),
        (("process-lock", "parameter"), "low"),
        (("memoised",), "medium"),
        (("memoised", "parameter"), "medium"),
        (("memoised", "parameter", "name-only"), "low"),
        (("pattern-only", "memoised"), "low"),
        (("process-lock", *DOUBTS), ""),
    ],
)
def test_confidence(doubts: tuple[str, ...], confidence: str) -> None:
    assert confidence_of(finding(doubts=frozenset(doubts))) == confidence


def test_every_reason_is_known_and_others_are_an_internal_error() -> None:
    for reason in (*DOUBTS, *CAPS):
        confidence_of(finding(doubts=frozenset({reason})))
    settled = judge(
        finding(doubts=frozenset({"mood"})), finding("no-such-rule"), finding(variant="none"), finding(line=9)
    )
    assert [(error.code, error.line) for error in settled.errors] == [("RMW009", 6)] * 3
    assert sorted(names(settled)) == ["blind-sql-update", "internal-error", "internal-error", "internal-error"]
    assert settled.internal_error and settled.summary.failed == 1


@pytest.mark.parametrize(("least", "shown"), [("low", 3), ("medium", 2), ("high", 1)])
def test_min_confidence(least: str, shown: int) -> None:
    findings = [finding(line=n, doubts=frozenset(list(DOUBTS)[:n])) for n in range(4)]
    settled = judge(*findings, min_confidence=least)
    assert [found.confidence for found in settled.findings] == ["high", "medium", "low"][:shown]
    assert settled.summary.hidden["confidence"] == 4 - shown


# --- selection --------------------------------------------------------------------------------------------------------


def test_rules_that_are_not_selected_are_dropped_and_counted() -> None:
    findings = [
        finding(name, line=line)
        for line, name in enumerate(("blind-sql-update", "blind-file-rewrite", "torn-write", "check-then-act"), 1)
    ]
    settled = judge(*findings)
    assert (names(settled), settled.summary.hidden) == (["blind-sql-update"], {"selection": 3})
    assert names(judge(*findings, preset="strict")) == ["blind-sql-update", "torn-write"]
    assert names(judge(*findings, preset="strict", preview=True)) == [found.name for found in findings]
    assert names(judge(*findings, preview=True)) == ["blind-sql-update", "check-then-act"]
    assert names(judge(*findings, select=["RMW109"])) == ["blind-file-rewrite"]
    assert names(judge(*findings, ignore=["RMW1"])) == []


def test_a_variant_brings_its_own_level_and_severity() -> None:
    settled = judge(finding("orm-full-save", line=1), finding("orm-full-save", line=2, variant="slow"))
    assert [(found.place.line, found.level, found.severity) for found in settled.findings] == [
        (2, "recommended", "warning")
    ]
    settled = judge(finding("orm-full-save", line=1), finding("orm-full-save", line=2, variant="slow"), select=["ALL"])
    assert [(found.level, found.severity) for found in settled.findings] == [
        ("strict", "info"),
        ("recommended", "warning"),
    ]


def test_per_file_ignores() -> None:
    ignores = {"src/*.py": ["blind-sql-update"]}
    settled = settle(
        [
            Item(
                result(finding(path="/nowhere/src/pay.py"), finding("stale-retry", line=1, path="/nowhere/src/pay.py")),
                config(per_file_ignores=ignores),
            )
        ]
    )
    assert (names(settled), settled.summary.hidden) == (["stale-retry"], {"per-file-ignores": 1})


# --- one finding for each write ---------------------------------------------------------------------------------------


def test_precedence_leaves_the_cause_and_names_what_lost() -> None:
    settled = judge(
        finding("unchecked-rowcount"),
        finding("blind-sql-update"),
        finding("check-then-act"),
        finding("stale-retry"),
        preview=True,
    )
    assert [(found.name, found.also) for found in settled.findings] == [
        ("stale-retry", ("blind-sql-update", "check-then-act", "unchecked-rowcount"))
    ]
    assert settled.summary.hidden == {"precedence": 3}


def test_precedence_reaches_through_other_orders() -> None:
    settled = judge(finding("unchecked-rowcount"), finding("blind-sql-update"))
    assert [(found.name, found.also) for found in settled.findings] == [("blind-sql-update", ("unchecked-rowcount",))]


def test_what_was_dropped_before_cannot_win() -> None:
    settled = judge(finding("blind-sql-update"), finding("stale-retry", doubts=frozenset({"process-lock"})))
    assert [(found.name, found.also) for found in settled.findings] == [("blind-sql-update", ())]


@pytest.mark.parametrize("apart", [{"line": 7}, {"column": 9}, {"obj": "orders"}, {"commit": "c2"}])
def test_another_write_object_or_commit_is_another_finding(apart: dict) -> None:
    assert sorted(names(judge(finding("stale-retry"), finding("blind-sql-update", **apart)))) == [
        "blind-sql-update",
        "stale-retry",
    ]


def test_unrelated_rules_stand_side_by_side() -> None:
    settled = judge(finding("stale-retry"), finding("effect-in-retry-loop"), finding("lock-across-network"))
    assert [(found.name, found.also) for found in settled.findings] == [
        ("stale-retry", ()),
        ("effect-in-retry-loop", ("lock-across-network",)),
    ]


def test_the_same_rule_twice_is_one_finding_the_surer() -> None:
    settled = judge(finding(doubts=frozenset({"parameter"}), message="a"), finding(message="b"), finding(message="c"))
    assert [(found.message, found.confidence) for found in settled.findings] == [("b", "high")]
    assert settled.summary.hidden == {"duplicate": 2}


# --- severity, order, numbers -----------------------------------------------------------------------------------------


def test_severity_comes_from_page_variant_settings_and_is_filtered_last() -> None:
    findings = (
        finding(line=1),
        finding("blind-accessor-write", line=2),
        finding("orm-full-save", line=3, variant="slow"),
    )
    assert [found.severity for found in judge(*findings).findings] == ["error", "warning", "warning"]
    settled = judge(*findings, min_severity="error")
    assert (names(settled), settled.summary.hidden) == (["blind-sql-update"], {"severity": 2})


def test_settings_override_severity(tmp_path: Path) -> None:
    (tmp_path / "noclobber.toml").write_text('[severity]\nRMW1 = "info"\n"orm-full-save" = "error"\n')
    own = Resolver(cwd=str(tmp_path)).for_path("a.py")
    findings = (finding(line=1), finding("orm-full-save", line=3, variant="slow"))
    settled = settle([Item(result(*findings), own)])
    assert [found.severity for found in settled.findings] == ["info", "error"]
    assert settled.failing == 1


@pytest.mark.parametrize(("fail_on", "failing"), [("error", 1), ("warning", 2), ("info", 3), ("never", 0)])
def test_fail_on(fail_on: str, failing: int) -> None:
    findings = (finding(line=1), finding("blind-accessor-write", line=2), finding("orm-full-save", line=3))
    settled = judge(*findings, select=["ALL"], fail_on=fail_on)
    assert settled.failing == failing
    assert settled.summary.findings == {"error": 1, "warning": 1, "info": 1}


def test_order_is_path_line_column_code() -> None:
    one = Item(
        result(
            finding("stale-retry", line=2, column=3),
            finding(line=2, column=3, obj="x"),
            finding(line=2, column=1),
            finding(line=1),
        ),
        config(),
    )
    two = Item(result(finding(path="src/a.py", line=9), path="src/a.py"), config())
    settled = settle([one, two])
    assert [(f.place.path, f.place.line, f.place.column, f.code) for f in settled.findings] == [
        ("src/a.py", 9, 5, "RMW101"),
        ("src/pay.py", 1, 5, "RMW101"),
        ("src/pay.py", 2, 1, "RMW101"),
        ("src/pay.py", 2, 3, "RMW101"),
        ("src/pay.py", 2, 3, "RMW401"),
    ]


def test_a_shown_finding_is_complete() -> None:
    (found,) = judge(finding(values=(("value", "`row[0]`"), ("changed", "`new`")))).findings
    assert (found.code, found.severity, found.confidence, found.level) == ("RMW101", "error", "high", "recommended")
    assert [(step.worker, step.line, step.text, step.state) for step in found.interleaving] == [
        ("A", 4, "reads `row[0]`", "accounts.balance: 100"),
        ("B", 4, "reads `row[0]`", "accounts.balance: 100"),
        ("A", 6, "writes `new`", "accounts.balance: 90"),
        ("B", 6, "writes `new`", "accounts.balance: 80"),
    ]
    assert len(found.fingerprint) == 16
    assert found.url.endswith("/rules/catalog/blind-sql-update.md")


def test_fingerprint_does_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noclobber.toml").write_text("")
    (tmp_path / "src").mkdir()

    def printed(directory: Path, path: str) -> str:
        monkeypatch.chdir(directory)
        return settle([Item(result(finding(path=path), path=path), Resolver().for_path(path))]).findings[0].fingerprint

    assert (
        printed(tmp_path, "src/pay.py")
        == printed(tmp_path / "src", "pay.py")
        == printed(Path("/"), str(tmp_path / "src" / "pay.py"))
    )


def test_numbers() -> None:
    fixes = [replace(finding(line=n), fix=Fix(kind, "t", ())) for n, kind in ((1, "safe"), (2, "unsafe"), (3, "safe"))]
    settled = settle(
        [
            Item(result(*fixes, analysed=1), config()),
            Item(result(path="b.py", failures=[Failure("RMW001", "b.py", 3, "bad")]), config()),
            Item(result(path="c.py"), config()),
        ]
    )
    numbers = settled.summary
    assert (
        numbers.files,
        numbers.analysed,
        numbers.failed,
        numbers.fixable,
        numbers.unsafe_fixable,
        numbers.total,
    ) == (3, 1, 1, 2, 1, 4)


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [{}, {"ignore": ["RMW0"]}, {"select": ["RMW5"]}, {"min_severity": "error"}, {"per_file_ignores": {"*": ["ALL"]}}],
)
def test_failures_are_findings_that_nothing_silences(overrides: dict) -> None:
    lines = ["# noclobber: ignore-file[RMW0]", "x  # noqa: RMW001"]
    failures = (
        Failure("RMW001", "src/pay.py", 2, "not Python: x"),
        Failure("RMW009", "src/pay.py", 0, "internal error"),
    )
    settled = judge(lines=lines, failures=failures, noqa={2: Noqa(("RMW001",))}, **overrides)
    assert [
        (f.code, f.name, f.severity, f.place.line, f.suppressed) for f in settled.findings if f.code != "RMW002"
    ] == [
        ("RMW009", "internal-error", "error", 1, None),
        ("RMW001", "unparsable-file", "error", 2, None),
    ]
    assert settled.errors == (failures[1], failures[0])
    assert settled.failing == 2


# --- comments ---------------------------------------------------------------------------------------------------------


def test_a_comment_silences_and_is_counted() -> None:
    lines = ["x", "x", "x", "x", "x", "x  # noclobber: ignore[RMW101] -- nightly"]
    settled = judge(finding(), lines=lines)
    assert (settled.findings, settled.summary.suppressed, settled.failing) == ((), 1, 0)
    assert settled.suppressed[0].suppressed == ("pragma", "nightly", 6)
    assert names(judge(finding(), lines=lines, no_ignores=True)) == ["blind-sql-update"]


def test_noqa_silences_the_code_that_is_reported() -> None:
    settled = judge(finding(), noqa={6: Noqa(("RMW101",))})
    assert settled.findings == () and settled.suppressed[0].suppressed == ("noqa", "", 6)
    assert names(judge(finding(), noqa={6: Noqa(("RMW401",))})) == ["blind-sql-update"]
    assert names(judge(finding(), noqa={6: Noqa(())})) == ["blind-sql-update"]
    assert names(judge(finding(), noqa={6: Noqa(())}, respect_noqa="all")) == []
    assert names(judge(finding(), noqa={6: Noqa(("RMW101",))}, respect_noqa="none")) == ["blind-sql-update"]
    assert names(judge(finding(), noqa={6: Noqa(("RMW101",))}, no_ignores=True)) == ["blind-sql-update"]


def told(settled: Settled) -> list[tuple[str, int, int, str]]:
    return [(f.code, f.place.line, f.place.column, f.message) for f in settled.findings]


def test_unused_comment() -> None:
    assert told(judge(lines=["x  # noclobber: ignore[RMW101, RMW501]"])) == [
        ("RMW002", 1, 4, "this suppression silences nothing (`RMW101`, `RMW501`)"),
    ]


def test_a_comment_for_what_another_run_shows_is_not_unused() -> None:
    line = "x  # noclobber: ignore[RMW101, RMW501]"
    shaky = [finding(line=1, doubts=frozenset({"process-lock"})), finding("effect-in-retry-loop", line=1)]
    assert told(judge(*shaky, lines=[line])) == []
    assert told(judge(*shaky, lines=[line], select=["RMW101"])) == []
    assert (
        told(
            judge(
                finding("lock-across-network", line=1),
                finding("effect-in-retry-loop", line=1),
                lines=["x  # noclobber: ignore[RMW501,RMW601]"],
            )
        )
        == []
    )


def test_a_comment_for_a_rule_that_did_not_run_is_not_judged() -> None:
    assert told(judge(lines=["x  # noclobber: ignore[RMW109]"])) == []
    assert [code for code, *_ in told(judge(lines=["x  # noclobber: ignore[RMW109]"], extend_select=["RMW109"]))] == [
        "RMW002"
    ]


def test_project_rules_are_judged_in_whole_runs_only() -> None:
    assert told(judge(lines=["x  # noclobber: ignore[RMW106]"])) == []
    assert [code for code, *_ in told(judge(lines=["x  # noclobber: ignore[RMW106]"], whole=True))] == ["RMW002"]


def test_nothing_is_unused_in_a_file_that_failed() -> None:
    settled = judge(lines=["x  # noclobber: ignore[RMW101]"], failures=(Failure("RMW001", "src/pay.py", 1, "bad"),))
    assert [f.code for f in settled.findings] == ["RMW001"]


def test_reason_is_asked_for_in_strict_and_on_request() -> None:
    lines = ["x  # noclobber: ignore[RMW101]", "y  # noclobber: ignore[RMW101] -- r"]
    findings = (finding(line=1), finding(line=2))
    assert told(judge(*findings, lines=lines)) == []
    expected = [("RMW003", 1, 4, "this suppression says no reason; add `-- reason`")]
    assert told(judge(*findings, lines=lines, require_reason=True)) == expected
    assert told(judge(*findings, lines=lines, preset="strict", preview=True)) == expected


def test_malformed_comments() -> None:
    lines = [
        "x  # noclobber: ignore",
        "y  # noclobber: ignore[blind-sql-updat]",
        "z  # noclobber: ignore[RMW001]",
        "a  # noclobber: ignore[RMW1O1]",
    ]
    assert told(judge(lines=lines)) == [
        ("RMW004", 1, 4, "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        ("RMW004", 2, 4, "unknown rule `blind-sql-updat`; did you mean `blind-sql-update`?"),
        ("RMW004", 3, 4, "`RMW001` cannot be suppressed; exclude the file instead"),
        ("RMW004", 4, 4, "unknown rule `RMW1O1`; did you mean `RMW101`?"),
    ]


def test_a_comment_cannot_silence_the_complaint_about_itself_but_another_can() -> None:
    assert [code for code, *_ in told(judge(lines=["x  # noclobber: ignore[RMW101, RMW002]"]))] == ["RMW002", "RMW002"]
    settled = judge(lines=["# noclobber: ignore-file[RMW002] -- moving", "x  # noclobber: ignore[RMW101]"])
    assert (settled.findings, settled.summary.suppressed) == ((), 1)
    settled = judge(lines=["# noclobber: ignore[RMW002] -- soon", "# noclobber: ignore[RMW101]", "x"])
    assert (settled.findings, settled.summary.suppressed) == ((), 1)
    assert [(code, line) for code, line, *_ in told(judge(lines=["# noclobber: ignore[RMW002] -- soon", "x"]))] == [
        ("RMW002", 1)
    ]


def test_own_rules_obey_the_settings() -> None:
    assert told(judge(lines=["x  # noclobber: ignore[RMW101]"], ignore=["RMW002"])) == []
    assert told(judge(lines=["x  # noclobber: ignore[RMW101]"], no_ignores=True)) == []
    settled = settle(
        [
            Item(
                result(path="/nowhere/a.py"),
                config(per_file_ignores={"a.py": ["RMW0"]}),
                scan(["x  # noclobber: ignore[RMW101]"]),
            )
        ]
    )
    assert settled.findings == ()


def test_guards_and_places_travel_unchanged() -> None:
    guard = Guard(place(5), "transaction.atomic", "READ COMMITTED")
    (found,) = judge(finding(guards=(guard,), census="3 of 4 writers lock")).findings
    assert (found.guards, found.census, found.related) == ((guard,), "3 of 4 writers lock", finding().related)
