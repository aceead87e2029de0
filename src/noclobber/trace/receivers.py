"""Receivers of library calls: what a maker makes, the settings and flags that an instance carries."""
from __future__ import annotations

from typing import Any, Optional

from .objects import Obj, State
from .values import NOTHING, Origin, Value

#: Properties of a connection that its cursors and sessions have as well.
_CONNECTION_FLAGS = frozenset(("sqlite", "serializable", "repeatable", "autocommit", "private"))


class Receivers:
    """Mixin of Walker."""

    def op_make(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """A typed receiver. What decides its guards (URL of the engine, isolation level, autocommit) travels as flags."""
        typ = spec.signature.returns or spec.entry.type
        flags: set = set()
        if receiver is not None:
            flags |= receiver.flags | self.set_flags(receiver, state)
        for value in args.all():
            flags |= value.flags & _CONNECTION_FLAGS
            text = self.leading_text(value, state)
            if text.startswith("sqlite"):
                flags.add("sqlite")
            if spec.get("dialect") == "sqlite" and self.is_private_file(value):
                flags.add("private")
        for param, value in bound.by_role.get("isolation", ()):
            flags |= self.isolation_flags(value)
        for param, value in bound.by_role.get("autocommit", ()):
            if value.literal is True:
                flags.add("autocommit")
        names = spec.get("key_names") or {}
        keys = {f"@key:{names.get(param, param)}": value for param, value in bound.by_role.get("key", ())}
        if receiver is not None:
            before = self.receiver_keys(receiver, state)
            # `collection(a).document(b).collection(c)`: a path of keys.
            keys = {**before, **{_below(name, before): value for name, value in keys.items()}}
            keys["@owner"] = self.owner_of(receiver, state)
        given = [self.flat(state, value) for _, value in bound.by_role.get("payload", ())]
        if given:
            keys["@payload"] = given[0]  # a request that is sent later
            keys["@body"] = bound.by_role["payload"][0][1]
        for _, text in bound.by_role.get("sql", ()):
            keys["@statement"] = text  # a prepared statement, run later
        if spec.get("names_are_keys") and self.vocabulary.entries_of_type(typ) == (spec.entry,):
            keys[_below("@key:path", keys)] = self.values.const(getattr(getattr(node, "func", None), "name", spec.signature.last))
        if spec.op == "result" and spec.get("language") and not spec.signature.returns and receiver is not None:
            condition = self.condition_method(receiver, spec.signature.last, args, state)
            if condition is not None:
                return condition
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        objs: frozenset = NOTHING
        if spec.op in ("make", "made_by", "result"):
            if any(entry.fields.get("queue") for entry in self.vocabulary.entries_of_type(typ)):
                keys["@queue"] = self.values.const(True)
            oid = self.object_id(node, "cursor" if spec.get("cursor") else "receiver")
            state.put(oid, Obj("cursor", own, fields=dict(keys)))
            objs = frozenset((oid,))
            flags |= self.keep_client(bound, oid, state)
            if spec.get("unset"):
                state.put(oid, state.heap[oid].but(fields={**state.heap[oid].fields, **dict.fromkeys(spec.get("unset"), self.values.none)}))
        if spec.entry.kind == "orm" or spec.get("dialect"):
            self.session_expired(state)  # a new session remembers nothing
        if typ in ("select", "update", "delete", "insert", "text"):
            return self.start_query(spec, typ, args, node, state, receiver)
        opened = frozenset(("opened",)) if receiver is None or spec.op == "make" else receiver.flags & {"opened"}
        value = self.values.make(frozenset((own,)), same=frozenset((own,)), typ=typ, objs=objs, flags=frozenset(flags) | opened, name="")
        return self.part_of_result(spec, value, args, node, state)

    def is_private_file(self, value: Value) -> bool:
        """A database that nobody else has open: in memory, or a copy made to be changed (`snapshot_path`, `tmp_db`)."""
        text = value.text
        if text is not None:
            return text == ":memory:"
        names = [value.name, *(str(o.n).rsplit(":", 1)[-1] for o in value.origins if o.kind == "param"), *(str(o.path[-1]) for o in value.origins if o.kind == "param" and o.path)]
        return any(name and self.vocabulary.match("private_copy", name) for name in names)

    def leading_text(self, value: Value, state: State) -> str:
        if value.text is not None:
            return value.text
        parts = getattr(value.shape, "parts", None)
        return parts[0] if parts and isinstance(parts[0], str) else ""

    def receiver_keys(self, receiver: Value, state: State) -> dict:
        found: dict = {}
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                found.update({k: v for k, v in obj.fields.items() if k.startswith("@key:")})
        return found

    def owner_of(self, receiver: Value, state: State) -> Value:
        """The client that a receiver was made from: a bucket, a collection, a pipeline are reached through it."""
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and "@owner" in obj.fields:
                return obj.fields["@owner"]
        return receiver

    def setting(self, base: Value, name: str, value: Value, state: State, node: Any) -> bool:
        """`conn.isolation_level = …`, `conn.autocommit = True`: settings of a connection."""
        if not base.typ or not self.vocabulary.known_type(base.typ):
            return False
        if name == "isolation_level":
            for flag in self.isolation_flags(value):
                self.hold_isolation(flag, base, node, state)
            return True
        if name == "autocommit" and value.literal in (True, False):
            for oid in base.objs:
                if oid in state.heap:
                    state.put(oid, state.heap[oid].but(fields={**state.heap[oid].fields, "@autocommit": value}))
        return name in ("autocommit", "row_factory", "text_factory")

    def set_flags(self, receiver: Value, state: State) -> frozenset:
        """What was set on a connection after it was made (`conn.autocommit = True`)."""
        for oid in receiver.objs:
            value = state.heap[oid].fields.get("@autocommit") if oid in state.heap else None
            if value is not None and value.literal is True:
                return frozenset(("autocommit",))
        return NOTHING


def _below(name: str, before: dict) -> str:
    """A key of its own for another level of the same name."""
    while name in before:
        name += "/"
    return name
