"""What all commands share: exit codes, errors, the parser, settings from options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from noclobber.config import Resolver

OK, FOUND, BROKEN, INTERRUPTED = 0, 1, 2, 130
PIPE = 141

COMMANDS = {
    "check": "look for lost updates in files and folders",
    "fix": "apply fixes; -i asks for each",
    "baseline": "create, check or prune the file of known findings",
    "explain": "tell the whole story of a finding",
    "prove": "write a pytest that shows whether an update is lost there",
    "teach": "write the vocabulary line that silences a kind of finding",
    "rule": "explain a rule",
    "rules": "list the rules",
    "config": "show the settings in force, and where each comes from",
    "stores": "list, check or explain what noclobber knows of stores",
    "version": "show the version",
    "completion": "print a completion script for a shell",
}


class Failed(Exception):
    """The command cannot be carried out; the message goes to stderr, the exit code is 2."""


class Parser(argparse.ArgumentParser):
    """argparse with errors in our own words, and the nearest option for an unknown one."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(f"noclobber {name}", description=COMMANDS[name], allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise Failed(f"{message}\nTry: {self.prog} --help")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse options and paths in any order. Raises Failed."""
        options, unknown = self.parse_known_intermixed_args(arguments)
        if unknown:
            known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
            word = next((word for word in unknown if word.startswith("-")), unknown[0])
            self.error(
                f"unknown option `{word}`{nearest(word.partition('=')[0], known)}"
                if word.startswith("-")
                else f"unexpected `{word}`"
            )
        return options


def nearest(word: str, words: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, words, 1, 0.6)
    return f"; a similar one exists: `{close[0]}`" if close else ""


def overrides(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives: key → value."""
    from noclobber.config import SETTINGS

    values: dict[str, Any] = {}
    for row in SETTINGS.values():
        value = getattr(options, f"set_{row.name}", None)
        if value is None:
            continue
        if row.kind in ("selectors", "globs"):
            value = [word.strip() for text in value for word in text.split(",") if word.strip()]
        elif row.kind == "ignores":
            table: dict[str, list[str]] = {}
            for text in value:
                glob, colon, rules = text.rpartition(":")
                if not colon or not glob or not rules:
                    raise Failed(
                        f"option `--per-file-ignores` needs GLOB:RULES, such as 'scripts/**:RMW1,RMW5', not `{text}`"
                    )
                table.setdefault(glob, []).extend(word.strip() for word in rules.split(",") if word.strip())
            value = table
        values[row.key] = value
    if getattr(options, "strict", False):
        for key, value in (("preset", "strict"), ("preview", True), ("min-confidence", "low")):
            values.setdefault(key, value)
    return values


def make_resolver(options: argparse.Namespace) -> Resolver:
    from noclobber.config import Resolver

    return Resolver(overrides(options), config_file=options.config, isolated=options.isolated, environ=os.environ)


def listed(file: str) -> list[str]:
    from noclobber.files import read_list

    if file == "-":
        return read_list(stdin_bytes())
    try:
        with open(file, "rb") as stream:
            return read_list(stream.read())
    except OSError as error:
        raise Failed(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None


def stdin_bytes() -> bytes:
    return sys.stdin.buffer.read()


def colored(choice: str, stream: TextIO) -> bool:
    """flag, then NO_COLOR (which wins over FORCE_COLOR), then FORCE_COLOR and CLICOLOR_FORCE, then what the stream
    is."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def loaded() -> Any:
    from noclobber import knowledge

    return knowledge.load()


def page_named(rules: Any, name: str) -> Any:
    page = rules.by_code.get(name.upper()) or rules.pages.get(name.lower())
    if page is None:
        from noclobber.config import nearest_rule

        raise Failed(f"unknown rule `{name}`{nearest_rule(name, rules.pages)}")
    return page


def print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths)).rstrip())
