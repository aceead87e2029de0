"""Seats of a coach (SQLAlchemy Core): as many as are left."""
from sqlalchemy import Column, Connection, Integer, MetaData, Table, select, update

metadata = MetaData()
coaches = Table("coaches", metadata, Column("id", Integer, primary_key=True), Column("left", Integer, nullable=False))


class Full(Exception):
    pass


def book(connection: Connection, coach: int, seats: int) -> None:
    row = connection.execute(select(coaches.c.left).where(coaches.c.id == coach)).one()
    if row.left < seats:
        raise Full(coach)
    connection.execute(update(coaches).where(coaches.c.id == coach).values(left=row.left - seats))  # expect: blind-sql-update
    connection.commit()
