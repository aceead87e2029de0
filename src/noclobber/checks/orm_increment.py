"""RMW201: a field of a loaded object is raised or lowered in Python and saved."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of, written_at
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.objects import derived_changes, derived_updates


def check(trace: Trace) -> Iterator[Claim]:
    for found in (*derived_changes(trace), *derived_updates(trace)):
        if found.kind != "increment" or found.remembered:
            continue
        write, start, field, label = found.write, found.start, found.field, found.label
        what = f"{label}.{field}"
        yield Claim(
            "orm-increment", found.site, write,
            f"`{what}` is computed in Python from the loaded value and saved: of two at the same time one is lost",
            related=[*([Mark("read", found.read.site, f"`{label}` is loaded here")] if found.read is not None else []),
                     *([Mark("change", found.change.site, f"`{field}` is computed from the loaded value")] if found.change is not None else []),
                     written_at(write, found.change.site if found.change is not None else found.site)],
            guards=rejected(trace, start, write),
            record=what,
            help=help_of(write, "let the database compute the new value of `{field}`, or load the row under a lock", field, label),
            teach="locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock the row",
            doubts=write.doubts | held_doubts(start, write) | found.doubts,
            values=(("value", what), ("changed", f"`{field}`")),
            obj=found.obj, read=found.read, change=found.change, field=field,
        )
