"""Seats of a coach, on PostgreSQL: the version is compared, and never moves on."""
import psycopg


class Conflict(Exception):
    pass


def book(connection: psycopg.Connection, coach: int, passenger: str) -> None:
    passengers, version = connection.execute("SELECT passengers, version FROM coaches WHERE id = %s", (coach,)).fetchone()
    passengers = f"{passengers}{passenger};"
    cursor = connection.execute(  # expect: version-not-bumped
        "UPDATE coaches SET passengers = %s WHERE id = %s AND version = %s", (passengers, coach, version)
    )
    if cursor.rowcount != 1:
        connection.rollback()
        raise Conflict(coach)
    connection.commit()
