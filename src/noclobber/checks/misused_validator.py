"""RMW306: an opaque tag that is not sent back as it came: cut, counted with, rebuilt, of another record, or replaced by `*` (RFC 9110 §8.8.3, §13.1.1)."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.validators import misused

_WORDS = {
    "altered": ("the tag in `{0}` was taken apart or counted with before it was sent back: only the tag as it came names the version that was read", "the tag came from here"),
    "rebuilt": ("the tag in `{0}` is put together by hand: only the server knows how its tags are made", ""),
    "order": ("tags were compared for order before this write: a tag only tells whether two versions are equal, not which is newer", "compared for order here"),
    "other": ("the tag in `{0}` came with another record than the one that is written", "the tag came from here"),
    "no-witness": ("what is given as `{0}` came with the read, but it is not the version of the record: the store compares it with something else", "not its version"),
    "exists": ("`{0}` says how the tag is compared, and this one only asks whether the record exists: a change made since the read is overwritten", "the record is read here"),
    "any": ("`{0}: *` only says that the record exists: a change made since the read is overwritten", "the record is read here"),
}


def check(trace: Trace) -> Iterator[Claim]:
    for write, kind, name, site in misused(trace):
        message, words = _WORDS[kind]
        yield Claim(
            "misused-validator", write.site, write, message.format(name),
            related=[*([Mark("read" if kind in ("any", "exists") else "witness", site, words)] if site is not None and words else []), Mark("write", write.site, "sent with this tag")],
            record=write.record.label,
            help="keep the tag of the answer that the value was computed from, unread and unchanged, and send exactly that; compare tags with == only",
            teach="a number that may be counted with is a version, not a tag: name it so (`version`, `revision`)",
            doubts=write.doubts,
            values=(("value", f"the document at `{write.record.label}`"), ("changed", "its own change")),
        )
