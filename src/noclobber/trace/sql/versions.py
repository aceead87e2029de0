"""Which tables have a version: what the SQL texts of a module compare and raise."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .parse import looks_like_sql, parse

#: A module without such words has no version that a text compares, and no fencing token.
_WORDS = re.compile(r"version|revision|\brev\b|generation|\bseq|epoch|fenc", re.I)
_TOKENS = ("fencing", "fence", "epoch", "lease_version", "lease_generation")
MAX_TEXTS = 300


def versions_of(source: str, is_version: Callable[[str], bool]) -> dict[str, tuple[str, frozenset[str], bool]]:
    """{table: (version column, columns that the comparing writes set, is it a fencing token)} of the SQL texts in a module's source.

    A table counts when some UPDATE compares the version and raises it, or when it has a column that is named like a fencing token.
    Returns {} for what does not parse.
    """
    if not _WORDS.search(source):
        return {}
    found: dict[str, tuple[str, frozenset[str], bool]] = {}
    for text in _texts(source):
        for statement in parse(text):
            for part in statement.walk():
                table = part.table[0] if len(part.table) == 1 and isinstance(part.table[0], str) else None
                if table is None:
                    continue
                names = [name for name, _ in (*part.sets, *part.conflict_sets, *part.columns) if isinstance(name, str)]
                for name in names:
                    if name.startswith(_TOKENS) or name.endswith("_epoch"):
                        found.setdefault(table, (name, frozenset(), True))
                if part.verb != "update":
                    continue
                written = {name for name, _ in part.sets if isinstance(name, str)}
                for predicate in part.guard_predicates(is_version):
                    column = predicate.column
                    if isinstance(column, str) and predicate.op == "=" and column in written and is_version(column):
                        known = found.get(table)
                        before = known[1] if known is not None and known[0] == column else frozenset()
                        found[table] = (column, before | (written - {column}), known[2] if known is not None else False)
    return found


def _texts(source: str) -> Iterator[tuple]:
    """The SQL texts among the literals of a module, f-strings with their holes."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    count = 0
    inside: set[int] = set()
    for node in ast.walk(tree):
        template: tuple = ()
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
            template = tuple(part.value if isinstance(part, ast.Constant) else place for place, part in enumerate(node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside and 20 < len(node.value) < 4000:
            template = (node.value,)
        if template and count < MAX_TEXTS and looks_like_sql(template):
            count += 1
            yield template
