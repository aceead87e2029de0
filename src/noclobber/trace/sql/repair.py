"""Repairs before sqlglot sees the tokens: places where a hole stands for more than one operand, spellings of single engines."""

from __future__ import annotations

import re

from .lexer import _H
from .tokens import _HOLE_RE, _name_tokens, _plain, _Token
from .words import _CLAUSES, _HEAD_MODIFIERS, _KEYWORDS, _SPLIT_NEXT, _ends_operand, _starts_operand


class _Flags:
    __slots__ = ("columns", "sets", "where", "tail", "operator", "lock", "verb", "conflict", "cursor")

    def __init__(self) -> None:
        self.columns = self.sets = self.where = self.tail = self.operator = self.cursor = False
        self.lock = ""  # from SQL Server's table hints
        self.verb = ""  # 'replace'
        self.conflict: str | None = None

    def all_open(self) -> None:
        self.columns = self.sets = self.where = self.tail = True


def _word(text: str) -> _Token:
    return _Token("word", text)


def _op(text: str) -> _Token:
    return _Token("op", text)


def _unglue(tokens: list[_Token]) -> list[_Token]:
    """Words that literal text and holes make together: a name stays one word, a clause that follows a word is parted
    from it.
    """
    out: list[_Token] = []
    for i, token in enumerate(tokens):
        if token.kind != "word" or "\ue000" not in token.text:
            out.append(token)
            continue
        pieces = [p for p in re.split(f"({_H})", token.text) if p]
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        nxt = "" if following is None else following.low
        dotted = nxt == "." or (i > 0 and tokens[i - 1].text == ".")
        literal = [p for p in pieces if p[0] != "\ue000"]
        part_all = False
        if any(p.lower() in _KEYWORDS for p in literal):
            part_all = True
        elif not literal:
            part_all = not (dotted or nxt in ("set", "values", "(", "=")) or (i > 0 and _ends_operand(tokens, i - 1))
        cut_tail = (
            not part_all
            and not dotted
            and pieces[-1][0] == "\ue000"
            and len(literal) == 1
            and pieces[0] is literal[0]
            and not literal[0].endswith(("_", "$", "#"))
            and (following is None or nxt in _SPLIT_NEXT or nxt == ")")
        )
        if not part_all and not cut_tail:
            out.append(token)
            continue
        for n, piece in enumerate(pieces):
            space = token.space if n == 0 else True
            if piece[0] == "\ue000":
                out.append(_Token("hole", piece, space, hole=int(piece[1:-1])))
            else:
                out.append(_Token("word", piece, space))
    return out


_UPDLOCKS = frozenset(("updlock", "xlock", "tablockx"))
_HINTS = _UPDLOCKS | frozenset(
    "nolock holdlock rowlock tablock paglock readpast serializable readcommitted readcommittedlock nowait index".split()
)


def _rewrite(tokens: list[_Token], flags: _Flags) -> list[_Token]:
    """Spellings that only one dialect knows, written in the common form, what they mean kept in `flags`."""
    out: list[_Token] = []
    depth = 0
    i, n = 0, len(tokens)
    seen_verb = ""
    while i < n:
        token = tokens[i]
        low = token.low if token.kind == "word" else token.text
        previous = out[-1].low if out else ""
        nxt = tokens[i + 1].low if i + 1 < n else ""
        if low == "(":
            depth += 1
        elif low == ")":
            depth -= 1
        starts = (
            token.kind == "word"
            and previous in ("", "(", ")")
            and low in ("insert", "replace", "upsert", "update", "delete")
        )
        if starts and previous == "(" and nxt == "(":  # the functions replace(…), insert(…)
            starts = False
        if starts and low in ("replace", "insert") and nxt == "(":
            starts = False
        if starts:
            if depth == 0:
                seen_verb = low
            i += 1
            conflict = verb = None
            while i < n and tokens[i].kind == "word" and (tokens[i].low in _HEAD_MODIFIERS or tokens[i].low == "or"):
                if tokens[i].low == "or" and i + 1 < n:
                    i += 1
                    if tokens[i].low == "replace":
                        conflict, verb = "replace", "replace"
                    elif tokens[i].low == "ignore":
                        conflict = "nothing"
                elif tokens[i].low == "ignore":
                    conflict = "nothing"
                i += 1
            if i + 1 < n and tokens[i].low == "top" and low in ("update", "delete", "insert"):
                i += 2
                if tokens[i - 1].text == "(":
                    while i < n and tokens[i - 1].text != ")":
                        i += 1
            if low in ("replace", "upsert"):
                conflict, verb = "replace", "replace"
            if depth == 0 and low != "update" and low != "delete":
                flags.conflict, flags.verb = conflict, verb or ""
            if low in ("insert", "replace", "upsert"):
                out += [_word("INSERT"), _word("INTO")]
                if i < n and tokens[i].low in ("into", "overwrite"):
                    i += 1
            elif low == "delete":
                out.append(_word("DELETE"))
                name = _name_tokens(tokens, i)
                after = tokens[i + len(name)].low if name and i + len(name) < n else ""
                if name and name[0].low != "from" and after not in ("from", ",", "."):
                    out.append(_word("FROM"))  # DELETE t WHERE …
            else:
                out.append(_word("UPDATE"))
            continue
        if low == "with" and nxt == "(" and i + 2 < n and tokens[i + 2].low in _HINTS and previous not in ("", "("):
            i += 2
            while i < n and tokens[i].text != ")":
                if tokens[i].low in _UPDLOCKS:
                    flags.lock = "update"
                elif tokens[i].kind == "hole":
                    flags.tail = True
                i += 1
            i += 1
            continue
        if (
            low == "only"
            and previous in ("from", "join", ",")
            and i + 1 < n
            and tokens[i + 1].kind in ("word", "quoted", "hole")
            and nxt not in _CLAUSES
        ):
            i += 1
            continue
        if low == "current" and nxt == "of" and previous in ("where", "and"):
            out.append(_word("TRUE"))  # the row of an open cursor
            flags.cursor = True
            i += 3
            continue
        if low == "into" and depth == 0 and seen_verb and any(t.low == "returning" for t in out[-40:]):
            break  # RETURNING x INTO :y ends the statement (Oracle)
        if low in ("in", "values") and i + 1 < n and tokens[i + 1].kind in ("hole", "param") and previous != ".":
            after = tokens[i + 2].text if i + 2 < n else ""
            if after != "(" and after != ".":
                if low == "values":
                    flags.sets = True
                out += [token, _op("("), tokens[i + 1], _op(")")]
                i += 2
                continue
        out.append(token)
        i += 1
    return out


_BOUNDARIES = frozenset(("where", "and", "or", "not", "on", "having", "when", "("))


def _untested(out: list[_Token]) -> bool:
    """The last operand in `out` is a bare name right after WHERE, AND, OR …: no operator has come yet."""
    i = len(out) - 1
    while i >= 0 and (
        out[i].kind in ("quoted", "hole")
        or out[i].text == "."
        or (out[i].kind == "word" and out[i].low not in _KEYWORDS)
    ):
        i -= 1
    return 0 <= i < len(out) - 1 and out[i].low in _BOUNDARIES


def _repair(tokens: list[_Token], flags: _Flags) -> list[_Token]:
    """Give every hole a place where an identifier can stand, or drop it and say in `flags` what it may have held."""
    out: list[_Token] = []
    stack: list[str] = []
    clause = ""
    qualifiers = {
        tokens[i].text for i in range(len(tokens) - 1) if tokens[i].kind == "hole" and tokens[i + 1].text == "."
    }
    i, n = 0, len(tokens)
    while i < n:
        token = tokens[i]
        if token.kind == "word":
            low = token.low
            previous = out[-1].low if out else ""
            if previous == ".":
                pass
            elif low in (
                "select",
                "where",
                "set",
                "having",
                "limit",
                "offset",
                "returning",
                "output",
                "values",
                "into",
                "when",
                "group",
                "order",
            ):
                clause = low
            elif low in ("using", "join"):
                clause = "from"
            elif low == "from" and previous != "distinct" and clause != "where":
                clause = "from"
            elif low == "on":
                nxt = tokens[i + 1].low if i + 1 < n else ""
                clause = "conflict" if nxt in ("conflict", "duplicate") else "on"
            elif low in ("for", "fetch"):
                clause = "for"
            elif low in ("update", "delete") and clause != "for":
                clause = "conflict" if previous in ("do", "key") else low
            out.append(token)
            i += 1
            continue
        if token.kind != "hole":
            if token.text == "(":
                stack.append(clause)
                if clause not in ("where", "on", "having"):
                    clause = "into" if clause == "into" else "("
            elif token.text == ")" and stack:
                clause = stack.pop()
            out.append(token)
            i += 1
            continue
        # a run of holes without anything between them
        j = i
        while j < n and tokens[j].kind == "hole":
            j += 1
        run = tokens[i:j]
        following = tokens[j] if j < n else None
        at_end = following is None or following.text == ")"
        previous = out[-1] if out else None
        loose = run
        if (
            following is not None
            and following.text in (".", "(")
            and previous is not None
            and not (following.text == "(" and _ends_operand(out, len(out) - 1))
        ):
            loose = []  # a qualifier or a function's name
            out += run
        elif following is not None and following.text == "." and previous is not None:
            loose, kept = run[:-1], run[-1:]
        elif previous is None or not _ends_operand(out, len(out) - 1):
            if clause == "for":
                loose = run
            elif (
                clause == "select"
                and previous is not None
                and previous.low == "select"
                and len(run) == 1
                and (following is not None and _starts_operand(following) and following.text != "(")
            ):
                i = j  # SELECT {distinct} a
                continue
            else:
                loose = run[1:]
                _place(run[0], clause, out, following if not loose else None, bool(loose), flags)
                if len(run) == 3 and clause in ("where", "on", "having") and out[-1] is run[0] and _untested(out):
                    flags.operator = True
                    out += [_word("GLOB"), run[2]]
                    loose = []
        if loose:
            _drop(loose, clause, out, following, at_end, flags, qualifiers)
        if (
            following is not None
            and following.text == "."
            and loose
            and loose is not run
            and len(loose) < len(run)
            and run[-1] not in out
        ):
            out += kept
        i = j
    return out


def _place(hole: _Token, clause: str, out: list[_Token], following: _Token | None, more: bool, flags: _Flags) -> None:
    """A hole where an operand is due."""
    previous = out[-1].low if out else ""
    out.append(hole)
    ends = following is None and not more
    if clause == "set" and previous in ("set", ","):
        if more or ends or following.low in _CLAUSES or following.text in (",", ")"):
            flags.sets = True
            if ends:
                flags.where = flags.tail = True
        elif following is not None and _starts_operand(following):
            flags.sets = True
            out.append(_op(","))
    elif clause in ("where", "on", "having") and previous in _BOUNDARIES and following is not None:
        if (
            _starts_operand(following)
            and following.text != "("
            and following.low not in ("not",)
            or following.low == "exists"
        ):
            flags.where = True
            out.append(_word("AND"))
    elif clause == "select" and previous == "select" and (ends or (more and following is None)):
        flags.columns = True
        if ends:
            flags.where = flags.tail = True
    elif clause in ("update", "delete", "into") and ends and previous in ("update", "into"):
        flags.all_open()


def _drop(
    run: list[_Token],
    clause: str,
    out: list[_Token],
    following: _Token | None,
    at_end: bool,
    flags: _Flags,
    qualifiers: set[str],
) -> None:
    """Holes after a complete operand: an alias, an operator, or the rest of a clause."""
    nxt = "" if following is None else following.low
    operand_next = following is not None and _starts_operand(following)
    if clause in ("where", "on", "having", "when"):
        if len(run) == 1 and operand_next:
            if _untested(out):
                flags.operator = True
                out.append(_word("GLOB"))
            else:
                flags.where = True
                out.append(_word("AND"))
            return
        if len(run) == 2 and _untested(out):
            flags.operator = True
            out += [_word("GLOB"), run[1]]
            return
        flags.where = True
        flags.tail = flags.tail or at_end
    elif clause == "set":
        if len(run) == 1 and operand_next:
            flags.operator = True
            out.append(_op("+"))
            return
        flags.sets = True
        if at_end:
            flags.where = flags.tail = True
        elif following is not None and following.low not in _CLAUSES and following.text != ",":
            out.append(_op(","))
    elif clause == "select":
        flags.columns = True
        if at_end:
            flags.where = flags.tail = True
    elif clause in ("returning", "output"):
        flags.columns = True
    elif clause in ("from", "update", "delete", "using"):
        if run[0].text in qualifiers:
            out.append(run[0])
            run = run[1:]
            if not run:
                return
        if nxt in ("set", "on", "join", "left", "right", "inner", "cross", "full", ",", "as", "using"):
            return
        flags.tail = True
        if nxt != "where":
            flags.where = True
        if clause == "update" and at_end:
            flags.sets = True
    elif clause == "into":
        if nxt == "(":
            return  # INSERT INTO t {alias} (…)
        flags.sets = True
        flags.tail = flags.tail or at_end
    elif clause == "order":
        direction = len(run) == 1 and bool(out) and out[-1].kind == "hole"
        if at_end and not direction:
            flags.tail = True
    elif clause in ("limit", "offset", "group", "conflict", "values"):
        if at_end:
            flags.tail = True


def _render(tokens: list[_Token], dialect: str | None) -> str:
    out = []
    for token in tokens:
        kind = token.kind
        if kind == "param":
            out.append(f" :p{token.ref} ")
        elif kind == "hole":
            out.append(f" __h{token.hole}__ ")
        elif kind == "quoted" and token.text[0] == "`" and dialect != "mysql":
            out.append(' "' + _plain(token).replace('"', '""') + '" ')
        else:
            text = token.text
            if "\ue000" in text:
                text = _HOLE_RE.sub(r"__h\1__", text)
            out.append(" " + text if token.space else text)
    return "".join(out)
