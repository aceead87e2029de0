"""RMW505: a request that changes something is repeated because its answer was lost, and carries no idempotency key."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.replayed import unkeyed


def check(trace: Trace) -> Iterator[Claim]:
    for effect, loop in unkeyed(trace):
        thing, what, sent = thing_of(effect), f"{effect.label}()", anchor(effect, loop)
        of_task = loop.policy is not None and loop.policy.replays == "task"
        site = loop.site if loop.how == "decorator" and not of_task or loop.how == "recursion" else sent
        marks = [Mark("policy" if loop.policy is not None else "loop", loop.policy.site if loop.how == "transport" and loop.policy.site is not None else loop.site, "repeats it")]
        yield Claim(
            "effect-without-key", site, effect,
            f"`{what}` is sent again when its answer is lost, although it may have been done: without an idempotency key the {thing} is done twice",
            related=[*marks, Mark("effect", sent, f"the {thing}")],
            record=what,
            help=effect.help or "send a key that is the same in every attempt (the header Idempotency-Key, or what the provider calls it), made of what is being decided",
            teach=f'disable = ["{effect.entry[1]}"]  # [tool.noclobber]: where none of its calls does harm when it is repeated',
            values=(("value", what), ("changed", what), ("effect", what), ("write", what)),
        )
