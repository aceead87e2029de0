"""`noclobber completion SHELL`: made by shtab from the same parsers that read the options."""

from __future__ import annotations

import argparse
from importlib import import_module

from noclobber.cli.common import COMMANDS, OK, Failed, Parser, nearest

SHELLS = ("bash", "zsh", "fish", "tcsh")
#: What the first argument of a command may be.
_WORDS = {"baseline": ("create", "check", "prune"), "stores": ("list", "check", "explain"), "completion": SHELLS}


def parser() -> Parser:
    cli = Parser("completion")
    cli.add_argument("shell", nargs="?", default="", metavar="|".join(SHELLS))
    return cli


def run(arguments: list[str]) -> int:
    options = parser().parse(arguments)
    if options.shell not in SHELLS:
        raise Failed(f"which shell? {', '.join(SHELLS)}{nearest(options.shell, SHELLS) if options.shell else ''}")
    import shtab

    print(shtab.complete(whole(), options.shell))
    return OK


def parser_of(command: str) -> Parser:
    """The parser of a command."""
    if command == "rules":
        return import_module("noclobber.cli.rule").parser_of_rules()
    return import_module(f"noclobber.cli.{command}").parser()


def whole() -> argparse.ArgumentParser:
    """One parser with all commands below it, every option with the words that it takes, every other argument a file."""
    import shtab

    cli = argparse.ArgumentParser("noclobber")
    commands = cli.add_subparsers(dest="command")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, parents=[parser_of(name)], add_help=False)
        for action in command._actions:
            words = _words(name, action)
            if words:
                action.choices = words
            elif action.nargs != 0:
                action.complete = shtab.FILE
    return cli


def _words(command: str, action: argparse.Action) -> tuple[str, ...]:
    if not action.option_strings and command in _WORDS:
        return _WORDS[command]
    if action.choices:
        return tuple(map(str, action.choices))
    return tuple(action.metavar.split("|")) if isinstance(action.metavar, str) and "|" in action.metavar else ()
