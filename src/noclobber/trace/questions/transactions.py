"""Open transactions: which effects, requests and pauses happen while one is open, and what it holds then."""
from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from ..events import Begin, Change, Commit, Effect, Event, Lock, LockEvent, Pending, Read, Suspend, Trace, Write
from .effects import LASTING

_ROWS = frozenset(("sql", "orm"))
#: How many calls below the function that it has in common with an effect a conditional write stands that has nothing to do with it.
FAR = 3
#: Locks that keep other writers waiting, the most telling first.
_WAITING = ("row", "advisory", "table", "begin", "pattern", "written")


class Early(NamedTuple):
    """An effect that is done before the transaction around it is committed. begin: where it begins or is committed; write: one of its writes."""

    effect: Effect
    begin: Event
    write: Event


def early_effects(trace: Trace) -> Iterator[Early]:
    """Effects that some way through a transaction does before the commit, where the transaction writes as well."""
    said = set()
    for end in trace.events:
        if not isinstance(end, (Begin, Commit)):
            continue
        passed = [trace.events[n] for n in sorted(end.passed)]
        writes = [event for event in passed if isinstance(event, Write) and event.record.family in _ROWS or isinstance(event, Pending)]
        for effect in passed:
            if not isinstance(effect, Effect) or effect.what not in LASTING or effect.key is not None or effect.n in said:
                continue
            if effect.what == "enqueue" and effect.delayed:
                continue  # `countdown=10`: whoever wrote it has the commit come first, and the task look again
            if isinstance(end, Begin):
                own = [write for write in writes if _inside(end, write) and _inside(end, effect) and not (end.alias and isinstance(write, Write) and not write.directed)]
            else:
                behind = trace.behind.get(effect.n, ())
                own = [write for write in writes if write.n in behind or isinstance(write, Write) and write.unit and _first_step(trace, write) < effect.n < write.n]
            own = [write for write in own if not _by_the_way(trace, write, effect)]
            if own:
                said.add(effect.n)
                yield Early(effect, end, own[0])


def _inside(begin: Event, event: Event) -> bool:
    return any(lock.n == begin.n for lock in event.ctx.held)


def _first_step(trace: Trace, write: Write) -> int:
    """A unit of work writes at its flush what was changed before, in an object that a session held."""
    changes = [trace.events[n] for n, _ in write.changes] if write.unit else []
    return min([write.n, *(change.n for change in changes if isinstance(change, Change) and not change.detached)])


def label_of(write: Event) -> str:
    return write.record.label if isinstance(write, Write) else write.label


class Waiting(NamedTuple):
    """Something slow that is done while others wait for a lock. lock: where it was taken (a read, a lock, a write); what: words; name: of the slow call."""

    call: Event
    lock: Event
    what: str
    name: str
    doubts: frozenset = frozenset()


def slow_calls(trace: Trace) -> Iterator[Waiting]:
    """Requests, model calls and sleeps under a row lock, an advisory lock or in a transaction that has written; the first for each lock."""
    said: set = set()
    for event in trace.events:
        slow = _slow(event)
        if slow is None:
            continue
        held = [lock for lock in event.ctx.held if lock.kind in _WAITING and _waits(trace, lock) and (lock.kind != "written" or _written(trace, event))]
        if not held:
            read = _read_in_store_transaction(trace, event)
            if read is not None and read.n not in said:
                said.add(read.n)
                yield Waiting(event, read, f"the transaction that has read `{read.record.label}`", *slow)
            continue
        taken = {lock.n for lock in held}
        if taken & said:
            said |= taken
            continue
        said |= taken
        lock = min(held, key=lambda lock: (_WAITING.index(lock.kind), lock.n))
        source = trace.events[lock.n]
        yield Waiting(event, source, _words(trace, lock), slow[0], slow[1] | (frozenset(("name-only",)) if lock.kind == "pattern" else frozenset()))
    for end in trace.of("commit"):
        for n in sorted(end.passed):
            event, slow = trace.events[n], _slow(trace.events[n])
            if slow is None or any(lock.kind in _WAITING for lock in event.ctx.held) or event.ctx.calls[:len(end.ctx.calls)] != end.ctx.calls:
                continue
            first = next((w for w in _written(trace, event) if w.n in end.passed), None)
            if first is not None and first.n not in said:
                said.add(first.n)
                yield Waiting(event, first, f"the transaction that has written `{first.record.label}`", *slow)


def _read_in_store_transaction(trace: Trace, event: Event) -> Optional[Read]:
    """The read of a document store's transaction that is written in after the call: the store holds the document, or makes the transaction start again."""
    for write in trace.of("write"):
        if write.n < event.n or write.record.family != "document":
            continue
        for lock in write.ctx.held:
            read = trace.events[lock.n] if lock.kind == "optimistic" and 0 <= lock.n < event.n else None
            if lock.kind == "serializable":
                read = next((r for r in trace.of("read") if r.n < event.n and r.record.family == "document" and lock in r.ctx.held and lock in event.ctx.held), None)
            if isinstance(read, Read) and read.record.family == "document" and read.ctx.held & event.ctx.held & write.ctx.held:
                return read
    return None


def _written(trace: Trace, event: Event) -> list:
    """The statements that its transaction has run before it and that were not refused."""
    found = (trace.events[n] for n in sorted(trace.behind.get(event.n, ())))
    return [write for write in found if isinstance(write, Write) and write.record.family in _ROWS and not _by_the_way(trace, write, event)]


def _by_the_way(trace: Trace, write: Event, event: Event) -> bool:
    """Is the write deep in something that was called before, and only on a way through it that seldom is taken (a token that has run out is deleted where the connection is opened)?
    Then it is not what the transaction is for."""
    if isinstance(write, Write) and write.unit and write.changes:
        return all(_by_the_way(trace, trace.events[n], event) for n, _ in write.changes)
    depth = next((place for place, (mine, other) in enumerate(zip(write.ctx.calls, event.ctx.calls)) if mine != other), min(len(write.ctx.calls), len(event.ctx.calls)))
    return len(write.ctx.calls) - depth >= FAR and any(o.kind == "test" and len(o.path) == 1 and o not in event.ctx.control for o in write.ctx.control)


def _slow(event: Event) -> Optional[tuple]:
    """(name, doubts) of a call that takes long, or None."""
    if isinstance(event, Suspend):
        if event.value is not None:
            return None if event.value.literal == 0 else (f"{event.what}()", frozenset())
        if event.model:
            return f"{event.what}()", frozenset()
        return (f"{event.what}()", frozenset(("pattern-only",))) if event.what in ("invoke", "ainvoke", "chat", "generate", "complete") else None
    if isinstance(event, (Read, Write)) and event.record.family == "http":
        return f"the request to {event.record.label}", frozenset()
    return None


def _waits(trace: Trace, lock: Lock) -> bool:
    """Does it keep other writers waiting?"""
    event = trace.events[lock.n] if 0 <= lock.n < len(trace.events) else None
    if lock.kind == "advisory" and lock.scope == "session" and isinstance(event, LockEvent) and event.asked:
        return False  # one job at a time: no row and no transaction is held, and who does not get it goes on
    if lock.kind == "begin":
        return isinstance(event, Begin) and ("IMMEDIATE" in event.label or "EXCLUSIVE" in event.label)
    if lock.kind == "pattern":
        return isinstance(event, LockEvent) and lock.scope == "tx"
    if lock.kind == "written":
        return isinstance(event, Write)
    return event is not None and (lock.kind != "row" or isinstance(event, Read) or lock.source is not None)


def _words(trace: Trace, lock: Lock) -> str:
    event = trace.events[lock.n]
    if lock.kind == "written":
        return f"the transaction that has written `{event.record.label}`"
    if lock.kind == "begin":
        return f"the write lock of `{event.label}`"
    if lock.kind in ("advisory", "table"):
        return f"the {lock.kind} lock"
    record = lock.record or getattr(event, "record", None)
    return f"the row lock on `{record.label}`" if record is not None and record.label else "the row lock"

