"""Comments that silence findings: `# noclobber: ignore[RMW101] -- reason`, `ignore-file[...]`, `# noqa: RMW101`.

`scan` reads them from one file's text; `Pragmas` answers whether a finding is silenced and, when all are judged, which
comments were of no use. A comment for any rule of a group silences the write and everything that lost to it (DESIGN
§8).
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noclobber.finding import Edit, Finding, Fix

_PRAGMA = re.compile(r"#\s*noclobber:")
_BODY = re.compile(
    r"\s*(?P<action>[A-Za-z][\w-]*)?\s*(?P<list>\[(?P<codes>[^\]\n]*)(?P<close>\])?)?(?P<rest>.*)", re.DOTALL
)
#: Where the prose of a reason ends: another tool's comment, or another of ours.
_FOREIGN = re.compile(
    r"\s*#\s*(?:noqa|type:|ty:|pyright:|mypy:|pylint:|nosec|nosemgrep|pragma|fmt:|isort:|ruff:|noclobber:)"
)
#: As flake8 reads it: one blank at most behind the colon, else the comment is a blanket one.
_NOQA = re.compile(r"# noqa(?::[\s]?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_FIXED = ("RMW001", "RMW009")


@dataclass(frozen=True, slots=True)
class Pragma:
    """One comment. Columns are 1-based characters, `end` is exclusive.

    `target`: for a comment on its own line, the line of the statement directly below, else 0. `whole`: `ignore-file`.
    `problem`: what is malformed about it, or "".
    """

    line: int
    column: int
    end: int
    selectors: tuple[str, ...]
    reason: str
    target: int = 0
    whole: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Noqa:
    """`# noqa` on a line; `codes` is () for a blanket one."""

    codes: tuple[str, ...]

    def silences(self, code: str, respect: str) -> bool:
        """Whether it counts for a rule. `respect`: codes, all (a blanket one too), none."""
        if respect == "none":
            return False
        if not self.codes:
            return respect == "all"
        return any(code.startswith(prefix) for prefix in self.codes)


def noqa_on(line: str) -> Noqa | None:
    """The `# noqa` comment of a physical line."""
    found = _NOQA.search(line)
    if found is None:
        return None
    codes = found["codes"]
    return Noqa(tuple(codes.replace(",", " ").upper().split()) if codes else ())


def scan(lines: Sequence[str]) -> tuple[Pragma, ...]:
    """The pragmas of a file, given its physical lines without their ends. Never raises."""
    pragmas = []
    comments = list(_comments(lines))
    first_code = _first_code_line(lines, comments)
    own = {line: column for line, column, _ in comments if not lines[line - 1][:column].strip()}
    for line, column, text in comments:
        for found in _PRAGMA.finditer(text):
            target = _target(lines, own, line, column) if line in own else 0
            end = column + len(text.rstrip())
            pragmas.append(
                _parse(text[found.end() :], line, column + found.start() + 1, end + 1, target, line < first_code)
            )
    return tuple(pragmas)


def _comments(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """(line, 0-based column, text) of every comment; by the tokenizer, and where that gives up by a smaller one."""
    found = []
    try:
        for token in tokenize.generate_tokens(
            io.StringIO("".join(line + "\n" for line in lines), newline="\n").readline
        ):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.start[1], token.string))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return iter(_plain_comments(lines))
    return iter(found)


def _plain_comments(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Comments of text that is no Python: strings are skipped, nothing else is understood."""
    found = []
    quote = ""
    for number, line in enumerate(lines, 1):
        at = 0
        while at < len(line):
            if quote:
                if line[at] == "\\":
                    at += 2
                elif line.startswith(quote, at):
                    at += len(quote)
                    quote = ""
                else:
                    at += 1
            elif line[at] == "#":
                found.append((number, at, line[at:]))
                break
            elif line[at] in "\"'":
                quote = line[at] * 3 if line.startswith(line[at] * 3, at) else line[at]
                at += len(quote)
            else:
                at += 1
        if len(quote) == 1 and not line.endswith("\\"):
            quote = ""  # an unclosed string ends with its line
    return found


def _first_code_line(lines: Sequence[str], comments: Sequence[tuple[int, int, str]]) -> int:
    alone = {line for line, _, _ in comments}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not (number in alone and text.startswith("#")):
            return number
    return len(lines) + 1


def _target(lines: Sequence[str], own: Mapping[int, int], line: int, column: int) -> int:
    """The line of the statement directly below a comment on its own line: at the same indentation, more comments
    between."""
    indent = lines[line - 1][:column].replace("\f", "")
    below = line + 1
    while below in own and lines[below - 1][: own[below]].replace("\f", "") == indent:
        below += 1
    if below > len(lines) or below in own:
        return 0
    text = lines[below - 1].replace("\f", "")
    body = text.lstrip(" \t")
    return below if body and text[: len(text) - len(body)] == indent else 0


def _parse(text: str, line: int, column: int, end: int, target: int, at_top: bool) -> Pragma:
    body = _BODY.match(text)
    assert body is not None  # every part is optional
    action = body["action"] or ""
    selectors = tuple(word.strip() for word in (body["codes"] or "").split(",") if word.strip())
    rest = body["rest"]
    foreign = _FOREIGN.search(rest)
    if foreign:
        rest = rest[: foreign.start()]
    rest = rest.strip()
    reason = rest[2:].strip() if rest.startswith("--") else ""
    problem = ""
    if action not in ("ignore", "ignore-file"):
        problem = (
            f"`{action}` is no noclobber comment; write `ignore[RMW101] -- reason`"
            if action
            else "write `ignore[RMW101] -- reason`"
        )
        selectors = ()
    elif body["list"] is None or body["close"] is None or not selectors:
        problem = f"`{action}` needs codes or names in brackets: `{action}[RMW101] -- reason`"
        selectors = ()
    elif action == "ignore-file" and not at_top:
        problem = "`ignore-file` must stand in the first comment block of the file"
        selectors = ()
    elif rest and not rest.startswith("--"):
        problem = "a reason must follow `--`"
    return Pragma(line, column, end, selectors, reason, target, action == "ignore-file", problem)


# --- judging ----------------------------------------------------------------------------------------------------------


class Pragmas:
    """The comments of one file at work.

    `pages`: slug → page. `resolve(selector)` gives the slugs that a selector of a comment names, () when it is unknown.
    """

    def __init__(
        self, pragmas: Sequence[Pragma], pages: Mapping[str, Any], resolve: Callable[[str], frozenset[str]]
    ) -> None:
        self._pragmas = pragmas
        self._pages = pages
        self._named = {selector: resolve(selector) for pragma in pragmas for selector in pragma.selectors}
        self._used: set[tuple[int, str]] = set()

    def silencing(self, finding: Finding, mark: bool = True) -> tuple[str, str, int] | None:
        """("pragma", reason, line) of the comment that silences the finding, or None; `mark` notes that it was of use.

        The linter's own findings are silenced by name, not by group, and never by the comment that they complain about.
        """
        page = self._pages[finding.name]
        answer = None
        for index, pragma in enumerate(self._pragmas):
            if not _covers(pragma, finding):
                continue
            own = page.group == "own"
            if own and pragma.line == finding.place.line and pragma.column == finding.place.column:
                continue
            for selector in pragma.selectors:
                named = self._named[selector]
                if finding.name in named or (not own and any(self._pages[slug].group == page.group for slug in named)):
                    if mark:
                        self._used.add((index, selector))
                    answer = answer or ("pragma", pragma.reason, pragma.line)
        return answer

    def malformed(self, nearest: Callable[[str], str]) -> Iterator[tuple[Pragma, str]]:
        """(comment, message) for RMW004. `nearest(selector)` gives the message for an unknown one."""
        for pragma in self._pragmas:
            if pragma.problem:
                yield pragma, pragma.problem
            for selector in pragma.selectors:
                named = self._named[selector]
                if not named:
                    yield pragma, nearest(selector)
                elif all(self._pages[slug].code in _FIXED for slug in named):
                    yield pragma, f"`{selector}` cannot be suppressed; exclude the file instead"

    def without_reason(self) -> Iterator[Pragma]:
        """Comments for RMW003."""
        return (pragma for pragma in self._pragmas if pragma.selectors and not pragma.reason and not pragma.problem)

    def unused(self, own: bool, judged: Callable[[str], bool | None]) -> Iterator[tuple[Pragma, tuple[str, ...]]]:
        """(comment, selectors that silenced nothing) for RMW002.

        `own`: judge the selectors that name rules of the linter's own, or the others. `judged(slug)`: None when the
        rule did not run, False when a run like this one cannot tell. A selector needs a rule that ran, and none that
        cannot be told.
        """
        for index, pragma in enumerate(self._pragmas):
            useless = []
            for selector in pragma.selectors:
                named = self._named[selector]
                rules = {slug for slug in named if self._pages[slug].code not in _FIXED}
                is_own = bool(rules) and all(self._pages[slug].group == "own" for slug in rules)
                if is_own != own or (index, selector) in self._used:
                    continue
                answers = set(map(judged, rules))
                if True in answers and False not in answers:
                    useless.append(selector)
            if useless:
                yield pragma, tuple(useless)


def removal(pragma: Pragma, useless: Sequence[str], lines: Sequence[str]) -> Fix | None:
    """The fix for a comment whose selectors `useless` silence nothing: they go, with the comment when none is left, and with the line when it holds
    nothing else. None where another comment shares the place."""
    line = lines[pragma.line - 1]
    text = line[pragma.column - 1 : pragma.end - 1]
    if "#" in text[1:] or not text.startswith("#"):
        return None
    title = "remove the useless suppression"
    left = [selector for selector in pragma.selectors if selector not in useless]
    if left:
        start, end = text.index("[") + 1, text.index("]")
        edit = Edit((pragma.line, pragma.column + start), (pragma.line, pragma.column + end), ", ".join(left))
        return Fix("safe", f"{title}s of {', '.join(useless)}", (edit,))
    before = line[: pragma.column - 1]
    if before.strip(" \t\f"):
        return Fix("safe", title, (Edit((pragma.line, len(before.rstrip(" \t")) + 1), (pragma.line, len(line) + 1), ""),))
    if "\f" in before:
        return None
    if pragma.line < len(lines):
        return Fix("safe", title, (Edit((pragma.line, 1), (pragma.line + 1, 1), ""),))
    start = (pragma.line - 1, len(lines[pragma.line - 2]) + 1) if pragma.line > 1 else (1, 1)
    return Fix("safe", title, (Edit(start, (pragma.line, len(line) + 1), ""),))


def _covers(pragma: Pragma, finding: Finding) -> bool:
    """Whether the comment stands on a physical line of the finding's statement, directly above it, or for the whole
    file."""
    if pragma.whole:
        return True
    first, last = (
        finding.statement
        if finding.statement[0]
        else (finding.place.line, max(finding.place.line, finding.place.end_line))
    )
    if pragma.target:
        return pragma.target == first or first < pragma.line <= last
    return first <= pragma.line <= last
