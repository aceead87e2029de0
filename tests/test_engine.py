"""Runs over files: order, processes, what goes wrong in one of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fakes import fake_rules, finding  # noqa: F401

from noclobber import analyse, engine
from noclobber.config import Config, ConfigError, Resolver
from noclobber.finding import Failure, FileResult
from noclobber.suppress import Noqa

pytestmark = pytest.mark.usefixtures("fake_rules")

#: The stand-in for the analysis reaches workers by fork only.
FORK = multiprocessing.get_start_method() == "fork"
needs_fork = pytest.mark.skipif(not FORK, reason="workers are not forked here")


def stand_in(data: bytes, path: str, config: Config, workspace: object = None) -> FileResult:
    """One finding for each line that holds `bad`; other words make trouble."""
    if b"KILL" in data:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"ONCE" in data and not os.path.exists(path + ".seen"):
        Path(path + ".seen").write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    if b"RAISE" in data:
        raise ValueError("odd\nthing")
    if b"DEEP" in data:
        return stand_in(data, path, config)
    lines = [number for number, line in enumerate(data.split(b"\n"), 1) if b"bad" in line]
    return FileResult(
        path, tuple(finding(path=path, line=line, statement=(line, line)) for line in lines), (), {"analysed": 1}
    )


@pytest.fixture(autouse=True)
def analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyse, "analyse", stand_in)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        (root / f"{name}.py").write_text(text)


def run(*paths: str, **options: Any) -> engine.RunResult:
    return engine.run(paths or (".",), Resolver(), **options)


def outcome(result: engine.RunResult) -> list[tuple[str, list[int], list[str]]]:
    return [
        (
            item.result.path,
            [found.place.line for found in item.result.findings],
            [failure.message for failure in item.result.failures],
        )
        for item in result.items
    ]


def test_serial(here: Path) -> None:
    write(here, b="x\nbad\n", a="bad # noqa: RMW101\nbad", c="fine")
    result = run()
    assert outcome(result) == [("a.py", [1, 2], []), ("b.py", [2], []), ("c.py", [], [])]
    assert (result.jobs, result.whole, result.missing) == (1, True, [])
    assert result.items[0].noqa == {1: Noqa(("RMW101",))}
    assert result.lines("a.py") == ("bad # noqa: RMW101", "bad")
    assert result.items[2].lines is None and result.lines("c.py") == ["fine"]
    assert result.lines("none.py") is None


def test_lines_are_those_that_were_analysed(here: Path) -> None:
    write(here, a="bad\n")
    result = run()
    write(here, a="changed\n")
    assert result.lines("a.py") == ("bad",)


def test_pragmas_are_read_wherever_the_bytes_stand(here: Path) -> None:
    (here / "a.py").write_bytes(b"x = 1\ry = 2  # noclobber: ignore[RMW101]\r")
    (here / "b.py").write_bytes("# coding: latin-1\nx = 'é'  # noclobber: ignore[RMW101]\n".encode("latin-1"))
    (here / "c.py").write_bytes(b"\xef\xbb\xbfx  # noclobber: ignore[RMW101]\r\n")
    (here / "d.py").write_bytes(b"x = '\xff'  # noclobber: ignore[RMW101]\n")
    result = run()
    assert [[(pragma.line, pragma.column) for pragma in item.pragmas] for item in result.items] == [
        [(2, 8)],
        [(2, 10)],
        [(1, 4)],
        [],
    ]


def test_stdin(here: Path) -> None:
    result = engine.run((), Resolver(), stdin=(b"x\nbad\n", "sub/new.py"))
    assert outcome(result) == [("sub/new.py", [2], [])]
    assert result.lines("sub/new.py") == ("x", "bad")
    result = engine.run((), Resolver({"force-exclude": True}), stdin=(b"bad\n", "tests/t.py"))
    assert (result.items, result.excluded) == ([], 1)


def test_one_config_for_all(here: Path) -> None:
    write(here, a="bad")
    own = Resolver({"fail-on": "never"}).for_path(".")
    (item,) = engine.run(["."], own).items
    assert item.config is own


def test_an_exception_is_told_for_its_file_only(here: Path) -> None:
    write(here, a="RAISE", b="bad", c="DEEP")
    result = run()
    assert outcome(result) == [
        ("a.py", [], ["internal error: ValueError, odd thing"]),
        ("b.py", [1], []),
        ("c.py", [], ["internal error: the code nests too deeply for the analysis"]),
    ]
    assert [failure.code for item in result.items for failure in item.result.failures] == ["RMW009", "RMW009"]
    assert result.items[2].lines == ("DEEP",)


def test_a_file_that_cannot_be_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, a="bad")
    collected = engine.files.collect(["."], Resolver())
    (here / "a.py").unlink()
    item = engine._read(collected.files[0], engine.Workspaces())
    assert item.result.failures == (Failure("RMW009", "a.py", 1, "cannot read the file: no such file or directory"),)


def test_deep_recursion_is_survived_on_the_big_stack(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def depth(count: int) -> int:
        return count and depth(count - 1)

    seen: list[int] = []

    def deep(data: bytes, path: str, config: Config, workspace: object = None) -> FileResult:
        seen.append(depth(15_000))
        return FileResult(path)

    monkeypatch.setattr(analyse, "analyse", deep)
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    write(here, a="x")
    assert outcome(run()) == [("a.py", [], [])]
    assert seen == [0]
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_mistakes_in_settings_are_raised_before_anything_is_analysed(here: Path) -> None:
    write(here, a="bad")
    (here / "sub").mkdir()
    (here / "sub" / "b.py").write_text("bad")
    (here / "sub" / "noclobber.toml").write_text("slect = 1\n")
    with pytest.raises(ConfigError, match="sub/noclobber.toml:1:1: unknown key `slect`"):
        run()


def test_progress(here: Path) -> None:
    write(here, a="", b="", c="")
    seen: list[tuple[int, int]] = []
    run(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_missing_paths_do_not_stop_the_others(here: Path) -> None:
    write(here, a="bad")
    result = run("none.py", "a.py")
    assert (outcome(result), result.missing) == ([("a.py", [1], [])], [("none.py", "no such file or directory")])


def test_interrupt_is_raised_and_the_rest_is_left(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, **{f"f{number}": "" for number in range(50)})
    started: list[str] = []

    def slow(data: bytes, path: str, config: Config, workspace: object = None) -> FileResult:
        started.append(path)
        if len(started) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return FileResult(path)

    monkeypatch.setattr(analyse, "analyse", slow)
    with pytest.raises(KeyboardInterrupt):
        run()
    time.sleep(0.3)
    assert len(started) < 10


# --- many processes ---------------------------------------------------------------------------------------------------


@needs_fork
@pytest.mark.parametrize("jobs", [2, 3])
def test_pool_gives_what_one_process_gives(here: Path, jobs: int) -> None:
    write(here, **{f"f{number:02}": "bad\n" * (number % 3) for number in range(40)}, g="RAISE")
    (here / "sub").mkdir()
    (here / "sub" / "noclobber.toml").write_text('fail-on = "never"\n')
    (here / "sub" / "h.py").write_text("bad  # noclobber: ignore[RMW101]\n")
    one, many = run(jobs=1), run(jobs=jobs)
    assert outcome(one) == outcome(many) and many.jobs == jobs
    assert [item.pragmas for item in one.items] == [item.pragmas for item in many.items]
    assert [item.lines for item in one.items] == [item.lines for item in many.items]
    assert many.items[-1].config.settings.fail_on == "never" and many.items[0].config.settings.fail_on == "warning"


@needs_fork
def test_a_pool_is_used_from_some_hundred_files_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "processors", lambda: 2)
    write(here, **{f"f{number:03}": "" for number in range(engine.POOL_FROM)})
    assert run().jobs == 2
    (here / "f000.py").unlink()
    assert run().jobs == 1


@needs_fork
@pytest.mark.parametrize("count", [2, 30])
def test_a_file_that_kills_its_worker_twice_is_told_and_the_others_are_analysed(here: Path, count: int) -> None:
    write(here, **{**{f"f{number:02}": "bad" for number in range(count)}, "f01": "KILL", "f00": "ONCE bad"})
    result = run(jobs=2)
    assert [item.result.path for item in result.items] == sorted(item.result.path for item in result.items)
    assert len(result.items) == count
    messages = {item.result.path: item.result.failures[0].message for item in result.items if item.result.failures}
    assert messages == {"f01.py": "internal error: the analysis of this file ended its process (BrokenProcessPool)"}
    assert all(len(item.result.findings) == 1 for item in result.items if item.result.path != "f01.py")


@needs_fork
def test_many_killers(here: Path) -> None:
    write(here, **{f"f{number:02}": "KILL" if number % 9 == 0 else "bad" for number in range(60)})
    result = run(jobs=2)
    assert [bool(item.result.failures) for item in result.items] == [number % 9 == 0 for number in range(60)]


@needs_fork
def test_what_cannot_travel_is_told_for_its_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(data: bytes, path: str, config: Config, workspace: object = None) -> FileResult:
        result = stand_in(data, path, config)
        if path == "f1.py":
            return FileResult(path, stats={"x": lambda: 1})  # type: ignore[dict-item]
        return result

    monkeypatch.setattr(analyse, "analyse", odd)
    write(here, f0="bad", f1="bad", f2="bad")
    result = run(jobs=2)
    assert [len(item.result.findings) for item in result.items] == [1, 0, 1]
    assert result.items[1].result.failures[0].code == "RMW009"
