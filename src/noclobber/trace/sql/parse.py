"""Text → statements: splitting, the statements that tokens alone tell, sqlglot for the others."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from .guess import _guess
from .lexer import _join, _number_params, _tokens
from .reader import _Reader
from .repair import _Flags, _render, _repair, _rewrite, _unglue
from .statements import _DIALECTS, Name, ParamRef, Statement
from .tokens import _HOLE_RE, _holes_of, _name_at, _name_tokens, _parts, _plain, _Token
from .words import _LOCK_FUNCTIONS, _STATEMENT_STARTS, _UNLOCK_FUNCTIONS, _looks

MAX_LENGTH = 20_000  # longer text is left unread: sqlglot's cost and recursion grow with it
LONG = 1_500  # tokens; a longer statement that two dialects refuse is left unread
MAX_DEPTH = 30  # nesting of brackets and CASE; sqlglot needs about 20 Python frames for each


def looks_like_sql(text: str | Iterable[str | int]) -> bool:
    """Cheap: the first keyword (after comments and brackets) starts a SQL statement. Takes text or a template; no
    sqlglot.
    """
    joined = text if isinstance(text, str) else _join(text)
    head = joined[:4000]
    tokens, _ = _tokens(head, None, limit=12)
    while tokens and tokens[0].kind == "hole" and len(tokens) > 1:  # f"{explain}SELECT …", f"{WITH} UPDATE …"
        tokens = tokens[1:]
    return _looks(tokens)


def parse(template: str | Iterable[str | int], dialect: str | None = None) -> tuple[Statement, ...]:
    """Read SQL.

    template: the text, or a tuple of literal pieces (str) and unknown parts (int). dialect: 'sqlite', 'postgres',
    'mysql', 'oracle', 'tsql' or None; other names count as None. Returns one Statement for each `;`-separated
    statement, () for empty text, one of verb 'other' for text that is no SQL. Raises nothing. Cached.
    """
    key = (template,) if isinstance(template, str) else tuple(template)
    known = _DIALECTS.get(dialect or "")
    try:
        return _parse(key, known)
    except RecursionError:
        # The caller may itself stand deep in the stack: what is found must not depend on that, so try once on a fresh
        # one.
        result: list[tuple[Statement, ...]] = []
        thread = threading.Thread(target=_parse_into, args=(key, known, result), daemon=True)
        thread.start()
        thread.join()
        return result[0] if result else (Statement("unread"),)


def _parse_into(key: tuple, dialect: str | None, result: list) -> None:
    try:
        result.append(_parse(key, dialect))
    except RecursionError:
        result.append(_unread_text(key, dialect))


@lru_cache(maxsize=8192)
def _parse(template: tuple, dialect: str | None) -> tuple[Statement, ...]:
    text = _join(template)
    if len(text) > MAX_LENGTH:
        return _unread_text(template, dialect)
    tokens, raw_refs = _tokens(text, dialect)
    if not any(t.text != ";" for t in tokens):
        return ()
    head = [t for t in tokens if t.text != ";"]
    while head and head[0].kind == "hole":
        head = head[1:]
    known_start = _looks(head)
    refs = _number_params(tokens, raw_refs)
    holes = frozenset(p for p in template if not isinstance(p, str))
    if not known_start:
        if tokens[0].kind == "hole" or _HOLE_RE.search(tokens[0].text):  # the statement's verb itself is unknown
            guessed = _guess(tokens, refs, holes)
            return (replace(guessed, open_columns=True, open_sets=True, open_where=True, open_tail=True),)
        return (Statement("other"),)
    out = []
    block = False
    for part in _split(tokens):
        block = block or (part[0].low == "begin" and len(part) > 1 and part[1].low in _BLOCK_STARTS)
        if block and part[0].low == "end":
            continue
        statement = _statement(part, refs, holes, dialect)
        if statement is not None:
            out.append(statement)
    return tuple(out)


def _unread_text(template: tuple, dialect: str | None) -> tuple[Statement, ...]:
    """What a look at the first part of a text says that is not read further."""
    tokens, raw_refs = _tokens(_join(template)[:2000], dialect)
    refs = _number_params(tokens, raw_refs)
    if not _looks(tokens):
        return (Statement("other"),)
    return (_guess(tokens, refs, frozenset(p for p in template if not isinstance(p, str))),)


def _split(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Split at `;`. The body of CREATE TRIGGER / PROCEDURE / FUNCTION stays with its statement up to its END."""
    part: list[_Token] = []
    body = depth = 0
    for token in tokens:
        low = token.low if token.kind == "word" else ""
        if part and part[0].low == "create" and low in ("trigger", "procedure", "function", "package"):
            body = 1
        if body and low in ("begin", "case"):
            depth += 1
        elif body and low == "end":
            depth -= 1
        if token.text == ";" and token.kind == "op" and depth <= 0:
            if part:
                yield part
            part, body, depth = [], 0, 0
        else:
            part.append(token)
    if part:
        yield part


_BLOCK_STARTS = frozenset("select update insert delete merge if declare for while execute try".split())
_ISOLATIONS = ("serializable", "repeatable read", "read committed", "read uncommitted", "snapshot")


def _isolation(tokens: list[_Token]) -> str:
    text = " ".join(t.text.strip("'\"").lower().replace("-", " ") for t in tokens)
    return next((level for level in _ISOLATIONS if level in text), "")


def _statement(
    tokens: list[_Token], refs: list[ParamRef], holes: frozenset[int], dialect: str | None
) -> Statement | None:
    # A hole in front of the verb is a comment, EXPLAIN or a WITH clause that is not in sight.
    lead = 0
    while lead < len(tokens) and tokens[lead].kind == "hole":
        lead += 1
    tokens = tokens[lead:]
    while tokens and tokens[0].low == "begin" and len(tokens) > 1 and tokens[1].low in _BLOCK_STARTS:
        tokens = tokens[1:]  # a PL/SQL or T-SQL block opens no transaction
        if tokens[0].low == "try":
            tokens = tokens[1:]
    if not tokens:
        return None
    own_refs = tuple(refs[t.ref] for t in tokens if t.kind == "param")
    own_holes = _holes_of(tokens)
    i = 0
    while i < len(tokens) and tokens[i].text == "(":
        i += 1
    first = tokens[i].low if i < len(tokens) and tokens[i].kind == "word" else ""
    low = [t.low if t.kind == "word" else t.text for t in tokens[:8]]
    following = low[1] if len(low) > 1 else ""
    base = Statement("other", keyword=first, params=own_refs, holes=own_holes)
    locks, unlocks = _advisory_names(tokens)
    if locks or unlocks:
        base = replace(base, advisory=locks, advisory_unlock=unlocks)

    if first in _STATEMENT_STARTS and first != "values":
        return _read(tokens, base, refs, holes, dialect, bool(lead))
    if first == "begin" or (first == "start" and following == "transaction"):
        mode = next((w for w in low[1:3] if w in ("immediate", "exclusive", "deferred", "concurrent")), "")
        return replace(base, verb="begin", mode=mode, isolation=_isolation(tokens), open_tail=bool(own_holes))
    if first == "commit" or (first == "end" and following in ("", "transaction", "work", "tran", "and")):
        return replace(base, verb="commit")
    if first in ("rollback", "abort"):
        if "to" in low[1:4] or "prepared" in low[1:2]:  # to a savepoint: the transaction goes on
            return base
        return replace(base, verb="rollback")
    if first == "set":
        words = [t.low for t in tokens[1:]]
        if "isolation" in words or any("isolation" in w for w in words[:3]):
            return replace(base, verb="isolation", isolation=_isolation(tokens), open_tail=bool(own_holes))
        return base
    if first == "lock":
        return _lock_table(tokens, base, holes)
    if first in ("call", "exec", "execute"):
        name = "".join(_plain(t) for t in _name_tokens(tokens, 1))
        return replace(base, verb="call", procedure=name.lower())
    if first == "truncate":
        at = 2 if following == "table" else 1
        return replace(base, table=_name_at(tokens, at, holes))
    return base


def _advisory_names(tokens: list[_Token]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    locks, unlocks = [], []
    for i, token in enumerate(tokens):
        if token.kind != "word":
            continue
        low = token.low
        if low in _LOCK_FUNCTIONS:
            locks.append(low)
        elif low in _UNLOCK_FUNCTIONS:
            unlocks.append(low)
        elif low in ("request", "release") and i > 1 and tokens[i - 2].low == "dbms_lock":
            (locks if low == "request" else unlocks).append("dbms_lock." + low)
    return tuple(locks), tuple(unlocks)


def _lock_table(tokens: list[_Token], base: Statement, holes: frozenset[int]) -> Statement:
    """LOCK [TABLE] a, b IN x MODE (PostgreSQL, Oracle); LOCK TABLES a WRITE, b AS x READ (MySQL)."""
    i = 2 if len(tokens) > 1 and tokens[1].low in ("table", "tables") else 1
    names: list[Name] = []
    mode = ""
    nowait = False
    while i < len(tokens):
        token = tokens[i]
        if token.low == "only":
            i += 1
            continue
        if token.low == "in" and i + 1 < len(tokens):
            words = []
            i += 1
            while i < len(tokens) and tokens[i].low != "mode":
                words.append(tokens[i].low)
                i += 1
            mode = " ".join(words)
        elif token.low == "nowait":
            nowait = True
        elif token.low in ("read", "write") and names:
            if mode != "write":
                mode = token.low
        elif token.text != "," and (i == 0 or tokens[i - 1].low in ("table", "tables", "lock", "only", ",")):
            name = _name_tokens(tokens, i)
            if name:
                names.append(_parts("".join(_plain(t) for t in name), holes))
                i += len(name) - 1
        i += 1
    if not mode and tokens[1:2] and tokens[1].low != "tables":
        mode = "access exclusive"  # PostgreSQL's default
    names = [n for n in names if n]
    return replace(
        base,
        verb="lock_table",
        table=names[0] if names else (),
        other_tables=tuple(names[1:]),
        mode=mode,
        nowait=nowait,
    )


_sqlglot = None


def _load_sqlglot():
    global _sqlglot
    if _sqlglot is None:
        import logging

        import sqlglot
        import sqlglot.expressions

        logging.getLogger("sqlglot").setLevel(
            logging.CRITICAL
        )  # it warns on every statement it keeps as a plain command
        _sqlglot = sqlglot
    return _sqlglot


def _depth(tokens: list[_Token]) -> int:
    depth = deepest = run = 0
    for token in tokens:
        low = token.low
        if low in ("(", "[", "case"):
            depth += 1
        elif low in (")", "]", "end"):
            depth -= 1
        run = run + 1 if low in ("not", "-", "+", "~", "!", "with", "(", "select", "exists") else 0
        deepest = max(deepest, depth, run // 2)
    return deepest


def _read(
    tokens: list[_Token], base: Statement, refs: list[ParamRef], holes: frozenset[int], dialect: str | None, lead: bool
) -> Statement:
    flags = _Flags()
    repaired = _repair(_rewrite(_unglue(tokens), flags), flags) if holes else _rewrite(tokens, flags)
    if not repaired or _depth(repaired) > MAX_DEPTH:
        return _flagged(_guess(tokens, refs, holes), base, flags, lead)
    sqlglot = _load_sqlglot()
    tried: list[str | None] = []
    for name in (dialect or "postgres", "postgres", None, "mysql", "sqlite", "tsql"):
        if name in tried or (len(repaired) > LONG and len(tried) > 1):
            continue
        tried.append(name)
        try:
            tree = sqlglot.parse_one(_render(repaired, name), read=name)
            statement = _Reader(sqlglot.exp, refs, holes, flags, name).statement(tree)
        except RecursionError:
            raise
        except (
            Exception
        ):  # noqa: BLE001  sqlglot raises more than its own errors on odd text; the next dialect or the tokens decide
            continue
        if statement is not None:
            return _flagged(statement, base, flags, lead)
    return _flagged(_guess(repaired, refs, holes), base, flags, lead)


def _flagged(statement: Statement, base: Statement, flags: _Flags, lead: bool) -> Statement:
    verb, conflict = statement.verb, statement.conflict
    if flags.verb and verb == "insert":
        verb = flags.verb
    if flags.conflict and conflict is None and statement.verb == "insert":
        conflict = flags.conflict
    return replace(
        statement,
        verb=verb,
        conflict=conflict,
        keyword=statement.keyword if verb == "unread" else base.keyword,
        params=base.params,
        holes=base.holes,
        advisory=base.advisory,
        advisory_unlock=base.advisory_unlock,
        lock=statement.lock or flags.lock,
        open_columns=statement.open_columns or flags.columns,
        open_sets=statement.open_sets or flags.sets,
        open_where=statement.open_where or flags.where or flags.cursor,
        open_tail=statement.open_tail or flags.tail,
    )
