"""A seat that is held once (SQLAlchemy Core)."""
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select, update

metadata = MetaData()
holds = Table("holds", metadata, Column("seat", Integer, primary_key=True), Column("state", String(8)), Column("guest", String(40)))


class Held(Exception):
    pass


def hold(connection: Connection, seat: int, guest: str) -> None:
    state = connection.execute(select(holds.c.state).where(holds.c.seat == seat)).scalar_one()
    if state != "free":
        raise Held(seat)
    connection.execute(update(holds).where(holds.c.seat == seat).values(state="held", guest=guest))  # expect: check-then-act
    connection.commit()
