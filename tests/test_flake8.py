"""The flake8 plugin, in the real flake8 by subprocess.

Most tests put a small fake in the place of the analysis (`noclobber.analyse`): what is tested here is the way in and out.
The fake reports each line that holds `LOST`, at that word; BOOM raises, DEEP is a file that LibCST refuses.
"""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from argparse import Namespace
from pathlib import Path

import pytest

from noclobber import flake8 as plugin

pytest.importorskip("flake8")

FAKE = '''
"""Installs the fake analysis in this process and every child; started by the `site` module."""
import sys, types

def analyse(data, path, config, workspace=None):
    from noclobber.finding import Failure, FileResult, Finding, Place
    text = data.decode("utf-8")
    findings, failures = [], []
    for number, line in enumerate(text.split("\\n"), 1):
        at = line.find("LOST")
        if "BOOM" in line:
            raise ZeroDivisionError("a rule\\nfell over at a.py:3:4: here")
        if "DEEP" in line:
            failures.append(Failure("RMW001", path, number, f"too deeply nested at line {number}"))
        if "FAR" in line:
            number += 1000
        if at >= 0:
            place = Place(path, number, at + 1, number, at + 5)
            message = "`n` of `x.py:4:5: t` is\\nwritten from a value read at line 1"
            doubts = frozenset({"maybe-same"}) if "maybe" in line else frozenset()
            findings.append(Finding(
                "blind-sql-update", path, place, "f", f"row{number}", message, doubts=doubts, obj=str(number),
                statement=(number, number), write_text=line,
            ))
    return FileResult(path, tuple(findings), tuple(failures), {"analysed": 1})

fake = types.ModuleType("noclobber.analyse")
fake.analyse = analyse
fake.Workspace = lambda *args, **settings: None
sys.modules["noclobber.analyse"] = fake
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty project, which git's and the user's settings do not reach."""
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "sitecustomize.py").write_text(FAKE)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


def flake8(folder: Path, *arguments: str, stdin: str | None = None, real: bool = False) -> subprocess.CompletedProcess:
    """flake8 in the folder. `real`: with the real analysis."""
    environment = dict(os.environ)
    if not real:
        environment["PYTHONPATH"] = str(folder.parent / "fake")
    return subprocess.run(
        [sys.executable, "-m", "flake8", "-j1", *arguments], cwd=folder, env=environment, input=stdin,
        capture_output=True, text=True, encoding="utf-8", timeout=120,
    )


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")


def lines(done: subprocess.CompletedProcess) -> list[str]:
    assert done.stderr == ""
    return [line for line in done.stdout.split("\n") if line]


MESSAGE = "RMW101 `n` of `x.py 4:5: t` is written from a value read at line 1 (blind-sql-update)"


# --- in and out ------------------------------------------------------------------------------------------------------


def test_a_finding_is_one_line_with_code_and_name(folder: Path) -> None:
    write(folder, a="import os\n\n\ndef f():\n    os.x('LOST')\n")
    done = flake8(folder, "a.py")
    assert done.returncode == 1
    assert lines(done) == [f"a.py:5:11: {MESSAGE}"]


def test_a_clean_file_is_silent(folder: Path) -> None:
    write(folder, a="VALUE = 1\n", empty="")
    done = flake8(folder, "a.py", "empty.py")
    assert done.returncode == 0 and lines(done) == []


def test_columns_count_characters(folder: Path) -> None:
    write(folder, a="A, B = 'é𐐀ü', 'LOST'\n")
    assert lines(flake8(folder, "a.py"))[0].startswith("a.py:1:16: RMW101 ")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "cp1252"])
def test_other_encodings_keep_their_columns(folder: Path, encoding: str) -> None:
    cookie = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    text = cookie + "A = 'äöü', 'LOST'\r\n"
    (folder / "a.py").write_bytes(text.encode(encoding))
    line = 1 if encoding == "utf-8-sig" else 2
    found = [row for row in lines(flake8(folder, "a.py", "--select", "RMW")) if "RMW" in row]
    assert [row.split(" RMW101")[0] for row in found] == [f"a.py:{line}:13:"]


def test_lines_past_the_end_are_clamped(folder: Path) -> None:
    write(folder, a="import os\nos.x('LOST FAR')\n")
    assert lines(flake8(folder, "a.py"))[0].startswith("a.py:2:")


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_an_exception_becomes_one_line_and_other_results_stay(folder: Path) -> None:
    write(folder, a="import os  # BOOM\n", b="import sys\nA = 'LOST'\n")
    done = flake8(folder, "a.py", "b.py")
    assert done.returncode == 1
    found = lines(done)
    assert sorted(row.split()[1] for row in found) == ["F401", "F401", "RMW009", "RMW101"]
    (internal,) = [row for row in found if "RMW009" in row]
    assert internal.startswith("a.py:1:1: RMW009 internal error: ZeroDivisionError, a rule fell over at a.py 3:4: here")


def test_a_mistake_in_the_engine_itself_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from noclobber import engine

    def fail(*arguments: object, **options: object) -> None:
        raise RecursionError

    monkeypatch.setattr(engine, "run", fail)
    monkeypatch.setattr(plugin.Plugin, "resolver", object())
    found = list(plugin.Plugin(None, ["a = 1\n"], "a.py").run())
    assert found == [(1, 0, "RMW009 internal error: RecursionError (internal-error)", plugin.Plugin)]


def test_a_syntax_error_is_flake8s_business(folder: Path) -> None:
    write(folder, a="def f(:\n    pass  # LOST BOOM DEEP\n")
    found = lines(flake8(folder, "a.py"))
    assert any(" E999 " in row for row in found) and not any("RMW" in row for row in found)


def test_what_libcst_alone_refuses_is_reported(folder: Path) -> None:
    write(folder, a="A = 1\nB = 'DEEP'\n")
    (found,) = lines(flake8(folder, "a.py"))
    assert found.startswith("a.py:2:1: RMW001 too deeply nested at line 2")


# --- settings ----------------------------------------------------------------------------------------------------------


def test_pyproject_applies_excludes_and_levels(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.noclobber]\nextend-exclude = ["legacy/"]\nmin-confidence = "high"\n'
        '[tool.noclobber.per-file-ignores]\n"ours.py" = ["RMW1"]\n'
    )
    (folder / "legacy").mkdir()
    (folder / "tests").mkdir()
    write(folder, a="A = 'LOST'\n", b="A = 'LOST maybe'\n", ours="A = 'LOST'\n")
    for name in ("legacy/old.py", "tests/test_a.py", "test_b.py"):
        (folder / name).write_text("A = 'LOST'\n")
    found = lines(flake8(folder, "."))
    assert [row.split(":")[0] for row in found] == ["./a.py"]


def test_the_nearest_settings_count_for_each_file(folder: Path) -> None:
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    (folder / "two" / "pyproject.toml").write_text('[tool.noclobber]\nignore = ["RMW101"]\n')
    for name in ("one/a.py", "two/a.py"):
        (folder / name).write_text("A = 'LOST'\n")
    assert [row.split(":")[0] for row in lines(flake8(folder, "."))] == ["./one/a.py"]


def test_own_options(folder: Path) -> None:
    (folder / "other.toml").write_text('ignore = ["blind-sql-update"]\n')
    write(folder, a="A = 'LOST'\nB = 'LOST maybe'\n")
    assert len(lines(flake8(folder, "a.py"))) == 2
    assert len(lines(flake8(folder, "a.py", "--noclobber-min-confidence", "high"))) == 1
    assert lines(flake8(folder, "a.py", "--noclobber-select", "RMW2,stale-retry")) == []
    assert len(lines(flake8(folder, "a.py", "--noclobber-select=blind-sql-update"))) == 2
    assert lines(flake8(folder, "a.py", "--noclobber-config", "other.toml")) == []


def test_own_options_from_flake8s_settings(folder: Path) -> None:
    (folder / ".flake8").write_text("[flake8]\nnoclobber-select =\n    RMW2,\n    RMW4\nnoclobber-min-confidence = low\n")
    write(folder, a="A = 'LOST'\n")
    assert lines(flake8(folder, "a.py")) == []


@pytest.mark.parametrize("arguments, words", [
    (("--noclobber-select", "RMW999"), "unknown rule `RMW999` in option `--noclobber-select`"),
    (("--noclobber-min-confidence", "sure"), "sure"),
    (("--noclobber-config", "missing.toml"), "missing.toml"),
])
def test_an_option_that_cannot_be_right_ends_the_run_with_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    write(folder, a="A = 1\n")
    done = flake8(folder, *arguments, "a.py")
    text = done.stdout + done.stderr
    assert done.returncode == 1 and "noclobber: " in text and words in text and "Traceback" not in text


def test_settings_that_cannot_be_read_are_reported_in_each_file(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.noclobber]\nmin-confidance = "high"\n')
    write(folder, a="import os\n")
    found = lines(flake8(folder, "a.py"))
    (row,) = [row for row in found if "RMW009" in row]
    assert row.startswith("a.py:1:1: RMW009 not analysed, the settings cannot be used: ")
    assert "min-confidance" in row and "pyproject.toml 2:1:" in row
    assert any("F401" in row for row in found)


# --- flake8's own filters on top ----------------------------------------------------------------------------------------


def test_per_file_ignores_select_and_noqa_are_flake8s(folder: Path) -> None:
    write(folder, a="A = 'LOST'\n", b="A = 'LOST'\n", c="A = 'LOST'  # noqa: RMW101\nB = 'LOST'  # noqa\nC = 'LOST'  # noqa: E501\n")
    assert [row.split(":")[:2] for row in lines(flake8(folder, "--per-file-ignores", "a.py:RMW1", "."))] == [
        ["./b.py", "1"], ["./c.py", "3"],
    ]
    assert lines(flake8(folder, "--ignore", "RMW", ".")) == []
    assert len(lines(flake8(folder, "--select", "RMW101", "."))) == 3
    assert len(lines(flake8(folder, "--disable-noqa", "c.py"))) == 3  # the plugin has hidden nothing


def test_own_comments_count(folder: Path) -> None:
    write(folder, a="""\
        A = 'LOST'  # noclobber: ignore[RMW101] -- single writer
        # noclobber: ignore[blind-sql-update] -- single writer
        B = 'LOST'
        C = 'LOST'
    """)
    assert [row.split(":")[1] for row in lines(flake8(folder, "a.py"))] == ["4"]


# --- where flake8 runs ---------------------------------------------------------------------------------------------------


def test_standard_input(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.noclobber]\nextend-exclude = ["legacy/"]\n')
    write(folder, a="A = 'on disk: LOST LOST'\n")
    text = "VALUE = 1\nA = 'LOST'\n"
    assert lines(flake8(folder, "-", stdin=text)) == [f"stdin:2:6: {MESSAGE}"]
    assert lines(flake8(folder, "--stdin-display-name", "a.py", "-", stdin=text)) == [f"a.py:2:6: {MESSAGE}"]
    assert lines(flake8(folder, "--stdin-display-name", "new/b.py", "-", stdin=text)) == [f"new/b.py:2:6: {MESSAGE}"]
    assert lines(flake8(folder, "--stdin-display-name", "legacy/b.py", "-", stdin=text)) == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_find_the_same(folder: Path, method: str) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    (folder / ".flake8").write_text("[flake8]\nnoclobber-min-confidence = high\n")
    for number in range(6):
        (folder / f"m{number}.py").write_text("A = 'LOST'\nB = 'LOST maybe'\n" + ("C = 'BOOM'\n" if number == 3 else ""))
    (folder / "start.py").write_text(textwrap.dedent(f"""\
        import multiprocessing
        import sys
        from flake8.main.cli import main

        if __name__ == "__main__":
            multiprocessing.set_start_method("{method}")
            sys.exit(main(sys.argv[1:]))
    """))
    environment = {**os.environ, "PYTHONPATH": str(folder.parent / "fake")}
    names = [f"m{number}.py" for number in range(6)]
    done = subprocess.run(
        [sys.executable, "start.py", "-j2", *names], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert sorted((row.split(":")[0], row.split()[1]) for row in lines(done)) == [
        (f"m{number}.py", "RMW009" if number == 3 else "RMW101") for number in range(6)
    ]
    assert sorted(lines(done)) == sorted(lines(flake8(folder, *names)))


def test_version_imports_nothing_heavy(folder: Path) -> None:
    program = (
        "import json, sys\nfrom flake8.main.cli import main\ntry:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
        "print(json.dumps([name for name in sys.modules if name.split('.')[0] in ('libcst', 'sqlglot', 'rich', 'noclobber')]))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "noclobber: " in done.stdout.replace("\n", " ") or "RMW: " in done.stdout
    names = done.stdout.strip().split("\n")[-1]
    assert set(eval(names)) == {"noclobber", "noclobber.flake8"}


# --- small parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, shown", [
    ("a\n  b", "a b"), ("see x.py:3:4: bad", "see x.py 3:4: bad"), ("x.py:3:", "x.py:3:"), ("a[::2]", "a[::2]"),
    ("q::: r", "q :: r"), (":1:2:3:", " 1 2:3:"),
])
def test_one_line(text: str, shown: str) -> None:
    assert plugin.one_line(text) == shown


def test_encoded_keeps_lines_and_columns() -> None:
    lines = ["#!/usr/bin/python\n", "# vim: set fileencoding=latin-1 :\n", "# coding: ascii\n", "a = 'ü'\n"]
    data = plugin.encoded(lines)
    assert [len(line) for line in data.decode("utf-8").split("\n")] == [len(line) - 1 for line in lines] + [0]
    assert b"coding=latin" not in data and b"# coding: ascii" in data
    assert plugin.encoded([]) == b"" and plugin.encoded(["a\ud800\n"]) == b"a?\n"


def test_options_may_come_as_text_or_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("overrides", "resolver", "config_file"):
        monkeypatch.setattr(plugin.Plugin, name, getattr(plugin.Plugin, name))
    for value in ("RMW1, stale-retry", ["RMW1", " stale-retry"]):
        plugin.Plugin.parse_options(Namespace(noclobber_select=value, noclobber_min_confidence=None, noclobber_config=None))
        assert plugin.Plugin.overrides["select"] == ["RMW1", "stale-retry"]


# --- the real analysis -------------------------------------------------------------------------------------------------------


def test_the_real_rules(folder: Path) -> None:
    write(folder, shop="""\
        import sqlite3


        def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
            row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
            left = row[0] - cents
            db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
            db.commit()
    """)
    (found,) = lines(flake8(folder, "--select", "RMW", "shop.py", real=True))
    assert found.startswith("shop.py:7:5: RMW101 ") and found.endswith(" (blind-sql-update)")


def test_it_says_what_the_command_says(folder: Path) -> None:
    """The same findings as `noclobber check` over the examples, which hold no noqa."""
    examples = Path(__file__).resolve().parents[1] / "docs" / "examples"
    done = flake8(folder, "--isolated", "--select", "RMW", str(examples), real=True)
    plain = subprocess.run(
        [sys.executable, "-m", "noclobber", "check", "--no-cache", "--output-format", "concise", str(examples)],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )
    places = sorted(tuple(row.split(" ")[:2]) for row in lines(done))
    assert places == sorted(tuple(row.split(" ")[:2]) for row in plain.stdout.split("\n") if " RMW" in row)
    assert places


def test_the_vs_code_extension_reads_our_lines(folder: Path) -> None:
    """ms-python.flake8 (microsoft/vscode-flake8, bundled/tool/lsp_server.py: TOOL_ARGS, DIAGNOSTIC_RE) has flake8 print this format, in
    quotation marks, and matches each line with this pattern; the longest beginning of the code in `flake8.severity` gives the severity."""
    import re

    pattern = re.compile(r"(?P<line>\d+),(?P<column>-?\d+),(?P<type>\w+),(?P<code>\w+\d+):(?P<message>[^\r\n]*)")
    (folder / "a.py").write_text("x = 1\ny = LOST\n")
    done = flake8(folder, "--format='%(row)d,%(col)d,%(code).1s,%(code)s:%(text)s'", "--select", "RMW", "a.py")
    (line,) = done.stdout.splitlines()
    assert line[0] == line[-1] == "'"
    found = pattern.fullmatch(line[1:-1])
    assert found and found.group("line", "column", "type", "code") == ("2", "5", "R", "RMW101")
    assert found["message"].startswith("`n` of `x.py") and "read at line 1" in found["message"]


def test_python_lsp_server_reads_our_lines(folder: Path) -> None:
    """pylsp's greedy pattern (pylsp/plugins/flake8_lint.py) must not find a place in the message; the line must exist in the buffer."""
    import re

    (folder / "a.py").write_text("x = 1\ny = LOST\n")
    done = flake8(folder, "--select", "RMW", "--stdin-display-name", "a.py", "-", stdin=(folder / "a.py").read_text())
    (line,) = done.stdout.splitlines()
    found = re.match(r"(.*):(\d*):(\d*): (\w*) (.*)", line)
    assert found and found.group(1, 2, 3, 4) == ("a.py", "2", "5", "RMW101")
