"""RMW206: a row lock is there, but the value that is written was not read under it."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, lock_help_of, written_at
from noclobber.trace.questions.guards import rejected
from noclobber.trace.questions.objects import derived_changes, derived_updates


def check(trace: Trace) -> Iterator[Claim]:
    for found in (*derived_changes(trace), *derived_updates(trace)):
        stale = found.stale
        if stale is None:
            continue
        write, start, field, label = found.write, found.start, found.field, found.label
        what = f"{label}.{field}"
        yield Claim(
            "stale-lock", found.site, write,
            f"`{what}` was not read under the row lock: it {stale.why}",
            related=[*([Mark("read", found.read.site, f"`{label}` is loaded here")] if found.read is not None else []),
                     Mark("lock", stale.site, f"the row lock here {stale.why}"),
                     *([Mark("change", found.change.site, f"`{field}` is computed from what was loaded")] if found.change is not None and found.change.site != found.site else []),
                     written_at(write, found.change.site if found.change is not None else found.site)],
            guards=rejected(trace, start, write),
            record=what,
            help=lock_help_of(write, "read `{field}` from the row that the lock returned, and hold the lock until the write", field, label),
            teach="locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock the row",
            doubts=write.doubts | found.doubts,
            values=(("value", what), ("changed", f"`{field}`")),
            obj=found.obj,
        )
