"""Litres in a tank (Peewee)."""
from peewee import IntegerField, Model, SqliteDatabase

database = SqliteDatabase(None)


class Tank(Model):
    litres = IntegerField(default=0)

    class Meta:
        database = database


def fill(tank_id: int, litres: int) -> None:
    tank = Tank.get_by_id(tank_id)
    tank.litres += litres
    tank.save()  # expect: orm-increment
