"""Names of accessor pairs: `get_balance` and `set_balance` are two halves of one. Facts about names alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

#: Verbs that read → verbs that write the same.
PAIRS = {
    "get": ("set", "save", "put", "store", "write", "persist", "replace", "update", "edit", "modify"),
    "load": ("save", "store", "dump", "persist", "write", "put", "update", "edit", "modify"),
    "read": ("write", "save", "store", "put", "update"),
    "fetch": ("store", "save", "put", "persist", "write", "update"),
    "find": ("save", "store", "put", "persist", "replace", "update", "edit", "modify"),
    "retrieve": ("store", "save", "put", "persist", "update", "modify"),
}
WRITERS = frozenset(verb for verbs in PAIRS.values() for verb in verbs)
#: Verbs of storage: nobody says `save` or `fetch` of a field in memory.
STORING = frozenset(("load", "read", "fetch", "retrieve", "save", "store", "write", "persist", "put"))
#: Verbs that say what they are about: `update` alone is a dict's, and anything's.
NAMED_ONLY = frozenset(("update", "edit", "modify"))
#: Bare names that are a pair whoever they are called on: nobody loads and saves under a key what he has at hand.
PLAIN = frozenset((getter, setter) for getter in ("load", "fetch", "find", "retrieve") for setter in ("save", "store", "persist"))
#: The two halves of `store[key]`.
OPERATORS = ("__getitem__", "__setitem__")
_VERBS = frozenset(PAIRS) | WRITERS
_CAMEL = re.compile(r"([a-z]+)([A-Z]\w*)$")
#: What a name says of where it comes from, goes to or how it is found, not of what it is about.
_TAIL = re.compile(r"_(?:by|from|to|for|in|into|at|on)(?:_\w+)?$")


def parted(name: str, *, bare: bool = False) -> tuple[str, str] | None:
    """(verb, noun) of a name that reads like half of a pair, else None: `get_balance` → ('get', 'balance'), `aload` → ('load', '').

    bare: `update` alone as well.
    """
    plain = name.lstrip("_")
    if plain.startswith("a") and plain[1:].partition("_")[0] in _VERBS:
        plain = plain[1:]  # aget, aload_state
    elif plain.startswith("async_"):
        plain = plain[6:]
    verb, _, noun = plain.partition("_")
    if verb not in _VERBS:
        camel = _CAMEL.match(plain)
        if camel is None or camel[1] not in _VERBS:
            return None
        verb, noun = camel[1], camel[2].lower()
    if verb in NAMED_ONLY and not noun and not bare:
        return None
    return verb, _TAIL.sub("", "_" + noun)[1:]


def is_pair(getter: str, setter: str, *, loose: bool = False, known: bool = False) -> bool:
    """Are these the names of the two halves of one pair? `loose`: one half may leave out what it is about (`jobs.get_job`, `jobs.save`);
    `known`: they were looked into, one reads a record, the other writes it."""
    if (getter, setter) == OPERATORS:
        return loose
    one, two = parted(getter), parted(setter, bare=known and loose)
    if one is None or two is None or two[0] not in PAIRS.get(one[0], ()):
        return False
    if two[0] in NAMED_ONLY and not known:
        return loose and one[1] == two[1]
    return one[1] == two[1] or loose and not (one[1] and two[1])


def halves(names: Iterable[str], loose: Callable[[], bool]) -> tuple[set[str], set[str]]:
    """(readers, writers) among some names that have their other half among them, whoever they belong to. `loose()`: may one leave out its noun?"""
    readers: list[tuple[str, str, str]] = []
    writers: list[tuple[str, str, str]] = []
    for name in names:
        parts = parted(name)
        if parts is not None:
            (readers if parts[0] in PAIRS else writers).append((name, *parts))
    found: tuple[set[str], set[str]] = set(), set()
    answer: bool | None = None
    for reader, verb, noun in readers:
        for writer, other, about in writers:
            if other not in PAIRS[verb] or noun and about and noun != about:
                continue
            if not (noun and about) and (other in NAMED_ONLY or noun or about or (verb, other) not in PLAIN):
                answer = loose() if answer is None else answer
                if not answer:
                    continue
            found[0].add(reader)
            found[1].add(writer)
    return found
