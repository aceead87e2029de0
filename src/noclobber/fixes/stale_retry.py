"""RMW401: the read, and what is computed from it, move into the loop, so that every attempt starts from the current version."""
from __future__ import annotations

from typing import Any

import libcst as cst

from .edits import Refused, Spot
from .job import Draft, Job, is_label, is_target, walk


def fix(job: Job) -> Draft:
    sheet, loop, read = job.sheet, job.claim.loop, job.claim.read
    if read is None:
        raise Refused("what is sent again came in from the caller")
    if loop is None or loop.how not in ("loop", "attempts") or loop.site.excerpt is not sheet.excerpt or read.site.excerpt is not sheet.excerpt:
        raise Refused("the read or the loop stands in another function")
    outer = sheet.around(loop.site.at, cst.For, cst.While)
    if outer is None or sheet.inside(read.site.at, outer):
        raise Refused("the read stands in the loop already: it is answered from what was read before")
    above, first = sheet.spot(outer), sheet.spot(read.site.at)
    if first.block is not above.block or first.at > above.at:
        raise Refused("the read and the loop do not stand in one block")
    moved = _moved(job, [sheet.spot(inner) for inner in first.siblings[first.at:above.at]], outer)
    body = outer.body
    inside = False
    while isinstance(body, cst.IndentedBlock) and isinstance(body.body[0], cst.With) and loop.how == "attempts":
        body, inside = body.body[0].body, True
    if not isinstance(body, cst.IndentedBlock):
        raise Refused("the loop's body shares the line of its header")
    _move(job, moved, sheet.spot(body.body[0]))
    return job.draft("read and compute anew in every attempt", "a failure of the read itself is repeated by the policy, too" if inside else "")


def _moved(job: Job, spots: list[Spot], outer: Any) -> list[Spot]:
    """The statements that belong to the read: it, and each one below that reads or changes what they bind. Raises Refused where one is not plain."""
    sheet = job.sheet
    bound: set[str] = set()
    found = []
    for number, spot in enumerate(spots):
        names = {node.value for node in walk(spot.node) if isinstance(node, cst.Name) and not is_label(sheet, node)}
        if number and not names & bound:
            continue
        if spot.small is None or not isinstance(spot.small, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr)):
            raise Refused("what is done with the read is more than plain statements")
        mine = {node.value for node in walk(spot.node) if isinstance(node, cst.Name) and is_target(sheet, node)}
        if isinstance(spot.small, cst.Expr) and not names & bound:
            raise Refused("what is read has no name")
        if number and not _local(spot.small, bound):
            raise Refused("what is done with the read goes on to other things")
        bound |= mine
        found.append(spot)
    if not bound:
        raise Refused("what is read has no name")
    for node in walk(outer):
        if isinstance(node, cst.Name) and node.value in bound and is_target(sheet, node):
            raise Refused("the loop gives what was read another value itself")
    header = outer.test if isinstance(outer, cst.While) else outer.iter
    if any(isinstance(node, cst.Name) and node.value in bound for node in walk(header)):
        raise Refused("the loop's header looks at what was read")
    staying = {spot.node for spot in spots} - {spot.node for spot in found}
    changed = {node.value for node in walk(outer) if isinstance(node, cst.Name) and is_target(sheet, node)}
    for spot in found:
        if any(isinstance(node, cst.Name) and not is_label(sheet, node) and node.value in changed for node in walk(spot.node)):
            raise Refused("what is computed from the read depends on names that the loop changes")
    if any(isinstance(node, (cst.Return, cst.Raise, cst.If, cst.Try, cst.With)) for node in staying):
        raise Refused("other code stands between the read and the loop")
    return found


def _local(small: Any, bound: set) -> bool:
    """Does the statement change names of its own and what was read, and nothing else that would see it done twice?"""
    targets = [target.target for target in small.targets] if isinstance(small, cst.Assign) else [small.target] if not isinstance(small, cst.Expr) else []
    if isinstance(small, cst.Expr):
        call = small.value.expression if isinstance(small.value, cst.Await) else small.value
        if not isinstance(call, cst.Call):
            return False
        targets = [call.func.value] if isinstance(call.func, cst.Attribute) else []
        if not targets:
            return False
    for target in targets:
        root = target
        while isinstance(root, (cst.Attribute, cst.Subscript, cst.Call)):
            root = root.func if isinstance(root, cst.Call) else root.value
        if isinstance(small, cst.Expr) or root is not target:
            if not isinstance(root, cst.Name) or root.value not in bound:
                return False
    return True


def _move(job: Job, spots: list[Spot], target: Spot) -> None:
    """Take whole lines, with the comments above and behind them, and put them before a statement, one step further in."""
    sheet = job.sheet
    rows: list[str] = []
    old = sheet.indent(spots[0])
    for spot in spots:
        if any(isinstance(node, (cst.SimpleString, cst.FormattedString)) and "\n" in sheet.code(node) for node in walk(spot.node)):
            raise Refused("a text of several lines would have to be moved")
        start, end = sheet.span(spot.node)
        first, last = sheet.lines.place(start)[0], sheet.lines.place(end - 1)[0]
        leading = list(spot.node.leading_lines)
        while leading and leading.pop().comment is not None:
            first -= 1
        for number in range(first, last + 1):
            text = sheet.text[sheet.lines.starts[number - 1]:sheet.lines.end(number)[0]]
            if text.strip() and not text.startswith(old):
                raise Refused("the lines are indented in a way of their own")
            rows.append(text[len(old):] if text.strip() else "")
        begin, behind = sheet.lines.starts[first - 1], sheet.lines.end(last)[1]
        if "\f" in sheet.text[begin:behind]:
            raise Refused("a form feed stands in the way")
        sheet.edits.append((begin, behind, ""))
    sheet.insert_before(target, rows)
