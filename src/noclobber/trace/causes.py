"""Who can have raised it: an exception class of one library does not come out of the calls of another one.

A retry on `SendGridException` does not run again because the row could not be inserted after the mail; one on `Exception` or `DatabaseError` does.
"""
from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Optional

from .frames import Past
from .objects import State
from .values import Value

IO = "*io"
_DATABASES = frozenset(("orm", "sql"))


class Causes:
    """Mixin of Walker."""

    def io_of(self, spec: Any) -> frozenset:
        """The names of what a call to a remote thing may raise beside its conflict: transport errors, of a database's own library where one is asked."""
        entry = getattr(spec, "entry", None)
        if entry is None or entry.kind != "orm" and entry.fields.get("family") not in _DATABASES:
            return frozenset((IO,))
        return frozenset((f"{IO}@{entry.kind}:{entry.id}",))

    def is_from_elsewhere(self, wanted: str, thrown: str) -> bool:
        """Is `wanted` the class of another library than the one that throws `thrown` ('*io@orm:django')?"""
        kind, _, id_ = thrown.partition("@")[2].partition(":")
        entry = self.vocabulary.entry(kind, id_) if id_ else None
        root = root_of(wanted)
        if entry is None or not root:
            return False
        return root not in self.packages(entry) and not (self.is_transient((wanted,)) and root not in self.known_packages())

    def packages(self, entry: Any) -> frozenset:
        """Top-level packages that an entry's names stand in."""
        known = self.shared.setdefault("packages", {})
        if entry.type not in known:
            fields = entry.fields
            names = [name for key in ("types", "base", "conflict_errors", "unique_errors", "errors", "made_by") for name in fields.get(key) or ()]
            names += [text.split()[1] for text in fields.get("conflict") or () if text.startswith("raises ")]
            names += [spec.signature.name for spec in entry.specs if "." in spec.signature.name]
            known[entry.type] = frozenset(filter(None, map(root_of, names)))
        return known[entry.type]

    def known_packages(self) -> frozenset:
        known = self.shared.setdefault("packages", {})
        if "*" not in known:
            known["*"] = frozenset().union(*(self.packages(entry) for kind in ("store", "orm", "effect") for entry in self.vocabulary.entries(kind)))
        return known["*"]

    def undone(self, state: State, wanted: Optional[frozenset], types: Optional[frozenset], cause: Any) -> State:
        """Where an unresolved call would have to raise the own exception class of an effect before it, it was the effect itself: it was not done."""
        cause = cause.cause if type(cause) is Past else cause
        if types is not None or not wanted or not isinstance(cause, tuple) or cause[0] != "call":
            return state
        done = {mark[1] for mark in state.done if type(mark[1]) is int and self.trace.events[mark[1]].kind == "effect"}
        own = {n for n in done if all(self.is_own_error(name, n) for name in wanted) and not any(root_of(name) == cause[2] for name in wanted)}
        if not own:
            return state
        state = state.copy()
        state.done = frozenset(mark for mark in state.done if type(mark[1]) is not int or mark[1] not in own)
        return state

    def is_own_error(self, name: str, n: int) -> bool:
        entry = self.vocabulary.entry(*self.trace.events[n].entry)
        if entry is None or not root_of(name):
            return False
        listed = entry.fields.get("errors")
        return any(fnmatchcase(name, glob) for glob in listed) if listed else root_of(name) in self.packages(entry)

    def package_of(self, receiver: Value) -> str:
        """The top-level package that an unresolved callee or its receiver comes from; '' where it is not known."""
        return root_of(receiver.typ or receiver.dotted or "")


def root_of(name: str) -> str:
    """The top-level package of a dotted name; '' for a bare name, a builtin, a class of the project."""
    head, dot, _ = name.partition(".")
    return head if dot and head.isidentifier() and head != "builtins" and ":" not in name else ""
