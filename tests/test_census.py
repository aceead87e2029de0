"""The census: who else writes the field of a finding, and how."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from noclobber import engine, verdict
from noclobber.config import Resolver

MODELS = "from django.db import models\nclass Account(models.Model):\n    balance = models.IntegerField()\n    version = models.IntegerField()\n"
BONUS = ("from shop.models import Account\ndef bonus(pk, n):\n    account = Account.objects.get(pk=pk)\n    account.balance += n\n    account.save()\n")
SETTLE = ("from django.db import transaction\nfrom shop.models import Account\ndef settle(pk, n):\n    with transaction.atomic():\n"
          "        account = Account.objects.select_for_update().get(pk=pk)\n        account.balance -= n\n        account.save()\n")
REFUND = "from django.db.models import F\nfrom shop.models import Account\ndef refund(pk, n):\n    Account.objects.filter(pk=pk).update(balance=F('balance') + n)\n"
CLEAR = "from shop.models import Account\ndef clear(pk):\n    account = Account.objects.get(pk=pk)\n    account.balance = 0\n    account.save()\n"
OTHER = "from django.db import models\nclass Purse(models.Model):\n    balance = models.IntegerField()\ndef fill(pk):\n    purse = Purse.objects.get(pk=pk)\n    purse.balance += 1\n    purse.save()\n"


def census(root: Path, monkeypatch: pytest.MonkeyPatch, only: str = "shop", **files: str) -> str:
    """The census of the one finding in shop/bonus.py."""
    (root / "shop").mkdir()
    (root / "pyproject.toml").write_text("")
    for name, text in {"__init__": "", "models": MODELS, "bonus": BONUS, **files}.items():
        (root / "shop" / f"{name}.py").write_text(text)
    monkeypatch.chdir(root)
    settled = verdict.settle(engine.run([only], Resolver({"preview": True}), jobs=1).items)
    (finding,) = [found for found in settled.findings if found.path == os.path.join("shop", "bonus.py")]
    return finding.census


@pytest.mark.parametrize(
    "files, told",
    [
        ({}, ""),
        ({"clear": CLEAR}, ""),  # sets it outright, whatever it was
        ({"other": OTHER}, ""),  # a field of that name of another model
        ({"settle": SETTLE}, "other writers of `Account.balance`: 1 locks the row (settle() at shop/settle.py:7)"),
        ({"refund": REFUND}, "other writers of `Account.balance`: 1 lets the database compute it (refund() at shop/refund.py:4)"),
        (
            {"settle": SETTLE + SETTLE.replace("settle", "later"), "refund": REFUND, "malus": BONUS.replace("bonus", "malus")},
            "other writers of `Account.balance`: 2 lock the row (e.g. settle() at shop/settle.py:7); 1 lets the database compute it (refund() at shop/refund.py:4);"
            " 1 is as blind as this one (malus() at shop/malus.py:5)",
        ),
    ],
)
def test_other_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict, told: str) -> None:
    assert census(tmp_path, monkeypatch, **files) == told


def test_a_file_alone_knows_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert census(tmp_path, monkeypatch, "shop/bonus.py", settle=SETTLE) == "other writers of `Account.balance`: 1 locks the row (settle() at shop/settle.py:7)"
