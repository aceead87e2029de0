"""The words of the test."""

from __future__ import annotations

import os
from typing import Any

from noclobber.prove.plan import Plan
from noclobber.prove.program import Program

HEAD = '''\
"""{title}

Written by `{command}` for {code} {slug}:
{message}

Two workers run it at once, each with its own connection to one SQLite file. Each is held before its first write of the table
that follows a read of it, until both stand there; then worker 0 goes on to its end, and worker 1 after it. In the end the table
must look as it does after some order of the workers one after the other. A worker that was refused (it raised, or gave back
another falsy value than it gives alone) counts as not run.{notes}
"""
import re
import sqlite3
import sys
import threading
import warnings
from pathlib import Path
{imports}
import pytest

# --- what is run: noclobber's guesses; change them where they are wrong ------------------------------------------------------

sys.path.insert(0, str({root}))
{before}import {module}  # noqa: E402
{program}{after}
TABLE = {table}
COMPARED = "{compared}"  # times and generated numbers are left out


def create(file):
    """Make the table and its first row."""
{create}


def work(file, worker, watch):
    """What worker 0 and worker 1 do. `watch` is told each SQL statement before it runs."""
{work}


# --- the barrier ---------------------------------------------------------------------------------------------------------------

PATIENCE = 1.0  # seconds to wait for a worker that waits itself, for a lock


class Barrier:
    def __init__(self, workers):
        self.workers, self.held, self.ended, self.met = set(workers), set(), set(), False
        self.changed = threading.Condition()

    def watch(self, worker):
        """A function that holds the worker before its first write that follows a read."""
        read = False

        def see(statement):
            nonlocal read
            if not re.search(rf"\\b{{re.escape(TABLE)}}\\b", statement, re.IGNORECASE):
                return
            if statement.lstrip().upper().startswith(("SELECT", "WITH")):
                read = True
            elif read and worker not in self.held:
                self.hold(worker)

        return see

    def hold(self, worker):
        with self.changed:
            self.held.add(worker)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.held | self.ended == self.workers, PATIENCE)
            self.met = self.met or self.held == self.workers and not self.ended
            # worker 0 first: worker 1 goes on when worker 0 has ended, or cannot go on without it
            self.changed.wait_for(lambda: all(other in self.ended for other in self.held if other < worker), PATIENCE)

    def end(self, worker):
        with self.changed:
            self.ended.add(worker)
            self.changed.notify_all()


def together(file, *workers):
    """Run the workers at once: ({{worker: what it gave back, or its exception}}, whether all stood between read and write at once)."""
    barrier, ends = Barrier(workers), {{}}

    def run(worker):
        try:
            ends[worker] = work(file, worker, barrier.watch(worker))
        except Exception as error:
            ends[worker] = error
        finally:
            barrier.end(worker)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends, barrier.met


def made(file):
    """A new file with the table, its first row, and a count of the writes that take effect."""
    create(file)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE effects (what)")
        for what in ("INSERT", "UPDATE", "DELETE"):
            connection.execute(f'CREATE TRIGGER on_{{what}} AFTER {{what}} ON "{{TABLE}}" BEGIN INSERT INTO effects VALUES (\\'{{what}}\\'); END')
    connection.close()
    return file


def seen(file):
    """What the table holds, and how many writes took effect."""
    connection = sqlite3.connect(file)
    rows = connection.execute(f'SELECT {{COMPARED}} FROM "{{TABLE}}" ORDER BY {{COMPARED}}').fetchall()
    (effects,) = connection.execute("SELECT count(*) FROM effects").fetchone()
    connection.close()
    return rows, effects


# --- the test --------------------------------------------------------------------------------------------------------------------


def test_no_update_is_lost(tmp_path):
    alone, allowed = {{}}, []
    for worker in (0, 1):
        file = made(tmp_path / f"alone{{worker}}.sqlite3")
        alone[worker] = together(file, worker)[0][worker]
        if isinstance(alone[worker], Exception):
            pytest.fail(f"worker {{worker}} fails also alone, with {{alone[worker]!r}}: mend create() or work() above")
        if not seen(file)[1]:
            pytest.fail(f"worker {{worker}} writes nothing when it runs alone: mend create() or work() above")

    def outcome(file, ends):
        refused = {{worker for worker, end in ends.items() if isinstance(end, Exception) or (not end and end != alone[worker])}}
        return set(ends) - refused, *seen(file)

    for order in ((0,), (1,), (0, 1), (1, 0)):
        file = made(tmp_path / f"order{{'-'.join(map(str, order))}}.sqlite3")
        ends = {{}}
        for worker in order:
            ends.update(together(file, worker)[0])
        allowed.append(outcome(file, ends))

    file = made(tmp_path / "together.sqlite3")
    ends, met = together(file, 0, 1)
    workers, rows, effects = outcome(file, ends)
    possible = "\\n".join(f"  workers {{sorted(each[0])}}: {{each[1]}} after {{each[2]}} writes" for each in allowed)
    assert (workers, rows, effects) in allowed, (
        f"lost update: workers {{sorted(workers)}} were not refused and left {{rows}} after {{effects}} writes ({{ends}});\\n"
        f"one after the other they leave one of\\n{{possible}}"
    )
'''


def module(plan: Plan, program: Program, folder: str, command: str) -> str:
    """The test's text. `folder`: where it will stand; `command`: how it was asked for."""
    finding = program.finding
    path = program.entry.path
    name = program.project.module_name(path) or os.path.splitext(os.path.basename(path))[0]
    root = os.path.dirname(path)
    for _ in range(name.count(".") + (os.path.basename(path) == "__init__.py")):
        root = os.path.dirname(root)
    relative = os.path.relpath(root, folder).replace(os.sep, "/")
    place = "Path(__file__).resolve().parent" + ("" if relative == "." else f" / {relative!r}".replace("'", '"'))
    notes = "".join(f"\n\n{note}" for note in plan.notes)
    return HEAD.format(
        title=f"Does {finding.function}() lose an update? ({os.path.basename(path)}:{finding.place.line})",
        command=command,
        code=finding.code,
        slug=finding.name,
        message=finding.message,
        notes=notes,
        imports="".join(f"{line}\n" for line in sorted(plan.imports + _needed(plan))),
        root=place,
        before="".join(f"{line}\n" for line in plan.before),
        module=name,
        program=f"\nprogram = sys.modules[{name!r}]\n".replace("'", '"'),
        after="".join(f"{line}\n" for line in plan.after) + "\n" if plan.after else "\n",
        table=plan.table.replace("'", '"'),
        compared=", ".join(plan.compared),
        create="\n".join(plan.create),
        work="\n".join(plan.work),
    )


def _needed(plan: Plan) -> list[str]:
    body: Any = "\n".join((*plan.create, *plan.work))
    return [f"import {name}" for name in ("datetime", "decimal", "uuid") if f"{name}." in body]
