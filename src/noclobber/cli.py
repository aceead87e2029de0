"""The command line. Commands that analyse nothing import nothing that analyses.

Exit codes (UX §8.3): 0 complete, nothing at or above `fail-on` · 1 findings · 2 the run cannot be trusted · 130
interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from noclobber import __version__

if TYPE_CHECKING:
    from noclobber.config import Resolver

OK, FOUND, BROKEN, INTERRUPTED = 0, 1, 2, 130
PIPE = 141

COMMANDS = {
    "check": "look for lost updates in files and folders",
    "rule": "explain a rule",
    "rules": "list the rules",
    "config": "show the settings in force, and where each comes from",
    "stores": "list, check or explain what noclobber knows of stores",
    "version": "show the version",
}
SHORT_HELP = f"""\
noclobber {__version__}: finds code that reads shared state, changes it and writes it back without checking that
nobody else did

{chr(10).join(f"  noclobber {name:<8} {text}" for name, text in COMMANDS.items())}

Try: noclobber check        (the current folder; every command knows --help)"""


class Failed(Exception):
    """The command cannot be carried out; the message goes to stderr, the exit code is 2."""


class _Parser(argparse.ArgumentParser):
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
                f"unknown option `{word}`{_nearest(word.partition('=')[0], known)}"
                if word.startswith("-")
                else f"unexpected `{word}`"
            )
        return options


def _nearest(word: str, words: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, words, 1, 0.6)
    return f"; a similar one exists: `{close[0]}`" if close else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code, never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no `·` must not end the run
    try:
        try:
            code = _dispatch(arguments)
        except Failed as error:
            print(f"noclobber: {error}", file=sys.stderr)
            code = BROKEN
        except SystemExit as leave:  # argparse's --help
            code = leave.code if isinstance(leave.code, int) else OK
        except (KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception:  # Python would exit with 1, which means findings
            import traceback

            traceback.print_exc()
            print("noclobber: internal error (please report it)", file=sys.stderr)
            code = BROKEN
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("noclobber: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. Python would complain once more when it flushes at exit.
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (OSError, ValueError, AttributeError):
            pass
        return PIPE


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(SHORT_HELP)
        return OK
    word, rest = arguments[0], arguments[1:]
    if word in ("--version", "-V"):
        return _version([])
    run = {
        "check": _check,
        "rule": _rule,
        "rules": _rules,
        "config": _config,
        "stores": _stores,
        "version": _version,
    }.get(word)
    if run is None:
        if word.startswith("-"):
            raise Failed(f"the command comes first: noclobber check {' '.join(arguments)}")
        if os.path.exists(word):
            raise Failed(f"`{word}` is no command; did you mean `noclobber check {word}`?")
        raise Failed(f"unknown command `{word}`{_nearest(word, list(COMMANDS))}")
    try:
        return run(rest)
    except Exception as error:
        message = _expected(error)
        if message is None:
            raise
        raise Failed(message) from None


def _expected(error: Exception) -> str | None:
    """The message of an error in settings or vocabulary; None for any other. Both modules are loaded when they raised
    it."""
    for module, name in (("noclobber.config", "ConfigError"), ("noclobber.knowledge", "KnowledgeError")):
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return str(error)
    return None


# --- check ------------------------------------------------------------------------------------------------------------


def _check_parser() -> _Parser:
    from noclobber.config import SETTINGS

    parser = _Parser("check")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .); - reads stdin")
    groups = {
        name: parser.add_argument_group(name) for name in ("rules", "files", "gate", "suppressions", "output", "run")
    }
    place = {
        "exclude": "files",
        "extend-exclude": "files",
        "force-exclude": "files",
        "respect-gitignore": "files",
        "fail-on": "gate",
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
                help=argparse.SUPPRESS if not row.default else f"not: {row.help}",
                **default,
            )
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
    add = groups["suppressions"].add_argument
    add("--no-ignores", action="store_true", help="as if there were no suppressing comments")
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
    return parser


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
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


def _resolver(options: argparse.Namespace) -> Resolver:
    from noclobber.config import Resolver

    return Resolver(_overrides(options), config_file=options.config, isolated=options.isolated, environ=os.environ)


def _jobs(text: str) -> int | None:
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
                f"option `--output` must name one of {', '.join(FORMATS)}, not `{name}`{_nearest(name, FORMATS)}"
            )
        outputs.append((name, file))
    return outputs


def _check(arguments: list[str]) -> int:
    options = _check_parser().parse(arguments)
    jobs = _jobs(options.jobs)
    outputs = _outputs(options.output)
    resolver = _resolver(options)
    paths = list(options.paths)
    stdin = None
    if options.files_from:
        if options.files_from == "-" and "-" in paths:
            raise Failed("stdin cannot hold both the code and the list of files")
        paths += _listed(options.files_from)
    if "-" in paths:
        if len(paths) > 1:
            raise Failed("`-` cannot be checked together with other paths")
        stdin = (_stdin_bytes(), options.stdin_filename or "stdin")
    if not paths and options.files_from:
        paths = []
    elif not paths:
        paths = ["."]
    main_config = resolver.for_path(stdin[1] if stdin else paths[0] if paths else ".")

    from noclobber import engine, verdict
    from noclobber.finding import Failure

    progress = _Progress() if _shows_progress(options) else None
    try:
        run = engine.run(paths, resolver, stdin=stdin, jobs=jobs, progress=progress)
    finally:
        if progress:
            progress.clear()
    settled = verdict.settle(run.items, no_ignores=options.no_ignores, whole=run.whole)
    settled.errors += tuple(Failure("RMW009", path, 0, reason) for path, reason in run.missing)
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

    _print(settled, run, main_config.settings.output_format, options)
    for name, file in outputs:
        _write_file(name, file, settled, run, options)
    if options.profile:
        _profile(run, sys.stderr)
    if run.missing or settled.internal_error:
        return BROKEN
    return FOUND if settled.failing > options.max_findings and not options.exit_zero else OK


def _print(settled: Any, run: Any, name: str, options: argparse.Namespace) -> None:
    """Findings on stdout; the numbers there too when the format is for people, else on stderr."""
    from noclobber import report

    if options.quiet > 1:
        return
    numbers = options.quiet == 0
    human = name in report.HUMAN
    report.write(
        name,
        settled,
        sys.stdout,
        run.lines,
        report.Options(
            color=_colored(options.color, sys.stdout),
            show_suppressed=options.show_suppressed,
            seconds=run.seconds,
            footer=numbers,
            details=options.verbose,
        ),
    )
    sys.stdout.flush()
    where = sys.stdout if human else sys.stderr
    if options.statistics:
        for line in report.statistics(settled):
            print(line, file=where)
    if numbers and not human:
        print(report.summary(settled, run.seconds, details=options.verbose), file=sys.stderr)


def _write_file(name: str, file: str, settled: Any, run: Any, options: argparse.Namespace) -> None:
    from noclobber import report

    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            report.write(
                name,
                settled,
                stream,
                run.lines,
                report.Options(show_suppressed=options.show_suppressed, seconds=run.seconds),
            )
    except OSError as error:
        raise Failed(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None


def _listed(file: str) -> list[str]:
    from noclobber.files import read_list

    if file == "-":
        return read_list(_stdin_bytes())
    try:
        with open(file, "rb") as stream:
            return read_list(stream.read())
    except OSError as error:
        raise Failed(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None


def _stdin_bytes() -> bytes:
    return sys.stdin.buffer.read()


def _complainer(quiet: int) -> Callable[[str], None]:
    return (lambda text: None) if quiet > 1 else (lambda text: print(f"noclobber: {text}", file=sys.stderr))


def _colored(choice: str, stream: TextIO) -> bool:
    """flag, then NO_COLOR (which wins over FORCE_COLOR), then FORCE_COLOR and CLICOLOR_FORCE, then what the stream
    is."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def _shows_progress(options: argparse.Namespace) -> bool:
    """Only for somebody who watches: hooks have a terminal too, but put it into the report (UX §2.2)."""
    if (
        options.no_progress
        or options.quiet
        or os.environ.get("CI")
        or os.environ.get("PRE_COMMIT")
        or os.environ.get("TERM") == "dumb"
    ):
        return False
    return sys.stderr.isatty()


class _Progress:
    """One line on stderr that is rewritten; appears after two seconds."""

    def __init__(self) -> None:
        import time

        self._now = time.monotonic
        self._next = self._now() + 2.0
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if self._now() >= self._next:
            self._next = self._now() + 0.1
            self._shown = True
            sys.stderr.write(f"\r{done} of {total} files")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 40 + "\r")
            sys.stderr.flush()


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


# --- rule, rules ------------------------------------------------------------------------------------------------------


def _rule(arguments: list[str]) -> int:
    from noclobber import knowledge

    parser = _Parser("rule")
    parser.add_argument("names", nargs="*", metavar="CODE|NAME")
    parser.add_argument("--all", action="store_true", help="all rules")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    options = parser.parse(arguments)
    rules = knowledge.load()
    if options.all:
        pages = sorted(rules.pages.values(), key=lambda page: page.code)
    elif options.names:
        pages = [_page(rules, name) for name in options.names]
    else:
        raise Failed("which rule? noclobber rule CODE, or --all; `noclobber rules` lists them")
    if options.format == "json":
        import json

        print(json.dumps([_page_data(page) for page in pages], indent=2))
        return OK
    texts = [_page_text(page, options.format) for page in pages]
    text = "\n\n".join(texts)
    from noclobber import report

    rows = [[(line, "bold" if line.startswith("#") else "")] for line in text.split("\n")]
    report.emit(rows, sys.stdout, options.format == "text" and _colored(options.color, sys.stdout))
    return OK


def _page(rules: Any, name: str) -> Any:
    page = rules.by_code.get(name.upper()) or rules.pages.get(name.lower())
    if page is None:
        from noclobber.config import nearest_rule

        raise Failed(f"unknown rule `{name}`{nearest_rule(name, rules.pages)}")
    return page


def _page_text(page: Any, form: str) -> str:
    facts = [page.level, page.severity, page.status, f"fix: {page.fix}", f"since {page.since}"]
    facts += [f"{name}: {level}, {severity}" for name, (level, severity) in page.variants.items()]
    if form == "markdown":
        return f"# {page.code} {page.slug}\n\n{page.summary}\n\n{' · '.join(facts)}\n\n{page.text.strip()}"
    return f"# {page.code} {page.slug}\n{' · '.join(facts)}\n\n{page.summary}\n\n{page.text.strip()}"


def _page_data(page: Any) -> dict[str, Any]:
    right, wrong = page.trust["right"], page.trust["wrong"]
    return {
        "code": page.code,
        "name": page.slug,
        "summary": page.summary,
        "family": page.family,
        "group": page.group,
        "level": page.level,
        "severity": page.severity,
        "scope": page.scope,
        "status": page.status,
        "since": page.since,
        "fix": page.fix,
        "trust": {"right": right, "wrong": wrong},
        "variants": [
            {"name": name, "level": level, "severity": severity} for name, (level, severity) in page.variants.items()
        ],
        "options": list(page.options),
        "references": list(page.references),
        "text": page.text,
    }


def _rules(arguments: list[str]) -> int:
    from noclobber import knowledge

    parser = _Parser("rules")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    options = parser.parse(arguments)
    pages = sorted(knowledge.load().pages.values(), key=lambda page: page.code)
    if options.format == "json":
        import json

        print(
            json.dumps(
                [{key: value for key, value in _page_data(page).items() if key != "text"} for page in pages], indent=2
            )
        )
        return OK
    rows = [("code", "name", "level", "severity", "status", "fix", "trust", "summary")]
    for page in pages:
        right, wrong = page.trust["right"], page.trust["wrong"]
        trust = f"{right}/{right + wrong}" if right + wrong else "-"
        rows.append((page.code, page.slug, page.level, page.severity, page.status, page.fix, trust, page.summary))
    if options.format == "markdown":
        rows.insert(1, ("---",) * 8)
        for row in rows:
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
        return OK
    _table(rows)
    return OK


def _table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths)).rstrip())


# --- config -----------------------------------------------------------------------------------------------------------


def _config(arguments: list[str]) -> int:
    from noclobber.config import SETTINGS

    parser = _Parser("config")
    parser.add_argument("path", nargs="?", default=".", metavar="PATH")
    parser.add_argument("--check", action="store_true", help="only say whether the settings can be used")
    parser.add_argument(
        "--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="this settings file"
    )
    parser.add_argument("--isolated", action="store_true", help="read no settings file")
    options = parser.parse(arguments)
    if not os.path.exists(options.path):
        raise Failed(f"{options.path}: no such file or directory")
    resolver = _resolver(options)
    config = resolver.for_path(options.path)
    config.vocabulary  # noqa: B018  a mistake in the user's tables shows here
    if options.check:
        print(f"{config.file}: ok" if config.file else "no settings file; the defaults are in force")
        return OK
    print(f"# root: {config.root}")
    print(f"# file: {config.file or 'none'}")
    rows = []
    for row in SETTINGS.values():
        value = getattr(config.settings, row.name)
        rows.append((f"{row.key} = {_toml(value)}", config.origins.get(row.key, "default")))
    edge = min(max(len(text) for text, _ in rows), 60)
    for text, origin in rows:
        print(f"{text:<{edge}}  # {origin}")
    print(f"# rules that run: {', '.join(sorted(_page(_loaded(), slug).code for slug in config.selected))}")
    return OK


def _loaded() -> Any:
    from noclobber import knowledge

    return knowledge.load()


def _toml(value: Any) -> str:
    """The value as TOML would write it on one line."""
    import json

    if value is None:
        return "[]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
            if value
            else "{}"
        )
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


# --- stores -----------------------------------------------------------------------------------------------------------


def _stores(arguments: list[str]) -> int:
    parser = _Parser("stores")
    actions = {"list": _stores_list, "check": _stores_check, "explain": _stores_explain}
    parser.add_argument("action", nargs="?", default="", metavar="|".join(actions))
    parser.add_argument(
        "argument", nargs="?", metavar="FILE | PATH:LINE", help="check: a vocabulary file; explain: a place in the code"
    )
    parser.add_argument(
        "--verify", action="store_true", help="check: compare the signatures with the libraries installed here"
    )
    parser.add_argument(
        "--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="this settings file"
    )
    parser.add_argument("--isolated", action="store_true", help="read no settings file")
    options = parser.parse(arguments)
    if options.action not in actions:
        said = f"unknown action `{options.action}`{_nearest(options.action, list(actions))}" if options.action else "which action"
        parser.error(f"{said}? list, check FILE or explain PATH:LINE" if not options.action else said)
    return actions[options.action](options)


def _stores_list(options: argparse.Namespace) -> int:
    from noclobber.knowledge import describe

    _table(describe.stores_table(_resolver(options).for_path(".").vocabulary))
    return OK


def _stores_check(options: argparse.Namespace) -> int:
    """Say everything that is wrong with a vocabulary file, else with the settings that are in force here."""
    from noclobber.knowledge import describe

    problems: list[Any] = []
    if options.argument:
        file, base = options.argument, _loaded().vocabulary
        problems += describe.check_file(file, base)
        vocabulary = None if problems else base.with_user_file(file, file)
    else:
        config = _resolver(options).for_path(".")
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
    config = _resolver(options).for_path(path)
    from noclobber.explain import explain
    from noclobber.resolve import SourceError

    try:
        text = explain(path, int(line), config.vocabulary)
    except (OSError, SourceError) as error:
        raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    print(text or f"{options.argument}: no call here that the vocabulary knows")
    return OK


# --- version ----------------------------------------------------------------------------------------------------------


def _version(arguments: list[str]) -> int:
    if arguments:
        parser = _Parser("version")
        parser.add_argument("--verbose", "-v", action="store_true", help="also the versions of what noclobber runs on")
        options = parser.parse(arguments)
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
