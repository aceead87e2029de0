"""What else a function does with an object: the mentions of it before, between and behind, which decide whether a fix can be offered."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import libcst as cst

from .edits import Refused, Sheet, Spot
from .job import Job, is_label, parameters, walk


class Mention(NamedTuple):
    """One place where an object is named. `attribute`: what is taken from it (`obj.n`), or ""; `called`: that attribute is called; `written`: it is
    assigned; `whole`: the largest node of these."""

    offset: int
    node: Any
    attribute: str
    called: bool
    written: bool
    whole: Any


def mentions(job: Job, code: str, function: Any) -> list[Mention]:
    """Every mention of the object that `code` (a name, or a dotted one) means in a function, in order of the text."""
    sheet, found = job.sheet, []
    kind: Any = cst.Attribute if "." in code else cst.Name
    for node in walk(function):
        if type(node) is not kind or is_label(sheet, node) or (node.value != code if kind is cst.Name else sheet.code(node) != code):
            continue
        above, attribute, called, written, whole = sheet.parent(node), "", False, False, node
        if isinstance(above, cst.Attribute) and above.value is node:
            attribute, whole = above.attr.value, above
            outer = sheet.parent(above)
            called = isinstance(outer, cst.Call) and outer.func is above
        outer = sheet.parent(whole)
        written = isinstance(outer, cst.AssignTarget) or isinstance(outer, (cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor)) and outer.target is whole
        found.append(Mention(sheet.span(node)[0], node, attribute, called, written, whole))
    return sorted(found)


def root_of(node: Any) -> Any:
    """The Name at the beginning of a chain of attributes, or the node where it begins otherwise."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def is_own(job: Job, node: Any) -> bool:
    """Is the object one that only this function knows by a name: a local one, no parameter, nothing reached through another object?"""
    if type(node) is not cst.Name:
        return False
    function = job.sheet.function(node)
    if not isinstance(function, cst.FunctionDef) or node.value in parameters(function) or not any(True for _ in job.bindings(node.value, function)):
        return False
    found = job.definition(node)
    return found is None or not isinstance(found[1], (cst.Name, cst.Attribute, cst.Subscript))  # else it is another's, by a shorter name


_LOOPS = (cst.For, cst.While)


def runs_once_before(sheet: Sheet, change: Any, write: Any) -> bool:
    """Does the change run at most once before each run of the write, and never without it? The write stands in the change's block or in one
    around it, with no loop between; `with` and `try` blocks around the write do not count."""
    holders = {id(found) for found in sheet.ancestors(write)}
    for found in sheet.ancestors(write):
        if isinstance(found, cst.IndentedBlock) and isinstance(sheet.parent(found), (cst.With, cst.Try)):
            continue
        if isinstance(found, (cst.If, *_LOOPS, cst.FunctionDef, cst.ExceptHandler)):
            if not sheet.inside(change, found):
                return False
            break
    for found in sheet.ancestors(change):
        if id(found) in holders:
            return True
        if isinstance(found, (*_LOOPS, cst.FunctionDef)):
            return False
    return True


def exclusive(sheet: Sheet, one: Any, other: Any) -> bool:
    """Do the two stand in different branches of one `if`?"""
    above = [one, *sheet.ancestors(one)]
    mine = {id(found): place for place, found in enumerate(above)}
    inner = other
    for found in sheet.ancestors(other):
        place = mine.get(id(found))
        if place is not None:
            return isinstance(found, cst.If) and above[place - 1] is not inner and {id(above[place - 1]), id(inner)} == {id(found.body), id(found.orelse)}
        inner = found
    return False


def loop_around(sheet: Sheet, node: Any) -> Any:
    """The innermost loop that holds the node in its function, or None."""
    for found in sheet.ancestors(node):
        if isinstance(found, _LOOPS):
            return found
        if isinstance(found, cst.FunctionDef):
            return None
    return None


def later(job: Job, code: str, behind: int, node: Any) -> list[Mention]:
    """Mentions of an object that may run after the place `behind` (inside `node`): those further down, and those of a loop around, unless the
    loop gives the name another object first. What a branch that excludes the place does is left out."""
    sheet = job.sheet
    everything = mentions(job, code, sheet.function(node))
    loop = loop_around(sheet, node)
    found = [m for m in everything if m.offset > behind and not exclusive(sheet, m.node, node)]
    if loop is not None and "." not in code and not any(m.written and not m.attribute and sheet.inside(m.node, loop) for m in everything):
        found += [m for m in everything if m.offset < behind and sheet.inside(m.node, loop)]
    return found


def in_return(sheet: Sheet, node: Any) -> bool:
    """Is the value itself what is returned: bare, as part of a sum or a tuple, but not as an argument of a call or an entry of a mapping?"""
    for found in sheet.ancestors(node):
        if isinstance(found, cst.Return):
            return True
        if isinstance(found, (cst.Arg, cst.DictElement, cst.BaseStatement, cst.BaseSmallStatement, cst.Subscript, cst.Comparison, cst.FormattedStringExpression)):
            return False
    return False


def statement_spot(sheet: Sheet, node: Any) -> Optional[Spot]:
    try:
        return sheet.spot(node)
    except Refused:
        return None
