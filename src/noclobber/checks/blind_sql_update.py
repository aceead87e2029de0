"""RMW101: an UPDATE, REPLACE or upsert whose value derives from a SELECT of the same row, with nothing between that notices another writer."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.guards import column_of, held_doubts, rejected
from noclobber.trace.questions.writes import blind_writes, flow, story


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, origin, answer in blind_writes(trace, ("sql",), ("update", "replace", "upsert")):
        columns = sorted({name for name, value in write.columns or () if origin in value.origins and name != "?"})
        field = columns[0] if columns else column_of(trace, origin) or "value"
        what = f"{write.record.label}.{field}"
        yield Claim(
            "blind-sql-update", write.site, write,
            f"`{what}` is written back from a value read before, and WHERE names only the key",
            related=[Mark("read", read.site, f"`{write.record.label}` is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "written back; nothing notices a write in between")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, f"let the database compute it (`SET {field} = {field} + …`), lock the row with SELECT … FOR UPDATE, or add the version "
                 "that was read to WHERE and check that one row was updated", field, write.record.label),
            teach=f"locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock `{write.record.label}`",
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()),
            values=(("value", what), ("changed", f"`{field}`"), *story(write, origin)),
            read=read, field=field,
        )
