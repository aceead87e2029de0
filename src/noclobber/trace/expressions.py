"""DynamoDB's update and condition expressions, as far as a lost update needs them.

Grammar: docs.aws.amazon.com, "Update expressions" and "Condition and filter expressions". Text that does not follow it is not read (None).
"""
from __future__ import annotations

import re
from typing import Optional

_TOKEN = re.compile(r"\s*(?:([:#]?[A-Za-z_][\w.\-]*(?:\[\d+\])*(?:\.[#\w\[\]]+)*|#[\w.#\[\]]+|:[\w]+)|(<>|<=|>=|[=<>+\-(),]))")
_CLAUSES = frozenset(("SET", "REMOVE", "ADD", "DELETE"))
_FUNCTIONS = frozenset(("if_not_exists", "list_append", "attribute_exists", "attribute_not_exists", "begins_with", "contains", "size", "attribute_type"))
#: Type descriptors of DynamoDB's wire format: `{"N": "3"}` is the 3.
DESCRIPTORS = frozenset(("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"))
_COMPARISONS = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def tokens(text: str) -> Optional[list[str]]:
    found: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        found.append(match.group(1) or match.group(2))
        at = match.end()
    return found


def assignments(text: str) -> Optional[list[tuple[str, list[str], bool]]]:
    """[(path, operands that are values, does the store compute it from what it holds)] of an update expression; None: unread."""
    words = tokens(text)
    if not words or words[0].upper() not in _CLAUSES:
        return None
    found: list = []
    clause = ""
    part: list[str] = []
    depth = 0
    for word in [*words, "SET"]:
        if depth == 0 and word.upper() in _CLAUSES:
            if part and not _assignment(clause, part, found):
                return None
            clause, part = word.upper(), []
        elif depth == 0 and word == ",":
            if not _assignment(clause, part, found):
                return None
            part = []
        else:
            depth += {"(": 1, ")": -1}.get(word, 0)
            part.append(word)
    return found


def _assignment(clause: str, part: list[str], found: list) -> bool:
    if not part:
        return False
    path = part[0]
    if clause == "REMOVE":
        found.append((path, [], False))
        return True
    if clause in ("ADD", "DELETE"):
        found.append((path, part[1:2], True))
        return len(part) == 2
    if len(part) < 3 or part[1] != "=":
        return False
    rest = part[2:]
    operands = [word for word in rest if word.startswith(":")]
    names = [word for word in rest if word not in _FUNCTIONS and word[0] not in ":(),+-"]
    # `if_not_exists(a, :x)` alone only creates; any other field of the item on the right is read by the store itself.
    found.append((path, operands, bool(names)))
    return True


def conditions(text: str) -> Optional[list[tuple[str, str, str]]]:
    """[(attribute, operator, value's placeholder or '')] of a condition expression; operators of branches of OR begin with 'or '. None: unread."""
    words = tokens(text)
    if not words:
        return None
    found: list = []
    prefix = "or " if any(word.upper() == "OR" for word in words) else ""
    i = 0
    while i < len(words):
        word = words[i]
        if word in ("attribute_exists", "attribute_not_exists") and i + 2 < len(words) and words[i + 1] == "(":
            found.append((words[i + 2], prefix + ("exists_only" if word == "attribute_exists" else "absent"), ""))
            i += 4
        elif word in ("begins_with", "contains", "attribute_type") and i + 4 < len(words):
            found.append((words[i + 2], prefix + ">=", words[i + 4]))
            i += 6
        elif i + 2 < len(words) and words[i + 1] in _COMPARISONS:
            left, op, right = word, _COMPARISONS[words[i + 1]], words[i + 2]
            if left.startswith(":"):
                left, right = right, left
            found.append((left, prefix + op, right))
            i += 3
        elif i + 1 < len(words) and words[i + 1].upper() in ("IN", "BETWEEN"):
            found.append((word, prefix + ("in" if words[i + 1].upper() == "IN" else ">="), words[i + 3] if i + 3 < len(words) else ""))
            i += 4
        else:
            i += 1
    return found
