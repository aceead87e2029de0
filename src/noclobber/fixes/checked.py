"""A look at the outcome of a conditional write, put below it: `if cur.rowcount != 1: raise …`."""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from .edits import Refused
from .job import Job

REASON = "where the row has changed meanwhile it raises, and nobody catches that yet"


def told(job: Job) -> str:
    """The message of the exception for a write that was refused."""
    label = job.write.record.label
    label = "the record" if "{" in label or len(label) > 40 else label
    if any(p.kind == "witness" for p in job.write.preconditions):
        return f"{label} has changed since it was read"
    return f"{label} no longer meets the condition of the write"


def check_rows(job: Job, call: Any, what: str, refused: str = "") -> None:
    """Raise (or do what `refused` says) where a statement that `call` ran wrote not one row. Raises Refused where the library's count is not known."""
    if not isinstance(call.func, cst.Attribute):
        raise Refused("the statement is run in a way whose count noclobber cannot name")
    entry = job.entry
    runs = [spec for spec in entry.specs if spec.op == "run" and spec.signature.last == call.func.attr.value] if entry is not None else []
    returns = next((spec.signature.returns for spec in runs if spec.signature.returns), "")
    outcomes = [path for found in (job.vocabulary.entries_of_type(returns) if returns else (entry,)) if found is not None for path in found.fields.get("outcome") or ()]
    path = next((path for path in outcomes if path.startswith(".")), "")
    cursor = _cursor(job, call)
    if not path or not returns and not cursor:
        raise Refused("the library's count has a form of its own")
    check_count(job, call, what, path, cursor or "", refused=refused)


def check_count(job: Job, call: Any, what: str, path: str, name: str = "", test: str = "!= 1", refused: str = "") -> None:
    """Raise where not one row was written. `call`: the call that writes; `path`: where the count stands on its result ("": it is the result);
    `name`: code that has the count, where it is not the result; `test`: how a refusal shows; `refused`: the statement for it. Raises Refused."""
    sheet = job.sheet
    whole = sheet.parent(call) if isinstance(sheet.parent(call), cst.Await) else call
    spot = sheet.spot(whole)
    outer = sheet.parent(whole)
    if isinstance(spot.small, cst.Assign) and outer is spot.small and len(spot.small.targets) == 1 and isinstance(spot.small.targets[0].target, cst.Name):
        name = name or spot.small.targets[0].target.value
    elif isinstance(spot.small, cst.Expr) and outer is spot.small:
        if not name:
            name = job.fresh(*(("result", "cursor", "written") if path else ("updated", "changed", "rows")))
            sheet.insert(sheet.span(spot.small)[0], f"{name} = ")
    else:
        raise Refused("the call's result is used in the same statement")
    unit = sheet.unit(spot)
    sheet.insert_after(spot, [f"if {name}{path} {test}:", unit + (refused or job.conflict(spot.node, what))])


def check_result(job: Job, call: Any, message: str) -> None:
    """Raise where the library says that the write was refused: with a count, a flag, or a number on its result."""
    if not isinstance(call.func, cst.Attribute) or job.entry is None:
        raise Refused("the library's answer has a form of its own")
    shows = [show for spec in job.entry.specs if spec.signature.last == call.func.attr.value for show in spec.get("conflict") or ()]
    show = next((show for show in shows if show.startswith("returns ") or show.startswith(".")), "")
    if not show and job.write.record.family in ("orm", "sql") and call.func.attr.value == "execute":
        show = "returns 0"  # the number of rows
    if not show:
        raise Refused("the library's answer has a form of its own")
    sheet = job.sheet
    whole = sheet.parent(call) if isinstance(sheet.parent(call), cst.Await) else call
    spot = sheet.spot(whole)
    unit, raised = sheet.unit(spot), job.conflict(spot.node, message)
    if show == "returns False" and sheet.parent(whole) is spot.small and isinstance(spot.small, cst.Expr):
        if "\n" in sheet.code(whole):
            raise Refused("the call has several lines")
        sheet.insert(sheet.span(whole)[0], "if not ")
        sheet.insert(sheet.span(whole)[1], ":")
        sheet.insert_after(spot, [unit + raised])
        return
    path, test = "", ""
    if show.startswith("returns "):
        test = {"0": "!= 1", "None": "is None", "False": "is False"}.get(show[8:].strip(), "")
    else:
        path, _, value = show.partition(" == ")
        test = "!= 1" if value.strip() == "0" else f"== {value.strip()}"
    if not test:
        raise Refused("the library's answer has a form of its own")
    check_count(job, call, message, path, test=test)


def _cursor(job: Job, call: Any) -> Optional[str]:
    """The code of the cursor that a statement was run on, where it is one: its rows are fetched, it was made by `cursor()`, or it is called so."""
    if not isinstance(call.func, cst.Attribute):
        return None
    receiver = call.func.value
    if isinstance(receiver, cst.Name):
        found = job.definition(receiver)
        value = found[1] if found is not None else None
        if isinstance(value, cst.Await):
            value = value.expression
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "cursor":
            return receiver.value
        for bound in job.bindings(receiver.value, job.sheet.function(call)):
            above = job.sheet.around(bound, cst.WithItem)
            if above is not None and isinstance(above.item, cst.Call) and isinstance(above.item.func, cst.Attribute) and above.item.func.attr.value == "cursor":
                return receiver.value
        if found is None and receiver.value in ("cursor", "cur", "curs", "c", "db_cursor"):
            return receiver.value
        return None
    code = job.sheet.code(receiver)
    return code if isinstance(receiver, cst.Attribute) and receiver.attr.value in ("cursor", "cur", "_cursor") else None
