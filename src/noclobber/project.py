"""The modules of a project as files: which file an import names, its text and outline, which other files say a word.

Nothing is imported or run. A name is looked for where Python would find it for a file at that place: beside a script, in the
directory that holds the file's top-most package, in the directories above up to the project's root, in a `src` beside these. Symbolic
links are not followed, and the root is not left. Everything is read once and kept for one run.
"""
from __future__ import annotations

import os
import re
import sys
from collections import deque
from hashlib import blake2b
from typing import Any, Callable, Iterable, Optional

from noclobber.resolve import ModuleIndex, Source, SourceError, absolute, index_module

#: Modules that say a name but are not searched for callers: more of them than this and the name says nothing.
MAX_MENTIONS = 40
_IMPORTS = re.compile(rb"(?:^|[\n\r;:])[ \t\f]*(?:from|import)[ \t]+([^\n\r#;(]*)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
#: Modules that are read for one file. In a project of half a million lines everything imports everything; what a helper in the tenth
#: module down the line does is not followed anyway.
MAX_CLOSURE = 100
#: Modules that one name is followed through.
MAX_STEPS = 100
#: How many directories above a file are asked for the name that its import begins with.
MAX_NAMESPACE = 12
_MAX_FILE = 2_000_000  # bytes; larger ones are data


class Disk:
    """The files below a directory as they are now. `listing(directory)`: name → is it a directory."""

    def __init__(self, files: Optional[Callable[[], Iterable[str]]] = None) -> None:
        self._listings: dict[str, dict[str, bool]] = {}
        self._files = files

    def listing(self, directory: str) -> dict[str, bool]:
        found = self._listings.get(directory)
        if found is None:
            found = self._listings[directory] = {}
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            found[entry.name] = True
                        elif entry.is_file(follow_symlinks=False):
                            found[entry.name] = False
            except OSError:
                pass  # what cannot be read defines nothing
        return found

    def read(self, path: str) -> Optional[bytes]:
        try:
            with open(path, "rb") as stream:
                return stream.read(_MAX_FILE)
        except OSError:
            return None

    def files(self, root: str) -> Iterable[str]:
        """Absolute paths of the project's Python files: what a run over the root would analyse."""
        return self._files() if self._files is not None else ()


class Entry:
    """One module: its source and outline, and what triage read of it. `name`: its dotted name, unique in the project, or its path."""

    __slots__ = ("path", "name", "source", "index", "facts", "imports", "failed", "_digest")

    def __init__(self, path: str, name: str, source: Source, index: ModuleIndex, facts: Any) -> None:
        self.path, self.name, self.source, self.index, self.facts = path, name, source, index, facts
        self.imports: Optional[tuple] = None  # paths of the project's modules that it imports
        self._digest = ""

    @property
    def digest(self) -> str:
        if not self._digest:
            self._digest = blake2b(self.source.data, digest_size=12).hexdigest()
        return self._digest


class Project:
    """The modules below `root`, read on demand. Without a root a file sees the directory of its own package.

    `tree`: Disk, or the like of another state of the files. `digest(source, tree, index)`: what triage keeps of a file's syntax tree,
    called once for each, since the tree is dropped. `shown(path)`: the path as reports show it. `buffers`: contents that stand in for
    the file's own.
    """

    def __init__(self, root: str, tree: Any = None, *, digest: Optional[Callable[..., Any]] = None,
                 shown: Callable[[str], str] = str, buffers: Optional[dict[str, bytes]] = None) -> None:
        self.root = os.path.abspath(root) if root else ""
        self.tree = tree if tree is not None else Disk()
        self._read_tree = digest
        self._shown = shown
        self._buffers = dict(buffers or {})
        self._entries: dict[str, Optional[Entry]] = {}
        self._names: dict[str, str] = {}  # name → path
        self._bases: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str], Optional[tuple[str, str]]] = {}
        self._made: dict[tuple[str, str], Optional[tuple[Entry, str]]] = {}
        self._texts: Optional[list[tuple[str, bytes]]] = None

    # --- files ---------------------------------------------------------------------------------------------------------------
    def read(self, path: str) -> Optional[bytes]:
        data = self._buffers.get(path)
        return data if data is not None else self.tree.read(path)

    def accepts(self, path: str, data: bytes) -> bool:
        """Is `data` what this project has, or will have, for `path`?"""
        entry = self._entries.get(path)
        if entry is not None:
            return entry.source.data == data
        if path in self._buffers:
            return self._buffers[path] == data
        if path in self._entries:
            return self.read(path) == data
        self._buffers[path] = data
        return True

    def share(self, other: "Project", path: str) -> None:
        """Take over what another project of the same files has read, all but the module at `path`."""
        self._entries.update((where, entry) for where, entry in other._entries.items() if where != path and entry is not None)
        self._names.update(other._names)
        self._bases.update(other._bases)
        self._found.update(other._found)
        self._texts = other._texts

    def entry(self, path: str) -> Optional[Entry]:
        """The module at an absolute path; None where there is none or it cannot be read."""
        if path not in self._entries:
            self._entries[path] = None
            data = self.read(path)
            if data is not None:
                try:
                    self._entries[path] = self.parsed(path, data)
                except SourceError:
                    pass
        return self._entries[path]

    def parsed(self, path: str, data: bytes) -> Entry:
        """Read a module's text. Raises SourceError."""
        source = Source.decode(self._shown(path), data)
        name = self.module_name(path)
        if self._names.setdefault(name, path) != path:
            name = path  # two modules of one name: the second is known by its path
        index, tree = index_module(source, name if name != path else "")
        facts = self._read_tree(source, tree, index) if self._read_tree is not None else None
        entry = Entry(path, name or path, source, index, facts)
        self._entries[path] = entry
        return entry

    def by_name(self, name: str) -> Optional[Entry]:
        """The module of that name among those read so far."""
        path = self._names.get(name, name)
        return self._entries.get(path)

    # --- names ---------------------------------------------------------------------------------------------------------------
    def module_name(self, path: str) -> str:
        """'shop.models' as a file of the same package would import it; '' where no import can name it."""
        directory, file = os.path.split(path)
        stem, _, suffix = file.rpartition(".")
        if suffix not in ("py", "pyi", "pyw"):
            return ""
        parts = [] if stem == "__init__" else [stem]
        while "__init__.py" in self.tree.listing(directory) and directory != os.path.dirname(directory):
            directory, name = os.path.split(directory)
            parts.append(name)
        return ".".join(reversed(parts)) if parts and all(part.isidentifier() for part in parts) else ""

    def bases(self, directory: str) -> tuple[str, ...]:
        """The directories in which an absolute import of a file in `directory` may find a module of the project, nearest first."""
        found = self._bases.get(directory)
        if found is None:
            top = directory
            while "__init__.py" in self.tree.listing(top) and top != os.path.dirname(top):
                top = os.path.dirname(top)
            inside = self.root + os.sep
            found_list = [top]
            while self.root and (top + os.sep).startswith(inside) and top != self.root:
                top = os.path.dirname(top)
                found_list.append(top)
            found_list += [os.path.join(base, "src") for base in found_list if self.tree.listing(base).get("src")]
            found = self._bases[directory] = tuple(found_list)
        return found

    def find(self, dotted: str, path: str) -> Optional[tuple[str, str]]:
        """(path of the module, rest of the name inside it) of an absolute dotted name as the file at `path` means it; None: not ours."""
        head = dotted.partition(".")[0]
        directory = os.path.dirname(path)
        key = (dotted, directory)
        if key in self._found:
            return self._found[key]
        found = None
        if head and head not in sys.stdlib_module_names:
            parts = dotted.split(".")
            for base in self.bases(directory):
                found = self._below(base, parts)
                if found is not None:
                    break
            if found is None:
                found = self._around(directory, parts)
        self._found[key] = found
        return found

    def _around(self, directory: str, parts: list[str]) -> Optional[tuple[str, str]]:
        """The same, where the file lies somewhere below a directory of that name: a package may do without `__init__.py`."""
        for _ in range(MAX_NAMESPACE):
            above, name = os.path.split(directory)
            if name == parts[0]:
                return self._below(above, parts)
            if above == directory:
                break
            directory = above
        return None

    def _below(self, base: str, parts: list[str]) -> Optional[tuple[str, str]]:
        here, best = base, None
        for place, part in enumerate(parts):
            listing = self.tree.listing(here)
            if listing.get(part):
                here = os.path.join(here, part)
                if "__init__.py" in self.tree.listing(here):
                    best = (os.path.join(here, "__init__.py"), ".".join(parts[place + 1:]))
                continue
            if listing.get(part + ".py") is False:
                return os.path.join(here, part + ".py"), ".".join(parts[place + 1:])
            break
        return best

    def target(self, entry: Entry, target: str) -> Optional[tuple[str, str]]:
        """(path, rest) of an import target as written in a module ('..models.Account', 'shop.models')."""
        if not target.startswith("."):
            return self.find(target, entry.path)
        name = absolute(entry.index, target)
        rest = target.lstrip(".")
        directory = os.path.dirname(entry.path)
        for _ in range(len(target) - len(rest) - 1):
            directory = os.path.dirname(directory)
        if not rest:
            inside = os.path.join(directory, "__init__.py")
            return (inside, "") if "__init__.py" in self.tree.listing(directory) else None
        found = self._below(directory, rest.split("."))
        if found is None and "__init__.py" in self.tree.listing(directory):
            found = os.path.join(directory, "__init__.py"), rest
        return found if found is not None else self.find(name, entry.path) if not name.startswith(".") else None

    def follow(self, entry: Entry, target: str) -> Optional[tuple[Entry, str]]:
        """(module, name in it) that an import target comes to after all re-exports; the name is '' for the module itself, and may
        have dots for what is below a class. None: not of this project, or not to be found."""
        return self._follow(entry, target, set())

    def inside(self, module: Entry, name: str) -> Optional[tuple[Entry, str]]:
        """(module, name) where `name`, as seen in `module`, is made."""
        return self._inside(module, name, set())

    def _follow(self, entry: Entry, target: str, under_way: set[tuple[str, str]]) -> Optional[tuple[Entry, str]]:
        found = self.target(entry, target)
        if found is None:
            return None
        module = self.entry(found[0])
        if module is None:
            return None
        if not found[1]:
            package = self._package_of(found[0])
            if package is not None and package is not module and package is not entry:
                # `from .session import session` in the package's __init__ hides its module of that name.
                name = os.path.basename(found[0])[:-3]
                hidden = package.index.imports.get(name)
                if hidden is not None and (package.path, name) not in under_way and self.target(package, hidden) not in (found, None):
                    under_way.add((package.path, name))
                    return self._follow(package, hidden, under_way)
            return module, ""
        return self._inside(module, found[1], under_way)

    def _inside(self, module: Entry, name: str, under_way: set[tuple[str, str]]) -> Optional[tuple[Entry, str]]:
        key = (module.path, name)
        if key in self._made:
            return self._made[key]
        if key in under_way or len(under_way) > MAX_STEPS:
            return None  # imports that go round, or lead to a longer name each time (`from p.a import a` in p, where there is no p/a)
        first = not under_way
        under_way.add(key)
        head, _, rest = name.partition(".")
        index = module.index
        found = None
        if head in index.functions or head in index.classes or head in index.assigns:
            found = module, name
        elif head in index.imports:
            target = index.imports[head]
            found = self._follow(module, f"{target}.{rest}" if rest else target, under_way)
        else:
            for star in index.stars:
                place = self.target(module, star)
                other = self.entry(place[0]) if place is not None and not place[1] else None
                if other is not None and other is not module:
                    found = self._inside(other, name, under_way)
                    if found is not None:
                        break
        if found is not None or first:
            self._made[key] = found
        return found

    def _package_of(self, path: str) -> Optional[Entry]:
        directory, name = os.path.split(path)
        if name == "__init__.py" or "__init__.py" not in self.tree.listing(directory):
            return None
        return self.entry(os.path.join(directory, "__init__.py"))

    def imported(self, entry: Entry) -> tuple[str, ...]:
        """Paths of the modules of the project that a module imports, anywhere in it; packages on the way included."""
        if entry.imports is None:
            index = entry.index
            targets = dict.fromkeys((*index.imports.values(), *index.stars))
            for choice in index.choices.values():
                targets.update(dict.fromkeys(choice))
            for info in index.functions.values():
                targets.update(dict.fromkeys(info.imports.values()))
            for info in index.classes.values():
                targets.update(dict.fromkeys(info.imports.values()))
            paths: dict[str, None] = {}
            for target in targets:
                found = self.target(entry, target)
                if found is not None:
                    paths[found[0]] = None
                    directory, name = os.path.split(found[0])
                    if name != "__init__.py" and "__init__.py" in self.tree.listing(directory):
                        paths[os.path.join(directory, "__init__.py")] = None
            paths.pop(entry.path, None)
            entry.imports = tuple(paths)
        return entry.imports

    def imports_ours(self, path: str, data: bytes) -> bool:
        """May a file import a module of the project? By its bytes, before it is parsed: any word of an import statement may be one."""
        listings = [self.tree.listing(base) for base in self.bases(os.path.dirname(path))]
        words: set[bytes] = set()
        for text in _IMPORTS.findall(data):
            if text.startswith(b".") or text.endswith(b"\\"):
                return True
            if not text.isascii():
                return True
            words.update(_WORD.findall(text))
        around = set(os.path.dirname(path).split(os.sep)[-MAX_NAMESPACE:])
        return any(name in around or name in listing or name + ".py" in listing for name in map(bytes.decode, words) for listing in listings)

    def closure(self, entry: Entry) -> list[Entry]:
        """The module and what its imports lead to inside the project, nearest first; the nearest MAX_CLOSURE of them."""
        seen = {entry.path: entry}
        queue = deque((entry,))
        while queue:
            for path in self.imported(queue.popleft()):
                if path not in seen:
                    if len(seen) >= MAX_CLOSURE:
                        return list(seen.values())
                    found = self.entry(path)
                    if found is not None:
                        seen[path] = found
                        queue.append(found)
        return list(seen.values())

    # --- who says a word --------------------------------------------------------------------------------------------------------
    def mentions(self, word: str) -> list[Entry]:
        """Modules of the project whose text holds a word, by path; none when there are more than MAX_MENTIONS."""
        if self._texts is None:
            self._texts = [(path, self.read(path) or b"") for path in sorted(self.tree.files(self.root))]
        text = word.encode()
        pattern = re.compile(rb"(?<!\w)" + re.escape(text) + rb"(?!\w)")
        paths = [path for path, data in self._texts if text in data and pattern.search(data)]
        if len(paths) > MAX_MENTIONS:
            return []
        return [entry for entry in map(self.entry, paths) if entry is not None]
