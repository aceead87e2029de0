"""The vocabulary's signatures against the libraries of the development environment."""
from __future__ import annotations

from noclobber import knowledge
from noclobber.knowledge import describe
from noclobber.knowledge.tables import TABLES

#: Target → why the model differs on purpose. What is not installed is passed over, so this may hold more than one environment shows.
KNOWN = {
    **dict.fromkeys(("pymongo.MongoClient.__getitem__", "pymongo.MongoClient.__getattr__", "pymongo.MongoClient.get_database"), "the key part is named `database`"),
    **dict.fromkeys((f"pymongo.database.Database.{name}" for name in ("__getitem__", "__getattr__", "get_collection", "create_collection")), "the key part is named `collection`"),
    "urllib3.PoolManager.raise_for_status": "of other clients of the entry",
    "django.core.mail.EmailMessage.asend": "of a later Django",
    **dict.fromkeys((f"django.db.connection.{name}" for name in ("fetchone", "fetchall", "fetchmany")), "of its cursor; the connection itself is a proxy"),
    **dict.fromkeys((f"pymemcache.ReplyingClient.{name}" for name in (
        "get", "gets", "get_many", "get_multi", "gets_many", "set", "set_many", "set_multi", "cas", "replace", "add", "incr", "decr", "append", "prepend", "delete",
    )), "a name of ours for a client that is made with default_noreply=False"),
    "diskcache.Cache.add": "the entry is python-memcached's, whose parameter is `val`",
    "urllib3.Retry": "`method_whitelist` of urllib3 1",
}

#: Queries and rows of an object mapper come from attributes of its models, a statement's methods from what built it: those have no type to look at.
KINDS = tuple(kind for kind in TABLES if kind not in ("orm", "builder"))


def test_signatures_fit_what_is_installed() -> None:
    found = [mismatch for mismatch in describe.verify_signatures(knowledge.load().vocabulary, kinds=KINDS) if mismatch.target not in KNOWN]
    assert not found, "\n".join(map(str, found))
