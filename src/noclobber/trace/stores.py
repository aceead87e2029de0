"""What library calls mean: the vocabulary's specs turned into events. Stores, effects, locks, transactions, retry policies.

No library is named here: everything comes from `rules/vocabulary/`. SQL text is in `sqlrun`, ORMs and statement builders in `orm`.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .events import Begin, Check, Commit, Effect, Lock, LockEvent, Precondition, Read, Record, Suspend, Write
from .objects import Obj, State, join_states
from .orm import Orm
from .sqlrun import SqlRunner
from .values import CONST, NOTHING, UNKNOWN, Lit, Origin, Value

#: What a call to a remote thing may raise beside its conflict: transport errors.
IO_ERRORS = frozenset(("*io",))


class Policy:
    """A retry policy of a decorator or of `for attempt in …`. on: exception names it repeats on, None = any."""

    __slots__ = ("spec", "node", "label", "key", "on", "bound")

    def __init__(self, spec: Any, node: Any, label: str, key: Any, on: Optional[frozenset], bound: Any = None) -> None:
        self.spec, self.node, self.label, self.key, self.on, self.bound = spec, node, label, key, on, bound

    def repeats(self, walker: Any, types: Optional[frozenset]) -> bool:
        if self.on is None:
            return True
        if types is None:
            # An unresolved call may raise anything, but hardly the conflict class of this project.
            return any(walker.is_general_error(name) for name in self.on)
        return walker.catches(self.on, types) != "no"


class Stores(SqlRunner, Orm):
    """Mixin of Walker."""

    # --- dispatch --------------------------------------------------------------------------------------------------------------
    def fit(self, spec: Any, args: Any) -> Any:
        bound = spec.bind(
            [a.value for a in args.positional], [(k, a.value) for k, a in args.keywords],
            open_star=args.open_star, open_kwargs=args.open_kwargs, literal=_literal,
        )
        if bound is None:
            return None
        for condition in spec.get("unless", ()) or ():
            name, _, what = condition.partition(" ")
            if what == "missing" and name not in bound.by_name:
                return None
        return bound

    def library_function(self, dotted: str, args: Any, node: Any, state: State) -> Optional[Value]:
        return self.apply(self.vocabulary.functions(dotted), None, dotted, args, node, state)

    def library_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        if receiver.ref is not None and receiver.ref[0] == "transaction":
            return None
        done = self.instance_method(receiver, name, args, node, state)
        if done is not None:
            return done
        specs: tuple = ()
        doubt = ""
        for typ in self.library_types(receiver):
            if typ.startswith("path:"):
                _, base, path = typ.split(":", 2)
                specs = self.vocabulary.methods(base, f"{path}.{name}")
            else:
                specs = self.vocabulary.methods(typ, name)
            if specs:
                break
        if not specs:
            done = self.cursor_method(receiver, name, args, node, state)
            if done is not None:
                return done
        if not specs and not self.is_own_class(receiver):
            specs = self.vocabulary.methods("_", name)
            if specs and all(self.fit(spec, args) is None for spec in specs):
                specs = ()
        if not specs and not self.is_own_class(receiver) and not self.is_plain(receiver, state):
            specs = self.vocabulary.by_name(receiver.name, name) if receiver.name else ()
            if any(state.heap[oid].kind in ("new", "instance") for oid in receiver.objs if oid in state.heap):
                specs = tuple(spec for spec in specs if spec.entry.kind != "effect")  # `ExponentialBackoff().delay()` is no task
            doubt = "name-only"
        if not specs:
            done = self.sql_by_text(receiver, name, args, node, state)
            if done is not None:
                return done
            return self.response_method(receiver, name, args, node, state)
        return self.apply(specs, receiver, name, args, node, state, doubt)

    def library_types(self, receiver: Value) -> list:
        """Types under which the vocabulary may know the receiver: its own, and the library bases of a class of the project."""
        typ = receiver.typ
        if not typ:
            return []
        if typ.startswith("class:"):
            cls = self.ask.klass_of(typ)
            return list(cls.library_bases()) if cls is not None else []
        return [typ]

    def is_own_class(self, receiver: Value) -> bool:
        return bool(receiver.typ) and receiver.typ.startswith("class:")

    def is_plain(self, receiver: Value, state: State) -> bool:
        """A container, text or object made here: no store, whatever its name."""
        if receiver.shape is not None:
            return True
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and (obj.kind in ("dict", "list", "tuple", "row", "part") and obj.kind != "path"):
                return True
        return any(o.kind in ("read", "outcome") for o in receiver.same)

    def apply(self, specs: Any, receiver: Optional[Value], name: str, args: Any, node: Any, state: State, doubt: str = "") -> Optional[Value]:
        """The first spec that fits decides the result; effects are noted beside it."""
        effect = None
        for spec in specs:
            if doubt and spec.entry.kind == "lock":
                continue
            bound = self.fit(spec, args)
            if bound is None:
                continue
            if spec.entry.fields.get("last_writer_wins"):
                return None
            handler = _OPS.get((spec.entry.kind, spec.op)) or _OPS.get(("*", spec.op))
            if handler is None:
                continue
            if spec.entry.kind == "effect" and spec.op == "call":
                effect = effect or (handler, spec, bound)
                continue
            result = handler(self, spec, bound, receiver, args, node, state, doubt)
            if result is not None:
                return result
        if effect is not None:
            handler, spec, bound = effect
            return handler(self, spec, bound, receiver, args, node, state, doubt)
        return None

    # --- receivers -----------------------------------------------------------------------------------------------------------------
    def op_make(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """A typed receiver. What decides its guards (URL of the engine, isolation level, autocommit) travels as flags."""
        typ = spec.signature.returns or spec.entry.type
        flags: set = set()
        if receiver is not None:
            flags |= receiver.flags
        for value in args.all():
            flags |= value.flags & _CONNECTION_FLAGS
            text = self.leading_text(value, state)
            if text.startswith("sqlite"):
                flags.add("sqlite")
        for param, value in bound.by_role.get("isolation", ()):
            flags |= self.isolation_flags(value)
        for param, value in bound.by_role.get("autocommit", ()):
            if value.literal is True:
                flags.add("autocommit")
        keys = {f"@key:{param}": value for param, value in bound.by_role.get("key", ())}
        if receiver is not None:
            keys = {**self.receiver_keys(receiver, state), **keys}
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        objs: frozenset = NOTHING
        if spec.op in ("make", "made_by", "result"):
            oid = self.object_id(node, "cursor" if spec.get("cursor") else "receiver")
            state.put(oid, Obj("cursor", own, fields=dict(keys)))
            objs = frozenset((oid,))
        if spec.entry.kind == "orm":
            self.session_expired(state)  # a new session remembers nothing
        if typ in ("select", "update", "delete", "insert", "text"):
            return self.start_query(spec, typ, args, node, state, receiver)
        opened = frozenset(("opened",)) if receiver is None or spec.op == "make" else receiver.flags & {"opened"}
        return self.values.make(frozenset((own,)), same=frozenset((own,)), typ=typ, objs=objs, flags=frozenset(flags) | opened, name="")

    def leading_text(self, value: Value, state: State) -> str:
        if value.text is not None:
            return value.text
        parts = getattr(value.shape, "parts", None)
        return parts[0] if parts and isinstance(parts[0], str) else ""

    def isolation_flags(self, value: Value) -> set:
        text = (value.text or value.dotted or value.name or "").upper().replace("_", " ")
        if "SERIALIZABLE" in text or "SNAPSHOT" in text:
            return {"serializable"}
        if "REPEATABLE" in text:
            return {"repeatable"}
        if "AUTOCOMMIT" in text:
            return {"autocommit"}
        return set()

    def receiver_keys(self, receiver: Value, state: State) -> dict:
        found: dict = {}
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                found.update({k: v for k, v in obj.fields.items() if k.startswith("@key:")})
        return found

    def setting(self, base: Value, name: str, value: Value, state: State, node: Any) -> bool:
        """`conn.isolation_level = …`, `conn.autocommit = True`: settings of a connection."""
        if not base.typ or not self.vocabulary.known_type(base.typ):
            return False
        if name == "isolation_level":
            for flag in self.isolation_flags(value):
                self.hold_isolation(flag, base, node, state)
            return True
        return name in ("autocommit", "row_factory", "text_factory")

    # --- records, keys, preconditions -----------------------------------------------------------------------------------------------
    def record_of(self, spec: Any, bound: Any, receiver: Optional[Value], state: State, label: str = "") -> Record:
        key = []
        if receiver is not None:
            key += [(name[5:], value) for name, value in self.receiver_keys(receiver, state).items()]
        for param, value in bound.by_role.get("key", ()):
            key.append((param, value))
        for _, value in bound.by_role.get("entity", ()):
            key.append(("entity", value))
        table = None
        for _, value in bound.by_role.get("table", ()):
            table = value
        family = spec.get("family") or "key"
        words = " / ".join(self.words(value) for _, value in key) or label or spec.entry.id
        return Record(family, spec.get("extends") or spec.entry.id, table, tuple(key), None, words)

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

    def preconditions_of(self, spec: Any, bound: Any, receiver: Optional[Value], state: State) -> tuple:
        found: list = []
        for param, value in self.given(bound, "precondition"):
            found.append(Precondition("exists" if value.text == "*" else "witness", param, value))
        for param, value in self.given(bound, "create_only"):
            found.append(Precondition("create", param, value))
        for param, value in self.given(bound, "exists_only"):
            found.append(Precondition("exists", param, value))
        wanted = [h.lower() for h in spec.get("precondition_headers", ()) or ()]
        creating = [h.lower() for h in spec.get("create_headers", ()) or ()]
        if wanted:
            for _, headers in bound.by_role.get("headers", ()):
                for name, value in self.header_items(headers, state):
                    if name.lower() in wanted and not value.is_none:
                        found.append(Precondition("exists" if value.text == "*" else "witness", name, value))
                    elif name.lower() in creating and not value.is_none:
                        found.append(Precondition("create", name, value))
                if self.header_unknown(headers, state):
                    found.append(Precondition("open", "headers", headers))
            found += self.body_witnesses(spec, bound, state)
        if spec.get("always_conditional"):
            found.append(Precondition("witness", "", self.values.unknown))
        return tuple(found)

    def header_items(self, headers: Value, state: State) -> list:
        items = []
        for oid in headers.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                items += [(step[2:-2], value) for step, value in obj.fields.items() if step.startswith(("['", '["'))]
        return items

    def header_unknown(self, headers: Value, state: State) -> bool:
        """Headers that a caller or an unresolved helper filled: a precondition may be among them only where a read's tag flows in."""
        if headers.is_none:
            return False
        tags = [o for o in self.deep(state, headers) if o.kind == "read" and any(self.is_witness_step(step) for step in o.path)]
        known = {o for _, value in self.header_items(headers, state) for o in value.origins}
        return any(o not in known for o in tags)

    def is_witness_step(self, step: str) -> bool:
        name = step.strip("[]'\"()")
        return bool(name) and (self.vocabulary.match("version_column", name) or self.vocabulary.match("version_column", name.lower()))

    def body_witnesses(self, spec: Any, bound: Any, state: State) -> list:
        """`json={…, "version": doc["version"]}`, `params={"rev": rev}`: a witness sent back in body or query."""
        found = []
        sent = [value for name, value in bound.by_name.items() if name in ("params", "json", "data")]
        sent += [value for _, value in bound.by_role.get("payload", ()) if value not in sent]
        sent += [value for name, value in bound.extra if name == "params"]
        for value in sent:
            for name, inner in self.header_items(value, state):
                if self.is_witness_step(name) and self.came_from_read(inner, state):
                    found.append(Precondition("witness", name, inner))
        return found

    def came_from_read(self, value: Value, state: State) -> bool:
        """Is it a version that was read, or one more than it (some servers want the next one), or one that was handed in?"""
        if any(o.kind == "param" for o in value.same):
            return True
        return any(o.kind == "read" and any(self.is_witness_step(str(step)) for step in o.path) for o in self.deep(state, value))

    # --- stores ---------------------------------------------------------------------------------------------------------------------
    def op_read(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        if self.is_request(spec):
            role = self.role_of_method(spec, bound)
            if role is not None and role != "read":
                return self.by_method_role(role, spec, bound, receiver, args, node, state, doubt)
            if role is None and spec.get("method_roles") and bound.first("method") is not None:
                return None
        record = self.record_of(spec, bound, receiver, state)
        event = self.event(Read, node, state, record=record, columns=None, lock=None, many=spec.get("rows") == "many", cached=False, spec=spec)
        self.throw_io(state, node)
        origin = Origin("read", event.n)
        oid = self.object_id(node, "read")
        state.put(oid, Obj("path", origin, label=record.label, read=event.n))
        if spec.get("value") == "file":
            return self.values.origin(origin, objs=frozenset((oid,)))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=spec.signature.returns or None)

    def is_request(self, spec: Any) -> bool:
        return bool(spec.get("method_roles"))

    def role_of_method(self, spec: Any, bound: Any) -> Optional[str]:
        method = bound.first("method")
        if method is None or method.text is None:
            return None
        return (spec.get("method_roles") or {}).get(method.text.upper())

    def by_method_role(self, role: str, spec: Any, bound: Any, receiver: Any, args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        if role in ("write", "create", "delete"):
            return self.op_write(spec, bound, receiver, args, node, state, doubt, verb="delete" if role == "delete" else "replace")
        if role == "effect":
            return self.op_effect(spec, bound, receiver, args, node, state, doubt)
        return None

    def op_write(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str, verb: str = "") -> Optional[Value]:
        if not verb and self.is_request(spec):
            role = self.role_of_method(spec, bound)
            if role is None or role == "read":
                return self.op_read(spec, bound, receiver, args, node, state, doubt) if role == "read" else None
            if role != "write":
                return self.by_method_role(role, spec, bound, receiver, args, node, state, doubt)
        verb = verb or {"create": "create", "delete": "delete", "atomic": "atomic", "append": "append"}.get(spec.op, "replace")
        payload = self.payload_of(bound, state)
        record = self.record_of(spec, bound, receiver, state)
        return self.write(
            node, state, record=record, verb=verb, payload=payload, preconditions=self.preconditions_of(spec, bound, receiver, state),
            spec=spec, doubts=frozenset((doubt,)) if doubt else NOTHING,
        )

    def payload_of(self, bound: Any, state: State) -> Value:
        given = [self.flat(state, v) for role in ("payload", "fields", "operators", "entity") for _, v in bound.by_role.get(role, ())]
        return self.values.derived(given) if len(given) != 1 else given[0]

    def write(self, node: Any, state: State, *, record: Record, verb: str, payload: Value, preconditions: tuple = (), spec: Any = None,
              columns: Any = None, changes: frozenset = NOTHING, base: frozenset = NOTHING, full: bool = False, unit: bool = False, doubts: frozenset = NOTHING,
              outcome: str = "", conflict: Any = None, extra: Any = 0, open_where: bool = False, self_columns: frozenset = NOTHING,
              result_typ: Optional[str] = None, text: str = "") -> Value:
        """Note a write; its result carries the outcome. A refusal that raises leaves from here."""
        shows = list(conflict if conflict is not None else (spec.get("conflict", ()) if spec is not None else ()) or ())
        outcome = outcome or _outcome_kind(shows, spec)
        raised = frozenset(name for show in shows if show.startswith("raises ") for name in (show[7:].split("[")[0].strip(),))
        event = self.event(
            Write, node, state, extra, record=record, verb=verb, payload=payload, columns=columns, preconditions=preconditions, outcome=outcome,
            conflict=raised, changes=changes, full=full, entry=(spec.entry.kind, spec.entry.id) if spec is not None else ("", ""), unit=unit, base=base,
            doubts=doubts, commit=None, open_where=open_where, self_columns=self_columns, text=text, conflict_handled=False, help=(spec.get("help") or "") if spec is not None else "",
        )
        event.preconditions = preconditions
        n = event.n
        conditional = event.conditional
        state.won -= {n}
        state.lost -= {n}
        if not unit:
            # Numbers of this unit's writes of an earlier round say nothing of this one.
            state.done |= {(region.id, ("write", n)) for region in self.regions}
        if self.collectors:
            if conditional and raised:
                refused = state.copy()
                refused.lost |= {n}
                self.throw(refused, raised, ("write", n))
            self.throw(state, IO_ERRORS, ("write", n))
        if conditional and outcome in ("count", "row", "result"):
            state.unchecked |= {n}
        if raised and outcome == "raises":
            state.won |= {n}
        origin = Origin("outcome", n)
        oid = self.object_id(node, "outcome", extra)
        state.put(oid, Obj("path", origin, label=record.label))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=result_typ)

    def throw_io(self, state: State, node: Any) -> None:
        if self.collectors:
            self.throw(state, IO_ERRORS, ("io", id(node)))

    def op_check(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`raise_for_status()`: looks at the outcome; goes on only where it was accepted."""
        if receiver is None:
            return None
        self.check_outcome(receiver, state, node, raising=True)
        return receiver if spec.signature.returns in ("", "self") else self.values.none

    def check_outcome(self, value: Value, state: State, node: Any, *, raising: bool) -> None:
        numbers = [o.n for o in value.origins if o.kind == "outcome"]
        if raising and self.collectors:
            refused = state.copy()
            own = frozenset(n for n in numbers if self.trace.events[n].kind == "write")
            refused.lost |= own
            refused.done = frozenset(d for d in refused.done if d[1] not in numbers)
            self.throw(refused, frozenset(("HTTPError", "HTTPStatusError", "ClientResponseError")), ("check", tuple(numbers)))
        for n in numbers:
            self.note_check(n, state, node, "raise_for_status")
            if self.trace.events[n].kind == "write":
                state.won |= {n}
                state.lost -= {n}

    def note_check(self, n: int, state: State, node: Any, how: str) -> None:
        state.unchecked -= {n}
        if node is not None:
            self.event(Check, node, state, n, how, write=n, how=how)

    def looked_at(self, state: State, value: Value, how: str) -> None:
        """A test, comparison or return saw this value: whatever outcome it carries has been looked at."""
        if not state.unchecked:
            return
        seen = frozenset(o.n for o in value.origins if o.kind == "outcome")
        if seen:
            state.unchecked -= seen


    def escapes(self, state: State, value: Value, how: str) -> None:
        for part in self.parts(state, value) if value.objs else (value,):
            self.looked_at(state, part, how)

    def response_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        """A method of what a read or write gave back, without arguments: a part of it (`resp.json()`, `body.read()`)."""
        single = [o for o in receiver.same if o.kind in ("read", "outcome")]
        if len(single) != 1 or args.positional or receiver.shape is not None:
            return None
        if any(state.heap[oid].model is not None for oid in receiver.objs if oid in state.heap) or name in _CONTAINER_METHODS:
            return None
        step = f"{name}()"
        origin = single[0].at(step)
        oid = self.object_id_of(("path", origin))
        if oid not in state.heap:
            state.put(oid, Obj("path", origin, label=receiver.name, read=origin.n if origin.kind == "read" else None))
        return self.values.origin(origin, objs=frozenset((oid,)), name=receiver.name)

    def store_subscript(self, base: Value, index: Value, node: Any, state: State) -> Optional[Value]:
        return None

    def store_subscript_write(self, base: Value, index: Value, value: Value, state: State, node: Any) -> bool:
        return False

    # --- transactions ---------------------------------------------------------------------------------------------------------------
    def op_begin(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`conn.begin()`, `session.begin()`: open from here on; as a context manager it is closed at the end of the block."""
        typ = spec.signature.returns or (receiver.typ if receiver is not None else None)
        if spec.entry.kind == "orm" and spec.signature.returns:
            self.session_expired(state)
        flags = receiver.flags if receiver is not None else NOTHING
        for value in args.all():
            flags |= frozenset(self.isolation_flags(value))
        isolation = bound.by_role.get("isolation", ())
        if isolation:
            # `conn.set_isolation_level(SERIALIZABLE)`: a setting of the connection, no transaction of its own.
            for _, value in isolation:
                for flag in self.isolation_flags(value):
                    self.hold_isolation(flag, receiver, node, state)
            return self.values.none
        token = self.open_transaction(spec, flags, node, state)
        self.run_hooks("begin", receiver, node, state)
        return self.values.make(receiver.origins if receiver is not None else NOTHING, typ=typ, ref=("transaction", spec, token),
                                flags=flags, objs=receiver.objs if receiver is not None else NOTHING)

    def open_transaction(self, spec: Any, flags: frozenset, node: Any, state: State, isolation: str = "") -> Lock:
        label = spec.signature.last + "()" if spec is not None else "BEGIN"
        event = self.event(Begin, node, state, label=label)
        kind = "atomic"
        level = (isolation or (spec.get("isolation") if spec is not None else "") or "").lower()
        if "serializable" in flags or "serializable" in level:
            kind = "serializable"
        token = Lock(kind, event.n, "block")
        state.held |= {token}
        return token

    def run_hooks(self, event: str, receiver: Optional[Value], node: Any, state: State) -> None:
        """Functions of the module that a library runs on such an event (`@listens_for(engine, "begin")`)."""
        from .builtins import _arguments
        from .calls import Dead

        for scope in self.ask.hooks(event):
            if scope.key not in self.active:
                try:
                    self.call_scope(scope, _arguments(receiver if receiver is not None else self.values.unknown), node, state)
                except Dead:
                    pass

    def close_transaction(self, token: Optional[Lock], state: State) -> None:
        """The end of a transaction drops its row locks, unless an outer one is still open."""
        if token is not None:
            state.held -= {token}
        if not any(lock.kind in ("atomic", "serializable") and lock.scope == "block" for lock in state.held):
            self.release(state, "tx")

    def release(self, state: State, scope: str) -> None:
        state.held = frozenset(lock for lock in state.held if lock.scope != scope)

    def hold_isolation(self, flag: str, base: Value, node: Any, state: State) -> None:
        if flag == "serializable" or (flag == "repeatable" and self.repeatable_guards(base)):
            state.held |= {Lock("serializable", 0, "session")}

    def repeatable_guards(self, receiver: Optional[Value]) -> bool:
        """REPEATABLE READ stops a lost update in PostgreSQL, not in MySQL and MariaDB."""
        if receiver is None or not receiver.typ:
            return False
        return any(entry.fields.get("dialect") == "postgres" for entry in self.vocabulary.entries_of_type(receiver.typ))

    def op_commit(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        event = self.event(Commit, node, state, label=spec.signature.last)
        self.flush_units(receiver, node, state, spec, commit=event.n)
        self.close_blocks(state)
        self.session_expired(state)
        return self.values.none

    def op_flush(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.flush_units(receiver, node, state, spec, commit=None)
        return self.values.none

    def op_rollback(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.drop_units(state)
        self.close_blocks(state)
        self.session_expired(state)
        return self.values.none

    def close_blocks(self, state: State) -> None:
        """commit() and rollback() end the transaction that began without a block."""
        self.release(state, "tx")

    def op_transaction(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        flags = frozenset(f for value in args.all() for f in self.isolation_flags(value))
        return self.values.make(NOTHING, ref=("transaction", spec, None), flags=flags)

    def op_after_commit(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.values.none

    def op_replay(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        for _, func in bound.by_role.get("func", ()):
            return self.in_policies([Policy(spec, node, spec.signature.last, id(node.at), None)], lambda entry: self._run_callback(func, node, entry), state) and self.values.unknown
        return None

    def _run_callback(self, func: Value, node: Any, state: State) -> State:
        self.callback(func, node, state)
        return state

    # --- locks ------------------------------------------------------------------------------------------------------------------------
    def op_lock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """A call that returns a lock object."""
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        return self.values.make(frozenset((own,)), same=frozenset((own,)), ref=("lock", spec))

    def op_enter_lock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`lock.acquire()`: held from here on; where it may fail (`blocking=False`, a timeout) only where a test of its answer says so."""
        event = self.event(LockEvent, node, state)
        event.lock = Lock(_lock_kind(spec), event.n, "session")
        # A file lock that cannot be had raises.
        if event.lock.kind == "file" or all(value.literal is True or value.literal is None or value.literal == -1 for value in args.all()):
            state.held |= {event.lock}
        origin = Origin("lock", event.n)
        return self.values.make(frozenset((origin,)), same=frozenset((origin,)), flags=frozenset(("acquired",)))

    def op_unlock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.release(state, "session")
        return self.values.none

    # --- effects ------------------------------------------------------------------------------------------------------------------------
    def op_effect(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        key: Optional[Value] = None
        for _, value in self.given(bound, "idempotency_key"):
            key = value
        wanted = [h.lower() for h in spec.get("idempotency_headers", ()) or ()]
        for _, headers in bound.by_role.get("headers", ()):
            for name, value in self.header_items(headers, state):
                if name.lower() in wanted:
                    key = value
        for name, value in bound.extra:
            if name and self.vocabulary.match("idempotency_argument", name):
                key = value
        if any(self.is_call_shape(shape, bound) for shape in spec.get("idempotent_if", ()) or ()):
            own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
            return self.values.origin(own)
        # The call itself may fail before anything is done: that repeats nothing but this call.
        self.throw_io(state, node)
        for value in args.all():
            self.escapes(state, value, "sent")
        what = spec.get("kind") or "effect"
        label = f"{receiver.name}.{spec.signature.last}" if receiver is not None and receiver.name else spec.signature.name
        event = self.event(Effect, node, state, what=what, label=label, key=key, entry=(spec.entry.kind, spec.entry.id))
        event.key = key
        state.done |= {(region.id, event.n) for region in self.regions}
        if what in ("http", "model"):
            self.event(Suspend, node, state, "effect", what=label)
        origin = Origin("outcome", event.n)
        oid = self.object_id(node, "effect")
        state.put(oid, Obj("path", origin, label=label))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=spec.signature.returns or None)

    def is_call_shape(self, shape: str, bound: Any) -> bool:
        """`url *search*`: does the argument of that name look like this?"""
        from fnmatch import fnmatchcase

        name, _, glob = shape.partition(" ")
        value = bound.by_name.get(name)
        return value is not None and fnmatchcase(self.words(value).lower(), glob)

    # --- contexts -----------------------------------------------------------------------------------------------------------------------
    def library_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Any:
        ref = manager.ref
        if ref is not None and ref[0] == "suppress":
            return self._suppressed(ref[1], state, inside, node)
        if ref is not None and ref[0] == "transaction":
            return self._transaction_block(ref[1], ref[2], manager, expression, state, inside)
        if ref is not None and ref[0] == "lock":
            return self._lock_block(ref[1], expression, state, inside, manager)
        for typ in self.library_types(manager):
            for entry in self.vocabulary.entries_of_type(typ):
                if entry.kind == "lock":
                    return self._lock_block(entry, expression, state, inside, manager)
                if entry.kind == "transaction":
                    return self._transaction_block(entry.specs[0], None, manager, expression, state, inside)
                if entry.fields.get("context") == "transaction":
                    return self._transaction_block(None, None, manager, expression, state, inside, entry)
        if manager.query is not None or manager.objs or (manager.typ and self.vocabulary.known_type(manager.typ)):
            return NotImplemented
        name = manager.name or manager.dotted
        if name and not (manager.typ or "").startswith("class:"):
            if self.vocabulary.match("lock_factory", name):
                return self._lock_block(None, expression, state, inside, manager)
            if self.vocabulary.match("transaction", name):
                return self._transaction_block(None, None, manager, expression, state, inside)
        return NotImplemented

    def _transaction_block(self, spec: Any, token: Optional[Lock], manager: Value, expression: Any, state: State, inside: Callable,
                           entry: Any = None) -> Optional[State]:
        if token is None:
            event = self.event(Begin, expression, state, "with", label=spec.signature.last + "()" if spec is not None and hasattr(spec, "signature") else self.words(manager))
            level = (spec.get("isolation") or "") if spec is not None and hasattr(spec, "get") else ""
            kind = "serializable" if "serializable" in manager.flags or "serializable" in level.lower() else "atomic"
            token = Lock(kind, event.n, "block")
            state.held |= {token}
        bound = self.values.replace(manager, ref=None) if manager.typ else None
        end = self.leaving(inside, state, bound, lambda left: self.close_transaction(token, left))
        if end is None:
            return None
        end = end.copy()
        commits = manager.typ and any(e.fields.get("unit_of_work") for e in self.vocabulary.entries_of_type(manager.typ))
        if commits or (spec is not None and spec.entry.fields.get("unit_of_work")):
            commit = self.event(Commit, expression, end, "exit", label="end of the block")
            self.flush_units(None, expression, end, None, commit=commit.n)
        self.close_transaction(token, end)
        return end

    def _lock_block(self, spec: Any, expression: Any, state: State, inside: Callable, manager: Value) -> Optional[State]:
        event = self.event(LockEvent, expression, state)
        event.lock = Lock(_lock_kind(spec) if spec is not None else self._kind_by_name(manager), event.n, "block")
        state.held |= {event.lock}
        # `with try_lock(key) as got:`: what is bound may say that it was not had.
        bound = manager if spec is not None else self.values.replace(manager, same=manager.same | {Origin("lock", event.n)})

        def leave(left: State) -> None:
            left.held -= {event.lock}

        end = self.leaving(inside, state, bound, leave)
        if end is None:
            return None
        end = end.copy()
        end.held -= {event.lock}
        return end

    def _kind_by_name(self, manager: Value) -> str:
        return "pattern"

    def _suppressed(self, types: tuple, state: State, inside: Callable, node: Any) -> Optional[State]:
        from .walk import Collector

        collector = Collector()
        self.collectors.append(collector)
        end = inside(state, None)
        self.collectors.pop()
        wanted = frozenset().union(*(self.exception_names(t) or frozenset(("Exception",)) for t in types)) if types else frozenset()
        ends = [end]
        for raised, names, cause in collector.raised:
            answer = self.catches(wanted, names)
            if answer != "no":
                ends.append(raised)
            if answer != "yes":
                self.rethrow(raised, names, cause)
        return join_states(self.values, ends)

    # --- retry policies ------------------------------------------------------------------------------------------------------------------
    def policies_of(self, definition: Any, state: State) -> list:
        """The retry policies of a function's decorators, outermost first."""
        found = []
        for decorator in getattr(definition, "decorators", ()):
            found += self.policy_of(decorator, state, "decorator", getattr(definition, "name", ""))
        return found

    def policy_of(self, expression: Any, state: State, op: str, label: str) -> list:
        func, args = expression, None
        if isinstance(expression, ir.Call):
            func = expression.func
        name = self.static_name(func)
        if not name:
            return []
        specs = [s for s in self.vocabulary.functions(name) if s.entry.kind == "retry" and s.op == op]
        last = name.rsplit(".", 1)[-1]
        if not specs and "." in name:
            specs = [s for s in self.vocabulary.methods("_", last) if s.entry.kind == "retry" and s.op == op]
        if not specs:
            return []
        if isinstance(expression, ir.Call):
            args = self.arguments(expression, state.copy())
        else:
            from .calls import Arguments

            args = Arguments()
        for spec in specs:
            bound = self.fit(spec, args)
            if bound is not None:
                return [Policy(spec, expression, name, id(expression.at), self.policy_errors(spec, bound), bound)]
        return []

    def policy_errors(self, spec: Any, bound: Any) -> Optional[frozenset]:
        """What a policy repeats on: exception names, or None = any exception."""
        found: set = set()
        some = False
        for role in ("on", "exceptions"):
            for _, value in bound.by_role.get(role, ()):
                if value.is_none or value.literal is False:
                    continue
                some = True
                names = self.exception_names(value, deep=True)
                if names is None:
                    return None
                found |= names
        for name in spec.get("default_on", ()) or ():
            if not some:
                if name in ("Exception", "BaseException"):
                    return None
                found.add(name)
        return frozenset(found) if found else (None if some or not spec.get("default_on") else NOTHING)

    def attempts_of(self, node: Any, state: State) -> Optional[Policy]:
        """`for attempt in Retrying(…)`: the policy, or None."""
        if not isinstance(node.iter, ir.Call):
            value = self.eval(node.iter, state) if isinstance(node.iter, ir.Name) else None
            if value is not None and value.ref is not None and value.ref[0] == "retrying":
                return Policy(value.ref[1], node, value.ref[1].signature.last, id(node.at), value.ref[2])
            return None
        found = self.policy_of(node.iter, state, "loop", "")
        return found[0] if found else None

    def op_retry_loop(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.values.make(NOTHING, ref=("retrying", spec, self.policy_errors(spec, bound)))

    def op_retry_call(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        func = bound.first("func")
        if func is None:
            return None
        policy = Policy(spec, node, spec.signature.last, id(node.at), self.policy_errors(spec, bound))
        rest = [value for name, value in bound.extra if name is None]
        results: list = []

        def body(entry: State) -> Optional[State]:
            from .builtins import _arguments
            from .calls import Dead

            try:
                results.append(self.call_value(func, _arguments(*rest), node, entry))
            except Dead:
                return None
            return entry

        end = self.in_policies([policy], body, state)
        if end is not None and end is not state:
            state.adopt(end.copy())
        return results[-1] if results else self.values.unknown

    def recursive_call(self, scope: Any, args: Any, node: Any, state: State) -> None:
        """A function that calls itself after a refusal retries with these arguments: which writes send again what came in?"""
        frame = next((f for f in reversed(self.frames) if f.scope.key == scope.key and f.entry is not None), None)
        definition = scope.definition()
        if frame is None or definition is None:
            return
        again = self.bind_parameters(definition, args, frame.self_value, state.copy(), frame)
        stale = set()
        for n in state.lost:
            write = self.trace.events[n]
            if write.ctx.calls[:len(frame.calls)] != frame.calls:
                continue
            for name, value in again.items():
                before = frame.entry.get(name)
                if before is None or name == "self" or not (before is value or before.same & value.same):
                    continue
                if (before.origins - {CONST, UNKNOWN}) & write.payload.origins and not self.read_anew(write, frame):
                    stale.add(n)
        region = self.open_region(node, state, "recursion", scope.name)
        region.event.retried |= stale

    def read_anew(self, write: Any, frame: Any) -> bool:
        """Does the payload derive from a read that this activation of the function makes itself?"""
        return any(o.kind == "read" and self.trace.events[o.n].ctx.calls[:len(frame.calls)] == frame.calls and self.trace.events[o.n].n > frame.first
                   for o in write.payload.origins)

    def static_name(self, node: Any) -> str:
        """The dotted name of a decorator or constructor expression, through the import table; '' when it is none."""
        parts: list = []
        while isinstance(node, ir.Attr):
            parts.append(node.name)
            node = node.value
        if not isinstance(node, ir.Name):
            return ""
        value = self._name(node, State()) if not self.frames else self.frames[-1].closure and self.frames[-1].closure.get(node.id) or self.module_name(node.id, State())
        base = value.dotted if value is not None else ""
        if not base:
            return ".".join([node.id, *reversed(parts)]) if parts else ""
        return ".".join([base, *reversed(parts)])

    def call_typed_value(self, callee: Value, args: Any, node: Any, state: State) -> Optional[Value]:
        """Calling an instance: a session factory, a retrier, a task."""
        for typ in self.library_types(callee):
            specs = self.vocabulary.methods(typ, "__call__")
            if specs:
                return self.apply(specs, callee, "__call__", args, node, state)
        if callee.ref is not None and callee.ref[0] == "retrying" and args.positional:
            policy = Policy(callee.ref[1], node, "retrying", id(node.at), callee.ref[2])
            func = args.positional[0].value
            self.in_policies([policy], lambda entry: self._run_callback(func, node, entry), state)
            return self.values.unknown
        return None

    def pattern_write(self, name: str, result: Value, receiver: Value, args: Any, node: Any, state: State) -> None:
        """An unresolved call that takes a witness (`put_json(key, doc, if_mod_revision=rev)`) is a conditional write of some store."""
        for keyword, argument in args.keywords:
            value = argument.value
            if self.vocabulary.match("witness_argument", keyword) and not value.is_none and value.shape is None and len(args.all()) > 1:
                key = tuple(("key", a.value) for a in args.positional[:1])
                record = Record("accessor", receiver.name or name, None, key, None, self.words(key[0][1]) if key else name)
                others = [a.value for a in args.positional[1:]] + [a.value for k, a in args.keywords if k != keyword]
                event = self.event(
                    Write, node, state, "pattern", record=record, verb="replace", payload=self.values.derived([self.flat(state, v) for v in others] or [self.values.unknown]),
                    columns=None, preconditions=(Precondition("witness", keyword, value),), outcome="raises", conflict=frozenset(("*conflict",)), changes=NOTHING,
                    full=False, entry=("", ""), unit=False, base=NOTHING, doubts=frozenset(("name-only",)), commit=None, open_where=False,
                    self_columns=NOTHING, text="", conflict_handled=False, help="",
                )
                state.won -= {event.n}
                state.lost -= {event.n}
                if self.collectors:
                    refused = state.copy()
                    refused.lost |= {event.n}
                    self.throw(refused, frozenset(("*conflict",)), ("write", event.n))
                state.won |= {event.n}
                return


def _literal(value: Any) -> Any:
    from noclobber.knowledge.signatures import NOTHING as UNGIVEN

    if type(value) is Value and type(value.shape) is Lit:
        return value.shape.value
    parts = getattr(value.shape, "parts", None) if type(value) is Value else None
    if parts and isinstance(parts[0], str):
        return parts[0]  # enough for a URL's scheme
    return UNGIVEN


def _outcome_kind(shows: list, spec: Any) -> str:
    for show in shows:
        if show.startswith("status"):
            return "status"
        if show.startswith(("returns", ".", "[", "not", "in ")):
            return "result"
    if any(show.startswith("raises") for show in shows):
        return "raises"
    return "none"


def _lock_kind(spec: Any) -> str:
    get = spec.get if hasattr(spec, "get") else spec.fields.get
    if get("ttl"):
        return "ttl"
    return {"process": "process", "host": "file"}.get(get("scope") or "cluster", "session")


_CONNECTION_FLAGS = frozenset(("sqlite", "serializable", "repeatable", "autocommit"))
_CONTAINER_METHODS = frozenset(("get", "items", "keys", "values", "copy", "pop", "setdefault", "update", "append", "sort", "strip", "split", "lower", "upper",
                                "clear", "popitem", "reverse", "save", "delete", "refresh_from_db", "asave", "adelete", "encode", "decode"))

_OPS: dict = {
    ("*", "make"): Stores.op_make, ("*", "made_by"): Stores.op_make, ("*", "result"): Stores.op_make,
    ("store", "run"): Stores.op_run, ("orm", "run"): Stores.op_run, ("*", "fetch"): Stores.op_fetch,
    ("store", "read"): Stores.op_read, ("store", "write"): Stores.op_write, ("store", "create"): Stores.op_write,
    ("store", "delete"): Stores.op_write, ("store", "atomic"): Stores.op_write, ("store", "append"): Stores.op_write,
    ("store", "lock"): Stores.op_lock, ("store", "unlock"): Stores.op_unlock, ("*", "begin"): Stores.op_begin,
    ("*", "commit"): Stores.op_commit, ("*", "flush"): Stores.op_flush, ("*", "rollback"): Stores.op_rollback,
    ("*", "check"): Stores.op_check, ("*", "replay"): Stores.op_replay, ("*", "transaction"): Stores.op_transaction,
    ("transaction", "enter"): Stores.op_transaction, ("*", "after_commit"): Stores.op_after_commit,
    ("lock", "enter"): Stores.op_enter_lock, ("lock", "unlock"): Stores.op_unlock, ("effect", "call"): Stores.op_effect,
    ("retry", "loop"): Stores.op_retry_loop, ("retry", "call"): Stores.op_retry_call,
    ("orm", "load"): Stores.op_load, ("orm", "many"): Stores.op_many, ("orm", "reload"): Stores.op_reload,
    ("orm", "persist"): Stores.op_persist_function, ("orm", "add"): Stores.op_add, ("orm", "merge"): Stores.op_merge,
    ("orm", "create"): Stores.op_add, ("orm", "remove"): Stores.op_remove, ("orm", "mutation"): Stores.op_mutation,
    ("orm", "scalar"): Stores.op_scalar, ("orm", "expire"): Stores.op_expire, ("orm", "check_exists"): Stores.op_scalar,
    ("orm", "set_write"): Stores.op_set_write_function, ("orm", "upsert"): Stores.op_add,
    ("builder", "start"): Stores.op_start,
}
