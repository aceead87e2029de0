"""RMW401: after a conflict the loop sends again what it had computed, or compared with, before the conflict."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Event, Loop, Trace, Write
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.conflicts import could_conflict, stale_part
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.retries import policy_place
from noclobber.trace.questions.validators import split_witnesses


def _sent_by(trace: Trace, loop: Loop, write: Write) -> Event:
    """The event whose line sends it again: of a unit of work the first change inside the loop, else the write."""
    changes = [trace.events[n] for n, _ in write.changes] if write.unit else []
    return min((change for change in changes if loop.n in change.ctx.loops), key=lambda change: change.n, default=write)


def check(trace: Trace) -> Iterator[Claim]:
    for loop in trace.of("loop"):
        for n in sorted(loop.retried - loop.accepted):
            write = trace.events[n]
            if policy_place(loop, write) is not None:
                continue
            if loop.how == "recursion":
                stale = ("content", None, "the function calls itself with what it was given") if write.conditional else None
            else:
                stale = stale_part(trace, loop, write)
            if stale is None:
                continue
            what, read, why = stale
            label = write.record.label
            yield Claim(
                "stale-retry", loop.site if loop.how == "recursion" else anchor(_sent_by(trace, loop, write), loop), write,
                f"after a conflict on `{label}` the same {what} is sent again: {why}",
                related=[*([Mark("read", read.site, "read once, before the conflict")] if read is not None else []), Mark("loop", loop.site, "comes back here after a conflict"),
                         Mark("write", write.site, "sent again unchanged")],
                record=label,
                help="move the read and the computation into the loop, so that every attempt starts from the current version",
                teach="a conflict that is passed on to the caller instead of retried is silent",
                doubts=write.doubts,
                values=(("value", label), ("changed", "what it had computed before")),
                loop=loop, read=read,
            )
    yield from _once_more(trace)


def _once_more(trace: Trace) -> Iterator[Claim]:
    """No loop: after a refusal the version is fetched anew, and the old content is sent under it."""
    retried = {n for loop in trace.of("loop") for n in loop.retried}
    for write, value, witness in split_witnesses(trace):
        refused = next((trace.events[n] for n in sorted(write.refused) if n < witness.n and could_conflict(trace.events[n]) and trace.events[n].record.label == write.record.label), None)
        if refused is None or write.n in retried:
            continue
        label = write.record.label
        yield Claim(
            "stale-retry", write.site, write,
            f"after a conflict on `{label}` the same content is sent again under the version of the one who won: it was computed from a read before the conflict",
            related=[Mark("read", value.site, "read once, before the conflict"), Mark("conflict", refused.site, "refused when the version has changed"),
                     Mark("witness", witness.site, "the winner's version"), Mark("write", write.site, "sent again unchanged")],
            record=label,
            help="read the record anew after a conflict, compute from that, and send it under the version that came with it",
            teach="a conflict that is passed on to the caller instead of retried is silent",
            doubts=write.doubts,
            values=(("value", label), ("changed", "what it had computed before")),
            read=value,
        )
