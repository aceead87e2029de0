"""Rules, settings and findings made up for the tests of what comes behind the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from noclobber import knowledge
from noclobber.finding import FileResult, Finding, Place, Related

TIMELINE = (
    ("A", "read", "reads {value}", "{record}: 100"),
    ("B", "read", "reads {value}", "{record}: 100"),
    ("A", "write", "writes {changed}", "{record}: 90"),
    ("B", "write", "writes {changed}", "{record}: 80"),
)


def page(
    code: str, slug: str, group: str, level: str = "recommended", severity: str = "error", **more: Any
) -> knowledge.Page:
    fields: dict[str, Any] = {
        "summary": f"what {slug} is",
        "family": "x",
        "scope": "function",
        "since": "0.1",
        "status": "preview",
        "text": f"## What it does\n{slug}\n",
        "path": f"rules/catalog/{slug}.md",
    }
    return knowledge.Page(code=code, slug=slug, group=group, level=level, severity=severity, **{**fields, **more})


PAGES = (
    page("RMW001", "unparsable-file", "own"),
    page("RMW002", "unused-suppression", "own", severity="warning"),
    page("RMW003", "suppression-without-reason", "own", "strict", "warning"),
    page("RMW004", "malformed-suppression", "own", severity="warning"),
    page("RMW009", "internal-error", "own"),
    page("RMW101", "blind-sql-update", "write", status="stable", timeline=TIMELINE),
    page("RMW106", "blind-accessor-write", "write", severity="warning", scope="project"),
    page("RMW107", "check-then-act", "write", severity="warning", trust={"right": 8, "wrong": 2}),
    page("RMW109", "blind-file-rewrite", "write", "strict", "warning"),
    page("RMW110", "torn-write", "write", "strict", "warning", status="stable"),
    page("RMW204", "orm-full-save", "write", "strict", "info", variants={"slow": ("recommended", "warning")}),
    page("RMW301", "unchecked-rowcount", "write"),
    page("RMW401", "stale-retry", "write"),
    page("RMW404", "unbounded-conflict-retry", "retry", severity="warning"),
    page("RMW501", "effect-in-retry-loop", "effect"),
    page("RMW601", "lock-across-network", "lock", severity="warning"),
)
PRECEDENCE = [
    ("stale-retry", "blind-sql-update", "check-then-act"),
    ("check-then-act", "unchecked-rowcount"),
    ("effect-in-retry-loop", "lock-across-network"),
]


def rules() -> knowledge.Knowledge:
    """Rules whose pages no catalogue can change under the tests."""
    return knowledge.Knowledge(None, {item.slug: item for item in PAGES}, list(PRECEDENCE), "fake")  # type: ignore[arg-type]


@pytest.fixture
def fake_rules(monkeypatch: pytest.MonkeyPatch) -> knowledge.Knowledge:
    made = rules()
    monkeypatch.setattr(knowledge, "load", lambda: made)
    return made


def place(line: int, column: int = 5, end: int = 16, path: str = "src/pay.py") -> Place:
    return Place(path, line, column, line, end)


def finding(name: str = "blind-sql-update", line: int = 6, column: int = 5, **more: Any) -> Finding:
    path = more.pop("path", "src/pay.py")
    fields: dict[str, Any] = {
        "function": "transfer",
        "record": "accounts.balance",
        "message": "`accounts.balance` is overwritten from an earlier read",
        "related": (Related("read", place(4, 11, 24, path), "value read here", "row = cur.execute(SELECT)"),),
        "statement": (line, line),
        "write_text": 'cur.execute(UPDATE, (new, "x"))',
        "obj": "accounts",
        "commit": "c1",
    }
    return Finding(name, path, place(line, column, column + 11, path), **{**fields, **more})


def result(*findings: Finding, path: str = "src/pay.py", failures: Sequence[Any] = (), **stats: float) -> FileResult:
    return FileResult(path, tuple(findings), tuple(failures), dict(stats))
