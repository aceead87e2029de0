"""A new value that is the old one plus or minus something: which part is the old one, and what is the step."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from noclobber.trace.questions.tests import Tested, tests_before, tests_of_field
from noclobber.trace.values import Origin

from .edits import Refused, Spot
from .follow import in_return, runs_once_before
from .job import Job, binds_loosely, is_label, is_number, is_target, is_text, terms, walk


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


def old_and_rest(job: Job, source: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """(the term that is the old value as it was read, [(sign, term)] of the others) of a sum. Raises Refused."""
    parts = terms(source)
    if parts is None:
        raise Refused("the new value is more than the old one plus or minus something")
    old = [(sign, term) for sign, term in parts if from_read(job, term, job.claim.read)]
    if len(old) != 1 or old[0][0] != "+" or not _is_plain(job.sheet, old[0][1]):
        raise Refused("the new value is more than the old one plus or minus something")
    rest = [(sign, term) for sign, term in parts if term is not old[0][1]]
    if any(isinstance(node, (cst.Await, cst.Yield)) for _, term in rest for node in walk(term)):
        raise Refused("the step waits for something")
    return old[0][1], rest


def step_of(job: Job, source: Any) -> tuple[str, str]:
    """(sign, code of the step) of `old + step`, where `old` is what was read and the step is not."""
    sheet = job.sheet
    old, rest = old_and_rest(job, source)
    if rest[0][0] == "+" and not is_number(job, old) and not any(sign == "-" or is_number(job, term) for sign, term in rest):
        raise Refused("what is added may be text: the store's `+` would not join it")
    if len(rest) == 1:
        return rest[0][0], sheet.code(rest[0][1])
    text = ""
    for sign, term in rest:
        code = sheet.code(term)
        code = f"({code})" if binds_loosely(term) else code
        text += f" {sign} {code}" if text else code if sign == "+" else f"-{code}"
    return "+", text


def signed(sign: str, step: str) -> str:
    """The step as one number: `-step` for a minus."""
    if sign == "+":
        return step
    node = cst.parse_expression(step)
    return f"-({step})" if binds_loosely(node) or isinstance(node, cst.BinaryOperation) else f"-{step}"


def has_default(sheet: Any, node: Any) -> bool:
    """Is zero taken where the old value is not there: `or 0`, `.get("n", 0)`?"""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and len(node.args) == 1:
        node = node.args[0].value
    return isinstance(node, cst.BooleanOperation) or isinstance(node, cst.Call) and len(node.args) == 2


def text_behind(job: Job, source: Any) -> str:
    """The code of the text that is put behind the one that was read: `old + entry`, `f"{old}{entry}"`. Raises Refused where it is something else."""
    sheet = job.sheet
    if isinstance(source, cst.FormattedString):
        return _formatted_behind(job, source)
    parts = terms(source)
    if parts is None or any(sign != "+" for sign, _ in parts) or not from_read(job, parts[0][1], job.claim.read) or any(from_read(job, term, job.claim.read) for _, term in parts[1:]):
        raise Refused("the new text is more than the old one with something behind it")
    if not _is_text_read(sheet, parts[0][1]) or not any(is_text(job, term) for _, term in parts[1:]):
        raise Refused("what is added may be a number: the store would join it as text")
    return " + ".join(f"({sheet.code(term)})" if binds_loosely(term) else sheet.code(term) for _, term in parts[1:])


def _is_text_read(sheet: Any, node: Any) -> bool:
    """Is the old text taken as it was read: a name or a call, the empty text where there is none?"""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or) and isinstance(node.right, cst.SimpleString) and not node.right.evaluated_value:
        node = node.left
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "decode":
        node = node.func.value
    return isinstance(node, (cst.Name, cst.Subscript, cst.Attribute)) or isinstance(node, (cst.Call, cst.Await))


def _formatted_behind(job: Job, source: Any) -> str:
    sheet, parts = job.sheet, list(source.parts)
    first = parts[0] if parts else None
    if not isinstance(first, cst.FormattedStringExpression) or first.conversion or first.format_spec or not from_read(job, first.expression, job.claim.read) \
            or not _is_text_read(sheet, first.expression) or any(from_read(job, part, job.claim.read) for part in parts[1:]) or len(parts) < 2:
        raise Refused("the new text is more than the old one with something behind it")
    start, end = sheet.span(first)[1], sheet.span(source)[1]
    if len(parts) == 2 and isinstance(parts[1], cst.FormattedStringExpression) and not parts[1].conversion and not parts[1].format_spec and is_text(job, parts[1].expression):
        return sheet.code(parts[1].expression)
    prefix = source.start if any(isinstance(part, cst.FormattedStringExpression) for part in parts[1:]) else source.start.replace("f", "").replace("F", "")
    return prefix + sheet.text[start:end]


def appended(job: Job, source: Any) -> Optional[tuple[str, list[Spot]]]:
    """(code of the one member that is put at the end of the list that was read, the statements that did so and go); None: it is something else.

    `doc["tags"] + [x]`, `[*doc["tags"], x]`, or `tags = doc["tags"]`, `tags.append(x)`, `tags`.
    """
    sheet, read = job.sheet, job.claim.read
    if isinstance(source, cst.BinaryOperation) and isinstance(source.operator, cst.Add) and isinstance(source.right, cst.List) and len(source.right.elements) == 1 \
            and isinstance(source.right.elements[0], cst.Element) and isinstance(source.left, (cst.Name, cst.Subscript, cst.Attribute)) and from_read(job, source.left, read):
        member = source.right.elements[0].value
    elif isinstance(source, cst.List) and len(source.elements) == 2 and isinstance(source.elements[0], cst.StarredElement) and isinstance(source.elements[1], cst.Element) \
            and isinstance(source.elements[0].value, (cst.Name, cst.Subscript, cst.Attribute)) and from_read(job, source.elements[0].value, read):
        member = source.elements[1].value
    elif isinstance(source, (cst.Name, cst.Subscript)):
        return _appended_before(job, source)
    else:
        return None
    return None if from_read(job, member, read) else (sheet.code(member), [])


def _appended_before(job: Job, source: Any) -> Optional[tuple[str, list[Spot]]]:
    """The list has a name, gets one member in a statement of its own, and is written."""
    sheet, read, code = job.sheet, job.claim.read, job.sheet.code(source)
    function = sheet.function(source)
    uses = [node for node in walk(function) if type(node) is type(source) and sheet.code(node) == code and not is_label(sheet, node) and not is_target(sheet, node)]
    others = [node for node in uses if node is not source]
    if len(others) != 1 or not from_read(job, source, read):
        return None
    call = sheet.parent(sheet.parent(others[0]))
    if not (isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.value is others[0] and call.func.attr.value == "append" and len(call.args) == 1
            and call.args[0].keyword is None and not call.args[0].star and isinstance(sheet.parent(call), cst.Expr)):
        return None
    if not runs_once_before(sheet, call, source) or sheet.span(call)[0] > sheet.span(source)[0]:
        raise Refused("the list gets its member on some ways only, or several times")
    member = call.args[0].value
    names = {node.value for node in walk(member) if isinstance(node, cst.Name) and not is_label(sheet, node)}
    if from_read(job, member, read) or any(sheet.span(target)[0] > sheet.span(call)[1] for name in names for target in job.bindings(name, function)):
        return None
    gone = [sheet.spot(call)]
    if isinstance(source, cst.Name):
        found = job.definition(source)
        if found is None or not _is_plain(sheet, found[1]):
            return None
        gone.append(found[0])
    return sheet.code(member), gone


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


def bounds(job: Job, bases: frozenset, field: Any, *events: Any) -> list[Tested]:
    """The tests of a field's old value on the way to the events, which the write has to repeat. Raises Refused where something else that was read
    with it is tested, or the field in another way. `field`: its name, or those of several that are written together; None: any test counts."""
    fields = None if field is None else {field} if isinstance(field, str) else set(field)
    touched = []
    for test, _ in tests_before(job.trace, *events):
        values = [value for value in (test.left, test.right) if value is not None] if test.op not in ("is", "is not", "truth") else []
        if any((o.kind, o.n) == (base.kind, base.n) and (fields is None or o.kind == "read" and o.path or set(o.path[-1:]) & fields) for value in values for o in value.origins for base in bases):
            touched.append(test)
    if not touched or fields is None:
        return touched
    low = {name.lower() for name in fields}
    found = [tested for tested in tests_of_field(job.trace, bases, *events) if tested.column.lower() in low and tested.test in touched]
    if len({id(tested.test) for tested in found}) != len(touched):
        touched = [test for test in touched if not any(tested.test is test for tested in found)]
        if any(set(o.path[-1:]) & fields or len(o.path) == 1 for test in touched for value in (test.left, test.right) for o in value.origins if any((o.kind, o.n) == (b.kind, b.n) for b in bases)):
            raise Refused("the number is tested before, in a way that the write cannot repeat")
    return found
