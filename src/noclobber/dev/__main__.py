"""For contributors: `print-trace FILE` (events, values and guards of each scope, as rules see them), `review PATH` (findings that nobody has
read, with their code), `fixes PATH…` (which findings have a verified fix), `trust` (what was said of those that were read, into the pages),
`proofs` (docs/proofs.md, from a run of tests/proof)."""
from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Sequence

#: Of the checkout: contributors work in one.
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "rules")
LABELS = os.path.join(RULES, "labels.jsonl")


def main(argv: Sequence[str] | None = None) -> int:
    cli = argparse.ArgumentParser(prog="python -m noclobber.dev", description=__doc__)
    commands = cli.add_subparsers(dest="command", required=True)
    trace = commands.add_parser("print-trace", help="print the trace of each scope of a file")
    trace.add_argument("file")
    trace.add_argument("--function", help="only this function (qualified name)")
    rule = commands.add_parser("new-rule", help="write the check, the page and the fixtures of a new rule")
    rule.add_argument("slug")
    rule.add_argument("code")
    made = commands.add_parser("generate", help="make the generated parts of the repository anew")
    made.add_argument("--check", action="store_true", help="only say which differ")
    review = commands.add_parser("review", help="print the findings below a path that have no label yet, with their code")
    review.add_argument("path")
    review.add_argument("--rule", action="append", default=[], help="only this rule (code or slug); may be repeated")
    review.add_argument("--limit", type=int, default=0, help="at most so many")
    fixes = commands.add_parser("fixes", help="print how many findings of each rule have a verified fix, and why others have none")
    fixes.add_argument("paths", nargs="+")
    fixes.add_argument("--diff", action="store_true", help="each fix, too")
    fixes.add_argument("--rule", action="append", default=[], help="only this rule (code or slug); may be repeated")
    trust = commands.add_parser("trust", help="set `trust` in the pages from the labels; --check only says whether it is up to date")
    trust.add_argument("--check", action="store_true")
    commands.add_parser("proofs", help="run tests/proof and write docs/proofs.md from the run")
    for command in (review, trust):
        command.add_argument("--labels", default=LABELS, help="default: rules/labels.jsonl of the checkout")
    args = cli.parse_args(argv)
    if args.command == "proofs":
        import subprocess

        root = os.path.dirname(os.path.abspath(RULES))
        return subprocess.call([sys.executable, "-m", "pytest", "-q", "tests/proof", "--proofs", os.path.join("docs", "proofs.md")], cwd=root)
    if args.command == "print-trace":
        return print_trace(args.file, args.function)
    if args.command == "fixes":
        from noclobber.dev.fixes import show

        return show(args.paths, args.diff, args.rule)
    if args.command == "new-rule":
        from noclobber.dev.scaffold import new_rule

        return new_rule(args.slug, args.code)
    if args.command == "generate":
        from noclobber.dev.scaffold import generate

        return generate(args.check)
    from noclobber.dev import review as reading

    try:
        labels = reading.read_labels(args.labels)
        if args.command == "review":
            print(f"{reading.unread(args.path, labels, args.rule, limit=args.limit)} unread", file=sys.stderr)
            return 0
        return set_trust(labels, args.check)
    except reading.LabelError as error:
        print(f"noclobber.dev: {error}", file=sys.stderr)
        return 2


def set_trust(labels: Sequence[dict], check: bool) -> int:
    """Bring the pages' trust in line with the labels. Returns an exit code: 1 when `check` finds a page that is not."""
    import shutil
    import tempfile

    from noclobber.dev import review as reading

    pages = os.path.join(RULES, "catalog")
    if not check:
        print("\n".join(reading.write_trust(pages, labels)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(pages, os.path.join(folder, "catalog"))
        stale = reading.write_trust(copy, labels)
    print("\n".join(f"{name}: trust is not what the labels say; run `python -m noclobber.dev trust`" for name in stale))
    return 1 if stale else 0


def print_trace(path: str, only: str | None = None, out: Any = None) -> int:
    """Print the trace of every scope of a file (or of one). Returns an exit code: 2 when the file cannot be read."""
    from noclobber import knowledge
    from noclobber.analyse import traces
    from noclobber.resolve import SourceError

    out = out or sys.stdout
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        for name, trace, module in traces(data, path, knowledge.load().vocabulary, only):
            print(f"== {name}" + (f"  (incomplete: {', '.join(sorted(map(str, trace.incomplete)))})" if trace.incomplete else ""), file=out)
            for event in trace.events:
                print(f"  {event.n:3} {_line(event):>5}  {event.kind:7} {event.describe()}", file=out)
                held = ", ".join(f"{lock.kind}#{lock.n}" for lock in sorted(event.ctx.held, key=lambda lock: lock.n))
                more = [f"held: {held}" if held else "", f"loops: {event.ctx.loops}" if event.ctx.loops else "",
                        f"decided by: {sorted({f'{o.kind}{o.n}' for o in event.ctx.control})}" if event.ctx.control else ""]
                if any(more):
                    print(" " * 18 + " · ".join(filter(None, more)), file=out)
            if trace.unchecked:
                print(f"      outcome never looked at: {sorted(trace.unchecked)}", file=out)
    except (OSError, SourceError) as error:
        print(f"noclobber.dev: {path}: {error}", file=sys.stderr)
        return 2
    return 0


def _line(event: Any) -> str:
    from noclobber.trace.positions import place

    try:
        return str(place(event.site.excerpt, event.site.at)[0])
    except LookupError:
        return "?"


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    raise SystemExit(main())
