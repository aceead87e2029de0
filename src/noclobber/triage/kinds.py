"""Kinds of events as bits: what a scope holds, what a page needs (DESIGN §4)."""
from __future__ import annotations

import re
from collections.abc import Iterable

FAMILIES = ("sql", "http", "object", "document", "key", "accessor", "file", "remote")
#: `knowledge.tables` says what each means; not imported, since a run needs nothing else of it.
KINDS = ("read", "write", "conditional", "create", "delete", "lock", "unlock", "begin", "replay", "effect", "policy",
         "conflict", "tool", "schema", "dump", "makekey", "change", "subscript",
         "row-change", "recursion", "precondition", "witness", "record-read", "versioned",
         *(f"{family}-{kind}" for family in FAMILIES for kind in ("read", "write")),
         "sql-run", "sql-conditional", "sql-built", "decode", "encode",
         "orm-read", "orm-session-read", "orm-update", "orm-persist", "orm-flush")

BIT = {kind: 1 << place for place, kind in enumerate(KINDS)}
CHANGE, REPLAY, CONFLICT = BIT["change"] | BIT["row-change"], BIT["replay"], BIT["conflict"]
OWN_CHANGE = BIT["change"] | 1 << len(KINDS)  # `self.x = …`: of a row where the class may be a model
MAY_BE_MODEL = 1 << len(KINDS)
RECURSION = REPLAY | BIT["recursion"]
CONDITION = BIT["conditional"] | BIT["precondition"]
COMMAND = BIT["conditional"] | BIT["precondition"] | BIT["write"]
WITNESS = BIT["conditional"] | BIT["witness"]
GETTER, SETTER = BIT["accessor-read"], BIT["accessor-write"]
MANAGER = BIT["read"] | BIT["orm-read"] | BIT["record-read"]
#: What a value kept in `self.x` can carry to its reader. A change or a loop happened elsewhere; where only `self.x.y`
#: is used, the value itself is not called, so that it does nothing either (a statement kept there is run by a call of
#: its own).
CARRIED = ~(CHANGE | RECURSION)
#: Kinds that statements alone can make, so that no needle in the bytes tells of them.
CARRIED_BY_BASE = sum(BIT[kind] for kind in (
    "read", "create", "lock", "begin", "policy", "conflict", "tool", "schema", "dump", "makekey", "subscript",
    *(f"{family}-read" for family in FAMILIES), "record-read", "orm-read", "orm-session-read", "versioned",
    "sql-write", "sql-conditional", "sql-built"))  # a text or statement kept there
#: Kinds of needs: reads of any family; rows of an ORM; what writes these.
READS = sum(BIT[kind] for kind in ("read", "record-read", "orm-read", "orm-session-read", *(f"{family}-read" for family in FAMILIES)))
EFFECT, POLICY = BIT["effect"], BIT["policy"]
ROW_READS = (BIT["orm-read"], BIT["orm-session-read"])
ROW_WRITES = BIT["orm-persist"] | BIT["orm-flush"] | BIT["orm-update"]
STATEMENT_KINDS = frozenset({"change", "row-change", "replay", "recursion", "subscript", "conflict", "schema"})


def mask_of(kinds: Iterable[str]) -> int:
    mask = 0
    for kind in kinds:
        mask |= BIT[kind]
    return mask


_WORDS: dict[int, frozenset[str]] = {}


def words_of(mask: int) -> frozenset[str]:
    found = _WORDS.get(mask)
    if found is None:
        found = _WORDS[mask] = frozenset(kind for kind, bit in BIT.items() if mask & bit)
    return found


#: SQL in a text, and headers that carry a condition.
SQL = re.compile(
    r"(?i)\b(?:(?P<locks>FOR\s+(?:NO\s+KEY\s+)?UPDATE|FOR\s+(?:KEY\s+)?SHARE|LOCK\s+(?:TABLES?|IN)"
    r"|(?:pg_)?(?:try_)?advisory_\w*lock\w*|GET_LOCK)"
    r"|(?P<change>UPDATE)|(?P<create>INSERT|REPLACE)|(?P<merge>MERGE|UPSERT)|(?P<delete>DELETE)|(?P<read>SELECT)"
    r"|(?P<begin>BEGIN|START\s+TRANSACTION)|(?P<clause>CONFLICT|DUPLICATE)|(?P<condition>IF-(?:NONE-)?MATCH))\b")
SQL_KINDS = {"locks": ("lock",), "change": ("write", "conditional", "sql-write", "sql-conditional"),
              "create": ("write", "conditional", "create", "sql-write"), "clause": ("sql-conditional",),
              "merge": ("write", "conditional", "create", "sql-write", "sql-conditional"),
              "delete": ("write", "conditional", "delete", "sql-conditional"),
              "read": ("read", "sql-read", "record-read"), "begin": ("begin",),
              "condition": ("conditional", "precondition")}
SQL_MASKS = {group: mask_of(kinds) for group, kinds in SQL_KINDS.items()}
