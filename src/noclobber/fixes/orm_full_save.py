"""RMW204: the save names the changed columns."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .job import Draft, Job
from .saves import narrow, updates_only


def fix(job: Job) -> Draft:
    sheet, write = job.sheet, job.write
    save = sheet.around(write.site.at, cst.Call)
    if save is None or write.site.excerpt is not sheet.excerpt or not isinstance(save.func, cst.Attribute):
        raise Refused("the object is saved in another function")
    updates_only(job)
    fields = [str(path[0]) for _, path in sorted(write.changes)]
    if not fields:
        raise Refused("what was changed is not known")
    reason = narrow(job, save, list(dict.fromkeys(fields)))
    if reason:
        raise Refused(reason)
    return job.draft("save the changed fields only", "what a signal handler, or code that noclobber does not see, changes in other fields before the save is no longer written")
