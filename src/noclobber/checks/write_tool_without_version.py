"""RMW701: a tool that updates a record by id takes no version: a model that read it minutes ago overwrites what others wrote since."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.tools import model_writes, offers_precondition, tools_of


def check(trace: Trace) -> Iterator[Claim]:
    for tool in tools_of(trace):
        for found in model_writes(tool, trace.toolbox):
            write = found.write
            if found.version == "given" or tool.version and found.version == "none":
                continue
            offered = offers_precondition(found, trace.toolbox)
            what = ", ".join(f"`{name}`" for name in found.values[:3])
            how = "with a version that it has fetched itself just before, not the one that the model has seen" if found.version == "own" else "whatever it is by now"
            related = [Mark("write", write.site, f"writes {what} of `{write.record.label}`")]
            if found.read is not None:
                related.insert(0, Mark("read", found.read.site, "fetches the newest version, so the write is never refused"))
            hint = ", although it is declared read-only" if tool.readonly else ""
            yield Claim(
                "write-tool-without-version", tool.site, write,
                f"the tool `{tool.name}` overwrites {what} of `{write.record.label}` {how}{hint}",
                related=related, record=write.record.label,
                help="take the version that the read tool returned (`expected_version`), make it a condition of the write, and answer a mismatch with the current record"
                + (f": {offered}" if offered and found.version == "none" else ""),
                teach="pass the version from a parameter of the tool into the write's condition",
                doubts=write.doubts, variant="" if offered else "no-precondition",
                values=(("value", what.replace("`", "")), ("tool", tool.name)),
            )
            break
