"""Shared by all tests."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: What would make a run depend on the machine it runs on (colour, annotations, progress, other settings).
STRAY = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PRE_COMMIT", "CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests start without stray settings and never write a cache into the checkout or the user's home."""
    for name in list(os.environ):
        if name in STRAY or name.startswith("NOCLOBBER_"):
            monkeypatch.delenv(name)
    cache = tmp_path_factory.getbasetemp() / "noclobber-cache"
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", str(cache))


@pytest.fixture
def checkout() -> Path:
    """The root of the checkout."""
    return ROOT
