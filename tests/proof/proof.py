"""What a proof is, and how one is run: the program as it is, then the very text that `noclobber check --fix --unsafe-fixes` prints for it."""

from __future__ import annotations

import functools
import io
import re
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from race import End, Race, moved
from stores import Store

from noclobber import cli, knowledge

#: What the workers A and B add, and their names.
AMOUNTS, NAMES = (5, 10), ("ann", "bob")
PROGRAMS = Path(__file__).resolve().parent / "programs"
_MARKER = re.compile(r"#\s*expect:\s*([a-z-]+)")


@dataclass(frozen=True)
class Outcome:
    """`state`: what the store holds in the end. `a`, `b`: how each worker ended: an exception's name, a value's text, or "" (it returned None)."""

    state: Any
    a: str = ""
    b: str = ""

    @property
    def told(self) -> str:
        """For docs/proofs.md."""
        ends = [f"{worker} ends with `{end}`" for worker, end in (("A", self.a), ("B", self.b)) if end]
        return "; ".join([f"`{self.state!r}`", *ends])


#: Every proof.
KNOWN: list[type[Proof]] = []


class Proof:
    """One program, on one store. A subclass is registered by being written.

    `program`: name in programs/, with one `# expect: slug` marker on the write's line, where both workers are held; `# meanwhile` marks
    another line to be held at (the other writer's). `store`: class in stores. `fix`: what the fix does, in some words. `asked`: what both
    workers do. `before`, `after`: the exact outcome without and with the fix. `held`: both workers must stand at their writes at the same
    time; False where the story needs no second writer (a lost answer, a rollback). `meets`: they do so with the fix, too.
    """

    program: ClassVar[str]
    store: ClassVar[type[Store]]
    fix: ClassVar[str]
    asked: ClassVar[str]
    before: ClassVar[Outcome]
    after: ClassVar[Outcome]
    held: ClassVar[bool] = True
    meets: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        KNOWN.append(cls)

    def __init__(self, store: Any, module: Any) -> None:
        self.at, self.module = store, module

    def setup(self) -> None:
        """Put the first state into the empty store."""

    def worker(self, number: int) -> Callable[[], Any] | None:
        """The call of worker A (0) or B (1); None: there is no B. Made before the workers start: connections are opened here."""
        raise NotImplementedError

    def state(self) -> Any:
        """What the store holds when both have ended."""
        raise NotImplementedError

    @classmethod
    def text(cls) -> str:
        return (PROGRAMS / f"{cls.program}.py").read_text(encoding="utf-8")

    @classmethod
    def marker(cls) -> tuple[int, str]:
        """(line, slug) of the program's marker."""
        (found,) = [(number, match[1]) for number, line in enumerate(cls.text().split("\n"), 1) for match in _MARKER.finditer(line)]
        return found

    @classmethod
    def lines(cls) -> set[int]:
        """Where the workers are held."""
        return {cls.marker()[0], *(number for number, line in enumerate(cls.text().split("\n"), 1) if line.endswith("# meanwhile"))}


def run(proof: type[Proof], store: Store, text: str, folder: Path) -> tuple[Outcome, bool]:
    """Run a text of the program once. Returns the outcome, and whether both workers stood at the write at the same time."""
    module = load(proof, text, folder)
    story = proof(store, module)
    story.setup()
    race = Race(str(module.__file__), {moved(proof.text(), text, line) for line in proof.lines()} if proof.held else ())
    calls = [call for call in (story.worker(0), story.worker(1)) if call is not None]
    ends: list[End] = race.run(*(functools.partial(store.worker, call) for call in calls))
    told = [end.told for end in ends] + [""]
    return Outcome(story.state(), told[0], told[1]), race.met


def load(proof: type[Proof], text: str, folder: Path) -> Any:
    """The program as a module. Both texts of a program carry the same module name, since Django knows a model by it."""
    path = folder / f"{proof.program}.py"
    path.write_text(text, encoding="utf-8")
    module = types.ModuleType(f"proof_{proof.program}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Model .* was already registered", RuntimeWarning)
        exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def noclobber(text: str, name: str, *options: str) -> tuple[int, str, str]:
    """Run `noclobber check` over a text on stdin: exit code, stdout, stderr."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), encoding="utf-8")
    with mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err):
        code = cli.main(["check", "--isolated", "--strict", *options, "--stdin-filename", name, "-"])
        out.flush()
    return code, out.buffer.getvalue().decode("utf-8"), err.getvalue()


def found(text: str, name: str) -> list[tuple[str, int]]:
    """(slug, line) of each finding in a text."""
    import json

    _, out, _ = noclobber(text, name, "--output-format", "json", "-q")
    document = json.loads(out)
    assert not document["errors"], document["errors"]
    return [(finding["name"], finding["line"]) for finding in document["findings"]]


def rows(proofs: list[type[Proof]], versions: dict[str, str]) -> list[str]:
    """The table of docs/proofs.md. `versions`: name of a store's class → what was run against."""
    codes = {page.slug: page.code for page in knowledge.load().pages.values()}
    found = []
    for proof in sorted(proofs, key=lambda proof: (codes[proof.marker()[1]], proof.__name__)):
        slug = proof.marker()[1]
        cells = (
            f"{codes[slug]} {slug}",
            proof.fix,
            proof.store.label,
            versions.get(proof.store.__name__, ""),
            f"[{proof.program}](../tests/proof/programs/{proof.program}.py)",
            proof.asked,
            proof.before.told,
            proof.after.told,
        )
        found.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return found


def fixed(proof: type[Proof]) -> str:
    """What `noclobber check --fix --unsafe-fixes` makes of the program."""
    _, out, err = noclobber(proof.text(), f"{proof.program}.py", "--fix", "--unsafe-fixes")
    assert out and out != proof.text(), f"nothing was fixed in {proof.program}.py: {err.partition(chr(10))[0]}"
    return out
