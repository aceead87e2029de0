"""RMW205: rows are looked at, then one is created that rests on the answer, and nothing refuses the second."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import REFUSED, Claim, Mark
from noclobber.trace.questions.creates import resting_creates
from noclobber.trace.questions.guards import rejected

_WORDS = {
    "exists": ("it was looked for and not found", "is looked for here"),
    "bound": ("rows were counted and still below the bound", "rows are counted here"),
    "number": ("its `{column}` is computed from the rows that are there", "the last number is read here"),
}


def check(trace: Trace) -> Iterator[Claim]:
    for found in resting_creates(trace):
        why, read = _WORDS[found.how]
        why = why.replace("{column}", found.column)
        yield Claim(
            "check-then-create", found.write.site, found.write,
            f"`{found.label}` is created because {why}: " + ("a unique key refuses the second of two, and its error is not handled" if found.constraint else "two at the same time create two"),
            related=[Mark("read", found.read.site, f"`{found.label}` {read}" if found.how == "exists" else read), Mark("write", found.write.site, "created here")],
            guards=rejected(trace, found.read, found.write),
            record=found.label,
            help="have a unique constraint refuse the second and handle its error (get_or_create where it is exactly that), or lock a row that all of them share before the look",
            teach="unique_error = [\"NameOfYourError\"]  # [tool.noclobber.patterns]: exceptions that tell of a refused duplicate",
            doubts=found.write.doubts | found.doubts,
            variant=REFUSED if found.constraint else "", needs_another=True, read=found.read,
            values=(("value", found.label), ("changed", f"`{found.label}`")),
        )
