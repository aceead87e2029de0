"""What library calls mean: the vocabulary's specs turned into events: dispatch, records, preconditions, reads and writes.

No library is named here: everything comes from `rules/vocabulary/`. Outcomes, transactions, replays and effects have modules of their
own; SQL text is in `sqlrun`, ORMs and statement builders in `orm`.
"""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .accessors import Accessors
from .batches import Batches
from .blobs import Blobs, fits_only
from .builtins import loaded
from .commands import Commands
from .documents import Documents
from .dumps import Dumps
from .effects import Effects
from .events import Precondition, Read, Record, Write
from .files import Files, plain_path
from .objects import Obj, State
from .managers import Managers
from .orm import Orm
from .outcomes import Outcomes
from .pipelines import Pipelines
from .replays import Replays
from .requests import Requests
from .sessions import Sessions
from .sqlrun import SqlRunner
from .tags import Tags
from .tools import Tools
from .transactions import Transactions
from .values import NOTHING, SERVER, Lit, Origin, Value


class Stores(Accessors, Sessions, Dumps, Outcomes, Requests, Blobs, Files, Tags, Transactions, Replays, Effects, Commands, Batches, Documents, Pipelines, SqlRunner, Managers, Orm):
    """Mixin of Walker."""

    def fit(self, spec: Any, args: Any) -> Any:
        bound = spec.bind(
            [a.value for a in args.positional], [(k, a.value) for k, a in args.keywords],
            open_star=args.open_star, open_kwargs=args.open_kwargs, literal=_literal,
        )
        if bound is None:
            return None
        for condition in spec.get("unless", ()) or ():
            name, _, what = condition.partition(" ")
            given = bound.by_name.get(name)
            if what == "missing" and given is None or given is not None and type(given.shape) is Lit and str(given.shape.value) == what:
                return None
        if spec.get("only_if") and not fits_only(spec, bound, self.words):
            return None
        return bound

    def library_function(self, dotted: str, args: Any, node: Any, state: State) -> Optional[Value]:
        atomic = self.vocabulary.listed("atomic_values", dotted)
        if atomic:  # `Increment(1)`: computed where it is stored
            whole = any(entry.kind == "store" for entry in atomic)  # an expression of an ORM has values in it
            return self.values.make(frozenset((SERVER,)) if whole else self._union(args.all()) | {SERVER})
        specs = self.vocabulary.functions(dotted)
        result = self.apply(specs, None, dotted, args, node, state)
        if any(spec.op == "attach" for spec in specs):
            if result is None and dotted.rsplit(".", 1)[-1][:1].isupper():
                result = self.construct_unknown(dotted, args, node, state)
            self.attach_policy(specs, None, result, args, node, state)
        return result

    def library_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        if receiver.ref is not None and receiver.ref[0] == "transaction":
            return None
        if receiver.ref is not None and receiver.ref[0] == "request":
            return self.request_method(receiver, name, args, state)
        if receiver.ref is not None and receiver.ref[0] == "retrying" and receiver.ref[1] is not None and args.positional and args.positional[0].value.ref is not None:
            return self.call_policy(receiver.ref[1], args, node, state)  # `retrier.call(func, …)`
        done = self.instance_method(receiver, name, args, node, state)
        if done is None:
            done = self.related_query(receiver, name, args, node, state) or self.row_of_view(receiver, name, args, node, state) or self.own_query(receiver, name, args, node, state)
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
        if any(spec.op == "attach" for spec in specs):
            self.attach_policy(specs, receiver, None, args, node, state)
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
        taken = self.note_key_locks(specs, receiver, args, node, state, doubt) if any(spec.entry.kind == "lock" for spec in specs) else None
        result = self._apply_specs(specs, receiver, name, args, node, state, doubt)
        if taken is not None and result is not None:
            self.note_taken(result, specs, args, receiver, state)
        if taken is not None:
            return self.values.replace(result, origins=result.origins | taken.origins, same=result.same | taken.same) if result is not None else taken
        return result

    def _apply_specs(self, specs: Any, receiver: Optional[Value], name: str, args: Any, node: Any, state: State, doubt: str = "") -> Optional[Value]:
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

    def op_read(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        if self.is_request(spec):
            sent = self.sent_request(spec, bound, receiver, state)
            if sent is not None:
                bound, receiver = sent
            role = self.role_of_method(spec, bound)
            if role is not None and role != "read":
                return self.by_method_role(role, spec, bound, receiver, args, node, state, doubt)
            if role is None and (bound.first("method") is not None or sent is not None):
                return None
        record = self.record_of(spec, bound, receiver, state, filtered=self.filter_of(spec, bound, state)[0])
        many = spec.get("rows") == "many"
        event = self.event(Read, node, self.seen_by(spec, bound, receiver, state), record=record, columns=None, lock=None, many=many, cached=False, spec=spec)
        event.preconditions = self.preconditions_of(spec, bound, receiver, state, NOTHING, node)
        self.lift(event, bound.first("method"))
        self.throw_io(state, node, spec)
        self.hold_read(spec, bound, event.n, state)
        if record.family == "http":
            self.passes(event, state)
        origin = Origin("read", event.n)
        oid = self.object_id(node, "read")
        handle = {f"@key:{name}": value for name, value in record.key} if spec.signature.returns else {}
        state.put(oid, Obj("path", origin, fields=handle, label=record.label, read=event.n))
        self.set_on_receiver(spec, receiver, origin, node, state)
        self.read_into(bound, origin, node, state)
        value = self.values.origin(origin, objs=frozenset((oid,)), typ=spec.signature.returns or None)
        if spec.get("fills") and receiver is not None:
            self.filled(receiver, value, node, state)
        elif spec.get("document"):
            value = self.values.replace(loaded(self, value, node, state), typ=value.typ)
        if many and record.family in ("document", "key"):
            return self.container(node, "list", state, {}, self.item(value, self.values.unknown, None, state), "rows")
        return self.queued(value, event, spec, receiver, state)

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
        items = self.item_witnesses(spec, bound, state) if spec.get("item_version") else ()
        if spec.get("item_version") and not items:
            return None  # what is in it cannot be refused, and which records they are is not told
        verb = verb or {"create": "create", "delete": "delete", "atomic": "atomic", "append": "append"}.get(spec.op, "replace")
        payload = self.payload_of(bound, state, receiver if spec.get("role") == "swap" or spec.get("document") else None) if not spec.get("deferred") else self.deferred(receiver, "@payload", state)
        update = self.update_of(spec, bound, state)
        written = {name for name, _ in update.columns or ()} if update is not None else self.replaced_columns(spec, bound, state)
        filtered, demanded = self.filter_of(spec, bound, state, written)
        record = self.record_of(spec, bound, receiver, state, filtered=filtered)
        if update is not None and verb == "replace":
            payload = update.payload if update.payload is not None else self.values.derived([v for _, v in update.columns] or [self.values.const(None)])
            verb = "atomic" if update.columns and all(name in update.server for name, _ in update.columns) else "update"
            if verb == "update" and any(param.role == "partial" for param in spec.signature.params) and not self.given(bound, "partial"):
                verb = "replace"
        elif verb == "replace" and self.is_computed(payload):
            verb = "atomic"
        result = self.write(
            node, self.seen_by(spec, bound, receiver, state), record=record, verb=verb, payload=payload,
            preconditions=(*self.preconditions_of(spec, bound, receiver, state, written, node), *demanded, *items, *self.watch_preconditions(payload, spec, receiver, state)),
            spec=spec, doubts=frozenset((doubt,)) if doubt else NOTHING, columns=update.columns if update is not None else None,
            self_columns=update.server if update is not None else NOTHING, of=state,
        )
        for origin in result.same:
            self.set_on_receiver(spec, receiver, origin, node, state)
            if spec.get("stream"):
                self.streams.add(origin.n)
            self.lift(self.trace.events[origin.n], bound.first("method"))
            written = self.trace.events[origin.n]
            written.call = self.http_verb(spec, bound).lower() or spec.signature.last
            if update is None and verb == "replace" and record.family == "document":
                self.keeps_version(written, [v for role in ("payload", "entity") for _, v in bound.by_role.get(role, ())], state)
            if update is None and written.ctx.control:  # a test may be about one of them
                written.named = tuple(part for _, v in bound.by_role.get("payload", ()) for part in self.named_parts(v, state))
            if self.tooling is not None:
                given = [v for role in ("payload", "fields", "operators", "entity") for _, v in bound.by_role.get(role, ())]
                written.leaves = tuple(dict.fromkeys(part for v in given for part in self.leaves_of(v, state)))
            self.note_transport(self.trace.events[origin.n], self.http_verb(spec, bound), receiver, args, node, state)
            if self.trace.events[origin.n].conditional:
                self.after_response(spec, bound, receiver, result, node, state)
        return self.queued(result, self.trace.events[next(iter(result.same)).n], spec, receiver, state)

    def deferred(self, receiver: Optional[Value], name: str, state: State) -> Value:
        """What was given to the call that made a request object."""
        for oid in receiver.objs if receiver is not None else ():
            obj = state.heap.get(oid)
            if obj is not None and name in obj.fields:
                return obj.fields[name]
        return self.values.unknown

    @staticmethod
    def is_computed(payload: Value) -> bool:
        """Nothing but a word for the server to compute (`Increment(1)`)."""
        return bool(payload.origins) and all(o.kind in ("server", "const") for o in payload.origins) and any(o.kind == "server" for o in payload.origins)

    def http_verb(self, spec: Any, bound: Any) -> str:
        """The verb of a request; '' where it is none."""
        if spec.get("family") != "http" and spec.entry.kind != "effect":
            return ""
        method = bound.first("method")
        return method.text or "" if method is not None else spec.signature.last if spec.signature.last in ("put", "patch", "post", "delete") else ""

    def leaves_of(self, value: Value, state: State) -> list:
        """The parts of a structured payload that hold nothing themselves. What was appended to a list of a document is no part of its own."""
        found: list = []
        stack = [(value, 0)]
        while stack:
            item, depth = stack.pop()
            if item.ref is not None and item.ref[0] == "dumped":
                stack.append((item.ref[1], depth + 1))
                continue
            inner: list = []
            loaded = False
            for oid in item.objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    loaded |= obj.kind in ("path", "part", "row")
                    inner += [v for step, v in obj.fields.items() if not step.startswith("@")]
                    if obj.elem is not None and obj.kind not in ("path", "part", "row"):
                        inner.append(obj.elem)
            if (loaded or not inner) and len(found) < 60:
                found.append(item)
            stack += [(v, depth + 1) for v in inner if depth < 5]
        return found

    def keeps_version(self, write: Write, documents: list, state: State) -> None:
        """A document that goes back whole with the very version that its condition compares: the version stays what it was."""
        for precondition in write.preconditions:
            if precondition.kind != "witness" or precondition.where or not precondition.value.same or not self.vocabulary.match("version_column", precondition.column):
                continue
            for document in documents:
                carried = self.known_part(document, f"[{precondition.column!r}]", state) if document.objs else None
                if carried is not None and carried.same == precondition.value.same and any(o.kind == "read" for o in carried.same):
                    write.kept, write.kept_how = precondition.column, "compared"
                    return

    def named_parts(self, value: Value, state: State, name: str = "", depth: int = 0) -> list:
        """[(dotted name, Value)] of the members of a mapping that was written out here."""
        if value.ref is not None and value.ref[0] == "dumped":
            return self.named_parts(value.ref[1], state, name, depth)
        found = self.entries(value, state) if depth < 4 else None
        if found is None:
            return [(name, value)] if name else []
        inner = [part for step, v in found[0].items() for part in self.named_parts(v, state, f"{name}.{step}" if name else step, depth + 1)]
        return inner[:40]

    def payload_of(self, bound: Any, state: State, moved: Optional[Value] = None) -> Value:
        """What is written. moved: the file that takes the record's place (`fresh.replace(path)`)."""
        given = [self.flat(state, v) for role in ("payload", "fields", "operators", "entity") for _, v in bound.by_role.get(role, ())]
        given += [self.file_payload(v, state) for _, v in bound.by_role.get("file", ())]
        if not given and moved is not None:
            given = [self.file_payload(moved, state) if not self.deep(state, moved) - moved.origins else self.flat(state, moved)]
        return self.values.derived(given) if len(given) != 1 else given[0]

    def write(self, node: Any, state: State, *, record: Record, verb: str, payload: Value, preconditions: tuple = (), spec: Any = None,
              columns: Any = None, changes: frozenset = NOTHING, base: frozenset = NOTHING, full: bool = False, unit: bool = False, doubts: frozenset = NOTHING,
              outcome: str = "", conflict: Any = None, extra: Any = 0, open_where: bool = False, self_columns: frozenset = NOTHING,
              result_typ: Optional[str] = None, text: str = "", of: Optional[State] = None) -> Value:
        """Note a write; its result carries the outcome. A refusal that raises leaves from here.

        of: the state to go on in, where `state` is only what the write sees (another set of locks).
        """
        shows = list(conflict if conflict is not None else (spec.get("conflict", ()) if spec is not None else ()) or ())
        outcome = outcome or _outcome_kind(shows, spec)
        raised = frozenset(name for show in shows if show.startswith("raises ") for name in (show[7:].split("[")[0].strip(),))
        event = self.event(
            Write, node, state, extra, record=record, verb=verb, payload=payload, columns=columns, preconditions=preconditions, outcome=outcome,
            conflict=raised, changes=changes, full=full, entry=(spec.entry.kind, spec.entry.id) if spec is not None else ("", ""), unit=unit, base=base,
            doubts=doubts, commit=None, open_where=open_where, self_columns=self_columns, text=text, conflict_handled=False, help=(spec.get("help") or "") if spec is not None else "",
            refused=state.lost - state.won,
        )
        state = of if of is not None else state
        event.preconditions = preconditions
        event.tells = shows[0].partition(" ")[0] if len(shows) == 1 and shows[0].startswith("[") else ""
        event.directed = _is_directed(node)
        event.save_help = (spec.get("save_help") or "") if spec is not None else ""
        if verb == "create":
            event.handled = event.handled or self.catches_duplicates()
        event.lock_help = (spec.get("lock_help") or "") if spec is not None else ""
        event.offers = spec is not None and self.offers_precondition(spec.entry)
        event.role = (spec.get("role") or "") if spec is not None else ""
        n = event.n
        if self.sent is not None:
            self.sent.setdefault(n, []).append(preconditions)
        if record.family in ("sql", "orm"):
            if spec is None or spec.op not in ("add", "merge") or not spec.entry.fields.get("unit_of_work"):
                self.rows_written(event, state)  # what was only added is written at the flush
        elif record.family == "http":
            self.passes(event, state)
        conditional = event.conditional
        state.won -= {n}
        state.lost -= {n}
        if any(lock.kind == "claim" and lock.n == n for lock in state.held):
            state.held = frozenset(lock for lock in state.held if lock.kind != "claim" or lock.n != n)
        if not unit:
            # Numbers of this unit's writes of an earlier round say nothing of this one.
            state.done |= {(region.id, ("write", n)) for region in self.regions}
        if self.collectors:
            if conditional and raised:
                refused = state.copy()
                refused.lost |= {n}
                self.throw(refused, raised, ("write", n))
            self.throw(state, self.io_of(spec), ("write", n))
        if (conditional or verb == "delete") and outcome in ("count", "row", "result", "status"):
            state.unchecked |= {n}
        if raised and outcome == "raises":
            self.accepted(n, state)
        origin = Origin("outcome", n)
        oid = self.object_id(node, "outcome", extra)
        state.put(oid, Obj("path", origin, label=record.label))
        return self.values.origin(origin, objs=frozenset((oid,)), typ=result_typ)

    def offers_precondition(self, entry: Any) -> bool:
        """Has the store a write that takes a version? HTTP and SQL may have one: there the project's own use tells."""
        known = self.shared.setdefault("offers", {})
        key = (entry.kind, entry.id)
        if key not in known:
            known[key] = entry.fields.get("family") not in ("http", "sql") and any(
                spec.op in ("write", "delete", "set_write") and any(param.role == "precondition" for param in spec.signature.params) for spec in entry.specs)
        return known[key]

    def store_subscript(self, base: Value, index: Value, node: Any, state: State) -> Optional[Value]:
        """`store[key]`: a read, or what is reached through it (`client[db][collection]`)."""
        return self._operator_call(base, "__getitem__", (index,), node, state)

    def store_subscript_write(self, base: Value, index: Value, value: Value, state: State, node: Any) -> bool:
        return self._operator_call(base, "__setitem__", (index, value), node, state) is not None

    def store_subscript_delete(self, base: Value, index: Value, state: State, node: Any) -> bool:
        return self._operator_call(base, "__delitem__", (index,), node, state) is not None

    def store_attribute(self, base: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """`client.db.collection`: attributes of any name that the vocabulary knows."""
        if name.startswith("_"):
            return None
        return self._operator_call(base, "__getattr__", (self.values.const(name),), node, state)

    def _operator_call(self, base: Value, name: str, given: tuple, node: Any, state: State) -> Optional[Value]:
        from .builtins import _arguments

        if base.dotted and name == "__getitem__":  # `caches["sessions"]`
            specs = self.vocabulary.functions(f"{base.dotted}.{name}")
            return self.apply(specs, None, name, _arguments(*given), node if node is not None else base, state) if specs else None
        if base.ref is not None or not self.vocabulary.has_operators:
            return None

        for typ in self.library_types(base):
            if typ.startswith("path:"):
                continue
            specs = tuple(spec for spec in self.vocabulary.methods(typ, name) if spec.signature.name == name)
            if specs:
                return self.apply(specs, base, name, _arguments(*given), node if node is not None else base, state)
        return None

    def call_typed_value(self, callee: Value, args: Any, node: Any, state: State) -> Optional[Value]:
        """Calling an instance: a session factory, a retrier, a task."""
        for typ in self.library_types(callee):
            specs = self.vocabulary.methods(typ, "__call__")
            if specs:
                return self.apply(specs, callee, "__call__", args, node, state)
        if callee.ref is not None and callee.ref[0] in ("retrying", "policy") and args.positional and callee.ref[1] is not None:
            return self.call_policy(callee.ref[1], args, node, state)
        if callee.ref is not None and callee.ref[0] == "retried":
            return self.run_retried(callee.ref[1], callee.ref[2], args, node, state)
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
                    self_columns=NOTHING, text="", conflict_handled=False, help="", refused=state.lost - state.won,
                )
                state.won -= {event.n}
                state.lost -= {event.n}
                if self.collectors:
                    refused = state.copy()
                    refused.lost |= {event.n}
                    self.throw(refused, frozenset(("*conflict",)), ("write", event.n))
                state.won |= {event.n}
                return


def _below(name: str, before: dict) -> str:
    """A key of its own for another level of the same name."""
    while name in before:
        name += "/"
    return name


def _literal(value: Any) -> Any:
    from noclobber.knowledge.signatures import NOTHING as UNGIVEN

    if type(value) is Value and type(value.shape) is Lit:
        return value.shape.value
    parts = getattr(value.shape, "parts", None) if type(value) is Value else None
    if parts and isinstance(parts[0], str):
        return parts[0]  # enough for a URL's scheme
    if type(value) is Value and value.dotted and value.name.isupper():
        return value.name  # a constant of a library: `fcntl.LOCK_UN`
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


#: Properties of a connection that its cursors and sessions have as well.
_CONNECTION_FLAGS = frozenset(("sqlite", "serializable", "repeatable", "autocommit", "private"))

#: (table, list) of the vocabulary → what a call of it does.
_OPS: dict = {
    ("*", "make"): Stores.op_make, ("*", "made_by"): Stores.op_make, ("*", "result"): Stores.op_make,
    ("store", "run"): Stores.op_run, ("orm", "run"): Stores.op_run, ("*", "fetch"): Stores.op_fetch,
    ("store", "read"): Stores.op_read, ("store", "write"): Stores.op_write, ("store", "create"): Stores.op_write,
    ("store", "delete"): Stores.op_write, ("store", "atomic"): Stores.op_write, ("store", "append"): Stores.op_write,
    ("store", "lock"): Stores.op_lock, ("store", "unlock"): Stores.op_unlock, ("*", "begin"): Stores.op_begin,
    ("*", "commit"): Stores.op_commit, ("*", "flush"): Stores.op_flush, ("*", "rollback"): Stores.op_rollback,
    ("*", "check"): Stores.op_check, ("store", "request"): Stores.op_build_request, ("store", "batch"): Stores.op_batch, ("store", "change"): Stores.op_change, ("store", "decode"): Stores.op_decode, ("store", "encode"): Stores.op_encode,
    ("*", "replay"): Stores.op_replay, ("*", "transaction"): Stores.op_transaction,
    ("transaction", "enter"): Stores.op_transaction, ("*", "after_commit"): Stores.op_after_commit,
    ("lock", "enter"): Stores.op_enter_lock, ("lock", "unlock"): Stores.op_unlock, ("effect", "call"): Stores.op_effect,
    ("retry", "loop"): Stores.op_retry_loop, ("retry", "call"): Stores.op_retry_call, ("retry", "decorator"): Stores.op_retry_policy,
    ("retry", "policy"): Stores.op_retry_policy, ("retry", "condition"): Stores.op_retry_condition, ("retry", "pause"): Stores.op_retry_pause,
    ("orm", "load"): Stores.op_load, ("orm", "many"): Stores.op_many, ("orm", "reload"): Stores.op_reload,
    ("orm", "persist"): Stores.op_persist_function, ("orm", "add"): Stores.op_add, ("orm", "merge"): Stores.op_merge,
    ("orm", "create"): Stores.op_add, ("orm", "remove"): Stores.op_remove, ("orm", "mutation"): Stores.op_mutation,
    ("orm", "detach"): Stores.op_detach, ("orm", "scalar"): Stores.op_scalar, ("orm", "chain"): Stores.op_chain, ("orm", "assign"): Stores.op_assign_function, ("orm", "expire"): Stores.op_expire, ("orm", "check_exists"): Stores.op_scalar,
    ("orm", "set_write"): Stores.op_set_write_function, ("orm", "upsert"): Stores.op_add,
    ("builder", "start"): Stores.op_start, ("builder", "conjunction"): Stores.op_conjunction, ("builder", "disjunction"): Stores.op_disjunction, ("tool", "register"): Tools.op_register, ("tool", "schema"): Tools.op_schema,
}


def _is_directed(node: Any) -> bool:
    """`row.save(using="replica")`, `Row.objects.using("replica").update(…)`."""
    while isinstance(node, (ir.Call, ir.Attr, ir.Await)):
        if isinstance(node, ir.Call):
            if any(arg.keyword == "using" for arg in node.args) or isinstance(node.func, ir.Attr) and node.func.name in ("using", "db_manager"):
                return True
            node = node.func
        else:
            node = node.value
    return False
