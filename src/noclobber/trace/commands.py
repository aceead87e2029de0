"""Commands that a program runs: what their words do to a shared record (`git push`)."""
from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Optional

from .events import Precondition, Read, Record
from .objects import State
from .values import Origin, Value


class Commands:
    """Mixin of Walker."""

    def command_words(self, value: Value, rest: list, state: State) -> Optional[list]:
        """The words of a command, unknown ones as None; None: it was not written out here."""
        if value.text is not None and not rest:
            return value.text.split()
        items = self.known_items(value, state) if value.objs else [value] if rest or value.shape is not None else None
        return [item.text for item in (*items, *rest)] if items is not None else None

    def run_command(self, spec: Any, bound: Any, args: Any, node: Any, state: State) -> Optional[Value]:
        """A command by its words: `commands` says what they do, one of `forced` that it does so whatever the record holds by now."""
        given = [value for _, value in bound.by_role.get("command", ())]
        words = self.command_words(given[0], given[1:], state) if given else None
        if not words or (words[0] or "").rpartition("/")[2] != spec.get("program"):
            return None
        roles = spec.get("commands") or {}
        place = next((i for i, word in enumerate(words) if word in roles), None)
        if place is None:
            return None
        options = [word for word in words[place + 1:] if word is None or word.startswith(("-", "+"))]
        targets = [word for word in words[place + 1:] if word is not None and not word.startswith("-")]
        origin = Origin("global", f"{spec.get('program')} {spec.entry.id}")
        if roles[words[place]] == "read":
            record = Record("remote", spec.entry.id, None, (), None, spec.entry.id)
            event = self.event(Read, node, state, record=record, columns=None, lock=None, many=False, cached=False, spec=spec)
            self.throw_io(state, node)
            self.worktree = Origin("read", event.n)
            return None
        forced = any(word is not None and any(fnmatchcase(word, glob) for glob in spec.get("forced") or ()) for word in options)
        if None in options and not forced:
            return None  # an option that is not known may be one that forces
        key = tuple((f"target{i}", self.values.const(word.lstrip("+"))) for i, word in enumerate(targets))
        payload = self.values.make(frozenset((origin, self.worktree) if self.worktree is not None else (origin,)))
        raising = not spec.signature.param("raises") or bool(self.given(bound, "raises"))
        return self.write(
            node, state, record=Record("remote", spec.entry.id, None, key, None, " ".join(targets) or spec.entry.id), verb="replace", payload=payload,
            preconditions=() if forced else (Precondition("witness", "", self.values.unknown),), spec=spec,
            conflict=spec.get("conflict") if raising else [".returncode != 0"],
        )
