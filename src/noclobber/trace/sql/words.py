"""Words of SQL and their roles: what starts a statement, what ends an operand."""

from __future__ import annotations

from .tokens import _Token

_KEYWORDS = frozenset("""
    select distinct all from where and or not in is like ilike between exists set values into on using join left
    right inner outer full cross natural lateral group order by having limit offset fetch for returning union
    intersect except as case when then else update delete insert replace merge with recursive interval matched do
    conflict duplicate only window top collate escape similar to any some output first next glob regexp rlike match
    upsert ignore
""".split())
_CLAUSES = frozenset("""
    where from group order having limit offset fetch for returning union intersect except on set values and or join
    left right inner outer cross full natural using when then else as window lock output select option with is not
    in like ilike between
""".split())
_SPLIT_NEXT = _CLAUSES | {")", ","}
_OPERAND_STARTS = frozenset(("case", "not", "exists", "interval", "any", "left", "right", "replace"))


def _ends_operand(tokens: list[_Token], i: int) -> bool:
    token = tokens[i]
    if token.kind == "word":
        if token.low not in _KEYWORDS:
            return True
        return i > 0 and tokens[i - 1].text == "."
    if token.kind == "op":
        if token.text == "*":
            return i == 0 or tokens[i - 1].low in ("select", "distinct", "returning", ",", ".", "(")
        return token.text in (")", "]")
    return True


def _starts_operand(token: _Token) -> bool:
    if token.kind == "word":
        return token.low not in _KEYWORDS or token.low in _OPERAND_STARTS
    return token.kind != "op" or token.text == "("


# first keyword → what may follow it (None: anything). "" stands for the end of the text, "h" for a hole, "n" for a
# name.
_TRANSACTION_WORDS = frozenset(("", ";", "transaction", "tran", "work", "h"))
_FIRST: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(
        """
            select explain analyze vacuum pragma attach detach copy grant revoke show describe truncate savepoint
            release listen notify unlisten do prepare deallocate discard reset comment reindex checkpoint call exec
            execute declare unlock optimize use handler upsert kill
        """.split(),
        None,
    ),
    "with": None,
    "update": None,
    "delete": None,
    "merge": None,
    "insert": None,
    "values": frozenset(("(", "h", "row", "n")),
    "begin": _TRANSACTION_WORDS | set("""
            immediate exclusive deferred isolation read concurrent not try select update insert delete merge if
            declare for while execute
        """.split()),
    "start": frozenset(("transaction",)),
    "commit": _TRANSACTION_WORDS | {"and", "prepared"},
    "end": _TRANSACTION_WORDS | {"and"},
    "abort": _TRANSACTION_WORDS | {"and"},
    "rollback": _TRANSACTION_WORDS | {"to", "and", "prepared"},
    "set": None,
    "lock": None,
    "replace": None,
    "refresh": frozenset(("materialized",)),
    "create": frozenset("""
            table index unique view or temp temporary trigger function procedure schema database type sequence
            materialized virtual unlogged extension user role policy rule global local if aggregate domain event
            operator publication subscription server cast collation h clustered nonclustered columnstore fulltext
            spatial foreign statistics synonym package
        """.split()),
}
_FIRST["drop"] = _FIRST["alter"] = _FIRST["create"] | {
    "system",
    "session",
    "owned",
    "constraint",
    "column",
    "primary",
    "user",
}
_STATEMENT_STARTS = frozenset(("select", "update", "delete", "insert", "replace", "merge", "with", "upsert", "values"))


def _looks(tokens: list[_Token]) -> bool:
    """The first tokens of the text are those of a SQL statement."""
    i = 0
    while i < len(tokens) and tokens[i].text in ("(", ";"):
        i += 1
    if i >= len(tokens) or tokens[i].kind != "word":
        return False
    first = tokens[i].low
    if first not in _FIRST:
        return False
    rest = tokens[i + 1 : i + 4]
    following = rest[0].low if rest else ""
    if rest and rest[0].kind == "hole":
        following = "h"
    allowed = _FIRST[first]
    if allowed is not None:
        return following in allowed or (bool(rest) and "n" in allowed and rest[0].kind in ("word", "quoted"))
    third = rest[1].low if len(rest) > 1 else ""
    if first in ("replace", "insert"):
        if following in ("into", "or", "ignore", "overwrite", "low_priority", "high_priority", "delayed", "all", "h"):
            return True
        return (
            bool(rest)
            and rest[0].kind in ("word", "quoted")
            and third in ("(", "values", "select", "set", ".", "default")
        )
    if first == "lock":
        return following in ("table", "tables", "h") or (bool(rest) and third in ("", ";", "in", "."))
    if first == "set":
        return following in (
            "transaction",
            "session",
            "local",
            "global",
            "constraints",
            "role",
            "names",
            "schema",
            "h",
        ) or third in ("=", "to", ".")
    if first == "with":
        return following in ("recursive", "h") or third in ("as", "(") or (bool(rest) and rest[0].kind == "quoted")
    if first in ("update", "delete", "merge", "call", "exec", "use", "kill", "show"):
        return bool(rest) and (rest[0].kind in ("word", "quoted", "hole") or following == "[")
    return True


_LOCK_FUNCTIONS = frozenset("""
    pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_try_advisory_lock
    pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared get_lock sp_getapplock
""".split())
_UNLOCK_FUNCTIONS = frozenset("""
    pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all release_lock release_all_locks
    sp_releaseapplock
""".split())
_HEAD_MODIFIERS = frozenset("low_priority high_priority delayed quick ignore only".split())
