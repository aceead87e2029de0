"""A queue of jobs in PostgreSQL: one worker takes a job."""
import psycopg


class JobTaken(Exception):
    pass


def claim(connection: psycopg.Connection, job: int, worker: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM jobs WHERE id = %s", (job,))
        (state,) = cursor.fetchone()
        if state != "queued":
            raise JobTaken(job)
        cursor.execute("UPDATE jobs SET state = 'running', owner = %s WHERE id = %s", (worker, job))  # expect: check-then-act
    connection.commit()
