"""RMW105: the store adds (`incrby`) in place of a get and a set."""
from __future__ import annotations

import libcst as cst

from .blind_document_replace import _signed
from .edits import Refused
from .job import Draft, Job
from .steps import new_value, step_of, untested


def fix(job: Job) -> Draft:
    sheet, read = job.sheet, job.claim.read
    if read is None or read.site.excerpt is not sheet.excerpt or job.write.site.excerpt is not sheet.excerpt:
        raise Refused("the key is read in another function")
    call = sheet.around(job.write.site.at, cst.Call)
    if call is None or not isinstance(call.func, cst.Attribute):
        raise Refused("the key is not set by a call")
    template = dict(row.partition(" -> ")[::2] for row in job.setting("increments") or ()).get(call.func.attr.value)
    if not template:
        raise Refused("the store has no call that adds, or noclobber does not know it")
    if any(arg.keyword is not None or arg.star for arg in call.args) or len(call.args) != template.count("{key}") + template.count("{field}") + 1:
        raise Refused("the call that sets the key says more than its value")
    value = call.args[-1].value
    source, spot = new_value(job, value)
    if isinstance(source, cst.Call) and isinstance(source.func, cst.Name) and source.func.value == "str" and len(source.args) == 1:
        source = source.args[0].value
    sign, step = step_of(job, source)
    if "." in step and any(isinstance(node, cst.Float) for node in [cst.parse_expression(step)]):
        raise Refused("the step is no whole number")
    untested(job)
    text = template.replace("{object}", sheet.code(call.func.value)).replace("{key}", sheet.code(call.args[0].value))
    if "{field}" in text:
        text = text.replace("{field}", sheet.code(call.args[1].value))
    sheet.replace(call, text.replace("{step}", _signed(sign, step)))
    if spot is not None:
        sheet.delete(spot)
    return job.draft("let the store add to it", "the new number is no longer known in Python; the key keeps the time to live that it has, and a value that is no whole number is refused")
