"""Suppressing comments in real files: written by `--add-ignore`, moved by formatters, left alone by ruff's own checks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noclobber import cli

LONG = '''\
import sqlite3


def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
    db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (row[0] - cents, code))COMMENT
    db.commit()
'''
PRAGMA = "# noclobber: ignore[RMW101] -- single writer: the nightly job holds an advisory lock"


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def command(*arguments: str) -> tuple[int, str]:
        code = cli.main(["check", "--output-format", "concise", *arguments])
        return code, capsys.readouterr().out

    return command


def tool(name: str, *arguments: str) -> list[str]:
    """The command of a formatter of this environment or of the path; skips without one."""
    try:
        __import__(name)
        return [sys.executable, "-m", name, *arguments]
    except ImportError:
        found = shutil.which(name)
        if not found:
            pytest.skip(f"{name} is not here")
        return [found, *arguments]


@pytest.mark.parametrize("formatter", [("ruff", "format", "--isolated"), ("black", "-q")], ids=["ruff", "black"])
@pytest.mark.parametrize("above", [False, True], ids=["trailing", "above"])
def test_a_formatter_moves_the_comment_and_it_still_counts(check: Any, tmp_path: Path, formatter: tuple[str, ...], above: bool) -> None:
    command = tool(*formatter)
    file = tmp_path / "pay.py"
    text = LONG.replace("COMMENT", "" if above else f"  {PRAGMA}")
    if above:
        text = text.replace("    db.execute(\"UPDATE", f"    {PRAGMA}\n    db.execute(\"UPDATE")
    file.write_text(text)
    assert check() == (0, "")
    subprocess.run([*command, str(file)], check=True, capture_output=True, cwd=tmp_path)
    moved = file.read_text()
    if not above:
        number = next(n for n, line in enumerate(moved.split("\n")) if PRAGMA in line)
        assert "UPDATE" not in moved.split("\n")[number], "the formatter has split the statement"
    assert check() == (0, ""), moved


@pytest.mark.parametrize("selection", [("--select", "RUF100,E501"), ("--preview", "--select", "RUF")])
def test_ruff_leaves_our_comment_alone(tmp_path: Path, selection: tuple[str, ...]) -> None:
    command = tool("ruff", "check", "--isolated", "--fix", "-q", *selection)
    file = tmp_path / "pay.py"
    file.write_text(LONG.replace("COMMENT", f"  {PRAGMA}"))
    subprocess.run([*command, str(file)], capture_output=True, cwd=tmp_path)
    assert PRAGMA in file.read_text()


@pytest.mark.parametrize("preview", [(), ("--preview",)], ids=["stable", "preview"])
def test_ruff_leaves_our_noqa_alone_when_it_is_told_to(tmp_path: Path, preview: tuple[str, ...]) -> None:
    """What docs/suppressing.md says to set."""
    (tmp_path / "ruff.toml").write_text('[lint]\nexternal = ["RMW"]\nselect = ["RUF100", "RUF102"]\n')
    command = tool("ruff", "check", "--fix", "-q", *preview)
    file = tmp_path / "pay.py"
    file.write_text(LONG.replace("COMMENT", "  # noqa: RMW101"))
    subprocess.run([*command, str(file)], capture_output=True, cwd=tmp_path)
    assert "# noqa: RMW101" in file.read_text()


def test_add_ignore(check: Any, tmp_path: Path) -> None:
    file = tmp_path / "pay.py"
    file.write_bytes(b"\xef\xbb\xbf" + LONG.replace("COMMENT", "").replace("\n", "\r\n").encode())
    before = file.read_bytes()
    assert check()[0] == 1
    code, out = check("--add-ignore", "single writer:\nthe é job")
    assert (code, out) == (0, "1 comment written into 1 file\n")
    lines = file.read_bytes().split(b"\r\n")
    assert lines[5] == "    # noclobber: ignore[RMW101] -- single writer: the é job".encode()
    del lines[5]
    assert b"\r\n".join(lines) == before
    assert check("--require-reason") == (0, "")


def test_add_ignore_stands_above_the_statement(check: Any, tmp_path: Path) -> None:
    text = LONG.replace("COMMENT", "").replace('    db.execute("UPDATE vouchers', '    done = (\n        db.execute("UPDATE vouchers').replace("cents, code))", "cents, code))\n    )")
    (tmp_path / "pay.py").write_text(text)
    assert check()[0] == 1
    check("--add-ignore", "single writer")
    assert "    # noclobber: ignore[RMW101] -- single writer\n    done = (\n" in (tmp_path / "pay.py").read_text()
    assert check() == (0, "")


def test_add_ignore_leaves_what_cannot_be_silenced(check: Any, tmp_path: Path) -> None:
    (tmp_path / "pay.py").write_text("def (")
    assert check("--add-ignore", "x") == (0, "0 comments written into 0 files\n")
    assert (tmp_path / "pay.py").read_text() == "def ("


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        (f"  {PRAGMA}", []),
        ("  # noqa: RMW101", []),
        ("  # noclobber: ignore[RMW101] -- x  # noqa: E501", []),
        ("  # noqa: E501  # noclobber: ignore[RMW101] -- x", []),
        ("  # noclobber: ignore[blind-sql-update] -- x", []),
        ("  # noclobber: ignore[RMW203] -- x", []),  # of the same group
        ("  # noclobber: ignore[RMW5] -- x", ["RMW101", "RMW002"]),
        ("  # noclobber: ignore", ["RMW101", "RMW004"]),
        ("  # noclobber: ignore[RMW999] -- x", ["RMW101", "RMW004"]),
        ('\n    "# noclobber: ignore[RMW101] -- in a string"', ["RMW101"]),
    ],
)
def test_every_way_to_write_it(check: Any, tmp_path: Path, comment: str, codes: list[str]) -> None:
    (tmp_path / "pay.py").write_text(LONG.replace("COMMENT", comment))
    _, out = check()
    assert [line.split(" ")[1] for line in out.splitlines()] == codes
