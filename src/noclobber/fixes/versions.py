"""The version that a document carries: taken before it is raised, and sent back as a condition of the write."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .checked import check_result
from .edits import Refused, Spot
from .follow import runs_once_before
from .job import Draft, Job, walk
from .steps import from_read, old_and_rest
from .witness import filled


def carried(job: Job) -> tuple[str, str]:
    """(name, code of the value that was read) of the version that the write raises. A version that is raised in place is first given a name.
    Raises Refused where the write raises none."""
    call = job.sheet.around(job.write.site.at, cst.Call)
    found = _written_out(job, call) or _changed(job)
    if found is None:
        raise Refused("no version is raised by the write")
    return found


def _is_version(job: Job, name: Any) -> bool:
    return isinstance(name, str) and job.vocabulary.match("version_column", name)


def _written_out(job: Job, call: Any) -> Optional[tuple[str, str]]:
    """`{"version": doc["version"] + 1}` in the call."""
    sheet, found = job.sheet, []
    for node in walk(call):
        if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString) and _is_version(job, node.key.evaluated_value):
            try:
                old, rest = old_and_rest(job, job.resolved(node.value))
            except Refused:
                continue
            if all(sign == "+" for sign, _ in rest) and isinstance(old, (cst.Name, cst.Subscript, cst.Attribute, cst.Call)):
                found.append((node.key.evaluated_value, sheet.code(old)))
    return found[0] if len(found) == 1 else None


def _changed(job: Job) -> Optional[tuple[str, str]]:
    """`doc["version"] += 1` above the call: the old version gets a name above it."""
    sheet, read, write = job.sheet, job.claim.read, job.write
    events = [event for event in job.trace.of("change") if read.n < event.n < write.n and len(event.field) == 1 and _is_version(job, _bare(event.field[0]))
              and any(o.kind == "read" and o.n == read.n for o in (*event.base, *event.value.origins))]
    if len(events) != 1 or events[0].site.excerpt is not sheet.excerpt:
        return None
    spot = sheet.spot(events[0].site.at)
    target = _raised(job, spot)
    if target is None or not runs_once_before(sheet, spot.node, write.site.at):
        return None
    name = job.fresh(_bare(events[0].field[0]), f"{_bare(events[0].field[0])}_read")
    sheet.insert_before(spot, [f"{name} = {sheet.code(target)}"])
    return _bare(events[0].field[0]), name


def _raised(job: Job, spot: Spot) -> Any:
    """The target of `doc["version"] += 1` or `doc["version"] = doc["version"] + 1`."""
    small = spot.small
    if isinstance(small, cst.AugAssign) and isinstance(small.operator, cst.AddAssign):
        return small.target
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, (cst.Subscript, cst.Attribute)) and from_read(job, small.value, job.claim.read):
        return small.targets[0].target
    return None


def _bare(step: str) -> str:
    return str(step).strip("[]'\"")


def version_argument(job: Job, templates: list[str]) -> Draft:
    """`ConditionExpression=Attr("version").eq(version)`."""
    sheet = job.sheet
    call = sheet.around(job.write.site.at, cst.Call)
    if call is None or job.write.call and sheet.code(call.func).rpartition(".")[2] != job.write.call:
        raise Refused("the document is not written by a call of its own")
    names = {text.partition("=")[0] for text in templates}
    specs = [spec for spec in job.entry.specs if spec.op == "write" and spec.signature.last == sheet.code(call.func).rpartition(".")[2]]
    if not any(names <= {param.name for param in spec.signature.params} for spec in specs):
        raise Refused("the call that writes takes no condition")
    if any(arg.star or arg.keyword is not None and arg.keyword.value in names for arg in call.args):
        raise Refused("the call has a condition of its own")
    column, old = carried(job)
    added = [filled(job, text, call).replace("{quoted}", sheet.quoted(column)).replace("{column}", column).replace("{old}", old) for text in templates]
    sheet.add_argument(call, ", ".join(added))
    return job.draft(f"compare the `{column}` that was read", "where somebody else has written meanwhile the store refuses it and the library raises: nobody catches that yet")


def version_filter(job: Job) -> Draft:
    """`update_one({"_id": key, "version": doc["version"]}, …)`, and a look at the count."""
    sheet = job.sheet
    call = sheet.around(job.write.site.at, cst.Call)
    name = sheet.code(call.func).rpartition(".")[2] if call is not None else ""
    specs = [spec for spec in job.entry.specs if spec.op == "write" and spec.signature.last == name]
    places = [place for spec in specs for place, param in enumerate(spec.signature.params) if param.role == "filter"]
    if not places or len(call.args) <= places[0] or any(arg.star for arg in call.args) or any(arg.keyword is not None and arg.keyword.value == "upsert" for arg in call.args):
        raise Refused("the document is not written by a call that takes a filter alone")
    chosen = call.args[places[0]]
    if chosen.keyword is not None or not isinstance(chosen.value, cst.Dict) or not chosen.value.elements:
        raise Refused("the filter is not written out in the call")
    column, old = carried(job)
    if any(isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString) and element.key.evaluated_value == column for element in chosen.value.elements):
        raise Refused("the filter names the version already")
    sheet.insert(sheet.outer(chosen.value.elements[-1].value)[1], f", {sheet.quoted(column)}: {old}")
    label = job.write.record.label
    check_result(job, call, f"{'the document' if '{' in label or len(label) > 40 else label} has changed since it was read")
    return job.draft(f"compare the `{column}` that was read", "where the document has changed meanwhile it raises, and nobody catches that yet")
