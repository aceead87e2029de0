"""RMW503: the key is made once, above the loop."""
from __future__ import annotations

from typing import Any

import libcst as cst

from .edits import Refused, Spot
from .job import Draft, Job, is_label, is_target, walk


def fix(job: Job) -> Draft:
    sheet, loop = job.sheet, job.claim.loop
    if loop is None or loop.how != "loop" or loop.site.excerpt is not sheet.excerpt:
        raise Refused("what runs it again is no loop of this function: the key has to come from its caller")
    outer = sheet.around(loop.site.at, cst.For, cst.While)
    made = job.claim.site.at
    if outer is None or not sheet.inside(made, outer.body):
        raise Refused("the key is made in another function")
    spot = sheet.spot(made)
    above = sheet.spot(outer)
    sent = sheet.around(job.write.site.at, cst.Call)
    if (sent is None or not sheet.inside(sent, spot.node)) and isinstance(spot.small, cst.Assign) and len(spot.small.targets) == 1 and isinstance(spot.small.targets[0].target, cst.Name) and _stays(job, spot.small.value, outer):
        return _statement(job, spot, above, outer)
    return _expression(job, made, above, outer)


def _statement(job: Job, spot: Spot, above: Spot, outer: Any) -> Draft:
    """`key = uuid4()` moves above the loop as it stands."""
    sheet = job.sheet
    name = spot.small.targets[0].target.value
    function = sheet.function(outer)
    if len(list(job.bindings(name, function))) != 1:
        raise Refused("the key's name is given to other things, too")
    uses = job.uses(name, spot.small)
    if any(not sheet.inside(use, outer) for use in uses):
        raise Refused("the key is used after the loop, too")
    if _in_branch(sheet, spot.node, outer):
        raise Refused("the key is made on some ways only")
    elsewhere = [use for use in uses if not _sent(sheet, use, job.claim.write.site.at)]
    sheet.insert_before(above, _lines(job, spot))
    sheet.delete(spot, comment=True)
    return job.draft("make the key once, before the first attempt", "the key is used for more than the call: that sees the same one in every attempt, too" if elsewhere else "")


def _lines(job: Job, spot: Spot) -> list[str]:
    """The statement with the comment behind it."""
    sheet = job.sheet
    rows = sheet.rows(spot.small)
    end = sheet.span(spot.node)[1]
    line, _ = sheet.lines.place(end)
    rows[-1] = (rows[-1] + sheet.text[end:sheet.lines.end(line)[0]]).rstrip()
    return rows


def _expression(job: Job, made: Any, above: Spot, outer: Any) -> Draft:
    """A key that is made inside the call gets a name above the loop."""
    sheet = job.sheet
    node = made
    for found in sheet.ancestors(made):  # `str(uuid4())`, f"order-{uuid4()}": as much as can stand above the loop
        if isinstance(found, (cst.Arg, cst.DictElement, cst.BaseSmallStatement, cst.Dict)):
            if isinstance(found, cst.Arg) and isinstance(sheet.parent(found), cst.Call) and _wraps(sheet, found):
                continue
            break
        if isinstance(found, cst.BaseExpression):
            node = found
    if not _stays(job, node, outer) or any(isinstance(inner, (cst.Await, cst.Yield, cst.NamedExpr)) for inner in walk(node)):
        raise Refused("the key is made of what changes from attempt to attempt")
    rows = sheet.rows(node)
    name = job.fresh("idempotency_key", "key")
    rows[0] = f"{name} = {rows[0]}"
    try:
        cst.parse_module("\n".join(rows) + "\n")
    except cst.ParserSyntaxError:  # its lines were held together by the call's brackets
        raise Refused("the key is made in several lines") from None
    sheet.replace(node, name)
    sheet.insert_before(above, rows)
    return job.draft("make the key once, before the first attempt")


def _wraps(sheet: Any, arg: Any) -> bool:
    """`str(…)`, `"-".join([order, …])`: the call only gives the key another form."""
    call = sheet.parent(arg)
    named = isinstance(call.func, cst.Name) and call.func.value in ("str", "repr", "format")
    joined = isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.SimpleString) and call.func.attr.value in ("join", "format")
    return (named or joined) and len(call.args) == 1


def _stays(job: Job, node: Any, outer: Any) -> bool:
    """Does the expression read no name that the loop gives a value to?"""
    sheet = job.sheet
    names = {inner.value for inner in walk(node) if isinstance(inner, cst.Name) and not is_label(sheet, inner)}
    changed = {inner.value for inner in walk(outer) if isinstance(inner, cst.Name) and is_target(sheet, inner) and not sheet.inside(inner, node)}
    mine = sheet.parent(sheet.parent(node)) if isinstance(sheet.parent(node), cst.AssignTarget) else None
    return mine is not None or not names & changed


def _in_branch(sheet: Any, node: Any, outer: Any) -> bool:
    for found in sheet.ancestors(node):
        if found is outer:
            return False
        if isinstance(found, (cst.If, cst.ExceptHandler, cst.For, cst.While, cst.Match)):
            return True
    return True


def _sent(sheet: Any, use: Any, effect: Any) -> bool:
    """Is the use an argument of the effect's call?"""
    call = sheet.around(effect, cst.Call)
    return call is not None and sheet.inside(use, call)
