"""Seats of a coach, on SQLite: the version is compared, and never moves on."""
import sqlite3


class Conflict(Exception):
    pass


def book(connection: sqlite3.Connection, coach: int, passenger: str) -> None:
    passengers, version = connection.execute("SELECT passengers, version FROM coaches WHERE id = ?", (coach,)).fetchone()
    passengers = f"{passengers}{passenger};"
    cursor = connection.execute(  # expect: version-not-bumped
        "UPDATE coaches SET passengers = ? WHERE id = ? AND version = ?", (passengers, coach, version)
    )
    if cursor.rowcount != 1:
        connection.rollback()
        raise Conflict(coach)
    connection.commit()
