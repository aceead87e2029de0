"""SQL text with its holes → tokens and placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .statements import ParamRef
from .tokens import _HOLE_RE, _Token
from .words import _ends_operand

_LETTER = r"A-Za-z_\u0080-\ud7ff\uf900-\uffff"
_H = "\ue000\\d+\ue001"


def _token_pattern(mysql: bool) -> re.Pattern[str]:
    plain = r"'(?:[^'\\]|\\.|'')*'?" if mysql else r"'(?:[^']|'')*'?"
    comment = r"--[^\n]*|/\*" + (r"|\#[^\n]*" if mysql else "")
    return re.compile(
        rf"""
      (?P<space>\s+)
    | (?P<comment>{comment})
    | (?P<estring>[eE]'(?:[^'\\]|\\.|'')*'?)
    | (?P<string>(?:[nNxXbB]|[uU]&)?{plain})
    | (?P<quoted>"(?:[^"]|"")*"?|`[^`]*`?)
    | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    | (?P<cast>::|:=|\\:|%%)
    | (?P<jsonop>\?\|(?!\|)|\?&(?!&))
    | (?P<param>%\((?P<pyname>[^)]*)\)[a-zA-Z]|%[sbtd](?!\w)|\?\d*|\$(?:\d+|{_H})|(?<![:\w\\\]]):(?P<name>(?:\w|{_H})+))
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![{_LETTER}])|\.\d+|\d+)
    | (?P<word>[@$]{{0,2}}(?:[{_LETTER}]|{_H})(?:[\w$\#]|{_H})*)
    | (?P<op>.)
    """,
        re.X | re.S,
    )


_PATTERNS = {True: _token_pattern(True), False: _token_pattern(False)}


def _join(template: Iterable[str | int]) -> str:
    out = []
    for piece in template:
        if isinstance(piece, str):
            # Private-use characters of the text itself must not look like holes.
            out.append(
                piece.replace("\ue000", " ").replace("\ue001", " ") if "\ue000" in piece or "\ue001" in piece else piece
            )
        else:
            out.append(f"\ue000{int(piece)}\ue001")
    return "".join(out)


def _comment_end(text: str, at: int) -> int:
    """The end of the block comment that starts at `at`; they nest (PostgreSQL)."""
    depth, i = 1, at + 2
    while depth:
        close = text.find("*/", i)
        if close < 0:
            return len(text)
        inner = text.find("/*", i, close)
        if inner >= 0:
            depth, i = depth + 1, inner + 2
        else:
            depth, i = depth - 1, close + 2
    return i


def _tokens(text: str, dialect: str | None, limit: int = -1) -> tuple[list[_Token], list[tuple[str | None, str, int]]]:
    """Significant tokens, and (name, style, number) for each placeholder. `limit`: stop after so many tokens (a cheap
    look).
    """
    match = _PATTERNS[dialect == "mysql"].match
    tokens: list[_Token] = []
    refs: list[tuple[str | None, str, int]] = []
    i, end, space = 0, len(text), False
    while i < end:
        found = match(text, i)
        kind, piece, i = found.lastgroup, found.group(), found.end()
        if kind in ("pyname", "name"):
            kind = "param"
        if kind == "space":
            space = True
            continue
        if kind == "comment":
            if piece == "/*":
                i = _comment_end(text, i - 2)
            space = True
            continue
        token = None
        if kind == "word":
            if _HOLE_RE.fullmatch(piece):
                token = _Token("hole", piece, space, hole=int(piece[1:-1]))
            elif dialect == "sqlite" and piece[0] in "@$" and "\ue000" not in piece:
                token = _Token("param", piece, space, len(refs))
                refs.append((piece.lstrip("@$"), "named", 0))
            else:
                token = _Token("word", piece, space)
        elif kind == "param":
            if piece[-1] == "\ue001" and piece[0] == ":" and piece[1] != "\ue000":
                # `:id{tail}`: the hole belongs to the name only where a name made of parts is likely, `:id_{i}`,
                # `(:id{i}, `
                cut = piece.index("\ue000")
                if piece[cut - 1] != "_" and piece.count("\ue000") == 1 and text[i : i + 1] not in (",", ")"):
                    i -= len(piece) - cut
                    piece = piece[:cut]
                    found = match(text[:i], found.start())
            style = _param_style(found, piece, tokens)
            if style is None:  # modulo, a jsonb operator or an array slice
                token = _Token("op", piece[0], space)
                i = found.start() + 1
            else:
                token = _Token("param", piece, space, len(refs))
                refs.append(style)
        elif kind == "estring":
            token = _Token("string", piece[1:].replace("\\'", "''"), space)
        elif kind == "string":
            token = _Token("string", piece[piece.index("'") :], space)
        elif kind == "dollar":
            close = text.find(piece, i)
            body = text[i:close] if close >= 0 else text[i:]
            i = close + len(piece) if close >= 0 else end
            token = _Token("string", "'" + body.replace("'", "''") + "'", space)
        elif kind == "cast":
            token = _Token("op", {"%%": "%", "\\:": ":"}.get(piece, piece), space)
        elif kind == "jsonop":
            token = _Token("op", piece, space)
        elif kind == "op" and piece == "[":
            name = _bracketed(text, i, dialect, tokens)
            if name is not None:
                token = _Token("quoted", "`" + name + "`", space)
                i += len(name) + 1
        if token is None:
            token = _Token(kind, piece, space)
        tokens.append(token)
        space = False
        if 0 <= limit <= len(tokens):
            break
    return tokens, refs


def _bracketed(text: str, at: int, dialect: str | None, tokens: list[_Token]) -> str | None:
    """The name in [brackets] (SQL Server, SQLite); None where the bracket is an array subscript."""
    close = text.find("]", at)
    if close < 0 or dialect in ("postgres", "mysql", "oracle"):
        return None
    name = text[at:close]
    if not name or name[0].isdigit() or "[" in name or "\n" in name or "`" in name:
        return None
    if tokens and _ends_operand(tokens, len(tokens) - 1):
        return None
    return None if tokens and tokens[-1].low == "array" else name


def _param_style(found: re.Match[str], piece: str, tokens: list[_Token]) -> tuple[str | None, str, int] | None:
    head = piece[0]
    if head == "%":
        if piece[1] == "(":
            name = found.group("pyname")
            return (None, "hole", 0) if "\ue000" in name else (name, "pyformat", 0)
        if piece[1] != "s" and tokens and _ends_operand(tokens, len(tokens) - 1):
            return None
        return None, "format", 0
    if head == "?":
        if len(piece) > 1:
            return (None, "numeric", int(piece[1:])) if len(piece) < 7 else None
        return None, "qmark", 0
    if head == "$":
        if piece[1] == "\ue000":
            return None, "hole", -1
        return (None, "numeric", int(piece[1:])) if len(piece) < 7 else None
    name = found.group("name")
    if "\ue000" in name:
        return None, "hole", 0
    if name.isdecimal():
        # `[1:2]` is a slice: its colon follows an operand, `(:1` and `= :1` do not.
        if len(name) > 6 or (tokens and _ends_operand(tokens, len(tokens) - 1) and tokens[-1].kind != "hole"):
            return None
        return None, "numeric", int(name)
    return name, "named", 0


def _number_params(tokens: list[_Token], refs: list[tuple[str | None, str, int]]) -> list[ParamRef]:
    """Decide which `?` are jsonb operators, then number the placeholders. Returns the ParamRefs by `_Token.ref`."""
    styles = {style for _, style, _ in refs}
    other_style = bool(styles & {"format", "pyformat"}) or any(t.kind == "param" and t.text[0] == "$" for t in tokens)
    out: list[ParamRef] = []
    order = 0
    for i, token in enumerate(tokens):
        if token.kind != "param":
            continue
        name, style, number = refs[token.ref]
        if style == "qmark" and (other_style or _is_json_operator(tokens, i)):
            token.kind, token.ref = "op", -1
            continue
        if style == "numeric":
            position = number - 1
        elif number < 0:
            position = -1
        else:
            position, order = order, order + 1
        token.ref = len(out)
        out.append(ParamRef(position, name, style))
    return out


def _is_json_operator(tokens: list[_Token], i: int) -> bool:
    if i == 0 or i + 1 >= len(tokens) or not _ends_operand(tokens, i - 1):
        return False
    following = tokens[i + 1]
    return following.kind in ("string", "param") or following.low == "array"
