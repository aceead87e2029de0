"""RMW601: a row lock, an advisory lock or a transaction with writes is held while a request, a model call or a sleep goes on."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.transactions import slow_calls


def check(trace: Trace) -> Iterator[Claim]:
    for call, lock, what, name, doubts in slow_calls(trace):
        site = anchor(call, lock, shared=True)
        yield Claim(
            "lock-across-network", site, call,
            f"{what} is held while {name} goes on: everybody else who needs it waits as long as that takes",
            related=[Mark("lock", lock.site, "held from here on"), Mark("call", site, "the slow call")],
            record=what,
            help="call first and lock afterwards: read without a lock, call, then open a short transaction that locks (or compares a version) and writes",
            teach="a lock that is given back before the call is silent",
            doubts=doubts,
            values=(("value", what), ("lock", what), ("write", name)),
        )
