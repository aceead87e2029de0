"""RMW102: a PUT (or PATCH) of a body that derives from a GET of the same URL, without If-Match (RFC 9110 §13.1.1)."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark, help_of
from noclobber.trace.questions.guards import held_doubts, rejected
from noclobber.trace.questions.writes import blind_writes, flow


def check(trace: Trace) -> Iterator[Claim]:
    for write, read, _, answer in blind_writes(trace, ("http",), ("replace",)):
        if write.conflict_handled:
            continue  # a document that carries its own version: the server's refusal is handled
        what = write.record.label
        yield Claim(
            "blind-http-put", write.site, write,
            f"the document at `{what}` is sent back changed, without the ETag it was read with",
            related=[Mark("read", read.site, "the document is read here"), *flow(trace, read, write),
                     Mark("write", write.site, "sent back; a change made since the read is overwritten")],
            guards=rejected(trace, read, write),
            record=what,
            help=help_of(write, "send the response's ETag back: headers={\"If-Match\": response.headers[\"ETag\"]}, and on 412 read again and compute again"),
            teach=f'disable = ["{write.entry[1]}"]  # [tool.noclobber]: where the last writer may win in every document reached through it',
            doubts=write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer == "maybe" else frozenset()),
            values=(("value", "the document"), ("changed", "its own change")),
            read=read,
        )
