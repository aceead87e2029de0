"""RMW603: the key of a lock is deleted, or its life prolonged, without asking in the same step whether the lock is still ours."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.leases import unowned


def check(trace: Trace) -> Iterator[Claim]:
    for event, taken in unowned(trace):
        does = "deleted" if event.how == "drop" else "given a longer life"
        yield Claim(
            "unsafe-lock-release", event.site, event,
            f"the lock `{event.key}` is {does} without an owner check: when it has expired meanwhile, it is somebody else's",
            related=[*([Mark("lock", taken.site, "taken here, and it expires by itself")] if taken is not None else []), Mark("unlock", event.site, f"{does} here, whoever holds it")],
            record=event.key,
            help="compare the owner and delete (or expire) in one step: a Lua script over the token that SET NX has stored, `delex(key, ifeq=token)`, or the library's own lock object",
            teach="a release by a script or by the library's lock object is silent",
            doubts=event.doubts,
            values=(("value", event.key), ("changed", event.key), ("lock", event.key), ("write", f"{event.key}")),
        )
