"""Old code: the baseline, and what is new against another revision. In real repositories, with the real rules."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_precommit import git

from noclobber import cli
from noclobber.baseline import Entry, text_of

HEAD = "import sqlite3\n\n\n"
SPEND = '''\
def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
    left = row[0] - cents
    db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
    db.commit()
'''
SELL = '''\
def sell(db: sqlite3.Connection, event: int, count: int) -> None:
    row = db.execute("SELECT free FROM seats WHERE event = ?", (event,)).fetchone()
    db.execute("UPDATE seats SET free = ? WHERE event = ?", (row[0] - count, event))
    db.commit()
'''
#: The write stands in one module, the transaction that guards it in the caller's.
LOCKED = '''\
import sqlite3

from store import take


def shop(code: str, cents: int) -> None:
    db = sqlite3.connect("shop.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    take(db, code, cents)
    db.execute("COMMIT")
'''
TAKE = SPEND.replace("def spend", "def take").replace("    db.commit()\n", "")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("GIT_", "GITHUB_", "CI_", "PRE_COMMIT")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "pyproject.toml").write_text('[tool.noclobber]\nbaseline = "known.json"\n')
    (folder / "known.json").write_text(text_of([]))
    (folder / "pay.py").write_text(HEAD + SPEND)
    commit(folder, "first")
    monkeypatch.chdir(folder)
    return folder


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return command


def places(run: Any, *arguments: str) -> list[str]:
    """path:line of what is found, exit code checked."""
    code, out, _ = run("check", "--output-format", "concise", *arguments)
    found = [":".join(line.split(":")[:2]) for line in out.splitlines()]
    assert code == (1 if found else 0)
    return found


# --- baseline ---------------------------------------------------------------------------------------------------------


def create(run: Any) -> None:
    code, out, err = run("baseline", "create")
    assert code == 0, err


def test_create_writes_one_entry_a_line_without_lines_of_code(repo: Path, run: Any) -> None:
    (repo / "sub").mkdir()
    (repo / "sub" / "seats.py").write_text(HEAD + SELL + "\n\n" + SELL)
    create(run)
    text = (repo / "known.json").read_text()
    rows = json.loads(text)["findings"]
    assert [row[:3] + row[4:] for row in rows] == [["RMW101", "pay.py", "spend", 1], ["RMW101", "sub/seats.py", "sell", 2]]
    assert text.count("\n") == len(rows) + 2 and text.endswith("\n")
    code, out, _ = run("check")
    assert code == 0 and "3 baselined" in out
    assert places(run, "--no-baseline") == ["pay.py:7", "sub/seats.py:6", "sub/seats.py:12"]


def test_create_does_not_write_over_entries(repo: Path, run: Any) -> None:
    create(run)
    before = (repo / "known.json").read_text()
    (repo / "pay.py").write_text(HEAD + SPEND + "\n\n" + SELL)
    code, _, err = run("baseline", "create")
    assert code == 2 and "--force" in err
    assert (repo / "known.json").read_text() == before
    assert run("baseline", "create", "--force")[0] == 0
    assert places(run) == []


def test_a_check_never_writes(repo: Path, run: Any) -> None:
    create(run)
    before = (repo / "known.json").read_bytes()
    (repo / "pay.py").write_text(HEAD)
    run("check")
    run("baseline", "check")
    assert (repo / "known.json").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda repo: (repo / "pay.py").write_text("# one\n# two\n" + HEAD + "X = 1\n\n\n" + SPEND),
        lambda repo: (repo / "pay.py").write_text(HEAD + "def a():\n    pass\n\n\n" + SPEND + "\n\ndef b():\n    pass\n"),
        lambda repo: (repo / "pay.py").write_text(HEAD + SPEND.replace('("UPDATE', '(\n        "UPDATE').replace("(left, code))", "(left, code),\n    )")),
        lambda repo: (repo / "pay.py").write_text(HEAD + SPEND.replace("spend", "withdraw")),
        lambda repo: (repo / "pay.py").rename(repo / "paid.py"),
        lambda repo: (repo / "pay.py").write_bytes((HEAD + SPEND).replace("\n", "\r\n").encode()),
    ],
    ids=["lines above", "function moved", "reformatted", "function renamed", "file renamed", "line ends"],
)
def test_what_does_not_make_a_finding_new(repo: Path, run: Any, change: Any) -> None:
    create(run)
    change(repo)
    assert places(run) == []
    assert run("baseline", "check")[0] == 0


def test_an_equal_finding_is_new_once(repo: Path, run: Any) -> None:
    create(run)
    (repo / "pay.py").write_text(HEAD + SPEND + "\n\n" + SPEND)
    assert len(places(run)) == 1


def test_one_repaired_and_one_added_is_one_new(repo: Path, run: Any) -> None:
    create(run)
    (repo / "pay.py").write_text(HEAD + SELL)
    assert places(run) == ["pay.py:6"]


def test_stale_entries_are_reported_and_pruned(repo: Path, run: Any) -> None:
    (repo / "seats.py").write_text(HEAD + SELL)
    create(run)
    (repo / "pay.py").write_text(HEAD)
    code, out, _ = run("baseline", "check")
    assert code == 1
    assert out.startswith("known.json:2:1: RMW005 nothing needs this entry any more (RMW101 in spend of pay.py)")
    assert out.count("RMW005") == 1
    (repo / "more.py").write_text(HEAD + SELL.replace("seats", "rows"))
    assert run("baseline", "prune")[0] == 0
    assert [row[1] for row in json.loads((repo / "known.json").read_text())["findings"]] == ["seats.py"]
    assert places(run) == ["more.py:6"], "prune adds nothing"


def test_a_deleted_file_is_stale_in_a_whole_run(repo: Path, run: Any) -> None:
    (repo / "seats.py").write_text(HEAD + SELL)
    create(run)
    (repo / "pay.py").unlink()
    assert run("baseline", "check", "seats.py")[0] == 0
    assert run("baseline", "check")[0] == 1


def test_a_partial_run_judges_its_own_files_only(repo: Path, run: Any) -> None:
    (repo / "seats.py").write_text(HEAD + SELL)
    create(run)
    (repo / "pay.py").write_text(HEAD)
    assert run("baseline", "check", "seats.py")[0] == 0
    run("baseline", "prune", "seats.py")
    assert len(json.loads((repo / "known.json").read_text())["findings"]) == 2


def test_a_file_that_cannot_be_read_cannot_be_known(repo: Path, run: Any) -> None:
    (repo / "broken.py").write_text("def (")
    create(run)
    assert "broken" not in (repo / "known.json").read_text()
    assert places(run) == ["broken.py:1"]


@pytest.mark.parametrize("text", ["<<<<<<< ours\n", "[]", '{"schema": 9, "findings": []}', '{"schema": 1, "findings": [\n["RMW101", 2]\n]}'])
def test_a_file_that_is_no_baseline_ends_the_run(repo: Path, run: Any, text: str) -> None:
    (repo / "known.json").write_text(text)
    code, out, err = run("check")
    assert code == 2 and not out and "known.json" in err


def test_a_missing_baseline_ends_the_run(repo: Path, run: Any) -> None:
    (repo / "known.json").unlink()
    code, _, err = run("check")
    assert code == 2 and "noclobber baseline create" in err


def test_the_option_is_relative_to_the_working_directory(repo: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    create(run)
    (repo / "sub").mkdir()
    monkeypatch.chdir(repo / "sub")
    assert run("check", "..", "--baseline", "../known.json")[0] == 0
    assert run("check", "..")[0] == 0


def test_equal_entries_are_counted() -> None:
    one = Entry("RMW101", "a.py", "f", "00")
    assert text_of([one, one]) == '{"schema": 1, "findings": [\n ["RMW101", "a.py", "f", "00", 2]\n]}\n'


# --- another revision -------------------------------------------------------------------------------------------------


def test_only_what_is_new(repo: Path, run: Any) -> None:
    assert places(run) == ["pay.py:7"]
    assert places(run, "--diff-base", "main") == []
    (repo / "pay.py").write_text("# moved\n" + HEAD + SPEND)
    (repo / "seats.py").write_text(HEAD + SELL)  # untracked
    assert places(run, "--diff-base", "main") == ["seats.py:6"]
    code, out, _ = run("check", "--diff-base", "main")
    assert code == 1 and "1 older" in out


def test_a_branch_is_compared_with_where_it_started(repo: Path, run: Any) -> None:
    git(repo, "checkout", "-qb", "feature")
    (repo / "seats.py").write_text(HEAD + SELL)
    commit(repo, "feature")
    git(repo, "checkout", "-q", "main")
    (repo / "pay.py").write_text(HEAD)  # main has repaired it meanwhile; that makes nothing new on the branch
    commit(repo, "repair")
    git(repo, "checkout", "-q", "feature")
    assert places(run, "--diff-base", "main") == ["seats.py:6"]


def test_a_lock_removed_in_the_caller_makes_the_untouched_write_new(repo: Path, run: Any) -> None:
    (repo / "pay.py").unlink()
    (repo / "store.py").write_text(HEAD + TAKE)
    (repo / "till.py").write_text(LOCKED)
    commit(repo, "locked")
    if places(run):
        pytest.skip("the guard of another module is not seen yet")
    (repo / "till.py").write_text(LOCKED.replace('    db.execute("BEGIN IMMEDIATE")\n', "").replace('    db.execute("COMMIT")\n', ""))
    assert places(run, "--diff-base", "HEAD") == ["store.py:7"]
    assert git(repo, "status", "--porcelain").strip() == "M till.py"


def test_a_lock_removed_above_the_write_makes_it_new(repo: Path, run: Any) -> None:
    locked = SPEND.replace("    row = db", '    db.execute("BEGIN IMMEDIATE")\n    row = db')
    (repo / "pay.py").write_text(HEAD + locked)
    commit(repo, "locked")
    assert places(run) == []
    (repo / "pay.py").write_text(HEAD + SPEND)
    assert places(run, "--diff-base", "HEAD") == ["pay.py:7"]


def test_renames(repo: Path, run: Any) -> None:
    (repo / "lib").mkdir()
    git(repo, "mv", "pay.py", "lib/money.py")
    assert places(run, "--diff-base", "HEAD") == []
    assert places(run, "--diff-base", "HEAD", "lib/money.py") == []
    (repo / "lib" / "money.py").write_text(HEAD + SPEND + "\n\n" + SELL)
    assert places(run, "--diff-base", "HEAD") == ["lib/money.py:13"]


def test_scopes(repo: Path, run: Any) -> None:
    (repo / "seats.py").write_text(HEAD + SELL)
    commit(repo, "seats")
    (repo / "pay.py").write_text(HEAD + SPEND.replace(".fetchone()", ".fetchone()  # the one row"))
    assert places(run, "--diff-base", "HEAD") == []
    assert places(run, "--diff-base", "HEAD", "--diff-scope", "touched") == ["pay.py:7"]
    assert places(run, "--diff-base", "HEAD", "--diff-scope", "files") == ["pay.py:7"]


def test_the_settings_of_the_work_tree_count_for_both_sides(repo: Path, run: Any) -> None:
    (repo / "pyproject.toml").write_text("[tool.noclobber]\n")
    commit(repo, "on")
    (repo / "pyproject.toml").write_text('[tool.noclobber]\nextend-exclude = ["pay.py"]\n')
    assert places(run, "--diff-base", "HEAD") == []


def test_auto(repo: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "seats.py").write_text(HEAD + SELL)
    code, _, err = run("check", "--diff-base", "auto")
    assert code == 2 and "origin/HEAD" in err and "name the branch to compare with: --diff-base main" in err
    for name, value in (("GITHUB_BASE_REF", "main"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", git(repo, "rev-parse", "main").strip()), ("PRE_COMMIT_FROM_REF", "HEAD")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert places(run, "--diff-base", "auto") == ["seats.py:6"]


def test_a_shallow_clone_is_named_with_the_remedy(repo: Path, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repo, "checkout", "-qb", "feature")
    (repo / "seats.py").write_text(HEAD + SELL)
    commit(repo, "feature")
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", "--branch", "feature", repo.as_uri(), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    for ref in ("origin/main", "HEAD~1"):
        code, out, err = run("check", "--diff-base", ref)
        assert code == 2 and not out
        assert "this clone is shallow" in err and "fetch-depth: 0" in err


@pytest.mark.parametrize(("ref", "said"), [("nowhere", "cannot find nowhere"), ("--output=x", "cannot find --output=x")])
def test_an_unknown_base(repo: Path, run: Any, ref: str, said: str) -> None:
    code, out, err = run("check", f"--diff-base={ref}")
    assert code == 2 and not out and said in err


def test_outside_of_a_repository(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("check", "--diff-base", "main")
    assert code == 2 and "in no git repository" in err


def test_a_hook_of_commit_all(repo: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """git names .git/index.lock then; nothing of it may be read or written."""
    (repo / "seats.py").write_text(HEAD + SELL)
    git(repo, "add", "seats.py")
    lock = repo / ".git" / "index.lock"
    lock.write_bytes((repo / ".git" / "index").read_bytes())
    before = lock.read_bytes()
    monkeypatch.setenv("GIT_INDEX_FILE", str(lock))
    assert places(run, "--diff-base", "HEAD") == ["seats.py:6"]
    assert lock.read_bytes() == before


def test_the_time_told_holds_both_sides(repo: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that each analysis of a side moves on by a second."""
    import time

    from noclobber import engine

    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def ticking(items: Any, *rest: Any, analysed: Any = engine.analyse_item, **more: Any) -> Any:
        clock[0] += 1
        return analysed(items, *rest, **more)

    monkeypatch.setattr(engine, "analyse_item", ticking)
    (repo / "seats.py").write_text(HEAD + SELL)
    _, _, err = run("check", "--diff-base", "HEAD", "--output-format", "concise", "-j", "1")
    assert float(err.strip().rpartition(" · ")[2].removesuffix(" s")) == clock[0] >= 2
