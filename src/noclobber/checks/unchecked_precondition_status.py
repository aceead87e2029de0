"""RMW303: a request with If-Match whose status nobody looks at: 412 passes as success (RFC 9110 §15.5.13)."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark


def check(trace: Trace) -> Iterator[Claim]:
    for write in trace.of("write"):
        if write.n not in trace.unchecked or write.outcome != "status":
            continue
        header = next((p.column for p in write.preconditions if p.kind == "witness" and p.where == "header"), None)
        if header is None:
            continue
        what = write.record.label
        yield Claim(
            "unchecked-precondition-status", write.site, write,
            f"`{what}` is written with `{header}`, and nobody looks at the status: a refusal (412) passes as success",
            related=[Mark("write", write.site, f"refused with 412 when `{header}` no longer holds; nothing is raised")],
            record=what,
            help="test for 412 first, a conflict of its own (read again, compute again, or tell the caller), then call raise_for_status()",
            teach="return the response, or give it to the helper that checks its status",
            doubts=write.doubts,
            values=(("value", f"the document at `{what}`"), ("changed", "its own change")),
        )
