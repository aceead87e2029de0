"""The interleaving and the fingerprint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import TIMELINE, finding, place

from noclobber.finding import DOUBTS, Related, Step, fill, fingerprint, interleaving, normalised, told
from noclobber.verdict import confidence_of


def test_interleaving_uses_the_codes_own_names_and_lines() -> None:
    found = finding(values=(("value", "`row[0]`"), ("changed", "`new`"), ("record", "balance")))
    assert interleaving(TIMELINE, found) == (
        Step("A", 4, "reads `row[0]`", "balance: 100"),
        Step("B", 4, "reads `row[0]`", "balance: 100"),
        Step("A", 6, "writes `new`", "balance: 90"),
        Step("B", 6, "writes `new`", "balance: 80"),
    )


def test_interleaving_has_words_for_what_the_finding_does_not_know() -> None:
    found = finding(related=(), record="")
    assert interleaving(TIMELINE[::2], found) == (
        Step("A", None, "reads the value", "the record: 100"),
        Step("A", 6, "writes the new value", "the record: 90"),
    )


def test_interleaving_takes_source_text_for_the_role() -> None:
    steps = interleaving((("A", "read", "runs {read}", ""), ("A", "", "then {write}", "")), finding())
    assert steps[0].text == "runs `row = cur.execute(SELECT)`"
    assert steps[1].text == 'then `cur.execute(UPDATE, (new, "x"))`'


def test_interleaving_names_a_place_in_another_file() -> None:
    found = finding(related=(Related("read", place(12, path="src/db.py"), "read"),))
    assert interleaving((("A", "read", "reads", ""),), found) == (Step("A", None, "reads (src/db.py:12)", ""),)


@pytest.mark.parametrize(
    ("text", "filled"),
    [("{a} and {b}", "1 and {b}"), ("{'x': {a}}", "{'x': 1}"), ("{a", "{a"), ("{}", "{}"), ("{c}", "{a}"), ("", "")],
)
def test_fill(text: str, filled: str) -> None:
    assert fill(text, {"a": "1", "c": "{a}"}) == filled


@pytest.mark.parametrize(
    "text",
    [
        "cur.execute(UPDATE, (new, 'x'))",
        'cur.execute(\n    UPDATE,\n    (new, "x"),\n)',
        'cur.execute(UPDATE, (new, "x"))  # why',
        'cur.execute( UPDATE,(new,"x") )',
    ],
)
def test_fingerprint_survives_a_formatter_and_moved_lines(text: str) -> None:
    base = fingerprint(finding(), "write")
    assert len(base) == 16
    assert fingerprint(finding(line=60, column=1, write_text=text, message="other words"), "write") == base


@pytest.mark.parametrize(
    "change",
    [{"function": "pay"}, {"record": "accounts.limit"}, {"write_text": "cur.execute(X)"}, {"path": "src/x.py"}],
)
def test_fingerprint_differs(change: dict) -> None:
    assert fingerprint(replace(finding(), **change), "write") != fingerprint(finding(), "write")


def test_fingerprint_belongs_to_the_group_and_the_given_path() -> None:
    assert fingerprint(finding("blind-sql-update"), "write") == fingerprint(finding("stale-retry"), "write")
    assert fingerprint(finding(), "effect") != fingerprint(finding(), "write")
    assert fingerprint(finding(path="../a/src/pay.py"), "write", "src/pay.py") == fingerprint(finding(), "write")


def test_normalised_keeps_what_is_no_python() -> None:
    assert normalised("accounts.balance [id = ?] 'open") == "accounts.balance [id = ?] 'open"
    assert normalised("a  =\t'b") == "a = 'b"
    assert normalised("") == ""


def test_an_exception_is_told_on_one_line_with_its_place() -> None:
    with pytest.raises(KeyError) as caught:
        confidence_of(finding(doubts=frozenset({"a\nb"})))
    assert "a\nb" not in DOUBTS
    assert told(caught.value).startswith("KeyError, 'unknown reason for doubt: a\\nb' (verdict.py, line ")
    assert told(ValueError("x\ny")) == "ValueError, x y"
    assert told(ValueError()) == "ValueError"
