"""A wiki's pages, each with a version, on PostgreSQL."""
import psycopg


def add_line(connection: psycopg.Connection, page: int, line: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT body, version FROM pages WHERE id = %s", (page,))
        body, version = cursor.fetchone()
        body = body + "\n" + line
        cursor.execute("UPDATE pages SET body = %s, version = version + 1 WHERE id = %s", (body, page))  # expect: blind-sql-update
    connection.commit()
