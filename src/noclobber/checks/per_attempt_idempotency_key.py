"""RMW503: an idempotency key that is made inside the attempt, so that each try is a new effect."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.replayed import renewed_keys

_WHY = {"random": "is random", "clock": "has the time in it", "attempt": "has the number of the attempt in it"}


def check(trace: Trace) -> Iterator[Claim]:
    for effect, loop, made in renewed_keys(trace):
        thing, what = thing_of(effect), f"{effect.label}()"
        site = anchor(made if made is not None else effect, loop)
        why = _WHY[made.what] if made is not None else _WHY["attempt"]
        yield Claim(
            "per-attempt-idempotency-key", site, effect,
            f"the key of `{what}` {why} and is made anew with every attempt: to the receiver each one is another {thing}",
            related=[Mark("key", site, "the key is made here"), Mark("loop" if loop.how != "decorator" else "policy", loop.site, "each attempt comes through here"),
                     Mark("effect", anchor(effect, loop), "and is sent with it")],
            record=what,
            help="make the key once, before the first attempt, of what is being decided (the order and what is to be done with it), and store it with the decision",
            teach="a key that is made before the loop, or derived from the record, is silent",
            values=(("value", "the key"), ("changed", "the key"), ("key", "the key"), ("write", what)),
            loop=loop,
        )
