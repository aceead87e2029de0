"""What a helper's answer says about the write that it made: `return False` where it was refused, `return True` where it was accepted.

The states behind a helper's returns are joined; which of them goes with which answer is kept here, so that a test of the answer
tells the refusal from the success.
"""
from __future__ import annotations

from typing import Any

from .objects import State
from .spans import TRANSACTION
from .values import NOT_LITERAL, Origin, Value

WON, LOST, NEITHER = "won", "lost", "neither"
_OTHER = ("object",)


class Verdicts:
    """Mixin of Walker. `answers`: {step: {answer: won | lost | neither}}; an answer is a literal or _OTHER."""

    answers: dict

    def with_verdicts(self, result: Value, frame: Any, node: Any) -> Value:
        """The joined result of a call with an origin for each conditional write of its own whose outcome its answers tell apart."""
        returns = frame.returns
        seen = {n for state, _ in returns for n in state.won | state.lost}
        written = {n for n in seen if self.trace.events[n].conditional and self.trace.events[n].ctx.calls[:len(frame.calls)] == frame.calls}
        for n in sorted(written):
            by_answer: dict = {}
            for state, value in returns:
                lost, won = n in state.lost, n in state.won
                verdict = None if lost and won else LOST if lost else WON if won else NEITHER
                by_answer.setdefault(_answer(value), set()).add(verdict)
            if any(len(verdicts) > 1 or None in verdicts for verdicts in by_answer.values()) or not {(LOST,), (WON,)} & {tuple(v) for v in by_answer.values()} or len(by_answer) < 2:
                continue
            if any(o.kind == "outcome" and o.n == n for o in result.same | result.incr):
                continue
            step = f"@{n}:{self.object_id_of(('answer', id(node.at), self.frames[-1].calls, n))}"
            self.answers[step] = {answer: next(iter(verdicts)) for answer, verdicts in by_answer.items()}
            origin = Origin("outcome", n, (step,))
            result = self.values.replace(result, origins=result.origins | {origin}, incr=result.incr | {origin})
        return self.with_past(result, frame, node)

    def with_past(self, result: Value, frame: Any, node: Any) -> Value:
        """The joined result with an origin that tells which effects and pauses of the call cannot have been where it gives a certain answer."""
        passed: dict = {}
        for state, value in frame.returns:
            passed.setdefault(_answer(value), set()).update(n for tag, n in state.done if tag == TRANSACTION and n > frame.first)
        every = set().union(*passed.values())
        if len(passed) < 2 or all(every == own for own in passed.values()):
            return result
        step = f"@{self.object_id_of(('past', id(node.at), self.frames[-1].calls))}"
        self.answers[step] = {answer: frozenset(every - own) for answer, own in passed.items()}
        origin = Origin("answer", frame.first, (step,))
        return self.values.replace(result, origins=result.origins | {origin}, incr=result.incr | {origin})

    def skipped(self, value: Value, yes: State, no: State) -> None:
        """`if send(order): … else: …`: what the call did before one of its answers did not happen where it gave another."""
        for origin in value.incr:
            if origin.kind == "answer":
                told = self.answers[origin.path[-1]]
                for branch, truth in ((yes, True), (no, False)):
                    skips = [ns for answer, ns in told.items() if answer is _OTHER or bool(answer[1]) is truth]
                    branch.control |= {Origin("skipped", n) for n in (frozenset.intersection(*skips) if skips else ())}

    def answer_truth(self, origin: Origin, yes: State, no: State) -> None:
        """`if answer:`: what either branch means for the write."""
        told = self.answers[origin.path[-1]]
        self._settle(origin.n, {verdict for answer, verdict in told.items() if answer is _OTHER or bool(answer[1])}, yes)
        self._settle(origin.n, {verdict for answer, verdict in told.items() if answer is not _OTHER and not answer[1]}, no)

    def apply_answer(self, origin: Origin, op: str, right: Value, yes: State, no: State) -> None:
        """`answer == "conflict"`, `answer is None`."""
        told = self.answers[origin.path[-1]]
        if right.literal is NOT_LITERAL or op not in ("==", "!=", "is", "is not"):
            return
        asked = ("literal", right.literal)
        same, other = (yes, no) if op in ("==", "is") else (no, yes)
        if asked in told:
            self._settle(origin.n, {told[asked]}, same)
        self._settle(origin.n, {verdict for answer, verdict in told.items() if answer != asked}, other)

    def _settle(self, n: int, verdicts: set, state: State) -> None:
        """Where only some of the answers are left, the write was accepted or refused as these say."""
        if LOST not in verdicts:
            state.lost -= {n}
        if WON not in verdicts:
            state.won -= {n}
        if verdicts == {LOST}:
            state.lost |= {n}
        elif verdicts == {WON}:
            self.accepted(n, state)


def _answer(value: Value) -> tuple:
    return ("literal", value.literal) if value.literal is not NOT_LITERAL and "maybe-none" not in value.flags and isinstance(value.literal, (bool, int, str, type(None))) else _OTHER
