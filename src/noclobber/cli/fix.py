"""`noclobber fix`: `check --fix`, and with `-i` a question for each fix."""

from __future__ import annotations

from noclobber.cli import check
from noclobber.cli.common import Parser


def parser() -> Parser:
    return check.parser("fix")


def run(arguments: list[str]) -> int:
    return check.run(arguments, command="fix")
