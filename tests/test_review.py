"""dev review: unread findings with their code; labels become trust in the pages."""
from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from noclobber.dev import __main__ as dev
from noclobber.dev import review

ROOT = Path(__file__).resolve().parents[1]
LOST = (
    "import sqlite3\n\n\ndef add(db: sqlite3.Connection, key):\n    n = db.execute('SELECT n FROM t WHERE id = ?', (key,)).fetchone()[0]\n"
    "    db.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, key))\n"
)


def label(**changes: object) -> dict:
    return {"rule": "RMW101", "app": "shop 1.0", "path": "a.py", "line": 6, "fingerprint": "x", "verdict": "right", "confidence": "high", "reason": "r", "round": "2026-12-01", **changes}


def test_unread_findings_are_shown_with_their_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.py").write_text(LOST)
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    assert review.unread("shop.py", [], [], out) == 1
    text = out.getvalue()
    assert text.startswith("## RMW101 blind-sql-update") and ">    6     db.execute('UPDATE t" in text and ">    5     n = db" in text
    fingerprint = text.split("[")[1].split("]")[0]
    assert review.unread("shop.py", [label(fingerprint=fingerprint)], [], io.StringIO()) == 0
    assert review.unread("shop.py", [label(fingerprint=fingerprint, rule="RMW201")], [], io.StringIO()) == 1
    assert review.unread("shop.py", [], ["RMW201"], io.StringIO()) == 0


def test_trust_is_that_of_the_last_rounds() -> None:
    """Rounds count whole, the newest first, until there are enough; what is shown at low confidence only does not count."""
    last = [label(verdict="wrong"), *[label()] * 2, label(rule="RMW201"), label(verdict="wrong", confidence="low")]
    before = [label(verdict="wrong", round="2026-11-30"), label(verdict="wrong", round="2026-11-30")]
    assert review.trust([*before, *last]) == {"RMW101": {"right": 2, "wrong": 3}, "RMW201": {"right": 1, "wrong": 0}}
    assert review.trust([*before, *last, *[label()] * 5]) == {"RMW101": {"right": 7, "wrong": 1}, "RMW201": {"right": 1, "wrong": 0}}


@pytest.mark.parametrize("text, message", [
    ("{", ":1: not JSON"), ("{}", ':1: no "rule"'), (json.dumps(label(verdict="perhaps")), ":1: verdict 'perhaps'; one of right, wrong"),
])
def test_mistakes_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(review.LabelError) as error:
        review.read_labels(str(path))
    assert f"{path}{message}" in str(error.value)


def test_pages_get_the_trust_of_the_labels(tmp_path: Path) -> None:
    pages = tmp_path / "catalog"
    shutil.copytree(ROOT / "rules" / "catalog", pages)
    labels = [label() for _ in range(7)] + [label(verdict="wrong")]
    assert "blind-sql-update.md" in review.write_trust(str(pages), labels)
    assert "trust = {right = 7, wrong = 1}" in (pages / "blind-sql-update.md").read_text()
    assert review.write_trust(str(pages), labels) == []


def test_the_pages_say_what_the_labels_say(capsys: pytest.CaptureFixture) -> None:
    assert dev.main(["trust", "--check"]) == 0, capsys.readouterr().out
