"""RMW405: the pause between two attempts after a conflict is the same for every loser, so that they collide again."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Loop, Site, Trace, Write
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import anchor
from noclobber.trace.questions.retries import conflict_retries, is_poll, pauses_without_jitter


def check(trace: Trace) -> Iterator[Claim]:
    for loop, write in conflict_retries(trace):
        if is_poll(loop):
            continue
        if loop.policy is not None and loop.policy.jitter is False:
            site = loop.policy.site if loop.how == "transport" and loop.policy.site is not None else loop.site
            yield _claim(loop, write, site, "this policy waits equally long for every loser")
        for pause in pauses_without_jitter(trace, loop):
            yield _claim(loop, write, anchor(pause, loop), "every loser of the same conflict sleeps equally long here")


def _claim(loop: Loop, write: Write, site: Site, words: str) -> Claim:
    label = write.record.label
    return Claim(
        "retry-without-jitter", site, write,
        f"{words}: they come back together and collide on `{label}` again",
        related=[Mark("conflict", site, "no random part"), Mark("loop" if loop.how == "loop" else "policy", loop.site, "runs the attempt again"), Mark("write", anchor(write, loop), "may be refused again")],
        record=label,
        help="spread the attempts: sleep(random.uniform(0, base * 2**attempt)), wait_random_exponential(…), jitter=…",
        teach="a pause with a random part is silent",
        doubts=write.doubts,
        values=(("value", label), ("changed", "the change")),
        loop=loop,
    )
