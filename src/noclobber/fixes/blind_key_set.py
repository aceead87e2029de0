"""RMW105: the store adds (`incrby`) or joins (`append`) in place of a get and a set."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Draft, Job
from .steps import has_default, new_value, old_and_rest, signed, step_of, text_behind, untested

_ADDS = "the new number is no longer known in Python, and a value that is no whole number is refused"


def fix(job: Job) -> Draft:
    sheet, read = job.sheet, job.claim.read
    if read is None or read.site.excerpt is not sheet.excerpt or job.write.site.excerpt is not sheet.excerpt:
        raise Refused("the key is read in another function")
    given = _item(job) or _call(job)
    value, spot = new_value(job, given.value)
    try:
        return _written(job, given, "increments", spot, *_step(job, value))
    except Refused as first:
        if not job.setting("appends"):
            raise
        try:
            code = text_behind(job, value)
        except Refused:
            raise first from None
        return _written(job, given, "appends", spot, "+", code, False)


class Given:
    """What sets the key. `name`: the call's, or `__setitem__`; `node`: all that is replaced; `parts`: codes of the object, key and field;
    `value`: the node of the value; `lives`: (parameter, code) of the time to live, or None."""

    def __init__(self, name: str, node: Any, parts: dict[str, str], value: Any, lives: Optional[tuple[str, str]] = None) -> None:
        self.name, self.node, self.parts, self.value, self.lives = name, node, parts, value, lives


def _item(job: Job) -> Optional[Given]:
    """`cache[key] = value`."""
    sheet = job.sheet
    spot = sheet.spot(job.write.site.at)
    small = spot.small
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not isinstance(small.targets[0].target, cst.Subscript) or len(small.targets[0].target.slice) != 1:
        return None
    target = small.targets[0].target
    return Given("__setitem__", small, {"object": sheet.code(target.value), "key": sheet.code(target.slice[0].slice)}, small.value)


def _call(job: Job) -> Given:
    sheet = job.sheet
    call = sheet.around(job.write.site.at, cst.Call)
    if call is None or not isinstance(call.func, cst.Attribute):
        raise Refused("the key is not set by a call")
    name = call.func.attr.value
    spec = next((spec for spec in job.entry.specs if spec.op == "write" and spec.signature.last == name), None) if job.entry is not None else None
    bound = spec.bind([arg.value for arg in call.args if arg.keyword is None], [(arg.keyword.value, arg.value) for arg in call.args if arg.keyword is not None]) if spec is not None else None
    if bound is None or bound.extra or any(arg.star for arg in call.args):
        raise Refused("the call that sets the key says more than its value")
    roles = {role: pairs for role, pairs in bound.by_role.items()}
    keys, values, lives = (roles.pop(role, []) for role in ("key", "payload", "ttl"))
    if roles or not keys or len(keys) > 2 or len(values) != 1 or len(lives) > 1 or len(keys) + len(values) + len(lives) != len(call.args):
        raise Refused("the call that sets the key says more than its value")
    parts = {"object": sheet.code(call.func.value), **dict(zip(("key", "field"), (sheet.code(node) for _, node in keys)))}
    return Given(name, call, parts, values[0][1], (lives[0][0], sheet.code(lives[0][1])) if lives else None)


def _step(job: Job, source: Any) -> tuple[str, str, bool]:
    """(sign, code of the step, is zero taken where the key is not there?)."""
    source = _bare(source)
    sign, step = step_of(job, source)
    if "." in step and any(isinstance(node, cst.Float) for node in [cst.parse_expression(step)]):
        raise Refused("the step is no whole number")
    return sign, step, has_default(job.sheet, old_and_rest(job, source)[0])


def _bare(source: Any) -> Any:
    """Without `str(…)` around it."""
    wrapped = isinstance(source, cst.Call) and isinstance(source.func, cst.Name) and source.func.value == "str" and len(source.args) == 1
    return source.args[0].value if wrapped else source


def _written(job: Job, given: Given, kind: str, spot: Any, sign: str, step: str, default: bool) -> Draft:
    """The store's own call in place of the one that sets, and what has to stand around it."""
    sheet = job.sheet
    rows = dict(row.partition(" -> ")[::2] for row in job.setting(kind) or ())
    template = rows.get(f"{given.name} {sign}") or rows.get(given.name)
    if not template or "{field}" in template and "field" not in given.parts or len(given.parts) == 3 and "{field}" not in template:
        raise Refused("the store has no call that adds, or noclobber does not know it")
    untested(job)
    before, after = rows.get("before", ""), ""
    if given.lives is not None and "{ttl}" not in before:
        after = rows.get(given.lives[0], "")
        if not after:
            raise Refused("the call that sets the key says more than its value")
    whole = sheet.parent(given.node) if isinstance(sheet.parent(given.node), cst.Await) else given.node
    if (before or after) and not isinstance(whole, cst.Assign) and not isinstance(sheet.parent(whole), cst.Expr):
        raise Refused("what the call gives back is used")
    values = {**given.parts, "step": step if f"{given.name} {sign}" in rows else signed(sign, step), "ttl": f", {given.lives[1]}" if given.lives is not None and "{ttl}" in before else given.lives[1] if given.lives is not None else ""}
    head = "await " if whole is not given.node else ""
    sheet.replace(given.node, _filled(template, values))
    stands = sheet.spot(given.node)
    if before:
        sheet.insert_before(stands, [head + _filled(before, values)])
    if after:
        sheet.insert_after(stands, [head + _filled(after, values)])
    if spot is not None:
        sheet.delete(spot)
    note = rows.get("note", "") if not after else ""
    if kind == "appends":
        return job.draft("let the store join the texts", "the whole text is no longer known in Python" + (f"; {note}" if note else ""))
    return job.draft("let the store add to it", _ADDS + (f"; {note}" if note else ""))


def _filled(template: str, values: dict[str, str]) -> str:
    for name, code in values.items():
        template = template.replace("{" + name + "}", code)
    return template
