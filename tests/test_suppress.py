"""Comments: where they count, what is wrong with them."""

from __future__ import annotations

import re

import pytest
from fakes import finding, rules

from noclobber.suppress import Noqa, Pragma, Pragmas, noqa_on, scan
from noclobber.verdict import named


def pragma(text: str) -> Pragma:
    (found,) = scan([text])
    return found


def work(lines: list[str]) -> Pragmas:
    pages = rules().pages
    return Pragmas(scan(lines), pages, lambda selector: named(selector, pages))


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "selectors", "reason"),
    [
        ("# noclobber: ignore[RMW101] -- nightly job", ("RMW101",), "nightly job"),
        ("# noclobber:ignore[RMW101,blind-sql-update]--one writer", ("RMW101", "blind-sql-update"), "one writer"),
        ("#noclobber: ignore [ RMW1 , RMW203 ]", ("RMW1", "RMW203"), ""),
        ("# noqa: E501  # noclobber: ignore[RMW101] -- why -- more", ("RMW101",), "why -- more"),
        ("# noclobber: ignore[RMW101] -- see #42 # noqa: E501", ("RMW101",), "see #42"),
        ("# noclobber: ignore[RMW101]  # type: ignore[x]", ("RMW101",), ""),
        ("# noclobber: ignore[RMW101] --", ("RMW101",), ""),
    ],
)
def test_well_formed(comment: str, selectors: tuple[str, ...], reason: str) -> None:
    found = pragma(f"x = 1  {comment}")
    assert (found.selectors, found.reason, found.problem, found.whole, found.target) == (
        selectors,
        reason,
        "",
        False,
        0,
    )


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# noclobber: ignore", "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        ("# noclobber: ignore[]", "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        ("# noclobber: ignore RMW101", "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        ("# noclobber: ignore[RMW101 -- x", "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        ("# noclobber: disable[RMW101]", "`disable` is no noclobber comment; write `ignore[RMW101] -- reason`"),
        ("# noclobber:", "write `ignore[RMW101] -- reason`"),
        ("# noclobber: ignore-file[RMW101]", "`ignore-file` must stand in the first comment block of the file"),
    ],
)
def test_malformed_silences_nothing(comment: str, problem: str) -> None:
    found = pragma(f"x = 1  {comment}")
    assert (found.problem, found.selectors) == (problem, ())


def test_reason_without_dashes_is_told_but_counts() -> None:
    found = pragma("x = 1  # noclobber: ignore[RMW101] because")
    assert (found.problem, found.selectors) == ("a reason must follow `--`", ("RMW101",))


def test_columns_are_characters() -> None:
    found = pragma("é = '𐐀'  # noclobber: ignore[RMW101]  ")
    assert (found.line, found.column, found.end) == (1, 10, 37)
    assert pragma("x  # noqa # noclobber: ignore[RMW1]").column == 11


def test_strings_hold_no_comments() -> None:
    assert scan(['x = "# noclobber: ignore[RMW101]"', "y = '''", "# noclobber: ignore[RMW101]", "'''"]) == ()


@pytest.mark.parametrize(
    ("lines", "found_on"),
    [
        (["def f(:", "    x = (  # noclobber: ignore[RMW101]"], [2]),  # never closed
        (["if x:", "        a", "   b  # noclobber: ignore[RMW101]"], [3]),  # no such indentation
        (["x = 'abc", "y = 1  # noclobber: ignore[RMW101]"], [2]),  # string not closed
        (['x = """', "# noclobber: ignore[RMW101]"], []),
        (["x = $ ?  # noclobber: ignore[RMW101]"], [1]),
        (["\f", "x = 1  # noclobber: ignore[RMW101]"], [2]),
        (["\fx = 1  # noclobber: ignore[RMW101]"], [1]),
        ([], []),
    ],
)
def test_scan_never_raises(lines: list[str], found_on: list[int]) -> None:
    assert [found.line for found in scan(lines)] == found_on


def test_ignore_file_counts_in_the_first_comment_block_only() -> None:
    lines = [
        "#!/usr/bin/python",
        "",
        "# noclobber: ignore-file[RMW1] -- generated",
        "import x",
        "# noclobber: ignore-file[RMW2]",
    ]
    assert [(found.whole, bool(found.problem)) for found in scan(lines)] == [(True, False), (True, True)]
    assert scan(['"""doc"""', "# noclobber: ignore-file[RMW1]"])[0].problem


def test_own_line_comments_point_at_the_statement_below() -> None:
    lines = [
        "# noclobber: ignore[RMW101]",
        "# more",
        "x = 1",  # 3
        "# noclobber: ignore[RMW101]",
        "",
        "y = 2",  # a blank line between: nothing
        "if x:",
        "    # noclobber: ignore[RMW101]",
        "    @deco",
        "    def f(): pass",  # 9
        "    # noclobber: ignore[RMW101]",
        "z = 1",  # other indentation: nothing
        "# noclobber: ignore[RMW101]",  # the end: nothing
    ]
    assert [(found.line, found.target) for found in scan(lines)] == [(1, 3), (4, 0), (8, 9), (11, 0), (13, 0)]


# --- counting ---------------------------------------------------------------------------------------------------------


LONG = ["a = 1", "cur.execute(", "    UPDATE,", "    (new, key),", ")", "b = 2"]


@pytest.mark.parametrize(
    ("line", "silenced"),
    [(1, False), (2, True), (3, True), (4, True), (5, True), (6, False)],
)
def test_trailing_comment_on_any_line_of_the_statement(line: int, silenced: bool) -> None:
    lines = list(LONG)
    lines[line - 1] += "  # noclobber: ignore[RMW101] -- r"
    assert work(lines).silencing(finding(line=2, statement=(2, 5))) == (("pragma", "r", line) if silenced else None)


@pytest.mark.parametrize(("before", "silenced"), [(2, True), (3, True), (5, True), (1, False), (6, False)])
def test_own_line_comment_above_or_inside(before: int, silenced: bool) -> None:
    lines = list(LONG)
    indent = re.match(" *", lines[before - 1])[0]  # type: ignore[index]
    lines.insert(before - 1, f"{indent}# noclobber: ignore[RMW101]")
    start, end = (3, 6) if before <= 2 else (2, 6) if before <= 5 else (2, 5)
    assert (work(lines).silencing(finding(line=start, statement=(start, end))) is not None) is silenced


def test_comment_above_the_decorators() -> None:
    lines = ["# noclobber: ignore[RMW401]", "@retry", "@other", "def f():", "    save()"]
    assert work(lines).silencing(finding("stale-retry", line=4, statement=(2, 4)))
    assert work(lines).silencing(finding("stale-retry", line=5, statement=(5, 5))) is None


def test_statement_defaults_to_the_place() -> None:
    assert work(["x  # noclobber: ignore[RMW101]"]).silencing(finding(line=1, statement=(0, 0)))


@pytest.mark.parametrize(
    ("selector", "silenced"),
    [
        ("RMW101", True),
        ("blind-sql-update", True),
        ("RMW1", True),
        ("RMW301", True),
        ("stale-retry", True),
        ("RMW4", True),
        ("orm-full-save", True),
        ("RMW404", False),
        ("RMW5", False),
        ("RMW601", False),
        ("RMW002", False),
        ("RMW", False),
        ("ALL", False),
        ("rmw101", False),
        ("RMW999", False),
    ],
)
def test_any_rule_of_the_group_silences_the_write(selector: str, silenced: bool) -> None:
    assert (work([f"x  # noclobber: ignore[{selector}]"]).silencing(finding(line=1)) is not None) is silenced


def test_whole_file() -> None:
    pragmas = work(["# noclobber: ignore-file[RMW101] -- gen", "x"])
    assert pragmas.silencing(finding(line=99)) == ("pragma", "gen", 1)
    assert pragmas.silencing(finding("effect-in-retry-loop", line=99)) is None


def test_unused_is_told_by_selector_and_only_for_rules_that_ran() -> None:
    pragmas = work(
        [
            "x  # noclobber: ignore[RMW101, RMW501, RMW601]",
            "y  # noclobber: ignore[RMW109]",
            "z  # noclobber: ignore[RMW002]",
        ]
    )
    pragmas.silencing(finding(line=1))
    ran = {
        "blind-sql-update": True,
        "effect-in-retry-loop": True,
        "lock-across-network": False,
        "unused-suppression": True,
    }
    assert [(p.line, s) for p, s in pragmas.unused(False, ran.get)] == [(1, ("RMW501",))]
    assert [(p.line, s) for p, s in pragmas.unused(True, ran.get)] == [(3, ("RMW002",))]


def test_malformed_names_the_nearest() -> None:
    pragmas = work(
        [
            "x  # noclobber: ignore[RMW101, RMV101]",
            "y  # noclobber: ignore",
            "z  # noclobber: ignore[RMW001]",
            "# noclobber: ignore[RMW0]",
        ]
    )
    assert [(p.line, text) for p, text in pragmas.malformed("unknown {}".format)] == [
        (1, "unknown RMV101"),
        (2, "`ignore` needs codes or names in brackets: `ignore[RMW101] -- reason`"),
        (3, "`RMW001` cannot be suppressed; exclude the file instead"),
    ]


def test_own_findings_are_silenced_by_name_and_never_by_their_own_comment() -> None:
    pragmas = work(["x  # noclobber: ignore[RMW101, RMW002]"])
    (comment,) = scan(["x  # noclobber: ignore[RMW101, RMW002]"])
    own = finding("unused-suppression", line=1, column=comment.column)
    assert pragmas.silencing(own) is None
    assert pragmas.silencing(finding("unused-suppression", line=1, column=99)) is not None
    assert pragmas.silencing(finding("malformed-suppression", line=1, column=99)) is None


# --- noqa -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("x  # noqa: RMW101", ("RMW101",)),
        ("x  # noqa: RMW101 -- why", ("RMW101",)),
        ("x  # noqa:RMW101", ("RMW101",)),
        ("x  # noqa", ()),
        ("x  # noqa:  RMW101", ()),
        ("x  # noqa : RMW101", ()),
        ("x  # noqa: blind-sql-update", ()),
        ("x  # NoQA: rmw101", ("RMW101",)),
        ("x  # noqa: E501, RMW101", ("E501", "RMW101")),
        ("x  # noqa: E501 RMW1", ("E501", "RMW1")),
        ("x  # noclobber: ignore[RMW101]  # noqa: E501", ("E501",)),
        ("x  #noqa: RMW101", None),
        ("x", None),
    ],
)
def test_noqa_as_flake8_reads_it(line: str, codes: tuple[str, ...] | None) -> None:
    assert noqa_on(line) == (None if codes is None else Noqa(codes))


@pytest.mark.parametrize(
    ("codes", "respect", "silenced"),
    [
        (("RMW101",), "codes", True),
        (("RMW1",), "codes", True),
        (("RMW301",), "codes", False),
        ((), "codes", False),
        ((), "all", True),
        (("RMW101",), "none", False),
        (("E501",), "all", False),
    ],
)
def test_noqa_counts_by_code_only(codes: tuple[str, ...], respect: str, silenced: bool) -> None:
    assert Noqa(codes).silences("RMW101", respect) is silenced


@pytest.mark.parametrize(
    "line",
    [
        "x  # noqa: RMW101",
        "x  # noqa: E501, RMW101 -- y",
        "x  # noqa:  RMW1",
        "x # NOQA",
        "x # noqa: blind-sql",
        "#noqa",
        "a # noqa:E1,W2,RMW101",
    ],
)
def test_noqa_equals_flake8(line: str) -> None:
    defaults = pytest.importorskip("flake8.defaults")
    found = defaults.NOQA_INLINE_REGEXP.search(line)
    ours = noqa_on(line)
    assert (found is None) == (ours is None)
    if found is not None:
        codes = found.groupdict()["codes"]
        assert ours == Noqa(tuple(part for part in re.split(r"[,\s]+", codes.strip().upper()) if part) if codes else ())
