"""RMW202: a field of a loaded object (JSON, list, text, state) is derived from the loaded row and saved."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, lock_help_of, written_at
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.objects import derived_changes, derived_updates


def check(trace: Trace) -> Iterator[Claim]:
    for found in (*derived_changes(trace), *derived_updates(trace)):
        if found.kind != "derived" or found.remembered:
            continue
        write, start, field, label = found.write, found.start, found.field, found.label
        what = f"{label}.{field}"
        read = found.read
        yield Claim(
            "orm-derived-save", found.site, write,
            f"`{what}` is derived from the loaded row and saved: a change made since the load is overwritten",
            related=[*([Mark("read", read.site, f"`{label}` is loaded here")] if read is not None else []),
                     *([Mark("change", found.change.site, f"`{field}` is changed from what was loaded")] if found.change is not None else []),
                     written_at(write, found.change.site if found.change is not None else found.site)],
            guards=rejected(trace, start, write),
            record=what,
            help=lock_help_of(write, "load the row under a row lock, or give it a version that the save checks, so that `{field}` cannot be overwritten", field, label),
            teach="locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock the row",
            doubts=write.doubts | held_doubts(start, write) | found.doubts,
            values=(("value", what), ("changed", f"`{field}`")),
            obj=found.obj, read=read, change=found.change, field=field,
        )
