"""The version that came with a read, sent back with the write: a keyword argument (`IfMatch=response["ETag"]`) or a header."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Draft, Job

REASON = "where somebody else has written meanwhile the store refuses it and the library raises: nobody catches that yet"


def read_call(job: Job) -> Any:
    """The call that read the record; it must have been made on every way to the write. Raises Refused."""
    sheet, read = job.sheet, job.claim.read
    if read is None or read.site.excerpt is not sheet.excerpt or sheet.function(read.site.at) is not sheet.function(job.write.site.at):
        raise Refused("the record is read in another function")
    call = sheet.around(read.site.at, cst.Call)
    if call is None:
        raise Refused("the record is not read by a call")
    holders = {id(found) for found in sheet.ancestors(job.write.site.at)}
    for found in sheet.ancestors(call):
        if id(found) in holders:
            break
        above = sheet.parent(found)
        if isinstance(found, (cst.If, cst.For, cst.While, cst.ExceptHandler, cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.CompFor)):
            raise Refused("the record is not read on every way to the write")
        if isinstance(above, cst.Try) and above.body is found and not all(_leaves(handler.body) for handler in above.handlers):
            raise Refused("the record is not read on every way to the write")
    if sheet.span(call)[0] >= sheet.span(job.write.site.at)[0]:
        raise Refused("the record is read after the write, in the round before")
    return call


def _leaves(body: Any) -> bool:
    """Does a block always leave where it ends?"""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], (cst.Raise, cst.Return, cst.Continue, cst.Break))
    if isinstance(last, cst.If) and last.orelse is not None and isinstance(last.orelse, cst.Else):
        return _leaves(last.body) and _leaves(last.orelse.body)
    return isinstance(last, (cst.Raise, cst.Return, cst.Continue, cst.Break))


def result_name(job: Job, call: Any, *wanted: str) -> str:
    """The name that holds what a call gave, at the write; a nested call is first given a name. Raises Refused."""
    sheet = job.sheet
    whole = sheet.parent(call) if isinstance(sheet.parent(call), cst.Await) else call
    above = sheet.parent(whole)
    name: Optional[str] = None
    if isinstance(above, (cst.Assign, cst.AnnAssign)) and above.value is whole:
        targets = [target.target for target in above.targets] if isinstance(above, cst.Assign) else [above.target]
        if len(targets) == 1 and isinstance(targets[0], cst.Name):
            name = targets[0].value
    elif isinstance(above, cst.NamedExpr) and isinstance(above.target, cst.Name):
        name = above.target.value
    elif isinstance(above, cst.WithItem) and above.asname is not None and isinstance(above.asname.name, cst.Name):
        name = above.asname.name.value
    if name is not None:
        start, end = sheet.span(call)[1], sheet.span(job.write.site.at)[0]
        function = sheet.function(call)
        for target in job.bindings(name, function):
            if start <= sheet.span(target)[0] < end and not sheet.inside(target, above):
                raise Refused("the name of what was read is given to something else before the write")
        return name
    return hoisted(job, whole, *wanted)


def hoisted(job: Job, whole: Any, *wanted: str) -> str:
    """Give an expression inside a simple statement a name of its own, in a line above. Raises Refused where that would change when it runs."""
    sheet = job.sheet
    for found in sheet.ancestors(whole):
        if isinstance(found, (cst.Lambda, cst.BooleanOperation, cst.IfExp, cst.CompFor, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)):
            raise Refused("the record is not read on every way to the write")
        if isinstance(found, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            break
    spot = sheet.spot(whole)
    if isinstance(spot.node, (cst.While, cst.For)):
        raise Refused("the record is read in a loop's header")
    code = sheet.code(whole)
    if "\n" in code or "\r" in code:
        raise Refused("the reading call has several lines")
    name = job.fresh(*wanted)
    sheet.replace(whole, name)
    sheet.insert_before(spot, [f"{name} = {_bare(code)}"])
    return name


def _bare(code: str) -> str:
    """Without the parentheses around `(await …)`."""
    return code[1:-1] if code.startswith("(await ") and code.endswith(")") else code


def arguments(job: Job, call: Any, reader: Any, templates: list[str]) -> None:
    """Add the store's condition to the writing call. `templates`: `name={response}["ETag"]`. Raises Refused."""
    sheet = job.sheet
    names = {text.partition("=")[0] for text in templates}
    specs = [spec for spec in job.entry.specs if spec.op == "write" and spec.signature.last == getattr(getattr(call.func, "attr", None), "value", "")]
    taken = [names <= {param.name for param in spec.signature.params} for spec in specs]
    if not specs or not any(taken):
        raise Refused("the call that writes takes no condition")
    if any(arg.keyword is not None and arg.keyword.value in names for arg in call.args):
        raise Refused("the call has a condition of its own")
    for text in templates:
        keyword, _, value = text.partition("=")
        sheet.add_argument(call, f"{keyword}={filled(job, value, reader)}") if len(templates) == 1 else None
    if len(templates) > 1:
        sheet.add_argument(call, ", ".join(f"{text.partition('=')[0]}={filled(job, text.partition('=')[2], reader)}" for text in templates))


def filled(job: Job, template: str, reader: Any) -> str:
    """A template with `{response}`, `{reader}` and `{import a.b.C}` in it."""
    sheet = job.sheet
    text = template.replace('"', sheet.quote)
    if "{import " in text:
        head, _, rest = text.partition("{import ")
        dotted, _, tail = rest.partition("}")
        text = head + job.imported(dotted, reader) + tail
    if "{response}" in text:
        if job.response is None:
            job.response = result_name(job, reader, "response", "current", "found")
        text = text.replace("{response}", job.response)
    if "{reader}" in text:
        receiver = reader.func.value if isinstance(reader.func, cst.Attribute) else None
        if not isinstance(receiver, (cst.Name, cst.Attribute)) or any(not isinstance(inner, (cst.Name, cst.Attribute)) for inner in _chain(receiver)):
            raise Refused("what was read from has no name")
        text = text.replace("{reader}", sheet.code(receiver))
    return text


def _chain(node: Any) -> list:
    found = [node]
    while isinstance(node, cst.Attribute):
        node = node.value
        found.append(node)
    return found


def header(job: Job, call: Any, reader: Any, name: str, value: str) -> None:
    """Add a request header to the writing call."""
    sheet = job.sheet
    entry = f"{sheet.quoted(name)}: {filled(job, value, reader)}"
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "headers"]
    if any(arg.star == "**" for arg in call.args) and not given:
        raise Refused("the call's arguments are not written out")
    if not given:
        sheet.add_argument(call, f"headers={{{entry}}}")
        return
    held = given[0].value
    if isinstance(held, cst.Dict) and held.elements:
        last = held.elements[-1]
        sheet.insert(sheet.outer(last.value)[1], f", {entry}")
    elif isinstance(held, cst.Dict):
        sheet.insert(sheet.span(held)[1] - 1, entry)
    else:
        start, end = sheet.outer(held)
        sheet.insert(start, "{**")
        sheet.insert(end, f", {entry}}}")


def raised(job: Job, call: Any) -> None:
    """See to it that a refusal is noticed: a response that nobody looks at is asked to raise."""
    sheet = job.sheet
    checks = [spec.signature.last for spec in job.entry.specs if spec.op == "check"] if job.entry is not None else []
    whole = sheet.parent(call) if isinstance(sheet.parent(call), cst.Await) else call
    if checks and isinstance(sheet.parent(whole), cst.Expr):
        if whole is call:
            sheet.insert(sheet.span(call)[1], f".{checks[0]}()")
        else:
            sheet.insert(sheet.span(whole)[0], "(")
            sheet.insert(sheet.span(whole)[1], f").{checks[0]}()")


def conditional(job: Job) -> Draft:
    """The fix of a store whose entry has `condition` or `condition_header`."""
    sheet, write = job.sheet, job.write
    if write.site.excerpt is not sheet.excerpt:
        raise Refused("the record is written in another function")
    call = sheet.around(write.site.at, cst.Call)
    if call is None:
        raise Refused("the record is not written by a call")
    templates, headers = job.setting("condition"), job.setting("condition_header")
    if templates:
        reader = read_call(job)
        arguments(job, call, reader, list(templates))
        names = ", ".join(text.partition("=")[0] for text in templates)
        return job.draft(f"send the version that was read: `{names}`", REASON)
    if headers:
        name, _, value = headers.partition(": ")
        specs = [spec for spec in job.entry.specs if spec.op in ("write", "read") and spec.signature.last == getattr(getattr(call.func, "attr", call.func), "value", "")]
        if not any(param.name == "headers" for spec in specs for param in spec.signature.params):
            raise Refused("the request is put together elsewhere")
        reader = read_call(job)
        header(job, call, reader, name, value)
        raised(job, call)
        return job.draft(f"send the ETag that was read: `{name}`", "where somebody else has written meanwhile the server answers 412, and where it sends no ETag the code raises: nobody catches that yet")
    raise Refused("the store has no condition that noclobber knows how to write")
