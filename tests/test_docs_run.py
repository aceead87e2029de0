"""The commands of README.md and the site, run: each shell block in a prepared project under git, with the console script.

What a command's exit code has to be is what the text says (`# 1: …`), or what EXIT says. What is not run stands in NOT_RUN, with the reason.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "site").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)

#: Beginning of a command → why it is not run here. `pip install .` and the tests are run by .ci/run.
NOT_RUN = {
    "pip install": "needs a package index",
    "python3 -m venv": "needs a package index",
    "reviewdog": "needs reviewdog and a pull request; what is piped into it is run",
    "noclobber fix -i": "asks on a terminal; tests/test_fixes_cli.py answers it",
}
#: Beginning of a command → its exit code in the prepared project, which has findings. The longest beginning counts; others give 0.
EXIT = {
    "noclobber check": 1,
    "noclobber check --add-ignore": 0,
    "noclobber check --exit-zero": 0,
    "noclobber check --diff-base": 0,  # the prepared project stands on main
    "noclobber check --fix --unsafe-fixes": 0,
    "noclobber teach src/pay.py:42 last-writer": 2,  # SQL in a text is read without an entry: it says so and writes nothing
    "pytest": 1,  # the update is lost
}
KNOWN = """noclobber baseline create && printf '[tool.noclobber]\\nbaseline = ".noclobber-baseline.json"\\n' >> pyproject.toml"""
#: Beginning of a command → what has been done before it.
BEFORE = {"noclobber baseline check": KNOWN, "noclobber baseline prune": KNOWN}

PAY = '''\
"""The tills."""
import sqlite3

import audit
from helpers import keyed

FIELDS = ("code", "balance")


def setup(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS vouchers (code TEXT PRIMARY KEY, balance INTEGER)")
'''
SPEND = '''\
def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    with keyed("vouchers", code):
        row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
        audit.trail.note(code, cents)
        left = row[0] - cents
        db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
    db.commit()
'''
MAIL = "import postbox\n\n\ndef confirm(address: str) -> None:\n" + "    # to the customer\n" * 12 + "    postbox.drop(address)\n"
HELPERS = '''\
from contextlib import contextmanager


@contextmanager
def keyed(table, key):
    """A lock kept elsewhere; here it does nothing."""
    yield
'''
NEW = '''

def refund(db: sqlite3.Connection, code: str, cents: int) -> None:
    row = db.execute("SELECT balance FROM refunds WHERE code = ?", (code,)).fetchone()
    db.execute("UPDATE refunds SET balance = ? WHERE code = ?", (row[0] + cents, code))
    db.commit()
'''


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project on its branch main, with what the pages name: a finding at src/pay.py:42, calls at src/pay.py:40 and src/mail.py:17."""
    folder = tmp_path_factory.mktemp("docs") / "shop"
    (folder / "src").mkdir(parents=True)
    spend = SPEND.split("\n")
    before = 41 - next(number for number, line in enumerate(spend) if "UPDATE" in line)
    pay = PAY + "\n" * (before - PAY.count("\n")) + SPEND
    assert "UPDATE vouchers" in pay.split("\n")[41] and "audit.trail.note" in pay.split("\n")[39]
    (folder / "src" / "pay.py").write_text(pay)
    (folder / "src" / "mail.py").write_text(MAIL)
    (folder / "src" / "helpers.py").write_text(HELPERS)
    (folder / "src" / "audit.py").write_text("class Trail:\n    def note(self, code, cents):\n        pass\n\n\ntrail = Trail()\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    return folder


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which `noclobber`, `pytest` and `flake8` are those of this environment and no settings come from outside."""
    scripts = tmp_path_factory.mktemp("bin")
    for name in ("noclobber", "pytest", "flake8"):
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        (scripts / name).chmod(0o755)
    left_out = ("GITHUB_", "CI_", "GIT_", "NOCLOBBER_", "PRE_COMMIT", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    names = {"user.name": "n", "user.email": "n@example.org"}
    told = {"GIT_CONFIG_COUNT": str(len(names))}
    for number, (key, value) in enumerate(names.items()):
        told |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**kept, **told, "PATH": f"{scripts}{os.pathsep}{kept['PATH']}", "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "GITHUB_STEP_SUMMARY": os.devnull}


def blocks(*languages: str) -> list[Any]:
    found = []
    for page in PAGES:
        for number, (language, text) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            if language in languages:
                found.append(pytest.param(text, id=f"{page.stem}-{number}"))
    assert found, languages
    return found


def commands(block: str) -> list[tuple[str, int | None]]:
    """(command, exit code that the text tells) of each line of a shell block."""
    rows = []
    for line in block.split("\n"):
        line = line.strip().removeprefix("$ ")
        if line:
            command, _, comment = line.partition("  # ")
            told = re.match(r"\s*(\d)\b", comment)
            rows.append((command.strip(), int(told[1]) if told else None))
    return rows


def reason(command: str) -> str:
    return next((why for start, why in NOT_RUN.items() if command.startswith(start)), "")


def expected(command: str) -> int:
    return EXIT[max((start for start in EXIT if command.startswith(start)), key=len)] if any(map(command.startswith, EXIT)) else 0


def run(command: str, folder: Path, environment: dict[str, str], told: int | None = None) -> None:
    head, pipe, tail = command.partition(" | ")
    if pipe and reason(tail):
        command = head
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    wanted = expected(command) if told is None else told
    assert (done.returncode, "Traceback" in done.stderr) == (wanted, False), f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("block", blocks("console", "sh"))
def test_every_command_runs(block: str, prepared: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Lines of noclobber alone each begin in the project as it was; others depend on those before them."""
    rows = commands(block)
    alone = all(command.startswith("noclobber ") for command, _ in rows)
    folder = tmp_path / "shop"
    for number, (command, told) in enumerate(rows):
        if number == 0 or alone:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(prepared, folder)
        if reason(command):
            continue
        for start, before in BEFORE.items():
            if command.startswith(start):
                run(before, folder, environment, 0)
        run(command, folder, environment, told)
        if command == "git checkout -b feature":
            with (folder / "src" / "pay.py").open("a") as stream:
                stream.write(NEW)
            git(folder, "commit", "-q", "-a", "-m", "refunds")


@pytest.mark.parametrize("block", blocks("yaml"))
def test_every_yaml_block_can_be_used(block: str, prepared: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Hooks are read by pre-commit; what a job runs of noclobber runs here."""
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load(block)
    if isinstance(document, list):
        document = {"repos": document}
    if "repos" in document:
        clientlib = pytest.importorskip("pre_commit.clientlib")
        file = tmp_path / ".pre-commit-config.yaml"
        file.write_text(yaml.safe_dump(document))
        assert clientlib.load_config(str(file))["repos"] and clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
        known = {hook["id"] for hook in clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))}
        assert {hook["id"] for repo in document["repos"] for hook in repo["hooks"]} <= known
        return
    steps = [*document.get("steps", ()), *(step for job in document.get("jobs", {}).values() for step in job["steps"])]
    lines = [step["run"] for step in steps if "run" in step] + [line for job in document.values() if isinstance(job, dict) for line in job.get("script", ())]
    assert lines or any(str(step.get("uses", "")).startswith("noclobber/") for step in steps)
    folder = tmp_path / "shop"
    shutil.copytree(prepared, folder)
    for line in lines:
        if not reason(line):
            run(line, folder, environment)
            for name in re.findall(r"--output \w+=(\S+)", line):
                assert (folder / name).stat().st_size


@pytest.mark.parametrize("block", blocks("ini"))
def test_flake8_with_the_settings_of_the_page(block: str, prepared: Path, environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("flake8")
    folder = tmp_path / "shop"
    shutil.copytree(prepared, folder)
    (folder / ".flake8").write_text(block)
    done = subprocess.run(["flake8", "-j1", "src/pay.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert "src/pay.py:42:9: RMW101 " in done.stdout and done.returncode == 1, done.stdout + done.stderr


def test_what_is_not_run_is_there() -> None:
    """An entry that nothing needs hides the next command that begins like it."""
    said = [command for block in blocks("console", "sh", "yaml") for line in block.values[0].split("\n") for command in re.split(r" \| |^\$ |run: |^\s*- ", line)]
    assert {start for start in NOT_RUN if any(command.startswith(start) for command in said)} == set(NOT_RUN)
