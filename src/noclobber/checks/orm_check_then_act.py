"""RMW203: a state is tested on the loaded row, then written, and the write does not repeat the test."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, written_at
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.transitions import object_transitions


def check(trace: Trace) -> Iterator[Claim]:
    for found in object_transitions(trace):
        write, tested, label = found.write, found.tested, found.label
        what = f"{label}.{tested.column}"
        does = "deleted" if write.verb == "delete" else "written"
        yield Claim(
            "orm-check-then-act", found.site, write,
            f"`{what}` is tested on the loaded row, then `{found.field or label}` is {does} without asking again: two may pass the test",
            related=[*([Mark("read", found.read.site, f"`{label}` is loaded here")] if found.read is not None else []),
                     *([Mark("read", tested.site, f"`{tested.column}` is tested here")] if tested.test is not None else []),
                     *([Mark("change", found.change.site, f"`{found.field}` gets its new value")] if found.change is not None and found.change.site != found.site else []),
                     *([written_at(write, found.site)] if write.owed or write.site != found.site else [])],
            guards=rejected(trace, found.start, write),
            record=what,
            help=f"let the statement test: `filter(pk=…, {tested.column}=…).update(…)` or `.where(…, {tested.column} == …)`, and see that one row was changed; or lock the row before the test",
            teach="locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock the row",
            doubts=write.doubts | held_doubts(found.start, write) | found.doubts,
            values=(("value", what), ("changed", f"`{tested.column}`")),
            obj=found.obj, tested=tested, read=found.read, change=found.change, needs_another=write.verb == "delete",
        )
