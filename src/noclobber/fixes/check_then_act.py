"""RMW107: the statement repeats the test, and where it is refused the function does what it does where the test fails."""
from __future__ import annotations

import libcst as cst

from .built import tested_again
from .checked import check_rows
from .edits import Refused
from .job import Draft, Job
from .sqltext import Statement
from .tested import refusal, sql_condition


def fix(job: Job) -> Draft:
    sheet, write, tested = job.sheet, job.write, job.claim.tested
    call = sheet.around(write.site.at, cst.Call)
    if call is not None and write.text == "builder" and write.verb in ("update", "delete") and write.site.excerpt is sheet.excerpt and tested.column and tested.how != "consumed":
        return tested_again(job, call, tested)
    if call is None or write.text != "sql" or write.verb not in ("update", "delete") or write.site.excerpt is not sheet.excerpt:
        raise Refused("it is no UPDATE or DELETE in plain text")
    if tested.how == "consumed" or not tested.column:
        raise Refused("what was found is used: the statement would have to give it back (RETURNING)")
    statement = Statement(job, call)
    statement.only_change()
    condition, value = sql_condition(job, tested)
    end = statement.where_end()
    if value:
        condition += " " + statement.add(tested.column, value)
    statement.insert(end, f" AND {condition}")
    check_rows(job, call, "", refusal(job, tested, f"{write.record.label} is no longer in the state that was tested"))
    return job.draft(f"repeat the test of `{tested.column}` in the statement", "where somebody else was quicker the statement changes nothing, and the function leaves as it does where the test fails")
