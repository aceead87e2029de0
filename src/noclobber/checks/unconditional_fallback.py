"""RMW403: after a conflict the same write is sent without its condition."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Site, Trace, Write
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import anchor, apart
from noclobber.trace.questions.retries import dropped_conditions, fallbacks


def check(trace: Trace) -> Iterator[Claim]:
    for refused, forced in fallbacks(trace):
        place = apart(refused, forced)
        yield _claim(forced, place, [Mark("conflict", refused.site, "refused here: the record has changed since the read"), Mark("write", place, "sent again without the condition")])
    for loop, write in dropped_conditions(trace):
        place = anchor(write, loop)
        yield _claim(write, place, [Mark("write", place, "refused here, and sent again here without the condition"), Mark("loop", loop.site, "comes back here after the conflict")])


def _claim(write: Write, place: Site, marks: list) -> Claim:
    label = write.record.label
    return Claim(
        "unconditional-fallback", place, write,
        f"after the conflict on `{label}` the same content is written without a condition: what the winner wrote is erased",
        related=marks, record=label,
        help="read the record again, compute the change from what is there now, and send it with the new version; or hand the conflict to the caller",
        teach="a create-only write (If-None-Match: *) that falls back to what is there is silent",
        doubts=write.doubts,
        values=(("value", label), ("changed", "what it had computed before the conflict")),
    )
