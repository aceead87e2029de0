"""noclobber as a flake8 plugin.

This module is imported on every start of flake8, even for `flake8 --version`, and in every worker: nothing of noclobber is
imported before `run()`. The plugin applies noclobber's own settings (excludes, levels, confidence, pragmas); flake8 applies
`# noqa`, select, ignore and per-file-ignores on top. It analyses the text that flake8 gives it, never the file on disk.
"""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from noclobber import __version__

if TYPE_CHECKING:
    import argparse
    import ast
    from collections.abc import Iterator, Sequence

#: python-lsp-server splits a line of output at the last `:1:2: X` in it, so that may not stand in a message.
_PLACE_LIKE = re.compile(r":(?=\d*:\d*: )|:(?=\d+:\d+:)")
#: PEP 263: the encoding of the file on disk, which no longer holds for the text that flake8 has decoded.
_COOKIE = re.compile(r"^([ \t\f]*#.*?)coding(?=[:=][ \t]*[-\w.])")


class Plugin:
    """One file's analysis. flake8 chooses the arguments of `__init__` by their names; `tree` makes it run once per file."""

    name = "noclobber"
    version = __version__
    off_by_default = False

    #: key → value for config.Resolver, from flake8's options; parsed again in each worker.
    overrides: ClassVar[dict[str, Any]] = {}
    config_file: ClassVar[str] = ""
    #: config.Resolver of this process, made for the first file; it remembers the settings of each directory.
    resolver: ClassVar[Any] = None
    workspaces: ClassVar[Any] = None

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str = "stdin") -> None:
        self.lines = lines
        self.filename = filename

    @staticmethod
    def add_options(manager: Any) -> None:
        """Called by flake8 once, with its option manager."""
        manager.add_option(
            "--noclobber-config", default="", metavar="FILE", parse_from_config=True, normalize_paths=True,
            help="settings of noclobber for all files (default: the nearest [tool.noclobber] above each file)",
        )
        manager.add_option(
            "--noclobber-select", default="", metavar="CODES", parse_from_config=True, comma_separated_list=True,
            help="the only rules of noclobber to run: codes, code prefixes or names; the others cost no time",
        )
        manager.add_option(
            "--noclobber-min-confidence", default="", metavar="LEVEL", parse_from_config=True,
            help="show findings of noclobber from this confidence on: high, medium or low",
        )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Takes over flake8's options. A value that cannot be right ends flake8 here, once, and not in every file."""
        selected = options.noclobber_select or []
        if isinstance(selected, str):
            selected = selected.split(",")
        selected = [selector.strip() for selector in selected if selector.strip()]
        confidence = (options.noclobber_min_confidence or "").strip()
        cls.resolver = cls.workspaces = None
        cls.config_file = options.noclobber_config or ""
        # flake8 names each file, so excludes must hold for named files. It applies noqa itself, and other plugins want to see
        # what it hides.
        cls.overrides = {"force-exclude": True, "respect-noqa": "none"}
        if selected:
            cls.overrides["select"] = selected
        if confidence:
            cls.overrides["min-confidence"] = confidence
        if selected or confidence or cls.config_file:
            from flake8.exceptions import ExecutionError

            try:
                cls._resolver()
            except Exception as error:  # ConfigError, KnowledgeError: flake8 says it in one line and ends
                said = str(error)
                for name in ("select", "min-confidence"):  # under the names that flake8's users know
                    said = said.replace(f"option `--{name}`", f"option `--noclobber-{name}`")
                raise ExecutionError(f"noclobber: {said}") from error

    @classmethod
    def _resolver(cls) -> Any:
        if cls.resolver is None:
            from noclobber import config

            cls.resolver = config.Resolver(cls.overrides, config_file=cls.config_file)
        return cls.resolver

    @classmethod
    def _workspaces(cls) -> Any:
        """What flake8's files have in common is read once in each of its processes."""
        if cls.workspaces is None:
            from noclobber import engine

            cls.workspaces = engine.Workspaces()
        return cls.workspaces

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        """Yields (line, column from 0, "CODE text", type). Never raises: what goes wrong becomes one RMW009 line."""
        try:
            rows = self._rows()
        except Exception as error:  # else flake8 ends the run, and the other plugins' results are lost
            rows = [(1, 1, "RMW009", f"{_told(error)} (internal-error)")]
        last = max(len(self.lines), 1)
        for line, column, code, message in rows:
            yield min(max(line, 1), last), max(column - 1, 0), f"{code} {one_line(message)}", type(self)

    def _rows(self) -> list[tuple[int, int, str, str]]:
        """(line, column, code, message) of what is to be shown, failures too. Raises what the engine raises for bad settings."""
        from noclobber import engine, verdict

        # The file parses, or flake8 would not be here: an RMW001 can only come from LibCST or from its limits.
        result = engine.run((), self._resolver(), stdin=(encoded(self.lines), self.filename or "stdin"), workspaces=self._workspaces())
        settled = verdict.settle(result.items)
        return [(found.place.line, found.place.column, found.code, f"{found.message} ({found.name})") for found in settled.findings]


def _told(error: Exception) -> str:
    """What went wrong, for somebody who sees this one line only."""
    kind = type(error).__name__
    if kind in ("ConfigError", "KnowledgeError"):  # by name: the modules that define them may be what cannot be imported
        return f"not analysed, the settings cannot be used: {error}"
    return f"internal error: {kind}, {error}" if str(error) else f"internal error: {kind}"


def encoded(lines: Sequence[str]) -> bytes:
    """flake8's decoded lines as the bytes of a UTF-8 file with the same lines and columns.

    An encoding declaration is spoilt, for the bytes are not in that encoding any more.
    """
    head = [_COOKIE.sub(r"\1c-ding", line, count=1) for line in lines[:2]]
    return "".join([*head, *lines[2:]]).encode("utf-8", "replace")


def one_line(message: str) -> str:
    """The message on one line, without anything that reads like a place in a file."""
    return _PLACE_LIKE.sub(" ", " ".join(message.split()))
