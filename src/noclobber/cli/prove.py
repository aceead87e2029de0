"""`noclobber prove PATH:LINE`: a pytest that shows whether an update is lost there."""

from __future__ import annotations

import os
import sys

from noclobber.cli.common import OK, Failed, Parser, overrides
from noclobber.cli.places import EVERYTHING, at, place_of


def parser() -> Parser:
    cli = Parser("prove")
    cli.add_argument("place", metavar="PATH:LINE", help="where a finding stands, or one of its other places")
    cli.add_argument(
        "-o", "--output", metavar="FILE", default="", help="write the test into this new file (default: stdout, for a file in the current folder)"
    )
    cli.add_argument("--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="use this settings file for everything")
    cli.add_argument("--isolated", action="store_true", help="read no settings file")
    return cli


def run(arguments: list[str]) -> int:
    options = parser().parse(arguments)
    path, line = place_of(options.place, "prove")
    if options.output and os.path.exists(options.output):
        raise Failed(f"{options.output} is there already; the test goes into a new file")
    from noclobber import analyse, engine, verdict
    from noclobber.config import Resolver
    from noclobber.prove import CannotProve, write

    resolver = Resolver({**EVERYTHING, **overrides(options)}, config_file=options.config, isolated=options.isolated, environ=os.environ)
    done = engine.run([path], resolver, jobs=1)
    settled = verdict.settle(done.items, whole=False)
    everything = [*settled.findings, *settled.suppressed]
    found = [finding for finding in at(everything, path, line) if not finding.code.startswith("RMW0")]
    if not found:
        lines = sorted({finding.place.line for finding in everything if os.path.abspath(finding.path) == os.path.abspath(path)})
        more = f"; findings of this file stand on line {', '.join(map(str, lines))}" if lines else ""
        raise Failed(f"{path}:{line}: no finding here, so nothing to prove{more}")
    absolute = os.path.abspath(path)
    config = resolver.for_path(path)
    project = analyse.Workspace(config, engine.project_root(config, os.path.dirname(absolute))).project
    folder = os.path.dirname(os.path.abspath(options.output)) if options.output else os.getcwd()
    reasons = []
    for finding in found:
        try:
            text = write(finding, project, absolute, config.vocabulary, folder, f"noclobber prove {options.place}")
        except CannotProve as error:
            reasons.append(f"no test can be written: {error.missing}\n  {error.remedy}")
            continue
        if not options.output:
            sys.stdout.write(text)
            return OK
        try:
            os.makedirs(folder, exist_ok=True)
            with open(options.output, "x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except OSError as error:
            raise Failed(f"cannot write {options.output}: {(error.strerror or str(error)).lower()}") from None
        print(f"written: {options.output}; run it with `pytest {options.output}`: it fails as long as the update is lost")
        return OK
    raise Failed("\n".join(dict.fromkeys(reasons)))
