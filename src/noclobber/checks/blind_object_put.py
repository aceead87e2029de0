"""RMW103: an object of an object store is written with content that derives from a read of the same key, without a precondition."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.writes import blind_writes, flow


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, _, answer in blind_writes(trace, ("object",), ("replace",)):
        what = write.record.label
        yield Claim(
            "blind-object-put", write.site, write,
            f"the object `{what}` is overwritten with content computed from an earlier read of it, without its ETag",
            related=[Mark("read", read.site, "the object is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "overwritten; a change made since the read is lost")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, "pass the ETag of the read: put_object(…, IfMatch=response[\"ETag\"]), and on PreconditionFailed read again and compute again"),
            teach=f'disable = ["{write.entry[1]}"]  # [tool.noclobber]: where the last writer may win in every object of this store',
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()),
            values=(("value", "the object"), ("changed", "its own change")),
            read=read,
        )
