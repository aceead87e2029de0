"""`--fix`, `--unsafe-fixes`, `--diff`, `fix -i`, stdin: what is written, what is printed, the exit codes (UX §8.3, §9 points 2, 10, 14)."""
from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from noclobber import cli

DJANGO = '''\
from django.db import models


class Page(models.Model):
    hits = models.IntegerField(default=0)


def visited(pk):
    page = Page.objects.get(pk=pk)
    page.hits += 1
    page.save()
'''
FIXED = DJANGO.replace("page.hits += 1", 'page.hits = models.F("hits") + 1').replace("page.save()", 'page.save(update_fields=["hits"])')
#: Whatever the rules' trust is. A repository needs its own: no settings above its root count.
PREVIEW = "[tool.noclobber]\npreview = true\n"
USELESS = "x = 1  # noclobber: ignore[RMW101] -- for nothing\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "pyproject.toml").write_text(PREVIEW)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


class Run:
    def __init__(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = cli.main(arguments)
        sys.stdout.flush()
        self.out, self.err = capfd.readouterr()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: Run(capfd, *arguments)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes, terminal: bool = False) -> None:
    stream = io.TextIOWrapper(io.BytesIO(data))
    if terminal:
        stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", stream)


# --- writing --------------------------------------------------------------------------------------------------------------------


def test_safe_fixes_only_unless_asked_for_more(run, here):
    (here / "a.py").write_text(DJANGO + USELESS)
    first = run("check", "--fix", ".")
    assert (here / "a.py").read_text() == DJANGO + "x = 1\n"
    assert first.code == 1 and "noclobber: fixed 1 finding in 1 file; 1 more with --unsafe-fixes" in first.err
    second = run("check", "--fix", "--unsafe-fixes", ".")
    assert (here / "a.py").read_text() == FIXED + "x = 1\n"
    assert second.code == 0 and "noclobber: fixed 1 finding in 1 file\n" in second.err
    assert "a.py:11: RMW201 let the database compute `hits`, and save the changed fields only (unsafe)" in second.err
    third = run("check", "--fix", "--unsafe-fixes", ".")
    assert third.code == 0 and "noclobber: nothing fixed\n" in third.err and (here / "a.py").read_text() == FIXED + "x = 1\n"


def test_fix_is_check_with_fix(run, here):
    (here / "a.py").write_text(USELESS)
    assert run("fix", "a.py").code == 0 and (here / "a.py").read_text() == "x = 1\n"


def test_what_is_left_is_told_and_decides_the_exit_code(run, here):
    (here / "a.py").write_text(DJANGO)
    plain = run("check", "--output-format", "concise", ".")
    assert plain.code == 1 and "RMW201 [?] " in plain.out and "0 safe fixes, 1 unsafe" in plain.err
    assert run("check", "--fix", ".").code == 1
    assert run("check", "--fix", "--exit-zero", ".").code == 0


def test_mode_stays_and_nothing_is_left_beside(run, here):
    file = here / "a.py"
    file.write_text(USELESS)
    file.chmod(0o754)
    assert run("check", "--fix", "a.py").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o754 and os.listdir(here) == ["a.py"]


def test_a_link_out_of_the_tree_is_left_alone(run, here, tmp_path):
    (here / "pyproject.toml").write_text("[tool.noclobber]\npreview = true\n")
    outside = tmp_path / "outside.py"
    outside.write_text(USELESS)
    inside = here / "real.py"
    inside.write_text(USELESS)
    (here / "out.py").symlink_to(outside)
    (here / "in.py").symlink_to(inside)
    done = run("check", "--fix", "out.py", "in.py")
    assert outside.read_text() == USELESS and "out.py: not fixed: a link that leads out of the tree" in done.err
    assert inside.read_text() == "x = 1\n" and (here / "in.py").is_symlink()


def test_a_file_that_cannot_be_written_is_named(run, here, monkeypatch):
    (here / "a.py").write_text(USELESS)

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    done = run("check", "--fix", "a.py")
    assert done.code == 2 and "cannot write a.py: no space left on device" in done.err
    assert (here / "a.py").read_text() == USELESS and os.listdir(here) == ["a.py"]


def test_suppressed_baselined_and_unselected_findings_stay(run, here):
    (here / "pyproject.toml").write_text(PREVIEW)
    (here / "a.py").write_text(DJANGO.replace("page.save()", "page.save()  # noclobber: ignore[RMW201] -- one writer"))
    (here / "b.py").write_text(DJANGO)
    assert run("baseline", "create", "b.py").code == 0
    (here / "pyproject.toml").write_text('[tool.noclobber]\npreview = true\nbaseline = ".noclobber-baseline.json"\n')
    before = {name: (here / name).read_text() for name in ("a.py", "b.py")}
    assert run("check", "--fix", "--unsafe-fixes", ".").code == 0
    assert {name: (here / name).read_text() for name in ("a.py", "b.py")} == before
    (here / "c.py").write_text(DJANGO)
    run("check", "--fix", "--unsafe-fixes", "--ignore", "RMW2", "c.py")
    assert (here / "c.py").read_text() == DJANGO
    assert run("check", "--fix", "--unsafe-fixes", ".").code == 0 and (here / "c.py").read_text() == FIXED


def test_diff_base_touches_new_findings_only(run, here):
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.email=a@b.c", "-c", "user.name=x", *words], cwd=here, check=True, capture_output=True)

    (here / "pyproject.toml").write_text(PREVIEW)
    (here / "a.py").write_text(DJANGO)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "topic")
    new = DJANGO + DJANGO[DJANGO.index("\n\ndef"):].replace("visited", "seen")
    (here / "a.py").write_text(new)
    git("commit", "-qam", "two")
    assert run("check", "--fix", "--unsafe-fixes", "--diff-base", "main", ".").code == 0
    assert (here / "a.py").read_text() == DJANGO + FIXED[FIXED.index("\n\ndef"):].replace("visited", "seen")


# --- --diff ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [DJANGO + USELESS, DJANGO + USELESS.rstrip("\n"), (DJANGO + USELESS).replace("\n", "\r\n")], ids=["plain", "no-end", "crlf"])
def test_diff_is_a_patch_that_git_applies(run, here, text):
    (here / "pyproject.toml").write_text(PREVIEW)
    (here / "pkg").mkdir()
    file = here / "pkg" / "a b.py"
    file.write_bytes(text.encode())
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    done = run("check", "--diff", "--unsafe-fixes", ".")
    assert done.code == 1 and file.read_bytes() == text.encode()
    assert "noclobber: would fix 2 findings in 1 file" in done.err
    patch = here / "p.patch"
    patch.write_bytes(done.out.encode())
    subprocess.run(["git", "apply", "p.patch"], cwd=here, check=True)
    assert file.read_bytes() == text.encode().replace(b"page.hits += 1", b'page.hits = models.F("hits") + 1').replace(
        b"page.save()", b'page.save(update_fields=["hits"])').replace(b"  # noclobber: ignore[RMW101] -- for nothing", b"")
    patch.unlink()
    again = run("check", "--diff", "--unsafe-fixes", ".")
    assert (again.code, again.out) == (0, "")


def test_diff_in_a_folder_of_the_repository_names_paths_from_its_root(run, here, monkeypatch):
    (here / "pkg").mkdir()
    (here / "pkg" / "a.py").write_text(USELESS)
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    monkeypatch.chdir(here / "pkg")
    out = run("check", "--diff", "a.py").out
    assert out.startswith("--- a/pkg/a.py\n+++ b/pkg/a.py\n")


def test_diff_prints_nothing_else_and_counts_findings_that_stay(run, here):
    (here / "a.py").write_text(DJANGO)
    done = run("check", "--diff", ".")
    assert (done.code, done.out) == (1, "") and "nothing to fix; 1 more with --unsafe-fixes" in done.err


# --- stdin ----------------------------------------------------------------------------------------------------------------------


def test_stdin_gives_the_fixed_text_on_stdout_and_the_report_on_stderr(run, monkeypatch):
    stdin(monkeypatch, DJANGO.replace("\n", "\r\n").encode())
    done = run("check", "--fix", "--unsafe-fixes", "--output-format", "concise", "-")
    assert done.code == 0 and done.out == FIXED.replace("\n", "\r\n") and "fixed 1 finding in 1 file" in done.err
    stdin(monkeypatch, DJANGO.encode())
    done = run("check", "--fix", "--output-format", "concise", "--stdin-filename", "shop/a.py", "-")
    assert done.code == 1 and done.out == DJANGO and "shop/a.py:11:5: RMW201 [?] " in done.err
    stdin(monkeypatch, b"def (\n")
    done = run("check", "--fix", "-")
    assert done.code == 1 and done.out == "def (\n" and "RMW001" in done.err


# --- asking ---------------------------------------------------------------------------------------------------------------------


def answers(monkeypatch: pytest.MonkeyPatch, *given: str) -> list[str]:
    asked: list[str] = []
    left = list(given)

    def ask(prompt: str) -> str:
        asked.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr("builtins.input", ask)
    stdin(monkeypatch, b"", terminal=True)
    return asked


def two(name: str, text: str = DJANGO) -> str:
    return text + text[text.index("\n\ndef"):].replace("visited", name)


@pytest.mark.parametrize(("given", "now"), [
    (["y", "n"], FIXED + DJANGO[DJANGO.index("\n\ndef"):].replace("visited", "seen")),
    (["n", "y"], DJANGO + FIXED[FIXED.index("\n\ndef"):].replace("visited", "seen")),
    (["a"], FIXED + FIXED[FIXED.index("\n\ndef"):].replace("visited", "seen")),
    (["q"], DJANGO + DJANGO[DJANGO.index("\n\ndef"):].replace("visited", "seen")),
    (["y", "q"], FIXED + DJANGO[DJANGO.index("\n\ndef"):].replace("visited", "seen")),
    (["?", "d", "y"], FIXED + DJANGO[DJANGO.index("\n\ndef"):].replace("visited", "seen")),
])
def test_each_fix_is_asked_for(run, here, monkeypatch, given, now):
    (here / "a.py").write_text(two("seen"))
    asked = answers(monkeypatch, *given)
    done = run("fix", "-i", "a.py")
    assert (here / "a.py").read_text() == now
    assert set(asked) == {"fix this? [y,n,a,q,d,?] "}
    assert "unsafe because until the row is read again the attribute is an expression" in done.out
    assert '+    page.hits = models.F("hits") + 1' in done.out
    if "d" in given:
        assert "two writers" in done.out or "A " in done.out


def test_asking_needs_a_terminal(run, here, monkeypatch):
    (here / "a.py").write_text(DJANGO)
    stdin(monkeypatch, b"y\n")
    done = run("fix", "-i", "a.py")
    assert done.code == 2 and "option `-i` asks on a terminal" in done.err and (here / "a.py").read_text() == DJANGO


# --- options that do not fit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "message"), [
    (["check", "--unsafe-fixes", "."], "option `--unsafe-fixes` needs `--fix` or `--diff`"),
    (["check", "--fix", "--add-ignore", "x", "."], "option `--add-ignore` cannot be given with a fixing one"),
])
def test_options_that_do_not_go_together(run, arguments, message):
    done = run(*arguments)
    assert done.code == 2 and message in done.err


# --- reports ----------------------------------------------------------------------------------------------------------------------


def test_the_document_holds_the_fix_and_the_numbers(run, here):
    (here / "a.py").write_text(DJANGO + USELESS)
    document = json.loads(run("check", "--output-format", "json", "a.py").out)
    summary = document["summary"]
    assert (summary["fixable"], summary["unsafe_fixable"]) == (1, 1)
    fix = next(finding["fix"] for finding in document["findings"] if finding["code"] == "RMW201")
    assert fix["applicability"] == "unsafe" and fix["reason"].startswith("until the row is read again")
    assert fix["edits"] == [
        {"start": {"line": 10, "column": 14}, "end": {"line": 10, "column": 18}, "text": ' = models.F("hits") + '},
        {"start": {"line": 11, "column": 15}, "end": {"line": 11, "column": 15}, "text": 'update_fields=["hits"]'},
    ]
    useless = next(finding["fix"] for finding in document["findings"] if finding["code"] == "RMW002")
    assert useless["applicability"] == "safe" and useless["reason"] == ""


def test_explain_shows_the_fix(run, here):
    (here / "a.py").write_text(DJANGO)
    out = run("explain", "a.py:11").out
    assert "fix (unsafe): let the database compute `hits`, and save the changed fields only" in out
    assert 'models.F("hits") + 1' in out
    (here / "a.py").write_text(DJANGO + "    return page.hits\n")
    assert "no automatic fix: the new number is returned: only a row lock can give it" in run("explain", "a.py:11").out


# --- files of all kinds -----------------------------------------------------------------------------------------------------------


def test_no_file_is_rewritten_beyond_its_edits(run, here):
    files = {
        "syntax.py": b"def (\n", "nul.py": b"x = 1\x00\n", "utf8.py": b"x = '\xff'\n", "latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        "bom.py": b"\xef\xbb\xbfx = 1\r\ny = 2\r\n", "feed.py": b"\x0cx = 1\n", "end.py": b"x = 1", "empty.py": b"",
        "long.py": b"x = 1\n" * 10_000, "fix.py": b"\xef\xbb\xbf\x0c" + USELESS.rstrip("\n").replace("\n", "\r\n").encode(),
    }
    for name, data in files.items():
        (here / name).write_bytes(data)
    done = run("check", "--fix", "--unsafe-fixes", ".")
    assert done.code == 1  # of the files that cannot be read
    assert {name: (here / name).read_bytes() for name in files} == {**files, "fix.py": b"\xef\xbb\xbf\x0cx = 1"}


def test_a_very_long_function_is_not_tried(run, here, monkeypatch):
    """Each try walks the function again: in one of ten thousand lines that would take minutes."""
    monkeypatch.setattr("noclobber.repair.MAX_LINES", 3)
    (here / "a.py").write_text(DJANGO)
    assert run("check", "--fix", "--unsafe-fixes", ".").code == 1
    assert (here / "a.py").read_text() == DJANGO
    assert "its function has more than 3 lines" in run("explain", "a.py:11").out
