"""Reads and writes of library calls as events."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .builtins import loaded
from .events import Read, Record, Write
from .objects import Obj, State
from .values import NOTHING, Origin, Value


class Writes:
    """Mixin of Walker."""

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
        event.filters = self.read_filters(bound, state)
        event.absent = bound.by_name.get("default")
        self.lift(event, bound.first("method") or self.verb_by_name(node, state))
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
            item = self.item(value, self.values.unknown, None, state)
            return self.container(node, "list", state, {}, self.values.replace(item, typ=value.typ) if value.typ else item, "rows")
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
        payload = self.payload_of(bound, state, receiver if spec.get("role") == "swap" or spec.get("document") else None, _spread(spec, args)) if not spec.get("deferred") else self.deferred(receiver, "@payload", state)
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
            self.lift(self.trace.events[origin.n], bound.first("method") or self.verb_by_name(node, state))
            written = self.trace.events[origin.n]
            written.call = self.http_verb(spec, bound).lower() or ("patch" if spec.settings.get("writes") == "named columns" else spec.signature.last)
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

    def payload_of(self, bound: Any, state: State, moved: Optional[Value] = None, spread: tuple = ()) -> Value:
        """What is written. moved: the file that takes the record's place (`fresh.replace(path)`); spread: what came in by names that are not known."""
        given = [self.flat(state, v) for role in ("payload", "fields", "operators", "entity") for _, v in bound.by_role.get(role, ())]
        given += [self.file_payload(v, state) for _, v in bound.by_role.get("file", ())]
        given += [self.flat(state, v) for v in spread]
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
        event.given = self.handed_at
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


def _spread(spec: Any, args: Any) -> tuple:
    """What `client.write(path, **doc)` writes: members of a mapping that are not known one by one."""
    named = args is not None and args.open_kwargs and any(param.kind == "varkw" and param.role in ("payload", "fields") for param in spec.signature.params)
    return tuple(args.rest) if named else ()


def _outcome_kind(shows: list, spec: Any) -> str:
    for show in shows:
        if show.startswith("status"):
            return "status"
        if show.startswith(("returns", ".", "[", "not", "in ")):
            return "result"
    if any(show.startswith("raises") for show in shows):
        return "raises"
    return "none"


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
