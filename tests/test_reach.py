"""reach: which calls a file can come to, by its imports, names, bases and text."""

from __future__ import annotations

import pytest

from helpers import everything_on
from noclobber import analyse, knowledge, triage
from noclobber.resolve import Source, index_module

VOCABULARY = knowledge.load().vocabulary


def kinds(call: str, *, imports="", words="", attributes="", bases="", text="", vocabulary=VOCABULARY) -> str:
    """Family kinds of a call name in such a file, as sorted words."""
    calls = vocabulary.reach.calls(
        frozenset(imports.split()), frozenset(words.split()), frozenset(attributes.split()), bases.split(), text
    )
    found = calls.kinds(call) | calls.kinds(call + "=")
    own = {"effect", "replay", *(kind for kind in found if "-" in kind)}
    return " ".join(sorted(found & own - {"record-read"}))


@pytest.mark.parametrize(
    "call, facts, found",
    [
        # functions and methods by their module
        ("get", {}, ""),
        ("get", {"imports": "requests"}, "http-read"),
        ("get", {"imports": "requests.get"}, "http-read"),
        ("get", {"imports": "requests.Session"}, "http-read"),
        ("get", {"imports": "requests.exceptions"}, ""),
        ("get", {"imports": "myrequests"}, ""),
        ("get", {"imports": ".requests"}, ""),
        ("put", {"imports": "httpx"}, "http-write"),
        ("post", {"imports": "httpx"}, "effect"),
        ("create", {"imports": "stripe"}, "effect"),
        ("create", {"words": "stripe"}, ""),
        ("retry", {"imports": "tenacity"}, "replay"),
        ("retry", {"imports": "mine.retry"}, ""),
        # habitual names
        ("put_object", {}, ""),
        ("put_object", {"words": "s3"}, "object-write"),
        ("put_object", {"words": "_s3_client"}, "object-write"),
        ("put_object", {"words": "bus3"}, ""),
        # what makes a receiver, with the literal it takes
        ("put_object", {"imports": "boto3"}, ""),
        ("put_object", {"imports": "boto3", "text": "boto3.client('s3')"}, "object-write"),
        ("put_object", {"words": "client", "text": "aws.client('s3')"}, "object-write"),
        ("upload_file", {"imports": "boto3", "text": "'s3'"}, "object-write"),
        ("send_email", {"imports": "boto3", "text": "'s3'"}, ""),
        ("execute", {}, "sql-run"),
        ("stream", {}, ""),
        ("stream", {"imports": "psycopg"}, "sql-run"),
        # every receiver
        ("delay", {}, "effect"),
        # rows of an ORM
        ("save", {}, ""),
        ("save", {"attributes": "objects"}, "orm-persist"),
        ("save", {"attributes": "entry_set"}, "orm-persist"),
        ("save", {"words": "objects"}, ""),
        ("save", {"bases": "django.db.models.Model"}, "orm-persist"),
        ("save", {"bases": "mine.Base"}, ""),
        ("save", {"imports": "shop.models.Account", "text": "from shop.models import Account"}, "orm-persist"),
        ("save", {"text": "obj.save(update_fields=[])"}, "orm-persist"),
        ("save", {"imports": "django.shortcuts.get_object_or_404"}, "orm-persist"),
        ("update", {"attributes": "objects"}, "orm-update"),
        # sessions; without one a commit writes no objects
        ("get", {"imports": "sqlalchemy.orm"}, "orm-read orm-session-read"),
        ("get", {"words": "db_session"}, "http-read orm-read orm-session-read"),
        ("get", {"attributes": "query"}, ""),
        ("commit", {"imports": "sqlite3"}, ""),
        ("commit", {"imports": "sqlite3 sqlalchemy"}, "orm-flush"),
        ("commit", {"words": "session"}, "orm-flush"),
        ("begin", {"words": "session"}, "orm-flush"),
        ("select", {"imports": "sqlalchemy.select"}, "orm-read sql-read"),
        ("update", {"imports": "sqlalchemy.update"}, "orm-update sql-built sql-write"),
    ],
)
def test_what_opens_a_call(call: str, facts: dict, found: str) -> None:
    assert kinds(call, **facts) == found


def test_nothing_is_left_out_of_everything() -> None:
    """What a call's name does not bring, an argument by name does."""
    everything = VOCABULARY.reach.everything()
    at_keywords = frozenset().union(*(everything.kinds(name + "=") for name in VOCABULARY.reach.keywords))
    for name, own in VOCABULARY.call_names.items():
        assert everything.kinds(name) <= own
        assert own - everything.kinds(name) <= at_keywords, name


@pytest.mark.parametrize(
    "call, found",
    [
        # the shapes of a call that may be a session's get(entity, ident, with_for_update=…)
        ("s.get(Account, 1)", "orm-read orm-session-read"),
        ("s.get(*args)", "orm-read orm-session-read"),
        ("s.get(Account, ident=1)", "orm-read orm-session-read"),
        ("run(s.get)", "orm-read orm-session-read"),
        ("s.get(Account, 1, with_for_update=True)", "lock orm-read orm-session-read"),
        ("s.get(Account, 1, **{'with_for_update': True})", "lock orm-read orm-session-read"),
        ("s.get('cart')", ""),
        ("s.get('cart', 0)", ""),
        ("s.get(key)", ""),
        ("get(Account, 1)", ""),
        # a function of a package is no attribute of a value
        ("s.text", ""),
        ("s.sql.text(x)", ""),
        ("sa.text(x)", "conditional"),
        ("sa.sql.text(x)", "conditional"),
    ],
)
def test_the_shape_of_a_call(call: str, found: str) -> None:
    kinds = atoms(f"import sqlalchemy as sa\nfrom sqlalchemy.orm import Session\ndef f(s, key): {call}\n")
    quiet = {"record-read", "accessor-read", "accessor-write"}
    assert {kind for kind in kinds - quiet if "-" in kind or kind in ("lock", "conditional")} == set(found.split())


def test_a_users_store() -> None:
    own = VOCABULARY.with_user_tables(
        {"store": [{"types": ["*.OrderRepo"], "family": "document", "write": ["put_order(key, payload)"]}]},
        "pyproject.toml",
        text="",
    )
    assert kinds("put_order", vocabulary=own) == ""
    assert kinds("put_order", text="def f(repo: shop.OrderRepo): ...", vocabulary=own) == "document-write"
    gone = own.with_user_tables({"disable": ["requests"]}, "pyproject.toml", text="")
    assert kinds("put", imports="requests", vocabulary=gone) == ""
    assert kinds("put", imports="httpx", vocabulary=gone) == "http-write"


def test_versioned() -> None:
    assert VOCABULARY.reach.versioned("__mapper_args__ = {'version_id_col': rev}")
    assert not VOCABULARY.reach.versioned("version = 1")


def atoms(text: str, scope: str = "f") -> set[str]:
    source = Source.decode("a.py", text.encode())
    index, tree = index_module(source)
    return set(triage.roots(source, tree, index, VOCABULARY, ()).atoms[scope])


@pytest.mark.parametrize(
    "text, found",
    [
        ("import requests\ndef f(s): s.get(u)\n", "http-read"),
        ("def f(s):\n    import requests as r\n    s.get(u)\n", "http-read"),
        ("try:\n    import a\nexcept ImportError:\n    import requests as a\ndef f(s): s.get(u)\n", "http-read"),
        ("class A:\n    from requests import Session\ndef f(s): s.get(u)\n", "http-read"),
        ("if TYPE_CHECKING:\n    from httpx import Client\ndef f(s): s.get(u)\n", "http-read"),
        ("def g():\n    from requests import Session\ndef f(s): s.get(u)\n", "http-read"),
        ("from requests import *\ndef f(s): s.get(u)\n", "http-read"),
        ("from a.session.b import c\nimport a.session\ndef f(s): s.get(u)\n", ""),
        ("from a import session as c\ndef f(s): s.get(A, u)\n", "http-read orm-read orm-session-read"),
        ("def f(x): return x.objects.all()\n", "orm-read"),
        ("class A:\n    def f(self): return self.objects\n    @classmethod\n    def g(cls): return cls.objects\n", ""),
        ("from django.db.models import Model\nclass A(Model):\n    pass\ndef f(a): a.save()\n", "orm-persist"),
        ("from orm import declarative_base\nBase = declarative_base()\nclass A(Base): pass\ndef f(a): a.commit()\n", ""),
        (
            "from sqlalchemy.orm import declarative_base\nBase = declarative_base()\nclass A(Base): pass\n"
            "def f(session): session.commit()\n",
            "orm-flush",
        ),
        ("__mapper_args__ = {'version_id_col': 1}\ndef f(): pass\n", "versioned"),
    ],
)
def test_facts_of_a_file(text: str, found: str) -> None:
    scope = "A.f" if "def f(self)" in text else "f"
    got = {kind for kind in atoms(text, scope) if "-" in kind and not kind.startswith("accessor-") or kind == "versioned"}
    assert got - {"record-read"} == set(found.split())


def test_a_manager_of_the_class_itself() -> None:
    text = "class A:\n    @classmethod\n    def f(cls): return cls.objects\n"
    assert "orm-read" in atoms(text, "A.f")


SYNC = "def sync(client, url):\n    doc = client.get(url).json()\n    doc['n'] += 1\n    client.put(url, json=doc)\n"
RAISE = "def up(rows):\n    for row in rows:\n        row.n += 1\n        row.save()\n"


@pytest.mark.parametrize(
    "text, found",
    [
        # what the caller hands in tells what the callee's calls are
        ("import requests\n" + SYNC + "def main(url): sync(requests.Session(), url)\n", True),
        ("import requests\n" + SYNC + "def main(s: requests.Session, url): sync(s, url)\n", True),
        (SYNC + "def main(url): sync(requests.Session(), url)\n", False),
        ("from shop.models import Item\n" + RAISE + "def main(): up(Item.objects.filter(a=1))\n", True),
        (RAISE + "def main(rows): up(rows)\n", False),
        # of habitual names
        ("def f(session, k):\n    row = session.get(Row, k)\n    row.n += 1\n    session.commit()\n", True),
        # a session of another module, known by its name; a client that `self` has
        ("from app.db import db_session as s\ndef f(k):\n    r = s.get(Row, k)\n    r.n += 1\n    s.commit()\n", True),
        (
            "import httpx\nclass A:\n    def __init__(self):\n        self.c = httpx.Client()\n    def f(self, u):\n"
            "        d = self.c.get(u).json()\n        d['n'] += 1\n        self.c.put(u, json=d)\n",
            True,
        ),
        # SQL whatever the receiver
        (
            "def f(x, k):\n    n = x.execute('SELECT n FROM t WHERE k = ?', (k,)).fetchone()[0]\n"
            "    x.execute('UPDATE t SET n = ? WHERE k = ?', (n + 1, k))\n",
            True,
        ),
        ("def f(x, row):\n    row.n += 1\n    row.save(update_fields=['n'])\n", True),
        (
            "import boto3\nS = 's3'\ndef f(k):\n    c = boto3.client(S)\n"
            "    b = c.get_object(Bucket='b', Key=k)['Body'].read()\n"
            "    c.put_object(Bucket='b', Key=k, Body=b + b'x')\n",
            True,
        ),
    ],
)
def test_findings_with_triage_on_and_off_are_equal(text: str, found: bool) -> None:
    on, off = (
        sorted((finding.name, finding.place.line) for finding in result.findings)
        for result in (analyse.analyse(text.encode(), "a.py", everything_on(), triage=way) for way in (True, False))
    )
    assert on == off and bool(on) == found
