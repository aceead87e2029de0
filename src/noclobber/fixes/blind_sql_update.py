"""RMW101: the statement computes the new value (`SET n = n + ?`), or compares the version that was read and looks at the count."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .checked import REASON, check_rows
from .edits import Refused, Spot
from .follow import in_return
from .job import Draft, Job, binds_loosely, is_number, terms, walk
from .sqltext import Statement, name_of


#: Last words of the columns that are raised by one where the statement does not set them.
_COUNTERS = frozenset(("version", "ver", "rev", "revision", "generation", "rowversion", "epoch", "seq", "optlock"))


def fix(job: Job) -> Draft:
    call = job.sheet.around(job.write.site.at, cst.Call)
    if call is None or job.write.text != "sql" or job.write.verb != "update" or job.write.site.excerpt is not job.sheet.excerpt:
        raise Refused("it is no UPDATE in plain text")
    statement = Statement(job, call)
    statement.only_update()
    try:
        return _computed(job, statement)
    except Refused as first:
        job.sheet.edits.clear()
        if job.claim.read is None or job.claim.read.site.excerpt is not job.sheet.excerpt:
            raise
        try:
            return _compared(job, statement, call)
        except Refused:
            raise first from None


def _computed(job: Job, statement: Statement) -> Draft:
    """`SET n = ?` → `SET n = n + ?`, with the step as the value."""
    sheet, field = job.sheet, job.claim.field
    if len([name for name, value in job.write.columns or () if any(o.kind == "read" for o in value.origins) and name not in job.write.self_columns]) != 1:
        raise Refused("several columns are computed from the row")
    column, value = statement.assignment(field)
    node = statement.argument(value)
    spot: Optional[Spot] = None
    name = node.value if isinstance(node, cst.Name) else ""
    source = node
    if name:
        found = job.definition(node)
        if found is None:
            raise Refused("the new value is computed in more than one place")
        spot, source = found
        others = [use for use in job.uses(name, node) if use is not node]
        if others:
            raise Refused("the new number is returned: only a lock can give it" if any(in_return(sheet, use) for use in others)
                          else "the new number is used elsewhere, too")
    sign, step = _step(job, source)
    _untested(job, field)
    target = statement.tokens[column].text
    statement.insert(statement.tokens[value].start, f"{target} {sign} ")
    sheet.replace(node, step)
    if spot is not None:
        sheet.delete(spot)
    return job.draft(f"let the statement compute `{field}`", "the new number is no longer known in Python, and a bound that was tested before is not tested again by the statement")


def _step(job: Job, source: Any) -> tuple[str, str]:
    """(sign, code of the step) of `old + step`, where `old` is what was read and the step is not."""
    sheet = job.sheet
    parts = terms(source)
    if parts is None:
        raise Refused("the new value is more than the old one plus or minus something")
    old = [(sign, term) for sign, term in parts if from_read(job, term, job.claim.read)]
    if len(old) != 1 or old[0][0] != "+" or not isinstance(old[0][1], (cst.Name, cst.Subscript, cst.Attribute)):
        raise Refused("the new value is more than the old one plus or minus something")
    rest = [(sign, term) for sign, term in parts if term is not old[0][1]]
    if any(isinstance(node, (cst.Await, cst.Yield)) for _, term in rest for node in walk(term)):
        raise Refused("the step waits for something")
    if rest[0][0] == "+" and not any(sign == "-" or is_number(job, term) for sign, term in rest):
        raise Refused("what is added may be text: `+` of the statement would not join it")
    if len(rest) == 1:
        return rest[0][0], sheet.code(rest[0][1])
    text = ""
    for sign, term in rest:
        code = sheet.code(term)
        code = f"({code})" if binds_loosely(term) else code
        text += f" {sign} {code}" if text else code if sign == "+" else f"-{code}"
    return "+", text


def from_read(job: Job, node: Any, read: Any, depth: int = 5) -> bool:
    """May an expression hold what the read gave? Followed through names of the function; what a fetch gives counts."""
    sheet = job.sheet
    for inner in walk(node):
        if inner is read.site.at:
            return True
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value.startswith(("fetch", "scalar", "one", "first", "mappings", "all")):
            return True
        if isinstance(inner, cst.Name) and depth:
            above = sheet.parent(inner)
            if isinstance(above, cst.Attribute) and above.attr is inner or isinstance(above, cst.Arg) and above.keyword is inner:
                continue
            for target in job.bindings(inner.value, sheet.function(inner)):
                value = _bound_value(sheet, target)
                if value is not None and not sheet.inside(node, value) and from_read(job, value, read, depth - 1):
                    return True
    return False


def _bound_value(sheet: Any, target: Any) -> Any:
    """What a target gets its value from: the right side, the iterated, the context manager."""
    for found in sheet.ancestors(target):
        if isinstance(found, (cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.AugAssign)):
            return found.value
        if isinstance(found, (cst.For, cst.CompFor)):
            return found.iter
        if isinstance(found, cst.WithItem):
            return found.item
        if isinstance(found, cst.BaseStatement):
            return None
    return None


def _untested(job: Job, field: str) -> None:
    """A test of the old value that decides whether the statement is reached would have to be repeated in it."""
    for origin in job.write.ctx.control:
        if origin.kind != "test":
            continue
        test = job.trace.events[origin.n]
        for value in (test.left, test.right):
            if value is None or test.op in ("is", "is not", "truth"):
                continue
            if any(o.kind == "read" and o.n == job.claim.read.n for o in value.origins):
                raise Refused("the number is tested before: the statement would have to repeat the test")


def _compared(job: Job, statement: Statement, call: Any) -> Draft:
    """`… AND version = ?` with the version that was read, `version = version + 1` in SET, and a look at the count."""
    sheet, read = job.sheet, job.claim.read
    columns = [name for name in read.columns or () if name and job.vocabulary.match("version_column", name)]
    if not columns:
        raise Refused("no version is read")
    column = columns[0]
    code = _read_code(job, read, column)
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
