"""Statements that are built by calls (`update(table).where(…).values(…)`): their parts, the column's expression, another condition."""
from __future__ import annotations

from typing import Any

import libcst as cst

from noclobber.trace.values import Origin

from .checked import check_rows
from .edits import Refused
from .job import Draft, Job, binds_loosely
from .steps import bounds, new_value, step_of
from .tested import column_condition, refusal

_KNOWN = "the new number is no longer known in Python"


class Built:
    """One UPDATE (or DELETE) of a table in a call that runs it. `table`: code of the table; `given`: the call with the new values, or None; `values`:
    {column: node} of those that are given by keyword; `chosen`: the call with the condition, or None. Raises Refused where it is put together elsewhere."""

    def __init__(self, job: Job, call: Any) -> None:
        self.job, self.sheet = job, job.sheet
        if not call.args or call.args[0].star:
            raise Refused("the statement is put together")
        self.statement = job.resolved(call.args[0].value)
        calls, node = [], self.statement
        while isinstance(node, cst.Call):
            calls.append(node)
            node = node.func.value if isinstance(node.func, cst.Attribute) else None
        named = {node.func.attr.value: node for node in reversed(calls) if isinstance(node.func, cst.Attribute)}
        self.given = named.get("values")
        self.chosen = named.get("where") or named.get("filter")
        starts = [(node, self.sheet.code(node.func).rpartition(".")[2]) for node in calls]
        tables = [node.args[0].value if node.args else node.func.value for node, name in starts if name in ("update", "delete") and (node.args or isinstance(node.func, cst.Attribute))]
        if len(tables) != 1 or not isinstance(tables[0], (cst.Name, cst.Attribute)):
            raise Refused("the statement is put together")
        self.table = self.sheet.code(tables[0])
        self.values = {arg.keyword.value: arg.value for arg in (self.given.args if self.given is not None else ()) if arg.keyword is not None}

    def column(self, name: str) -> str:
        return f"{self.table}.c.{name}"

    def require(self, condition: str) -> None:
        """Another condition beside those that are there."""
        if self.chosen is None or any(arg.star or arg.keyword is not None for arg in self.chosen.args):
            raise Refused("the rows are not chosen by a plain condition")
        self.sheet.add_argument(self.chosen, condition)


def computed(job: Job, call: Any) -> Draft:
    """`values(n=row.n + 1)` → `values(n=table.c.n + 1)`; a bound that was tested before is tested again."""
    sheet, read = job.sheet, job.claim.read
    built = Built(job, call)
    bases = frozenset((Origin("read", read.n),))
    derived = [name for name, value in job.write.columns or () if any(o.kind == "read" and o.n == read.n for o in value.origins) and name not in job.write.self_columns]
    if not derived or any(name not in built.values for name in derived):
        raise Refused("the statement is put together")
    tests = bounds(job, bases, derived, job.write)
    for name in derived:
        source, spot = new_value(job, built.values[name])
        sign, step = step_of(job, source)
        loose = binds_loosely(cst.parse_expression(step))
        sheet.replace(built.values[name], f"{built.column(name)} {sign} " + (f"({step})" if loose else step))
        if spot is not None:
            sheet.delete(spot)
    fields = ", ".join(f"`{name}`" for name in derived)
    if not tests:
        return job.draft(f"let the statement compute {fields}", _KNOWN)
    for condition in dict.fromkeys(column_condition(job, tested, f"{built.table}.c") for tested in tests):
        built.require(condition)
    message = f"{job.write.record.label} no longer meets the condition of the write"
    check_rows(job, call, message, refusal(job, tests[0], message))
    return job.draft(f"let the statement compute {fields} and test the bound", _KNOWN + "; where the bound does not hold any more the statement changes nothing, and the function leaves as it does where the test fails")


def tested_again(job: Job, call: Any, tested: Any) -> Draft:
    """`where(t.c.id == key)` → `where(t.c.id == key, t.c.state == "open")`, and a look at the count."""
    built = Built(job, call)
    built.require(column_condition(job, tested, f"{built.table}.c"))
    check_rows(job, call, "", refusal(job, tested, f"{job.write.record.label} is no longer in the state that was tested"))
    return job.draft(f"repeat the test of `{tested.column}` in the statement", "where somebody else was quicker the statement changes nothing, and the function leaves as it does where the test fails")
