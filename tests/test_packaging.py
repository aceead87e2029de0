"""The wheel: rules inside, compiled, and a package that runs from the wheel alone."""
from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(path.name for path in (ROOT / "rules" / "catalog").glob("*.md"))
VOCABULARY = sorted(path.name for path in (ROOT / "rules" / "vocabulary").glob("*.toml"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the installed hatchling (no network)."""
    pytest.importorskip("hatchling")
    target = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", str(target)],
        cwd=target, capture_output=True, text=True, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (found,) = target.glob("noclobber-*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_rules_travel_in_the_wheel(wheel: Path) -> None:
    inside = names(wheel)
    assert PAGES and VOCABULARY
    assert {f"noclobber/rules/catalog/{name}" for name in PAGES} <= inside
    assert {f"noclobber/rules/vocabulary/{name}" for name in VOCABULARY} <= inside
    assert "noclobber/rules/precedence.toml" in inside


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"noclobber"}
    modules = {str(path.relative_to(ROOT / "src")).replace("\\", "/") for path in (ROOT / "src" / "noclobber").rglob("*.py")}
    assert modules <= names(wheel)


def test_metadata_and_entry_points(unpacked: Path) -> None:
    (info,) = unpacked.glob("noclobber-*.dist-info")
    entries = (info / "entry_points.txt").read_text(encoding="utf-8")
    assert "noclobber = noclobber.cli:main" in entries
    assert "[flake8.extension]" in entries and "RMW = noclobber.flake8:Plugin" in entries
    metadata = Parser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Requires-Python"] == ">=3.10"
    plain = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(line.split(">")[0].split(";")[0].strip() for line in plain) == ["libcst", "pathspec", "rich", "shtab", "sqlglot", "tomli"]
    assert not any(line.startswith("flake8") for line in plain)


def run_from(unpacked: Path, arguments: list[str], cwd: Path) -> subprocess.CompletedProcess:
    """noclobber from the unpacked wheel, in front of the checkout's editable install."""
    program = f"import sys; sys.path.insert(0, {str(unpacked)!r}); import runpy; sys.argv[0] = 'noclobber'; "
    program += "runpy.run_module('noclobber', run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-c", program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)


def test_it_runs_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    done = run_from(unpacked, ["rule", "RMW101"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "blind-sql-update" in done.stdout


def test_a_start_from_the_wheel_parses_no_toml(unpacked: Path, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r})\n"
        "from noclobber import knowledge\n"
        "found = knowledge.load()\n"
        "assert found.pages, 'no pages'\n"
        "print(knowledge.__file__, 'tomllib' in sys.modules or 'tomli' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked)) and done.stdout.split()[-1] == "False", done.stdout
