"""The line on stderr that says how far a long run is."""

from __future__ import annotations

import argparse
import os
import sys


def shows_progress(options: argparse.Namespace) -> bool:
    """Only for somebody who watches: hooks have a terminal too, but put it into the report (UX §2.2)."""
    if (
        options.no_progress
        or options.quiet
        or os.environ.get("CI")
        or os.environ.get("PRE_COMMIT")
        or os.environ.get("TERM") == "dumb"
    ):
        return False
    return sys.stderr.isatty()


class Progress:
    """One line on stderr that is rewritten; appears after two seconds."""

    def __init__(self) -> None:
        import time

        self._now = time.monotonic
        self._next = self._now() + 2.0
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if self._now() >= self._next:
            self._next = self._now() + 0.1
            self._shown = True
            sys.stderr.write(f"\r{done} of {total} files")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 40 + "\r")
            sys.stderr.flush()
