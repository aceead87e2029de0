"""RMW208: only what was sent is taken from the patch."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Draft, Job, walk

_REASON = "fields that were not sent keep what they had, and code below that looks each of them up finds them missing"


def fix(job: Job) -> Draft:
    sheet = job.sheet
    call = job.claim.site.at
    taken = _taken_apart(job, call)
    if taken is not None:
        node, text = taken
        sheet.replace(node, text)
        return job.draft("take only the fields that were sent", _REASON)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value not in ("model_dump", "dict"):
        raise Refused("the patch is taken apart field by field")
    given = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "exclude_unset"), None)
    if given is not None:
        sheet.replace(given.value, "True")
    else:
        sheet.add_argument(call, "exclude_unset=True")
    return job.draft("take only the fields that were sent", _REASON)


def _taken_apart(job: Job, at: Any) -> Optional[tuple[Any, str]]:
    """(node, what takes its place) of a patch that is iterated (`for name, value in patch`), or whose `vars()` are; None: it is no such thing."""
    sheet = job.sheet
    loop = at if isinstance(at, (cst.For, cst.CompFor)) else sheet.parent(at)
    if isinstance(loop, (cst.For, cst.CompFor)) and (at is loop or loop.iter is at) and isinstance(loop.iter, (cst.Name, cst.Attribute)) and isinstance(loop.target, cst.Tuple):
        return loop.iter, f"{sheet.code(loop.iter)}.{_dumping(job)}(exclude_unset=True).items()"
    inner = loop.iter if at is loop and isinstance(loop, (cst.For, cst.CompFor)) else at
    for node in walk(inner):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "vars" and len(node.args) == 1:
            return node, f"{sheet.code(node.args[0].value)}.{_dumping(job)}(exclude_unset=True)"
    return None


def _dumping(job: Job) -> str:
    """The call that writes a model out: `dict` in a module that knows no other."""
    text = job.module.source.text
    return "dict" if ".dict(" in text and "model_dump" not in text else "model_dump"
