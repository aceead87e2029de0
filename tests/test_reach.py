"""reach: which calls a file can come to, by its imports, names, bases and text."""

from __future__ import annotations

import pytest

from noclobber import knowledge, triage
from noclobber.resolve import Source, index_module

VOCABULARY = knowledge.load().vocabulary


def kinds(call: str, *, imports="", words="", attributes="", bases="", text="", vocabulary=VOCABULARY) -> str:
    """Family kinds of a call name in such a file, as sorted words."""
    calls = vocabulary.reach.calls(
        frozenset(imports.split()), frozenset(words.split()), frozenset(attributes.split()), bases.split(), text
    )
    return " ".join(sorted(kind for kind in calls.kinds(call) if "-" in kind and kind != "record-read" or kind in ("effect", "replay")))


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
        ("get", {"words": "db_session"}, "orm-read orm-session-read"),
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
    everything = VOCABULARY.reach.everything()
    assert {name: everything.kinds(name) for name, own in VOCABULARY.call_names.items() if own} == {
        name: own for name, own in VOCABULARY.call_names.items() if own
    }


def test_a_users_store() -> None:
    own = VOCABULARY.with_user_tables(
        {"store": [{"types": ["*.OrderRepo"], "family": "document", "read": ["fetch_order(key)"], "write": ["put_order(key, payload)"]}]},
        "pyproject.toml",
        text="",
    )
    assert kinds("put_order", vocabulary=own) == ""
    assert kinds("put_order", words="OrderRepo", vocabulary=own) == "document-write"
    gone = own.with_user_tables({"disable": ["requests"]}, "pyproject.toml", text="")
    assert kinds("put", imports="requests", vocabulary=gone) == "" and kinds("put", imports="httpx", vocabulary=gone) == "http-write"


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
        ("class A:\n    from requests import get\ndef f(s): s.get(u)\n", "http-read"),
        ("if TYPE_CHECKING:\n    from httpx import Client\ndef f(s): s.get(u)\n", "http-read"),
        ("def g():\n    from requests import get\ndef f(s): s.get(u)\n", "http-read"),
        ("from requests import *\ndef f(s): s.get(u)\n", "http-read"),
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
    assert {kind for kind in atoms(text, scope) if "-" in kind and kind != "record-read" or kind == "versioned"} == set(found.split())


def test_a_manager_of_the_class_itself() -> None:
    text = "class A:\n    @classmethod\n    def f(cls): return cls.objects\n"
    assert "orm-read" in atoms(text, "A.f")


def test_imported_modules_may_hand_in_anything() -> None:
    """While values of other modules can come in, nothing is left out."""
    text = "from mine import client\ndef f(): client.put(u)\n"
    source = Source.decode("a.py", text.encode())
    index, tree = index_module(source)
    found = triage.roots(source, tree, index, VOCABULARY, (), lambda target: ())
    assert "http-write" in found.atoms["f"] and "http-write" not in atoms(text)
