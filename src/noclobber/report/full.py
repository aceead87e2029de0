"""The report for people: the code's own lines with the read, the change and the write marked, what was met and accepted
as no guard, and for the first finding of a rule the order of two writers that loses the update and the settings line that silences its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TextIO

from noclobber.finding import CAP_REASONS, DOUBTS
from noclobber.report import Lines, Options, Row, emit, one_line, shown, statistics, summary, width

TAB = 4
#: Longer lines are cut around what is marked.
LONGEST = 160
CONTEXT = 60
#: So many lines between two marked ones are shown; more are left out.
BRIDGE = 2
MANY = 50
#: What a place of this role is, where the finding does not say.
WORDS = {
    "read": "read here",
    "witness": "witness read here",
    "change": "changed here",
    "write": "written here",
    "lock": "locked here",
    "unlock": "lock given back here",
    "loop": "the loop",
    "conflict": "the conflict",
    "transaction": "the transaction",
    "call": "called here",
    "effect": "the effect",
    "key": "the key",
    "policy": "the policy",
}


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write all findings and, with `options.footer`, the line of numbers."""
    findings = shown(settled, options)
    rows: list[Row] = []
    told: set[str] = set()
    for finding in findings:
        rows += _finding(finding, settled.pages.get(finding.name), lines, finding.name not in told)
        rows.append([])
        told.add(finding.name)
    if options.footer:
        if len(findings) > MANY:
            rows += [[(line, "")] for line in statistics(settled)]
            rows.append([])
            rows.append([("Start with the surest: --min-confidence high; or with one rule: --select CODE", "dim")])
        rows.append([(summary(settled, options.seconds, details=options.details), "bold")])
    emit(rows, stream, options.color)


def _finding(finding: Any, page: Any, lines: Lines, first: bool) -> list[Row]:
    place = finding.place
    marks = _marks(finding)
    numbers = [mark.line for group in marks.values() for mark in group]
    gutter = len(str(max(numbers, default=place.line)))
    pad = " " * gutter
    head = [
        (f"{finding.severity}[{finding.code}]", finding.severity),
        (f" {finding.name}", "bold"),
        (f": {one_line(finding.message)}", "bold"),
    ]
    if finding.suppressed:
        head.insert(0, ("suppressed ", "dim"))
    rows: list[Row] = [head]
    where = _scope(finding.function)
    rows.append([(f"{pad}--> ", "gutter"), (f"{one_line(place.path)}:{place.line}:{place.column}{where}", "")])
    drawn = False
    for path, group in marks.items():
        text = lines(path)
        if text is None:
            continue
        if path != place.path:
            rows.append([(f"{pad}::: ", "gutter"), (f"{one_line(path)}:{group[0].line}:{group[0].start}", "")])
        snippet = _snippet(group, text, gutter)
        if snippet:
            drawn = True
            rows += [[(f"{pad} |", "gutter")], *snippet]
    if drawn:
        rows.append([(f"{pad} |", "gutter")])
    else:
        rows += [
            [(f"{pad} = ", "gutter"), (f"{m.label} (line {m.line})", "")]
            for m in marks.get(place.path, ())
            if not m.primary
        ]
    for name, text in _notes(finding, page, first):
        body = text.split("\n")
        rows.append([(f"{pad} = ", "gutter"), (f"{name}:", "bold"), (f" {one_line(body[0])}".rstrip(), "")])
        rows += [[(f"{pad}   {one_line(line)}", "")] for line in body[1:]]
    return rows


def _scope(function: str) -> str:
    """Where the finding stands, in words."""
    if function.startswith("<module"):
        return "  at module level"
    return f"  in {function}()" if function else ""


def _notes(finding: Any, page: Any, first: bool) -> list[tuple[str, str]]:
    """(name, text) of what stands below the code."""
    notes = []
    if page is not None and page.group == "own":
        if finding.suppressed:
            notes.append(("suppressed", _suppressed(finding)))
        notes.append(("more", f"noclobber rule {finding.code}"))
        return notes
    if page is not None and page.summary:
        notes.append(("why", page.summary))
    if finding.census:
        notes.append(("note", finding.census))
    for guard in finding.guards:
        where = (
            f"line {guard.place.line}"
            if guard.place.path == finding.place.path
            else f"{guard.place.path}:{guard.place.line}"
        )
        notes.append(("no guard", f"{guard.kind} ({where}): {guard.why_not}"))
    if first and finding.interleaving:
        notes.append(("two writers", "\n".join(["", *_steps(finding.interleaving)])))
    if finding.help:
        notes.append(("help", finding.help))
    if finding.fix is not None:
        notes.append(("fix", f"{finding.fix.title} ({finding.fix.applicability}" + (f": {finding.fix.reason})" if finding.fix.reason else ")")))
    if finding.also:
        notes.append(("also", ", ".join(finding.also)))
    if first and finding.teach:
        notes.append(("teach", f"if this is guarded where noclobber cannot see it:\n{finding.teach}"))
    if finding.suppressed:
        notes.append(("suppressed", _suppressed(finding)))
    confidence = finding.confidence + (f" ({doubts(finding)})" if finding.doubts else "")
    if page is not None and page.status == "preview":
        confidence += " · preview"
    notes.append(
        ("confidence", f"{confidence} · noclobber rule {finding.code}" + (f" · {finding.url}" if finding.url else ""))
    )
    return notes


def doubts(finding: Any) -> str:
    """What lowered the confidence, in words."""
    return "; ".join(DOUBTS.get(reason) or CAP_REASONS.get(reason, reason) for reason in sorted(finding.doubts))


def _suppressed(finding: Any) -> str:
    kind, reason, line = finding.suppressed
    return f"by the {'comment' if kind == 'pragma' else kind} on line {line}" + (f": {reason}" if reason else "")


def _steps(steps: Any) -> list[str]:
    """The interleaving as a table: worker, line, what it does, what the record then holds."""
    digits = max((len(str(step.line)) for step in steps if step.line), default=0)
    column = digits + len("line ") if digits else 0
    places = [f"line {step.line}" if step.line else "" for step in steps]
    before = [f"{step.worker}  {where:<{column}}  {one_line(step.text)}".rstrip() for step, where in zip(steps, places)]
    edge = max(sum(map(width, text)) for text in before)
    return [
        f"  {text}{' ' * (edge - sum(map(width, text)))}    {one_line(step.state)}".rstrip()
        for text, step in zip(before, steps)
    ]


# --- the code's own lines ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mark:
    """Something to underline. Columns 1-based, `end` exclusive, None: to the end of the line."""

    line: int
    start: int
    end: int | None
    label: str
    primary: bool


def _marks(finding: Any) -> dict[str, list[_Mark]]:
    """path → marks by line, the finding's own file first. A related place that is the finding's place only gives it its
    label."""
    marks: dict[str, list[_Mark]] = {finding.place.path: []}
    label = ""
    seen = set()
    for related in finding.related:
        place = related.place
        text = one_line(related.message or WORDS.get(related.role, related.role))
        if (place.path, place.line, place.column) == (finding.place.path, finding.place.line, finding.place.column):
            label = label or (text if related.role != "write" or related.message else "")
            continue
        key = (place.path, place.line, place.column, text)
        if key not in seen:
            seen.add(key)
            marks.setdefault(place.path, []).append(_mark(place, text, False))
    marks[finding.place.path].append(_mark(finding.place, label, True))
    for group in marks.values():
        group.sort(key=lambda mark: (mark.line, mark.start, mark.primary))
    return marks


def _mark(place: Any, label: str, primary: bool) -> _Mark:
    return _Mark(place.line, place.column, place.end_column if place.end_line == place.line else None, label, primary)


def _snippet(marks: list[_Mark], text: Any, gutter: int) -> list[Row]:
    rows: list[Row] = []
    last = 0
    for number in sorted({mark.line for mark in marks}):
        if not 1 <= number <= len(text):
            continue
        between = range(last + 1, number) if last else ()
        if len(between) <= BRIDGE:  # what happens between a read and its write is mostly the change
            rows += [_source(line, text[line - 1], gutter) for line in between]
        else:
            rows.append([("...", "gutter")])
        last = number
        here = [mark for mark in marks if mark.line == number]
        source = text[number - 1]
        cells = [_cell(char) for char in source]
        low, high = _window(cells, here)
        lead = "… " if low else ""
        rows.append(
            [
                (f"{number:>{gutter}} | ", "gutter"),
                (
                    lead + "".join(cell for cell, _ in cells[low:high]).rstrip() + (" …" if high < len(cells) else ""),
                    "",
                ),
            ]
        )
        if not source.strip():
            continue
        for mark in here:
            start = min(max(mark.start - 1, low), high)
            end = len(source.rstrip()) if mark.end is None else mark.end - 1
            end = min(max(end, start + 1), max(high, start + 1))
            blank = len(lead) + sum(columns for _, columns in cells[low:start])
            length = max(1, sum(columns for _, columns in cells[start:end]))
            style = "primary" if mark.primary else "secondary"
            underline = ("^" if mark.primary else "-") * length
            rows.append(
                [
                    (f"{' ' * gutter} | ", "gutter"),
                    (" " * blank, ""),
                    (f"{underline} {mark.label}".rstrip(), style),
                ]
            )
    return rows


def _source(number: int, source: str, gutter: int) -> Row:
    """A line without marks."""
    cells = [_cell(char) for char in source.rstrip()]
    high = len(cells) if sum(columns for _, columns in cells) <= LONGEST else LONGEST
    text = "".join(cell for cell, _ in cells[:high]) + (" …" if high < len(cells) else "")
    return [(f"{number:>{gutter}} | ".rstrip() if not text else f"{number:>{gutter}} | ", "gutter"), (text, "")]


def _cell(char: str) -> tuple[str, int]:
    """(what is shown for a character of code, columns it takes). Nothing that could steer a terminal or reorder the
    line."""
    if char == "\t":
        return " " * TAB, TAB
    if not char.isprintable() and char != "\u3000":
        return ("", 0) if char == "\f" else ("\ufffd", 1)
    return char, width(char)


def _window(cells: list[tuple[str, int]], marks: list[_Mark]) -> tuple[int, int]:
    """The part of a line to show."""
    if sum(columns for _, columns in cells) <= LONGEST:
        return 0, len(cells)
    primary = next((mark for mark in marks if mark.primary), marks[0])
    low = max(0, primary.start - 1 - CONTEXT)
    high, used = low, 0
    while high < len(cells) and used + cells[high][1] <= LONGEST:
        used += cells[high][1]
        high += 1
    return low, high
