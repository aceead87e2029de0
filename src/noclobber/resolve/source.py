"""A file's text: decoding, lines, its tree."""
from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$", re.DOTALL)


class SourceError(Exception):
    """A file that cannot be read or parsed. `reason`: 'encoding', 'syntax' or 'deep' (too deeply nested)."""

    def __init__(self, line: int, message: str, reason: str = "syntax") -> None:
        super().__init__(line, message, reason)
        self.line = line
        self.message = message
        self.reason = reason

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(slots=True)
class Source:
    """One file, decoded. `text` has no byte order mark; `lines` have no line ends (split at \\n, \\r\\n, \\r only).

    `encoding` is a codec name with which `text.encode(encoding)` gives `data` back ('utf-8-sig' where a mark was
    dropped).
    """

    path: str
    data: bytes
    text: str
    lines: list[str]
    encoding: str

    @classmethod
    def decode(cls, path: str, data: bytes) -> Source:
        """Decode by byte order mark, then PEP 263 cookie, then UTF-8.

        Raises SourceError (reason 'encoding') for an unknown codec, undecodable bytes and NUL characters.
        """
        mark = data.startswith(codecs.BOM_UTF8)
        body = data[3:] if mark else data
        encoding, line = cookie(body)
        if mark:
            if encoding not in ("", "utf-8"):
                message = f"the byte order mark says utf-8, the coding cookie says {encoding}"
                raise SourceError(line, message, "encoding")
            encoding = "utf-8"
        try:
            text = body.decode(encoding or "utf-8")
        except LookupError:
            raise SourceError(line, f"unknown encoding {encoding}", "encoding") from None
        except UnicodeDecodeError as error:
            at = len(_LINE_END_BYTES.findall(body, 0, error.start)) + 1
            raise SourceError(at, f"byte 0x{body[error.start]:02x} is not {encoding or 'utf-8'}", "encoding") from None
        except (UnicodeError, ValueError) as error:
            raise SourceError(line, f"not {encoding}: {error}", "encoding") from None
        nul = text.find("\0")
        if nul >= 0:
            raise SourceError(len(LINE_END.findall(text, 0, nul)) + 1, "the file holds a NUL character", "encoding")
        return cls(path, data, text, split_lines(text), "utf-8-sig" if mark else encoding or "utf-8")


def split_lines(text: str) -> list[str]:
    """Physical lines as Python counts them, without their ends. A last line end opens no further line."""
    lines = LINE_END.split(text) if "\r" in text else text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def cookie(body: bytes) -> tuple[str, int]:
    """(normalised codec name or "", line of the cookie). PEP 263: line 1, or line 2 below a blank or comment line."""
    at = 0
    for number in (1, 2):
        end = _LINE_END_BYTES.search(body, at)
        line = body[at:end.start()] if end else body[at:]
        found = _COOKIE.match(line)
        if found:
            name = found[1].decode("ascii", "replace")
            try:
                return codecs.lookup(name).name, number
            except LookupError:
                raise SourceError(number, f"unknown encoding {name}", "encoding") from None
        if not end or not _BLANK.match(line):
            break
        at = end.end()
    return "", 1
