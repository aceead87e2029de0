"""RMW305: a conflict is caught and dropped, logged only, turned into success, or made into the error that a lost connection raises as well."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.refusals import already_gone, left_alone

_WORDS = {
    "success": "a refused write of {0} comes back as success: the caller cannot tell it from a stored one",
    "dropped": "a refused write of {0} ends here: nobody learns that the change was not stored",
    "generic": "a refused write of {0} is answered with a generic 500: the caller cannot know that reading again would help",
    "flattened": "a refused write of {0} becomes the same error as a transport failure: the caller cannot tell a lost race from a lost connection",
}


def check(trace: Trace) -> Iterator[Claim]:
    for event in trace.of("swallow"):
        verdict = next((word for word in _WORDS if word in event.verdicts), None)
        if verdict is None:
            continue
        writes = [trace.events[n] for n in sorted(event.lost)]
        if writes and all(write.record.family == "remote" for write in writes):
            continue  # a command fails for many reasons
        if already_gone(trace, event, writes) or left_alone(trace, event, writes):
            continue
        what = writes[0].record.label if writes else "the record"
        yield Claim(
            "swallowed-conflict", event.site, writes[0] if writes else event,
            _WORDS[verdict].format(f"`{what}`" if writes else what),
            related=[*(Mark("write", write.site, "refused when the version has changed") for write in writes[:2]), Mark("conflict", event.site, "the refusal ends here")],
            record=what,
            help="let the caller know: raise an error of its own, return a value that success never has, or read again, compute again and write again within a bound",
            teach="raise in the handler, or return what success never returns (False, None, a conflict result)",
            doubts=frozenset().union(*(write.doubts for write in writes)) if writes else frozenset(),
            values=(("value", f"`{what}`"), ("changed", "its own change")),
        )
