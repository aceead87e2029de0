"""The text side of lowering: which lines are parsed, and what string literals say. No LibCST here."""
from __future__ import annotations

import io
import tokenize
import unicodedata
from collections.abc import Sequence


def margin(line: str) -> str:
    """The indentation as Python counts it: what follows the last form feed of the leading whitespace."""
    return line[:len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]


def gap(lines: Sequence[str]) -> list[str]:
    """What stands in place of `lines` that are left out: blank lines, and `pass` where their first statement begins."""
    out = [""] * len(lines)
    for number, line in enumerate(lines):
        code = line.strip()
        if code and not code.startswith("#"):
            out[number] = margin(line) + "pass"
            break
    return out


def prepare(lines: Sequence[str]) -> tuple[str, dict[int, int]]:
    """The text to parse, and how many characters were cut off the beginning of which of its lines.

    Python restarts counting the indentation at a form feed, LibCST does not; so everything up to it is cut off,
    except on lines that begin inside a string.
    """
    text = "\n".join(lines) + "\n"
    if "\f" not in text:
        return text, {}
    dropped: dict[int, int] = {}
    out = list(lines)
    inside: set[int] | None = None
    for number, line in enumerate(lines, 1):
        body = line.lstrip(" \t\f")
        cut = line.rfind("\f", 0, len(line) - len(body)) + 1
        if not cut or not body:
            continue
        if inside is None:
            inside = _lines_in_strings(text)
        if number not in inside:
            dropped[number] = cut
            out[number - 1] = line[cut:]
    return "\n".join(out) + "\n", dropped


def _lines_in_strings(text: str) -> set[int]:
    """The lines (1-based) whose first character belongs to a string that began on a line above."""
    found: set[int] = set()
    open_at: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                found.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind in ("FSTRING_START", "TSTRING_START"):
                open_at.append(token.start[0])
            elif kind in ("FSTRING_END", "TSTRING_END"):
                found.update(range(open_at.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # what was seen so far; LibCST will say what is wrong
    return found


# --- literals ----------------------------------------------------------------------------------------------------
_SIMPLE_ESCAPES = {
    "\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_OCTAL = frozenset("01234567")


def unescape(text: str, is_bytes: bool = False) -> str:
    """Resolve backslash escapes as Python does (unknown ones stay). Own code, because `literal_eval` warns about those.

    Raises ValueError or KeyError for malformed escapes.
    """
    at = text.find("\\")
    if at < 0:
        return text
    out = []
    done = 0
    while at >= 0:
        out.append(text[done:at])
        mark = text[at + 1:at + 2]
        done = at + 2
        if mark in _SIMPLE_ESCAPES:
            out.append(_SIMPLE_ESCAPES[mark])
        elif mark in _OCTAL:
            while done < at + 4 and text[done:done + 1] in _OCTAL:
                done += 1
            number = int(text[at + 1:done], 8)
            out.append(chr(number & 0xFF if is_bytes else number))
        elif mark == "x" or (mark in _HEX_ESCAPES and not is_bytes):
            done += _HEX_ESCAPES[mark]
            if done > len(text):
                raise ValueError(f"truncated \\{mark} escape")
            out.append(chr(int(text[at + 2:done], 16)))
        elif mark == "N" and not is_bytes:
            end = text.index("}", done)
            out.append(unicodedata.lookup(text[done + 1:end]))
            done = end + 1
        else:
            out.append("\\" + mark)
        at = text.find("\\", done)
    out.append(text[done:])
    return "".join(out)


def string_value(text: str) -> str | bytes:
    """The value of one plain string literal as written, with prefix and quotes."""
    start = 0
    while text[start] not in "'\"":
        start += 1
    prefix = text[:start].lower()
    width = 3 if len(text) >= start + 6 and text[start:start + 3] == text[start] * 3 else 1
    inner = text[start + width:len(text) - width]
    is_bytes = "b" in prefix
    if "r" not in prefix:
        inner = unescape(inner, is_bytes)
    return inner.encode("latin-1") if is_bytes else inner
