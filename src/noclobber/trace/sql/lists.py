"""Rows that a statement is handed as a list: `UPDATE t SET n = v.n FROM (VALUES (…)) AS v (id, n) WHERE t.id = v.id`, `unnest($1, $2) AS v (id, n)`,
`USING (SELECT :id AS id, :n AS n FROM dual) v`. Each row is one UPDATE of its own with its members as parameters, so the statement is read as that one."""

from __future__ import annotations

import re

#: A function of no database: one of what the list holds.
MEMBER = "__member"
#: `VALUES %s`: the one placeholder stands for all rows; the names of their columns stand behind it, or before it in an INSERT.
_ROWS = re.compile(r"\bVALUES\s+%s", re.IGNORECASE)
_NAMES_AFTER = re.compile(r"\s*\)\s*(?:AS\s+)?\w+\s*\(([^()]*)\)", re.IGNORECASE)
_NAMES_BEFORE = re.compile(r"\bINTO\s+[\w.\"`]+\s*\(([^()]*)\)\s*$", re.IGNORECASE)


def with_one_row(text: str, row: str = "") -> str:
    """The text that is run once for each row, where `VALUES %s` takes a list of rows. row: how one is written (`(%s, now())`), where that is told."""
    found = _ROWS.search(text)
    if found is None:
        return text
    if not row:
        names = _NAMES_AFTER.match(text, found.end()) or _NAMES_BEFORE.search(text[:found.start()])
        if names is None:
            return text
        row = "(" + ", ".join("%s" for _ in names.group(1).split(",")) + ")"
    return f"{text[:found.start()]}VALUES {row}{text[found.end():]}"


def inline(exp, node) -> None:
    """Put the members of a listed row in the place of its columns, in an UPDATE's or MERGE's tree."""
    sources = [join.this for join in node.args.get("joins") or ()]
    from_ = node.args.get("from_") or node.args.get("from")
    if from_ is not None:
        sources.append(from_.this)
    if isinstance(node.args.get("using"), exp.Expression):
        sources.append(node.args["using"])
    for source in sources:
        members = _members(exp, source)
        alias = (source.alias or "").lower() if members else ""
        if not alias:
            continue
        for column in list(node.find_all(exp.Column)):
            member = members.get(column.name.lower())
            if column.table.lower() == alias and member is not None:
                column.replace(member.copy())


def _members(exp, source) -> dict:
    """{column: its expression} of a source that is a list of rows written out, or lists side by side."""
    if isinstance(source, exp.Subquery) and isinstance(source.this, (exp.Values, exp.Select)) and not isinstance(source, exp.Values):
        inner = source.this
        if isinstance(inner, exp.Select):
            if any(True for _ in inner.find_all(exp.Column)) or inner.args.get("where") is not None:
                return {}  # of a table
            return {item.alias.lower(): item.this for item in inner.expressions if isinstance(item, exp.Alias)}
    else:
        inner = source
    names = [name.name.lower() for name in (source.args.get("alias").args.get("columns") or ())] if isinstance(source.args.get("alias"), exp.TableAlias) else []
    if isinstance(inner, exp.Values) and inner.expressions:
        first = inner.expressions[0]
        return dict(zip(names, first.expressions if isinstance(first, exp.Tuple) else [first]))
    if isinstance(inner, exp.Table) and isinstance(inner.this, (exp.Unnest, exp.Anonymous, exp.Explode)):
        inner = inner.this
    if isinstance(inner, exp.Unnest) or type(inner).__name__ == "Explode":
        given = inner.expressions or [inner.this]
        return {name: exp.Anonymous(this=MEMBER, expressions=[item.copy()]) for name, item in zip(names, given)}
    return {}
