"""RMW101: the statement computes the new value (`SET n = n + ?`), or compares the version that was read and looks at the count."""
from __future__ import annotations

from typing import Any

import libcst as cst

from noclobber.trace.values import Origin

from .built import Built, computed
from .checked import REASON, check_rows
from .edits import Refused
from .job import Draft, Job, walk
from .sqltext import Statement, name_of
from .steps import bounds, new_value, step_of
from .tested import refusal, sql_condition


#: Last words of the columns that are raised by one where the statement does not set them.
_COUNTERS = frozenset(("version", "ver", "rev", "revision", "generation", "rowversion", "epoch", "seq", "optlock"))


def fix(job: Job) -> Draft:
    call = job.sheet.around(job.write.site.at, cst.Call)
    if call is not None and job.write.text == "builder" and job.write.verb == "update" and job.write.site.excerpt is job.sheet.excerpt and job.claim.read is not None:
        return job.first_of(lambda: computed(job, call), lambda: _built_compared(job, call))
    if call is None or job.write.text != "sql" or job.write.verb != "update" or job.write.site.excerpt is not job.sheet.excerpt:
        raise Refused("it is no UPDATE in plain text")
    statement = Statement(job, call)
    statement.only_update()
    if job.claim.read is None or job.claim.read.site.excerpt is not job.sheet.excerpt:
        return _computed(job, statement, call)
    return job.first_of(lambda: _computed(job, statement, call), lambda: _compared(job, statement, call))


def _computed(job: Job, statement: Statement, call: Any) -> Draft:
    """`SET n = ?` → `SET n = n + ?`, with the step as the value; a bound that was tested before is tested again (`AND n >= ?`)."""
    sheet, field = job.sheet, job.claim.field
    if len([name for name, value in job.write.columns or () if any(o.kind == "read" for o in value.origins) and name not in job.write.self_columns]) != 1:
        raise Refused("several columns are computed from the row")
    column, value = statement.assignment(field)
    node = statement.argument(value)
    source, spot = new_value(job, node)
    sign, step = step_of(job, source)
    tests = bounds(job, frozenset((Origin("read", job.claim.read.n),)), field, job.write)
    target = statement.tokens[column].text
    statement.insert(statement.tokens[value].start, f"{target} {sign} ")
    sheet.replace(node, step)
    if spot is not None:
        sheet.delete(spot)
    end = statement.where_end()
    for tested in tests:
        condition, bound = sql_condition(job, tested)
        if bound:
            condition += " " + statement.add(f"{field}_bound", bound)
        statement.insert(end, f" AND {condition}")
    if tests:
        message = f"{job.write.record.label} no longer meets the condition of the write"
        check_rows(job, call, message, refusal(job, tests[0], message))
        return job.draft(f"let the statement compute `{field}` and test its bound", "the new number is no longer known in Python; where the bound does not hold any more the statement changes nothing, and the function leaves as it does where the test fails")
    return job.draft(f"let the statement compute `{field}`", "the new number is no longer known in Python")


def _compared(job: Job, statement: Statement, call: Any) -> Draft:
    """`… AND version = ?` with the version that was read, `version = version + 1` in SET, and a look at the count."""
    column = _version_read(job)
    code = _read_code(job, job.claim.read, column)
    set_at, where_at = statement.word("set"), statement.word("where")
    between = [name_of(token) for token in statement.tokens[set_at + 1:where_at]]
    if column.lower() not in between:
        if column.lower().rpartition("_")[2] not in _COUNTERS:
            raise Refused("the statement does not give the row a new version")
        statement.insert(statement.tokens[where_at - 1].end, f", {column} = {column} + 1")
    end = statement.where_end()
    placeholder = statement.add(column, code)
    statement.insert(end, f" AND {column} = {placeholder}")
    check_rows(job, call, f"{job.write.record.label} has changed since it was read")
    return job.draft(f"compare the `{column}` that was read", REASON)


def _built_compared(job: Job, call: Any) -> Draft:
    """`update(t).where(t.c.id == key, t.c.version == row.version)`, and a look at the count."""
    built = Built(job, call)
    column = _version_read(job)
    code = _read_code(job, job.claim.read, column)
    if column not in built.values:
        if column.lower().rpartition("_")[2] not in _COUNTERS or not built.values:
            raise Refused("the statement does not give the row a new version")
        job.sheet.add_argument(built.given, f"{column}={built.column(column)} + 1")
    built.require(f"{built.column(column)} == {code}")
    check_rows(job, call, f"{job.write.record.label} has changed since it was read")
    return job.draft(f"compare the `{column}` that was read", REASON)


def _version_read(job: Job) -> str:
    """The version among the columns of the read. Raises Refused where there is none."""
    for name in job.claim.read.columns or ():
        if name and job.vocabulary.match("version_column", name):
            return name
    raise Refused("no version is read")


def _read_code(job: Job, read: Any, column: str) -> str:
    """The code that holds a column of the row that was read: a name it was given, or the row and the column's place."""
    sheet = job.sheet
    function = sheet.function(read.site.at)
    place = list(read.columns).index(column)
    rows = []
    for node in walk(function):
        if not isinstance(node, (cst.Assign, cst.AnnAssign)) or node.value is None:
            continue
        targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
        if len(targets) != 1 or not _holds(job, node.value, read):
            continue
        rows.append((targets[0], node.value))
    if len(rows) != 1:
        raise Refused("the row that was read has no name of its own")
    target, value = rows[0]
    if isinstance(target, (cst.Tuple, cst.List)):
        if len(target.elements) != len(read.columns) or not isinstance(target.elements[place].value, cst.Name):
            raise Refused("the row that was read has no name of its own")
        found = target.elements[place].value
        if len(list(job.bindings(found.value, function))) != 1:
            raise Refused("the version that was read is assigned again")
        return found.value
    if not isinstance(target, cst.Name) or len(list(job.bindings(target.value, function))) != 1:
        raise Refused("the row that was read has no name of its own")
    for node in walk(function):  # as the function itself takes columns from it
        if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value == target.value and len(node.slice) == 1:
            index = node.slice[0].slice
            key = index.value if isinstance(index, cst.Index) else None
            if isinstance(key, cst.Integer):
                return f"{target.value}[{place}]"
            if isinstance(key, cst.SimpleString):
                quote = key.quote
                return f"{target.value}[{quote}{column}{quote}]"
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == target.value and node.attr.value in read.columns:
            return f"{target.value}.{column}"
    raise Refused("how columns are taken from the row does not show")


def _holds(job: Job, value: Any, read: Any) -> bool:
    """Is the value the row of that read: the read itself, its fetch, or a fetch of the cursor that ran it?"""
    for node in walk(value):
        if node is read.site.at:
            return any(isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value.startswith(("fetch", "one", "first"))
                       for inner in walk(value))
    if isinstance(value, cst.Await):
        value = value.expression
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value.startswith("fetchone"):
        return isinstance(read.site.at, cst.Call) and isinstance(read.site.at.func, cst.Attribute) and \
            job.sheet.code(read.site.at.func.value) == job.sheet.code(value.func.value)
    return False
