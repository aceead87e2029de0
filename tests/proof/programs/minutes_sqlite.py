"""The minutes of a meeting, on SQLite: a conflict is tried again with the text that was read before it."""
import random
import sqlite3
import time


class Busy(Exception):
    pass


def add_remark(connection: sqlite3.Connection, meeting: int, remark: str) -> None:
    text, version = connection.execute("SELECT text, version FROM minutes WHERE id = ?", (meeting,)).fetchone()
    text = f"{text}{remark};"
    for attempt in range(4):
        cursor = connection.execute(  # expect: stale-retry
            "UPDATE minutes SET text = ?, version = version + 1 WHERE id = ? AND version = ?", (text, meeting, version)
        )
        connection.commit()
        if cursor.rowcount == 1:
            return
        time.sleep(random.uniform(0, 0.01 * 2**attempt))
    raise Busy(meeting)
