"""RMW205: a look and a create of one model with a unique constraint become `get_or_create`, where they are exactly that."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused, Spot
from .job import Draft, Job


def fix(job: Job) -> Draft:
    sheet = job.sheet
    if job.claim.variant != "constraint":
        raise Refused("no unique constraint is known: the second would be created all the same")
    create = sheet.around(job.write.site.at, cst.Call)
    if create is None or not isinstance(create.func, cst.Attribute):
        raise Refused("the row is not created by one call")
    names = dict(row.partition(" -> ")[::2] for row in job.setting("get_or_create") or ())
    wanted = names.get(create.func.attr.value)
    if not wanted:
        raise Refused("the library has no such call that noclobber knows")
    whole = sheet.parent(create) if isinstance(sheet.parent(create), cst.Await) else create
    made = sheet.spot(create)
    if made.small is None or _value(made.small) is not whole:
        raise Refused("what is created is used in the same statement")
    block = sheet.parent(made.block)
    if isinstance(block, cst.ExceptHandler):
        looked, outer = _tried(job, block, made)
    elif isinstance(block, cst.If):
        looked, outer = _tested(job, block, made)
    else:
        raise Refused("the look and the create do not stand together")
    found = _value(looked.small)
    look = found.expression if isinstance(found, cst.Await) else found
    if isinstance(found, cst.Await) != isinstance(whole, cst.Await):
        raise Refused("the look and the create are not of one kind")
    look = _filtered(look)
    if look is None or sheet.code(look.func.value) != sheet.code(create.func.value):
        raise Refused("the look and the create go to different managers")
    filters, given = _keywords(job, look), _keywords(job, create)
    if any(given.get(name) != code for name, code in filters.items()) or any("__" in name for name in filters):
        raise Refused("what is looked for is not what is created")
    rest = {name: code for name, code in given.items() if name not in filters}
    defaults = ", ".join(f"{sheet.quoted(name)}: {code}" for name, code in rest.items())
    call = f"{sheet.code(create.func.value)}.{wanted}({', '.join(f'{name}={code}' for name, code in filters.items())}" + (f", defaults={{{defaults}}})" if rest else ")")
    call = f"await {call}" if isinstance(whole, cst.Await) else call
    if isinstance(made.small, cst.Return):
        text = f"return ({call})[0]" if isinstance(whole, cst.Await) else f"return {call}[0]"
    else:
        text = f"{sheet.code(made.small.targets[0].target)}, {job.fresh('created', 'was_created')} = {call}"
    sheet.replace_range(sheet.span(looked.node if isinstance(block, cst.If) else outer.node)[0], sheet.span(outer.node)[1], text)
    return job.draft("look for it and create it in one call", "it opens a savepoint of its own, and looks once more where the constraint refuses the row")


def _value(small: Any) -> Any:
    """The value of `name = …` or `return …`; None for anything else."""
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name) or isinstance(small, cst.Return):
        return small.value
    return None


def _same_place(job: Job, a: Any, b: Any) -> bool:
    """Do two statements both return, or give the same name its value?"""
    if isinstance(a, cst.Return) or isinstance(b, cst.Return):
        return isinstance(a, cst.Return) and isinstance(b, cst.Return)
    return job.sheet.code(a.targets[0].target) == job.sheet.code(b.targets[0].target)


def _tried(job: Job, handler: Any, made: Spot) -> tuple[Spot, Spot]:
    """`try: x = M.objects.get(…) except M.DoesNotExist: x = M.objects.create(…)`: (the look, the whole statement)."""
    sheet = job.sheet
    statement = sheet.parent(handler)
    if len(statement.handlers) != 1 or statement.orelse is not None or statement.finalbody is not None or len(statement.body.body) != 1 or len(made.siblings) != 1:
        raise Refused("more is done between the look and the create")
    looked = sheet.spot(statement.body.body[0])
    if looked.small is None or _value(looked.small) is None or not _same_place(job, looked.small, made.small):
        raise Refused("the look and the create do not give one name its value")
    if handler.type is None or not sheet.code(handler.type).endswith("DoesNotExist"):
        raise Refused("the handler is entered for other reasons, too")
    return looked, sheet.spot(statement)


def _tested(job: Job, branch: Any, made: Spot) -> tuple[Spot, Spot]:
    """`x = M.objects.filter(…).first()` and `if x is None: x = M.objects.create(…)`: (the look, the `if`)."""
    sheet = job.sheet
    spot = sheet.spot(branch)
    if spot.node is not branch or branch.orelse is not None or len(made.siblings) != 1 or not spot.at or isinstance(made.small, cst.Return):
        raise Refused("more is done between the look and the create")
    looked = sheet.spot(spot.siblings[spot.at - 1])
    if looked.small is None or _value(looked.small) is None or isinstance(looked.small, cst.Return) or not _same_place(job, looked.small, made.small):
        raise Refused("the look and the create do not give one name its value")
    name = sheet.code(made.small.targets[0].target)
    if sheet.code(branch.test) not in (f"{name} is None", f"not {name}"):
        raise Refused("the test asks for more than whether it is there")
    return looked, spot


def _filtered(call: Any) -> Optional[Any]:
    """The call with the keywords: `get(…)`, or `filter(…)` below `.first()`."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    name = call.func.attr.value
    if name in ("get", "aget"):
        return call
    inner = call.func.value
    if name in ("first", "afirst") and not call.args and isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value == "filter":
        return inner
    return None


def _keywords(job: Job, call: Any) -> dict[str, str]:
    if not call.args or any(arg.keyword is None or arg.star for arg in call.args):
        raise Refused("the values are not all given by keyword")
    return {arg.keyword.value: job.sheet.code(arg.value) for arg in call.args}
