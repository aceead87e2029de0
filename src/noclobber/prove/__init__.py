"""`noclobber prove`: a pytest for a finding, as text. Nothing of the code under analysis is imported or run here; it is read with `ast`.

The test runs the finding's function in two workers on an SQLite file. Each worker is held before its first write of the record that
follows a read of it; then one goes on, and the other after it. In the end the table must look as it does after some order of the
workers one after the other, where a worker that was refused (an exception, or another falsy value than it gives alone) has not run.
"""

from __future__ import annotations

from typing import Any

from noclobber.finding import Finding
from noclobber.prove.errors import CannotProve
from noclobber.prove.program import Program

__all__ = ["CannotProve", "write"]

#: Rules whose loss shows in what the table holds after two runs of one function.
RULES = frozenset(
    {
        "blind-sql-update",
        "check-then-act",
        "orm-increment",
        "orm-derived-save",
        "orm-check-then-act",
        "check-then-create",
        "stale-lock",
        "lock-outside-transaction",
        "unchecked-rowcount",
        "unchecked-conditional-result",
        "version-not-bumped",
    }
)
#: Why a test of this form cannot show what other rules find.
OTHERS = {
    "orm-full-save": "the other writer is another function: the loss shows only when that one changes another column meanwhile",
    "stale-retry": "after a conflict the loser fails or overwrites in a later round: two workers held once do not show it",
}
AT_HAND = "a test can be written for sqlite3, SQLAlchemy and Django"


def write(finding: Finding, project: Any, path: str, vocabulary: Any, folder: str, command: str) -> str:
    """The text of a test module for the finding.

    `project`: project.Project; `path`: absolute path of the finding's file; `folder`: absolute path of the folder that the test will stand
    in; `command`: what was typed. Raises CannotProve.
    """
    if finding.name not in RULES:
        reason = OTHERS.get(finding.name) or (
            f"its store is not at hand: {AT_HAND}"
            if finding.code.startswith("RMW10")
            else "what it finds does not show in a table that two workers write"
        )
        raise CannotProve(f"{finding.code} {finding.name}: {reason}", f"the page says how to test it by hand: noclobber rule {finding.code}")
    program = Program(finding, project, path, vocabulary)
    from noclobber.prove import alchemy, django, sqlite
    from noclobber.prove.text import module

    for store in (django, alchemy, sqlite):
        plan = store.plan(program)
        if plan is not None:
            return module(plan, program, folder, command)
    raise CannotProve(
        f"the store of {program.shown} is not at hand: {AT_HAND}", f"the page says how to test it by hand: noclobber rule {finding.code}"
    )
