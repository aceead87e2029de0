"""RMW208: a partial update writes every field of the patch, also those that were not sent."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.patches import unset_written


def check(trace: Trace) -> Iterator[Claim]:
    for found in unset_written(trace):
        what = f"`{found.dump.label}`" if found.dump.label else "the patch"
        yield Claim(
            "unset-as-null", found.dump.site, found.use,
            f"every field of {what} is written, also those that were not sent: they become null",
            related=[Mark("read", found.dump.site, "all fields are taken, set or not"), Mark("write", found.use.site, "and written to the record")],
            record=found.label,
            help="take only what was sent: `model_dump(exclude_unset=True)`, the names in `model_fields_set`, or the keys that are in the request",
            teach="patch_class = [\"NameOfYourClass\"]  # [tool.noclobber.patterns]: classes whose fields may be left out",
            doubts=found.doubts,
            values=(("value", found.label), ("changed", what)),
        )
