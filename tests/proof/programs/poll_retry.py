"""A conflict is tried again after a pause that is the same for everybody."""
import sqlite3
import time


class Busy(Exception):
    pass


def add_vote(connection: sqlite3.Connection, poll: int) -> None:
    for attempt in range(3):
        votes, version = connection.execute("SELECT votes, version FROM polls WHERE id = ?", (poll,)).fetchone()
        cursor = connection.execute(
            "UPDATE polls SET votes = ?, version = version + 1 WHERE id = ? AND version = ?", (votes + 1, poll, version)
        )
        connection.commit()
        if cursor.rowcount == 1:
            return
        time.sleep(0.01 * 2**attempt)  # expect: retry-without-jitter
    raise Busy(poll)
