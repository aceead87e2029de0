"""Reading findings on code that nobody here wrote, and what was said of them: `rules/labels.jsonl`, one label a line.

A label: {"rule": code, "app": "weblate 5.14", "path", "line", "fingerprint", "verdict": "right" | "wrong", "confidence", "reason",
"round": "2026-12-01"}.
A page's `trust` counts the labels of the rule's last rounds, newest first, until FEW of them are counted: older ones were given to an older
state of the rule, whose wrong kinds have been mended since. Findings of low confidence do not count: a default run hides them, since they are no better than a guess. A finding that
has a label of any round counts as read.
"""
from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Iterator, Sequence

VERDICTS = ("right", "wrong")
#: Fewer labels than these say too little of a rule, so that those of the round before count as well (as many as config.ENOUGH_READ).
FEW = 8
_FIELDS = ("rule", "app", "path", "line", "fingerprint", "verdict", "confidence", "reason", "round")
_TRUST = re.compile(r"(?m)^trust = \{right = \d+, wrong = \d+\}$")


class LabelError(Exception):
    """A labels file that cannot be used; the message names file and line."""


def read_labels(path: str) -> list[dict]:
    """The labels of a file, in its order; [] where there is none. Raises LabelError."""
    if not os.path.exists(path):
        return []
    labels = []
    with open(path, encoding="utf-8") as stream:
        for number, text in enumerate(stream, 1):
            try:
                label = json.loads(text)
            except ValueError as error:
                raise LabelError(f"{path}:{number}: not JSON: {error}") from None
            missing = [name for name in _FIELDS if name not in label]
            if missing:
                raise LabelError(f"{path}:{number}: no \"{missing[0]}\"")
            if label["verdict"] not in VERDICTS:
                raise LabelError(f"{path}:{number}: verdict {label['verdict']!r}; one of {', '.join(VERDICTS)}")
            labels.append(label)
    return labels


def trust(labels: Sequence[dict]) -> dict[str, dict[str, int]]:
    """Code → {"right": n, "wrong": n} of the last rounds of each rule, of what a default run shows."""
    rounds: dict[str, dict[str, dict[str, int]]] = {}
    for label in labels:
        if label["confidence"] != "low":
            rounds.setdefault(label["rule"], {}).setdefault(label["round"], {"right": 0, "wrong": 0})[label["verdict"]] += 1
    found: dict[str, dict[str, int]] = {}
    for code in sorted(rounds):
        own = found[code] = {"right": 0, "wrong": 0}
        for name in sorted(rounds[code], reverse=True):
            if sum(own.values()) >= FEW:
                break
            for verdict in VERDICTS:
                own[verdict] += rounds[code][name][verdict]
    return found


def write_trust(pages: str, labels: Sequence[dict]) -> list[str]:
    """Set `trust` in the pages of a catalog folder to what the labels say. Returns the names of the pages that changed."""
    counts = trust(labels)
    changed = []
    for name in sorted(os.listdir(pages)):
        path = os.path.join(pages, name)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        code = re.search(r'(?m)^code = "(RMW\d+)"$', text)
        if code is None:
            continue
        own = counts.get(code[1], {"right": 0, "wrong": 0})
        new = _TRUST.sub(f"trust = {{right = {own['right']}, wrong = {own['wrong']}}}", text, count=1)
        if new != text:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(new)
            changed.append(name)
    return changed


def unread(path: str, labels: Sequence[dict], rules: Sequence[str], out: Any = None, limit: int = 0, around: int = 14) -> int:
    """Print the findings below a path that have no label yet, each with its code, as a page to be read. Returns how many."""
    out = out or sys.stdout
    known = {(label["rule"], label["fingerprint"]) for label in labels}
    count = 0
    for finding, lines in _findings(path):
        if rules and finding.code not in rules and finding.name not in rules or (finding.code, finding.fingerprint) in known:
            continue
        count += 1
        if limit and count > limit:
            break
        print(f"## {finding.code} {finding.name} ({finding.confidence}) {finding.path}:{finding.place.line} [{finding.fingerprint}]", file=out)
        print(f"{finding.message}", file=out)
        for related in finding.related:
            print(f"  {related.role}: {related.place.path}:{related.place.line}: {related.message}", file=out)
        marked = {finding.place.line, *(related.place.line for related in finding.related if related.place.path == finding.path)}
        first, last = max(min(marked) - around, 1), min(max(marked) + around, len(lines))
        for number in range(first, last + 1):
            print(f"{'>' if number in marked else ' '}{number:5} {lines[number - 1]}", file=out)
        print(file=out)
    return count


def _findings(path: str) -> Iterator[tuple[Any, Sequence[str]]]:
    """(finding, lines of its file) of a run with every rule on, as a user with --strict sees them."""
    from noclobber import engine, verdict
    from noclobber.config import Resolver

    run = engine.run([path], Resolver({"preset": "strict", "preview": True, "min-confidence": "low"}))
    for finding in verdict.settle(run.items).findings:
        lines = run.lines(finding.place.path)
        if lines is not None and not finding.code.startswith("RMW0"):
            yield finding, lines
