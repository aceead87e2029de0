"""Effects in code that runs again: is it a retry, a replayed transaction, and would the effect be the same one?"""
from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from ..events import Begin, Effect, Event, Fresh, Loop, Trace


def is_retry(loop: Loop, n: int, cause: object = "exception") -> bool:
    """Is another round of this loop another attempt, after `cause`, and not the next item or poll?"""
    if loop.how == "loop" and (loop.items or cause == "exception" and loop.quiet):
        return False
    return not (isinstance(cause, int) and cause in loop.accepted)


def repeats(loop: Loop, event: Event) -> bool:
    """Does another round of the loop come by this event? A function that calls itself comes by all that it did before that."""
    if loop.how == "recursion":
        return event.n < loop.n and event.ctx.calls[:len(loop.ctx.calls)] == loop.ctx.calls
    return loop.n in event.ctx.loops


def is_replayed(trace: Trace, loop: Loop, effect: Effect) -> str:
    """Words for what runs the code around the effect again as a transaction or a compare-and-swap; '' where it does not."""
    if loop.n not in effect.ctx.loops:
        return ""
    if loop.policy is not None and loop.policy.replays == "transaction":
        return f"{loop.label or loop.policy.label}() runs it again after a conflict"
    cause = loop.replayed.get(effect.n)
    if cause is None:
        return ""
    begun = _transaction_inside(trace, loop, effect)
    if loop.how in ("decorator", "attempts") and loop.how != "transport":
        return "the whole transaction runs again after a failure" if begun is not None else ""
    if loop.how == "loop" and is_retry(loop, effect.n, cause) and _through_callback(loop, effect):
        if isinstance(cause, int):
            return "it is called again after each lost race"
        return "the transaction around it runs again after a failure" if begun is not None else ""
    return ""


def _transaction_inside(trace: Trace, loop: Loop, effect: Effect) -> Optional[Event]:
    """The transaction that was begun inside the loop and is open at the effect."""
    for lock in effect.ctx.held:
        event = trace.events[lock.n] if 0 <= lock.n < len(trace.events) else None
        if isinstance(event, Begin) and loop.n in event.ctx.loops:
            return event
    return None


def _through_callback(loop: Loop, effect: Effect) -> bool:
    """Does the loop's function call the effect's through a function that it was given?"""
    calls = effect.ctx.calls
    depth = len(loop.ctx.calls)
    return calls[:depth] == loop.ctx.calls and any(len(call) > 2 for call in calls[depth:])


class Renewed(NamedTuple):
    """A key that is another one with each attempt. made: where it is made, or None."""

    effect: Effect
    loop: Loop
    made: Optional[Fresh]


def renewed_keys(trace: Trace) -> Iterator[Renewed]:
    """Effects whose idempotency key is made anew inside the scope that repeats them."""
    said = set()
    for loop in reversed(trace.of("loop")):
        for effect in trace.of("effect"):
            if effect.key is None or effect.n in said or not repeats(loop, effect) or loop.how == "transport":
                continue
            replayed = loop.policy is not None and loop.policy.replays == "transaction"
            cause = loop.replayed.get(effect.n)
            if not replayed and not (cause is not None and is_retry(loop, effect.n, cause)) and not (effect.n in loop.resent and is_retry(loop, effect.n)):
                continue
            made = _made_inside(trace, loop, effect)
            if made is not None:
                said.add(effect.n)
                yield Renewed(effect, loop, made)
            elif any(o.kind == "attempt" and o.n == loop.n or o.kind == "param" and o.path[-1:] == ("retries",) for o in effect.key.origins):
                said.add(effect.n)
                yield Renewed(effect, loop, None)


def _made_inside(trace: Trace, loop: Loop, effect: Effect) -> Optional[Fresh]:
    for origin in sorted((o for o in effect.key.origins if o.kind == "fresh"), key=lambda o: -o.n):
        made = trace.events[origin.n]
        # `if key is None: key = uuid4()`: made once, whichever attempt comes first.
        if repeats(loop, made) and origin not in made.ctx.control:
            return made
    return None


#: What a provider does twice when it is asked twice. A mail or message that may come twice is a lesser evil than one that never comes.
_COSTLY = frozenset(("http", "payment", "remote"))


def unkeyed(trace: Trace) -> Iterator[tuple]:
    """(effect, loop) of requests that are sent again, without a key, because they themselves failed with an unknown outcome."""
    said = set()
    for loop in reversed(trace.of("loop")):
        for effect in trace.of("effect"):
            if effect.what not in _COSTLY or effect.key is not None or effect.n in said or not repeats(loop, effect):
                continue
            if loop.policy is not None and loop.policy.replays == "transaction":
                continue  # it runs again after a conflict, not because the request has failed
            if loop.how == "transport":
                again = effect.n in loop.replayed
            else:
                again = effect.n in loop.resent and effect.n not in loop.replayed and is_retry(loop, effect.n)
            if again:
                said.add(effect.n)
                yield effect, loop
