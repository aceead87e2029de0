"""RMW304: a write that compares a version, or goes around one that other code compares, and leaves the version as it is."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.versions import unbumped


def check(trace: Trace) -> Iterator[Claim]:
    for found in unbumped(trace):
        write, label, version = found.write, found.write.record.label, found.version
        messages = {
            "compared": f"this write of `{label}` compares `{version}` and leaves it as it is: the next writer with the same `{version}` is let through, too",
            "around": f"this write of `{label}` does not raise `{version}`, which other code here compares: whoever read before it will overwrite it unseen",
            "lease": f"this takes `{label}` over and keeps the old `{version}`: the former holder's writes still pass",
        }
        yield Claim(
            "version-not-bumped", found.site, write, messages[found.how],
            related=[Mark("write", found.site, f"`{version}` stays what it was")],
            record=f"{label}.{version}",
            help=f"raise it in the same write: `{version} = {version} + 1`",
            teach="",
            doubts=write.doubts | found.doubts,
            values=(("value", f"{label}.{version}"), ("changed", f"`{version}`")),
            field=version,
        )
