"""Which files to look at: paths of the command line, .gitignore, excludes, symbolic links. Knows nothing of Python.

A file that is named is always read (unless `force-exclude`); a folder that is named is walked whatever its own name is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

SUFFIX = ".py"


@dataclass(frozen=True)
class Found:
    """A file to read. `path`: as shown, relative to the working directory when below it, with `/`. `absolute`: where it
    is."""

    path: str
    absolute: str
    config: Any


@dataclass
class Collected:
    """`files`: sorted by path, each once. `missing`: (path, reason) of what cannot be read: the run is incomplete.
    `warnings`: folders without Python files. `excluded`: how many named files force-exclude left out.
    `whole`: a named folder covers a settings root, so everything of that project was seen.
    """

    files: list[Found] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    excluded: int = 0
    whole: bool = False


def display(absolute: str, cwd: str) -> str:
    """The path relative to the working directory when it is below it, else absolute; with `/`."""
    prefix = cwd.rstrip(os.sep) + os.sep
    return (absolute[len(prefix) :] if absolute.startswith(prefix) else absolute).replace(os.sep, "/")


def read_list(data: bytes) -> list[str]:
    """Paths of a `--files-from` list: separated by NUL when there is one, else by line ends."""
    text = os.fsdecode(data)
    parts = text.split("\0") if "\0" in text else text.replace("\r\n", "\n").split("\n")
    return [part for part in parts if part]


def collect(paths: Sequence[str], configs: Any) -> Collected:
    """The files to analyse below `paths`.

    `configs`: a config.Resolver: `cwd`, and `for_directory(directory)`, which gives the settings and the root in force
    there. May raise what `for_directory` raises.
    """
    found = Collected()
    excluders: dict[int, Excluder] = {}
    seen: dict[str, Found] = {}

    def excluder(config: Any) -> Excluder:
        if id(config) not in excluders:
            excluders[id(config)] = Excluder(config)
        return excluders[id(config)]

    for path in paths:
        absolute = os.path.abspath(os.path.join(configs.cwd, path))
        try:
            mode = os.stat(absolute).st_mode
        except OSError as error:
            found.missing.append((path, _reason(error)))
            continue
        if stat.S_ISDIR(mode):
            config = configs.for_directory(absolute)
            if config.settings.force_exclude and excluder(config).named(absolute, True):
                found.excluded += 1
                continue
            found.whole = (
                found.whole or config.root == absolute or config.root.startswith(absolute.rstrip(os.sep) + os.sep)
            )
            taken, left_out = _walk(absolute, configs, excluder, found, seen)
            if not taken:
                found.warnings.append(
                    f"no Python files in {path}" + (" outside of what is excluded" if left_out else "")
                )
        else:
            config = configs.for_directory(os.path.dirname(absolute))
            if config.settings.force_exclude and excluder(config).named(absolute, False):
                found.excluded += 1
                continue
            seen[os.path.realpath(absolute)] = Found(display(absolute, configs.cwd), absolute, config)
    found.files = sorted(seen.values(), key=lambda item: item.path)
    return found


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _walk(top: str, configs: Any, excluder: Any, found: Collected, seen: dict[str, Found]) -> tuple[bool, bool]:
    """Add the Python files below `top` that are not left out. Returns whether there was one, and whether something was
    left out."""
    real_top = os.path.realpath(top)
    ignores = Ignores(top)
    taken = left_out = False
    pending: list[tuple[str, tuple[Any, ...]]] = [(top, ignores.above)]
    while pending:
        directory, stack = pending.pop()
        config = configs.for_directory(directory)
        rules = excluder(config)
        try:
            with os.scandir(directory) as handle:
                entries = sorted(handle, key=lambda entry: entry.name)
        except OSError as error:
            found.missing.append((display(directory, configs.cwd), _reason(error)))
            continue
        names = {entry.name for entry in entries}
        if directory != top and "pyvenv.cfg" in names:
            continue  # a virtual environment, whatever it is called
        git = config.settings.respect_gitignore
        if git:
            stack = ignores.enter(directory, stack, names)
        for entry in entries:
            try:
                is_dir = entry.is_dir(follow_symlinks=False)
                link = entry.is_symlink()
            except OSError:
                continue
            if not is_dir and not entry.name.endswith(SUFFIX):
                continue
            if rules.walked(entry.path, entry.name, is_dir, top) or (
                git and ignores.ignored(stack, entry.path, is_dir)
            ):
                left_out = left_out or not entry.name.startswith(".")
                continue
            if is_dir:
                pending.append((entry.path, stack))
                continue
            if link:
                real = os.path.realpath(entry.path)
                if not real.startswith(real_top.rstrip(os.sep) + os.sep) or not os.path.isfile(real):
                    continue  # out of the tree, broken, or a folder
                taken = True
                seen.setdefault(real, Found(display(entry.path, configs.cwd), entry.path, config))
            elif entry.is_file(follow_symlinks=False):
                taken = True
                real = real_top + entry.path[len(top) :] if real_top != top else entry.path
                before = seen.get(real)
                if before is None or os.path.islink(before.absolute):
                    seen[real] = Found(display(entry.path, configs.cwd), entry.path, config)
    return taken, left_out


# --- excludes ---------------------------------------------------------------------------------------------------------


class Excluder:
    """The exclude patterns of one Config.

    A pattern without a slash inside says a name: while walking it is held against names below the walked folder only. A
    pattern with one says a path from the settings' root: it counts unless it already matches the walked folder itself,
    which was named.
    """

    def __init__(self, config: Any) -> None:
        settings = config.settings
        self._root = config.root.rstrip(os.sep)
        self._names: list[_Name] = []
        self._paths: list[str] = []
        self._specs: dict[str, Any] = {}
        for pattern in (*settings.exclude, *settings.extend_exclude):
            plain = _Name.of(pattern)
            if plain is None:
                self._paths.append(pattern)
            else:
                self._names.append(plain)

    def walked(self, absolute: str, name: str, is_dir: bool, top: str) -> bool:
        """Whether an entry met while walking from `top` is left out."""
        parent = os.path.dirname(absolute)
        above = "" if parent == top else os.path.basename(parent)
        if any(pattern.matches(name, is_dir, above) for pattern in self._names):
            return True
        return bool(self._paths) and self._spec(top).match_file(self._relative(absolute, top) + ("/" if is_dir else ""))

    def named(self, absolute: str, is_dir: bool) -> bool:
        """Whether `force-exclude` leaves out a path of the command line: any part of it below the root counts."""
        relative = self._relative(absolute, "") + ("/" if is_dir else "")
        parts = ["", *relative.rstrip("/").split("/")]
        for index in range(1, len(parts)):
            folder = is_dir or index < len(parts) - 1
            if any(pattern.matches(parts[index], folder, parts[index - 1]) for pattern in self._names):
                return True
        return bool(self._paths) and self._spec("").match_file(relative)

    def _relative(self, absolute: str, top: str) -> str:
        """From the root; outside it from the walked folder, or the name alone."""
        for base in (self._root, top.rstrip(os.sep)):
            if base and absolute.startswith(base + os.sep):
                return absolute[len(base) + 1 :].replace(os.sep, "/")
        return os.path.basename(absolute)

    def _spec(self, top: str) -> Any:
        if top not in self._specs:
            named = self._relative(top, "") + "/" if top.startswith(self._root + os.sep) else ""
            self._specs[top] = _without(self._paths, named)
        return self._specs[top]


@dataclass(frozen=True)
class _Name:
    """A pattern for a name with at most one `*`, or `**/parent/name`: what the default excludes are made of; no need
    for pathspec."""

    prefix: str
    suffix: str
    star: bool
    directory: bool
    parent: str = ""

    @classmethod
    def of(cls, pattern: str) -> _Name | None:
        """The pattern, or None when it says more than that."""
        directory = pattern.endswith("/")
        name = pattern.rstrip("/")
        parent = ""
        if name.startswith("**/") and name.count("/") == 2:
            _, parent, name = name.split("/")
        if not name or "/" in name or name.count("*") > 1 or set(parent + name) & set("?[]\\!# ") or "*" in parent:
            return None
        prefix, star, suffix = name.partition("*")
        return cls(prefix, suffix, bool(star), directory, parent)

    def matches(self, name: str, is_dir: bool, parent: str) -> bool:
        if (self.directory and not is_dir) or (self.parent and self.parent != parent):
            return False
        if not self.star:
            return name == self.prefix
        return (
            len(name) >= len(self.prefix) + len(self.suffix)
            and name.startswith(self.prefix)
            and name.endswith(self.suffix)
        )


def _without(lines: Iterable[str], named: str) -> Any:
    """A GitIgnoreSpec of the patterns that do not already match `named`, the folder that was asked for."""
    from pathspec import GitIgnoreSpec  # seldom needed, costs some ms

    spec = GitIgnoreSpec.from_lines(lines)
    if not named or named == "/":
        return spec
    return GitIgnoreSpec(
        pattern for pattern in spec.patterns if not (pattern.include and pattern.match_file(named) is not None)
    )


# --- .gitignore -------------------------------------------------------------------------------------------------------


class Ignores:
    """What git ignores below a walked folder: the .gitignore files from the repository's root down, and
    .git/info/exclude.

    A stack is a tuple of (folder with a trailing separator, spec), outermost first; the innermost that has an opinion
    decides.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self.above: tuple[tuple[str, Any], ...] = ()
        chain = [top]
        while not os.path.exists(os.path.join(chain[-1], ".git")):
            parent = os.path.dirname(chain[-1])
            if parent == chain[-1]:
                return  # no repository: .gitignore files above the walked folder mean nothing
            chain.append(parent)
        self.above = self._add(chain[-1], os.path.join(".git", "info", "exclude"), self.above)
        for directory in reversed(chain[1:]):
            self.above = self._add(directory, ".gitignore", self.above)

    def enter(self, directory: str, stack: tuple[tuple[str, Any], ...], names: set[str]) -> tuple[tuple[str, Any], ...]:
        """The stack for the entries of a folder, whose names are given."""
        if ".git" in names and directory != self._top:
            stack = self._add(directory, os.path.join(".git", "info", "exclude"), ())  # another repository
        return self._add(directory, ".gitignore", stack) if ".gitignore" in names else stack

    def _add(self, directory: str, name: str, stack: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        try:
            with open(os.path.join(directory, name), encoding="utf-8", errors="surrogateescape") as stream:
                lines = stream.read().split("\n")
        except OSError:
            return stack
        if not any(line.strip() and not line.startswith("#") for line in lines):
            return stack
        base = directory.rstrip(os.sep) + os.sep
        named = (self._top[len(base) :] + "/").replace(os.sep, "/") if self._top.startswith(base) else ""
        return (*stack, (base, _without(lines, named)))

    def ignored(self, stack: tuple[tuple[str, Any], ...], absolute: str, is_dir: bool) -> bool:
        """Whether git ignores an entry of the folder that the stack belongs to."""
        for base, spec in reversed(stack):
            answer = spec.check_file(absolute[len(base) :].replace(os.sep, "/") + ("/" if is_dir else "")).include
            if answer is not None:
                return answer
        return False
