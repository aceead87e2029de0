"""RMW302: the result of a conditional write is looked at, and a refusal raised."""
from __future__ import annotations

import libcst as cst

from .checked import REASON, check_result, check_rows, told
from .edits import Refused
from .job import Draft, Job


def fix(job: Job) -> Draft:
    sheet, write = job.sheet, job.write
    call = sheet.around(write.site.at, cst.Call)
    if call is None or write.outcome == "row":
        raise Refused("the row that it gives back tells the outcome")
    if write.text == "builder" and isinstance(call.func, cst.Attribute) and call.func.attr.value != "execute" or write.record.family not in ("sql", "orm") or not write.text:
        check_result(job, call, told(job))
    else:
        check_rows(job, call, told(job))
    return job.draft("raise when the write was refused", REASON)
