"""RMW109: a document is loaded from a shared file, changed and written over it, and no lock is held over both."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.files import file_rewrites
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.writes import flow


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, _, answer in file_rewrites(trace):
        what = write.record.label
        swapped = write.role == "swap"
        yield Claim(
            "blind-file-rewrite", write.site, write,
            f"the file `{what}` is written over with what was computed from an earlier read of it; a change made by another process in between is lost",
            related=[Mark("read", read.site, "the document is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "the whole file is replaced at once; a change made since the read is gone" if swapped else "the whole file is written anew; a change made since the read is gone")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, "hold a lock on a file beside it over the read and the write"),
            teach=f'disable = ["{write.entry[1]}"]  # [tool.noclobber]: where every such file has one writer',
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()),
            variant="replaced" if swapped else "",
            values=(("value", "the document"), ("changed", "its own change")),
        )
