"""RMW105: a key of a key-value store is set to a value that derives from a read of the same key, without its version or a watch."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.writes import blind_writes, flow, is_step, is_collected


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, origin, answer in blind_writes(trace, ("key",), ("replace",)):
        what = write.record.label
        # What a cache holds can be computed again; a count or a list that is kept in one cannot.
        memo = write.role == "cache" and not is_step(write.payload, read) and not is_collected(trace, read, write)
        yield Claim(
            "blind-key-set", write.site, write,
            f"`{what}` is set to a value computed from an earlier read of it; nothing notices a write in between",
            related=[Mark("read", read.site, "the value is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "set; a change made since the read is overwritten")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, "let the store compute it, or pass the version that came with the value and read again when the write is refused"),
            teach=f'disable = ["{write.entry[1]}"]  # [tool.noclobber]: where the last writer may win in every key of this store',
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()) | (frozenset(("memoised",)) if memo else frozenset()),
            variant="cache" if memo else "",
            values=(("value", f"`{what}`"), ("changed", "its own change")),
            read=read,
        )
