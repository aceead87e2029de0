"""What findings say to a developer: places, and lines that can be taught, tried out."""
from __future__ import annotations

from pathlib import Path

import pytest

from noclobber import cli

STORES = {
    "s3": ("RMW103", "import boto3, json\ns3 = boto3.client('s3')\ndef f(k):\n    d = json.loads(s3.get_object(Bucket='b', Key=k)['Body'].read())\n"
           "    d['n'] += 1\n    s3.put_object(Bucket='b', Key=k, Body=json.dumps(d))\n"),
    "requests": ("RMW102", "import requests\ndef f(u):\n    d = requests.get(u).json()\n    d['n'] += 1\n    requests.put(u, json=d)\n"),
    "smtplib": ("RMW501", "import smtplib, sqlite3\ndef f(db: sqlite3.Connection, mail: smtplib.SMTP, k, m):\n    for _ in range(5):\n"
                "        v = db.execute('SELECT v FROM t WHERE id = ?', (k,)).fetchone()[0]\n        mail.send_message(m)\n"
                "        if db.execute('UPDATE t SET s = 1, v = v + 1 WHERE id = ? AND v = ?', (k, v)).rowcount == 1:\n            return\n    raise TimeoutError\n"),
}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    cli.main(["check", "a.py", "--no-cache", "--preview", "-q"])
    return capsys.readouterr().out


@pytest.mark.parametrize("store", STORES)
def test_the_line_to_teach_makes_it_silent(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    code, text = STORES[store]
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(text)
    before = said(capsys)
    taught = next(line.strip() for line in before.split("\n") if line.strip().startswith("disable = "))
    assert f"[{code}]" in before and taught.startswith(f'disable = ["{store}"]')
    Path("pyproject.toml").write_text(f"[tool.noclobber]\n{taught}\n")
    assert said(capsys) == ""


def test_the_locking_reader_of_the_message_makes_it_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("import sqlite3, helpers\ndef f(db: sqlite3.Connection, k):\n    helpers.mine(db, k)\n"
                            "    n = db.execute('SELECT n FROM t WHERE id = ?', (k,)).fetchone()[0]\n"
                            "    db.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, k))\n")
    taught = next(line.strip() for line in said(capsys).split("\n") if "locking_reader" in line)
    Path("pyproject.toml").write_text("[tool.noclobber.patterns]\n" + taught.replace("name_of_your_helper", "mine") + "\n")
    assert said(capsys) == ""


def test_a_list_changed_in_place_shows_where_its_row_was_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("from shop.models import Product\ndef tag(pk, word):\n    product = Product.objects.get(pk=pk)\n"
                            "    product.tags.append(word)\n    product.save(update_fields=['tags'])\n")
    assert "3 |     product = Product.objects.get(pk=pk)\n  |               -------------------------- `Product` is loaded here\n" in said(capsys)
