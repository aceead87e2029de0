"""Goods that come in, on PostgreSQL."""
import psycopg


def receive(connection: psycopg.Connection, item: int, amount: int) -> None:
    with connection.transaction():
        row = connection.execute("SELECT quantity FROM stock WHERE id = %s", (item,)).fetchone()
        quantity = row[0] + amount
        connection.execute("UPDATE stock SET quantity = %s WHERE id = %s", (quantity, item))  # expect: blind-sql-update
