"""A token, the holes in it, and names made of tokens.

Inside the reader a hole is \\ue000<k>\\ue001: no word character, so that `%s{tail}` and `:id{tail}` end where they should.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .statements import Name

_HOLE = "\ue000(\\d+)\ue001"
_HOLE_RE = re.compile(_HOLE)
_HOLE_PARTS = re.compile(r"__h(\d+)__")


class _Token:
    __slots__ = ("kind", "text", "low", "space", "ref", "hole")

    def __init__(self, kind: str, text: str, space: bool = True, ref: int = -1, hole: int = -1):
        self.kind = kind  # word quoted string number param hole op
        self.text = text
        self.low = text.lower() if kind == "word" else text
        self.space = space
        self.ref = ref  # param: index in the reader's list of placeholders
        self.hole = hole

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text!r}>"


def _holes_of(tokens: Iterable[_Token]) -> tuple[int, ...]:
    found: list[int] = []
    for token in tokens:
        if "\ue000" in token.text:
            for match in _HOLE_RE.finditer(token.text):
                if int(match.group(1)) not in found:
                    found.append(int(match.group(1)))
    return tuple(found)


def _plain(token: _Token) -> str:
    """A name token's text without quotes, holes in their output form."""
    text = token.text
    if token.kind == "quoted":
        text = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    return _HOLE_RE.sub(r"__h\1__", text)


def _name_tokens(tokens: list[_Token], at: int) -> list[_Token]:
    """The tokens of the dotted name at `at`."""
    out: list[_Token] = []
    while at < len(tokens):
        token = tokens[at]
        if token.kind in ("word", "quoted", "hole"):
            out.append(token)
            if at + 1 < len(tokens) and tokens[at + 1].text == ".":
                out.append(tokens[at + 1])
                at += 2
                continue
        break
    return out


def _name_at(tokens: list[_Token], at: int, holes: frozenset[int]) -> Name:
    return _parts("".join(_plain(t) for t in _name_tokens(tokens, at)), holes)


def _parts(text: str, holes: frozenset[int]) -> Name:
    """'acc___h0__' → ('acc_', 0); '' → ()."""
    text = text.lower()
    if "__h" not in text:
        return (text,) if text else ()
    out: list[str | int] = []
    for n, piece in enumerate(_HOLE_PARTS.split(text)):
        if n % 2 and int(piece) in holes:
            out.append(int(piece))
            continue
        if n % 2:
            piece = f"__h{piece}__"
        if piece:
            if out and isinstance(out[-1], str):
                out[-1] += piece
            else:
                out.append(piece)
    return tuple(out)


def _column_name(text: str, holes: frozenset[int]) -> str | Name | None:
    parts = _parts(text, holes)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _lone(name: str | Name | None) -> int | None:
    """The hole's index when a name is nothing but one hole."""
    if isinstance(name, tuple) and len(name) == 1 and not isinstance(name[0], str):
        return name[0]
    return None
