"""RMW704: a conditional write tool keeps back the new version, or answers a conflict without the record as it is now."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.tools import hidden_outcome, model_writes, tools_of


def check(trace: Trace) -> Iterator[Claim]:
    for tool in tools_of(trace):
        for found in model_writes(tool, trace.toolbox):
            write = found.write
            if found.version != "given":
                continue
            what = hidden_outcome(tool, write, trace.toolbox)
            if not what:
                continue
            yield Claim(
                "write-tool-hides-outcome", tool.site, write,
                f"the tool `{tool.name}` writes `{write.record.label}` under a version, but {what}",
                related=[Mark("write", write.site, "the conditional write")], record=write.record.label,
                help="return the new version after success; after a refusal return a conflict of its own kind with the current record and its version",
                teach="put the version and the current record into the answer",
                doubts=write.doubts, values=(("value", "the outcome"), ("tool", tool.name)),
            )
            break
