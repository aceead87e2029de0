"""The rules: one file each, named by slug; `check(trace)` yields claims. They see events only."""
from __future__ import annotations

from importlib import import_module
from typing import Any, Callable

#: Slugs of the rules that exist, in the order of their codes.
SLUGS = (
    "blind-sql-update", "blind-http-put", "blind-object-put", "split-witness", "blind-document-replace", "blind-key-set", "blind-accessor-write", "blind-file-rewrite", "check-then-act",
    "orm-increment", "orm-derived-save", "orm-check-then-act", "orm-full-save", "check-then-create", "stale-lock", "lock-outside-transaction",
    "unset-as-null",
    "unchecked-rowcount", "unchecked-conditional-result", "unchecked-precondition-status", "version-not-bumped",
    "swallowed-conflict", "misused-validator",
    "stale-retry", "stale-retry-policy", "unconditional-fallback",
    "unbounded-conflict-retry", "retry-without-jitter", "conflict-throttle-conflation", "effect-in-retry-loop",
    "effect-in-replayed-transaction", "per-attempt-idempotency-key", "effect-before-commit", "effect-without-key", "lock-across-network", "unfenced-lock", "unsafe-lock-release",
    "write-tool-without-version", "read-tool-without-version", "whole-document-tool", "write-tool-hides-outcome",
)
#: Rules about the tools of a module: they need the traces of all of them (`Trace.toolbox`).
OF_TOOLS = frozenset(SLUGS[-4:])


def load(slug: str) -> Callable[[Any], Any]:
    """The `check` function of a rule. Raises ModuleNotFoundError for an unknown slug."""
    return import_module(f"noclobber.checks.{slug.replace('-', '_')}").check
