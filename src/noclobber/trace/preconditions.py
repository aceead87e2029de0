"""The record that a call is about, and the preconditions that it sends."""
from __future__ import annotations

from typing import Any, Optional

from .events import Precondition, Record
from .files import plain_path
from .objects import State
from .values import NOTHING, Lit, Value


class Preconditions:
    """Mixin of Walker."""

    def record_of(self, spec: Any, bound: Any, receiver: Optional[Value], state: State, label: str = "", filtered: Any = ()) -> Record:
        key = []
        names = spec.get("key_names") or {}
        family = spec.get("family") or "key"
        if receiver is not None:
            key += [(name[5:], value) for name, value in self.receiver_keys(receiver, state).items()]
        aliases = spec.get("aliases") or {}
        for param, value in bound.by_role.get("key", ()):
            key += [(aliases.get(column, names.get(column, column)), inner) for column, inner in self.key_parts(param, value, state)]
        key += filtered
        for _, value in bound.by_role.get("entity", ()):
            key += self.entity_parts(spec, value, state) if spec.get("family") == "document" else [("entity", value)]
        if not key and receiver is not None and spec.get("family") == "object":
            key.append(("handle", receiver))  # a handle that came from elsewhere is its own key
        if receiver is not None and family == "file" and not key:
            key.append(("file", receiver))
        elif family == "file":
            key = [("file", value) for _, value in key]
        key += self.query_keys(bound, state)
        table = None
        for _, value in bound.by_role.get("table", ()):
            table = value
        owner = None
        if receiver is not None and family in ("document", "key", "object") and spec.get("receiver_is_key") is not False:
            owner = self.owner_of(receiver, state) if not spec.get("in_transaction") else None
            if not key:
                key.append(("reference", receiver))
        words = " / ".join(self.words(value) for name, value in key if not name.startswith("?")) or label or spec.entry.id
        if family == "file":
            words = plain_path(words)
        return Record(family, spec.get("extends") or spec.entry.id, table, tuple(key), None, words, owner)

    def words(self, value: Value) -> str:
        """How a key is called in a message."""
        if type(value.shape) is Lit:
            return str(value.shape.value)
        parts = getattr(value.shape, "parts", None)
        if parts:
            return "".join(p if isinstance(p, str) else "{" + (self.words(p)) + "}" for p in parts)[:60]
        if value.ref is not None and value.ref[0] == "dotted":
            return value.ref[1].rsplit(".", 1)[-1]
        for origin in value.same:
            if origin.kind in ("param", "read") and origin.path:
                return str(origin.path[-1]).strip("[]'\"")
            if origin.kind == "param":
                return str(origin.n)
        return value.name or "…"

    def given(self, bound: Any, role: str) -> list:
        """Arguments of a role that are really given: not absent, not None, not the signature's default."""
        result = []
        for param, value in bound.by_role.get(role, ()):
            if value.is_none or (type(value.shape) is Lit and value.shape.value in (False, -1)):
                continue
            result.append((param, value))
        return result

    def preconditions_of(self, spec: Any, bound: Any, receiver: Optional[Value], state: State, written: Any = NOTHING, node: Any = None) -> tuple:
        """written: columns that the write sets; a condition on one of them is a condition on its old value."""
        found: list = []
        unguarded = spec.get("exists_values") or ()
        for param, value in bound.by_role.get("precondition", ()):
            if type(value.shape) is Lit and value.literal == 0 and value.literal is not False:
                found.append(Precondition("create", param, value))  # `cas=0`: only if nothing is there
        for param, value in self.given(bound, "precondition"):
            if any(name and name.rpartition(".")[2] in unguarded for name in (value.dotted, value.typ or "")):
                found.append(Precondition("exists", param, value))
            elif spec.get("language") == "dynamodb":
                found += self.expression_preconditions(bound, param, value, set(written), state)
            else:
                found.append(Precondition("exists" if value.text == "*" else "witness", param, value))
        if any(p.kind == "exists" and p.value.dotted for p in found):
            # `etag=…, match_condition=MatchConditions.IfPresent`: the tag is not compared.
            found = [p._replace(kind="exists") if p.kind == "witness" else p for p in found]
        for param, value in self.given(bound, "create_only"):
            found.append(Precondition("create", param, value))
        for param, value in self.given(bound, "exists_only"):
            found.append(Precondition("exists", param, value))
        found = self.object_preconditions(spec, bound, found) + self.header_preconditions(spec, bound, receiver, node, state)
        if spec.get("deferred"):
            wanted = [h.lower() for h in spec.get("precondition_headers", ()) or ()]
            found += [Precondition("witness", name, value) for name, value in self.header_items(self.deferred(receiver, "headers", state), state)
                      if name.lower() in wanted and not value.is_none]
        carried = self.carried_witness(spec, bound, receiver, state)
        if spec.get("always_conditional") and not carried:
            found.append(Precondition("witness", "", self.values.unknown))
        return (*found, *carried)

    def item_witnesses(self, spec: Any, bound: Any, state: State) -> tuple:
        """The conditions that items of a batch carry: `{"index": {"_id": i, "if_seq_no": n}}`."""
        wanted = frozenset(f"[{name!r}]" for name in spec.get("item_version"))
        seen: set = set()
        stack = [value for _, value in bound.by_role.get("payload", ())]
        found: list = []
        while stack and len(seen) < 60:
            for oid in stack.pop().objs - seen:
                seen.add(oid)
                obj = state.heap.get(oid)
                if obj is None:
                    continue
                found += [Precondition("witness", step[2:-2], inner) for step, inner in obj.fields.items() if step in wanted and not inner.is_none]
                stack += [inner for inner in (*obj.fields.values(), obj.elem) if inner is not None]
        return tuple(found)

    def is_witness_step(self, step: str) -> bool:
        name = step.strip("[]'\"()")
        return bool(name) and (self.vocabulary.match("version_column", name) or self.vocabulary.match("version_column", name.lower()))

    def body_witnesses(self, spec: Any, bound: Any, state: State) -> list:
        """`json={…, "version": doc["version"]}`, `params={"rev": rev}`: a witness sent back in body or query."""
        found = []
        sent = [value for role in ("query", "payload") for _, value in bound.by_role.get(role, ())]
        for value in sent:
            for name, inner in self.header_items(value, state):
                if self.is_witness_step(name) and self.came_from_read(inner, state):
                    found.append(Precondition("witness", name, inner, "body"))
        return found

    def came_from_read(self, value: Value, state: State) -> bool:
        """Is it a version that was read, or one more than it (some servers want the next one), or one that was handed in?"""
        if any(o.kind == "param" for o in value.same):
            return True
        return any(o.kind == "read" and any(self.is_witness_step(str(step)) for step in o.path) for o in self.deep(state, value))

    def offers_precondition(self, entry: Any) -> bool:
        """Has the store a write that takes a version? HTTP and SQL may have one: there the project's own use tells."""
        known = self.shared.setdefault("offers", {})
        key = (entry.kind, entry.id)
        if key not in known:
            known[key] = entry.fields.get("family") not in ("http", "sql") and any(
                spec.op in ("write", "delete", "set_write") and any(param.role == "precondition" for param in spec.signature.params) for spec in entry.specs)
        return known[key]
