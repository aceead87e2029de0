"""Prices with a version, on SQLite; the caller brings the version that it has seen."""
import sqlite3


def change_price(connection: sqlite3.Connection, item: int, price: int, version: int) -> None:
    cursor = connection.cursor()
    cursor.execute(  # expect: unchecked-rowcount
        "UPDATE prices SET price = ?, version = version + 1 WHERE id = ? AND version = ?", (price, item, version)
    )
    connection.commit()
