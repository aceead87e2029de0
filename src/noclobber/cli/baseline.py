"""`noclobber baseline create|check|prune`."""

from __future__ import annotations

import os
import sys
from typing import Any

from noclobber.cli.common import BROKEN, FOUND, OK, Failed, Parser, colored, make_resolver, nearest
from noclobber.cli.known import baselines, file_of, path_in

ACTIONS = ("create", "check", "prune")


def parser() -> Parser:
    cli = Parser("baseline")
    cli.add_argument("action", nargs="?", default="", metavar="|".join(ACTIONS))
    cli.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .)")
    cli.add_argument("--baseline", dest="set_baseline", metavar="FILE", help="the file (default: the setting `baseline`, else .noclobber-baseline.json)")
    cli.add_argument("--force", action="store_true", help="create: write over a file that has entries")
    cli.add_argument("--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="use this settings file for everything")
    cli.add_argument("--isolated", action="store_true", help="read no settings file")
    cli.add_argument("-j", "--jobs", metavar="N|auto", default="auto", help="number of processes (default: auto)")
    cli.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    cli.add_argument("-q", "--quiet", action="count", default=0)
    return cli


def run(arguments: list[str]) -> int:
    from noclobber.cli.check import jobs_of

    options = parser().parse(arguments)
    if options.action not in ACTIONS:
        said = f"unknown action `{options.action}`{nearest(options.action, ACTIONS)}" if options.action else "which action? create, check or prune"
        raise Failed(f"{said}\nTry: noclobber baseline --help")
    resolver = make_resolver(options)
    paths = options.paths or ["."]
    main = resolver.for_path(paths[0])
    from noclobber import baseline, engine

    fallback = os.path.join(main.root, baseline.NAME)
    done = engine.run(paths, resolver, jobs=jobs_of(options.jobs))
    for path, reason in done.missing:
        print(f"noclobber: {path}: {reason}", file=sys.stderr)
    action = {"create": _create, "check": _check, "prune": _prune}[options.action]
    return action(done, main, fallback, options)


def _file(config: Any, fallback: str, cwd: str) -> str:
    return file_of(config, cwd) or fallback


def _settled(done: Any, fallback: str, *, subtract: bool) -> Any:
    """Everything shown, with the entries that nothing matched. A config without the setting uses the fallback file."""
    from dataclasses import replace

    from noclobber import verdict

    made: dict[int, Any] = {}
    items = []
    for item in done.items:
        config = item.config
        if not config.settings.baseline:
            if id(config) not in made:
                relative = os.path.relpath(fallback, config.root)
                made[id(config)] = replace(config, settings=replace(config.settings, baseline=relative))
            item = replace(item, config=made[id(config)])
        items.append(item)
    known = baselines([item.config for item in items], done.cwd, missing_ok=not subtract, empty=not subtract)
    return verdict.settle(items, whole=done.whole, baselines=known), items, known


def _create(done: Any, main: Any, fallback: str, options: Any) -> int:
    from noclobber import baseline, knowledge
    from noclobber.files import display

    settled, items, _ = _settled(done, fallback, subtract=False)
    if done.missing or settled.internal_error:
        raise Failed("the run is incomplete, so no baseline is written")
    group = baseline.groups(knowledge.load().pages)
    files: dict[str, list[Any]] = {_file(main, fallback, done.cwd): []}
    left = 0
    for finding, file, path in settled.judged:
        if finding.code in baseline.NEVER:
            left += 1
            continue
        files.setdefault(file, []).append(baseline.entry_of(finding, group(finding.code), path))
    for file in files:
        if options.force or not os.path.exists(file):
            continue
        try:
            full = bool(baseline.read(file))
        except baseline.BaselineError as error:
            raise Failed(f"{error} (--force)") from None
        if full:
            raise Failed(f"{display(file, done.cwd)} has entries; `baseline prune` removes what is gone, --force writes it anew")
    for file, entries in files.items():
        _write(file, baseline.text_of(entries), done.cwd)
        if not options.quiet:
            number = len(entries)
            print(f"{display(file, done.cwd)}: {number} finding{'s' if number != 1 else ''}")
    if not main.settings.baseline and not options.quiet:
        print(f'Now set it: baseline = "{os.path.relpath(fallback, main.root)}" in [tool.noclobber] of pyproject.toml')
    if left:
        print(f"noclobber: {left} file{'s' if left != 1 else ''} that cannot be read cannot be baselined; exclude them instead", file=sys.stderr)
    return OK


def _write(file: str, text: str, cwd: str) -> None:
    from noclobber.files import display

    temporary = f"{file}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(temporary, file)
    except OSError as error:
        raise Failed(f"cannot write {display(file, cwd)}: {(error.strerror or str(error)).lower()}") from None


def judged_stale(settled: Any, done: Any, items: list[Any]) -> list[tuple[str, Any, int]]:
    """The stale entries that this run can judge: of files that it analysed without failure and with the entry's rule on, and,
    in a run over a whole project, of files that are gone."""
    from noclobber import knowledge

    rules = knowledge.load().by_code
    seen: dict[tuple[str, str], Any] = {}
    for item in items:
        file = file_of(item.config, done.cwd)
        seen[(file, path_in(item.result.path, file, done.cwd))] = item
    out = []
    for file, entry, number in settled.stale:
        item = seen.get((file, entry.path))
        page = rules.get(entry.code)
        if item is not None:
            fine = not item.result.failures and (page is None or page.slug in item.config.selected) and (page is None or done.whole or page.scope != "project")
        else:
            fine = done.whole and not os.path.exists(os.path.join(os.path.dirname(file), entry.path))
        if fine:
            out.append((file, entry, number))
    return out


def _check(done: Any, main: Any, fallback: str, options: Any) -> int:
    """Fails for what is new, as `noclobber check` does, and for entries that nothing needs any more."""
    from dataclasses import replace

    from noclobber import knowledge, report, verdict
    from noclobber.files import display
    from noclobber.finding import Finding, Place

    settled, items, _ = _settled(done, fallback, subtract=True)
    page = knowledge.load().by_code["RMW005"]
    extra = []
    for file, entry, number in judged_stale(settled, done, items):
        shown = display(file, done.cwd)
        line = entry.line or 1
        what = f"{entry.code} in {entry.function or 'the module'} of {entry.path}"
        message = f"nothing needs this entry any more ({what}{f', {number} times' if number > 1 else ''}); `noclobber baseline prune` removes it"
        finding = Finding(page.slug, shown, Place(shown, line, 1, line, 2), "", "", message, code=page.code, level=page.level, confidence="high")
        extra.append(verdict.dressed(finding, page, main))
    findings = tuple(sorted([*settled.findings, *extra], key=lambda f: (f.place.path, f.place.line, f.place.column, f.code)))
    for finding in extra:
        settled.summary.findings[finding.severity] += 1
    settled = replace(settled, findings=findings)
    if options.quiet < 2:
        report.write(
            "concise", settled, sys.stdout, done.lines, report.Options(color=colored(options.color, sys.stdout), cwd=done.cwd)
        )
        if not options.quiet:
            print(report.summary(settled, done.seconds))
    if done.missing or settled.internal_error:
        return BROKEN
    return FOUND if settled.failing or extra else OK


def _prune(done: Any, main: Any, fallback: str, options: Any) -> int:
    """Removes entries that nothing needs any more; adds none, whatever is new."""
    from collections import Counter
    from dataclasses import replace

    from noclobber import baseline
    from noclobber.files import display

    settled, items, known = _settled(done, fallback, subtract=True)
    if done.missing or settled.internal_error:
        raise Failed("the run is incomplete, so nothing is removed")
    gone: dict[str, Counter[Any]] = {}
    for file, entry, number in judged_stale(settled, done, items):
        gone.setdefault(file, Counter())[entry] += number
    for file, of_file in known.known.items():
        counts = gone.get(file, Counter())
        removed = sum(counts.values())
        if removed:
            left = [replace(entry, count=entry.count - counts[entry]) for entry in of_file.entries if entry.count > counts[entry]]
            _write(file, baseline.text_of(left), done.cwd)
        if not options.quiet:
            print(f"{display(file, done.cwd)}: {removed} entr{'ies' if removed != 1 else 'y'} removed")
    return OK
