"""Who else writes a field of a model, and how: the strongest evidence that a write races, and the repair in the project's own idiom (DESIGN §8)."""
from __future__ import annotations

from typing import Iterator, Sequence

from ..events import Site, Trace, Write
from .claims import Claim
from .guards import GUARDS

#: What a writer does, as it is said of one and of several, in the order in which it is told.
LOCKED = ("locks the row", "lock the row")
COMPUTED = ("lets the database compute it", "let the database compute it")
CONDITIONAL = ("repeats the test in its condition", "repeat the test in their condition")
BLIND = ("is as blind as this one", "are as blind as this one")
WAYS = (LOCKED, COMPUTED, CONDITIONAL, BLIND)


def ways(trace: Trace, claims: Sequence[Claim], table: tuple, field: str) -> Iterator[tuple[Site, tuple[str, str]]]:
    """(site, way) of each write of a field whose new value depends on the old one, or that is guarded.

    `table`: type names of the model's class, as in `Record.table`; `claims`: what the checks said of this trace. A write that sets the
    field outright, whatever it was, is no witness for either side.
    """
    for event in trace.of("write"):
        if not isinstance(event, Write) or event.record.family != "orm" or not isinstance(event.record.table, tuple) or not set(table) & set(event.record.table):
            continue
        changed = {number for number, path in event.changes or () if path and path[0] == field}
        if not changed and field not in {name for name, _ in event.columns or ()}:
            continue
        if any(claim.write is event and claim.record.rpartition(".")[2] == field for claim in claims):
            yield event.site, BLIND
        elif field in (event.self_columns or ()):
            yield event.site, COMPUTED
        elif any(lock.kind in GUARDS for lock in event.ctx.held):
            yield event.site, LOCKED
        elif event.conditional:
            yield event.site, CONDITIONAL


def told(record: str, found: Sequence[tuple[str, str, tuple[str, str]]]) -> str:
    """The census of `record` ('Account.balance') as a sentence; "" when there is no other writer.

    `found`: (function, place, way) of each other function, in the order of the files.
    """
    parts = []
    for way in WAYS:
        members = [f"{function}() at {place}" for function, place, other in found if other == way]
        if members:
            parts.append(f"{len(members)} {way[len(members) > 1]} ({'e.g. ' if len(members) > 1 else ''}{members[0]})")
    return f"other writers of `{record}`: {'; '.join(parts)}" if parts else ""
