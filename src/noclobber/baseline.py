"""The file of known findings: what was there when noclobber came, so that only what is new fails.

An entry says what the finding is about, never on which line: the rule, the path, the function, and a hash of record, write and the
rule's group. Entries are a multiset: a second equal finding is new. The same matching tells what is new against another revision.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noclobber.finding import Finding, content_hash

SCHEMA = 1
NAME = ".noclobber-baseline.json"
#: What can never be known before: a file that could not be analysed, and what is said of the file itself.
NEVER = ("RMW001", "RMW005", "RMW009")


class BaselineError(Exception):
    """The file cannot be used; the message names it and the line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`path`: relative to the folder of the file, with `/`. `line`: in the file, 0 when it was not read from one."""

    code: str
    path: str
    function: str
    digest: str
    count: int = 1
    line: int = 0


def read(file: str, shown: str = "") -> list[Entry]:
    """The entries of a file. Raises BaselineError, FileNotFoundError."""
    shown = shown or file
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"{shown}: cannot read: {getattr(error, 'strerror', None) or error}") from None
    try:
        document = json.loads(text)
    except ValueError as error:
        conflict = " (a merge conflict is left in it)" if "<<<<<<<" in text else ""
        raise BaselineError(f"{shown}:{getattr(error, 'lineno', 1)}: not JSON{conflict}; `noclobber baseline create --force` writes it anew") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get("findings"), list):
        raise BaselineError(f"{shown}: not a baseline of this version of noclobber (schema {SCHEMA})")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith("[")]
    rows = document["findings"]
    entries = []
    for position, row in enumerate(rows):
        line = lines[position] if len(lines) == len(rows) else 0
        if not (
            isinstance(row, list)
            and len(row) == 5
            and all(isinstance(cell, str) for cell in row[:4])
            and isinstance(row[4], int)
            and row[4] > 0
        ):
            raise BaselineError(f"{shown}:{line or 1}: an entry must be [code, path, function, hash, number]")
        entries.append(Entry(*row, line=line))
    return entries


def text_of(entries: Iterable[Entry]) -> str:
    """The file's text: one entry a line, sorted, equal ones counted; nothing else, so that merges seldom conflict."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for entry in entries:
        counts[(entry.path, entry.code, entry.function, entry.digest)] += entry.count
    rows = [
        json.dumps([code, path, function, digest, number], ensure_ascii=False)
        for (path, code, function, digest), number in sorted(counts.items())
    ]
    body = ",\n".join(f" {row}" for row in rows)
    return f'{{"schema": {SCHEMA}, "findings": [\n{body}\n]}}\n' if rows else f'{{"schema": {SCHEMA}, "findings": []}}\n'


def entry_of(finding: Finding, group: str, path: str) -> Entry:
    """The entry for a finding. `path`: as the file is to name it."""
    return Entry(finding.code, path, finding.function, content_hash(finding, group))


class Known:
    """Findings known before, at work: which of a run's findings they are, and which are gone.

    `group(code)`: the rule's group, or the code when there is no such rule any more.
    """

    def __init__(self, entries: Iterable[Entry], group: Callable[[str], str]) -> None:
        self.entries = tuple(entries)
        self._group = group

    def split(self, found: Sequence[tuple[Finding, str]]) -> tuple[list[bool], list[tuple[Entry, int]]]:
        """`found`: (finding, path as the entries name it). Returns for each whether it is known, and (entry, number) of those
        that nothing matched.

        Exact matches first; then, where only one is left on both sides, a function that was renamed or a file that was.
        """
        left = [entry.count for entry in self.entries]
        known = [False] * len(found)
        wanted = [
            (self._group(f.code), path, f.function, content_hash(f, self._group(f.code))) if f.code not in NEVER else None
            for f, path in found
        ]
        have = [(self._group(e.code), e.path, e.function, e.digest) for e in self.entries]
        for keep, unique in (((0, 1, 2, 3), False), ((0, 1, 3), True), ((0, 2, 3), True)):
            index: dict[tuple, list[int]] = defaultdict(list)
            for number, key in enumerate(have):
                if left[number]:
                    index[tuple(key[part] for part in keep)].append(number)
            asking: dict[tuple, list[int]] = defaultdict(list)
            for number, key in enumerate(wanted):
                if key is not None and not known[number]:
                    asking[tuple(key[part] for part in keep)].append(number)
            for key, numbers in asking.items():
                entries = index.get(key, [])
                if unique and (len(numbers) != 1 or len(entries) != 1 or left[entries[0]] != 1):
                    continue
                for number in numbers:
                    entry = next((entry for entry in entries if left[entry]), None)
                    if entry is not None:
                        left[entry] -= 1
                        known[number] = True
        return known, [(entry, number) for entry, number in zip(self.entries, left) if number]


def groups(pages: Mapping[str, Any]) -> Callable[[str], str]:
    """code → the rule's group; a rule of the linter's own, or one that is no more, is its own group."""
    known = {page.code: page.code if page.group == "own" else page.group for page in pages.values()}
    return lambda code: known.get(code, code)
