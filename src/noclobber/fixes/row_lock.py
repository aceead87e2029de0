"""The row is locked when it is read (`select_for_update()`, `with_for_update`): where the project does so elsewhere, and where the database cannot
compute the new value by itself."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Draft, Job, walk

_REASON = "the row stays locked until the transaction ends, and others who want it wait"


def lock_as_elsewhere(job: Job) -> Draft:
    """For a project that locks such rows: where no transaction is open the function becomes one."""
    return lock(job, may_begin=True)


def lock(job: Job, may_begin: bool = False) -> Draft:
    """The draft. Raises Refused where the row is not read by a call of this function; it counts only where a transaction is seen around it."""
    sheet, read = job.sheet, job.claim.read
    if read is None or read.site.excerpt is not sheet.excerpt or read.site.at is None:
        raise Refused("the row is read in another function")
    rows = dict(row.partition(" -> ")[::2] for row in job.setting("lock_read") or ())
    call, text = _reading(job, rows)
    if call is None:
        raise Refused("the library has no lock for that read that noclobber knows")
    if any(isinstance(node, cst.Name) and node.value in (job.setting("lock_refuses") or ()) for node in walk(call)):
        raise Refused("the read joins other rows, which the lock would hold, too")
    _put(job, call, text)
    reason = _REASON
    needed = any(spec.op == "lock" and spec.get("requires") == "transaction" for spec in job.entry.specs)
    if needed and not _in_transaction(job, call):
        job.has_another = may_begin  # first as it is: a caller, or a `with` of the project's own, may have begun one
        if job.attempt:
            _begin(job, call)
            reason += "; the function is one transaction from now on: an exception takes back all that it wrote"
    return job.draft("lock the row when it is read", reason, needs_transaction=needed and not job.attempt)


def line(job: Job) -> str:
    """The reading statement with the lock in it, as one line; "" where it cannot be written."""
    try:
        rows = dict(row.partition(" -> ")[::2] for row in job.setting("lock_read") or ())
        read = job.claim.read
        if read is None or read.site.excerpt is not job.sheet.excerpt or read.site.at is None:
            return ""
        call, text = _reading(job, rows)
        if call is None:
            return ""
        _put(job, call, text)
        spot = job.sheet.spot(call)
        start, end = job.sheet.span(spot.small) if spot.small is not None else job.sheet.span(call)
        code = job.sheet.text[start:end]
        for first, last, new in sorted(job.sheet.edits, reverse=True):
            if not start <= first <= last <= end:
                return ""
            code = code[:first - start] + new + code[last - start:]
        return " ".join(code.split())
    except Refused:
        return ""


def _reading(job: Job, rows: dict[str, str]) -> tuple[Any, str]:
    """(the call that reads the row, what is added to it)."""
    node = job.sheet.around(job.claim.read.site.at, cst.Call)
    while node is not None:  # down the chain: `(await db.execute(…)).scalar_one()`
        if isinstance(node, cst.Call):
            name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
            if isinstance(name, cst.Name) and name.value in rows:
                return node, rows[name.value]
            node = node.func
        elif isinstance(node, cst.Attribute):
            node = node.value
        else:
            node = node.expression if isinstance(node, cst.Await) else None
    return None, ""


def _put(job: Job, call: Any, text: str) -> None:
    """`.select_for_update()` before the call's name, `@0.with_for_update()` behind its first argument, `with_for_update=True` as another one."""
    sheet = job.sheet
    if text.startswith("@0"):
        first = job.resolved(call.args[0].value) if call.args and call.args[0].keyword is None and not call.args[0].star else None
        if not isinstance(first, (cst.Call, cst.Name, cst.Attribute)):
            raise Refused("what is read is put together elsewhere")
        sheet.insert(sheet.outer(first)[1], text[2:])
    elif text.startswith("."):
        if not isinstance(call.func, cst.Attribute):
            raise Refused("the row is read in a way of its own")
        sheet.insert(sheet.outer(call.func.value)[1], text)
    else:
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if not isinstance(receiver, (cst.Name, cst.Attribute)) or sheet.code(receiver).rpartition(".")[2] in (job.setting("manager") or ()):
            raise Refused("the row is read in a way of its own")
        if any(arg.keyword is not None and arg.keyword.value == text.partition("=")[0] for arg in call.args):
            raise Refused("the read says itself whether it locks")
        sheet.add_argument(call, text)


def _words(job: Job) -> set:
    """Last words of the calls that are a transaction of the library."""
    return {spec.signature.last for spec in job.entry.specs if spec.op == "transaction"}


def _in_transaction(job: Job, call: Any) -> bool:
    """Is the read in a `with` or a function that is a transaction?"""
    sheet, words = job.sheet, _words(job)
    for found in sheet.ancestors(call):
        nodes: Any = ()
        if isinstance(found, cst.With):
            nodes = [item.item for item in found.items]
        elif isinstance(found, cst.FunctionDef):
            nodes = [decorator.decorator for decorator in found.decorators]
        if any(isinstance(node, cst.Name) and node.value in words for outer in nodes for node in walk(outer)):
            return True
    return False


def _begin(job: Job, call: Any) -> None:
    """The function becomes a transaction. Raises Refused for one that waits or gives values on."""
    sheet, function = job.sheet, job.sheet.function(call)
    dotted: Optional[str] = job.setting("lock_transaction")
    if not dotted or not isinstance(function, cst.FunctionDef):
        raise Refused("no transaction is open, and noclobber knows no way to begin one here")
    if function.asynchronous is not None or any(isinstance(node, cst.Yield) for node in walk(function)):
        raise Refused("no transaction is open, and the function cannot be one")
    head, _, last = dotted.rpartition(".")
    code = f"{job.imported(head, function)}.{last}"
    at = sheet.span(function.name)[0]
    number, _ = sheet.lines.place(at)
    start = sheet.lines.starts[number - 1]
    indent = sheet.text[start:at].removesuffix("def ")
    if indent.strip():
        raise Refused("no transaction is open, and the function cannot be one")
    sheet.insert(start, f"{indent}@{code}{sheet.newline(start)}")
