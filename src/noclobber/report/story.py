"""The whole story of one finding, for `noclobber explain`: code, two writers side by side, guards, writers, repairs, vocabulary."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from noclobber.report import Lines, Row, one_line, width
from noclobber.report import full
from noclobber.report.patch import diff

#: Columns of one worker's lane.
LANE = 44


def story(finding: Any, page: Any, lines: Lines, understood: Sequence[str]) -> list[Row]:
    """The rows. `understood`: what the vocabulary made of the calls at the finding's places."""
    rows: list[Row] = []
    for row in full._finding(finding, None, lines, False):
        if row and row[0][0].endswith("= "):
            break  # the notes are told below, at length
        rows.append(row)
    rows += _section("What it is")
    rows += _text(page.summary if page else finding.message)
    rows += _text(f"confidence: {finding.confidence}" + (f" ({full.doubts(finding)})" if finding.doubts else ""))
    if finding.interleaving:
        rows += _section("How the update is lost")
        rows += timeline(finding, lines)
    rows += _section("Guards that were met, and why they are none")
    if finding.guards:
        for guard in finding.guards:
            rows += _text(f"{guard.place.path}:{guard.place.line}  {guard.kind}: {guard.why_not}")
    else:
        rows += _text("none: no lock, precondition or serializable transaction lies between the read and the write")
    if finding.census:
        rows += _section("Other writers")
        rows += _text(finding.census)
    rows += _section("Repairs to choose from")
    if finding.help:
        rows += _text(finding.help)
    change = diff(finding, lines)
    if change:
        rows += _text(f"fix ({finding.fix.applicability}): {finding.fix.title}")
        if finding.fix.reason:
            rows += _text(f"unsafe because {finding.fix.reason}")
        rows += [[(f"  {line}", {"+": "info", "-": "error"}.get(line[:1], "dim"))] for line in change]
    elif finding.unfixed:
        rows += _text(f"no automatic fix: {finding.unfixed}")
    repair, others = fitting(page.sections.get("Use instead", "").strip() if page else "", lines(finding.place.path) or ())
    if repair:
        rows.append([])
        rows += [[(f"  {line}".rstrip(), "")] for line in repair.split("\n") if not line.startswith("```")]
    if others:
        rows += [[], *_text(f"for other libraries: noclobber rule {finding.code}")]
    if understood:
        rows += _section("What noclobber understood of the calls")
        for text in understood:
            rows += [[(f"  {one_line(line)}", "")] for line in text.split("\n")]
        rows += _text("to change it: disable = [\"ID\"] in [tool.noclobber] leaves an entry out; your own [[tool.noclobber.store]] comes first")
    rows += _section("If it is right as it is")
    place = finding.place
    where = f"{place.path}:{place.line}"
    if finding.teach:
        rows += [[(f"  {line}", "")] for line in one_line_each(finding.teach)]
    rows += _text(f"noclobber teach {where} guard         a call here locks or checks the record")
    rows += _text(f"noclobber teach {where} last-writer   the last writer may win in this store")
    rows += _text(f"# noclobber: ignore[{finding.code}] -- REASON   on the line above, for this one only")
    return rows


def fitting(repairs: str, source: Sequence[str]) -> tuple[str, bool]:
    """The repairs without those whose heading begins with the name of a library that their code imports and this file
    does not; whether some were left out. All of them when none would be left."""
    here = _roots("\n".join(source))
    blocks = [text.strip("\n") for text in re.split(r"(?<=\n```)\n", repairs)]
    kept = []
    for block in blocks:
        head, fence, code = block.partition("```")
        word = re.match(r"\w+", head)
        roots = _roots(code)
        if not (fence and word and word[0].lower() in roots and not roots & here):
            kept.append(block)
    return ("\n\n".join(kept), len(kept) < len(blocks)) if kept else (repairs, False)


def _roots(code: str) -> frozenset[str]:
    """The top-level packages that a text imports, in lower case, without the standard library's."""
    found = re.findall(r"^\s*(?:from|import)\s+(\w+)", code, re.M)
    return frozenset(name.lower() for name in found if name not in sys.stdlib_module_names)


def one_line_each(text: str) -> list[str]:
    return [one_line(line) for line in text.split("\n")]


def _section(title: str) -> list[Row]:
    return [[], [(title, "bold")]]


def _text(text: str) -> list[Row]:
    return [[(f"  {line}", "")] for line in one_line_each(text)]


def timeline(finding: Any, lines: Lines) -> list[Row]:
    """Two columns, one for each worker: what it does, below it the code's own line; at the side what the record holds."""
    source = lines(finding.place.path)
    rows: list[Row] = [[("  " + _fit("worker A", LANE) + "| " + _fit("worker B", LANE) + "| ", "dim"), (one_line(finding.record), "dim")]]
    rows.append([("  " + "-" * LANE + "+-" + "-" * LANE + "+-" + "-" * 16, "dim")])
    told: set[tuple[str, int]] = set()
    for step in finding.interleaving:
        cells = _wrapped(step.text, LANE - 1)
        if step.line and (step.worker, step.line) not in told:
            told.add((step.worker, step.line))
            cells.append(f"line {step.line}")
            if source is not None and 0 < step.line <= len(source):
                cells += [f"  {piece}" for piece in _wrapped(source[step.line - 1].strip(), LANE - 3)[:2]]
        state = _wrapped(step.state.removeprefix(f"{finding.record}: "), 30)
        for number in range(max(len(cells), len(state))):
            mine = _fit(cells[number] if number < len(cells) else "", LANE)
            other = " " * LANE
            left, right = (mine, other) if step.worker == "A" else (other, mine)
            rows.append([(f"  {left}| {right}| ", ""), (state[number] if number < len(state) else "", "bold")])
    return [[(text.rstrip() if index == len(row) - 1 else text, style) for index, (text, style) in enumerate(row)] for row in rows]


def _fit(text: str, columns: int) -> str:
    return text + " " * max(0, columns - sum(map(width, text)))


def _wrapped(text: str, columns: int) -> list[str]:
    """The text in pieces of at most so many columns, broken at blanks where there are some."""
    pieces: list[str] = []
    line = ""
    for word in one_line(text).split(" "):
        while sum(map(width, word)) > columns:
            if line:
                pieces.append(line)
                line = ""
            cut = columns
            while sum(map(width, word[:cut])) > columns:
                cut -= 1
            pieces.append(word[:cut])
            word = word[cut:]
        joined = f"{line} {word}" if line else word
        if sum(map(width, joined)) > columns:
            pieces.append(line)
            line = word
        else:
            line = joined
    return [*pieces, line] if line or not pieces else pieces
