"""Several writes in one call: lists of operations, each a write of its own (`bulk_write`, `transact_write_items`, a batch of tuples)."""
from __future__ import annotations

from typing import Any, Iterator, Optional

from .arguments import Argument, Arguments
from .objects import Obj, State
from .values import Value

MAX_OPERATIONS = 20


class Batches:
    """Mixin of Walker."""

    def op_batch(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """Each operation is what the call that `operations` names would do by itself."""
        results = []
        shared = bound.by_role.get("txn", ())  # the session that all of them belong to
        for _, given in bound.by_role.get("operations", ()):
            for place, (name, inner) in enumerate(self.operations_in(given, spec, state)):
                if place >= MAX_OPERATIONS:
                    break
                inner.keywords = [*inner.keywords, *((param, Argument(value, param)) for param, value in shared)]
                result = self._operation(spec, name, inner, receiver, node, state, doubt, place)
                if result is not None:
                    results.append(result)
        if not results:
            return None
        value = results[0]
        for other in results[1:]:
            value = self.values.join(value, other)
        return value

    def _operation(self, spec: Any, name: str, args: Any, receiver: Optional[Value], node: Any, state: State, doubt: str, place: int) -> Optional[Value]:
        call = (spec.get("operations") or {}).get(name)
        for other in spec.entry.specs:
            if other.signature.last != call:
                continue
            bound = self.fit(other, args)
            if bound is None:
                continue
            before, self.member_of = self.member_of, place
            try:
                return self.op_write(other, bound, receiver, args, node, state, doubt)
            finally:
                self.member_of = before
        return None

    def operations_in(self, given: Value, spec: Any, state: State) -> Iterator[tuple[str, Any]]:
        """(word of `operations`, Arguments) of each operation in a list: `UpdateOne(filter, update)`, `{"Put": {…}}`, `("replace", (id, body), {…})`,
        `{"_op_type": "update", "_id": …}`."""
        known = self.known_items(given, state)
        members = known if known is not None else [self.member(given, state)] if given.objs else []
        words = spec.get("operations") or {}
        for member in members:
            for oid in sorted(member.objs):
                obj = state.heap.get(oid)
                if obj is None:
                    continue
                if obj.kind == "new" and isinstance(obj.cls, str) and obj.cls.rpartition(".")[2] in words:
                    yield obj.cls.rpartition(".")[2], _as_given(obj)
                elif obj.kind == "dict" and spec.get("operation_key"):
                    word = obj.fields.get(f"[{spec.get('operation_key')!r}]")
                    name = next(iter(words), "") if word is None else word.text
                    if name in words:
                        yield name, self._named(self.values.make(member.origins, objs=frozenset((oid,))), state)
                elif obj.kind == "dict":
                    for step, inner in sorted(obj.fields.items()):
                        if step[2:-2] in words:
                            yield step[2:-2], self._named(inner, state)
                elif obj.kind in ("tuple", "list"):
                    items = self.known_items(self.values.make(member.origins, objs=frozenset((oid,))), state)
                    if items and items[0].text in words:
                        yield items[0].text, self._in_order(items[1:], state)

    def _named(self, mapping: Value, state: State) -> Any:
        args = Arguments()
        found = self.entries(mapping, state)
        if found is None:
            args.open_kwargs = True
        else:
            args.keywords = [(name, Argument(value, name)) for name, value in found[0].items()]
            args.open_kwargs = found[1] is not None
        return args

    def _in_order(self, items: list, state: State) -> Any:
        """`(id, body)` and keywords, or one argument by itself."""
        args = self._named(items[1], state) if len(items) > 1 else self._named(self.values.none, state)
        args.open_kwargs = False
        given = self.known_items(items[0], state) if items and any(state.heap[oid].kind in ("tuple", "list") for oid in items[0].objs if oid in state.heap) else items[:1]
        args.positional = [Argument(value) for value in given or ()]
        return args


def _as_given(obj: Obj) -> Any:
    """The arguments that an object was made with."""
    args = Arguments()
    args.positional = [Argument(obj.fields[name]) for name in sorted(name for name in obj.fields if name.startswith("@") and name[1:].isdigit())]
    args.keywords = [(name, Argument(value, name)) for name, value in obj.fields.items() if not name.startswith("@")]
    return args
