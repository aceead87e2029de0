"""RMW703: a write tool takes the complete object: what the model leaves out or has read too early is overwritten with it."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.tools import model_writes, tools_of, whole


def check(trace: Trace) -> Iterator[Claim]:
    for tool in tools_of(trace):
        for found in model_writes(tool, trace.toolbox):
            write = found.write
            if found.version == "given" or tool.version and found.version == "none":
                continue
            why = whole(tool, found, trace.toolbox)
            if not why:
                continue
            yield Claim(
                "whole-document-tool", tool.site, write,
                f"the tool `{tool.name}` takes `{write.record.label}` as a whole: {why}, so every edit replaces what others changed in the rest",
                related=[Mark("write", write.site, "replaces the record")], record=write.record.label,
                help="let the tool take the fields to change, each optional (or one part by its own address), beside the id and the version",
                teach="make the parameters optional and write only those that are given",
                doubts=write.doubts, values=(("value", "the whole record"), ("tool", tool.name)),
            )
            break
