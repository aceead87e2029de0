"""Accessor pairs: calls by whose names one half of a pair reads a record and the other writes it (`get_balance`, `set_balance`)."""
from __future__ import annotations

import sys
from typing import Any

from noclobber.knowledge.pairs import WRITERS, parted

from . import ir
from .events import Accessor
from .objects import State
from .values import Origin, Value

_MAPPINGS = frozenset(("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "WeakValueDictionary", "ChainMap", "UserDict"))


class Accessors:
    """Mixin of Walker."""

    def note_accessor(self, name: str, own: Origin, receiver: Value, args: Any, node: Any, state: State, method: bool) -> bool:
        """An unresolved call with a name of a pair. What it is worth is decided where both halves are known (`questions.accessors`). Returns whether it reads."""
        parts = parted(name)
        if parts is None or not isinstance(node, ir.Call) or self.vocabulary.match("locking_reader", name):
            return False
        owner = receiver.dotted
        if owner:
            if owner.partition(".")[0] in sys.stdlib_module_names:
                return False
            if owner.rpartition(".")[2] == name:
                owner = owner.rpartition(".")[0]
        elif not method or self.is_logger(receiver):
            return False
        given = tuple(("", a.value) for a in args.positional) + tuple((k, a.value) for k, a in args.keywords)
        self.event(
            Accessor, node, state, name=name, writes=parts[0] in WRITERS, owner=owner or receiver, given=given, origin=own,
            parts=tuple(self.deep(state, value) for _, value in given), typ=(receiver.typ or "").rpartition(".")[2].rpartition(":")[2] if not owner else "",
        )
        asked = parts != ("get", "") or any(not value.is_none for _, value in given)  # a context variable's `get(None)` asks for nothing
        return parts[0] not in WRITERS and asked

    def keeps_records(self, receiver: Value, state: State) -> bool:
        """Is it something whose `get` asks a store, by its name or class? A dict, and what was loaded, is none."""
        if receiver.query is not None or any(o.kind in ("read", "outcome") for o in receiver.origins):
            return False
        if any(state.heap[oid].kind != "path" or state.heap[oid].fields for oid in receiver.objs if oid in state.heap):
            return False
        words = (receiver.name.strip("_"), (receiver.typ or "").rpartition(".")[2].rpartition(":")[2])
        if any(word and self.vocabulary.match("memory_receiver", word) for word in words) or words[1] in _MAPPINGS:
            return False
        return any(word and self.vocabulary.match("store_receiver", word) for word in words)

    @staticmethod
    def is_stub(definition: Any) -> bool:
        """A method of a protocol or an abstract base: what it does stands elsewhere."""
        body = [s for s in definition.body if not (isinstance(s, ir.Expr) and isinstance(s.value, ir.Const))]
        if not body:
            return True
        last = body[0]
        if len(body) != 1:
            return False
        if isinstance(last, ir.Pass):
            return True
        if isinstance(last, ir.Raise):
            raised = last.exc.func if isinstance(last.exc, ir.Call) else last.exc
            return isinstance(raised, ir.Name) and raised.id == "NotImplementedError"
        return False
