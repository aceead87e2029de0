"""Two workers held between the read and the write.

Each worker runs the program's own function in a thread. Under `sys.settrace` it stops when it is about to run a line of `lines` for
the first time, until the other worker has come there too, has ended, or has not come for `patience` seconds (it waits for a lock that
the first one holds). Then the workers go on one after the other: the second starts when the first has ended, or waits itself for the
second. So the interleaving is the same on every run: A reads, B reads, A writes, B writes.
"""

from __future__ import annotations

import ast
import difflib
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

#: No worker of a proof needs so long, not even one that waits for a row lock first.
DEADLINE = 30.0


@dataclass(frozen=True)
class End:
    """How a worker ended: with a value, or with an exception."""

    value: Any = None
    error: BaseException | None = None

    @property
    def told(self) -> str:
        """The exception's class name, or the value's text; "" for None."""
        if self.error is not None:
            return type(self.error).__name__
        return "" if self.value is None else repr(self.value)


class Race:
    """`path`: the file name that the program was compiled with. `lines`: where to stop. `met`: both workers stood there at once."""

    def __init__(self, path: str, lines: Collection[int], patience: float = 1.0) -> None:
        self.path, self.lines, self.patience = path, frozenset(lines), patience
        self.met = False
        self._state = threading.Condition()
        self._here: set[int] = set()
        self._passed: set[int] = set()
        self._ended: set[int] = set()

    def run(self, *calls: Callable[[], Any]) -> list[End]:
        """Run each call in a thread of its own; how each ended, in order. Raises AssertionError when one does not end."""
        ends: list[End | None] = [None] * len(calls)

        def work(number: int, call: Callable[[], Any]) -> None:
            sys.settrace(lambda frame, event, _: self._enter(frame, number, len(calls)))
            try:
                ends[number] = End(value=call())
            except BaseException as error:  # a worker's SystemExit is an end like any other
                ends[number] = End(error=error)
            finally:
                sys.settrace(None)
                with self._state:
                    self._ended.add(number)
                    self._state.notify_all()

        threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
            assert not thread.is_alive(), f"a worker has not ended after {DEADLINE:.0f} s"
        return [end for end in ends if end is not None]

    def _enter(self, frame: Any, number: int, workers: int) -> Any:
        if frame.f_code.co_filename != self.path:
            return None

        def line(frame: Any, event: str, _: Any) -> Any:
            if event == "line" and frame.f_lineno in self.lines and number not in self._here:
                self._hold(number, workers)
            return line

        return line

    def _hold(self, number: int, workers: int) -> None:
        with self._state:
            self._here.add(number)
            self._state.notify_all()
            everybody = self._state.wait_for(lambda: len(self._here | self._ended) == workers, self.patience)
            if everybody and len(self._here) == workers and not self._passed:
                self.met = True
            # One after the other; a worker that ended before it came here, or that cannot come, is not waited for.
            self._state.wait_for(lambda: all(other in self._ended for other in self._here if other < number), self.patience)
            self._passed.add(number)


def moved(before: str, after: str, line: int) -> int:
    """Where a line of `before` stands in `after` (1-based); of lines that were changed the most similar one. Of a simple statement over several
    lines it is the first: that is where it is about to run."""
    found = _most_like(before, after, line)
    simple = (node for node in ast.walk(ast.parse(after)) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return next((node.lineno for node in simple if node.lineno <= found <= (node.end_lineno or 0)), found)


def _most_like(before: str, after: str, line: int) -> int:
    old, new = before.split("\n"), after.split("\n")
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if not start <= line - 1 < end:
            continue
        if tag == "equal":
            return new_start + line - start
        candidates: Sequence[int] = range(new_start, new_end)
        if not candidates:
            return min(new_start + 1, len(new))
        text = old[line - 1].strip()
        return 1 + max(candidates, key=lambda at: difflib.SequenceMatcher(None, text, new[at].strip()).ratio())
    raise ValueError(f"no line {line}")
