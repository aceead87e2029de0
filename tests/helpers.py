"""Running the linter in-process over fixtures and examples, and comparing what it says with the markers in them.

Markers (`tests/fixtures/README.md`): `# expect: slug[, slug]` a finding of that rule covers this line or starts within one line of
it; `# alt: slug` it may as well stand here, or be of this rule; `# todo: slug` a known missed alarm.
"""
from __future__ import annotations

import fcntl
import functools
import io
import os
import pickle
import re
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from noclobber import engine, knowledge, suppress, verdict
from noclobber.config import Config, Resolver
from noclobber.finding import Finding
from noclobber.resolve import Source

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
#: Folders below FIXTURES that are not one file = one case.
NOT_CASES = ("projects",)

T = TypeVar("T")

_MARKER = re.compile(r"#\s*(expect|alt|todo):\s*([a-z0-9][a-z0-9, -]*)")


@dataclass(frozen=True)
class Marker:
    """`kind`: expect, alt or todo. `line`: 1-based."""

    kind: str
    line: int
    slug: str


# --- running ------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def everything_on() -> Config:
    """Settings that show all there is. Their file makes the fixtures a project of its own, so that the linter's functions are no callers of theirs."""
    overrides = {"preset": "strict", "preview": True, "min-confidence": "low"}
    return Resolver(overrides, config_file=str(FIXTURES / ".noclobber.toml"), cwd=str(ROOT)).for_path(str(FIXTURES))


def settled(items: Iterable[engine.Item]) -> list[Finding]:
    """What is shown of these items, without the linter's own rules except RMW009 (an internal error is a false alarm)."""
    shown = verdict.settle(items).findings
    return [finding for finding in shown if not finding.code.startswith("RMW0") or finding.code == "RMW009"]


def lint(path: Path) -> list[Finding]:
    """The findings in one file, read alone."""
    return lint_bytes(path.read_bytes(), display(path))


def lint_bytes(data: bytes, path: str, *, triage: bool = True) -> list[Finding]:
    """The findings in one buffer. `triage=False`: every scope is walked, whatever triage thinks of it."""
    return settled([item_of(data, path, triage=triage)])


def item_of(data: bytes, path: str, *, triage: bool = True) -> engine.Item:
    """One analysed buffer, before verdict."""
    if triage:
        return engine.analyse_item(data, path, everything_on())
    from noclobber import analyse

    result = analyse.analyse(data, path, everything_on(), triage=False)
    return engine.Item(result, everything_on(), suppress.scan(Source.decode(path, data).lines))


def together(paths: Sequence[str], jobs: int = 1) -> dict[str, tuple[Finding, ...]]:
    """path → findings of one run over files and folders."""
    run = engine.run(paths, everything_on(), jobs=jobs)
    assert not run.missing, run.missing
    found: dict[str, tuple[Finding, ...]] = {absolute(item.result.path): () for item in run.items}
    for finding in settled(run.items):
        found[absolute(finding.path)] += (finding,)
    return found


def made_once(name: str, make: Callable[[], T]) -> T:
    """What `make` gives, made once for all workers of a test run: the first that asks makes it, the others wait and read it."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if session is None:
        return make()
    shared = Path(tempfile.gettempdir()) / f"noclobber-{name}-{session}.pickle"
    with open(f"{shared}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            made = make()
            shared.write_bytes(pickle.dumps(made))
            return made
        return pickle.loads(shared.read_bytes())


@functools.lru_cache(maxsize=None)
def whole_run() -> dict[str, tuple[Finding, ...]]:
    """path → findings of one run over all fixtures, with all cores."""
    folders = sorted(str(folder) for folder in FIXTURES.iterdir() if folder.is_dir() and folder.name not in NOT_CASES)
    alone = "PYTEST_XDIST_TESTRUNUID" not in os.environ
    return made_once("fixtures", lambda: together(folders, jobs=1 if alone else os.cpu_count() or 1))


def absolute(path: str) -> str:
    """Key of `whole_run`: independent of the working directory that paths are shown relative to."""
    return str(Path(path).resolve())


def display(path: Path) -> str:
    """The path as findings show it when the checkout is the working directory."""
    return path.resolve().relative_to(ROOT).as_posix()


def cases() -> list[Path]:
    """All fixture files that are a case of their own."""
    return sorted(path for path in FIXTURES.rglob("*.py") if path.relative_to(FIXTURES).parts[0] not in NOT_CASES)


# --- comparing ----------------------------------------------------------------------------------------------------------


def key(finding: Finding) -> tuple[str, int, int, int, str]:
    """What must not depend on how a file came to be analysed."""
    return finding.name, finding.place.line, finding.place.column, finding.place.end_line, finding.confidence


def where(finding: Finding) -> tuple[str, int, str]:
    """The same without columns, which a change of the white space moves."""
    return finding.name, finding.place.line, finding.confidence


def markers(text: str) -> list[Marker]:
    """The markers of a file, in order."""
    return [
        Marker(kind, number, slug.strip())
        for number, line in enumerate(text.split("\n"), 1)
        for kind, slugs in _MARKER.findall(line)
        for slug in slugs.split(",") if slug.strip()
    ]


def near(findings: Sequence[Finding], line: int) -> list[int]:
    """Indexes of the findings that cover the line or start within one line of it (as `score.py` matches)."""
    return [
        index for index, finding in enumerate(findings)
        if finding.place.line - 1 <= line <= max(finding.place.end_line, finding.place.line + 1)
    ]


def differences(findings: Sequence[Finding], wanted: Sequence[Marker]) -> list[str]:
    """What is wrong, one line each; [] when findings and markers agree.

    On the line of a `todo` a finding of a rule that the awaited one will beat is accepted: it is right until that rule is there.
    """
    wrong: list[str] = []
    used: set[int] = set()
    alts = [marker for marker in wanted if marker.kind == "alt"]
    for marker in wanted:
        if marker.kind != "expect":
            continue
        hits = near(findings, marker.line)
        exact = [index for index in hits if findings[index].name == marker.slug] or [
            index for alt in alts if alt.slug == marker.slug or alt.line == marker.line
            for index in near(findings, alt.line) if findings[index].name == alt.slug
        ]
        if exact:
            used.update(exact)
        else:
            others = ", ".join(sorted({findings[index].name for index in hits}))
            wrong.append(f"line {marker.line}: no {marker.slug}" + (f", but {others}" if others else ""))
    for alt in alts:
        used.update(index for index in near(findings, alt.line) if findings[index].name == alt.slug)
    for marker in wanted:
        if marker.kind != "todo":
            continue
        for index in near(findings, marker.line):
            if findings[index].name == marker.slug and index not in used:
                wrong.append(f"line {marker.line}: {marker.slug} is found now; make the todo an expect")
                used.add(index)
            elif loses(findings[index].name, marker.slug):
                used.add(index)
    wrong += [
        f"line {finding.place.line}: false alarm {finding.name} ({finding.confidence}): {finding.message}"
        for index, finding in enumerate(findings) if index not in used
    ]
    return wrong


def loses(slug: str, other: str) -> bool:
    """Whether a finding of `slug` gives way to one of `other` on the same write (the orders join)."""
    reached, todo = {other}, [other]
    while todo:
        strong = todo.pop()
        for chain in knowledge.load().precedence:
            if strong in chain:
                weaker = set(chain[chain.index(strong) + 1:]) - reached
                reached |= weaker
                todo += weaker
    return slug != other and slug in reached


# --- twins --------------------------------------------------------------------------------------------------------------


def suppressed(text: str, findings: Sequence[Finding]) -> str:
    """The text with each line's markers turned into one pragma for the marked rules and for what was found on that line."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        found = list(_MARKER.finditer(line))
        if not found:
            continue
        slugs = [slug.strip() for match in found for slug in match[2].split(",") if slug.strip()]
        slugs += [findings[index].name for index in near(findings, number)]
        known = knowledge.load().pages
        names = ", ".join(slug for slug in dict.fromkeys(slugs) if slug in known)
        lines[number - 1] = line[: found[0].start()].rstrip() + (f"  # noclobber: ignore[{names}] -- test" if names else "")
    return "\n".join(lines)


def tabbed(text: str) -> str | None:
    """The text indented by tabs; None when that would change a string that goes over several lines."""
    starts = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if token.type == tokenize.STRING and token.start[0] != token.end[0]:
            return None
        if name.endswith("STRING_START"):
            starts.append(token.start[0])
        elif name.endswith("STRING_END") and starts.pop() != token.end[0]:
            return None
    lines = []
    for line in text.split("\n"):
        spaces = len(line) - len(line.lstrip(" "))
        lines.append("\t" * (spaces // 4) + " " * (spaces % 4) + line[spaces:])
    return "\n".join(lines)
