"""RMW304: the write that compares a version, or goes around one, raises it."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .job import Draft, Job, walk
from .sqltext import Statement


def fix(job: Job) -> Draft:
    sheet, write, version = job.sheet, job.write, job.claim.field
    if write.unit:
        raise Refused("the version is raised by the class: its mapper says how")
    call = sheet.around(write.site.at, cst.Call)
    if call is None or write.site.excerpt is not sheet.excerpt:
        raise Refused("the statement is run in another function")
    if write.text == "sql":
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


def _column(job: Job, version: str, node: object) -> str:
    from .orm_increment import column_code

    return column_code(job, version, job.sheet.quoted(version), node)
