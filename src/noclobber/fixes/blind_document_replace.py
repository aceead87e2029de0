"""RMW104: the store computes what is added (`$inc`, `$push`, `Increment`), or the write carries the version that came with the read."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Draft, Job, binds_loosely, walk
from .steps import from_read, new_value, step_of, untested
from .witness import conditional

_REASON = "the new value is no longer known in Python, and a document without the field gets it"


def fix(job: Job) -> Draft:
    if job.claim.read is None or job.claim.read.site.excerpt is not job.sheet.excerpt or job.write.site.excerpt is not job.sheet.excerpt:
        raise Refused("the document is read in another function")
    if job.setting("condition"):
        return conditional(job)
    if job.setting("increment_value"):
        return _increment_value(job, job.setting("increment_value"))
    if job.setting("operators"):
        return _operators(job, *job.setting("operators"))
    raise Refused("the store has no operator or condition that noclobber knows how to write")


def _entries(job: Job, call: Any) -> list:
    """(dict, element) of every entry with a text key in the dicts that are written out in a call."""
    return [(node, element) for node in walk(call) if isinstance(node, cst.Dict) for element in node.elements
            if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)]


def _increment_value(job: Job, template: str) -> Draft:
    """`{"n": doc["n"] + 1}` → `{"n": Increment(1)}`."""
    sheet, field = job.sheet, job.claim.field
    call = sheet.around(job.write.site.at, cst.Call)
    found = [(holder, element) for holder, element in _entries(job, call) if element.key.evaluated_value == field] if call is not None else []
    if len(found) != 1:
        raise Refused("the new value is not written out in the call")
    element = found[0][1]
    source, spot = new_value(job, element.value)
    sign, step = step_of(job, source)
    untested(job)
    head, _, rest = template.partition("{import ")
    dotted, _, tail = rest.partition("}")
    sheet.replace(element.value, (head + job.imported(_imported_as(job, dotted), call) + tail).replace("{step}", _signed(sign, step)))
    if spot is not None:
        sheet.delete(spot)
    return job.draft(f"let the store add to `{field}`", _REASON)


def _imported_as(job: Job, dotted: str) -> str:
    """The same thing from the module that the file imports already (`google.cloud.firestore_v1`)."""
    head, _, last = dotted.rpartition(".")
    return next((f"{target}.{last}" for target in job.module.index.imports.values() if target.startswith(head) and target != head and "." not in target[len(head):]), dotted)


def _operators(job: Job, setting: str, adding: str, appending: str) -> Draft:
    """`{"$set": {"n": doc["n"] + 1}}` → `{"$inc": {"n": 1}}`; the list that gets another member → `{"$push": {…}}`."""
    sheet, field = job.sheet, job.claim.field
    call = sheet.around(job.write.site.at, cst.Call)
    entries = _entries(job, call) if call is not None else []
    outer = [(holder, element) for holder, element in entries if element.key.evaluated_value == setting and isinstance(element.value, cst.Dict)]
    if len(outer) != 1:
        raise Refused("the document is written as a whole")
    holder, setter = outer[0]
    inner = [element for element in setter.value.elements if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)
             and element.key.evaluated_value == field]
    if len(inner) != 1 or len(setter.value.elements) != sum(isinstance(element, cst.DictElement) for element in setter.value.elements):
        raise Refused("the new value is not written out in the call")
    if any(isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString) and element.key.evaluated_value in (adding, appending) for element in holder.elements):
        raise Refused("the call has such an operator already")
    element = inner[0]
    source, spot = new_value(job, element.value)
    member = _appended(job, source)
    if member is not None:
        operator, text = appending, member
    else:
        sign, step = step_of(job, source)
        operator, text = adding, _signed(sign, step)
    untested(job)
    key, name = sheet.code(element.key), _quoted_like(setter.key, operator)
    if len(setter.value.elements) == 1:
        sheet.replace(setter.key, name)
        sheet.replace(element.value, text)
    else:
        _take_out(job, setter.value, element)
        sheet.insert(sheet.outer(setter.value)[1], f", {name}: {{{key}: {text}}}")
    if spot is not None:
        sheet.delete(spot)
    return job.draft(f"let the store {'append to' if member is not None else 'add to'} `{field}` (`{operator}`)", _REASON)


def _quoted_like(node: Any, text: str) -> str:
    return node.quote + text + node.quote


def _signed(sign: str, step: str) -> str:
    if sign == "+":
        return step
    node = cst.parse_expression(step)
    return f"-({step})" if binds_loosely(node) or isinstance(node, cst.BinaryOperation) else f"-{step}"


def _take_out(job: Job, holder: Any, element: Any) -> None:
    """One entry of a dict goes, with its comma."""
    sheet = job.sheet
    at = next(number for number, other in enumerate(holder.elements) if other is element)
    start, end = sheet.span(element.key)[0], sheet.outer(element.value)[1]
    if at + 1 < len(holder.elements):
        sheet.replace_range(start, sheet.span(holder.elements[at + 1].key)[0], "")
    else:
        sheet.replace_range(sheet.outer(holder.elements[at - 1].value)[1], end, "")


def _appended(job: Job, source: Any) -> Optional[str]:
    """The code of the one member that is put at the end of the list that was read: `doc["tags"] + [x]`, `[*doc["tags"], x]`; None: it is something else."""
    sheet, read = job.sheet, job.claim.read
    if isinstance(source, cst.BinaryOperation) and isinstance(source.operator, cst.Add) and isinstance(source.right, cst.List) and len(source.right.elements) == 1 \
            and isinstance(source.right.elements[0], cst.Element) and isinstance(source.left, (cst.Name, cst.Subscript, cst.Attribute)) and from_read(job, source.left, read):
        member = source.right.elements[0].value
    elif isinstance(source, cst.List) and len(source.elements) == 2 and isinstance(source.elements[0], cst.StarredElement) and isinstance(source.elements[1], cst.Element) \
            and isinstance(source.elements[0].value, (cst.Name, cst.Subscript, cst.Attribute)) and from_read(job, source.elements[0].value, read):
        member = source.elements[1].value
    else:
        return None
    return None if from_read(job, member, read) else sheet.code(member)
