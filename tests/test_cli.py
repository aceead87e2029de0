"""The command line: exit codes, what goes to stdout and what to stderr, every option."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fakes import fake_rules, finding  # noqa: F401

from noclobber import __version__, analyse, cli
from noclobber.cli import check, common
from noclobber.cli import progress as progress_of
from noclobber.finding import Failure, FileResult

pytestmark = pytest.mark.usefixtures("fake_rules")

#: A word in the code → the rule that the stand-in for the analysis reports on its line.
WORDS = {"bad": "blind-sql-update", "meh": "blind-accessor-write", "strict": "torn-write"}


def stand_in(data: bytes, path: str, config: Any, **_: Any) -> FileResult:
    findings, failures = [], []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if "def (" in line:
            failures.append(Failure("RMW001", path, number, "not Python: invalid syntax"))
        if "boom" in line:
            raise ValueError("boom")
        findings += [
            finding(
                name,
                path=path,
                line=number,
                column=1,
                statement=(number, number),
                related=(),
                doubts=frozenset({"process-lock"} if "low" in line else ()),
            )
            for word, name in WORDS.items()
            if word in line
        ]
    return FileResult(path, tuple(findings), tuple(failures), {"analysed": 1.0, "seconds": 0.25})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(analyse, "analyse", stand_in)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(f"{name}.py").write_text(text)


class Run:
    """One command in this process: exit code, stdout, stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = cli.main(arguments)
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: Run(capsys, *arguments)


LINE = "a.py:1:1: RMW101 `accounts.balance` is overwritten from an earlier read (blind-sql-update)\n"


# --- exit codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        ("fine", [], 0),
        ("bad", [], 1),
        ("meh", [], 1),
        ("bad low", [], 0),
        ("bad low", ["--min-confidence", "low"], 1),
        ("strict", [], 0),
        ("strict", ["--strict"], 1),
        ("meh low", ["--strict"], 1),
        ("meh low", ["--strict", "--min-confidence", "high"], 0),
        ("meh", ["--fail-on", "error"], 0),
        ("bad", ["--fail-on=error"], 1),
        ("bad", ["--fail-on", "never"], 0),
        ("bad", ["--exit-zero"], 0),
        ("bad\nbad", ["--max-findings", "2"], 0),
        ("bad\nbad", ["--max-findings", "1"], 1),
        ("bad", ["--ignore", "RMW1"], 0),
        ("bad\nmeh", ["--select", "blind-accessor-write", "-qq"], 1),
        ("def (", [], 1),
        ("def (", ["--ignore", "RMW0"], 1),
        ("def (", ["--exit-zero"], 0),
        ("boom", [], 2),
        ("boom", ["--exit-zero"], 2),
        ("boom", ["--fail-on", "never"], 2),
        ("bad  # noclobber: ignore[RMW101] -- x", [], 0),
        ("bad  # noclobber: ignore[RMW101] -- x", ["--no-ignores"], 1),
        ("bad  # noclobber: ignore[RMW101]", ["--require-reason"], 1),
        ("bad  # noqa: RMW101", [], 0),
        ("x  # noclobber: ignore[RMW101] -- x", [], 1),
        ("meh", ["--min-severity", "error"], 0),
        ("bad", ["--per-file-ignores", "a.py:RMW1"], 0),
        ("bad", ["--per-file-ignores", "b.py:RMW1"], 1),
        ("bad", ["--exclude", "a.py"], 0),
        ("bad", ["--extend-exclude", "x,a.py"], 0),
        ("bad", ["--no-cache", "--cache-dir", "x", "-j", "2", "--isolated", "--no-progress"], 1),
    ],
)
def test_exit_code(run: Any, text: str, arguments: list[str], code: int) -> None:
    write(a=text)
    assert run("check", ".", *arguments).code == code


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_exit_code_does_not_depend_on_the_format(run: Any, form: str) -> None:
    write(a="bad", b="fine")
    assert run("check", "a.py", "--output-format", form).code == 1
    assert run("check", "b.py", "--output-format", form).code == 0
    assert run("check", "c.py", "--output-format", form).code == 2


def test_missing_path_is_named_and_the_rest_is_printed(run: Any) -> None:
    write(a="bad")
    done = run("check", "missing.py", "a.py", "--output-format", "concise", "--exit-zero")
    assert (done.code, done.out) == (2, LINE)
    assert done.err.startswith("noclobber: missing.py: no such file or directory\n")


def test_folder_without_python_files_warns(run: Any, here: Path) -> None:
    (here / "empty").mkdir()
    done = run("check", "empty")
    assert (done.code, done.err) == (0, "noclobber: warning: no Python files in empty\n")
    assert run("check", "empty", "-qq").err == ""


# --- streams ----------------------------------------------------------------------------------------------------------


def test_stdout_holds_findings_and_the_summary_goes_where_people_look(run: Any) -> None:
    write(a="bad")
    full = run("check", "--output-format", "full")
    assert (
        re.search(r"\n\n1 finding \(1 error\) · 1 file, 1 analysed, 0 failed · \d\.\d s\n$", full.out)
        and full.err == ""
    )
    concise = run("check", "--output-format=concise")
    assert concise.out == LINE
    assert re.fullmatch(r"1 finding \(1 error\) · 1 file, 1 analysed, 0 failed · \d\.\d s\n", concise.err)
    document = run("check", "--output-format", "json")
    assert json.loads(document.out)["summary"]["findings"] == {"error": 1, "warning": 0, "info": 0}
    assert document.err.startswith("1 finding (1 error)")


def test_quiet(run: Any) -> None:
    write(a="bad")
    assert run("check", "--output-format", "concise", "-q").err == ""
    assert run("check", "-q").out.endswith("/blind-sql-update.md\n\n")
    done = run("check", "-qq", "--statistics")
    assert (done.code, done.out, done.err) == (1, "", "")


def test_verbose(run: Any) -> None:
    write(a="bad low")
    Path("noclobber.toml").write_text("force-exclude = true\n")
    Path("tests").mkdir()
    Path("tests/t.py").write_text("bad")
    done = run("check", "-v", "a.py", "tests/t.py")
    assert (
        done.err
        == f"noclobber: settings: noclobber.toml; root: {os.getcwd()}\nnoclobber: 1 file excluded by configuration\n"
    )
    assert "no findings · 1 below the confidence asked for · 1 file" in done.out


def test_statistics(run: Any) -> None:
    write(a="bad\nbad\nmeh")
    assert (
        "\n2  RMW101  blind-sql-update\n1  RMW106  blind-accessor-write  preview\n" in run("check", "--statistics").out
    )
    done = run("check", "--statistics", "--output-format", "json")
    assert json.loads(done.out) and "2  RMW101" in done.err


def test_json_tells_what_could_not_be_read(run: Any) -> None:
    write(a="def (", b="boom")
    document = json.loads(run("check", "a.py", "b.py", "c.py", "--output-format", "json").out)
    assert [(error["code"], error["path"], error["line"]) for error in document["errors"]] == [
        ("RMW001", "a.py", 1),
        ("RMW009", "b.py", 1),
        ("RMW009", "c.py", 0),
    ]
    assert [found["code"] for found in document["findings"]] == ["RMW001", "RMW009"]
    assert document["summary"]["failed"] == 3


def test_outputs_into_files(run: Any) -> None:
    write(a="bad")
    done = run("check", "--output", "json=out.json", "--output", "concise=out.txt", "-q", "--output-format", "concise")
    assert (done.code, done.out) == (1, LINE)
    assert Path("out.txt").read_text() == LINE
    assert json.loads(Path("out.json").read_text())["findings"][0]["code"] == "RMW101"
    assert run("check", "--output", "json=no/such/x.json").err.endswith(
        "noclobber: cannot write no/such/x.json: no such file or directory\n"
    )
    assert run("check", "--output", "json=no/such/x.json").code == 2


def test_suppressed_are_shown_on_request(run: Any) -> None:
    write(a="bad  # noclobber: ignore[RMW101] -- why")
    assert run("check", "-q", "--output-format", "concise").out == ""
    assert (
        run("check", "-q", "--output-format", "concise", "--show-suppressed").out
        == LINE[:-1] + " [suppressed, line 1]\n"
    )


def test_profile(run: Any) -> None:
    write(a="bad", b="")
    err = run("check", "--profile", "-q").err
    assert re.match(
        r"profile: \d\.\d\d s, 2 files, 1 process\n  analysed +2\n  seconds +0\.500\n"
        r"  slowest files\n +\d+\.\d ms  [ab]\.py\n",
        err,
    )


# --- paths ------------------------------------------------------------------------------------------------------------


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_stdin(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"x\nbad\n")
    assert run("check", "-", "--output-format", "concise", "-q").out.startswith("stdin:2:1: RMW101 ")
    feed(monkeypatch, b"bad\n")
    assert run("check", "--output-format", "concise", "-q", "--stdin-filename", "sub/a.py", "-").out.startswith(
        "sub/a.py:1:1: RMW101 "
    )
    feed(monkeypatch, b"bad\n")
    Path("sub").mkdir()
    Path("sub/noclobber.toml").write_text('fail-on = "never"\n')
    assert run("check", "--stdin-filename=sub/a.py", "-").code == 0
    feed(monkeypatch, b"bad\n")
    done = run("check", "--stdin-filename", "tests/a.py", "--force-exclude", "-", "-q")
    assert (done.code, done.out) == (0, "")


def test_files_from(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(a="bad", b="bad")
    Path("list").write_bytes(b"a.py\0b.py\0")
    assert run("check", "--files-from", "list", "-q", "--output-format", "concise").out.count("\n") == 2
    feed(monkeypatch, b"b.py\n")
    assert run("check", "--files-from", "-", "-q", "--output-format", "concise").out.startswith("b.py:1:1")
    Path("list").write_bytes(b"")
    done = run("check", "--files-from", "list", "-q")
    assert (done.code, done.out) == (0, "")
    assert run("check", "--files-from", "none").err == "noclobber: cannot read none: no such file or directory\n"
    assert run("check", "--files-from", "-", "-").code == 2
    assert run("check", "-", "a.py").err == "noclobber: `-` cannot be checked together with other paths\n"


def test_options_and_paths_in_any_order(run: Any) -> None:
    write(a="bad", b="bad")
    assert run("check", "a.py", "--output-format", "concise", "b.py", "-q").out.count("\n") == 2


def test_settings_of_the_first_path_decide_how_it_is_printed(run: Any) -> None:
    Path("proj").mkdir()
    Path("proj/noclobber.toml").write_text('output-format = "concise"\n')
    Path("proj/a.py").write_text("bad")
    assert run("check", "proj", "-q").out.startswith("proj/a.py:1:1: RMW101")
    assert run("check", "proj", "-q", "--output-format", "json").out.startswith("{")


def test_environment(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(a="bad")
    monkeypatch.setenv("NOCLOBBER_OUTPUT_FORMAT", "concise")
    assert run("check", "-q").out == LINE
    Path("other.toml").write_text('ignore = ["RMW101"]\n')
    monkeypatch.setenv("NOCLOBBER_CONFIG", "other.toml")
    assert run("check", "-q").code == 0


def test_fail_on_counts_for_its_own_folder(run: Any) -> None:
    Path("old").mkdir()
    Path("old/noclobber.toml").write_text('fail-on = "never"\n')
    Path("old/a.py").write_text("bad")
    assert run("check").code == 0
    assert run("check", "--fail-on", "error").code == 1


# --- mistakes of the user ---------------------------------------------------------------------------------------------


TRY = "\nTry: noclobber check --help"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], "unknown command `chek`; a similar one exists: `check`"),
        (["zzz"], "unknown command `zzz`"),
        (["a.py"], "`a.py` is no command; did you mean `noclobber check a.py`?"),
        (["--strict", "a.py"], "the command comes first: noclobber check --strict a.py"),
        (["check", "--slect", "RMW1"], "unknown option `--slect`; a similar one exists: `--select`" + TRY),
        (["check", "--slect=RMW1"], "unknown option `--slect=RMW1`; a similar one exists: `--select`" + TRY),
        (["check", "--sel", "RMW1"], "unknown option `--sel`; a similar one exists: `--select`" + TRY),
        (["check", "--select"], "argument --select: expected one argument" + TRY),
        (["check", "--select", "RMW8"], "unknown rule `RMW8` in option `--select`"),
        (
            ["check", "--ignore", "RMW101,stale-retri"],
            "unknown rule `stale-retri` in option `--ignore`; did you mean `stale-retry`?",
        ),
        (
            ["check", "--ignore", "RMW001"],
            "no file that could not be analysed can be ignored; exclude the file instead (RMW001)",
        ),
        (
            ["check", "--output-format", "pdf"],
            "option `--output-format` must be one of full, concise, grouped, json, jsonl, sarif, github, gitlab, junit, rdjson, html, not `pdf`",
        ),
        (["check", "--output", "pdf=x"], "option `--output` must name one of full, concise, grouped, json, jsonl, sarif, github, gitlab, junit, rdjson, html, not `pdf`"),
        (["check", "--output", "json"], "option `--output` needs FORMAT=FILE, not `json`"),
        (
            ["check", "--min-confidence", "hihg"],
            "option `--min-confidence` must be one of low, medium, high, not `hihg`; did you mean `high`?",
        ),
        (
            ["check", "--per-file-ignores", "RMW1"],
            "option `--per-file-ignores` needs GLOB:RULES, such as 'scripts/**:RMW1,RMW5', not `RMW1`",
        ),
        (["check", "-j", "0"], "option `-j` needs a number from 1 on, or auto, not `0`"),
        (["check", "--config", "no.toml"], "no.toml: cannot read: No such file or directory"),
        (["rule"], "which rule? noclobber rule CODE, or --all; `noclobber rules` lists them"),
        (["rule", "RMW1O1"], "unknown rule `RMW1O1`; did you mean `RMW101`?"),
        (["rule", "blind-sql-updat"], "unknown rule `blind-sql-updat`; did you mean `blind-sql-update`?"),
        (["config", "nowhere"], "nowhere: no such file or directory"),
        (["stores"], "which action? list, check FILE or explain PATH:LINE\nTry: noclobber stores --help"),
        (["stores", "lst"], "unknown action `lst`; a similar one exists: `list`\nTry: noclobber stores --help"),
        (["stores", "explain", "a.py"], "explain needs PATH:LINE, such as `noclobber stores explain src/pay.py:42`"),
        (["stores", "explain", "b.py:3"], "b.py: no such file"),
        (
            ["version", "--vebose"],
            "unknown option `--vebose`; a similar one exists: `--verbose`\nTry: noclobber version --help",
        ),
    ],
)
def test_mistakes(run: Any, arguments: list[str], message: str) -> None:
    write(a="bad")
    done = run(*arguments)
    assert (done.code, done.out, done.err) == (2, "", f"noclobber: {message}\n")


def test_mistake_in_the_settings(run: Any) -> None:
    Path("pyproject.toml").write_text("[tool.noclobber]\n\nmin-confidance = 'low'\n")
    message = "noclobber: pyproject.toml:3:1: unknown key `min-confidance` in [tool.noclobber]"
    message += "; did you mean `min-confidence`?\n"
    for command in (["check"], ["config"], ["config", "--check"], ["stores", "list"]):
        done = run(*command)
        assert (done.code, done.err) == (2, message)


def test_a_rule_that_is_held_back_is_told(run: Any) -> None:
    write(a="")
    assert run("check", "--select", "RMW107,RMW101").err == (
        "noclobber: warning: RMW107 (check-then-act) is right less than nine times in ten, on code that was read: "
        "it needs --preview\n"
    )


# --- the other commands -----------------------------------------------------------------------------------------------


def test_bare_and_help(run: Any) -> None:
    done = run()
    assert done.code == 0 and "Try: noclobber check" in done.out and "noclobber rules " in done.out
    assert run("--help").out == run("-h").out == run("help").out == done.out
    done = run("check", "--help")
    assert done.code == 0
    for option in (
        "--select",
        "--files-from",
        "--no-respect-gitignore",
        "--fail-on",
        "--show-suppressed",
        "--output",
        "--profile",
        "--cache-dir",
    ):
        assert option in done.out


def test_version(run: Any) -> None:
    assert run("version").out == run("--version").out == f"noclobber {__version__}\n"
    assert re.fullmatch(
        rf"noclobber {re.escape(__version__)}\nPython .*\nlibcst .*\nsqlglot .*\nrich .*\npathspec .*\n",
        run("version", "--verbose").out,
    )


def test_rule(run: Any) -> None:
    text = run("rule", "RMW204").out
    assert text == (
        "# RMW204 orm-full-save\nstrict · info · preview · fix: none · since 0.1 · slow: recommended, warning\n\n"
        "what orm-full-save is\n\n## What it does\norm-full-save\n"
    )
    assert run("rule", "orm-full-save").out == run("rule", "rmw204").out == text
    assert run("rule", "RMW101", "RMW204").out.count("## What it does") == 2
    assert run("rule", "--all").out.count("## What it does") == 16
    assert "\x1b[1m# RMW204" in run("rule", "RMW204", "--color", "always").out
    assert run("rule", "RMW204", "--format", "markdown").out.startswith(
        "# RMW204 orm-full-save\n\nwhat orm-full-save is\n\nstrict · info"
    )
    (data,) = json.loads(run("rule", "RMW204", "--format", "json").out)
    assert (data["code"], data["name"], data["variants"]) == (
        "RMW204",
        "orm-full-save",
        [{"name": "slow", "level": "recommended", "severity": "warning"}],
    )


def test_rules(run: Any) -> None:
    rows = run("rules").out.split("\n")
    assert rows[0].split() == ["code", "name", "level", "severity", "status", "fix", "trust", "summary"]
    assert (
        "RMW107  check-then-act              recommended  warning   preview  none  8/10   what check-then-act is"
        in rows
    )
    assert len(rows) == 18
    assert len(json.loads(run("rules", "--format", "json").out)) == 16
    assert (
        run("rules", "--format", "markdown").out.split("\n")[1] == "| --- | --- | --- | --- | --- | --- | --- | --- |"
    )


def test_config(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from noclobber import config

    monkeypatch.setattr(config.Config, "vocabulary", None)
    Path("pyproject.toml").write_text(
        '[tool.noclobber]\nfail-on = "error"\nignore = ["RMW5"]\n[tool.noclobber.per-file-ignores]\n"a*" = ["RMW1"]\n'
    )
    monkeypatch.setenv("NOCLOBBER_OUTPUT_FORMAT", "json")
    rows = run("config").out.split("\n")
    assert rows[:2] == [f"# root: {os.getcwd()}", "# file: pyproject.toml"]
    settings = {row.split(" = ")[0]: row for row in rows[2:]}
    assert re.fullmatch(r'fail-on = "error" +# pyproject\.toml:2', settings["fail-on"])
    assert re.fullmatch(r'ignore = \["RMW5"\] +# pyproject\.toml:3', settings["ignore"])
    assert re.fullmatch(
        r'per-file-ignores = \{ "a\*" = \["RMW1"\] \} +# pyproject\.toml:4', settings["per-file-ignores"]
    )
    assert re.fullmatch(r'output-format = "json" +# NOCLOBBER_OUTPUT_FORMAT', settings["output-format"])
    assert re.fullmatch(r"preview = false +# default", settings["preview"])
    assert list(config.SETTINGS) == list(settings)[: len(config.SETTINGS)]
    assert (
        rows[-2]
        == "# rules that run: RMW001, RMW002, RMW004, RMW009, RMW101, RMW106, RMW204, RMW301, RMW401, RMW404, RMW601"
    )
    assert run("config", "--check").out == "pyproject.toml: ok\n"
    assert run("config", "--check", "--isolated").out == "no settings file; the defaults are in force\n"


def test_stores_explain_says_what_the_vocabulary_makes_of_a_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from noclobber import explain

    write(a="bad")
    monkeypatch.setattr(explain, "explain", lambda path, line, vocabulary: f"{path} at {line}" if line == 1 else None)
    assert run("stores", "explain", "a.py:1").out == "a.py at 1\n"
    assert run("stores", "explain", "a.py:2").out == "a.py:2: no call here that the vocabulary knows\n"


def test_stores_explain_of_a_file_that_cannot_be_read_fails(run: Any) -> None:
    write(a="def (")
    assert run("stores", "explain", "a.py:1").err == "noclobber: a.py: line 1: invalid syntax\n"


def test_stores_list_and_check(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    Path("noclobber.toml").write_text(
        '[[store]]\nid = "ledger"\ntypes = ["shop.Ledger"]\nread = ["load(account: key) -> value"]\n'
        'write = ["put(account: key, x: payload)"]\n'
    )
    rows = run("stores", "list").out.split("\n")
    assert rows[0].split() == ["kind", "id", "receivers", "calls", "guard", "verified", "origin"]
    assert rows[1].split("  ")[0] == "store" and "ledger" in rows[1] and "noclobber.toml:1" in rows[1]
    assert run("stores", "check").out == "noclobber.toml: ok\n"
    assert run("stores", "check", "--verify").code == 0
    assert run("stores", "check", "--isolated").out == "the built-in vocabulary: ok\n"
    text = '[[store]]\nid = "box"\ntypes = ["shop.Box"]\nraed = ["peek(a: key) -> value"]\n'
    Path("more.toml").write_text(text)
    done = run("stores", "check", "more.toml")
    assert done.code == 1 and done.out.startswith("more.toml:4: ") and "read" in done.out
    Path("more.toml").write_text(text.replace("raed", "read"))
    done = run("stores", "check", "more.toml")
    assert (done.code, done.out) == (0, "more.toml: ok\n")
    Path("noclobber.toml").write_text("[[store]]\nid = 3\n")
    write(a="")
    done = run("check")
    assert done.code == 2 and done.err.startswith("noclobber: noclobber.toml:2: ")


def test_an_error_of_our_own_is_no_finding(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from noclobber import verdict

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(verdict, "settle", broken)
    write(a="bad")
    done = run("check", "--exit-zero")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("ZeroDivisionError: oh\nnoclobber: internal error (please report it)\n")


# --- colour, progress, pipes ------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"PRE_COMMIT": "1"}, True, True),
    ],
)
def test_colour(
    monkeypatch: pytest.MonkeyPatch, choice: str, environ: dict[str, str], terminal: bool, colored: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert common.colored(choice, Terminal() if terminal else io.StringIO()) is colored


@pytest.mark.parametrize(
    ("environ", "arguments", "shown"),
    [
        ({}, [], True),
        ({"CI": "true"}, [], False),
        ({"PRE_COMMIT": "1"}, [], False),
        ({"TERM": "dumb"}, [], False),
        ({}, ["-q"], False),
        ({}, ["--no-progress"], False),
    ],
)
def test_progress_is_for_somebody_who_watches(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], arguments: list[str], shown: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress_of.shows_progress(check.parser().parse(arguments)) is shown
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not progress_of.shows_progress(check.parser().parse([]))


def test_progress_waits_two_seconds_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress = progress_of.Progress()
    progress(1, 9)
    progress.clear()
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
    now[0] = 102.0
    progress(2, 9)
    progress(3, 9)
    assert sys.stderr.getvalue() == "\r2 of 9 files"  # type: ignore[attr-defined]
    progress.clear()
    assert sys.stderr.getvalue().endswith("\r" + " " * 40 + "\r")  # type: ignore[attr-defined]


def test_interrupt(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analyse, "analyse", interrupt)
    write(a="bad")
    done = run("check")
    assert (done.code, done.out, done.err) == (130, "", "noclobber: interrupted\n")


# --- as a process -----------------------------------------------------------------------------------------------------


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "noclobber", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        **options,
    )


def test_module_is_the_command() -> None:
    done = process("version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"noclobber {__version__}\n", "")
    assert process("check", "none.py").returncode == 2


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m noclobber rule --all; echo code $? >&2"
    done = subprocess.run(["bash", "-c", f"({command}) | head -1"], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 1
    assert done.stderr in ("code 141\n", "code 0\n")
    read, end = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "noclobber", "rule", "--all"], stdout=end, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(end)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_unicode(here: Path) -> None:
    write(a="x = 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "noclobber", "check"],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0 and done.stdout.startswith(b"no findings \\xb7 1 file")


def test_start_is_quick_and_light() -> None:
    probe = (
        "import sys, time; from noclobber.cli import main; main(['version']);"
        "print(time.process_time(), sorted({'libcst', 'rich', 'sqlglot', 'pathspec'} & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split("\n")[1]
    seconds, names = out.split(" ", 1)
    assert names == "[]"
    assert float(seconds) < 0.15


def test_a_real_terminal_gets_colour_and_no_progress_for_a_quick_run(here: Path) -> None:
    write(a="x = (\n")
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "noclobber", "check", "a.py"])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    os.waitpid(pid, 0)
    assert b"\x1b[1m" in shown and b" of " not in shown


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="no signals")
def test_interrupting_the_process(here: Path) -> None:
    os.mkfifo(here / "pipe.py")
    running = subprocess.Popen(
        [sys.executable, "-m", "noclobber", "check", "pipe.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer = os.open(here / "pipe.py", os.O_WRONLY)  # returns when it has opened the pipe, and now waits for what is in it
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    os.close(writer)
    assert (running.returncode, out, err) == (130, "", "noclobber: interrupted\n")
