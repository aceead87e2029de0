"""Retry scopes: what they repeat, what bounds and paces them, and what they confuse."""
from __future__ import annotations

from typing import Iterator, Optional

from ..events import Effect, Event, Loop, Mixed, Read, Site, Suspend, Trace, Write
from ..records import NO, YES, same_record
from ..values import RANDOM, Value
from .conflicts import could_conflict
from .guards import same

_CONTENT = frozenset(("read", "param", "opaque", "item", "outcome", "global"))


def conflict_retries(trace: Trace) -> Iterator[tuple[Loop, Write]]:
    """(scope, write) of each retry scope that runs again after the refusal of a conditional write: the first such write of each."""
    for loop in trace.of("loop"):
        for n in sorted(loop.retried - loop.accepted):
            write = trace.events[n]
            if could_conflict(write) and not is_next_item(trace, loop, write):
                yield loop, write
                break


def is_next_item(trace: Trace, loop: Loop, write: Write) -> bool:
    """The loop looks for a row that it may have (`SELECT … WHERE status = 'queued' LIMIT 1`, claim it): after a refusal it goes on with another one."""
    for column, value in write.record.key:
        for origin in value.same:
            read = trace.events[origin.n] if origin.kind == "read" else None
            if read is not None and loop.n in read.ctx.loops and column not in {name for name, _ in read.record.key}:
                return True
    return False


def policy_place(loop: Loop, write: Event) -> Optional[Site]:
    """Where a retry scope that repeats a function stands: its decorator, the call that hands the function over, the request; None: a loop over its own statements."""
    if loop.how in ("decorator", "transport"):
        return loop.site
    if loop.how == "loop" and loop.given:
        if loop.decorator is not None:
            return loop.decorator
        calls = write.ctx.calls[len(loop.ctx.calls):]
        if calls and calls[0][0] in loop.given:
            return loop.ctx.calls[-1][1] if loop.ctx.calls and isinstance(loop.ctx.calls[-1][1], Site) else None
    return None


def inside(trace: Trace, loop: Loop) -> Iterator[Event]:
    """Writes and effects of a scope."""
    for event in trace.events:
        if isinstance(event, (Write, Effect)) and loop.n in event.ctx.loops:
            yield event


def is_poll(loop: Loop) -> bool:
    """It goes over things, or runs again when nothing went wrong: the next round is no other attempt."""
    return loop.how == "loop" and (loop.items or loop.quiet)


def pauses_without_jitter(trace: Trace, loop: Loop) -> Iterator[Suspend]:
    """The sleeps on the way back after a conflict whose length is fixed or only grows."""
    if any(refused and _is_random(trace.events[n].value) for n, refused in loop.pauses):
        return
    for n in sorted(n for n, refused in loop.pauses if refused):
        event = trace.events[n]
        if event.value is not None and not event.value.is_none and event.value.literal != 0 and not _is_unknown(event.value):
            yield event


def _is_random(value: Optional[Value]) -> bool:
    return value is not None and RANDOM in value.origins


def _is_unknown(value: Value) -> bool:
    """It came out of something that was not followed, or from the answer (`Retry-After`)."""
    return any(o.kind in ("opaque", "read", "outcome", "exc") for o in value.origins) or not value.origins


def mixed_tests(trace: Trace) -> Iterator[tuple[Loop, Site, frozenset, Event]]:
    """(scope, place of the test, what it names, the write or effect that is repeated) where a conflict and a request to slow down lead back alike."""
    said = set()
    for loop in reversed(trace.of("loop")):  # the innermost scope tells it
        if is_poll(loop):
            continue
        repeated = _repeated(trace, loop)
        if repeated is None:
            continue
        if loop.policy is not None and loop.policy.mixed:
            policy = loop.policy
            yield loop, policy.on.site or policy.site or loop.site, policy.mixed, repeated
        for n in sorted(n for n, _ in loop.mixed):
            event = trace.events[n]
            if isinstance(event, Mixed) and n not in said:
                said.add(n)
                yield loop, event.site, event.codes, repeated


#: What only adds a message: nothing was read for it, so a conflict asks for no new read.
_ADDS = frozenset(("publish", "enqueue", "email", "sms", "chat"))


def _repeated(trace: Trace, loop: Loop) -> Optional[Event]:
    found = sorted((event for event in inside(trace, loop) if not (isinstance(event, Effect) and event.what in _ADDS)), key=lambda event: (event.n not in loop.retried, event.n))
    return found[0] if found else None


def fallbacks(trace: Trace) -> Iterator[tuple[Write, Write]]:
    """(refused, forced): after the refusal of a conditional write the same thing is written without a condition."""
    for forced in trace.of("write"):
        if forced.conditional or forced.open_where or forced.verb not in ("replace", "update", "upsert", "delete") or any(p.kind in ("open", "create") for p in forced.preconditions):
            continue
        for n in sorted(forced.refused, reverse=True):
            refused = trace.events[n]
            if refused.n == forced.n or not refused.conditional or not _same_family(refused, forced) or not _same_target(trace, refused, forced):
                continue
            if (refused.verb == "delete") != (forced.verb == "delete"):
                continue
            if _is_anew(trace, refused, forced):
                continue
            if forced.verb != "delete" and not _same_content(refused, forced):
                continue
            yield refused, forced
            break


def is_fallback(trace: Trace, write: Write) -> bool:
    return any(forced is write for _, forced in fallbacks(trace))


def dropped_conditions(trace: Trace) -> Iterator[tuple[Loop, Write]]:
    """(loop, write) of each write that a loop sends again, after its refusal, without the condition."""
    for loop in trace.of("loop"):
        for n in sorted(loop.dropped - loop.accepted):
            yield loop, trace.events[n]


def _same_target(trace: Trace, refused: Write, forced: Write) -> bool:
    """The same record, by the same key or by that of the read that both go back to (`doc["_id"]`, and what it was found by); or the same store is
    given the very object again by another call (`replace_item(id, body=item)`, `upsert_item(item)`)."""
    if same_record(refused.record, forced.record) != NO:
        return True
    reads = {o.n for o in refused.payload.origins & forced.payload.origins if o.kind == "read"}
    if any(isinstance(trace.events[n], Read) and same(trace, trace.events[n], refused) == YES == same(trace, trace.events[n], forced) for n in reads):
        return True
    if refused.entry != forced.entry or {name for name, _ in refused.record.key} & {name for name, _ in forced.record.key}:
        return False
    return refused.payload is forced.payload or bool(refused.payload.objs & forced.payload.objs) or bool(
        {o for o in refused.payload.origins if o.kind == "read"} & {o for o in forced.payload.origins if o.kind == "read"})


def _same_family(refused: Write, forced: Write) -> bool:
    return refused.record.family == forced.record.family or {refused.record.family, forced.record.family} <= {"sql", "orm"}


def _is_anew(trace: Trace, refused: Write, forced: Write) -> bool:
    """It was computed from a read made after the refusal: another write, blind or not."""
    return any(o.kind == "read" and o.n > refused.n for o in forced.payload.origins)


def _same_content(refused: Write, forced: Write) -> bool:
    if refused.columns and forced.columns:
        before = dict(refused.columns)
        return any(column in before and _same_value(before[column], value) for column, value in forced.columns)
    return _same_value(refused.payload, forced.payload)


def _same_value(one: Value, two: Value) -> bool:
    if one is two:
        return not any(o.kind == "server" for o in one.origins)
    return bool({o for o in one.origins if o.kind in _CONTENT} & {o for o in two.origins if o.kind in _CONTENT})
