"""The direction of flow, held by reading every import of src/noclobber, the lazy ones inside functions too (DESIGN §1).

A new module needs a line in LAYERS; a failure here is a question about the design, not about this file.
"""
from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "noclobber"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Module or package below noclobber → what it may import from noclobber. A package may always import its own modules.
#: "*" means all. The longest matching key counts.
LAYERS: dict[str, set[str]] = {
    "": set(),  # noclobber/__init__.py: imported by everything, imports nothing
    "__main__": {"cli"},
    "finding": set(),
    "knowledge": set(),
    "older": set(),  # a text for an older Python
    "resolve": {"older"},
    "trace": {"finding", "knowledge", "resolve"},
    "triage": {"knowledge", "resolve"},
    "project": {"resolve"},  # modules as files: who imports what
    "survey": {"triage", "project", "resolve", "knowledge"},  # triage over the modules of a project
    "link": {"trace", "resolve", "knowledge", "project"},
    "outline": {"trace.ir", "trace.positions", "resolve"},  # resolve's outline once more, from ir
    "checks": {"trace.events", "trace.questions", "finding"},  # what a trace holds, and what rules ask of it
    "fixes": {"trace", "finding"},
    "suppress": {"finding", "knowledge"},
    "baseline": {"finding", "knowledge"},
    "verdict": {"finding", "knowledge", "suppress", "baseline"},
    "report": {"finding", "knowledge"},
    "files": set(),
    "config": {"knowledge", "files"},
    "git": set(),
    "cache": {"finding"},
    "analyse": {"finding", "knowledge", "resolve", "trace", "triage", "survey", "project", "link", "outline", "checks", "fixes", "config", "files"},
    "repair": {"analyse", "finding", "fixes", "resolve"},  # drafts, verified
    "prove": {"finding", "resolve", "trace.sql"},  # the text of a pytest for a finding; reads code with ast, runs none
    "explain": {"analyse", "engine", "knowledge", "resolve", "trace"},
    "engine": {"analyse", "repair", "fixes", "finding", "knowledge", "resolve", "files", "config", "cache", "suppress"},
    "cli": {"engine", "explain", "prove", "resolve", "verdict", "report", "config", "files", "knowledge", "finding", "suppress", "baseline", "cache", "git", "analyse", "trace.positions", "fixes.apply"},
    "flake8": {"engine", "verdict", "config", "files", "knowledge", "finding"},
    "server": {"engine", "verdict", "report", "config", "files", "knowledge", "finding"},
    "dev": {"*"},
}
#: Imports from outside: name → modules and packages below noclobber that may import it at all.
RESERVED = {
    "libcst": {"trace.lower", "trace.positions", "fixes", "dev"},
    "libcst.metadata": {"trace.positions", "fixes", "dev"},
    "libcst.matchers": {"fixes", "dev"},
    "libcst.codemod": {"dev"},
    "sqlglot": {"trace.sql", "dev"},
    "rich": {"report", "cli", "dev"},
    "flake8": {"flake8", "dev"},
    "pygls": {"server"},
    "lsprotocol": {"server"},
}
#: Made by the wheel's build.
MADE = {"noclobber._rules"}
FORBIDDEN_IN_CHECKS = {"libcst", "ast", "re", "tokenize", "sqlglot", "noclobber.knowledge", "noclobber.resolve"}
#: Not to be imported when a module of this list is merely imported.
HEAVY = ("libcst", "sqlglot", "rich", "pygls")


def dotted(path: Path) -> str:
    """Name below noclobber: 'trace.lower'; a package's __init__ is the package; the root's is ''."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def imports(path: Path) -> list[tuple[int, str, bool]]:
    """(line, absolute dotted target, at module level) of every import in the file; `from a import b` gives 'a.b'.

    `import_module(...)` and `__import__(...)` count with the literal text they start with.
    """
    tree = ast.parse(path.read_bytes(), str(path))
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inside.update(child for child in ast.walk(node) if child is not node)
    package = ["noclobber", *dotted(path).split(".")] if dotted(path) else ["noclobber"]
    if path.name != "__init__.py":
        package = package[:-1]
    found = []
    for node in ast.walk(tree):
        top = node not in inside
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            found += [(node.lineno, ".".join([*base, alias.name]), top) for alias in node.names]
        elif isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__"):
                text = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found.append((node.lineno, text.value.rstrip("."), top))
    return found


def below(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def layer(module: str) -> str:
    """The longest key of LAYERS that covers the module."""
    keys = [key for key in LAYERS if key and (module == key or module.startswith(key + "."))]
    if keys:
        return max(keys, key=len)
    if module == "":
        return ""
    raise AssertionError(f"src/noclobber/{module.replace('.', '/')}.py has no layer: name it in LAYERS of {Path(__file__).name}")


def targets(path: Path) -> list[tuple[int, str]]:
    """(line, name below noclobber) of the file's imports from noclobber; names imported from a module end at the module.

    Fails for a module that is not there: a lazy import of it would only be noticed when it runs.
    """
    known = {dotted(module) for module in MODULES}
    result = []
    for line, target, _ in imports(path):
        if target.split(".")[0] != "noclobber":
            continue
        name = ".".join(target.split(".")[1:])
        while name and name not in known:
            name = name.rpartition(".")[0]
        assert name or target in ("noclobber", "noclobber.__version__") or target in MADE, f"{path.relative_to(ROOT)}:{line}: no {target}"
        result.append((line, name))
    return result


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_layers(path: Path) -> None:
    module = dotted(path)
    own = layer(module)
    allowed = LAYERS[own]
    for line, target in targets(path):
        if not target or "*" in allowed or (own and below(target, {own})):
            continue
        assert below(target, allowed), f"{path.relative_to(ROOT)}:{line}: {own or 'noclobber'} may not import noclobber.{target}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_reserved_packages_stay_in_their_modules(path: Path) -> None:
    module = dotted(path)
    for line, target, _ in imports(path):
        for package, owners in RESERVED.items():
            if below(target, {package}):
                assert below(module, owners), f"{path.relative_to(ROOT)}:{line}: {target} belongs to {sorted(owners)}"


@pytest.mark.parametrize("path", [path for path in MODULES if below(dotted(path), {"checks"})], ids=lambda path: path.name)
def test_checks_see_traces_only(path: Path) -> None:
    for line, target, _ in imports(path):
        assert not below(target, FORBIDDEN_IN_CHECKS), f"{path.relative_to(ROOT)}:{line}: a check may not import {target}"


def test_trace_never_imports_rules_or_output_by_name() -> None:
    """`ask` is an argument of the walk: trace has no way to reach link, checks or report."""
    for path in MODULES:
        if below(dotted(path), {"trace"}):
            for line, target in targets(path):
                assert not below(target, {"link", "checks", "report", "verdict", "engine"}), f"{path}:{line}"


def test_flake8_module_imports_only_the_standard_library_at_the_top() -> None:
    path = PACKAGE / "flake8.py"
    for line, target, top in imports(path):
        if top:
            first = target.split(".")[0]
            allowed = first in sys.stdlib_module_names or target in ("noclobber.__version__", "__future__.annotations")
            assert allowed, f"flake8.py:{line}: {target} is imported on every start of flake8; import it inside run()"


# --- slug = check = page = fixture folder ---------------------------------------------------------------------------


def slugs(folder: Path, pattern: str) -> set[str]:
    return {path.stem.replace("_", "-") for path in folder.glob(pattern) if not path.name.startswith("_")}


def pages() -> dict[str, str]:
    """slug → code, from the front matter of the rule pages."""
    found = {}
    for path in (ROOT / "rules" / "catalog").glob("*.md"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.replace(" ", "").startswith("code="):
                found[path.stem] = line.split("=")[1].strip().strip('"')
                break
    return found


def test_every_check_has_a_page_and_fixtures_and_the_other_way_round() -> None:
    checks = slugs(PACKAGE / "checks", "*.py")
    catalog = {slug for slug, code in pages().items() if not code.startswith("RMW0")}
    fixtures = {path.name.replace("_", "-") for path in (ROOT / "tests" / "fixtures").iterdir() if path.is_dir()}
    fixtures -= {"projects", "seeds"}
    own = {slug for slug, code in pages().items() if code.startswith("RMW0")}
    assert checks == catalog, f"checks without a page: {checks - catalog}; pages without a check: {catalog - checks}"
    assert checks <= fixtures, f"checks without a fixture folder: {checks - fixtures}"
    assert fixtures <= checks | own, f"fixture folders without a check: {fixtures - checks - own}"


# --- the cost of a start --------------------------------------------------------------------------------------------

PROBE = """
import json, sys
try:
    from noclobber.cli import main
    code = main(sys.argv[1:])
except SystemExit as leave:
    code = leave.code
print("PROBE", json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def modules_after(*arguments: str, cwd: Path) -> tuple[int, set[str]]:
    """Exit code of the command and the modules that it had imported, piped (no terminal)."""
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stderr.split("\n") if line.startswith("PROBE ")]
    assert lines, done.stderr
    code, names = json.loads(lines[-1][len("PROBE "):])
    return code or 0, set(names)


def heavy(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in HEAVY}


def test_version_imports_nothing_heavy(tmp_path: Path) -> None:
    code, names = modules_after("version", cwd=tmp_path)
    assert code == 0
    assert not heavy(names), sorted(heavy(names))[:5]


def test_a_file_without_needles_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("def area(width, height):\n    return width * height\n")
    code, names = modules_after("check", "--no-cache", "plain.py", cwd=tmp_path)
    assert code == 0
    assert not heavy(names), sorted(heavy(names))[:5]


def test_importing_the_flake8_module_imports_nothing_heavy(tmp_path: Path) -> None:
    probe = "import sys, json, noclobber.flake8; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
    names = set(json.loads(done.stdout))
    assert not heavy(names), sorted(heavy(names))[:5]
    assert {name for name in names if name.startswith("noclobber")} <= {"noclobber", "noclobber.flake8"}
