"""Slips that are stamped once (MongoEngine)."""
from mongoengine import Document, StringField


class Slip(Document):
    status = StringField(default="new")
    clerk = StringField(default="")


class Stamped(Exception):
    pass


def stamp(slip_id: str, clerk: str) -> None:
    slip = Slip.objects.get(pk=slip_id)
    if slip.status != "new":
        raise Stamped(slip_id)
    slip.status = "stamped"
    slip.clerk = clerk
    slip.save()  # expect: orm-check-then-act
