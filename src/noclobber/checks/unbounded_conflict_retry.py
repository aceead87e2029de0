"""RMW404: a loop around a conditional write that a conflict leads back to the top of, for as long as others are faster."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.retries import conflict_retries, is_poll


def check(trace: Trace) -> Iterator[Claim]:
    for loop, write in conflict_retries(trace):
        if loop.bounded or loop.how in ("recursion", "transport") or is_poll(loop):
            continue
        label = write.record.label
        what = "this policy" if loop.how == "decorator" else "this loop"
        yield Claim(
            "unbounded-conflict-retry", loop.site, write,
            f"every conflict on `{label}` leads back to the top of {what}, and nothing bounds it",
            related=[Mark("policy" if loop.how == "decorator" else "loop", loop.site, "comes back here without a bound"), Mark("write", anchor(write, loop), "may be refused each time")],
            record=label,
            help="bound it by attempts or by a deadline, and raise a contention error (or put the event back into a queue) when the bound is reached",
            teach="an attempt count, a deadline, a cancellation or a surrounding timeout is a bound",
            doubts=write.doubts,
            values=(("value", label), ("changed", "the change")),
        )
