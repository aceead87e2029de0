"""Retry scopes: what they repeat, what bounds and paces them, and what they confuse."""
from __future__ import annotations

from typing import Iterator, Optional

from ..events import Effect, Event, Loop, Mixed, Site, Suspend, Trace, Write
from ..records import NO, same_record
from ..values import RANDOM, Value
from .conflicts import could_conflict


def conflict_retries(trace: Trace) -> Iterator[tuple[Loop, Write]]:
    """(scope, write) of each retry scope that runs again after the refusal of a conditional write: the first such write of each."""
    for loop in trace.of("loop"):
        for n in sorted(loop.retried - loop.accepted):
            write = trace.events[n]
            if could_conflict(write):
                yield loop, write
                break


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


def _repeated(trace: Trace, loop: Loop) -> Optional[Event]:
    found = sorted(inside(trace, loop), key=lambda event: (event.n not in loop.retried, event.n))
    return found[0] if found else None


def fallbacks(trace: Trace) -> Iterator[tuple[Write, Write]]:
    """(refused, forced): after the refusal of a conditional write the same thing is written without a condition."""
    for forced in trace.of("write"):
        if forced.conditional or forced.open_where or forced.verb not in ("replace", "update", "upsert", "delete") or any(p.kind in ("open", "create") for p in forced.preconditions):
            continue
        for n in sorted(forced.refused, reverse=True):
            refused = trace.events[n]
            if refused.n == forced.n or not refused.conditional or not _same_family(refused, forced) or same_record(refused.record, forced.record) == NO:
                continue
            if (refused.verb == "delete") != (forced.verb == "delete"):
                continue
            if _is_anew(trace, refused, forced):
                continue
            if forced.verb != "delete" and not _same_content(refused, forced):
                continue
            yield refused, forced
            break


def _same_family(refused: Write, forced: Write) -> bool:
    return refused.record.family == forced.record.family or {refused.record.family, forced.record.family} <= {"sql", "orm"}


def _is_anew(trace: Trace, refused: Write, forced: Write) -> bool:
    """It was computed from a read made after the refusal: another write, blind or not."""
    return any(o.kind == "read" and o.n > refused.n for o in forced.payload.origins)


def _same_content(refused: Write, forced: Write) -> bool:
    mine = {o for o in refused.payload.origins if o.kind not in ("const", "unknown")}
    other = {o for o in forced.payload.origins if o.kind not in ("const", "unknown")}
    if refused.payload is forced.payload or mine & other:
        return True
    if mine or other:
        return False
    # Constants only (`SET status = 'done'`): the same columns.
    columns = {column for column, _ in forced.columns or ()}
    return not refused.columns and not forced.columns or bool(columns & {column for column, _ in refused.columns or ()})
