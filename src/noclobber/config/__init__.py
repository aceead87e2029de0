"""Settings: where they are written, what they may be, which rules they turn on.

The fields of `Settings` are the one table of settings: the TOML loader, the command line and `noclobber config` are all
made from it. `Resolver` finds the settings of a directory once; `Config` is what the other parts see (picklable, no
file access except for the user's vocabulary files).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

from noclobber import knowledge
from noclobber.config.places import locate, locate_item
from noclobber.files import display

CONFIG_FILES = (".noclobber.toml", "noclobber.toml", "pyproject.toml")
SEVERITIES = ("info", "warning", "error")
#: Rules that nobody can turn off: a run that could not look at a file must not look clean (DESIGN §8).
FIXED = frozenset({"RMW001", "RMW009"})
#: Keys that knowledge reads, as in a file of `vocabulary`.
TABLES = ("store", "effect", "lock", "retry", "tool", "orm", "builder", "transaction", "patterns", "disable")

#: gitignore patterns of what is left out while walking; `exclude` replaces them, `extend-exclude` adds.
DEFAULT_EXCLUDE = (
    "tests/",
    "test/",
    "test_*.py",
    "*_test.py",
    "conftest.py",
    "migrations/",
    "**/alembic/versions/",
    "vendor/",
    "vendored/",
    "_vendor/",
    "third_party/",
    "node_modules/",
    ".venv/",
    "venv/",
    "build/",
    "dist/",
    ".git/",
    ".hg/",
    ".svn/",
    ".tox/",
    ".nox/",
    ".eggs/",
    "__pycache__/",
    "__pypackages__/",
    "site-packages/",
    "*_pb2.py",
    "*_pb2_grpc.py",
)


class ConfigError(Exception):
    """A setting that cannot be used. `str()` is `path:line:column: message`, or the message where no file is at
    fault."""

    def __init__(self, message: str, path: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, path, line, column)
        self.message = message
        self.path = path
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if not self.path:
            return self.message
        where = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.path}{where}: {self.message}"


# --- the table of settings --------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """One row of the table. `kind`: string, bool, choice, selectors, globs, paths, ids, tables, or one of the tables
    severities, ignores, patterns.

    `flag`: the option of `noclobber check`, "" when there is none. `env`: an environment variable that sets it.
    """

    key: str
    kind: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    flag: str = ""
    env: str = ""

    @property
    def name(self) -> str:
        """The attribute of Settings."""
        return self.key.replace("-", "_")


def _setting(
    default: Any, kind: str, help: str, choices: tuple[str, ...] = (), flag: bool = False, env: str = ""
) -> Any:
    meta = {"kind": kind, "help": help, "choices": choices, "flag": flag, "env": env}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class Settings:
    """The values of all settings, with their defaults."""

    required_version: str = _setting("", "string", 'versions of noclobber that may run, such as ">=0.4,<0.5"')
    preset: str = _setting("recommended", "choice", "which levels of rules are on", ("recommended", "strict"), True)
    preview: bool = _setting(False, "bool", "turn on preview rules that are off by default", flag=True)
    select: tuple[str, ...] | None = _setting(
        None, "selectors", "rules to run instead of the preset's: codes, prefixes, names, ALL", flag=True
    )
    extend_select: tuple[str, ...] = _setting((), "selectors", "rules to run besides", flag=True)
    ignore: tuple[str, ...] = _setting((), "selectors", "rules to leave out", flag=True)
    extend_ignore: tuple[str, ...] = _setting((), "selectors", "more rules to leave out", flag=True)
    min_confidence: str = _setting(
        "medium", "choice", "show findings from this confidence on", ("low", "medium", "high"), True
    )
    min_severity: str = _setting("info", "choice", "show findings from this severity on", SEVERITIES, True)
    fail_on: str = _setting(
        "warning", "choice", "exit with 1 from this severity on", ("error", "warning", "info", "never"), True
    )
    exclude: tuple[str, ...] = _setting(
        DEFAULT_EXCLUDE, "globs", "what to leave out while walking (replaces the defaults)", flag=True
    )
    extend_exclude: tuple[str, ...] = _setting((), "globs", "what to leave out besides", flag=True)
    force_exclude: bool = _setting(False, "bool", "exclude also what is named on the command line", flag=True)
    respect_gitignore: bool = _setting(True, "bool", "leave out what git ignores", flag=True)
    baseline: str = _setting("", "string", "file of known findings (in a settings file: relative to it)", flag=True)
    require_reason: bool = _setting(False, "bool", "report suppressions without a reason", flag=True)
    respect_noqa: str = _setting("codes", "choice", "which `# noqa` comments count", ("codes", "all", "none"))
    severity: dict[str, str] = _setting({}, "severities", "rule = severity", SEVERITIES)
    per_file_ignores: dict[str, tuple[str, ...]] = _setting({}, "ignores", "glob = rules to leave out there", flag=True)
    output_format: str = _setting(
        "full",
        "choice",
        "how findings are printed",
        # those of report.FORMATS, which a test compares: settings must not load what prints
        ("full", "concise", "grouped", "json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson", "html"),
        True,
        "NOCLOBBER_OUTPUT_FORMAT",
    )
    vocabulary: tuple[str, ...] = _setting((), "paths", "files that describe stores, effects, locks, retries, tools")
    store: tuple[dict, ...] = _setting((), "tables", "stores of this project")
    effect: tuple[dict, ...] = _setting((), "tables", "side effects of this project")
    lock: tuple[dict, ...] = _setting((), "tables", "locks of this project")
    retry: tuple[dict, ...] = _setting((), "tables", "retry helpers of this project")
    tool: tuple[dict, ...] = _setting((), "tables", "tool decorators of this project")
    orm: tuple[dict, ...] = _setting((), "tables", "model base classes and sessions of this project")
    builder: tuple[dict, ...] = _setting((), "tables", "statement builders of this project")
    transaction: tuple[dict, ...] = _setting((), "tables", "transaction helpers of this project")
    patterns: dict[str, list[str]] = _setting({}, "patterns", "group = more name patterns for it")
    disable: tuple[str, ...] = _setting((), "ids", "built-in entries of the vocabulary to leave out")


def _row(item: Any) -> Setting:
    key = item.name.replace("_", "-")
    meta = item.metadata
    default = item.default if item.default is not MISSING else item.default_factory()
    return Setting(
        key, meta["kind"], default, meta["help"], meta["choices"], f"--{key}" if meta["flag"] else "", meta["env"]
    )


SETTINGS: dict[str, Setting] = {row.key: row for row in map(_row, fields(Settings))}


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """ "; did you mean `x`?" for the nearest of `words`, the first of equals, or ""."""
    from difflib import SequenceMatcher

    best, found = cutoff, ""
    for other in words:
        ratio = max(SequenceMatcher(None, other, word).ratio(), SequenceMatcher(None, other, word.lower()).ratio())
        if ratio > best or (ratio == best and not found):
            best, found = ratio, other
    return f"; did you mean `{found}`?" if found else ""


# --- selectors: codes, prefixes, names --------------------------------------------------------------------------------


def specificity(selector: str, code: str, slug: str) -> int | None:
    """How closely a selector names a rule: None not at all, 0 `ALL`, else the length of the code's part that it
    gives."""
    if selector == slug or selector == code:
        return len(code)
    if selector == "ALL":
        return 0
    return len(selector) if selector.startswith("RMW") and code.startswith(selector) else None


def check_selector(selector: str, exact: bool = False) -> str:
    """ "" when the selector names a rule, else what is wrong with it and the nearest valid one. `exact`: no
    prefixes."""
    pages = knowledge.load().pages
    for slug, page in pages.items():
        if (selector in (slug, page.code)) if exact else (specificity(selector, page.code, slug) is not None):
            return ""
    return f"unknown rule `{selector}`" + nearest_rule(selector, pages)


def nearest_rule(word: str, pages: Mapping[str, Any]) -> str:
    """`nearest` among codes and names. All codes look alike, so one that differs in more than a character is no
    guess."""
    return nearest(word.upper(), (page.code for page in pages.values()), 0.8) or nearest(word, pages)


class Selection:
    """Which rules are on. A rule with variants may be on for one level and off for another.

    `entries`: (layer, on, selector) of every select and ignore; the closest selector decides, then the later layer (the
    command line is later than a file), then the ignore. Without `select` the preset is the farthest selector of all.
    """

    def __init__(
        self,
        pages: Mapping[str, Any],
        preset: str,
        preview: bool,
        chosen: bool,
        entries: Sequence[tuple[int, bool, str]],
    ) -> None:
        self._pages = pages
        self._preset = preset
        self._preview = preview
        self._chosen = chosen
        self._entries = entries
        self._known: dict[tuple[str, str], bool] = {}
        #: Slugs of rules that are on for at least one of their levels.
        self.rules = frozenset(
            slug
            for slug, page in pages.items()
            if any(self.on(slug, level) for level in {page.level, *(v[0] for v in page.variants.values())})
        )
        #: (selector, slug) named outright but off because its findings were read and too few were right.
        self.held_back = tuple(
            (selector, slug)
            for slug, page in pages.items()
            if distrusted(page) and not preview
            for _, on, selector in entries
            if on and selector in (slug, page.code)
        )

    def on(self, slug: str, level: str) -> bool:
        """Whether a finding of this rule and level is wanted."""
        key = (slug, level)
        if key not in self._known:
            self._known[key] = self._decide(self._pages[slug], slug, level)
        return self._known[key]

    def _decide(self, page: Any, slug: str, level: str) -> bool:
        if page.code in FIXED:
            return True
        if distrusted(page) and not self._preview:
            return False
        best: tuple[int, int, int] = (-1, -1, 1)
        if not self._chosen and (
            level == "recommended" or (self._preset == "strict" and (page.status == "stable" or self._preview))
        ):
            best = (0, -1, 0)
        for layer, on, selector in self._entries:
            close = specificity(selector, page.code, slug)
            if close is not None:
                best = max(best, (close, layer, 0 if on else 1))
        return best[2] == 0


#: So many findings must have been read before one wrong one among them counts against a rule ("never under 8", DESIGN §9).
ENOUGH_READ = 8


def distrusted(page: Any) -> bool:
    """Whether the page's findings on unseen code were read and fewer than 9 in 10 were right (DESIGN §9).

    Of fewer than ENOUGH_READ one may be wrong: that is no evidence against nine in ten. Two are.
    """
    right, wrong = page.trust["right"], page.trust["wrong"]
    return right * 10 < 9 * (right + wrong) and (right + wrong >= ENOUGH_READ or wrong > 1)


# --- what the other parts see -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    """The settings in force for one directory.

    `root`: absolute directory that globs and fingerprints are relative to: the settings file's, else the repository's
    root, else the working directory. `file`: the settings file as shown to the user, or "". `origins`: key →
    "pyproject.toml:12", "--select", "NOCLOBBER_OUTPUT_FORMAT"; keys that are missing have their default. `entries`: see
    Selection. `text`: of the file, kept when it holds tables of vocabulary.
    """

    settings: Settings
    root: str
    file: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    entries: tuple[tuple[int, bool, str], ...] = ()
    text: str = field(default="", repr=False)

    @cached_property
    def selection(self) -> Selection:
        """Which rules are on."""
        settings = self.settings
        return Selection(
            knowledge.load().pages, settings.preset, settings.preview, settings.select is not None, self.entries
        )

    @property
    def selected(self) -> frozenset[str]:
        """Slugs of the rules that must run."""
        return self.selection.rules

    @cached_property
    def vocabulary(self) -> Any:
        """The vocabulary with the user's tables and files merged in. Raises knowledge.KnowledgeError."""
        vocabulary = knowledge.load().vocabulary
        for name in self.settings.vocabulary:
            path = os.path.join(self.root, name)
            vocabulary = vocabulary.with_user_file(path, display(path, os.getcwd()))
        values = {kind: getattr(self.settings, kind) for kind in TABLES}
        tables = {kind: list(value) if isinstance(value, tuple) else value for kind, value in values.items() if value}
        if tables:
            vocabulary = vocabulary.with_user_tables(tables, self.file, text=self.text)
        return vocabulary

    @property
    def has_user_vocabulary(self) -> bool:
        return bool(self.settings.vocabulary) or any(getattr(self.settings, kind) for kind in TABLES)

    def relative(self, path: str) -> str:
        """`path` relative to `root`, with `/`; as it is when it lies outside."""
        absolute = os.path.abspath(path)
        prefix = self.root.rstrip(os.sep) + os.sep
        return (absolute[len(prefix) :] if absolute.startswith(prefix) else path).replace(os.sep, "/")

    def ignored(self, path: str, code: str, slug: str) -> bool:
        """Whether per-file-ignores leave this rule out in this file."""
        if code in FIXED:
            return False
        for matches, selectors in self._ignores:
            if any(specificity(selector, code, slug) is not None for selector in selectors) and matches(
                self.relative(path)
            ):
                return True
        return False

    @cached_property
    def _ignores(self) -> list[tuple[Any, tuple[str, ...]]]:
        if not self.settings.per_file_ignores:
            return []
        from pathspec import GitIgnoreSpec  # costs some ms at start, seldom needed

        return [
            (GitIgnoreSpec.from_lines([glob]).match_file, selectors)
            for glob, selectors in self.settings.per_file_ignores.items()
        ]

    def severity_of(self, code: str, slug: str) -> str:
        """The severity that the settings give to a rule, or "". The closest selector wins."""
        best, severity = -1, ""
        if code in FIXED:
            return severity
        for selector, value in self.settings.severity.items():
            close = specificity(selector, code, slug)
            if close is not None and close > best:
                best, severity = close, value
        return severity

    def unknown_rule(self, selector: str) -> str:
        """What to say about a selector that names no rule, with the nearest one."""
        return f"unknown rule `{selector}`{nearest_rule(selector, knowledge.load().pages)}"

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # without what is cached


# --- finding and reading ----------------------------------------------------------------------------------------------


class Resolver:
    """Finds the settings of a directory; each directory is resolved once.

    `overrides`: key → value of the command line (checked here like those of a file). `config_file`: use this file for
    everything. `isolated`: read no file. `environ`: for settings with a variable.
    Every method may raise ConfigError.
    """

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        config_file: str = "",
        isolated: bool = False,
        environ: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self.cwd = os.path.abspath(cwd or os.getcwd())
        self._cache: dict[str, Config] = {}
        self._isolated = isolated
        self._overrides = {
            key: check_value(SETTINGS[key], value, f"option `--{key}`") for key, value in (overrides or {}).items()
        }
        self._origins = {key: f"--{key}" for key in self._overrides}
        for row in SETTINGS.values():
            text = (environ or {}).get(row.env) if row.env else None
            if text and row.key not in self._overrides:
                self._overrides[row.key] = check_value(row, text, f"environment variable {row.env}")
                self._origins[row.key] = row.env
        self._fixed: Config | None = None
        if config_file and not isolated:
            path = os.path.abspath(os.path.join(self.cwd, config_file))
            found = self._read(path)
            if found is None:
                raise ConfigError("the file has no table [tool.noclobber]", display(path, self.cwd))
            self._fixed = found

    def for_path(self, path: str) -> Config:
        """The settings for a file (which need not exist) or a directory."""
        absolute = os.path.abspath(os.path.join(self.cwd, path))
        return self.for_directory(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))

    def for_directory(self, directory: str) -> Config:
        """The settings for the files of an absolute directory."""
        if self._fixed is not None:
            return self._fixed
        config = self._cache.get(directory)
        if config is None:
            config = self._cache[directory] = self._resolve(directory)
        return config

    def _resolve(self, directory: str) -> Config:
        if not self._isolated:
            for name in CONFIG_FILES:
                path = os.path.join(directory, name)
                if os.path.isfile(path):
                    found = self._read(path)
                    if found is not None:
                        return found
        parent = os.path.dirname(directory)
        if os.path.exists(os.path.join(directory, ".git")):
            return self._build({}, directory, "", {})
        if parent == directory:
            return self._build({}, self.cwd, "", {})
        return self.for_directory(parent)

    def _read(self, path: str) -> Config | None:
        """The settings of one file; None for a pyproject.toml without the table."""
        shown = display(path, self.cwd)
        pyproject = os.path.basename(path) == "pyproject.toml"
        if pyproject:
            with _opened(path, shown) as stream:
                if b"noclobber" not in stream.read():
                    return None
        document, text = read_toml(path, shown)
        prefix: tuple[str, ...] = ()
        if pyproject or ("tool" in document and isinstance(document["tool"], dict) and "noclobber" in document["tool"]):
            document = document.get("tool", {}).get("noclobber")
            prefix = ("tool", "noclobber")
            if document is None:
                return None
            if not isinstance(document, dict):
                raise ConfigError("`tool.noclobber` must be a table", shown, *locate(text, prefix))
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for key, value in document.items():
            line, column = locate(text, (*prefix, key))
            row = SETTINGS.get(key)
            if row is None:
                where = " in [tool.noclobber]" if prefix else ""
                raise ConfigError(f"unknown key `{key}`{where}{nearest(key, SETTINGS)}", shown, line, column)
            try:
                values[key] = check_value(row, value, f"`{key}`")
            except ConfigError as error:
                if error.path:
                    raise
                line, column = locate_item(text, (*prefix, key), getattr(error, "item", None)) or (line, column)
                raise ConfigError(error.message, shown, line, column) from None
            origins[key] = f"{shown}:{line}" if line else shown
        _check_version(values.get("required-version", ""), shown, *locate(text, (*prefix, "required-version")))
        config = self._build(values, os.path.dirname(path), shown, origins)
        if any(kind in values for kind in TABLES):
            config = replace(config, text=text)
        return config

    def _build(self, values: dict[str, Any], root: str, file: str, origins: dict[str, str]) -> Config:
        entries: list[tuple[int, bool, str]] = []
        for layer, source in enumerate((values, self._overrides)):
            if layer == 1 or "select" not in self._overrides:
                entries += [(layer, True, selector) for selector in source.get("select") or ()]
            entries += [(layer, True, selector) for selector in source.get("extend-select", ())]
            entries += [
                (layer, False, selector) for key in ("ignore", "extend-ignore") for selector in source.get(key, ())
            ]
            if source.get("require-reason"):
                entries.append((layer, True, "RMW003"))
        merged = {**values, **self._overrides}
        for key in ("extend-select", "ignore", "extend-ignore", "extend-exclude"):
            both = (*values.get(key, ()), *self._overrides.get(key, ()))
            if both:
                merged[key] = both
        if "per-file-ignores" in values and "per-file-ignores" in self._overrides:
            merged["per-file-ignores"] = {**values["per-file-ignores"], **self._overrides["per-file-ignores"]}
        settings = replace(Settings(), **{SETTINGS[key].name: value for key, value in merged.items()})
        return Config(settings, root, file, {**origins, **self._origins}, tuple(entries))


def _opened(path: str, shown: str) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise ConfigError(f"cannot read: {error.strerror or error}", shown) from None


def read_toml(path: str, shown: str = "") -> tuple[dict[str, Any], str]:
    """(document, text) of a TOML file. Raises ConfigError with the place of the mistake."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    shown = shown or path
    with _opened(path, shown) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("the file is not UTF-8", shown, data.count(b"\n", 0, error.start) + 1, 1) from None
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        message, line, column = str(error), 1, 1
        head, found, tail = message.rpartition(" (at line ")
        if found:
            message = head
            numbers = tail.rstrip(")").split(", column ")
            line, column = int(numbers[0]), int(numbers[1])
        elif message.endswith(" (at end of document)"):
            message = message[: -len(" (at end of document)")]
            line = text.count("\n") + 1
        raise ConfigError(f"not TOML: {message[:1].lower()}{message[1:]}", shown, line, column) from None


# --- values -----------------------------------------------------------------------------------------------------------


def _wrong(message: str, item: object = None) -> ConfigError:
    error = ConfigError(message)
    error.item = item  # type: ignore[attr-defined]
    return error


def check_value(row: Setting, value: Any, subject: str) -> Any:
    """The value as Settings keeps it. Raises ConfigError (without a place) when it is of the wrong type or unknown."""
    kind = row.kind
    if kind == "bool":
        if not isinstance(value, bool):
            raise _wrong(f"{subject} must be true or false")
        return value
    if kind in ("string", "choice"):
        if not isinstance(value, str):
            raise _wrong(f"{subject} must be a string")
        if kind == "choice" and value not in row.choices:
            raise _wrong(
                f"{subject} must be one of {', '.join(row.choices)}, not `{value}`{nearest(value, row.choices)}"
            )
        return value
    if kind in ("selectors", "globs", "paths", "ids"):
        if (
            isinstance(value, str)
            or not isinstance(value, (list, tuple))
            or not all(isinstance(item, str) for item in value)
        ):
            raise _wrong(f"{subject} must be a list of strings")
        if kind == "selectors":
            _check_selectors(value, subject, row.key.endswith("ignore"))
        return tuple(value)
    if kind == "tables":
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise _wrong(f"{subject} must be an array of tables: [[tool.noclobber.{row.key}]]")
        return tuple(value)
    if not isinstance(value, dict):
        raise _wrong(f"{subject} must be a table")
    if kind == "severities":
        for selector, severity in value.items():
            wrong = check_selector(selector)
            if wrong:
                raise _wrong(
                    f"{wrong.partition(';')[0]} in {subject}{wrong.partition(';')[1]}{wrong.partition(';')[2]}",
                    selector,
                )
            if severity not in row.choices:
                raise _wrong(f"{subject} must be one of {', '.join(row.choices)}, not `{severity}`", selector)
            _check_fixed([selector], "can have another severity")
        return dict(value)
    for glob, selectors in value.items():
        if (
            isinstance(selectors, str)
            or not isinstance(selectors, (list, tuple))
            or not all(isinstance(item, str) for item in selectors)
        ):
            raise _wrong(f"`{glob}` of {subject} must be a list of strings", glob)
        if kind == "ignores":
            _check_selectors(selectors, subject, True)
    if kind == "patterns":
        return {group: list(globs) for group, globs in value.items()}
    return {glob: tuple(selectors) for glob, selectors in value.items()}


def _check_selectors(selectors: Sequence[str], subject: str, ignoring: bool) -> None:
    for selector in selectors:
        wrong = check_selector(selector)
        if wrong:
            head, mark, tail = wrong.partition(";")
            raise _wrong(f"{head} in {subject}{mark}{tail}", selector)
    if ignoring:
        _check_fixed(selectors, "can be ignored; exclude the file instead")


def _check_fixed(selectors: Sequence[str], what: str) -> None:
    pages = knowledge.load().pages
    for selector in selectors:
        if selector in FIXED or (selector in pages and pages[selector].code in FIXED):
            raise _wrong(f"no file that could not be analysed {what} ({selector})", selector)


def _check_version(wanted: str, shown: str, line: int, column: int) -> None:
    if not wanted:
        return
    from noclobber import __version__
    from noclobber.config.versions import version_fits

    try:
        fits = version_fits(__version__, wanted)
    except ValueError:
        raise ConfigError(f"`required-version` is no version specifier: `{wanted}`", shown, line, column) from None
    if not fits:
        raise ConfigError(f"noclobber {wanted} is required, this is {__version__}", shown, line, column)
