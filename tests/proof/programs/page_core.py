"""Pages with a version (SQLAlchemy Core): nobody asks for it."""
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select, update

metadata = MetaData()
pages = Table("pages", metadata, Column("id", Integer, primary_key=True), Column("body", String(200)), Column("version", Integer, nullable=False))


def add_line(connection: Connection, page: int, line: str) -> None:
    row = connection.execute(select(pages.c.body, pages.c.version).where(pages.c.id == page)).one()
    connection.execute(update(pages).where(pages.c.id == page).values(body=f"{row.body}{line};"))  # expect: blind-sql-update
    connection.commit()
