"""RMW504: an effect that a rollback cannot take back, done before the transaction around it is committed."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Begin, Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.transactions import early_effects, label_of


def check(trace: Trace) -> Iterator[Claim]:
    for effect, end, write in early_effects(trace):
        thing, what = thing_of(effect), f"{effect.label}()"
        site = anchor(effect, end)
        opened = isinstance(end, Begin)
        yield Claim(
            "effect-before-commit", site, effect,
            f"`{what}` is done before the transaction is committed: a rollback leaves the {thing} without its change, and the receiver may look before the change is there",
            related=[Mark("transaction", end.site, "the transaction begins here" if opened else "the transaction is committed here"),
                     Mark("write", anchor(write, end), f"`{label_of(write)}` is written in the same transaction"), Mark("effect", site, f"the {thing} goes out here")],
            record=what,
            help=effect.help or f"send the {thing} after the commit, or write it as an outbox row in the same transaction and let a second process send it",
            teach=f'disable = ["{effect.entry[1]}"]  # [tool.noclobber]: where none of its calls does harm when its transaction is rolled back',
            values=(("value", what), ("changed", what), ("effect", what), ("write", what)),
            loop=end,
        )
