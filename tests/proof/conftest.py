"""Servers for the proofs, started when the first proof asks for them and ended with the session; the option that writes docs/proofs.md."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import servers


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
                    running[name] = stack.enter_context({"postgres": servers.postgres, "redis": servers.redis}[name]())
                except servers.Missing as error:
                    missing[name] = error
                    raise
            return running[name]

        yield start
