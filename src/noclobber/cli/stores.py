"""`noclobber stores`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from noclobber.cli.common import FOUND, OK, Failed, Parser, loaded, make_resolver, nearest, print_table


def parser() -> Parser:
    cli = Parser("stores")
    cli.add_argument("action", nargs="?", default="", metavar="list|check|explain")
    cli.add_argument(
        "argument", nargs="?", metavar="FILE | PATH:LINE", help="check: a vocabulary file; explain: a place in the code"
    )
    cli.add_argument(
        "--verify", action="store_true", help="check: compare the signatures with the libraries installed here"
    )
    cli.add_argument(
        "--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="this settings file"
    )
    cli.add_argument("--isolated", action="store_true", help="read no settings file")
    return cli


def run(arguments: list[str]) -> int:
    cli = parser()
    actions = {"list": _stores_list, "check": _stores_check, "explain": _stores_explain}
    options = cli.parse(arguments)
    if options.action not in actions:
        said = f"unknown action `{options.action}`{nearest(options.action, list(actions))}" if options.action else "which action"
        cli.error(f"{said}? list, check FILE or explain PATH:LINE" if not options.action else said)
    return actions[options.action](options)


def _stores_list(options: argparse.Namespace) -> int:
    from noclobber.knowledge import describe

    print_table(describe.stores_table(make_resolver(options).for_path(".").vocabulary))
    return OK


def _stores_check(options: argparse.Namespace) -> int:
    """Say everything that is wrong with a vocabulary file, else with the settings that are in force here."""
    from noclobber.knowledge import describe

    problems: list[Any] = []
    if options.argument:
        file, base = options.argument, loaded().vocabulary
        problems += describe.check_file(file, base)
        vocabulary = None if problems else base.with_user_file(file, file)
    else:
        config = make_resolver(options).for_path(".")
        file = config.file
        vocabulary = config.vocabulary
    if vocabulary is not None and options.verify:
        problems += describe.verify_signatures(vocabulary, user_only=bool(file))
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{file or 'the built-in vocabulary'}: ok")
    return FOUND if problems else OK


def _stores_explain(options: argparse.Namespace) -> int:
    path, colon, line = (options.argument or "").rpartition(":")
    if not colon or not line.isascii() or not line.isdigit() or not path:
        raise Failed("explain needs PATH:LINE, such as `noclobber stores explain src/pay.py:42`")
    if not os.path.isfile(path):
        raise Failed(f"{path}: no such file")
    config = make_resolver(options).for_path(path)
    from noclobber.explain import explain
    from noclobber.resolve import SourceError

    try:
        text = explain(path, int(line), config.vocabulary)
    except (OSError, SourceError) as error:
        raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    print(text or f"{options.argument}: no call here that the vocabulary knows")
    return OK
