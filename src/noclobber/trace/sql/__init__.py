"""SQL text → what a statement reads, writes, locks and tests.

`parse(template, dialect)` takes the text as the walk evaluated it: literal pieces (str) and unknown parts (int k = the
k-th unknown value, a *hole*). A quote- and comment-aware tokenizer first turns every placeholder into `:p0, :p1 …` and
every hole into the identifier `__h0__`, repairs places where a hole stands for more than one operand (a SET list, a
WHERE tail, an operator), and only then asks sqlglot, which is imported on demand. What could not be seen because of a
hole is told by the `open_*` flags.

No text makes `parse` raise: what sqlglot refuses becomes a statement with the verb "unread", read as far as tokens
allow.
"""

from __future__ import annotations

from .parse import _parse, looks_like_sql, parse  # noqa: F401  tests empty its cache
from .reader import _Reader  # noqa: F401  tests watch it
from .statements import Expr, Name, ParamRef, Predicate, Statement

__all__ = ["Expr", "Name", "ParamRef", "Predicate", "Statement", "looks_like_sql", "parse"]
