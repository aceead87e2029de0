"""README.md and docs/examples/README.md say what is so: commands, the snippet, the output, the table of defects."""
from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TESTS = 'pytest -n 2 -m "not corpus and not services"'
OUTPUT = re.compile(r"<!-- output: noclobber (?P<arguments>[^\n]*) -->\n```text\n(?P<text>.*?)\n```\n<!-- end of output -->", re.S)


def noclobber(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "noclobber", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


def test_the_test_command_is_the_same_in_ci() -> None:
    assert f".venv/bin/{TESTS}" in README and f"`{TESTS}`" in README
    assert TESTS in (ROOT / ".ci" / "run").read_text(encoding="utf-8").split("\n")


def test_the_snippet_is_the_example() -> None:
    snippet = README.split("```python\n")[1].split("```")[0]
    assert snippet in (ROOT / "docs/examples/boxoffice/vouchers.py").read_text(encoding="utf-8")


def test_the_output_is_what_the_command_prints() -> None:
    found = OUTPUT.search(README)
    assert found, "README.md lost its output block"
    done = noclobber(*found["arguments"].split(), "--no-cache")
    # The footer ends in a time, which differs from run to run.
    printed, pasted = (re.sub(r" · [0-9.]+ m?s$", "", text.rstrip()) for text in (done.stdout, found["text"]))
    assert printed == pasted, "paste it anew: python tests/test_readme.py"
    assert done.returncode == 1


def paste() -> None:
    """Replace the output block of README.md by what the command prints now."""
    found = OUTPUT.search(README)
    assert found
    text = noclobber(*found["arguments"].split(), "--no-cache").stdout.rstrip()
    (ROOT / "README.md").write_text(README[: found.start("text")] + text + README[found.end("text"):], encoding="utf-8")


def table() -> Counter:
    """(file, function, code) of the table of defects."""
    rows = re.findall(r"^\| `(\w+\.py)` \| `(\w+)` \| (RMW\d{3}) ", (ROOT / "docs/examples/README.md").read_text(encoding="utf-8"), re.M)
    assert len(rows) == 8
    return Counter(rows)


def test_the_examples_hold_the_defects_of_the_table_and_no_other() -> None:
    expected = table()
    for options, missing in ((), {"RMW201", "RMW202", "RMW401", "RMW501"}), (("--preview",), set()):
        done = noclobber("check", "--no-cache", "--output-format", "json", *options, "docs/examples")
        assert done.returncode == 1, done.stderr
        document = json.loads(done.stdout)
        assert not document["errors"]
        found = Counter((Path(f["path"]).name, f["function"].rpartition(".")[2], f["code"]) for f in document["findings"])
        assert found == Counter({row: count for row, count in expected.items() if row[2] not in missing})


def test_the_examples_are_python() -> None:
    for path in sorted((ROOT / "docs" / "examples").rglob("*.py")):
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


def test_the_store_of_the_readme_can_be_used(tmp_path: Path) -> None:
    from noclobber.config import Resolver

    (tmp_path / "pyproject.toml").write_text(README.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    config = Resolver(cwd=str(tmp_path)).for_path("shop.py")
    assert config.file == "pyproject.toml"
    specs = config.vocabulary.methods("shop.ledger.Ledger", "store")
    assert [(spec.op, spec.entry.id) for spec in specs] == [("write", "ledger")]


def test_the_rules_of_the_readme_are_the_rules_there_are() -> None:
    from noclobber import knowledge

    codes = set(re.findall(r"RMW\d{3} `[a-z-]+`", README))
    assert codes == {f"{page.code} `{page.slug}`" for page in knowledge.load().pages.values()}


if __name__ == "__main__":
    paste()
