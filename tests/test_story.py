"""`noclobber explain` and `noclobber teach`, with the real rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noclobber import cli
from noclobber.config.toml_edit import add_to_list, append_table

PAY = '''\
import sqlite3

import mailer
from helpers import keyed
from ledger import Ledger


def spend(db: sqlite3.Connection, code: str, cents: int) -> None:
    with keyed("vouchers", code):
        row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
        left = row[0] - cents
        db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
    db.commit()


def more(ledger: Ledger, account, amount):
    mailer.tell(account)
    balance = ledger.load(account)
    ledger.store(account, balance - amount, expected_version=balance.version)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pay.py").write_text(PAY)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\n\n[tool.noclobber]\nfail-on = "warning"  # ours\n')
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], here: Path) -> Any:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.mark.parametrize("place", ["pay.py:12", "pay.py:12:9", "pay.py:10"])
def test_explain_tells_the_whole_story(run: Any, place: str) -> None:
    code, out, err = run("explain", place)
    assert (code, err) == (0, "")
    headings = ["How the update is lost", "Guards that were met", "Repairs to choose from", "What noclobber understood", "If it is right as it is"]
    assert [out.count("\n" + heading) for heading in headings] == [1] * len(headings)
    lanes = [line for line in out.split("\n") if line.count("|") >= 2]
    assert any("reads vouchers.balance" in line.split("|")[0] for line in lanes), "worker A"
    assert any("reads vouchers.balance" in line.split("|")[1] for line in lanes), "worker B"
    assert any('db.execute("UPDATE vouchers SET' in line for line in lanes), "the code's own line"
    assert "raise NotEnough(account)" in out, "a repair with code"
    assert "(`sqlite3`, " in out and "sqlite3.toml:" in out, "the entry that matched"
    assert 'ignore[RMW101]' in out


DJANGO = """\
from django.db import models


class Credit(models.Model):
    left = models.IntegerField(default=0)


def spend(pk: int) -> None:
    credit = Credit.objects.get(pk=pk)
    credit.left -= 1
    credit.save()
"""


def test_explain_shows_the_fix_and_the_repairs_of_this_library(run: Any, here: Path) -> None:
    (here / "credit.py").write_text(DJANGO)
    code, out, _ = run("explain", "credit.py:11")
    assert code == 0
    assert '  +    credit.left = models.F("left") - 1\n' in out and "\n  unsafe because " in out
    assert "  Django, `F()`:\n" in out and "SQLAlchemy" not in out
    assert "  for other libraries: noclobber rule RMW201\n" in out
    assert "101" not in out, "a subtraction is told as an addition"


@pytest.mark.parametrize("kind", ["effect", "store"])
def test_teach_refuses_what_the_vocabulary_knows(run: Any, here: Path, kind: str) -> None:
    (here / "credit.py").write_text(DJANGO)
    before = (here / "pyproject.toml").read_text()
    code, out, err = run("teach", "credit.py:11", kind)
    assert (code, out) == (2, "")
    assert err.startswith("noclobber: credit.py:11: `credit.save()` is known already: write of `Credit` (orm), by the entry `django`\n")
    assert (here / "pyproject.toml").read_text() == before


def test_teach_an_effect_of_an_unknown_receiver_warns(run: Any, here: Path) -> None:
    (here / "shop.py").write_text("def tell(post, text):\n    post.send_it(text)\n")
    code, out, err = run("teach", "shop.py:2", "effect", "--dry-run")
    assert code == 0 and '"_.send_it(*_)"' in out
    assert "this counts for every method of that name" in err


def test_a_method_gives_no_class(run: Any, here: Path) -> None:
    (here / "shop.py").write_text("import stock\n\n\ndef sell(key):\n    shelf = stock.shelves.find(key)\n    shelf.put_back(key)\n")
    out = run("teach", "shop.py:6", "store", "--dry-run")[1]
    assert 'names = ["shelf"]' in out and "types" not in out


def test_explain_of_a_line_without_a_finding(run: Any) -> None:
    code, out, _ = run("explain", "pay.py:13")
    assert code == 1
    assert out.startswith("pay.py:13: no finding here\nfindings of this file stand on line 12\n")


@pytest.mark.parametrize(("place", "said"), [("pay.py", "needs PATH:LINE"), ("none.py:3", "no such file"), ("pay.py:x", "needs PATH:LINE")])
@pytest.mark.parametrize("command", [("explain",), ("teach", "guard")])
def test_what_is_no_place(run: Any, place: str, said: str, command: tuple[str, ...]) -> None:
    code, out, err = run(command[0], place, *command[1:])
    assert (code, out) == (2, "") and said in err


def test_teach_guard_writes_what_silences(run: Any, here: Path) -> None:
    assert run("check", "-q", "--output-format", "concise")[0] == 1
    code, out, err = run("teach", "pay.py:12", "guard")
    assert (code, err) == (0, "")
    assert '= ["keyed"]' in out and "it silences RMW101" in out
    text = (here / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "shop"\n\n[tool.noclobber]\nfail-on = "warning"  # ours\n')
    assert run("check")[0] == 0


def test_teach_guard_of_a_helper_whose_code_is_here(run: Any, here: Path) -> None:
    """The helper is followed, and what it calls may be what noclobber does not know: its dotted name is an entry of its own."""
    (here / "helpers.py").write_text("from contextlib import contextmanager\n\nimport consul\n\n\n@contextmanager\ndef keyed(table, key):\n    with consul.held(table, key):\n        yield\n")
    code, out, err = run("teach", "pay.py:12", "guard")
    assert (code, err) == (0, "")
    assert out.startswith('[[tool.noclobber.lock]]\nid = "keyed"\nmade_by = ["helpers.keyed(*_)"]\nenter = ["with"]\nscope = "cluster"\nwritten to pyproject.toml; it silences RMW101')
    assert run("check", "pay.py")[0] == 0 and run("stores", "check")[0] == 0


def test_teach_guard_makes_no_lock_of_a_librarys_context_manager(run: Any, here: Path) -> None:
    before = (here / "pyproject.toml").read_text()
    (here / "credit.py").write_text(DJANGO.replace("import models", "import models, transaction").replace("    credit = ", "    with transaction.atomic():\n     credit = ").replace("    credit.", "     credit."))
    code, _, err = run("teach", "credit.py:12", "guard")
    assert code == 2 and "no call here can be the guard (tried " in err and "transaction.atomic" not in err
    assert (here / "pyproject.toml").read_text() == before


def test_teach_last_writer(run: Any, here: Path) -> None:
    (here / "pay.py").write_text(
        "import json\n\nimport boto3\n\ns3 = boto3.client('s3')\n\n\ndef add(key, guest):\n"
        "    guests = json.loads(s3.get_object(Bucket='b', Key=key)['Body'].read())\n    guests.append(guest)\n"
        "    s3.put_object(Bucket='b', Key=key, Body=json.dumps(guests).encode())\n"
    )
    code, out, _ = run("teach", "pay.py:11", "last-writer")
    assert code == 0 and 'disable = ["s3"]' in out
    assert run("check")[0] == 0


def test_a_driver_is_no_store_whose_last_writer_may_win(run: Any, here: Path) -> None:
    code, _, err = run("teach", "pay.py:12", "last-writer")
    assert code == 2 and "ignore[RMW101]" in err


def test_teach_writes_nothing_when_nothing_helps(run: Any, here: Path) -> None:
    (here / "pay.py").write_text(PAY.replace('    with keyed("vouchers", code):\n', "    for _ in range(2):\n"))
    before = (here / "pyproject.toml").read_text()
    code, _, err = run("teach", "pay.py:12", "guard")
    assert code == 2 and "ignore[RMW101]" in err
    assert (here / "pyproject.toml").read_text() == before


def test_teach_effect_and_store_can_be_used(run: Any, here: Path) -> None:
    assert '["mailer.tell(*_)"]' in run("teach", "pay.py:17", "effect")[1]
    out = run("teach", "pay.py:19", "store")[1]
    assert 'types = ["ledger.Ledger"]' in out and "expected_version: precondition = None" in out
    assert "load(account: key) -> value" in run("teach", "pay.py:18", "store")[1]
    code, out, err = run("stores", "check")
    assert (code, out) == (0, "pyproject.toml: ok\n"), err


def test_teach_dry_run(run: Any, here: Path) -> None:
    before = (here / "pyproject.toml").read_text()
    assert run("teach", "pay.py:12", "guard", "--dry-run")[0] == 0
    assert (here / "pyproject.toml").read_text() == before


def test_teach_without_settings_makes_a_file(run: Any, here: Path) -> None:
    (here / "pyproject.toml").unlink()
    (here / ".git").mkdir()
    assert "written to noclobber.toml" in run("teach", "pay.py:12", "guard")[1]
    assert run("check")[0] == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[t]\nk = ["x"]\n'),
        ("[t]\na = 1\n\n[u]\n", '[t]\nk = ["x"]\na = 1\n\n[u]\n'),
        ('[t]\nk = ["a"]  # c\n', '[t]\nk = ["a", "x"]  # c\n'),
        ("[t]\nk = []\n", '[t]\nk = ["x"]\n'),
        ('[t]\nk = [\n  "a",\n]\n', '[t]\nk = [\n  "a",\n  "x",\n]\n'),
        ('[t]\nk = [\n  "a"\n]\n', '[t]\nk = [\n  "a",\n  "x",\n]\n'),
        ('[t]\nk = ["x"]\n', '[t]\nk = ["x"]\n'),
        ('[t]\nk = ["]", \'[\']\n', '[t]\nk = ["]", \'[\', "x"]\n'),
        ("# c\r\n[u]\r\n", '# c\r\n[u]\r\n\r\n[t]\r\nk = ["x"]\r\n'),
        ("[t]", '[t]\nk = ["x"]\n'),
    ],
)
def test_adding_to_a_list_touches_nothing_else(text: str, expected: str) -> None:
    assert add_to_list(text, ("t",), "k", "x") == expected


def test_adding_at_the_top() -> None:
    assert add_to_list('a = 1\n\n[t]\n', (), "k", "x") == 'a = 1\nk = ["x"]\n\n[t]\n'
    assert append_table("a = 1", "[t]\n") == "a = 1\n\n[t]\n"
