"""What happens while a transaction is open: the rows it has written, the effects and pauses it has gone through.

Every path remembers what it has passed since its transaction began, as marks in `State.done`; where the transaction ends well they are
noted on its Begin or Commit event. A path that rolls back or raises has undone nothing that anybody relies on, so it notes nothing.
"""
from __future__ import annotations

from typing import Any, Optional

from .events import Lock
from .objects import State
from .values import Value

#: Mark in `State.done`: ("tx", number of the event).
TRANSACTION = "tx"
#: Kinds of what an open transaction holds by itself.
OPEN = frozenset(("atomic", "serializable", "unit", "begin"))


class Spans:
    """Mixin of Walker (through Effects)."""

    def passes(self, event: Any, state: State) -> None:
        """Remember a write, an effect or a pause of this path, and which writes it has behind it that were not refused."""
        if event.kind != "write" or event.record.family == "http":
            behind = frozenset(n for tag, n in state.done if tag == TRANSACTION) - state.lost
            self.trace.behind[event.n] = self.trace.behind.get(event.n, frozenset()) | behind
        state.done |= {(TRANSACTION, event.n)}

    def rows_written(self, event: Any, state: State) -> None:
        """A row that a transaction has written stays locked until its end, whatever its isolation level."""
        self.passes(event, state)
        if not any(lock.kind == "written" for lock in state.held):
            # SERIALIZABLE as a property of the connection opens no transaction.
            if any(lock.kind in OPEN and (lock.scope == "block" or lock.kind != "serializable") for lock in state.held):
                state.held |= {Lock("written", event.n, "tx")}

    def span_ends(self, event: Any, state: State, well: bool = True, session: Optional[Value] = None) -> None:
        """The transaction ends here. event: its Begin or Commit; well: it was committed; session: whose it was, where that is known."""
        marks = frozenset(mark for mark in state.done if mark[0] == TRANSACTION and not self.other_session(session, getattr(self.trace.events[mark[1]], "session", None)))
        if not marks:
            return
        if well:
            event.passed |= frozenset(n for _, n in marks)
        state.done -= marks
