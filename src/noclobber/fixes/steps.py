"""A new value that is the old one plus or minus something: which part is the old one, and what is the step."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from noclobber.trace.questions.tests import Tested, tests_before, tests_of_field
from noclobber.trace.values import Origin

from .edits import Refused, Spot
from .follow import in_return
from .job import Job, binds_loosely, is_number, terms, walk


def new_value(job: Job, node: Any) -> tuple[Any, Optional[Spot]]:
    """(the expression that the written value is computed by, the statement that gave it a name: it has no other use, and may go; or None).

    Raises Refused where the name has other uses.
    """
    sheet = job.sheet
    if not isinstance(node, cst.Name):
        return node, None
    found = job.definition(node)
    if found is None:
        raise Refused("the new value is computed in more than one place")
    others = [use for use in job.uses(node.value, node) if use is not node]
    if others:
        raise Refused("the new number is returned: only a lock can give it" if any(in_return(sheet, use) for use in others)
                      else "the new number is used elsewhere, too")
    return found[1], found[0]


def _is_plain(sheet: Any, node: Any) -> bool:
    """Is the old value taken as it was read: a name, a member of it, at most turned into a number, zero where there is none?"""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in ("int", "float", "Decimal") and len(node.args) == 1:
        node = node.args[0].value
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or) and sheet.code(node.right) in ("0", "b'0'", 'b"0"', "'0'", '"0"'):
        node = node.left
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "get" and 1 <= len(node.args) <= 2:
        return len(node.args) == 1 or sheet.code(node.args[1].value) == "0"
    return isinstance(node, (cst.Name, cst.Subscript, cst.Attribute)) or isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)


def step_of(job: Job, source: Any) -> tuple[str, str]:
    """(sign, code of the step) of `old + step`, where `old` is what was read and the step is not."""
    sheet = job.sheet
    parts = terms(source)
    if parts is None:
        raise Refused("the new value is more than the old one plus or minus something")
    old = [(sign, term) for sign, term in parts if from_read(job, term, job.claim.read)]
    if len(old) != 1 or old[0][0] != "+" or not _is_plain(sheet, old[0][1]):
        raise Refused("the new value is more than the old one plus or minus something")
    rest = [(sign, term) for sign, term in parts if term is not old[0][1]]
    if any(isinstance(node, (cst.Await, cst.Yield)) for _, term in rest for node in walk(term)):
        raise Refused("the step waits for something")
    if rest[0][0] == "+" and not is_number(job, old[0][1]) and not any(sign == "-" or is_number(job, term) for sign, term in rest):
        raise Refused("what is added may be text: the store's `+` would not join it")
    if len(rest) == 1:
        return rest[0][0], sheet.code(rest[0][1])
    text = ""
    for sign, term in rest:
        code = sheet.code(term)
        code = f"({code})" if binds_loosely(term) else code
        text += f" {sign} {code}" if text else code if sign == "+" else f"-{code}"
    return "+", text


def from_read(job: Job, node: Any, read: Any, depth: int = 5) -> bool:
    """May an expression hold what the read gave? Followed through names of the function; what a fetch gives counts."""
    sheet = job.sheet
    for inner in walk(node):
        if inner is read.site.at:
            return True
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value.startswith(("fetch", "scalar", "one", "first", "mappings", "all")):
            return True
        if isinstance(inner, cst.Name) and depth:
            above = sheet.parent(inner)
            if isinstance(above, cst.Attribute) and above.attr is inner or isinstance(above, cst.Arg) and above.keyword is inner:
                continue
            for target in job.bindings(inner.value, sheet.function(inner)):
                value = _bound_value(sheet, target)
                if value is not None and not sheet.inside(node, value) and from_read(job, value, read, depth - 1):
                    return True
    return False


def _bound_value(sheet: Any, target: Any) -> Any:
    """What a target gets its value from: the right side, the iterated, the context manager."""
    for found in sheet.ancestors(target):
        if isinstance(found, (cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.AugAssign)):
            return found.value
        if isinstance(found, (cst.For, cst.CompFor)):
            return found.iter
        if isinstance(found, cst.WithItem):
            return found.item
        if isinstance(found, cst.BaseStatement):
            return None
    return None


def untested(job: Job) -> None:
    """Raises Refused where a test of what was read decides that the write is reached."""
    if bounds(job, frozenset((Origin("read", job.claim.read.n),)), None, job.write):
        raise Refused("the number is tested before: the write would have to repeat the test")


def bounds(job: Job, bases: frozenset, field: Optional[str], *events: Any) -> list[Tested]:
    """The tests of a field's old value on the way to the events, which the write has to repeat. Raises Refused where something else that was read
    with it is tested, or the field in another way. `field`: None: any test counts."""
    touched = []
    for test, _ in tests_before(job.trace, *events):
        values = [value for value in (test.left, test.right) if value is not None] if test.op not in ("is", "is not", "truth") else []
        if any((o.kind, o.n) == (base.kind, base.n) and (field is None or o.kind == "read" and o.path or o.path[-1:] == (field,)) for value in values for o in value.origins for base in bases):
            touched.append(test)
    if not touched or field is None:
        return touched
    found = [tested for tested in tests_of_field(job.trace, bases, *events) if tested.column.lower() == field.lower() and tested.test in touched]
    if len({id(tested.test) for tested in found}) != len(touched):
        touched = [test for test in touched if not any(tested.test is test for tested in found)]
        if any(o.path[-1:] == (field,) or len(o.path) == 1 for test in touched for value in (test.left, test.right) for o in value.origins if any((o.kind, o.n) == (b.kind, b.n) for b in bases)):
            raise Refused("the number is tested before, in a way that the write cannot repeat")
    return found
