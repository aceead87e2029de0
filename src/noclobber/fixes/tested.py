"""A test that was made in Python, repeated in the condition of the write; and what the function does where the test fails, done where the write is
refused."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Job

#: What holds → the operator of SQL, and the lookup of a keyword filter (None: none of its own).
_SQL = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LOOKUPS = {"==": "", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "in": "in"}


def right_code(job: Job, tested: Any) -> str:
    """The code of what a field was compared with. Raises Refused where it is written in a way of its own."""
    sheet = job.sheet
    if tested.site.excerpt is sheet.excerpt:
        node = sheet.around(tested.site.at, cst.Comparison)
        if node is None:
            node = next((inner for inner in _below(tested.site.at) if isinstance(inner, cst.Comparison)), None)
        if node is not None and len(node.comparisons) == 1:
            sides = node.left, node.comparisons[0].comparator
            mine = [side for side in sides if _is_field(job, side, tested)]
            if len(mine) == 1:
                other = sides[1] if mine[0] is sides[0] else sides[0]
                if any(isinstance(inner, (cst.Await, cst.NamedExpr, cst.Yield)) for inner in _below(other)):
                    raise Refused("the test waits for something")
                return sheet.code(other)
    literal = getattr(tested.right, "literal", None)
    if isinstance(literal, str):
        return sheet.quoted(literal)
    if isinstance(literal, int):
        return repr(literal)
    raise Refused("what is compared has no code of its own")


def _below(node: Any) -> Any:
    from .job import walk

    return walk(node)


def _is_field(job: Job, node: Any, tested: Any) -> bool:
    column = tested.column
    if isinstance(node, cst.Attribute):
        return node.attr.value.lower() == column.lower()
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        key = node.slice[0].slice.value
        return isinstance(key, cst.Integer) or isinstance(key, cst.SimpleString) and str(key.evaluated_value).lower() == column.lower()
    from .steps import from_read

    return isinstance(node, cst.Name) and tested.read is not None and from_read(job, node, tested.read)


def sql_condition(job: Job, tested: Any) -> tuple[str, str]:
    """(`column op`, code of the value or "" where the condition has it already)."""
    column, op = tested.column, tested.op
    if tested.right is not None and tested.right.is_none and op in ("is", "==", "is not", "!="):
        return f"{column} IS {'NOT ' if op in ('is not', '!=') else ''}NULL", ""
    if op not in _SQL:
        raise Refused("the test has no plain form in SQL")
    literal = getattr(tested.right, "literal", None)
    if isinstance(literal, str) and len(literal) < 40 and not set(literal) & set("%:?\\{}"):  # no sign of a placeholder
        text = literal.replace("'", "''")
        return f"{column} {_SQL[op]} '{text}'", ""
    if isinstance(literal, int) and not isinstance(literal, bool):
        return f"{column} {_SQL[op]} {literal}", ""
    return f"{column} {_SQL[op]}", right_code(job, tested)


def keyword_condition(job: Job, tested: Any) -> str:
    """`state="open"`, `points__gte=price`, `claimed_by__isnull=True`: the test as a keyword of a filter."""
    column, op, separator = tested.column, tested.op, job.setting("lookup_separator") or "__"
    if tested.right is not None and tested.right.is_none and op in ("is", "==", "is not", "!="):
        return f"{column}{separator}isnull={op in ('is', '==')}"
    if op in ("truth", "empty"):
        call = job.write.model.field_call(column) if job.write.model is not None else None
        if call is None or not call[0].rpartition(".")[2].startswith("Boolean"):
            raise Refused("whether an empty field is NULL, zero or an empty text does not show")
        return f"{column}={op == 'truth'}"
    if op not in _LOOKUPS:
        raise Refused("the test has no plain form in a filter")
    lookup = _LOOKUPS[op]
    return f"{column}{separator + lookup if lookup else ''}={right_code(job, tested)}"


def column_condition(job: Job, tested: Any, model: str) -> str:
    """`Task.state == "open"`, `Task.owner.is_(None)`: the test as an expression over the columns of a class."""
    column, op = f"{model}.{tested.column}", tested.op
    if tested.right is not None and tested.right.is_none and op in ("is", "==", "is not", "!="):
        known = job.setting("null_tests") or ()
        if len(known) != 2:
            raise Refused("the test has no plain form in the library")
        return known[op in ("is not", "!=")].replace("{column}", column)
    if op in ("truth", "empty"):
        call = job.write.model.field_call(tested.column) if job.write.model is not None else None
        kind = job.write.model.annotation_text(tested.column) if job.write.model is not None else ""
        if not (call is not None and (call[0].rpartition(".")[2].startswith("Boolean") or any(text.rpartition(".")[2].startswith("Boolean") for text in call[1])) or (kind or "").strip("]").rpartition("[")[2] == "bool"):
            raise Refused("whether an empty field is NULL, zero or an empty text does not show")
        return f"{column} == {op == 'truth'}"
    if op == "in" and job.setting("membership"):
        return job.setting("membership").replace("{column}", column).replace("{values}", right_code(job, tested))
    if op not in _SQL:
        raise Refused("the test has no plain form in the library")
    return f"{column} {op} {right_code(job, tested)}"


def refusal(job: Job, tested: Any, message: str) -> str:
    """What the function does where the test fails, as one statement: its `raise` or `return`; else a `raise` of a conflict."""
    sheet, write = job.sheet, job.write
    if tested.site.excerpt is sheet.excerpt:
        branch = sheet.around(tested.site.at, cst.If)
        if branch is not None and sheet.function(branch) is sheet.function(write.site.at):
            found = None
            if not sheet.inside(write.site.at, branch):
                found = _single(branch.body)
            elif isinstance(branch.orelse, cst.Else):
                found = _single(branch.orelse.body) if not sheet.inside(write.site.at, branch.orelse) else _single(branch.body)
            else:
                spot = sheet.spot(branch)
                following = spot.siblings[spot.at + 1] if spot.at + 1 < len(spot.siblings) else None
                if isinstance(following, cst.SimpleStatementLine) and len(following.body) == 1:
                    found = following.body[0]
            if isinstance(found, (cst.Return, cst.Raise)) and "\n" not in sheet.code(found):
                value = found.value if isinstance(found, cst.Return) else found.exc
                if not _is_success(sheet, value) and not job.attempt:
                    job.has_another = True
                    return sheet.code(found)
    return job.conflict(write.site.at, message)


def _single(body: Any) -> Optional[Any]:
    inner = body.body
    if len(inner) == 1 and isinstance(inner[0], cst.SimpleStatementLine) and len(inner[0].body) == 1:
        return inner[0].body[0]
    return inner[0] if len(inner) == 1 and isinstance(inner[0], (cst.Return, cst.Raise)) else None


def _is_success(sheet: Any, value: Any) -> bool:
    return value is not None and sheet.code(value) == "True"
