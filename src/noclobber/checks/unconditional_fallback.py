"""RMW403: after a conflict the same write is sent without its condition."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.retries import fallbacks


def check(trace: Trace) -> Iterator[Claim]:
    for refused, forced in fallbacks(trace):
        label = forced.record.label
        yield Claim(
            "unconditional-fallback", forced.site, forced,
            f"after the conflict on `{label}` the same content is written without a condition: what the winner wrote is erased",
            related=[Mark("conflict", refused.site, "refused here: the record has changed since the read"), Mark("write", forced.site, "sent again without the condition")],
            record=label,
            help="read the record again, compute the change from what is there now, and send it with the new version; or hand the conflict to the caller",
            teach="a create-only write (If-None-Match: *) that falls back to what is there is silent",
            doubts=forced.doubts,
            values=(("value", label), ("changed", "what it had computed before the conflict")),
        )
