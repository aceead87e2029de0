"""Every fixture: what its markers say, nothing else, and the same however the file comes to be analysed."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import (
    FIXTURES, ROOT, absolute, cases, differences, display, everything_on, key, lint_bytes, markers, suppressed, tabbed, where, whole_run,
)
from noclobber import knowledge
from noclobber.finding import Finding, Place

CASES = cases()
each = pytest.mark.parametrize("path", CASES, ids=lambda path: path.relative_to(FIXTURES).as_posix())


@each
def test_findings(path: Path) -> None:
    """A finding for each marker and no other; none at all in good and near files."""
    wanted = markers(path.read_text(encoding="utf-8"))
    wrong = differences(whole_run()[absolute(str(path))], wanted)
    assert not wrong, f"{display(path)}\n" + "\n".join(wrong)


@each
def test_file_is_sound(path: Path) -> None:
    """The file compiles; only bad files have markers; they name rules that exist or, as todo, rules to come."""
    text = path.read_text(encoding="utf-8")
    compile(text, str(path), "exec")
    kind = path.stem.rpartition("_")[2]
    assert kind in ("bad", "good", "near")
    found = markers(text)
    assert bool(found) == (kind == "bad")
    pages = knowledge.load().pages
    for marker in found:
        if marker.kind == "expect":
            assert marker.slug in pages, f"line {marker.line}: there is no rule {marker.slug} yet; write todo"
    if path.parent.name in pages and kind == "bad":
        assert any(marker.kind != "alt" and marker.slug == path.parent.name for marker in found), "a case of another rule"


@each
def test_triage_only_skips(path: Path) -> None:
    """DESIGN §1: findings with triage on and off are equal."""
    data = path.read_bytes()
    assert sorted(map(key, lint_bytes(data, display(path), triage=False))) == sorted(map(key, whole_run()[absolute(str(path))]))


@pytest.mark.parametrize("path", CASES[::3], ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_alone_and_written_otherwise(path: Path) -> None:
    """Alone as together with the others; with CRLF and tabs as with LF and blanks (every third file: each takes its time)."""
    text = path.read_text(encoding="utf-8")
    indented = tabbed(text)  # None: a string over several lines would become another string
    same = where if indented is not None else key  # tabs move columns
    data = (indented or text).replace("\n", "\r\n").encode()
    assert sorted(map(same, lint_bytes(data, display(path)))) == sorted(map(same, whole_run()[absolute(str(path))]))


MARKED = [path for path in CASES if markers(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", MARKED[::2], ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_pragma_silences(path: Path) -> None:
    """A comment on the marked line silences what is found there (every second file)."""
    text = suppressed(path.read_text(encoding="utf-8"), whole_run()[absolute(str(path))])
    left = lint_bytes(text.encode(), display(path))
    assert not left, [(finding.name, finding.place.line, finding.statement) for finding in left]


def test_order_is_stable() -> None:
    """Findings are sorted, and nothing depends on the order of sets (seen in every twelfth file: each takes its time)."""
    for findings in whole_run().values():
        places = [(finding.place.line, finding.place.column, finding.code) for finding in findings]
        assert places == sorted(places)
    script = (
        "import helpers; from dataclasses import replace\n"
        "told = lambda found: (repr(replace(found, doubts=frozenset())), sorted(found.doubts))\n"  # a frozenset's repr has no order
        f"print([(p, *map(told, f)) for p, f in sorted(helpers.together({[str(path) for path in CASES[::12]]}).items())])"
    )
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "tests")}
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1


def found(slug: str, line: int, end: int = 0) -> Finding:
    return Finding(slug, "a.py", Place("a.py", line, 1, end or line, 2), "f", "r", "m", confidence="high")


@pytest.mark.parametrize(
    ("findings", "text", "wrong"),
    [
        ([found("stale-retry", 2)], "\nx  # expect: stale-retry", []),
        ([found("stale-retry", 3)], "\nx  # expect: stale-retry", []),
        ([found("stale-retry", 1, 4)], "\n\n\nx  # expect: stale-retry", []),
        ([], "x  # expect: stale-retry", ["line 1: no stale-retry"]),
        ([found("orm-increment", 1)], "", ["line 1: false alarm orm-increment (high): m"]),
        ([found("orm-increment", 4)], "x  # expect: orm-increment", ["line 1: no orm-increment", "line 4: false alarm orm-increment (high): m"]),
        # an alt: another line for the same rule, or another rule for the same line; never missed itself
        ([found("orm-increment", 4)], "x  # expect: orm-increment\n\n\nx  # alt: orm-increment", []),
        ([found("orm-derived-save", 1)], "x  # expect: orm-increment  # alt: orm-derived-save", []),
        ([found("orm-derived-save", 1)], "x  # expect: orm-increment", [
            "line 1: no orm-increment, but orm-derived-save", "line 1: false alarm orm-derived-save (high): m",
        ]),
        ([], "x  # alt: orm-increment", []),
        # two rules on one line are two findings
        ([found("stale-retry", 1)], "x  # expect: stale-retry, effect-in-retry-loop", ["line 1: no effect-in-retry-loop, but stale-retry"]),
        # a todo: nothing yet, or a rule that gives way later; its own rule is news
        ([], "x  # todo: stale-lock", []),
        ([found("orm-increment", 1)], "x  # todo: stale-lock", []),
        ([found("effect-in-retry-loop", 1)], "x  # todo: stale-lock", ["line 1: false alarm effect-in-retry-loop (high): m"]),
        ([found("stale-lock", 1)], "x  # todo: stale-lock", ["line 1: stale-lock is found now; make the todo an expect"]),
    ],
)
def test_matching(findings: list[Finding], text: str, wrong: list[str]) -> None:
    assert differences(findings, markers(text)) == wrong


def test_twins() -> None:
    text = "def f():\n    x(  # expect: stale-retry  # alt: effect-in-retry-loop\n        1)\n    y()  # todo: not-yet\n"
    assert suppressed(text, []) == (
        "def f():\n    x(  # noclobber: ignore[stale-retry, effect-in-retry-loop] -- test\n        1)\n    y()\n"
    )
    assert tabbed("def f():\n    x(\n      1)\n") == "def f():\n\tx(\n\t  1)\n"
    assert tabbed('x = """a\n    b"""\n') is None


def test_settings_show_all() -> None:
    """The tests above would prove little with a rule turned off."""
    assert everything_on().selected == frozenset(knowledge.load().pages)
