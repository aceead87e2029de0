"""RMW504: the effect waits for the commit (`transaction.on_commit`)."""
from __future__ import annotations

import libcst as cst

from .edits import Refused
from .follow import loop_around
from .job import Draft, Job, is_label, walk


def fix(job: Job) -> Draft:
    sheet, end = job.sheet, job.claim.loop
    at = job.claim.site.at
    call = sheet.around(at, cst.Call)
    if call is None:
        raise Refused("the effect is no plain call")
    if isinstance(sheet.parent(call), cst.Await):
        raise Refused("the effect is awaited: what runs after the commit is a plain function")
    if not isinstance(sheet.parent(call), cst.Expr):
        raise Refused("what the effect gives back is used")
    begun = end.site.at if end is not None and end.site.excerpt is sheet.excerpt else None
    words = {node.value for node in walk(sheet.around(begun, cst.Call, cst.Decorator, cst.Attribute, cst.Name) or begun) if isinstance(node, cst.Name)} if begun is not None else set()
    after = _after_commit(job, words)
    if not after:
        raise Refused("the library has no call that waits for the commit, or the transaction is not begun here")
    head, _, last = after.rpartition(".")
    name = next((local for local, target in job.module.index.imports.items() if target == head), None)
    code = f"{name}.{last}" if name and not job.bound_here(name, call) else job.imported(after, call)
    names = {node.value for node in walk(call) if isinstance(node, cst.Name) and not is_label(sheet, node)}
    function = sheet.function(call)
    if isinstance(function, cst.FunctionDef) and any(sheet.span(target)[0] > sheet.span(call)[1] for one in names for target in job.bindings(one, function)) or loop_around(sheet, call) is not None:
        raise Refused("the names in the call may mean something else when the transaction ends")
    start, end_ = sheet.span(call)
    sheet.insert(start, f"{code}(lambda: ")
    sheet.insert(end_, ")")
    return job.draft("let it wait for the commit", "it runs after the outermost transaction is committed, not at all when that is rolled back, and in a test case that never commits only where the test says so")


def _after_commit(job: Job, words: set) -> str:
    """The dotted function that runs something after the commit, of the library whose transaction is open here."""
    for kind in ("orm", "transaction"):
        for entry in job.vocabulary.entries(kind):
            specs = [spec.signature.name for spec in entry.specs if spec.op == "after_commit" and "." in spec.signature.name]
            for dotted in specs:
                head = dotted.rpartition(".")[0]
                if any(target == head or target.startswith(head + ".") for local, target in job.module.index.imports.items() if local in words):
                    return dotted
    return ""
