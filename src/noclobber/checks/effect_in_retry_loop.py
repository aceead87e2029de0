"""RMW501: an external effect inside a retry scope, done before something that can make the scope run again."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Effect, Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import LASTING, thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.replayed import is_retry


def check(trace: Trace) -> Iterator[Claim]:
    said = set()
    for loop in reversed(trace.of("loop")):  # the innermost scope that repeats it tells it
        for n, cause in sorted(loop.replayed.items()):
            effect = trace.events[n]
            if not isinstance(effect, Effect) or effect.what not in LASTING or effect.key is not None or n in said:
                continue
            if loop.how == "transport" or not is_retry(loop, n, cause):
                continue
            if loop.policy is not None and loop.policy.spec is not None and loop.policy.spec.op == "replay":
                continue  # a transaction helper runs it again: effect-in-replayed-transaction
            said.add(n)
            thing = thing_of(effect)
            what = f"{effect.label}()"
            refusal = trace.events[cause] if isinstance(cause, int) else None
            yield Claim(
                "effect-in-retry-loop", anchor(effect, loop), effect,
                f"`{what}` runs again with every attempt of this retry: the {thing} is sent more than once",
                related=[Mark("effect", anchor(effect, loop), f"the {thing} is sent here"), Mark("loop" if loop.how != "decorator" else "policy", loop.site, "runs the scope again"),
                         *([Mark("conflict", refusal.site, "may be refused after the effect")] if refusal is not None else [])],
                record=what,
                help=f"send the {thing} after the write has succeeded (after the loop, or before the return that ends it), or give it an idempotency key made before the loop",
                teach=f'disable = ["{effect.entry[1]}"]  # [tool.noclobber]: where none of its calls does harm when it is repeated',
                values=(("value", what), ("changed", what), ("effect", what), ("write", what)),
            )
