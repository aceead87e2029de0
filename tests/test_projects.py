"""Small projects of several modules: what the markers in them say, nothing else, and the same for any order, by itself as in the whole."""
from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from helpers import FIXTURES, differences, key, markers, settled
from noclobber import analyse, engine
from noclobber.config import Config, Resolver
from noclobber.finding import Finding

PROJECTS = sorted(path for path in (FIXTURES / "projects").iterdir() if path.is_dir())
each = pytest.mark.parametrize("fixture", PROJECTS, ids=lambda path: path.name)


@pytest.fixture
def project(fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy outside of this repository: a project of its own."""
    root = tmp_path / fixture.name
    shutil.copytree(fixture, root)
    monkeypatch.chdir(root)
    return root


def settings() -> Config:
    return Resolver({"preset": "strict", "preview": True, "min-confidence": "low"}).for_path(".")


def by_path(findings: list[Finding]) -> dict[str, list[tuple]]:
    found: dict[str, list[tuple]] = {}
    for finding in findings:
        found.setdefault(finding.path, []).append(key(finding))
    return {path: sorted(rows) for path, rows in found.items()}


def whole() -> list[Finding]:
    return settled(engine.run(["."], settings(), jobs=1).items)


@each
def test_findings(project: Path) -> None:
    findings = whole()
    wrong = []
    for path in sorted(project.rglob("*.py")):
        name = path.relative_to(project).as_posix()
        text = path.read_text(encoding="utf-8")
        compile(text, name, "exec")
        wrong += [f"{name}: {line}" for line in differences([f for f in findings if f.path == name], markers(text))]
    assert not wrong, "\n".join(wrong)


@each
def test_a_file_alone_says_no_more(project: Path) -> None:
    """DESIGN §7: the hook never says more than CI. (It says as much: imports and callers are looked up either way.)"""
    together = by_path(whole())
    alone = {}
    for path in sorted(project.rglob("*.py")):
        alone.update(by_path(settled(engine.run([str(path)], settings(), jobs=1).items)))
    assert alone == together


@each
def test_triage_only_skips(project: Path) -> None:
    together = by_path(whole())
    config = settings()
    workspaces = engine.Workspaces()
    everything = {}
    for path in sorted(project.rglob("*.py")):
        result = analyse.analyse(path.read_bytes(), path.relative_to(project).as_posix(), config, triage=False,
                                 workspace=workspaces.of(config, str(path)))
        everything.update(by_path(settled([engine.Item(result, config)])))
    assert everything == together


@each
def test_any_order_and_any_number_of_processes(project: Path) -> None:
    together = by_path(whole())
    paths = [str(path) for path in sorted(project.rglob("*.py"))]
    config = settings()
    for seed in range(3):
        random.Random(seed).shuffle(paths)
        workspaces = engine.Workspaces()
        found = []
        for path in paths:
            found += engine.run([path], config, jobs=1, workspaces=workspaces).items
        assert by_path(settled(found)) == together
    assert by_path(settled(engine.run(["."], config, jobs=2).items)) == together
