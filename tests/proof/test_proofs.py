"""Each fix, run against a real store: without it the update is lost, with it nothing is lost (docs/proofs.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import servers
from proof import PROGRAMS, Proof, fixed, found, rows, run
from proofs import PROOFS, WAITING

ROOT = Path(__file__).resolve().parents[2]
ORDER = [*PROOFS, *WAITING]


def each(proofs: list[type[Proof]]) -> pytest.MarkDecorator:
    """One test for each proof; those whose store is no SQLite file are run beside the others, with the marker `services`."""
    return pytest.mark.parametrize("proof", [
        pytest.param(proof, id=proof.__name__, marks=() if "sqlite" in proof.store.label.lower() else pytest.mark.services) for proof in proofs])


def opened(proof: type[Proof], folder: Path, serve: Callable[[str], Any]) -> Any:
    try:
        return proof.store(folder, serve)
    except servers.Missing as error:
        pytest.skip(str(error))


def ran(proof: type[Proof], text: str, folder: Path, serve: Callable[[str], Any]) -> tuple[Any, bool, str]:
    """(outcome, whether both stood at the write at once, what it was run against)."""
    store = opened(proof, folder, serve)
    try:
        return *run(proof, store, text, folder), store.version()
    finally:
        store.close()


@each(ORDER)
def test_without_the_fix(proof: type[Proof], tmp_path: Path, serve: Callable[[str], Any], proven: dict) -> None:
    line, slug = proof.marker()
    assert found(proof.text(), f"{proof.program}.py") == [(slug, line)]
    outcome, met, version = ran(proof, proof.text(), tmp_path, serve)
    assert outcome == proof.before
    assert met == proof.held, "both workers must have been between the read and the write at the same time"
    proven[proof.__name__, False] = version


@each(PROOFS)
def test_with_the_fix(proof: type[Proof], tmp_path: Path, serve: Callable[[str], Any], proven: dict) -> None:
    text = fixed(proof)
    assert found(text, f"{proof.program}.py") == []
    outcome, met, version = ran(proof, text, tmp_path, serve)
    assert outcome == proof.after, text
    assert met == (proof.held and proof.meets), text
    proven[proof.__name__, True] = version


@pytest.mark.parametrize("proof", WAITING, ids=lambda proof: proof.__name__)
def test_a_fix_that_is_waited_for(proof: type[Proof]) -> None:
    with pytest.raises(AssertionError, match="nothing was fixed"):
        fixed(proof)
        pytest.fail("there is a fix now: take the program out of PENDING")


def test_what_is_proven_was_lost_before() -> None:
    for proof in ORDER:
        assert proof.before != proof.after, proof.__name__


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {proof.program for proof in ORDER}


def test_the_page_lists_the_proofs(request: pytest.FixtureRequest) -> None:
    """docs/proofs.md has a line for each proof, as the list has it; the versions are those of the machine that wrote it."""
    if request.config.getoption("--proofs", default=""):
        pytest.skip("the page is being written")
    lines = [line for line in (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8").split("\n") if line.startswith("| RMW")]
    versions = {}
    for proof in PROOFS:
        versions.update((proof.store.__name__, line.split(" | ")[3]) for line in lines if line.split(" | ")[2] == proof.store.label)
    assert lines == rows(PROOFS, versions), "run `python -m noclobber.dev proofs`"
    assert all(versions[proof.store.__name__] for proof in PROOFS)
