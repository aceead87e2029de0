"""Update expressions of DynamoDB: `SET votes = :votes` becomes `SET votes = votes + :votes`, with the step as the value."""
from __future__ import annotations

import re
from typing import Any

import libcst as cst

from .edits import Refused
from .job import Draft, Job
from .steps import appended, has_default, new_value, old_and_rest, signed, step_of, untested

REASON = "the new value is no longer known in Python, and a document without the field gets it"
_MISSING = "the new value is no longer known in Python, and an item without the attribute is refused"
_BEHIND = r"(?=\s*(?:,|$|\s(?:SET|REMOVE|ADD|DELETE)\b))"


def expression(job: Job) -> Draft:
    """The draft. Raises Refused where the call has no such expression that is written out."""
    sheet, field = job.sheet, job.claim.field
    call = sheet.around(job.write.site.at, cst.Call)
    text, values = _given(job, call, "operators"), _given(job, call, "ExpressionAttributeValues")
    if not isinstance(text, cst.SimpleString) or not isinstance(values, cst.Dict) or text.prefix or "\\" in text.value:
        raise Refused("the new value is not written out in the call")
    names = _entries(_given(job, call, "ExpressionAttributeNames"))
    aliases = [field, *(alias for alias, node in names.items() if isinstance(node, cst.SimpleString) and node.evaluated_value == field)]
    plain = text.evaluated_value
    found = [hit for alias in aliases for hit in re.finditer(rf"(?<![\w.#:])({re.escape(alias)})\s*=\s*(:\w+){_BEHIND}", plain, re.I)]
    if len(found) != 1:
        raise Refused("the attribute is not set to a plain value")
    path, bind = found[0][1], found[0][2]
    holder = _entries(values).get(bind)
    if holder is None or len(re.findall(rf"{bind}\b", plain)) != 1:
        raise Refused("the new value is not written out in the call")
    wire = isinstance(holder, cst.Dict)
    value = _unwrapped(holder) if wire else holder
    base = sheet.span(text)[0] + len(text.quote)
    start, end = base + found[0].start(2), base + found[0].end(2)
    added = appended(job, value)
    source, spot = (value, None) if added is not None else new_value(job, value)
    added = added if added is not None or wire else appended(job, source)
    gone = [spot] if spot is not None else []
    reason = _MISSING
    if added is not None:
        member, more = added
        gone += more
        sheet.insert(start, f"list_append({path}, ")
        sheet.insert(end, ")")
        sheet.replace(value, f"[{member}]")
    else:
        sign, step = step_of(job, source)
        if has_default(sheet, old_and_rest(job, source)[0]):
            if plain.strip() != found[0][0] and not re.fullmatch(rf"\s*SET\s+{re.escape(found[0][0])}\s*", plain, re.I):
                raise Refused("the attribute may be missing, and the expression sets others, too")
            clause = re.match(r"\s*SET\b", plain, re.I)
            sheet.replace_range(base + clause.end() - 3, end, f"ADD {path} {bind}")
            sheet.replace(value, signed(sign, step))
            reason = REASON
        else:
            sheet.insert(start, f"{path} {sign} ")
            sheet.replace(value, step)
    untested(job)
    for spot in gone:
        sheet.delete(spot)
    return job.draft(f"let the store {'append to' if added is not None else 'add to'} `{field}`", reason)


def raised_in_expression(job: Job, call: Any, name: str) -> None:
    """`SET …, version = version + :one`, with the one among the values. Raises Refused where they are not written out."""
    sheet = job.sheet
    text, values = _given(job, call, "operators"), _given(job, call, "ExpressionAttributeValues")
    if not isinstance(text, cst.SimpleString) or not isinstance(values, cst.Dict) or not values.elements or text.prefix or "\\" in text.value:
        raise Refused("the update is not written out in the call")
    plain = text.evaluated_value
    clause = re.match(r"\s*SET\s+", plain)
    known = _entries(values)
    if clause is None or any(isinstance(node, cst.Dict) for node in known.values()):
        raise Refused("the expression sets nothing, or its values have types of their own")
    aliases = [alias for alias, node in _entries(_given(job, call, "ExpressionAttributeNames")).items() if isinstance(node, cst.SimpleString) and node.evaluated_value == name]
    path = aliases[0] if aliases else name
    bind = next(word for word in (":one", ":step", ":raised") if word not in known)
    at = sheet.span(text)[0] + len(text.quote) + clause.end()
    sheet.insert(at, f"{path} = {path} + {bind}, ")
    sheet.insert(sheet.outer(values.elements[-1].value)[1], f", {sheet.quoted(bind)}: 1")


def _given(job: Job, call: Any, what: str) -> Any:
    """The expression that is given for a parameter, by its name or by its role; None."""
    specs = [spec for spec in job.entry.specs if call is not None and isinstance(call.func, cst.Attribute) and spec.signature.last == call.func.attr.value]
    wanted = {param.name for spec in specs for param in spec.signature.params if what in (param.name, param.role)}
    given = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in wanted] if call is not None else []
    return job.resolved(given[0]) if given else None


def _entries(node: Any) -> dict[str, Any]:
    """{key: node of its value} of a mapping that is written out."""
    elements = node.elements if isinstance(node, cst.Dict) else ()
    return {element.key.evaluated_value: element.value for element in elements if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)}


def _unwrapped(holder: Any) -> Any:
    """The number in the wire format: `{"N": str(n)}`."""
    held = _entries(holder)
    value = held.get("N")
    if len(held) != 1 or not (isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "str" and len(value.args) == 1):
        raise Refused("the new value is not written out in the call")
    return value.args[0].value
