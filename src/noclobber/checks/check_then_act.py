"""RMW107: a write that is reached because of a value read from the same record, and that does not repeat this test in its own condition."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.acts import Act, acts
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.guards import rejected

_FAMILIES = ("sql", "document", "key", "object", "http")


def check(trace: Trace) -> Iterator[Claim]:
    for act in acts(trace, _FAMILIES):
        write, label = act.write, act.write.record.label
        what = f"{label}.{act.column}" if act.column else label
        related = [Mark("read", act.read.site, f"`{label}` is read here")]
        if act.site is not act.read.site:
            related.append(Mark("change", act.site, _tested(act)))
        yield Claim(
            "check-then-act", write.site, write,
            _message(act, what),
            related=[*related, Mark("write", write.site, "done whatever the record holds by now")],
            guards=rejected(trace, act.read, write),
            record=what,
            help=_help(act),
            teach=f"locking_reader = [\"name_of_your_helper\"]  # [tool.noclobber.patterns]: readers that lock `{label}`",
            doubts=act.doubts,
            values=(("value", what), ("changed", f"`{act.column or label}`")),
            tested=act, read=act.read,
        )


def _tested(act: Act) -> str:
    return f"`{act.column}` decides that the write is reached" if act.column else "found here, so the next step takes it"


def _message(act: Act, what: str) -> str:
    if act.how == "consumed":
        return f"`{what}` was found, so it is deleted and used; two callers can both find it, and nobody asks which delete removed it"
    verb = "deleted" if act.write.verb == "delete" else "written"
    return f"this is {verb} because of `{what}` as it was read before; the write itself does not ask whether that still holds"


def _help(act: Act) -> str:
    if act.how == "consumed":
        return "let one step take and remove it (GETDEL, DELETE … RETURNING), or use it only where the delete says that it removed something"
    if act.write.record.family == "sql":
        return f"repeat the test in the statement (`… AND {act.column} …` in WHERE) and check that one row was changed, or lock the row on read"
    return f"make the test of `{act.column}` a condition of the write itself, and treat its refusal as a conflict"
