"""Printing. One module per format, each with `write(settled, stream, lines=…, …)`; none of them analyses or filters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

#: Formats that `--output-format` knows. Machine formats have stdout for themselves: the summary goes to stderr.
FORMATS = ("full", "concise", "grouped", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson", "html")
HUMAN = ("full", "grouped")

Lines = Callable[[str], "Sequence[str] | None"]
#: One line of output: (text, style) pieces. Styles are names of `STYLES`.
Row = list[tuple[str, str]]
STYLES = {
    "": "",
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
    "bold": "bold",
    "gutter": "bold blue",
    "dim": "dim",
    "primary": "bold red",
    "secondary": "bold blue",
    "path": "bold",
}


@dataclass(frozen=True)
class Options:
    """How to print. `seconds`: how long the run took. `footer`: end with the line of numbers; `details`: with what was
    hidden. `cwd`, `root`: absolute; what shown paths are relative to, and the repository's root ("": the same).
    """

    color: bool = False
    show_suppressed: bool = False
    seconds: float | None = None
    footer: bool = True
    details: bool = False
    cwd: str = ""
    root: str = ""


def write(name: str, settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write `settled` (verdict.Settled) in the format `name`. `lines(path)`: the physical lines of a shown path or
    None.

    Raises KeyError for an unknown format.
    """
    if name not in FORMATS:
        raise KeyError(name)
    import importlib

    importlib.import_module(f"noclobber.report.{name}").write(settled, stream, lines, options)


def shown(settled: Any, options: Options) -> list[Any]:
    """The findings to print, with the silenced ones where they are asked for, in order."""
    if not options.show_suppressed:
        return list(settled.findings)
    both = [*settled.findings, *settled.suppressed]
    return sorted(
        both, key=lambda finding: (finding.place.path, finding.place.line, finding.place.column, finding.code)
    )


def emit(rows: Sequence[Row], stream: TextIO, color: bool) -> None:
    """Write rows; with colours by rich, which must neither wrap, nor read markup, nor find links or emoji in code."""
    if not color:
        stream.write("".join("".join(text for text, _ in row) + "\n" for row in rows))
        return
    from rich.console import Console  # only for a terminal
    from rich.text import Text

    console = Console(
        file=stream,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        soft_wrap=True,
    )
    for row in rows:
        console.print(Text.assemble(*((text, STYLES[style]) for text, style in row), end=""), soft_wrap=True)


def one_line(text: str) -> str:
    """Text that cannot break out of its line or steer a terminal."""
    return "".join(char if char.isprintable() else " " if char in "\n\r\t" else "\ufffd" for char in text)


def width(char: str) -> int:
    """Columns that a printable character takes on a terminal."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


# --- numbers ----------------------------------------------------------------------------------------------------------


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def summary(settled: Any, seconds: float | None = None, *, details: bool = False) -> str:
    """The footer's line. `details`: name also what the settings hid."""
    numbers = settled.summary
    total = numbers.total
    parts = []
    if total:
        kinds = ", ".join(
            (
                count(numbers.findings[severity], severity)
                if severity != "info"
                else f"{numbers.findings[severity]} info"
            )
            for severity in ("error", "warning", "info")
            if numbers.findings[severity]
        )
        parts.append(f"{count(total, 'finding')} ({kinds})")
    else:
        parts.append("no findings")
    if numbers.baselined:
        parts.append(f"{numbers.baselined} baselined")
    if numbers.older:
        parts.append(f"{numbers.older} older")
    if numbers.suppressed:
        parts.append(f"{numbers.suppressed} suppressed")
    if numbers.fixable or numbers.unsafe_fixable:
        parts.append(count(numbers.fixable, "safe fix").replace("fixs", "fixes") + f", {numbers.unsafe_fixable} unsafe")
    if details:
        words = {
            "confidence": "below the confidence asked for",
            "selection": "of rules not selected",
            "per-file-ignores": "ignored by path",
            "precedence": "lost to another rule",
            "severity": "below the severity asked for",
            "duplicate": "found twice",
        }
        parts += [f"{number} {words.get(reason, reason)}" for reason, number in sorted(numbers.hidden.items())]
    parts.append(f"{count(numbers.files, 'file')}, {numbers.analysed} analysed, {numbers.failed} failed")
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    return " · ".join(parts)


def statistics(settled: Any) -> list[str]:
    """A table of the rules found: how often, code, name; the most frequent first."""
    counts = Counter(finding.name for finding in settled.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], settled.pages[row[0]].code))
    digits = max((len(str(number)) for _, number in rows), default=1)
    preview = {slug: "  preview" if settled.pages[slug].status == "preview" else "" for slug, _ in rows}
    longest = max((len(slug) for slug, _ in rows), default=0)
    return [
        f"{number:>{digits}}  {settled.pages[slug].code}  {slug:<{longest}}{preview[slug]}".rstrip()
        for slug, number in rows
    ]
