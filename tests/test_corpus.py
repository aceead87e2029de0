"""Over real applications: NOCLOBBER_CORPUS names a folder with one source tree in each folder of it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from helpers import everything_on
from noclobber import analyse

CORPUS = os.environ.get("NOCLOBBER_CORPUS", "")  # now: the fixtures take such names away
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="NOCLOBBER_CORPUS is not set: a folder with source trees of applications"),
]
#: Fewer files make no application.
MIN_FILES = 100
APPLICATIONS = 2
STACK = 64 * 1024 * 1024  # LibCST's parser recurses natively


def applications() -> list[Path]:
    """The smallest applications of the corpus."""
    sizes = []
    for folder in sorted(Path(CORPUS).iterdir()) if CORPUS else ():
        files = len(list(folder.rglob("*.py"))) if folder.is_dir() else 0
        if files >= MIN_FILES:
            sizes.append((files, folder))
    return [folder for _, folder in sorted(sizes)[:APPLICATIONS]]


def places(data: bytes, path: Path, *, triage: bool) -> list[tuple[str, int]]:
    result = analyse.analyse(data, str(path), everything_on(), triage=triage)
    return sorted((finding.name, finding.place.line) for finding in result.findings)


@pytest.mark.parametrize("number", range(APPLICATIONS))
def test_triage_only_skips(number: int) -> None:
    """DESIGN §1: findings with triage on and off are equal. What the walk learns to see, triage must let through."""
    found = applications()
    if number >= len(found):
        pytest.skip(f"{CORPUS} holds fewer than {number + 1} applications of {MIN_FILES} files")
    differing: list[str] = []
    finished: list[bool] = []

    def compare() -> None:
        for path in sorted(found[number].rglob("*.py")):
            data = path.read_bytes()
            on, off = places(data, path, triage=True), places(data, path, triage=False)
            if on != off:
                differing.append(f"{path}: missing {sorted(set(off) - set(on))}, more {sorted(set(on) - set(off))}")
        finished.append(True)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(20_000)
    try:
        thread = threading.Thread(target=compare)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    assert finished and not differing, "\n".join(differing)
