"""`KnowledgeError` and the light scan that finds the line of a TOML entry.

tomllib gives values without positions, so the line of an entry is looked up in the text afterwards: table headers are
counted, then the key, then the value's own text. It only ever serves an error message, so a near miss is harmless.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Record:
    """Base of the plain value classes here: slots, a repr, pickling. Not to be changed once made.

    Not dataclasses: making one costs a millisecond at every start, and a start is what a hook mostly is.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name[0] != "_")
        return f"{type(self).__name__}({told})"


class KnowledgeError(Exception):
    """Something in `rules/` or in a user's tables cannot be used.

    `path`: the file as it was named; `line`: 1-based, 0 when the file as a whole is meant; `message`: names the
    nearest valid word.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return '; did you mean "x"?' for the valid word closest to `word`, else '; one of: …' for a short list, else
    ''."""
    import difflib

    words = sorted(set(valid))
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not close:  # difflib is case-sensitive; `Key` for `key` is the commonest slip
        close = [known for known in words if known.lower() == word.lower()]
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; one of: {', '.join(words)}" if 0 < len(words) <= 12 else ""


class TomlLines:
    """Finds lines in TOML text. `text` may be "" (tables that came without their source): every answer is then 0."""

    def __init__(self, text: str) -> None:
        # TOML ends lines with \n or \r\n only; splitlines() would also split at form feeds inside strings.
        self.lines = [line.strip() for line in text.split("\n")] if text else []
        self._headers: list[tuple[int, str]] = []
        for number, line in enumerate(self.lines, 1):
            if line.startswith("[") and "]" in line and "=" not in line.partition("]")[0] and not line.endswith(","):
                self._headers.append((number, _header_name(line)))

    def table(self, name: str, index: int = 0) -> int:
        """Return the line of the `index`-th header `[name]` or `[[name]]` (dotted name), or of the key `name`, or 0."""
        found = [line for line, header in self._headers if header == name]
        if index < len(found):
            return found[index]
        return found[-1] if found else self._find_key(name.rpartition(".")[2], 1, len(self.lines) + 1)

    def key(self, start: int, *path: str) -> int:
        """Return the line of key `path[0]` in the block that begins at line `start`; further parts are texts to find
        from there on.

        Falls back to the last line that was found, at worst `start`.
        """
        if not path or not self.lines:
            return start
        end = next((line for line, _ in self._headers if line > start), len(self.lines) + 1)
        line = self._find_key(path[0], max(start, 1), end) or start
        for text in path[1:]:
            wanted = _unescaped(text)
            line = next((n for n in range(max(line, 1), end) if wanted in _unescaped(self.lines[n - 1])), line)
        return line

    def _find_key(self, key: str, start: int, end: int) -> int:
        for number in range(start, min(end, len(self.lines) + 1)):
            name, equals, _ = self.lines[number - 1].partition("=")
            if equals and name.strip().strip("\"'") == key:
                return number
        return 0


def _header_name(line: str) -> str:
    inner = line.lstrip("[").partition("]")[0]
    return ".".join(part.strip().strip("\"'") for part in inner.split("."))


def _unescaped(text: str) -> str:
    return text.replace("\\", "").replace('"', "'")


def table_prefix(text: str) -> str:
    """Return what stands before vocabulary tables in the text: "tool.noclobber." in a pyproject.toml, else ""."""
    return (
        "tool.noclobber."
        if any(line.lstrip("[ \t").startswith("tool.noclobber") for line in text.split("\n") if "[" in line)
        else ""
    )


def parse_toml(text: str, path: str) -> dict:
    """Return the parsed document. Raises KnowledgeError with the line of the first syntax error."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, tail = str(error).partition(" (at line ")
        digits = tail.partition(",")[0]
        line = int(digits) if digits.isdigit() else text.count("\n") + 1
        raise KnowledgeError(path, line, f"not valid TOML: {message}") from None
    except (RecursionError, ValueError) as error:
        raise KnowledgeError(path, 0, f"not valid TOML: {error or 'nested too deeply'}") from None


def read_text(path: str) -> str:
    """Return the file's text (UTF-8, a BOM dropped). Raises KnowledgeError when it cannot be read or decoded."""
    try:
        with open(path, "rb") as stream:
            return decode(stream.read(), path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise KnowledgeError(str(path), 0, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise KnowledgeError(path, line, "not valid UTF-8") from None
