"""Goods that come in, on SQLite."""
import sqlite3


def receive(connection: sqlite3.Connection, item: int, amount: int) -> None:
    row = connection.execute("SELECT quantity FROM stock WHERE id = ?", (item,)).fetchone()
    quantity = row[0] + amount
    connection.execute("UPDATE stock SET quantity = ? WHERE id = ?", (quantity, item))  # expect: blind-sql-update
    connection.commit()
