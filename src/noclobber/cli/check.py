"""`noclobber check`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from noclobber.cli.common import BROKEN, FOUND, OK, Failed, Parser, colored, listed, make_resolver, nearest, stdin_bytes
from noclobber.cli.progress import Progress, shows_progress


def parser(command: str = "check") -> Parser:
    from noclobber.config import SETTINGS

    cli = Parser(command)
    cli.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .); - reads stdin")
    groups = {
        name: cli.add_argument_group(name)
        for name in ("rules", "files", "fixing", "gate", "suppressions", "output", "run")
    }
    place = {
        "exclude": "files",
        "extend-exclude": "files",
        "force-exclude": "files",
        "respect-gitignore": "files",
        "fail-on": "gate",
        "baseline": "gate",
        "require-reason": "suppressions",
        "output-format": "output",
    }
    for row in SETTINGS.values():
        if not row.flag:
            continue
        group = groups[place.get(row.key, "rules")]
        default = {"default": None, "dest": f"set_{row.name}"}
        if row.kind == "bool":
            group.add_argument(row.flag, action="store_const", const=True, help=row.help, **default)
            group.add_argument(
                f"--no-{row.key}",
                action="store_const",
                const=False,
                help=argparse.SUPPRESS if not row.default else f"do not {row.help}",
                **default,
            )
        elif row.kind == "string":
            group.add_argument(row.flag, metavar="FILE", help=row.help, **default)
        elif row.kind == "choice":
            group.add_argument(
                row.flag, metavar="|".join(row.choices), help=f"{row.help} (default: {row.default})", **default
            )
        elif row.kind == "ignores":
            group.add_argument(
                row.flag,
                action="append",
                metavar="GLOB:RULES",
                help="rules to leave out in some files; may be given again",
                **default,
            )
        else:
            group.add_argument(
                row.flag,
                action="append",
                metavar="RULES" if row.kind == "selectors" else "GLOBS",
                help=row.help,
                **default,
            )
    add = groups["rules"].add_argument
    add("--strict", action="store_true", help="short for --preset strict --preview --min-confidence low")
    add = groups["files"].add_argument
    add("--stdin-filename", metavar="NAME", help="the name of what - reads")
    add("--files-from", metavar="FILE", help="read paths from a file, one a line or separated by NUL; - reads stdin")
    add = groups["fixing"].add_argument
    if command == "check":
        add("--fix", action="store_true", help="apply the safe fixes: no run of a single process behaves differently (few are)")
    else:
        add("-i", "--interactive", action="store_true", help="ask for each fix, safe or not")
    add("--unsafe-fixes", action="store_true", help="with --fix or --diff: also those that change what the code does, on purpose")
    add("--diff", action="store_true", help="print what would be fixed as a patch for git apply; write nothing")
    add = groups["gate"].add_argument
    add(
        "--exit-zero",
        action="store_true",
        help="exit with 0 although there are findings (never when the run is incomplete)",
    )
    add(
        "--max-findings",
        type=int,
        metavar="N",
        default=0,
        help="how many findings at or above --fail-on are let through",
    )
    add("--no-baseline", action="store_true", help="as if there were no baseline")
    add("--diff-base", metavar="REF|auto", help="only what is new against the commit that HEAD and REF have in common")
    add(
        "--diff-scope",
        choices=("new", "touched", "files"),
        default="new",
        help="touched: also old findings on edited lines; files: everything in changed files",
    )
    add = groups["suppressions"].add_argument
    add("--no-ignores", action="store_true", help="as if there were no suppressing comments")
    add("--add-ignore", metavar="REASON", help="write a suppressing comment with this reason above each finding")
    add("--show-suppressed", action="store_true", help="print suppressed findings too")
    add = groups["output"].add_argument
    add("--output", action="append", default=[], metavar="FORMAT=FILE", help="write another report; may be given again")
    add("--statistics", action="store_true", help="end with a table of the rules found")
    add("--color", choices=("auto", "always", "never"), default="auto")
    add("-q", "--quiet", action="count", default=0, help="findings only; -qq: nothing but the exit code")
    add("-v", "--verbose", action="store_true", help="say more on stderr")
    add("--no-progress", action="store_true", help="never show progress")
    add("--profile", action="store_true", help="say on stderr where the time went")
    add = groups["run"].add_argument
    add(
        "--config",
        metavar="FILE",
        default=os.environ.get("NOCLOBBER_CONFIG", ""),
        help="use this settings file for everything",
    )
    add("--isolated", action="store_true", help="read no settings file")
    add("-j", "--jobs", metavar="N|auto", default="auto", help="number of processes (default: auto)")
    add("--no-cache", action="store_true", help="neither read nor write the cache")
    add("--cache-dir", metavar="DIR", help="where the cache is")
    return cli


def jobs_of(text: str) -> int | None:
    """The number of processes that `-j` asks for; None: as the engine thinks. Raises Failed."""
    if text == "auto":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise Failed(f"option `-j` needs a number from 1 on, or auto, not `{text}`")
    return int(text)


def _outputs(texts: Sequence[str]) -> list[tuple[str, str]]:
    from noclobber.report import FORMATS

    outputs = []
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals or not file:
            raise Failed(f"option `--output` needs FORMAT=FILE, not `{text}`")
        if name not in FORMATS:
            raise Failed(
                f"option `--output` must name one of {', '.join(FORMATS)}, not `{name}`{nearest(name, FORMATS)}"
            )
        outputs.append((name, file))
    return outputs


def run(arguments: list[str], command: str = "check") -> int:
    options = parser(command).parse(arguments)
    interactive = command == "fix" and options.interactive
    fixing = command == "fix" or options.fix or options.diff
    if options.unsafe_fixes and not fixing:
        raise Failed("option `--unsafe-fixes` needs `--fix` or `--diff`")
    if interactive and (options.diff or not sys.stdin.isatty()):
        raise Failed("option `-i` asks on a terminal" + ("; it cannot be given with `--diff`" if options.diff else ""))
    if fixing and options.add_ignore is not None:
        raise Failed("option `--add-ignore` cannot be given with a fixing one")
    jobs = jobs_of(options.jobs)
    outputs = _outputs(options.output)
    resolver = make_resolver(options)
    paths = list(options.paths)
    stdin = None
    if options.files_from:
        if options.files_from == "-" and "-" in paths:
            raise Failed("stdin cannot hold both the code and the list of files")
        paths += listed(options.files_from)
    if "-" in paths:
        if len(paths) > 1:
            raise Failed("`-` cannot be checked together with other paths")
        stdin = (stdin_bytes(), options.stdin_filename or "stdin")
    if not paths and options.files_from:
        paths = []
    elif not paths:
        paths = ["."]
    main_config = resolver.for_path(stdin[1] if stdin else paths[0] if paths else ".")

    from noclobber import engine, verdict
    from noclobber.finding import Failure

    started = time.perf_counter()
    progress = Progress() if shows_progress(options) else None
    try:
        workspaces = engine.Workspaces()
        run = engine.run(paths, resolver, stdin=stdin, jobs=jobs, progress=progress, workspaces=workspaces)
    finally:
        if progress:
            progress.clear()
    only_new = None
    if options.diff_base:
        from noclobber.cli.diff import comparison

        only_new = comparison(options.diff_base, options.diff_scope, paths, resolver, jobs)
    known = None
    if not options.no_baseline and any(item.config.settings.baseline for item in run.items):
        from noclobber.cli.known import baselines

        known = baselines([item.config for item in run.items], run.cwd)

    def settle(items: Sequence[Any], whole: bool) -> Any:
        return verdict.settle(items, no_ignores=options.no_ignores, whole=whole, baselines=known, only_new=only_new)

    settled = settle(run.items, run.whole)
    fixed = None
    if fixing:
        fixed = _fix(run, settled, settle, workspaces, stdin, options, interactive)
        if stdin is not None:
            run.items[:] = [done.item for done in fixed] or run.items
            settled = settle(run.items, run.whole)
        elif not options.diff and any(done.applied for done in fixed):
            workspaces = engine.Workspaces()
            run = engine.run(paths, resolver, jobs=jobs, workspaces=workspaces)
            settled = settle(run.items, run.whole)
    buffer = None if stdin is None else fixed[0].data if fixed else stdin[0]
    if options.quiet < 2:  # else nobody would see them
        settled = verdict.with_fixes(settled, engine.fixes_of(run, settled.findings, workspaces, buffer))
    settled.errors += tuple(Failure("RMW009", path, 0, reason) for path, reason in run.missing)
    run.seconds = time.perf_counter() - started  # with the other side of --diff-base and the fixes
    numbers = settled.summary
    numbers.failed += len(run.missing)

    complain = _complainer(options.quiet)
    for path, reason in run.missing:
        print(f"noclobber: {path}: {reason}", file=sys.stderr)
    for warning in run.warnings:
        complain(f"warning: {warning}")
    for selector, slug in sorted({pair for item in run.items[:1] for pair in item.config.selection.held_back}):
        complain(
            f"warning: {selector} ({slug}) is right less than nine times in ten, on code that was read: "
            "it needs --preview"
        )
    if options.verbose:
        complain(f"settings: {main_config.file or 'defaults'}; root: {main_config.root}")
        if run.excluded:
            complain(f"{run.excluded} file{'s' if run.excluded != 1 else ''} excluded by configuration")

    if options.add_ignore is not None:
        if stdin is not None:
            raise Failed("`--add-ignore` cannot write into stdin")
        from noclobber.cli.ignores import add_ignores

        comments, changed = add_ignores(settled, options.add_ignore, run.cwd)
        print(f"{comments} comment{'s' if comments != 1 else ''} written into {changed} file{'s' if changed != 1 else ''}")
        return BROKEN if run.missing or settled.internal_error else OK
    shown_as = main_config.settings.output_format
    would = False
    if fixed is not None:
        from noclobber.cli import fixing as fixes

        would = options.diff and any(done.applied for done in fixed)
        output = b"".join(fixes.patch(done, _root(run.cwd)) for done in fixed) if options.diff else fixed[0].data if stdin is not None and fixed else stdin[0] if stdin is not None else b""
        if options.diff or stdin is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(output)
            sys.stdout.buffer.flush()
        if options.quiet < 2 and not options.diff:
            for line in fixes.listed(fixed):
                print(line, file=sys.stderr)
        complain(fixes.told(fixed, options.diff))
    if not options.diff:
        _print(settled, run, shown_as, options, sys.stderr if fixed is not None and stdin is not None else sys.stdout)
    if "github" in (shown_as, *(name for name, _ in outputs)):
        _step_summary(settled, run)
    for name, file in outputs:
        _write_file(name, file, settled, run, options)
    if options.profile:
        _profile(run, sys.stderr)
    if run.missing or settled.internal_error:
        return BROKEN
    return FOUND if (would or settled.failing > options.max_findings) and not options.exit_zero else OK


def _fix(run: Any, settled: Any, settle: Any, workspaces: Any, stdin: Any, options: argparse.Namespace, interactive: bool) -> list[Any]:
    """Fix the files with findings: in memory, and on disk unless only a patch or stdin's text is wanted. Returns fixing.Fixed of each."""
    from noclobber import engine
    from noclobber.cli import fixing

    def shown_of(path: str) -> Any:
        """item → what of a file is shown; where findings are compared with known ones, all files have a say in which these are."""
        others = [other for other in run.items if other.result.path != path]

        def shown(item: Any) -> list[Any]:
            everything = settle([*others, item] if compared else [item], run.whole)
            return [finding for finding in everything.findings if finding.path == path]

        return shown

    compared = bool(options.diff_base) or any(item.config.settings.baseline for item in run.items)
    choose = fixing.Asking(settled.pages, run.lines, colored(options.color, sys.stdout)) if interactive else None
    shown = {finding.path for finding in settled.findings}
    fixed = []
    for item in run.items:
        path = item.result.path
        if path not in shown and stdin is None:
            continue
        absolute = os.path.abspath(os.path.join(run.cwd, path))
        data = stdin[0] if stdin is not None else None
        if data is None:
            try:
                with open(absolute, "rb") as stream:
                    data = stream.read()
            except OSError:
                continue  # it has its failure
        stopped = False
        try:
            done = engine.on_big_stack(
                lambda item=item, data=data, absolute=absolute: fixing.fix_file(
                    item, data, shown_of(item.result.path), workspaces.of(item.config, absolute), options.unsafe_fixes or interactive, choose
                )
            )
        except fixing.Stop as stop:
            done, stopped = stop.args[0], True
        if done.applied and not options.diff and stdin is None:
            reason = fixing.write(done, item.config.root)
            if reason:
                print(f"noclobber: {path}: not fixed: {reason}", file=sys.stderr)
                done.applied.clear()
        fixed.append(done)
        if stopped:
            break
    return fixed


def _print(settled: Any, run: Any, name: str, options: argparse.Namespace, out: TextIO) -> None:
    """Findings on `out` (stdout, but for fixed text that goes there); the numbers there too when the format is for people, else on stderr."""
    from noclobber import report

    if options.quiet > 1:
        return
    numbers = options.quiet == 0
    human = name in report.HUMAN
    report.write(
        name,
        settled,
        out,
        run.lines,
        report.Options(
            color=colored(options.color, out),
            show_suppressed=options.show_suppressed,
            seconds=run.seconds,
            footer=numbers,
            details=options.verbose,
            cwd=run.cwd,
            root=_root(run.cwd),
        ),
    )
    out.flush()
    where = out if human else sys.stderr
    if options.statistics:
        for line in report.statistics(settled):
            print(line, file=where)
    if numbers and not human:
        print(report.summary(settled, run.seconds, details=options.verbose), file=sys.stderr)


def _root(cwd: str) -> str:
    """What machines' paths are relative to: the repository's root, else the working directory."""
    from noclobber.git import root_of

    return root_of(cwd) or cwd


def _step_summary(settled: Any, run: Any) -> None:
    """GitHub Actions shows this file with the job; several steps append to it."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    from noclobber import report
    from noclobber.report import github

    try:
        with open(file, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(github.step_summary(settled, report.Options(seconds=run.seconds)))
    except OSError as error:
        print(f"noclobber: warning: cannot write {file}: {(error.strerror or str(error)).lower()}", file=sys.stderr)


def _write_file(name: str, file: str, settled: Any, run: Any, options: argparse.Namespace) -> None:
    from noclobber import report

    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            report.write(
                name,
                settled,
                stream,
                run.lines,
                report.Options(show_suppressed=options.show_suppressed, seconds=run.seconds, cwd=run.cwd, root=_root(run.cwd)),
            )
    except OSError as error:
        raise Failed(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None


def _complainer(quiet: int) -> Callable[[str], None]:
    return (lambda text: None) if quiet > 1 else (lambda text: print(f"noclobber: {text}", file=sys.stderr))


def _profile(run: Any, stream: TextIO) -> None:
    """The counters that the analysis kept, summed, and the slowest files."""
    totals: dict[str, float] = {}
    for item in run.items:
        for key, value in item.result.stats.items():
            totals[key] = totals.get(key, 0) + value
    print(
        f"profile: {run.seconds:.2f} s, {len(run.items)} files, {run.jobs} process{'es' if run.jobs != 1 else ''}",
        file=stream,
    )
    for key in sorted(totals):
        value = totals[key]
        print(f"  {key:<24} {value:>12.0f}" if value == int(value) else f"  {key:<24} {value:>12.3f}", file=stream)
    print("  slowest files", file=stream)
    for item in sorted(run.items, key=lambda item: -item.seconds)[:10]:
        print(f"    {item.seconds * 1000:>9.1f} ms  {item.result.path}", file=stream)
