"""What contributors run: `noclobber.dev new-rule` and `generate --check`."""
from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from noclobber.dev.__main__ import main
from noclobber.dev.scaffold import generate, new_rule
from noclobber.knowledge.pages import SECTIONS

ROOT = Path(__file__).resolve().parents[1]


def test_what_is_generated_is_up_to_date() -> None:
    assert main(["generate", "--check"]) == 0, "python -m noclobber.dev generate"


def test_generate_makes_it_anew(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    shutil.copy(ROOT / "README.md", tmp_path)
    file = tmp_path / "rules" / "README.md"
    text = (ROOT / "rules" / "README.md").read_text()
    file.write_text(text.replace("| `key` |", "| `kye` |"))
    assert generate(True, tmp_path) == 1
    assert generate(False, tmp_path) == 0
    assert file.read_text() == text


def test_a_new_rule(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "rules" / "catalog", tmp_path / "rules" / "catalog")
    assert new_rule("never-heard-of", "RMW199", tmp_path) == 0
    ast.parse((tmp_path / "src/noclobber/checks/never_heard_of.py").read_text())
    page = (tmp_path / "rules/catalog/never-heard-of.md").read_text()
    assert 'code = "RMW199"' in page and all(f"## {title}\n" in page for title in SECTIONS)
    assert len(list((tmp_path / "tests/fixtures/never_heard_of").iterdir())) == 9
    assert new_rule("never-heard-of", "RMW199", tmp_path) == 2, "writes over nothing"


@pytest.mark.parametrize(("slug", "code"), [("Bad", "RMW199"), ("ok", "RMW99"), ("ok", "ABC101"), ("ok", "RMW001"), ("ok", "RMW101")])
def test_what_is_no_rule(tmp_path: Path, slug: str, code: str) -> None:
    shutil.copytree(ROOT / "rules" / "catalog", tmp_path / "rules" / "catalog")
    assert new_rule(slug, code, tmp_path) == 2
    assert not (tmp_path / "src").exists()
