"""Tickets with a version (SQLAlchemy Core): the number of rows is not looked at."""
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, update

metadata = MetaData()
tickets = Table(
    "tickets", metadata, Column("id", Integer, primary_key=True), Column("title", String(80)), Column("version", Integer, nullable=False)
)


def retitle(connection: Connection, ticket: int, title: str, version: int) -> None:
    statement = update(tickets).where(tickets.c.id == ticket, tickets.c.version == version).values(title=title, version=version + 1)
    connection.execute(statement)  # expect: unchecked-conditional-result
    connection.commit()
