"""Each fix, run against a real store: without it the update is lost, with it nothing is lost (docs/proofs.md)."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import servers
from proof import Proof, fixed, found, run
from proofs import PROOFS


def opened(proof: type[Proof], folder: Path, serve: Callable[[str], Any]) -> Any:
    try:
        return proof.store(folder, serve)
    except servers.Missing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.__name__)
class TestProof:
    def test_without_the_fix(self, proof: type[Proof], tmp_path: Path, serve: Callable[[str], Any]) -> None:
        line, slug = proof.marker()
        assert found(proof.text(), f"{proof.program}.py") == [(slug, line)]
        store = opened(proof, tmp_path, serve)
        try:
            outcome, met = run(proof, store, proof.text(), tmp_path)
        finally:
            store.close()
        assert outcome == proof.before
        assert met == proof.held, "both workers must have been between the read and the write at the same time"

    def test_with_the_fix(self, proof: type[Proof], tmp_path: Path, serve: Callable[[str], Any]) -> None:
        text = fixed(proof)
        assert found(text, f"{proof.program}.py") == []
        store = opened(proof, tmp_path, serve)
        try:
            outcome, met = run(proof, store, text, tmp_path)
        finally:
            store.close()
        assert outcome == proof.after, text
        assert met == (proof.held and proof.meets), text
