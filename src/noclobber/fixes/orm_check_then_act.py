"""RMW203: one statement tests and writes, and where it finds no row the function does what it does where the test fails."""
from __future__ import annotations

from typing import Any

import libcst as cst

from .checked import check_count
from .edits import Refused
from .job import Draft, Job, walk
from .saves import names_columns, narrow, saved_anyway, updates_only
from .statements import REASON as UNIT_REASON
from .statements import changed_together, key_of, object_code, unit_statement
from .tested import column_condition, keyword_condition, refusal

_REASON = "where somebody else was quicker nothing is written, and the function leaves as it does where the test fails; "


def fix(job: Job) -> Draft:
    sheet, write, tested = job.sheet, job.write, job.claim.tested
    if write.verb != "update" or write.site.excerpt is not sheet.excerpt:
        raise Refused("the write is made elsewhere")
    if write.unit:
        return _unit(job, tested)
    call = sheet.around(write.site.at, cst.Call)
    if call is None or not isinstance(call.func, cst.Attribute):
        raise Refused("the save is no plain call")
    message = f"{write.record.label} is no longer in the state that was tested"
    if not write.changes:
        return _statement(job, call, tested, message)
    return _save(job, call, tested, message)


def _unit(job: Job, tested: Any) -> Draft:
    """`task.state = …; session.commit()`: one statement in place of the changes; the commit stays."""
    codes = {object_code(job, n) for n, _ in job.write.changes}
    code = codes.pop() if len(codes) == 1 else None
    if code is None:
        raise Refused("a change is no plain assignment")
    found = changed_together(job, code)
    unit_statement(job, [spot for spot, _, _ in found], code, [(field, value) for _, field, value in found], [tested], f"{job.write.record.label} is no longer in the state that was tested")
    return job.draft(f"test `{tested.column}` and write in one statement", UNIT_REASON)


def _statement(job: Job, call: Any, tested: Any, message: str) -> Draft:
    """`filter(pk=…).update(…)`: the filter gets the test."""
    sheet = job.sheet
    filters = [node for node in walk(sheet.spot(call).node) if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "filter"]
    if len(filters) != 1 or not any(arg.keyword is not None for arg in filters[0].args):
        raise Refused("the rows are not chosen by one filter with keywords")
    sheet.add_argument(filters[0], keyword_condition(job, tested))
    check_count(job, call, message, "", refused=refusal(job, tested, message))
    return job.draft(f"repeat the test of `{tested.column}` in the statement", _REASON.removesuffix("; "))


def _save(job: Job, save: Any, tested: Any, message: str) -> Draft:
    """`obj.state = …; obj.save()`: the save becomes a statement with the test in its filter; the object keeps its new value."""
    sheet, write, cls = job.sheet, job.write, job.write.model
    updates_only(job)
    rows = dict(row.partition(" -> ")[::2] for row in job.setting("update_where") or ())
    template = rows.get(save.func.attr.value)
    if not template:
        raise Refused("the library has no such statement that noclobber knows")
    if cls is None:
        raise Refused("the class of the object is not found: its own save() may do more")
    bases = job.setting("base") or ()
    if cls.method(save.func.attr.value) is not None or any(base not in bases for base in cls.library_bases()):
        raise Refused("the class, or one of its bases, has a save() of its own")
    if not names_columns(job, save) or "handed-over" in write.doubts:
        raise Refused("what the save writes is not known")
    if not save.args and saved_anyway(job, cls):
        raise Refused("every save sets a time stamp that the statement would not set")
    fields = list(dict.fromkeys(str(path[0]) for _, path in sorted(write.changes)))
    reason = narrow(job, save, fields, dry=True) if not save.args and write.full else ""
    if reason:
        raise Refused(reason)
    if any(len(path) != 1 or not str(path[0]).isidentifier() for _, path in write.changes):
        raise Refused("a part of a column is changed")
    spot = sheet.spot(save)
    whole = sheet.parent(save) if isinstance(sheet.parent(save), cst.Await) else save
    if sheet.parent(whole) is not spot.small or not isinstance(spot.small, cst.Expr):
        raise Refused("the save is no plain statement")
    code, model = sheet.code(save.func.value), job.model_code(save)
    form = job.setting("value_form") or "{name}={value}"
    values = ", ".join(form.replace("{name}", name).replace("{value}", f"{code}.{name}") for name in fields)
    if "{key}" in template:
        key = key_of(job)
        condition, template = column_condition(job, tested, model), template.replace("{key}", key)
    else:
        condition = keyword_condition(job, tested)
    name = job.fresh("updated", "changed", "rows")
    text = template
    for key, value in (("object", code), ("model", model), ("tests", condition), ("values", values)):
        text = text.replace("{" + key + "}", value)
    sheet.replace(whole, sheet.laid_out(spot, f"{name} = {text}"))
    sheet.insert_after(spot, [f"if {name} != 1:", sheet.unit(spot) + refusal(job, tested, message)])
    return job.draft(f"test `{tested.column}` and write in one statement", _REASON + "a statement sends no signals and runs no hooks of the save")
