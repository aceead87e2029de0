"""The site: every command in it is one that there is, every block of settings can be used, the site builds."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noclobber import knowledge
from noclobber.cli.common import COMMANDS, Failed
from noclobber.cli.completion import parser_of
from noclobber.config import Resolver
from noclobber.report import FORMATS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "site").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(language: str) -> list[Any]:
    """All blocks of a language, with the page's name as id."""
    found = [(path, text) for path in PAGES for name, text in BLOCK.findall(path.read_text(encoding="utf-8")) if name == language]
    assert found, language
    return [pytest.param(text, id=f"{path.stem}{number}") for number, (path, text) in enumerate(found)]


def commands() -> list[Any]:
    rows = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        said = [line.strip().removeprefix("$ ").removeprefix("- ").removeprefix("run: ") for _, block in BLOCK.findall(text) for line in block.split("\n")]
        said += re.findall(r"`(noclobber [^`\n]+)`", text)
        rows += [pytest.param(line.split(" | ")[0].split(" < ")[0], id=f"{path.stem}: {line}") for line in said if line.startswith("noclobber ")]
    return rows


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one_that_there_is(line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[:words.index(">")] if ">" in words else words
    assert words[1] in COMMANDS
    try:
        options = parser_of(words[1]).parse(words[2:])
    except Failed as error:
        pytest.fail(str(error))
    if words[1] == "check":
        assert all(text.partition("=")[0] in FORMATS for text in options.output)
        Resolver({"output-format": options.set_output_format} if options.set_output_format else {}, isolated=True)


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_block_of_settings_can_be_used(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / ".noclobber-baseline.json").write_text('{"schema": 1, "findings": []}')
    config = Resolver(cwd=str(tmp_path)).for_path(".")
    assert config.vocabulary and (config.file or "tool.noclobber" not in text)


@pytest.mark.parametrize("text", [*blocks("yaml")])
def test_every_yaml_block_is_yaml(text: str) -> None:
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load(text)
    assert isinstance(document, dict)
    for repo in document.get("repos", ()):
        known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
        assert {hook["id"] for hook in repo["hooks"]} <= known
    for step in document.get("steps", ()):
        if str(step.get("uses", "")).startswith("noclobber/"):
            inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
            assert set(step["with"]) <= set(inputs)


def test_the_action_runs_what_there_is() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert {"name", "description", "runs"} <= set(action)
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
        assert "${{" not in step["run"], "inputs come in as variables: a pull request's text is no shell code"
    options = re.findall(r"--[a-z-]+", action["runs"]["steps"][1]["run"])
    known = [name for a in parser_of("check")._actions for name in a.option_strings]
    assert options and set(options) <= set(known)


def test_the_problem_matcher_reads_concise_lines() -> None:
    (pattern,) = json.loads((ROOT / ".github" / "noclobber-matcher.json").read_text())["problemMatcher"][0]["pattern"]
    found = re.match(pattern["regexp"], "src/pay.py:42:5: RMW101 `a:1:2: b` is overwritten (blind-sql-update)")
    assert found
    named = {name: found[group] for name, group in pattern.items() if name != "regexp"}
    assert (named["file"], named["line"], named["column"], named["code"]) == ("src/pay.py", "42", "5", "RMW101")


def test_every_rule_gets_a_page_with_what_was_measured() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import hooks
    finally:
        sys.path.pop(0)
    pages = list(knowledge.load().pages.values())
    index = hooks.rule_index(pages)
    for page in pages:
        text = hooks.rule_page(page)
        assert text.startswith(f"# {page.code} {page.slug}\n") and "# expect:" not in text
        assert f"({page.slug}.md)" in index
    measured = type("Page", (), {"trust": {"right": 9, "wrong": 1}})
    assert hooks.trust(measured) == "9 of 10 findings that were read were right"


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not here")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "site" / "rules" / "blind-sql-update" / "index.html").is_file()
