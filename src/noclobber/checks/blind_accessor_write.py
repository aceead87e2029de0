"""RMW106: one half of an accessor pair writes what was computed from the answer of the other half, and no version is passed."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace, Write
from noclobber.trace.questions.accessors import accessor_writes
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import rejected
from noclobber.trace.questions.writes import flow


def check(trace: Trace) -> Iterator[Claim]:
    for pair in accessor_writes(trace):
        what, halves = pair.label, f"`{pair.getter}()` and `{pair.setter}()`"
        beneath = [Mark("write", pair.write.site, "this is what it writes")] if pair.write.site is not pair.site else []
        yield Claim(
            "blind-accessor-write", pair.site, pair.write,
            f"`{pair.setter}()` writes what was computed from `{pair.getter}()`; a change made between the two calls is lost",
            related=[Mark("read", pair.read_site, f"`{pair.getter}()` reads it"), *(flow(trace, pair.read, pair.write) if isinstance(pair.write, Write) else ()),
                     Mark("call", pair.site, f"`{pair.setter}()` overwrites it"), *beneath],
            guards=rejected(trace, pair.read, pair.write),
            record=what,
            help=f"let {halves} carry a version: give it out with the value, take it back, and refuse the write when it has changed; or offer one call that changes the record by itself",
            teach='last_writer_wins = true  # [[tool.noclobber.store]]: where the last writer may win',
            doubts=pair.doubts,
            variant="file" if pair.family == "file" else "",
            values=(("value", f"`{what}`"), ("changed", "its own change"), ("read", f"`{pair.getter}()`"), ("write", f"`{pair.setter}()`")),
        )
