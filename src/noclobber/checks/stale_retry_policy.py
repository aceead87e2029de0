"""RMW402: a retry policy repeats, on a conflict, a function that was given its payload or its witness from outside."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Loop, Site, Trace, Write
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.conflicts import stale_part
from noclobber.trace.questions.retries import policy_place


def check(trace: Trace) -> Iterator[Claim]:
    for loop in trace.of("loop"):
        for n in sorted(loop.retried - loop.accepted):
            write = trace.events[n]
            place = policy_place(loop, write)
            stale = stale_part(trace, loop, write) if place is not None else None
            if stale is not None:
                yield _claim(loop, place, write, *stale)


def _claim(loop: Loop, place: Site, write: Write, what: str, read, why: str) -> Claim:
    label = write.record.label
    again = "the transport sends the request again" if loop.how == "transport" else "the policy runs the function again"
    marks = [Mark("read", read.site, "read once, outside what is repeated")] if read is not None else []
    if loop.how == "transport" and loop.policy is not None and loop.policy.site is not None:
        marks.append(Mark("policy", loop.policy.site, "repeats on a conflict"))
    elif loop.how != "transport":
        marks.append(Mark("policy" if loop.how == "decorator" else "loop", loop.site, "runs the function again after a conflict"))
    return Claim(
        "stale-retry-policy", place, write,
        f"after a conflict on `{label}` {again} with the same {what}: {why}",
        related=[*marks, Mark("write", write.site, "sent again unchanged")],
        record=label,
        help="let the policy repeat a function that reads, computes and writes; or repeat transport errors only and hand the conflict to the caller",
        teach="a policy that repeats connection errors only, and passes a conflict on, is silent",
        doubts=write.doubts,
        values=(("value", label), ("changed", "what it had computed before")),
    )
