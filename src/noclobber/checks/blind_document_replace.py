"""RMW104: a document is written with content that derives from a read of the same document, without its version or another condition."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.writes import blind_writes, flow


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, origin, answer in blind_writes(trace, ("document",), ("replace", "update", "upsert")):
        columns = sorted({name for name, value in write.columns or () if origin in value.origins and name != "?"})
        what = write.record.label
        changed = f"`{columns[0]}`" if columns else "its own change"
        yield Claim(
            "blind-document-replace", write.site, write,
            f"the document `{what}` is written back with {changed if columns else 'content'} computed from an earlier read of it, without its version",
            related=[Mark("read", read.site, "the document is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "written back; a change made since the read is overwritten")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, "make the write conditional on the version that was read, or send what changes as an operator that the store computes"),
            teach=f'disable = ["{write.entry[1]}"]  # [tool.noclobber]: where the last writer may win in every document of this store',
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()),
            values=(("value", "the document"), ("changed", changed)),
            read=read, field=columns[0] if columns else "",
        )
