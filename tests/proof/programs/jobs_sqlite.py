"""A queue of jobs in SQLite: one worker takes a job."""
import sqlite3


class JobTaken(Exception):
    pass


def claim(connection: sqlite3.Connection, job: int, worker: str) -> None:
    (state,) = connection.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()
    if state != "queued":
        raise JobTaken(job)
    connection.execute("UPDATE jobs SET state = 'running', owner = ? WHERE id = ?", (worker, job))  # expect: check-then-act
    connection.commit()
