"""RMW504: an effect that a rollback cannot take back, done before the transaction around it is committed."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Begin, Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.effects import thing_of
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.records_of_effects import unrecorded
from noclobber.trace.questions.transactions import early_effects, label_of


def check(trace: Trace) -> Iterator[Claim]:
    said = set()
    for claim in _before_commit(trace):
        said.add(claim.write.n)
        yield claim
    for effect, write in unrecorded(trace):
        if effect.n in said:
            continue
        thing, what = thing_of(effect), f"{effect.label}()"
        yield Claim(
            "effect-before-commit", effect.site, effect,
            f"`{what}` is done before the write that records it, and that write may be refused: then the {thing} is out, and whoever comes next does it again",
            related=[Mark("effect", effect.site, f"the {thing} goes out here"), Mark("write", write.site, f"`{write.record.label}` is written here, under a condition")],
            record=what,
            help=effect.help or f"write the intent first (a state that only one can set), then do it, then record that it is done; or send a key made of the decision, so that the {thing} is done once",
            teach=f'disable = ["{effect.entry[1]}"]  # [tool.noclobber]: where none of its calls does harm when it is done twice',
            values=(("value", what), ("changed", what), ("effect", what), ("write", what)),
        )


def _before_commit(trace: Trace) -> Iterator[Claim]:
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
