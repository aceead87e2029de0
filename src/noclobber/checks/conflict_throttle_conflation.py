"""RMW406: a lost race and a request to slow down are handled by one branch, one handler or one retry set."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.retries import mixed_tests


def check(trace: Trace) -> Iterator[Claim]:
    for loop, site, codes, event in mixed_tests(trace):
        names = ", ".join(sorted(str(code).rsplit(":", 1)[-1].rsplit(".", 1)[-1] for code in codes))
        yield Claim(
            "conflict-throttle-conflation", site, event,
            f"one retry path for a conflict and for throttling ({names}): the first needs a new read, the second only time",
            related=[Mark("conflict", site, "takes both for the same"), Mark("loop" if loop.how == "loop" else "policy", loop.site, "runs the attempt again"), Mark("write", anchor(event, loop), "is sent again")],
            record=names,
            help="give them separate branches: on a conflict read again and compute again; on 429 or 503 wait as long as Retry-After says, with a budget of its own",
            teach="two branches, or one that hands the conflict to the caller, are silent",
            values=(("value", names), ("changed", "the change"), ("write", "the request")),
        )
