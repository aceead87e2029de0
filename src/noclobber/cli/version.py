"""`noclobber version`."""

from __future__ import annotations

import sys

from noclobber import __version__
from noclobber.cli.common import OK, Parser


def parser() -> Parser:
    cli = Parser("version")
    cli.add_argument("--verbose", "-v", action="store_true", help="also the versions of what noclobber runs on")
    return cli


def run(arguments: list[str]) -> int:
    if arguments:
        options = parser().parse(arguments)
    print(f"noclobber {__version__}")
    if arguments and options.verbose:
        from importlib.metadata import PackageNotFoundError, version

        print(f"Python {sys.version.split()[0]} ({sys.executable})")
        for package in ("libcst", "sqlglot", "rich", "pathspec"):
            try:
                print(f"{package} {version(package)}")
            except PackageNotFoundError:
                print(f"{package} is not installed")
    return OK
