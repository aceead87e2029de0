"""RMW208: only what was sent is taken from the patch."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .job import Draft, Job


def fix(job: Job) -> Draft:
    sheet = job.sheet
    call = job.claim.site.at
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value not in ("model_dump", "dict"):
        raise Refused("the patch is taken apart field by field")
    given = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "exclude_unset"), None)
    if given is not None:
        sheet.replace(given.value, "True")
    else:
        sheet.add_argument(call, "exclude_unset=True")
    return job.draft("take only the fields that were sent", "fields that were not sent keep what they had, and code below that looks each of them up finds them missing")
