"""RMW104: the store computes what is added (`$inc`, `$push`, `Increment`), or the write carries the version that came with the read."""
from __future__ import annotations

from typing import Any

import libcst as cst

from .edits import Refused
from .job import Draft, Job, walk
from .steps import appended, new_value, signed, step_of, untested
from .updates import REASON, expression
from .versions import version_argument, version_filter
from .witness import conditional


def fix(job: Job) -> Draft:
    if job.claim.read is None or job.claim.read.site.excerpt is not job.sheet.excerpt or job.write.site.excerpt is not job.sheet.excerpt:
        raise Refused("the document is read in another function")
    ways = []
    if job.setting("language") == "dynamodb":
        ways.append(lambda: expression(job))
    if job.setting("increment_value"):
        ways.append(lambda: _increment_value(job, job.setting("increment_value")))
    if job.setting("operators"):
        ways.append(lambda: _operators(job, *job.setting("operators")))
    if job.setting("condition"):
        ways.append(lambda: conditional(job))
    if job.setting("version_condition"):
        ways.append(lambda: version_argument(job, job.setting("version_condition")))
    if job.setting("operators"):
        ways.append(lambda: version_filter(job))
    if not ways:
        raise Refused("the store has no operator or condition that noclobber knows how to write")
    return job.first_of(*ways)


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
    sheet.replace(element.value, (head + job.imported(_imported_as(job, dotted), call) + tail).replace("{step}", signed(sign, step)))
    if spot is not None:
        sheet.delete(spot)
    return job.draft(f"let the store add to `{field}`", REASON)


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
    added = appended(job, element.value)
    if added is None:
        source, spot = new_value(job, element.value)
        added = appended(job, source)
        gone = [spot] if spot is not None else []
    else:
        gone = []
    if added is not None:
        operator, (text, more) = appending, added
        gone += more
    else:
        sign, step = step_of(job, source)
        operator, text = adding, signed(sign, step)
    untested(job)
    key, name = sheet.code(element.key), _quoted_like(setter.key, operator)
    if len(setter.value.elements) == 1:
        sheet.replace(setter.key, name)
        sheet.replace(element.value, text)
    else:
        _take_out(job, setter.value, element)
        sheet.insert(sheet.outer(setter.value)[1], f", {name}: {{{key}: {text}}}")
    for spot in gone:
        sheet.delete(spot)
    return job.draft(f"let the store {'append to' if added is not None else 'add to'} `{field}` (`{operator}`)", REASON)


def _quoted_like(node: Any, text: str) -> str:
    return node.quote + text + node.quote


def _take_out(job: Job, holder: Any, element: Any) -> None:
    """One entry of a dict goes, with its comma."""
    sheet = job.sheet
    at = next(number for number, other in enumerate(holder.elements) if other is element)
    start, end = sheet.span(element.key)[0], sheet.outer(element.value)[1]
    if at + 1 < len(holder.elements):
        sheet.replace_range(start, sheet.span(holder.elements[at + 1].key)[0], "")
    else:
        sheet.replace_range(sheet.outer(holder.elements[at - 1].value)[1], end, "")

