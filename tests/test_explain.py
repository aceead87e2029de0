"""`noclobber stores explain`: the entry, the signature and what became of the call."""
from __future__ import annotations

from pathlib import Path

import pytest

from noclobber import cli

LEDGER = '''
[[tool.noclobber.store]]
id = "ledger"
types = ["shop.Ledger"]
read = ["load(account: key) -> value"]
write = ["store(account: key, balance: payload, expected_version: precondition = None)"]
'''
SERVICE = '''\
from shop import Ledger


def pay(ledger: Ledger, account, amount):
    balance = ledger.load(account)
    ledger.store(account, balance - amount)
    unknown(ledger)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str], place: str) -> str:
    assert cli.main(["stores", "explain", place]) == 0
    return capsys.readouterr().out


def test_a_users_store(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pyproject.toml").write_text(LEDGER)
    (here / "pay.py").write_text(SERVICE)
    assert explained(capsys, "pay.py:5") == (
        "pay.py:5:15  ledger.load(account)\n"
        "  matched: ledger read load(account) · key: account · gives value\n"
        "           load(account: key) -> value  (`ledger`, pyproject.toml:2)\n"
        "  read of: `account` (key)\n"
        "  key: account = parameter account\n"
    )
    assert explained(capsys, "pay.py:6") == (
        "pay.py:6:5  ledger.store(account, balance - amount)\n"
        "  matched: ledger write store(account, balance, expected_version) · key: account · payload: balance"
        " · precondition: expected_version\n"
        "           store(account: key, balance: payload, expected_version: precondition = None)  (`ledger`, pyproject.toml:2)\n"
        "  write of: `account` (key), replace\n"
        "  key: account = parameter account\n"
        "  payload: parameter amount and the read at line 5\n"
        "  precondition: none\n"
    )
    assert explained(capsys, "pay.py:7") == "pay.py:7: no call here that the vocabulary knows\n"


def test_without_the_store_nothing_is_known(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pay.py").write_text(SERVICE)
    assert explained(capsys, "pay.py:5") == "pay.py:5: no call here that the vocabulary knows\n"


def test_a_conditional_sql_update(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.py").write_text(
        "import sqlite3\n"
        "def f(db: sqlite3.Connection, key, new, seen):\n"
        '    return db.execute("UPDATE t SET n = ? WHERE id = ? AND version = ?", (new, key, seen)).rowcount == 1\n'
    )
    said = explained(capsys, "a.py:3").split("\n")
    assert said[0].startswith('a.py:3:12  db.execute("UPDATE t SET n = ? WHERE id = ? AND version = ?"')
    assert said[3:] == [
        "  write of: `t` (sql), update",
        "  key: id = parameter key",
        "  payload: n <- parameter new",
        "  precondition: version (witness)",
        "  a refusal shows as: count",
        "",
    ]


def test_an_effect(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.py").write_text("import smtplib\ndef f(mail: smtplib.SMTP, m):\n    mail.send_message(m)\n")
    assert explained(capsys, "a.py:3").split("\n")[-2:] == ["  effect: email", ""]


def test_code_that_only_a_newer_python_reads(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.py").write_text(
        "import smtplib\ndef f(mail: smtplib.SMTP, m):\n    try:\n        mail.send_message(m)\n    except OSError, ValueError:\n        pass\n"
    )
    assert explained(capsys, "a.py:4").split("\n")[-2:] == ["  effect: email", ""]
