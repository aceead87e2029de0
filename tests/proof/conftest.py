"""Servers for the proofs, started when the first proof asks for them and ended with the session; the option that writes docs/proofs.md."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import servers

HEAD = """\
# Proofs

Each fix, run against a real store. Two workers, A and B, run the same program at once and are held between the read and the write, until
both stand there; then A writes, then B. *Without* is the program as it is, *with* is the very text that `noclobber check --fix
--unsafe-fixes` prints for it, held at the same place. Given is what the store holds in the end, and how a worker ended, where it did not
just return.

Made by `python -m noclobber.dev proofs` from a run of `tests/proof/`; a test holds it to the list of proofs.

| rule | fix | store | run against | program | A and B | without | with |
|---|---|---|---|---|---|---|---|
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--proofs", metavar="FILE", default="", help="write docs/proofs.md from this run (of all of tests/proof, without -n)")


@pytest.fixture(scope="session")
def proven(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, bool], str]]:
    """(proof, with its fix?) → what it was run against, filled by the tests that passed. Written with --proofs when it is complete."""
    known: dict[tuple[str, bool], str] = {}
    yield known
    file = request.config.getoption("--proofs", default="")
    if file:
        from proof import rows
        from proofs import PROOFS

        missing = sorted(
            f"{proof.__name__} {'with' if fix else 'without'} the fix"
            for proof in PROOFS
            for fix in (False, True)
            if (proof.__name__, fix) not in known
        )
        if missing:
            pytest.fail(f"{file} is not written: not run, or not passed: {', '.join(missing)}")
        versions = {proof.store.__name__: known[proof.__name__, True] for proof in PROOFS}
        Path(file).write_text(HEAD + "\n".join(rows(PROOFS, versions)) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[str], Any]]:
    """name → what the server of that name gave when it started. Raises Missing, each time anew."""
    running: dict[str, Any] = {}
    missing: dict[str, servers.Missing] = {}
    with contextlib.ExitStack() as stack:

        def start(name: str) -> Any:
            if name in missing:
                raise missing[name]
            if name not in running:
                try:
                    running[name] = stack.enter_context({"postgres": servers.postgres, "redis": servers.redis, "memcached": servers.memcached}[name]())
                except servers.Missing as error:
                    missing[name] = error
                    raise
            return running[name]

        yield start
