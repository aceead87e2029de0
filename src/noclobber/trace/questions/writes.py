"""Writes whose value derives from an earlier read of the same record, whatever the store."""
from __future__ import annotations

from typing import Iterable, Iterator

from ..events import Read, Trace, Write
from ..records import NO, YES
from ..values import Origin, Value
from .claims import Mark
from .guards import guard_between, reads_in, same
from .retries import is_fallback
from .tests import on_one_way, tests_before


def blind_writes(trace: Trace, family: Iterable[str], verbs: Iterable[str]) -> Iterator[tuple[Write, Read, Origin, str]]:
    """(write, read, origin, same) of each write whose payload derives from an earlier read of the same record with no guard between. Those that
    go through an accessor pair of the project stand at the setter's call, under a rule of their own."""
    from .accessors import paired

    for found in derived_writes(trace, family, verbs):
        if paired(trace, found[1], found[0]) is None:
            yield found


def derived_writes(trace: Trace, family: Iterable[str], verbs: Iterable[str]) -> Iterator[tuple[Write, Read, Origin, str]]:
    """The same, however they come about. One for a write: the surest read, the nearest of these."""
    families, wanted = frozenset(family), frozenset(verbs)
    for write in trace.of("write"):
        if write.record.family not in families or write.verb not in wanted or write.conditional or write.open_where:
            continue
        if any(p.kind in ("open", "create") for p in write.preconditions) or _is_new(trace, write) or write.refused and is_fallback(trace, write):
            continue
        best = None
        for column, value in write.columns or (("", write.payload),):
            if column in write.self_columns:
                continue
            for read, origin in reads_in(trace, value):
                if read.record.family not in families | {"orm", "sql"} or write.verb == "update" and _only_asked_about(column, origin) or write.columns is None and _is_set_once(trace, origin):
                    continue
                answer = same(trace, read, write)
                if answer == NO or not origin.path and _missed(trace, read, write):
                    continue
                if guard_between(trace, read, write) is not None:
                    best = None
                    break
                rank = (answer == YES, read.n)
                if best is None or rank > best[0]:
                    best = (rank, read, origin, answer)
            else:
                continue
            break
        if best is not None:
            yield write, best[1], best[2], best[3]


def _is_set_once(trace: Trace, origin: Origin) -> bool:
    """`row["created_at"] = old["created_at"]`: what is kept of the document that is there never changes, so that nothing of it can be lost."""
    return bool(origin.path) and trace.match("set_once_column", str(origin.path[-1]).strip("[]'\""))


def _only_asked_about(column: str, origin: Origin) -> bool:
    """`SET url = render(job["scene"])`: another field was handed to a call that nothing is known of; what comes back is not made of the record."""
    return bool(column) and len(origin.path) > 1 and str(origin.path[-1]) in ("()", "(.)") and column not in (str(step).strip("[]'\"") for step in origin.path)


def _missed(trace: Trace, read: Read, write: Write) -> bool:
    """`if cached is None: … cache.set(key, made)`: nothing was there, so nothing that was read can be in what is written."""
    for test, branch in tests_before(trace, write):
        if any(origin.kind == "read" and origin.n == read.n and not origin.path for origin in test.left.same):
            none = test.right is not None and test.right.is_none
            if branch == "yes" and test.op in ("is", "==") and none or branch == "no" and (test.op == "truth" or test.op in ("is not", "!=") and none):
                return True
    return False


def _is_new(trace: Trace, write: Write) -> bool:
    """The key is what an INSERT of this function gave back: nobody else knows the row yet."""
    for _, value in write.record.key:
        for origin in value.same:
            if origin.kind == "outcome" and isinstance(trace.events[origin.n], Write) and trace.events[origin.n].verb == "create":
                return True
    return False


def flow(trace: Trace, read: Read, write: Write) -> list:
    """The changes between read and write through which the value went, as related places."""
    marks = []
    for event in trace.of("change"):
        if read.n < event.n < write.n and any(o.kind == "read" and o.n == read.n for o in (*event.value.origins, *event.base)):
            marks.append(Mark("change", event.site, "the new value is computed from it"))
    return marks[:3]


def relies_on(trace: Trace, write: Write, one_round: bool = False) -> bool:
    """Does something after the write count on its having been accepted: an effect, another write, with nothing asked between?

    one_round: in the function of the write, and not on the other branch of a test that leads to it: a caller's loop has begun another round.
    """
    depth = len(write.ctx.calls)
    for event in trace.events[write.n + 1:]:
        if one_round and (event.ctx.calls[:depth] != write.ctx.calls or not on_one_way(event, write)):
            continue
        if write.n in trace.unchecked and event.kind in ("effect", "write") and write.n not in event.ctx.unseen:
            continue  # no run comes from the write to this with its outcome still open
        if event.kind == "effect":
            return True
        if event.kind == "write" and event.n != write.n and event.verb != "append":
            return True
        if one_round and event.kind == "call" and event.ctx.calls != write.ctx.calls:
            continue
        if event.kind == "call" and any(o.kind == "read" or any(o in v.same for _, v in write.record.key) for o in event.value.origins):
            return True  # what was read with the row goes on as if it were ours
    return False


def is_step(value: Value, read: Read) -> bool:
    """A count: what was read, plus or minus something."""
    return any(o.kind == "read" and o.n == read.n for o in value.incr)


def is_collected(trace: Trace, read: Read, write: Write) -> bool:
    """Is something put into what was read: an entry of a list or of a mapping?"""
    return any(event.n < write.n and event.n > read.n and event.op in ("mutate", "item", "aug") and any(o.kind == "read" and o.n == read.n for o in (*event.base, *event.value.origins))
               for event in trace.of("change"))


def story(write: Write, origin: Origin) -> tuple:
    """What the interleaving counts: down or up where the new value is the old one minus or plus something, else whose change is there."""
    values = [value for name, value in write.columns or () if origin in value.origins and name != "?"] or [write.payload]
    if not any(origin in value.incr for value in values):
        return ("old", "as it was"), ("basis", "what it has read"), ("once", "with A's change"), ("twice", "with B's change"), ("lost", "with B's change, without A's")
    if any("minus" in value.flags for value in values):
        return ()
    return ("old", "100"), ("basis", "100"), ("once", "110"), ("twice", "120"), ("lost", "120, should be 130")
