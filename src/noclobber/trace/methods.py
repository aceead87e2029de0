"""Methods of containers and texts: what they change, and what they give back."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .arguments import Arguments
from .builtins import MODEL_METHODS
from .evaluate import MUTATORS
from .objects import State
from .values import CONST, Lit, Template, Value

_MANAGER_METHODS = frozenset(("add", "remove", "clear", "set", "update", "discard"))
_TAKING = frozenset(("pop", "popitem", "popleft", "remove", "discard", "clear"))
_SURE_MUTATORS = frozenset(("append", "extend", "setdefault", "appendleft"))
_TEXT_METHODS = frozenset(("strip", "lstrip", "rstrip", "lower", "upper", "replace", "encode", "decode", "title", "removeprefix", "removesuffix",
                           "split", "rsplit", "splitlines", "partition", "rpartition", "startswith", "endswith", "zfill", "format_map"))
_FOLDABLE = frozenset(("strip", "lstrip", "rstrip", "lower", "upper", "replace", "removeprefix", "removesuffix"))
_SAME_METHODS = frozenset(("strip", "encode", "decode", "tolist", "as_tuple"))


class Methods:
    """Mixin of Walker."""

    def container_method(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Optional[Value]:
        first = args.positional[0].value if args.positional else None
        dumped = self.dump_method(receiver, name, args, node, state)
        if dumped is not None:
            return dumped
        if name in MODEL_METHODS and not args.positional and len(receiver.objs) == 1:
            obj = state.heap.get(next(iter(receiver.objs)))
            if obj is not None and obj.kind == "instance" and any(not step.startswith(("@", "[")) for step in obj.fields):
                return MODEL_METHODS[name](self, args.after(receiver), node, state)
        if name == "get" and first is not None and len(args.positional) <= 2:
            value = self.item(receiver, first, _receiver_sub(node), state)
            if len(args.positional) == 2:
                return self.defaulted(value, args.positional[1].value)
            return value
        if name in ("setdefault", "pop") and first is not None and self.step_of(first) is not None:
            value = self.item(receiver, first, _receiver_sub(node), state)
            default = args.positional[1].value if len(args.positional) > 1 else None
            receiver = self._with_object(receiver, node, state)
            if name == "setdefault" and default is not None:
                if default.objs and not any(state.heap[o].kind == "part" for o in value.objs if o in state.heap):
                    value = self.values.replace(value, objs=value.objs | default.objs)
                for oid in receiver.objs:
                    obj = state.heap.get(oid)
                    if obj is not None:
                        state.put(oid, obj.but(fields={**obj.fields, self.step_of(first): value}))
            if name == "pop":
                self.taken_out(receiver, self.step_of(first), state)
            self.mutated(receiver, state, node)
            return value
        if name in MUTATORS and (receiver.objs or name in _SURE_MUTATORS or not receiver.typ) and not self.is_relation(receiver, name, args, state):
            return self._mutator(receiver, name, args, node, state)
        if name in ("copy", "deepcopy", "__copy__") and not args.positional:
            return self.copy_container(receiver, node, state)
        if name in ("items", "values", "keys") and not args.positional:
            return self._view(receiver, name, node, state)
        if name == "format" and receiver.text is not None:
            return self._format(receiver, args, state)
        if name == "join" and first is not None and isinstance(receiver.literal, (str, bytes)):
            return self._join(receiver, first, state)
        if name == "as_string" and (receiver.text is not None or type(receiver.shape) is Template):
            return receiver  # a composed statement as text
        if name in _TEXT_METHODS and (receiver.text is not None or type(receiver.shape) is Template):
            if type(receiver.shape) is Template and name in ("strip", "lstrip", "rstrip", "encode", "rstrip"):
                return receiver
            return self._text_method(receiver, name, args)
        if name in _SAME_METHODS and (not args.positional or name in ("encode", "decode")):
            return receiver
        if name in ("hexdigest", "digest") and "digest" in receiver.flags:
            return self.values.replace(self.unresolved(name, receiver, args, node, state, method=True), flags=receiver.flags)
        return None

    def is_relation(self, receiver: Value, name: str, args: Arguments, state: State) -> bool:
        """`order.items.add(x)`, `order.lines.update(n=1)`: methods of a related manager, not a change of a column of the row."""
        if name not in _MANAGER_METHODS or name == "update" and not args.keywords:
            return False
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            owner = state.heap.get(obj.parent[0]) if obj is not None and obj.parent is not None else None
            if owner is None or obj.parent[1].startswith("["):
                continue
            if owner.model is not None or owner.kind == "path" or owner.kind == "instance" and self.orm_of_class(owner.cls) is not None:
                return True
        return False

    def _with_object(self, receiver: Value, node: Any, state: State) -> Value:
        if receiver.objs:
            return receiver
        with_object = self.as_object(receiver, state)
        if with_object is not receiver:
            self.rebind(node.func.value if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else None, receiver, with_object, state)
        return with_object

    def _mutator(self, receiver: Value, name: str, args: Arguments, node: Any, state: State) -> Value:
        base_node = node.func.value if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else None
        if self.swallows:
            self.is_done_about(state)
        added: Optional[Value] = None
        for value in args.all() if name not in _TAKING else ():  # what `pop(key)` is given does not go in
            inner = self.member(value, state) if name in ("extend", "update", "extendleft") and value.objs else value
            added = inner if added is None else self.values.join(added, inner)
        receiver = self._with_object(receiver, node, state)
        placed = False  # every member that goes in has a name of its own
        if name in ("update", "__setitem__"):
            mapping: dict = {}
            placed = name == "update" and not args.open_kwargs and not args.open_star
            for value in args.positional:
                known = self.mapping_items(value.value, state)
                placed &= known is not None and self.rest_of(value.value, state, known) is None
                mapping.update(known or {})
            mapping.update({f"[{k!r}]": a.value for k, a in args.keywords})
            for oid in receiver.objs:
                obj = state.heap.get(oid)
                if obj is not None and mapping:
                    state.put(oid, obj.but(fields={**obj.fields, **mapping}))
        taken = self.member(receiver, state) if name in ("pop", "popitem", "popleft", "setdefault") else None
        self.mutated(receiver, state, node, base_node, added, placed)
        return taken if taken is not None else self.values.none

    def defaulted(self, value: Value, default: Value) -> Value:
        """`d.get(k, default)`: the member or the default; a literal default does not end its identity."""
        if type(default.shape) is Lit:
            return self.values.replace(value, shape=None)
        return self.values.replace(value, origins=(value.origins | default.origins) - {CONST} or value.origins, same=value.same | default.same, objs=value.objs | default.objs)

    def _view(self, receiver: Value, name: str, node: Any, state: State) -> Value:
        member = self.member(receiver, state)
        if name == "keys":
            return self.values.make(frozenset(o.at("[keys]") for o in receiver.origins))
        if name == "items":
            key = self.values.make(frozenset(o.at("[keys]") for o in receiver.origins))
            pair = self.container(node, "tuple", state, {"[0]": key, "[1]": member}, None, "pair")
            return self.container(node, "list", state, {}, pair, "view")
        return self.container(node, "list", state, {}, member, "view")

    def _format(self, receiver: Value, args: Arguments, state: State) -> Value:
        import string

        parts: list = []
        place = 0
        try:
            for literal, field, _, _ in string.Formatter().parse(receiver.text or ""):
                parts.append(literal)
                if field is None:
                    continue
                head = field.split(".")[0].split("[")[0]
                value = args.get(head) if head and not head.isdigit() else None
                if value is None and (not head or head.isdigit()):
                    index = int(head) if head else place
                    place += 0 if head else 1
                    value = args.positional[index].value if index < len(args.positional) else None
                parts.append(value if value is not None and head == field else self.values.derived(value) if value is not None else self.values.unknown)
        except (ValueError, IndexError):
            return self.values.derived(receiver, args.all())
        return self.values.template(parts)

    def _join(self, receiver: Value, first: Value, state: State) -> Value:
        known = self.known_items(first, state) if receiver.text is not None else None
        if known is None or not known:
            return self.values.make(self.deep(state, first) - {CONST} or first.origins)
        parts: list = []
        for i, value in enumerate(known):
            if i:
                parts.append(receiver.text)
            parts.append(value)
        return self.values.template(parts)

    def _text_method(self, receiver: Value, name: str, args: Arguments) -> Value:
        literals = [a.value.literal for a in args.positional]
        text = receiver.text
        if text is not None and all(isinstance(v, (str, int)) for v in literals) and name in _FOLDABLE:
            try:
                return self.values.const(getattr(text, name)(*literals))
            except (TypeError, ValueError):
                pass
        return self.values.derived(receiver, args.all())


def _receiver_sub(node: Any) -> Any:
    """For `x.get(k)`: something whose `.value` is the receiver's expression, so that an object made on the way can be bound to it."""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
        return ir.Sub(node.func.value, ir.Const(None), at=node.at)
    return None
