"""The hook: a valid manifest, and a run in a consumer's repository with the real pre-commit and prek.

The runs build an environment with pip, so they need the package index and some twenty seconds each: marker `services`.
They work on a copy of the checkout's files, committed in a repository of its own: try-repo on the checkout would see
tracked files only.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BAD = '''\
import sqlite3


def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
    left = row[0] - cents
    db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
    db.commit()
'''
GOOD = '''\
import sqlite3


def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    db.execute("UPDATE vouchers SET balance = balance - ? WHERE code = ?", (cents, code))
    db.commit()
'''
FINDING = "RMW101"


def git(folder: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath="]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"git {arguments}: {done.stderr}"
    return done.stdout


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A new repository with the files, all committed."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "files")
    return folder


def run(command: list[str], cwd: Path, home: Path, **extra: str) -> tuple[int, str]:
    """Exit code and the joined output of a hook runner, with a cache of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"PRE_COMMIT_HOME": str(home), "PREK_HOME": str(home), "PRE_COMMIT_COLOR": "never", **extra}
    done = subprocess.run(
        command, cwd=cwd, env=environment, text=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def test_the_manifest_is_valid(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    code, output = run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], ROOT, tmp_path
    )
    assert code == 0, output


def test_the_manifest_keeps_what_users_must_not_lose() -> None:
    yaml = pytest.importorskip("yaml")
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    hook = hooks["noclobber"]
    assert hook["entry"] == "noclobber check --force-exclude"  # in entry: a user's args replace the manifest's args
    assert hook["args"] == [] and hook["require_serial"] is True
    assert hook["types"] == ["python"] and hook["stages"] == ["pre-commit", "pre-push", "manual"]
    assert not hook.get("verbose") and "files" not in hook
    fixing = hooks["noclobber-fix"]
    assert fixing["entry"] == "noclobber check --fix --force-exclude" and {**fixing, "id": "", "name": "", "description": "", "entry": ""} == {
        **hook, "id": "", "name": "", "description": "", "entry": ""}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout's files (tracked or new, not ignored) as one commit of a repository of their own."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    copy = tmp_path_factory.mktemp("hook") / "noclobber"
    copy.mkdir()
    listing = subprocess.run(
        ["git", "--no-optional-locks", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listing.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    git(copy, "init", "-q", "-b", "main")
    git(copy, "add", "-A")
    git(copy, "commit", "-q", "-m", "the checkout")
    return copy


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit-home")


def configured(source: Path, args: str = "[]") -> str:
    revision = git(source, "rev-parse", "HEAD").strip()
    return f"repos:\n- repo: {source}\n  rev: {revision}\n  hooks:\n  - id: noclobber\n    args: {args}\n"


@pytest.mark.services
def test_try_repo_reports_the_finding(source: Path, home: Path, tmp_path: Path) -> None:
    consumer = repository(tmp_path / "shop", {"shop/good.py": GOOD, "shop/vouchers.py": BAD, "notes.txt": "text\n"})
    code, output = run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(source), "noclobber", "--all-files", "--verbose"], consumer, home
    )
    assert code == 1, output
    assert FINDING in output and "shop/vouchers.py:7" in output
    assert "good.py:" not in output


@pytest.mark.services
def test_the_fixing_hook_modifies_and_fails(source: Path, home: Path, tmp_path: Path) -> None:
    useless = GOOD + "X = 1  # noclobber: ignore[RMW101] -- for nothing\n"
    consumer = repository(tmp_path / "shop", {"shop/good.py": useless, "shop/vouchers.py": BAD})
    code, output = run([sys.executable, "-m", "pre_commit", "try-repo", str(source), "noclobber-fix", "--all-files"], consumer, home)
    assert code == 1 and "files were modified by this hook" in output, output
    assert (consumer / "shop/good.py").read_text() == GOOD + "X = 1\n" and (consumer / "shop/vouchers.py").read_text() == BAD


@pytest.mark.services
def test_excluded_files_stay_excluded_in_the_hook(source: Path, home: Path, tmp_path: Path) -> None:
    files = {
        ".pre-commit-config.yaml": configured(source),
        "pyproject.toml": '[tool.noclobber]\nextend-exclude = ["legacy/"]\n',
        "legacy/vouchers.py": BAD,
        "tests/test_vouchers.py": BAD,
        "shop.py": GOOD,
    }
    consumer = repository(tmp_path / "shop", files)
    code, output = run([sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"], consumer, home)
    assert code == 0, output
    (consumer / "shop.py").write_text(BAD, encoding="utf-8")
    git(consumer, "add", "-A")
    code, output = run([sys.executable, "-m", "pre_commit", "run"], consumer, home)  # the staged file only
    assert code == 1, output
    assert "shop.py:7" in output and "legacy" not in output


@pytest.mark.services
def test_a_commit_is_refused(source: Path, home: Path, tmp_path: Path) -> None:
    """The installed hook under `git commit -a`, where GIT_INDEX_FILE points at .git/index.lock."""
    consumer = repository(tmp_path / "shop", {".pre-commit-config.yaml": configured(source), "shop.py": GOOD})
    code, output = run([sys.executable, "-m", "pre_commit", "install"], consumer, home)
    assert code == 0, output
    (consumer / "shop.py").write_text(BAD, encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    code, output = run(["git", *identity, "commit", "-a", "-m", "change"], consumer, home)
    assert code == 1 and FINDING in output, output
    (consumer / "shop.py").write_text(GOOD + "\n\nNAME = 'shop'\n", encoding="utf-8")
    code, output = run(["git", *identity, "commit", "-a", "-m", "change"], consumer, home)
    assert code == 0, output


@pytest.mark.services
def test_prek_reads_the_same_manifest(source: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=120)
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    done = subprocess.run(
        [str(folder / "python"), "-m", "pip", "install", "-q", "prek"], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        pytest.skip(f"prek does not install here: {done.stderr[-200:]}")
    consumer = repository(tmp_path / "shop", {"shop/good.py": GOOD, "shop/vouchers.py": BAD})
    code, output = run(
        [str(folder / "prek"), "try-repo", str(source), "noclobber", "--all-files", "--verbose"], consumer, tmp_path / "home"
    )
    assert code == 1, output
    assert FINDING in output and "shop/vouchers.py:7" in output
