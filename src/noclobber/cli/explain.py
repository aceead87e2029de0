"""`noclobber explain PATH:LINE`: the whole story of one finding."""

from __future__ import annotations

import os
import sys

from noclobber.cli.common import FOUND, OK, Failed, Parser, colored, overrides
from noclobber.cli.places import EVERYTHING, at, place_of


def parser() -> Parser:
    cli = Parser("explain")
    cli.add_argument("place", metavar="PATH:LINE", help="where a finding stands, or one of its other places")
    cli.add_argument("--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="use this settings file for everything")
    cli.add_argument("--isolated", action="store_true", help="read no settings file")
    cli.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    return cli


def run(arguments: list[str]) -> int:
    options = parser().parse(arguments)
    path, line = place_of(options.place, "explain")
    from noclobber import engine, report, verdict
    from noclobber.config import Resolver
    from noclobber.explain import explain
    from noclobber.report.story import story
    from noclobber.resolve import SourceError

    resolver = Resolver({**EVERYTHING, **overrides(options)}, config_file=options.config, isolated=options.isolated, environ=os.environ)
    workspaces = engine.Workspaces()
    done = engine.run([path], resolver, jobs=1, workspaces=workspaces)
    settled = verdict.settle(done.items, whole=False)
    settled = verdict.with_fixes(settled, engine.fixes_of(done, settled.findings, workspaces))
    everything = [*settled.findings, *settled.suppressed]
    found = at(everything, path, line)
    vocabulary = resolver.for_path(path).vocabulary

    def understood(lines: list[int]) -> list[str]:
        texts = []
        for number in dict.fromkeys(lines):
            try:
                text = explain(path, number, vocabulary)
            except (OSError, SourceError) as error:
                raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from None
            if text:
                texts.append(text)
        return texts

    if not found:
        print(f"{path}:{line}: no finding here")
        lines = sorted({finding.place.line for finding in everything if os.path.abspath(finding.path) == os.path.abspath(path)})
        if lines:
            print(f"findings of this file stand on line {', '.join(map(str, lines))}")
        for text in understood([line]):
            print(text)
        return FOUND
    for number, finding in enumerate(found):
        if number:
            print()
        lines = [r.place.line for r in finding.related if os.path.abspath(r.place.path) == os.path.abspath(path) and r.role in ("read", "write", "effect")]
        rows = story(finding, settled.pages.get(finding.name), done.lines, understood([*lines, finding.place.line]))
        report.emit(rows, sys.stdout, colored(options.color, sys.stdout))
    return OK
