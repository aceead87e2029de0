"""Fixes: each edit primitive, exact texts before and after, refusals with their reasons, bytes that stay as they are."""
from __future__ import annotations

import os
from textwrap import dedent

import pytest
from helpers import everything_on
from noclobber import engine, verdict
from noclobber.analyse import Workspace
from noclobber.cli import fixing
from noclobber.repair import fixes_for

DJANGO = '''\
from django.db import models


class Page(models.Model):
    hits = models.PositiveIntegerField(default=0)
    seen = models.DateTimeField(auto_now=True)
    title = models.TextField()


'''
ALCHEMY = '''\
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    credits: Mapped[int] = mapped_column(default=0)


'''


def fixed(code: str | bytes, *, unsafe: bool = True, path: str = "nowhere/app.py", choose=None) -> fixing.Fixed:
    """The file after all its fixes, all rules on."""
    data = code if isinstance(code, bytes) else code.encode()
    config = everything_on()
    workspace = Workspace(config, buffers={os.path.abspath(path): data})

    def work() -> fixing.Fixed:
        item = engine.analyse_item(data, path, config, workspace)
        return fixing.fix_file(item, data, lambda one: verdict.settle([one]), workspace, unsafe, choose)

    return engine.on_big_stack(work)


def after(code: str) -> str:
    return fixed(code).data.decode()


def refusals(code: str, slug: str) -> list[str]:
    """Why the findings of a rule have no fix."""
    data, path, config = code.encode(), "nowhere/app.py", everything_on()

    def work() -> list:
        item = engine.analyse_item(data, path, config, Workspace(config, buffers={os.path.abspath(path): data}))
        findings = [f for f in verdict.settle([item]).findings if f.name == slug]
        assert findings, f"no finding of {slug}"
        return fixes_for(data, path, config, findings)

    answers = engine.on_big_stack(work)
    assert all(isinstance(answer, str) for answer in answers), answers
    return answers


def changed_lines(before: str, now: str) -> str:
    """The lines that differ, as a diff without context."""
    import difflib

    rows = list(difflib.unified_diff(before.splitlines(True), now.splitlines(True), n=0))[2:]
    return "".join(f"{row[0]} {row[1:]}" for row in rows if row[0] != "@")


def check(before: str, diff: str) -> None:
    """The fix changes just these lines, and a second run nothing."""
    now = after(before)
    assert changed_lines(before, now) == dedent(diff)
    assert after(now) == now


# --- RMW201 -----------------------------------------------------------------------------------------------------------------


def test_django_increment_becomes_an_expression_and_a_narrow_save():
    check(DJANGO + '''def visited(pk):
    page = Page.objects.get(pk=pk)
    page.hits += 1  # one more
    page.save()
''', '''\
-     page.hits += 1  # one more
-     page.save()
+     page.hits = models.F("hits") + 1  # one more
+     page.save(update_fields=["hits", "seen"])
''')


def test_django_imports_f_once_and_puts_loose_operands_in_parentheses():
    before = '''\
"""Counters."""
from django.db import transaction
from shop.models import Page


def visited(pk, n, m):
    page = Page.objects.get(pk=pk)
    page.hits -= n - m
    page.save(update_fields=["hits"])


def seen(pk):
    page = Page.objects.get(pk=pk)
    page.views = 1 + page.views
    page.save(update_fields=["views"])
'''
    now = after(before)
    assert now == before.replace(
        "import transaction\n", "import transaction\nfrom django.db.models import F\n",
    ).replace("page.hits -= n - m", 'page.hits = F("hits") - (n - m)').replace("1 + page.views", '1 + F("views")')


def test_django_reads_the_row_again_where_the_object_is_used_afterwards():
    check(DJANGO + '''def visited(request, pk):
    page = Page.objects.get(pk=pk)
    page.hits = page.hits + 1
    page.save(update_fields=['hits'])
    return render(request, 'page.html', {'page': page})
''', '''\
-     page.hits = page.hits + 1
+     page.hits = models.F('hits') + 1
+     page.refresh_from_db(fields=['hits'])
''')


def test_sqlalchemy_increment_takes_the_column_of_the_class():
    check(ALCHEMY + '''def deposit(session: Session, account_id: int, amount: int) -> None:
    account = session.get(Account, account_id)
    account.credits += amount
    session.commit()
''', '''\
-     account.credits += amount
+     account.credits = Account.credits + amount
''')


def test_set_based_update_of_a_loaded_number():
    check(DJANGO + '''def visited(pk):
    page = Page.objects.get(pk=pk)
    Page.objects.filter(pk=page.pk).update(hits=page.hits + 1)
''', '''\
-     Page.objects.filter(pk=page.pk).update(hits=page.hits + 1)
+     Page.objects.filter(pk=page.pk).update(hits=models.F("hits") + 1)
''')


@pytest.mark.parametrize(("body", "reason"), [
    ("page.hits += 1\n    page.save()\n    return page.hits", "the new number is returned: only a row lock can give it"),
    ("page.hits += 1\n    log(page.hits)\n    page.save()", "the new number is read before it is saved"),
    ("page.hits += 1\n    page.full_clean()\n    page.save()", "the object is handed on before it is saved"),
    ("for _ in range(3):\n        page.hits += 1\n    page.save()", "the change may run several times before it is saved, or not be saved"),
    ("page.hits += 1\n    page.hits += 2\n    page.save()", "the field is changed twice before it is saved"),
    ("page.hits = max(page.hits - 1, 0)\n    page.save()", "the new value is more than the old one plus or minus something"),
    ("if page.hits > 3:\n        page.hits -= 3\n        page.save()",
     "the old number is tested before: without a row lock the test would not hold any more when it is written"),
    ("page.hits += 1; page.save()", "several statements share the line"),
])
def test_django_increments_that_cannot_be_fixed(body, reason):
    assert refusals(DJANGO + f"def visited(pk):\n    page = Page.objects.get(pk=pk)\n    {body}\n", "orm-increment") == [reason]


# --- RMW101 and RMW301 ------------------------------------------------------------------------------------------------------


def test_sql_increment_is_computed_by_the_statement():
    check('''\
import sqlite3


def transfer(db: sqlite3.Connection, src: int, amount: int) -> None:
    row = db.execute("SELECT balance FROM accounts WHERE id = ?", (src,)).fetchone()
    new = row[0] - amount
    db.execute("UPDATE accounts SET balance = ? WHERE id = ?", (new, src))
    db.commit()
''', '''\
-     new = row[0] - amount
-     db.execute("UPDATE accounts SET balance = ? WHERE id = ?", (new, src))
+     db.execute("UPDATE accounts SET balance = balance - ? WHERE id = ?", (amount, src))
''')


def test_sql_version_is_compared_and_the_count_looked_at():
    check('''\
import psycopg2


def rename(conn, page: int, word: str) -> None:
    with conn.cursor() as cur:
        cur.execute("SELECT title, version FROM pages WHERE id = %s", (page,))
        title, version = cur.fetchone()
        cur.execute("UPDATE pages SET title = %s WHERE id = %s", (title + word, page))
''', '''\
-         cur.execute("UPDATE pages SET title = %s WHERE id = %s", (title + word, page))
+         cur.execute("UPDATE pages SET title = %s, version = version + 1 WHERE id = %s AND version = %s", (title + word, page, version))
+         if cur.rowcount != 1:
+             raise RuntimeError("pages has changed since it was read")
''')


def test_row_count_is_checked_with_the_modules_own_exception():
    check('''\
import sqlite3


class ConflictError(Exception):
    pass


def move(db: sqlite3.Connection, src: int, version: int) -> None:
    db.execute("UPDATE accounts SET balance = 0, version = version + 1 WHERE id = ? AND version = ?", (src, version))
    db.commit()
''', '''\
-     db.execute("UPDATE accounts SET balance = 0, version = version + 1 WHERE id = ? AND version = ?", (src, version))
+     result = db.execute("UPDATE accounts SET balance = 0, version = version + 1 WHERE id = ? AND version = ?", (src, version))
+     if result.rowcount != 1:
+         raise ConflictError("accounts has changed since it was read")
''')


@pytest.mark.parametrize(("body", "reason"), [
    ('new = row[0] - n\n    db.execute("UPDATE t SET a = ? WHERE id = ?", (new, k))\n    return new', "the new number is returned: only a lock can give it"),
    ('db.execute("UPDATE t SET a = ? WHERE id = ?", (row[0] * 2, k))', "the new value is more than the old one plus or minus something"),
    ('db.execute(f"UPDATE {T} SET a = ? WHERE id = ?", (row[0] - n, k))', "the statement's text is put together"),
    ('if row[0] < n:\n        raise ValueError\n    db.execute("UPDATE t SET a = ? WHERE id = ?", (row[0] - n, k))',
     "the number is tested before: the statement would have to repeat the test"),
])
def test_sql_updates_that_cannot_be_fixed(body, reason):
    code = f'''\
import sqlite3

T = "t"


def take(db: sqlite3.Connection, k: int, n: int):
    row = db.execute("SELECT a FROM t WHERE id = ?", (k,)).fetchone()
    {body}
'''
    assert refusals(code, "blind-sql-update") == [reason]
