"""Fixes: `<slug with underscores>.fix(job)` for each rule that has one gives a Draft or raises Refused with the reason.

A draft is only an offer: `noclobber.repair` applies it to the file's text, analyses the changed function again, and drops it unless the
finding is gone and no other has come. `edits.Sheet` is the way from LibCST's nodes to ranges of the file's own text.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any, Callable

#: Rules with a fix.
SLUGS = (
    "blind-document-replace",
    "blind-http-put",
    "blind-key-set",
    "blind-object-put",
    "blind-sql-update",
    "check-then-act",
    "check-then-create",
    "effect-before-commit",
    "orm-check-then-act",
    "orm-full-save",
    "orm-increment",
    "per-attempt-idempotency-key",
    "retry-without-jitter",
    "stale-retry",
    "unchecked-conditional-result",
    "unchecked-rowcount",
    "unset-as-null",
    "version-not-bumped",
)

#: Rules whose row may be locked when it is read: where the project does so elsewhere, or where nothing else can be offered.
LOCKED = ("orm-check-then-act", "orm-increment")
#: Rules without a fix of their own whose help shows the read with the lock in it.
HELPED = ("orm-derived-save",)


def load(slug: str) -> Callable[[Any], Any]:
    return import_module(f"noclobber.fixes.{slug.replace('-', '_')}").fix
