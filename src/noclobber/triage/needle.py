"""Before the parse: may a file hold a root at all?"""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from unicodedata import normalize

from noclobber.knowledge.pairs import halves
from noclobber.resolve import SourceError, cookie

from .kinds import BIT, COMMAND, GETTER, SETTER, SQL, SQL_KINDS, SQL_MASKS, STATEMENT_KINDS, mask_of
from .names import CALL_PATTERNS, CALLS, names_of
from .roots import needs_of

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_FROM = re.compile(r"(?m)^[ \t]*from[ \t]+[\w.]+(?=[ \t]+import\b)")
#: Turns what is no part of an identifier into blanks.
_NO_WORD = bytes(byte if byte < 128 and (chr(byte).isalnum() or byte == 95) else 32 for byte in range(256))
_PLAIN_CODECS = frozenset({"", "utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252"})
_OF_STATEMENTS = mask_of(STATEMENT_KINDS)
_OF_TEXTS = mask_of(kind for kinds in SQL_KINDS.values() for kind in kinds)
#: Kinds that a call's name brings by itself.
_OF_NAMES = mask_of({*CALLS.values(), *(kind for _, kinds in CALL_PATTERNS for kind in kinds)}) & ~_OF_STATEMENTS


def has_needle(data: bytes, vocabulary: Any, pages: Iterable[Any] = ()) -> bool:
    """May a scope of this file be a root for one of `pages` (without pages: have a kind that calls or SQL text make)?

    False: the outline is not needed. Words count wherever they stand, kinds that statements alone can make are taken
    for granted. A file that imports project modules whose scopes have kinds must be looked at all the same; the caller
    knows that.
    """
    needs = needs_of(pages)
    if any(not need & ~_OF_STATEMENTS for need in needs):
        return True
    try:
        codec = cookie(data)[0]
        if codec not in _PLAIN_CODECS or b"\\" in data and _escaped(data):
            return True
        text = data.decode(codec or "utf-8")
    except (SourceError, UnicodeError):
        return True
    if not text.isascii():
        text = normalize("NFKC", text)  # as identifiers are: a full-width letter is the plain one
    known = names_of(vocabulary)
    words = frozenset(_IDENTIFIER.findall(text) if not data.isascii() else data.translate(_NO_WORD).decode().split())
    called: Iterable[str] = words
    calls, mask = known.everything, 0
    if known.reach is not None:
        named = known.reach.receivers(words)
        if named:  # `from django.db import models` names no receiver
            named -= set(_IDENTIFIER.findall(_FROM.sub("", text)))
        calls = known.reach.calls(words, words - named if named else words, words, None, text)
        if known.reach.versioned(text):
            mask |= BIT["versioned"]
        if needs and not any(need & _OF_NAMES for need in needs):
            called = known.reach.names(words)
    table, ask = known.table(calls)
    if called is words:
        called = words | {word + "=" for word in known.keywords & words}
    for word in called:
        found = table.get(word)
        mask |= ask(word) if found is None else found
    for word in words - known.quiet:
        mask |= known.notable(word)
    if known.commands & words:
        mask |= COMMAND
    if not needs or any(need & GETTER for need in needs):
        getters, _ = halves(words, lambda: any(map(known.keeps_records, words)))
        mask |= GETTER | SETTER if getters else 0
    if needs:
        mask |= _OF_STATEMENTS
        if any(not need & ~mask for need in needs):
            return True
        if all(need & ~(mask | _OF_TEXTS) for need in needs):
            return False
    for match in SQL.finditer(text):
        mask |= SQL_MASKS[match.lastgroup]
    return any(not need & ~mask for need in needs) if needs else mask != 0


def _escaped(data: bytes) -> bool:
    """Does a string spell letters by escapes, or go on in the next line inside a word?"""
    marks = (b"\\x", b"\\u", b"\\U", b"\\N", b"\\\n", b"\\\r")
    return any(mark in data for mark in marks) or bool(re.search(rb"\\[0-7]", data))
