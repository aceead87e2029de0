"""A user's own pattern counts for helpers whose code can be read, too."""
from __future__ import annotations

from pathlib import Path

import pytest

from noclobber import engine, verdict
from noclobber.config import Resolver

MODULE = '''from django.db import models
class Account(models.Model):
    balance = models.IntegerField()
def account_of(pk):
    return Account.objects.using("ledger").get(pk=pk)
class Desk:
    def guarded(self, pk):
        return Account.objects.get(pk=pk)
    def pay(self, pk, cents):
        account = self.guarded(pk)
        account.balance -= cents
        account.save()
def pay(pk, cents):
    account = account_of(pk)
    account.balance -= cents
    account.save()
'''


@pytest.mark.parametrize(
    "patterns, lines",
    [("", [12, 16]), ('["account_of"]', [12]), ('["guarded", "account_*"]', []), ('["pay"]', [12, 16])],  # `pay` is the finding's own function: it is not read from
)
def test_a_locking_reader_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patterns: str, lines: list[int]) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.noclobber.patterns]\nlocking_reader = {patterns}\n" if patterns else "")
    (tmp_path / "app.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    found = verdict.settle(engine.run(["app.py"], Resolver({"preview": True}), jobs=1).items).findings
    assert [finding.place.line for finding in found] == lines
