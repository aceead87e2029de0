"""A meter that several readers move on (Tortoise)."""
from tortoise import fields
from tortoise.models import Model


class Meter(Model):
    id = fields.IntField(primary_key=True)
    units = fields.IntField(default=0)


async def read_off(meter_id: int, units: int) -> None:
    meter = await Meter.get(id=meter_id)
    meter.units += units
    await meter.save()  # expect: orm-increment
