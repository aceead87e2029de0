"""RMW301: the count of a conditional UPDATE or DELETE is looked at, and a refusal raised."""
from __future__ import annotations

import libcst as cst

from .checked import REASON, check_rows, told
from .edits import Refused
from .job import Draft, Job


def fix(job: Job) -> Draft:
    call = job.sheet.around(job.write.site.at, cst.Call)
    if call is None or job.write.verb == "upsert":
        raise Refused("the statement is run in a way whose count noclobber cannot name")
    if job.write.outcome != "count":
        raise Refused("the row that it gives back tells the outcome")
    check_rows(job, call, told(job))
    return job.draft("raise when no row was written", REASON)
