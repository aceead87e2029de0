"""RMW108: the value comes from one request, its version from a later one: what was written in between is overwritten, and the condition holds."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.validators import split_witnesses


def check(trace: Trace) -> Iterator[Claim]:
    for write, value, witness in split_witnesses(trace):
        what = write.record.label
        yield Claim(
            "split-witness", write.site, write,
            f"the version that `{what}` is written under was fetched after the value: a change between the two requests is overwritten",
            related=[Mark("read", value.site, "the value is read here"), Mark("witness", witness.site, "its version is asked for later, in a request of its own"),
                     Mark("write", write.site, "conditional on the later version")],
            record=what,
            help="take value and version from one answer, or ask for the version first and for the value after it",
            teach="a second read that is itself conditional on the first one's version is silent",
            doubts=write.doubts,
            values=(("value", f"`{what}`"), ("changed", "its own change")),
        )
