"""RMW204: one or two fields were changed, and the save writes every column as it was loaded."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import rejected
from noclobber.trace.questions.saves import full_saves


def check(trace: Trace) -> Iterator[Claim]:
    for found in full_saves(trace):
        write, label = found.write, found.write.record.label
        changed = ", ".join(f"`{field}`" for field in found.fields) or "some columns"
        read, between = found.read, found.between
        wait = f" and {between.what if hasattr(between, 'what') else 'a request'}() stands in between" if between is not None and between.kind == "suspend" else (
            " and a remote call stands in between" if between is not None else "")
        yield Claim(
            "orm-full-save", found.site, write,
            f"only {changed} changed, but every column of `{label}` is written as it was loaded{wait}",
            related=[*([Mark("read", read.site, f"`{label}` is loaded here")] if read is not None else []),
                     *([Mark("call", between.site, "other writers have time here")] if between is not None else []),
                     Mark("write", write.site, "all columns are written")],
            guards=rejected(trace, read if read is not None else write, write),
            record=label,
            help=_help(write, found.fields),
            teach="locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock the row",
            doubts=write.doubts | found.doubts,
            variant="waits" if between is not None else "",
            values=(("value", label), ("changed", changed)),
        )


def _help(write: object, fields: tuple) -> str:
    names = ", ".join(f'"{field}"' for field in fields)
    return (write.save_help or "write the changed columns only").replace("{fields}", names).replace("{field}", fields[0] if fields else "field")
