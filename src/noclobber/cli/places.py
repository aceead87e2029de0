"""PATH:LINE on the command line, and the finding that stands there."""

from __future__ import annotations

import os
from typing import Any

from noclobber.cli.common import Failed

#: What an explanation shows although a check would not.
EVERYTHING = {"preset": "strict", "preview": True, "min-confidence": "low"}


def place_of(text: str, command: str) -> tuple[str, int]:
    """(path, line). Raises Failed."""
    path, colon, line = text.rpartition(":")
    if colon and path.rpartition(":")[2].isdigit() and line.isdigit() and not os.path.exists(path):
        path, _, line = path.rpartition(":")  # PATH:LINE:COLUMN, as reports print it
    if not colon or not line.isascii() or not line.isdigit() or not path:
        raise Failed(f"{command} needs PATH:LINE, such as `noclobber {command} src/pay.py:42`")
    if not os.path.isfile(path):
        raise Failed(f"{path}: no such file")
    return path, int(line)


def at(findings: Any, path: str, line: int) -> list[Any]:
    """The findings whose reported line this is; else those whose statement holds it; else those that it is related to."""
    mine = [finding for finding in findings if os.path.abspath(finding.place.path) == os.path.abspath(path)]
    exact = [finding for finding in mine if finding.place.line == line]
    if exact:
        return exact
    inside = [finding for finding in mine if finding.statement[0] <= line <= finding.statement[1]]
    if inside:
        return inside
    return [f for f in mine if any(r.place.line == line and os.path.abspath(r.place.path) == os.path.abspath(path) for r in f.related)]


def overriding(resolver: Any, values: dict[str, Any]) -> Any:
    """A resolver that gives the same settings with some values changed: "extend" tables are the caller's business."""
    from dataclasses import replace

    class Changed:
        cwd = resolver.cwd
        _made: dict[int, Any] = {}

        def for_directory(self, directory: str) -> Any:
            own = resolver.for_directory(directory)
            if id(own) not in self._made:
                self._made[id(own)] = (own, replace(own, settings=replace(own.settings, **values)))
            return self._made[id(own)][1]

    return Changed()
