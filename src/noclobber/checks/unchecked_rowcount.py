"""RMW301: a conditional UPDATE or DELETE whose affected rows nobody looks at: a refusal passes as success."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.refusals import refusing


def check(trace: Trace) -> Iterator[Claim]:
    for write in trace.of("write"):
        if write.n not in trace.unchecked or write.text != "sql" or write.verb not in ("update", "delete", "upsert"):
            continue
        precondition = refusing(trace, write)
        if precondition is None:
            continue
        condition = precondition.column
        verb = "DELETE" if write.verb == "delete" else "UPDATE"
        yield Claim(
            "unchecked-rowcount", write.site, write,
            f"this {verb} of `{write.record.label}` does nothing when `{condition}` has changed, and nobody looks at the row count",
            related=[Mark("write", write.site, f"updates no row when `{condition}` is not what was expected")],
            record=f"{write.record.label}.{condition}",
            help="look at the outcome: `if cursor.rowcount != 1: raise …` (with RETURNING: test the returned row)",
            teach="pass the cursor to the helper that checks its count, or return it",
            doubts=write.doubts,
            values=(("value", f"{write.record.label}.{condition}"), ("changed", "its change")),
            field=condition,
        )
