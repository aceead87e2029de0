"""Documents in files: loaded, changed and written back over the file they came from."""
from __future__ import annotations

from typing import Iterator

from ..events import Read, Trace, Write
from ..records import YES, same_record
from ..values import Lit, Origin, Value
from .writes import blind_writes

_SCRATCH_TEXTS = ("/tmp/", "/var/tmp/", "/dev/shm/")
#: Words in a path that say that its content can be made again, or that it is of a test.
_WORDS = ("cache", "tmp", "temp", "test", "tests", "testdata", "fixture", "fixtures", "scratch", "mock")


def file_rewrites(trace: Trace) -> Iterator[tuple[Write, Read, Origin, str]]:
    """(write, read, origin, same) of each document that is loaded from a file and, changed, written over it."""
    for write, read, origin, answer in blind_writes(trace, ("file",), ("replace",)):
        if is_shared_document(trace, read, write):
            yield write, read, origin, answer


def is_shared_document(trace: Trace, read: Read, write: Write) -> bool:
    """Is it a document that others may write, and was it changed on the way?"""
    return read.n in trace.parsed and not is_scratch(trace, write) and not _is_gone_through(write) and not _made_here(trace, read) and _is_changed(trace, read, write)


def _is_gone_through(write: Write) -> bool:
    """One of many files that a tool goes through and edits: sources, notebooks, whatever it was called with. State has a path of its own."""
    return any(value.shape is None and any(o.kind == "item" for o in value.origins) for _, value in write.record.key)


def is_scratch(trace: Trace, write: Write) -> bool:
    """A temporary or scratch file, one of a test, one of a cache."""
    return any(_scratch(trace, value, 4) or _of_temporary(trace, value) for _, value in write.record.key)


def _of_temporary(trace: Trace, value: Value) -> bool:
    """`with NamedTemporaryFile(delete=False) as file: path = file.name`: the name of a file that was opened without one."""
    made = [trace.events[o.n] for o in value.same if o.kind == "outcome" and [str(step) for step in o.path] == ["name"]]
    return any(isinstance(event, Write) and event.record.family == "file" and not event.record.key for event in made)


def _scratch(trace: Trace, value: Value, depth: int) -> bool:
    if "scratch" in value.flags or value.name and trace.match("private_copy", value.name):
        return True
    pieces = [str(value.shape.value)] if type(value.shape) is Lit else [p for p in getattr(value.shape, "parts", ()) if isinstance(p, str)]
    for piece in pieces:
        if piece.startswith(_SCRATCH_TEXTS):
            return True
        words = piece.lower().replace("\\", "/").replace("_", "/").replace("-", "/").replace(".", "/").split("/")
        if any(word in _WORDS for word in words):
            return True
    names = [str(part) for o in value.same for part in (o.n if isinstance(o.n, str) else "", *o.path[-1:]) if part]
    if any(word in _WORDS for name in names for word in name.strip("[]'\"").lower().replace(".", "_").split("_")):
        return True
    return depth > 0 and any(_scratch(trace, part, depth - 1) for part in getattr(value.shape, "parts", ()) if isinstance(part, Value))


def _made_here(trace: Trace, read: Read) -> bool:
    """This very function has made the file before it reads it: nobody else knows it yet."""
    for write in trace.of("write"):
        if write.n < read.n and write.record.family == "file" and same_record(write.record, read.record) == YES and not any(o.kind == "read" for o in write.payload.origins):
            return True
    return False


def _is_changed(trace: Trace, read: Read, write: Write) -> bool:
    """Written back as it was read (another indentation) is no change."""
    for event in trace.of("change"):
        if read.n < event.n < write.n + 3 and any(o.kind == "read" and o.n == read.n for o in (*event.base, *event.value.origins)):
            if event.obj not in _handles(trace, write):
                return True
    mine = [o for o in write.payload.origins if o.kind == "read" and o.n == read.n]
    others = [o for o in write.payload.origins if o not in mine and o.kind not in ("outcome", "opaque", "const")]
    return bool(others) or any(o.path not in ((), ("json",)) for o in mine)


def _handles(trace: Trace, write: Write) -> frozenset:
    """Objects of the open file that is written: what goes into it is no change of the document."""
    return frozenset(event.obj for event in trace.of("change") if any(o.kind == "outcome" and o.n == write.n for o in event.base))
