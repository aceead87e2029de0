"""A harbour's boats: the berth is changed while somebody changes the owner (Peewee)."""
from peewee import CharField, Model, SqliteDatabase

database = SqliteDatabase(None)


class Boat(Model):
    owner = CharField()
    berth = CharField()

    class Meta:
        database = database


def sell(boat_id: int, owner: str) -> None:
    boat = Boat.get_by_id(boat_id)
    boat.owner = owner
    boat.save()  # expect: orm-full-save


def berth_at(boat_id: int, berth: str) -> None:
    Boat.update(berth=berth).where(Boat.id == boat_id).execute()  # meanwhile
