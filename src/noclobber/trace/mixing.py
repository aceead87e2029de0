"""Tests that take a lost race and a request to slow down for the same: which codes and classes does each branch of a test stand for?"""
from __future__ import annotations

from typing import Any, Optional

from .events import Mixed
from .objects import State
from .values import NOTHING, Value

#: (codes of the branch where a test holds, codes of the other); nothing was asked.
NOT_ASKED: tuple = (NOTHING, NOTHING)
_CODE_STEPS = frozenset(("status_code", "status", "code", "http_status", "statuscode", "httpstatuscode", "error_code", "status_code()", "code()"))


class Mixing:
    """Mixin of Walker. `asked`: what the last test asked for."""

    asked: tuple = NOT_ASKED

    def codes_asked(self, left: Value, op: str, right: Value, state: State) -> tuple:
        """`status in (409, 429)`: the codes of the true branch; `!=` and `not in`: of the other."""
        if op not in ("==", "!=", "in", "not in"):
            return NOT_ASKED
        for subject, other in ((left, right), (right, left)):
            codes = frozenset(code for code in self._codes(other, state) if isinstance(code, (int, str)) and not isinstance(code, bool))
            if not codes or not self._is_code(subject):
                continue
            return (codes, NOTHING) if op in ("==", "in") else (NOTHING, codes)
        return NOT_ASKED

    def _is_code(self, subject: Value) -> bool:
        """The status of an answer that is no read's, or a code of an exception."""
        for origin in subject.origins:
            if origin.kind == "exc" or origin.kind == "outcome":
                return True
            if origin.kind in ("opaque", "param") and (str(origin.path[-1]).strip("[]'\"").lower() if origin.path else "") in _CODE_STEPS:
                return True
        return False

    def note_codes(self, node: Any, yes: Optional[State], no: Optional[State]) -> None:
        """After a test: a branch that stands for both is marked; a test for one of the two separates what was mixed before."""
        asked, self.asked = self.asked, NOT_ASKED
        if asked is NOT_ASKED or not (asked[0] or asked[1]):
            return
        for branch, codes in ((yes, asked[0]), (no, asked[1])):
            if branch is not None and codes and self.mixes(codes):
                self.mark_mixed(node, branch, codes)
        if any(self.is_conflict(code) or self.is_throttle(code) for codes in asked for code in codes) and not any(self.mixes(codes) for codes in asked):
            for branch in (yes, no):
                if branch is not None:
                    branch.done = frozenset(mark for mark in branch.done if not (type(mark[1]) is tuple and mark[1][0] == "mixed"))

    def mark_mixed(self, node: Any, state: State, codes: frozenset) -> None:
        if not self.regions:
            return
        event = self.event(Mixed, node, state, codes=self.mixed_of(codes))
        # A loop of a caller is run again for reasons of its own, where the test stands in a loop itself.
        own = [region for region in self.regions if region.event.ctx.calls == self.frames[-1].calls]
        state.done |= {(region.id, ("mixed", event.n)) for region in own or self.regions[-1:]}


def joined_codes(asked: list, op: str) -> tuple:
    """What `a or b`, `a and b` ask for: `or` stands for the codes of all, `and` for those of the operand that names some."""
    yes, no = [a[0] for a in asked if a[0]], [a[1] for a in asked if a[1]]
    every, first = (yes, no) if op == "or" else (no, yes)
    joined = frozenset().union(*every) if every else NOTHING
    single = first[0] if first else NOTHING
    return (joined, single) if op == "or" else (single, joined)
