"""RMW302: a conditional write of a query, a builder's statement, a document or a key, whose result says whether it was refused, and nobody looks."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace, Write
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.leases import ignored_takes
from noclobber.trace.questions.refusals import refusing


def check(trace: Trace) -> Iterator[Claim]:
    for take, then, mute in ignored_takes(trace):
        label = take.record.label
        yield Claim(
            "unchecked-conditional-result", take.site, take,
            f"this takes the lock `{label}` only when nobody holds it; " + ("its answer is yes in any case, since the server is not asked to reply" if mute else "the result would tell, and nobody looks"),
            related=[Mark("lock", take.site, "refused while somebody else holds the lock"), Mark(then.kind if then.kind in ("effect", "write") else "call", then.site, "done whether the lock is held or not")],
            record=label,
            help="ask for the reply: add(…, noreply=False), and go on only when it says that the key was stored" if mute else "go on only when the lock was had: `if not taken: return`",
            teach="test the result, or return it",
            doubts=take.doubts,
            values=(("value", label), ("changed", "its change")),
        )
    for write in trace.of("write"):
        if write.n not in trace.unchecked or write.text == "sql" or write.outcome == "status" or not write.conditional:
            continue
        condition = _condition(trace, write)
        if condition is None:
            continue
        label = write.record.label
        what = f"{label}.{condition}" if condition else label
        says = {"count": "the number of rows", "row": "the row"}.get(write.outcome, "the result")
        yield Claim(
            "unchecked-conditional-result", write.site, write,
            f"this write of `{label}` does nothing when `{condition or 'its condition'}` has changed; {says} it gives back would tell, and nobody looks",
            related=[Mark("write", write.site, f"refused when `{condition or 'the condition'}` is not what was expected")],
            record=what,
            help=_help(write),
            teach="pass the result to the helper that checks it, or return it",
            doubts=write.doubts,
            values=(("value", what), ("changed", "its change")),
        )


def _condition(trace: Trace, write: Write) -> str | None:
    """The column of the condition; '' where the store has one for the whole record; None: no refusal matters."""
    if write.record.family in ("sql", "orm"):
        found = refusing(trace, write) if write.verb in ("update", "delete", "upsert") else None
        return found.column if found is not None else None
    if write.verb == "delete" and write.call.endswith("many"):
        return None  # whatever has come to its end is taken away
    if write.conflict or write.record.family == "remote" or any(lock.kind == "optimistic" for lock in write.ctx.held):
        return None  # a refusal raises: here, or where the transaction is committed
    return next((p.column for p in write.preconditions if p.kind in ("witness", "bound", "state")), None)


def _help(write: Write) -> str:
    if write.record.family == "orm" and not write.text:
        return "look at the count: `if updated != 1: raise …`"
    if write.record.family in ("sql", "orm"):
        return "look at the outcome: `if result.rowcount != 1: raise …` (with returning(): test the returned row)"
    return help_of(write, "look at the result: treat a refusal as a conflict")
