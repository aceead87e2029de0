"""Where the content of `rules/` comes from: the wheel's compiled module, the checkout's cache file, or the TOML itself.

Only plain data is stored, in marshal's version 4, which Python 3.10 to 3.14 all read. A cache is never needed:
whatever goes wrong with it, the TOML is parsed.
"""

from __future__ import annotations

import gc
import marshal
import os
import zlib
from noclobber.knowledge.errors import KnowledgeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Raise it when the shape of the stored data changes.
FORMAT = 3
MARSHAL_VERSION = 4
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def rules_folder() -> str | None:
    """Return the folder of the rules: the package's own (a wheel), else the checkout's, else None."""
    for folder in (os.path.join(_PACKAGE, "rules"), os.path.join(_PACKAGE, "..", "..", "rules")):
        if os.path.isdir(os.path.join(folder, "vocabulary")):
            return os.path.normpath(folder)
    return None


def load_data() -> dict[str, Any]:
    """Return the compiled rules as plain data. Raises KnowledgeError when there are none or they cannot be used."""
    folder = rules_folder()
    data = _shipped(folder)
    if data is not None:
        return data
    if folder is None:
        raise KnowledgeError(
            os.path.join(_PACKAGE, "rules"), 0, "the rules are missing: the installation is incomplete"
        )
    return cached(folder)


# --- the files ---------------------------------------------------------------------------------------------------
def rule_files(folder: str) -> Iterator[tuple[str, os.DirEntry]]:
    """Yield (name relative to the folder, entry) of every file that counts, in a fixed order."""
    for part, ending in (("vocabulary", ".toml"), ("catalog", ".md"), ("", ".toml")):
        try:
            with os.scandir(os.path.join(folder, part)) as found:
                entries = sorted(
                    (entry for entry in found if entry.name.endswith(ending)), key=lambda entry: entry.name
                )
        except OSError:
            continue
        for entry in entries:
            if not entry.name.startswith("."):  # editors' lock files
                yield (f"{part}/{entry.name}" if part else entry.name), entry


def read_files(folder: str) -> dict[str, bytes]:
    files = {}
    for name, entry in rule_files(folder):
        try:
            with open(entry.path, "rb") as stream:
                files[name] = stream.read()
        except OSError as error:
            raise KnowledgeError(f"rules/{name}", 0, f"cannot be read: {error.strerror or error}") from None
    return files


def checksum(files: dict[str, bytes]) -> int:
    """Return a checksum of file names and bytes: it tells stale from fresh, it guards against nothing else."""
    value = FORMAT
    for name, data in files.items():
        value = zlib.crc32(data, zlib.crc32(f"{name}\0{len(data)}\0".encode(), value))
    return value


def _packed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with each entry's specs as bytes: a run uses few libraries, and only theirs are unpacked."""
    entries = [{**entry, "specs": marshal.dumps(entry["specs"], MARSHAL_VERSION)} for entry in data["entries"]]
    return {**data, "entries": entries}


def _unmarshal(content: Any) -> Any:
    # Thousands of containers that all stay: the collector would walk them over and over (half of the load's time).
    enabled = gc.isenabled()
    gc.disable()
    try:
        return marshal.loads(content)
    finally:
        if enabled:
            gc.enable()


# --- the wheel's module ------------------------------------------------------------------------------------------
def _shipped(folder: str | None) -> dict[str, Any] | None:
    """Return the data of `noclobber/_rules.py` when it is there and fits the TOML beside it, else None."""
    try:
        from noclobber import _rules  # type: ignore[attr-defined]

        if _rules.FORMAT != FORMAT:
            return None
        if folder is not None and checksum(read_files(folder)) != _rules.CHECKSUM:
            return None
        return _unmarshal(_rules.DATA)
    except (ImportError, AttributeError, ValueError, EOFError, TypeError, KnowledgeError):
        return None


def module_source(folder: str) -> str:
    """Return the text of `noclobber/_rules.py` for the rules in `folder` (for the wheel's build). Raises
    KnowledgeError."""
    from noclobber.knowledge.compile import compile_rules

    data = compile_rules(folder)
    packed = marshal.dumps(_packed(data), MARSHAL_VERSION)
    return (
        '"""The compiled content of rules/. Made by the build; do not edit."""\n'
        f"FORMAT = {FORMAT}\nCHECKSUM = {checksum(read_files(folder))}\nDATA = {packed!r}\n"
    )


# --- the checkout's cache ----------------------------------------------------------------------------------------
def cached(folder: str) -> dict[str, Any]:
    """Return the compiled form of `folder`, from the cache file when no file changed since, else parsed (and
    stored)."""
    key = _state(folder)
    path = _cache_file(folder)
    data = _read_cache(path, key) if path else None
    if data is None:
        from noclobber.knowledge.compile import compile_rules

        data = compile_rules(folder)
        if path:
            _write_cache(path, key, data)
    return data


def _state(folder: str) -> bytes:
    """Return names, sizes and times of the rules' files and of the code that compiles them."""
    rows = [str(FORMAT)]
    for name, entry in rule_files(folder):
        stat = entry.stat()
        rows.append(f"{name} {stat.st_size} {stat.st_mtime_ns}")
    with os.scandir(os.path.dirname(os.path.abspath(__file__))) as code:
        for entry in sorted(code, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                stat = entry.stat()
                rows.append(f"{entry.name} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(rows).encode("utf-8", "surrogateescape")


def _cache_file(folder: str) -> str | None:
    home = os.environ.get("NOCLOBBER_CACHE_DIR") or os.path.expanduser(os.path.join("~", ".cache", "noclobber"))
    name = f"rules-{zlib.crc32(os.fsencode(os.path.abspath(folder))):08x}.bin"
    for base in (home, None):
        if base is None:
            base = _private_temporary()
        if base and _usable(base):
            return os.path.join(base, name)
    return None


def _usable(folder: str) -> bool:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, ValueError):
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _private_temporary() -> str | None:
    """Return a folder below the temporary one that only this user can write, else None."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"noclobber-{user}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        stat = os.lstat(folder)
    except OSError:
        return None
    if hasattr(os, "getuid") and (
        stat.st_uid != user or stat.st_mode & 0o022 or not os.path.isdir(folder) or os.path.islink(folder)
    ):
        return None  # somebody else could plant a file
    return folder


def _read_cache(path: str, key: bytes) -> dict[str, Any] | None:
    """The file: checksum (8 hex digits), length of the key (8 digits), key, marshalled data."""
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        view = memoryview(content)  # slices of it copy nothing
        length = int(content[8:16])
        if view[16 : 16 + length] != key or int(content[:8], 16) != zlib.crc32(view[8:]):
            return None
        data = _unmarshal(view[16 + length :])
        return data if isinstance(data, dict) else None
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _write_cache(path: str, key: bytes, data: dict[str, Any]) -> None:
    content = b"%08d" % len(key) + key + marshal.dumps(_packed(data), MARSHAL_VERSION)
    content = b"%08x" % zlib.crc32(content) + content
    other = f"{path}.{os.getpid()}.tmp"
    try:
        with open(other, "wb") as stream:
            stream.write(content)
        os.replace(other, path)  # a reader sees the old file or the new one, never half of it
    except OSError:
        try:
            os.unlink(other)
        except OSError:
            pass
