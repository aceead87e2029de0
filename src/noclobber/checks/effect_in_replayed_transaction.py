"""RMW502: an effect in code that a store, a transaction helper or a compare-and-swap helper runs again after a conflict."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import LASTING, thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.replayed import is_replayed


def check(trace: Trace) -> Iterator[Claim]:
    said = set()
    for loop in reversed(trace.of("loop")):  # the innermost scope that repeats it tells it
        for effect in trace.of("effect"):
            if effect.what not in LASTING or effect.key is not None or effect.n in said:
                continue
            why = is_replayed(trace, loop, effect)
            if not why:
                continue
            said.add(effect.n)
            thing, what, site = thing_of(effect), f"{effect.label}()", anchor(effect, loop)
            yield Claim(
                "effect-in-replayed-transaction", site, effect,
                f"`{what}` stands in code that is replayed: {why}, and the {thing} goes out once more each time",
                related=[Mark("effect", site, f"the {thing} goes out here"), Mark("loop", loop.site, "runs the code again")],
                record=what,
                help=f"return what is to be sent from the replayed function and send the {thing} after it, or write an outbox row in the transaction",
                teach=f'disable = ["{effect.entry[1]}"]  # [tool.noclobber]: where none of its calls does harm when it is repeated',
                values=(("value", what), ("changed", what), ("effect", what), ("write", what)),
            )
