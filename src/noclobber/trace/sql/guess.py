"""What sqlglot cannot read: as far as tokens alone allow."""

from __future__ import annotations

from dataclasses import replace

from .statements import Expr, Name, ParamRef, Predicate, Statement
from .tokens import _column_name, _holes_of, _name_at, _plain, _Token
from .words import _CLAUSES, _HEAD_MODIFIERS, _KEYWORDS


def _guess(tokens: list[_Token], refs: list[ParamRef], holes: frozenset[int]) -> Statement:
    """Verb, table, assigned columns and plain equalities by tokens alone, at bracket depth 0."""
    params = tuple(refs[t.ref] for t in tokens if t.kind == "param" and t.ref < len(refs))
    first = next((t.low for t in tokens if t.kind == "word"), "")
    verb, at = "", -1
    depth = 0
    for i, token in enumerate(tokens):
        if token.text == "(" and i:
            depth += 1
        elif token.text == ")":
            depth -= 1
        elif (
            token.kind == "word"
            and depth <= 0
            and token.low in ("select", "update", "delete", "insert", "replace", "merge")
        ):
            verb, at = token.low, i
            break
    table: Name = ()
    if verb:
        i = at + 1
        if verb in ("select", "delete"):
            depth = 0
            while i < len(tokens) and not (tokens[i].low == "from" and depth == 0):
                depth += (tokens[i].text == "(") - (tokens[i].text == ")")
                i += 1
            i += 1
        while (
            i < len(tokens)
            and tokens[i].kind == "word"
            and tokens[i].low in _HEAD_MODIFIERS | {"into", "or", "replace", "lateral"}
        ):
            i += 1
        table = _name_at(tokens, i, holes)
    sets, where = _guess_pairs(tokens, at, verb, refs, holes) if verb else ((), ())
    lows = [t.low for t in tokens]
    lock = ""
    for i in range(len(lows) - 1):
        if lows[i] == "for" and lows[i + 1] in ("update", "share"):
            lock = lows[i + 1]
        elif lows[i] == "for" and lows[i + 1 : i + 4] == ["no", "key", "update"]:
            lock = "no key update"
    return Statement(
        "unread",
        keyword=verb or first,
        table=table,
        sets=sets,
        where=where,
        lock=lock,
        skip_locked="locked" in lows and "skip" in lows,
        nowait="nowait" in lows,
        returning=verb != "select" and "returning" in lows,
        params=params,
        holes=_holes_of(tokens),
    )


def _guess_pairs(
    tokens: list[_Token], at: int, verb: str, refs: list[ParamRef], holes: frozenset[int]
) -> tuple[tuple, tuple]:
    sets: list[tuple] = []
    where: list[Predicate] = []
    clause, depth = "", 0
    unsure = False
    for i in range(at + 1, len(tokens)):
        token = tokens[i]
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
        if depth or token.kind not in ("word", "op"):
            continue
        if token.kind == "word" and token.low in ("set", "where", "from", "returning", "order", "limit", "group", "on"):
            clause = token.low
        elif clause == "where" and token.low in ("or", "not"):
            unsure = True
        elif (
            token.text == "="
            and i + 1 < len(tokens)
            and tokens[i - 1].kind in ("word", "quoted", "hole")
            and tokens[i - 1].low not in _KEYWORDS
        ):
            column = _column_name(_plain(tokens[i - 1]), holes)
            alone = i + 2 >= len(tokens) or tokens[i + 2].text in (",", ")", ";") or tokens[i + 2].low in _CLAUSES
            value = _guess_value(tokens[i + 1], refs, holes) if alone else Expr("other")
            if clause == "set" and verb in ("update", "insert", "merge", "replace"):
                sets.append((column, value))
            elif clause == "where":
                qualifier = _plain(tokens[i - 3]).lower() if i > 2 and tokens[i - 2].text == "." else None
                where.append(
                    Predicate(
                        column,
                        "=",
                        value,
                        Expr("column", columns=(column,), self_columns=(column,), column=column, table=qualifier),
                        False,
                        qualifier,
                    )
                )
    if unsure:
        where = [replace(p, in_or=True) for p in where]
    return tuple(sets), tuple(where)


def _guess_value(token: _Token, refs: list[ParamRef], holes: frozenset[int]) -> Expr:
    if token.kind == "param" and token.ref < len(refs):
        return Expr("param", refs=(refs[token.ref],))
    if token.kind == "hole":
        return Expr("hole", holes=(token.hole,), column=(token.hole,))
    if token.kind == "number":
        try:
            return Expr("literal", value=int(token.text))
        except ValueError:
            return Expr("literal", value=token.text)
    if token.kind == "string" and "\ue000" not in token.text:
        return Expr("literal", value=token.text[1:-1])
    return Expr("other", holes=_holes_of((token,)))
