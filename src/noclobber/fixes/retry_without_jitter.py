"""RMW405: the pause between attempts gets a random part."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .job import Draft, Job, binds_loosely


def fix(job: Job) -> Draft:
    sheet = job.sheet
    at = job.claim.site.at
    call = at.expression if isinstance(at, cst.Await) else at
    if not isinstance(call, cst.Call):
        raise Refused("the pause belongs to a policy: it has an option of its own for it")
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "jitter"]
    if given:
        if sheet.code(given[0].value) != "None" or call.args[-1] is not given[0] or len(call.args) < 2:
            raise Refused("the policy says how it waits in a way of its own")
        before = call.args[call.args.index(given[0]) - 1]
        sheet.replace_range(sheet.outer(before.value)[1], sheet.outer(given[0].value)[1], "")
        return job.draft("let the policy spread the attempts", "the pauses are of another length each time")
    name = sheet.code(call.func).rpartition(".")[2]
    if name != "sleep" or len(call.args) != 1 or call.args[0].keyword is not None or call.args[0].star:
        raise Refused("the pause belongs to a policy: it has an option of its own for it")
    value = call.args[0].value
    uniform = job.imported_module("random", call) + ".uniform(0.5, 1.5)"
    start, end = sheet.outer(value)
    loose = binds_loosely(value)
    if loose:
        sheet.insert(start, "(")
    sheet.insert(end, (")" if loose else "") + f" * {uniform}")
    return job.draft("spread the attempts", "the pause is of another length each time, half as long to half as long again")
