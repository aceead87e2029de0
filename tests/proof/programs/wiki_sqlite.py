"""A wiki's pages, each with a version, on SQLite."""
import sqlite3


def add_line(connection: sqlite3.Connection, page: int, line: str) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT body, version FROM pages WHERE id = ?", (page,))
    body, version = cursor.fetchone()
    body = body + "\n" + line
    cursor.execute("UPDATE pages SET body = ?, version = ? WHERE id = ?", (body, version + 1, page))  # expect: blind-sql-update
    connection.commit()
