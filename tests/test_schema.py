"""The JSON Schema and the loader agree; completions hold what there is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from noclobber import cli
from noclobber.cli.common import COMMANDS
from noclobber.cli.completion import parser_of
from noclobber.config import SETTINGS, ConfigError, Resolver
from noclobber.config.schema import schema

jsonschema = pytest.importorskip("jsonschema")

GOOD = [
    {},
    {"preset": "strict", "preview": True, "select": ["RMW1", "stale-retry", "ALL"], "ignore": ["RMW107"]},
    {"min-confidence": "high", "fail-on": "never", "exclude": ["a/"], "force-exclude": False, "baseline": "x.json"},
    {"severity": {"RMW2": "info"}, "per-file-ignores": {"tests/**": ["RMW1", "ALL"]}, "patterns": {"locking_reader": ["get_locked"]}},
    {"store": [{"id": "x", "types": ["a.B"], "read": ["get(k: key) -> value"], "write": "put(k: key, v: payload)"}], "disable": ["s3"]},
    {"output-format": "sarif", "respect-noqa": "all", "required-version": ">=0.0"},
]
BAD = [
    {"min-confidance": "high"},
    {"preset": "audit"},
    {"preview": "yes"},
    {"select": "RMW1"},
    {"select": ["RMW999"]},
    {"select": ["rmw101"]},
    {"ignore": ["RMW001"]},
    {"ignore": ["internal-error"]},
    {"severity": {"RMW101": "fatal"}},
    {"severity": {"nothing": "info"}},
    {"severity": {"RMW009": "info"}},
    {"per-file-ignores": {"a": "RMW1"}},
    {"per-file-ignores": {"a": ["RMW888"]}},
    {"exclude": [1]},
    {"store": {"id": "x"}},
    {"store": ["x"]},
    {"patterns": {"locking_reader": "x"}},
    {"output-format": "pdf"},
    {"baseline": 3},
]


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@pytest.mark.parametrize(("document", "fits"), [*((d, True) for d in GOOD), *((d, False) for d in BAD)], ids=str)
def test_schema_and_loader_agree(tmp_path: Path, document: dict[str, Any], fits: bool) -> None:
    (tmp_path / "noclobber.toml").write_text("".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items()))
    try:
        Resolver(cwd=str(tmp_path)).for_path(".").vocabulary
        loaded = True
    except ConfigError:
        loaded = False
    assert loaded is fits
    assert jsonschema.Draft7Validator(schema()).is_valid(document) is fits


def test_the_schema_has_every_setting_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft7Validator.check_schema(printed)
    assert set(printed["properties"]) == set(SETTINGS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_parser(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parser_of(command).prog == f"noclobber {command}"
    assert cli.main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: noclobber {command}")


@pytest.mark.parametrize(("shell", "check"), [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"]), ("tcsh", ["tcsh", "-n"])])
def test_completions(shell: str, check: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("baseline", "diff-base", "min-confidence", "sarif"):
        assert word in script
    if shutil.which(check[0]):
        (tmp_path / "script").write_text(script)
        subprocess.run([*check, str(tmp_path / "script")], check=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["completion", "bash"])
    script = capsys.readouterr().out
    for words, expected in ((["ba"], "baseline"), (["check", "--diff-b"], "--diff-base"), (["check", "--fail-on", "ne"], "never"), (["baseline", "pr"], "prune")):
        probe = (f"{script}\nCOMP_WORDS=(noclobber {' '.join(words)}); COMP_CWORD={len(words)}; "
                 f"_shtab_noclobber; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True)
        assert expected in done.stdout.split()
