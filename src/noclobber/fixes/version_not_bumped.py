"""RMW304: the write that compares a version, or goes around one, raises it."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .job import Draft, Job, walk
from .sqltext import Statement
from .updates import raised_in_expression


def fix(job: Job) -> Draft:
    sheet, write, version = job.sheet, job.write, job.claim.field
    if write.unit:
        raise Refused("the version is raised by the class: its mapper says how")
    call = sheet.around(write.site.at, cst.Call)
    if call is None or write.site.excerpt is not sheet.excerpt:
        raise Refused("the statement is run in another function")
    if job.setting("operators"):
        _operator(job, call, version, job.setting("operators")[1])
    elif job.setting("language") == "dynamodb":
        raised_in_expression(job, call, version)
    elif write.text == "sql":
        statement = Statement(job, call)
        statement.only_update()
        statement.insert(statement.tokens[statement.word("where") - 1].end, f", {version} = {version} + 1")
    else:
        values = [node for node in walk(sheet.spot(write.site.at).node) if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
                  and node.func.attr.value in ("values", "update", "aupdate") and any(arg.keyword is not None for arg in node.args)]
        if len(values) != 1:
            raise Refused("the new values are not given by keyword")
        sheet.add_argument(values[0], f"{version}={_column(job, version, call)} + 1")
    return job.draft(f"raise `{version}`", "whoever read the row before and compares is refused from now on, as that comparison is meant")


def _operator(job: Job, call: object, version: str, adding: str) -> None:
    """`"$inc": {"rev": 1}` in an update document that is written out in the call."""
    sheet = job.sheet
    found = [node for node in walk(call) if isinstance(node, cst.Dict) and node.elements and all(
        isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString) and str(element.key.evaluated_value).startswith("$") for element in node.elements)]
    if len(found) != 1:
        raise Refused("the update is not written out in the call")
    given = next((element.value for element in found[0].elements if element.key.evaluated_value == adding), None)
    entry = f"{sheet.quoted(version)}: 1"
    if given is None:
        sheet.insert(sheet.outer(found[0].elements[-1].value)[1], f", {sheet.quoted(adding)}: {{{entry}}}")
    elif isinstance(given, cst.Dict) and given.elements:
        sheet.insert(sheet.outer(given.elements[-1].value)[1], f", {entry}")
    else:
        raise Refused("the update is not written out in the call")


def _column(job: Job, version: str, node: object) -> str:
    from .orm_increment import column_code

    return column_code(job, version, job.sheet.quoted(version), node)
