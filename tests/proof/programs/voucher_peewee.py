"""Vouchers that are redeemed once (Peewee)."""
from peewee import CharField, Model, SqliteDatabase

database = SqliteDatabase(None)


class Voucher(Model):
    state = CharField(default="open")
    guest = CharField(default="")

    class Meta:
        database = database


class NotOpen(Exception):
    pass


def redeem(voucher_id: int, guest: str) -> None:
    voucher = Voucher.get_by_id(voucher_id)
    if voucher.state != "open":
        raise NotOpen(voucher_id)
    voucher.state = "redeemed"
    voucher.guest = guest
    voucher.save(only=[Voucher.state, Voucher.guest])  # expect: orm-check-then-act
