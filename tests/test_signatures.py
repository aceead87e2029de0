"""The vocabulary's signatures against the libraries of the development environment."""
from __future__ import annotations

from noclobber import knowledge
from noclobber.knowledge import describe

#: Target → why the model differs on purpose. What is not installed is passed over, so this may hold more than one environment shows.
KNOWN = {
    **dict.fromkeys(("pymongo.MongoClient.__getitem__", "pymongo.MongoClient.__getattr__", "pymongo.MongoClient.get_database"), "the key part is named `database`"),
    **dict.fromkeys((f"pymongo.database.Database.{name}" for name in ("__getitem__", "__getattr__", "get_collection", "create_collection")), "the key part is named `collection`"),
    **dict.fromkeys((f"peewee.Model.{name}" for name in ("update", "insert", "replace")), "two underscores are mangled in a class"),
    **dict.fromkeys((f"peewee.Model.{name}" for name in ("get_by_id", "set_by_id", "delete_by_id")), "the id, by its role"),
    **dict.fromkeys((f"sqlalchemy.Table.{name}" for name in (
        "where", "filter", "filter_by", "values", "with_for_update", "returning", "on_conflict_do_update", "on_duplicate_key_update", "execution_options",
    )), "of the statements that a table's methods give"),
    "django.db.models.Model.save": "Django 5.1 and older take it by position",
    "urllib3.PoolManager.raise_for_status": "of other clients of the entry",
    "django.core.mail.EmailMessage.asend": "of a later Django",
    "urllib3.Retry": "`method_whitelist` of urllib3 1",
}


def test_signatures_fit_what_is_installed() -> None:
    found = [mismatch for mismatch in describe.verify_signatures(knowledge.load().vocabulary) if mismatch.target not in KNOWN]
    assert not found, "\n".join(map(str, found))
