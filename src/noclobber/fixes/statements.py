"""One statement that tests and writes a row, in place of the changes that a unit of work would write at its flush."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import libcst as cst

from noclobber.trace.uniquekeys import declared_keys

from .edits import Refused, Spot
from .follow import exclusive, mentions
from .job import Job, walk
from .tested import column_condition, refusal

REASON = "where somebody else was quicker nothing is written, and the function leaves as it does where the test fails; a statement runs no hooks of the mapper"


def key_of(job: Job) -> str:
    """The column of the row's primary key. Raises Refused where it is not known, or is several."""
    keys = declared_keys(job.write.model) or {job.setting("implicit_key") if job.write.model is not None else None}
    found = [key for key in keys if key]
    if len(found) != 1:
        raise Refused("the primary key of the row is not known")
    return found[0]


def changed_together(job: Job, code: str) -> list[tuple[Spot, str, str]]:
    """[(statement, field, code of its value)] of all that the flush writes of the object that `code` means: plain assignments, one below the
    other. Raises Refused."""
    sheet, found = job.sheet, []
    for n, path in sorted(job.write.changes):
        event = job.trace.events[n]
        if event.site.excerpt is not sheet.excerpt or len(path) != 1 or not str(path[0]).isidentifier():
            raise Refused("the row is changed in another function, or a part of a column is")
        spot = sheet.spot(event.site.at)
        small = spot.small
        if not isinstance(small, cst.Assign) or len(small.targets) != 1 or sheet.code(small.targets[0].target) != f"{code}.{path[0]}":
            raise Refused("a change is no plain assignment")
        found.append((spot, str(path[0]), sheet.code(small.value)))
    found.sort(key=lambda item: sheet.span(item[0].node)[0])
    names = {field for _, field, _ in found}
    if len(names) != len(found) or any(spot.block is not found[0][0].block or spot.at != found[0][0].at + number for number, (spot, _, _) in enumerate(found)):
        raise Refused("the changes do not stand together")
    for spot, _, _ in found:
        if any(isinstance(node, (cst.Await, cst.NamedExpr, cst.Yield)) or isinstance(node, cst.Attribute) and node.attr.value in names and sheet.code(node.value) == code for node in walk(spot.small.value)):
            raise Refused("a new value is made of another one")
    return found


def unit_statement(job: Job, spots: Sequence[Spot], code: str, values: Sequence[tuple[str, str]], tests: Sequence[Any], message: str) -> None:
    """Put the statement in place of the changes, and below it what happens where it wrote no row. `values`: (field, code). Raises Refused."""
    sheet, flush = job.sheet, job.write.site.at
    rows = job.setting("unit_statement")
    if not rows:
        raise Refused("the library has no such statement that noclobber knows")
    flushed = sheet.around(flush, cst.Call) if job.write.site.excerpt is sheet.excerpt else None
    if flushed is None or not isinstance(flushed.func, cst.Attribute) or sheet.span(flushed)[0] < sheet.span(spots[-1].node)[1] or sheet.function(flushed) is not sheet.function(spots[0].node):
        raise Refused("the write is made by a flush elsewhere")
    end, start = sheet.span(spots[-1].node)[1], sheet.span(flushed)[0]
    handlers = {spec.signature.last for spec in job.entry.specs if spec.op in ("add", "flush", "commit", "reload", "merge", "expire")}
    for mention in mentions(job, code, sheet.function(flushed)):
        if end <= mention.offset < start and not mention.attribute and not exclusive(sheet, mention.node, spots[0].node):
            call = sheet.around(mention.node, cst.Call)
            if call is None or not isinstance(call.func, cst.Attribute) or call.func.attr.value not in handlers:
                raise Refused("the object is handed on before it is written")
    model, key = job.model_code(spots[0].node), key_of(job)
    conditions = [f"{model}.{key} == {code}.{key}", *dict.fromkeys(column_condition(job, tested, model) for tested in tests)]
    name = job.fresh("result", "written")
    words = {"session": sheet.code(flushed.func.value), "model": model, "tests": ", ".join(conditions), "values": ", ".join(f"{field}={value}" for field, value in values)}
    text = [_filled(job, row, words, spots[0].node) for row in rows]
    awaited = "await " if isinstance(sheet.parent(flushed), cst.Await) else ""
    text[0] = f"{name} = {awaited}{text[0]}"
    unit, indent = sheet.unit(spots[0]), sheet.indent(spots[0])
    newline = sheet.newline(sheet.span(spots[0].node)[0])
    sheet.replace(spots[0].small, (newline + indent).join(row.replace("\t", unit) for row in text))
    sheet.insert_after(spots[0], [f"if {name}{job.setting('unit_count') or ''} != 1:", unit + refusal(job, tests[0], message)])
    for spot in spots[1:]:
        sheet.delete(spot)


def _filled(job: Job, row: str, words: dict[str, str], node: Any) -> str:
    head, _, rest = row.partition("{import ")
    if rest:
        dotted, _, tail = rest.partition("}")
        row = head + job.imported(dotted, node) + tail
    for name, code in words.items():
        row = row.replace("{" + name + "}", code)
    return row


def object_code(job: Job, n: int) -> Optional[str]:
    """The code of the object that a Change event changes, where it is a plain assignment to an attribute."""
    sheet, event = job.sheet, job.trace.events[n]
    if event.site.excerpt is not sheet.excerpt:
        return None
    small = sheet.spot(event.site.at).small
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else small.target if isinstance(small, cst.AugAssign) else None
    return sheet.code(target.value) if isinstance(target, cst.Attribute) else None
