"""RMW702: a read tool leaves out the version of a record that has one: no later write of the model can say what it was based on."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.tools import model_writes, reads_of_record, shape, tells_version, tools_of


def check(trace: Trace) -> Iterator[Claim]:
    box = trace.toolbox
    for tool in tools_of(trace):
        written = {shape(found.write.record) for found in model_writes(tool, box)}
        for read, returned in reads_of_record(tool, box):
            names = box.versions.get(shape(read.record))
            if not names or shape(read.record) in written or any(tells_version(read, answer, box) for answer in returned):
                continue
            name = sorted(names)[0]
            yield Claim(
                "read-tool-without-version", tool.site, read,
                f"the tool `{tool.name}` returns `{read.record.label}` without its `{name}`",
                related=[Mark("read", read.site, f"`{name}` is not among what is given back")], record=f"{read.record.label}.{name}",
                help=f"return `{name}` with the record, and let the write tool ask for it",
                teach=f"put `{name}` into the answer", values=(("value", name), ("tool", tool.name)),
            )
            break
