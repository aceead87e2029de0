"""Transactions and locks: begins, blocks, commits, row hooks, context managers, suppressed exceptions."""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .events import Begin, Commit, Expire, Lock, LockEvent
from .frames import Collector
from .keylocks import KeyLocks
from .objects import Dead, State, join_states
from .values import NOTHING, Origin, Value


class Transactions(KeyLocks):
    """Mixin of Walker."""

    def isolation_flags(self, value: Value) -> set:
        text = (value.text or value.dotted or value.name or "").upper().replace("_", " ")
        if "SERIALIZABLE" in text or "SNAPSHOT" in text:
            return {"serializable"}
        if "REPEATABLE" in text:
            return {"repeatable"}
        if "AUTOCOMMIT" in text:
            return {"autocommit"}
        return set()

    def op_begin(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`conn.begin()`, `session.begin()`: open from here on; as a context manager it is closed at the end of the block."""
        if spec.entry.kind == "store" and spec.get("guard") is not None and (not spec.get("guard") or spec.signature.param("key") is not None):
            return self.begin_watch(spec, bound, receiver, node, state)
        typ = spec.signature.returns or (receiver.typ if receiver is not None else None)
        if spec.entry.kind == "orm" and spec.signature.returns or spec.get("dialect"):
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
        guarding = spec is not None and spec.entry.kind == "store" and bool(spec.get("guard"))
        token = Lock("optimistic", event.n, "block", owner="txn") if guarding else Lock(kind, event.n, "block")
        state.held |= {token}
        return token

    def run_hooks(self, event: str, receiver: Optional[Value], node: Any, state: State) -> None:
        """Functions of the module that a library runs on such an event (`@listens_for(engine, "begin")`)."""
        from .builtins import _arguments
        for scope in self.ask.hooks(event):
            if scope.key not in self.active:
                try:
                    self.call_scope(scope, _arguments(receiver if receiver is not None else self.values.unknown), node, state)
                except Dead:
                    pass

    def close_transaction(self, token: Optional[Lock], state: State, well: bool = True) -> None:
        """The end of a transaction drops its row locks, unless an outer one is still open. well: it is committed."""
        if token is not None:
            state.held -= {token}
        if not any(lock.kind in ("atomic", "serializable", "unit") and lock.scope == "block" for lock in state.held):
            # A row lock from before the block is of a transaction further out, which a caller has opened.
            self.release(state, "tx", token.n if token is not None else -1)
            if token is not None:
                self.span_ends(self.trace.events[token.n], state, well)

    def release(self, state: State, scope: str, since: int = -1) -> None:
        """since: only what was taken after this event."""
        gone = frozenset(lock for lock in state.held if lock.scope == scope and (lock.n > since or lock.kind != "row"))
        state.held -= gone
        state.freed |= gone

    def take(self, lock: Lock, state: State) -> None:
        """A lock that was taken until the transaction ends."""
        state.held |= {lock}
        state.freed -= {lock}

    def left_block(self, before: frozenset, left: State) -> None:
        """A block of the project's own context manager is left: what it opened is closed, and row locks go with its transaction."""
        opened = [lock for lock in left.held - before if lock.scope != "tx"]
        left.held -= frozenset(opened)
        for token in opened:
            if token.kind in ("atomic", "serializable", "unit") and token.scope == "block":
                self.close_transaction(token, left)

    def hold_isolation(self, flag: str, base: Value, node: Any, state: State) -> None:
        if flag == "serializable" or (flag == "repeatable" and self.repeatable_guards(base)):
            state.held |= {Lock("serializable", 0, "session")}

    def repeatable_guards(self, receiver: Optional[Value]) -> bool:
        """REPEATABLE READ stops a lost update in PostgreSQL, not in MySQL and MariaDB."""
        if receiver is None or not receiver.typ:
            return False
        return any(entry.fields.get("dialect") == "postgres" for entry in self.vocabulary.entries_of_type(receiver.typ))

    def op_commit(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        if spec.entry.kind == "store" and receiver is not None and self._is_queue(receiver, state):
            return self.execute_queue(spec, receiver, node, state)
        event = self.event(Commit, node, state, label=spec.signature.last)
        self.creates_flushed()
        self.flush_units(receiver, node, state, spec, commit=event.n)
        self.span_ends(event, state, session=receiver)
        self.close_blocks(state)
        self.session_expired(state)
        return self.values.none

    def op_flush(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.creates_flushed()
        self.flush_units(receiver, node, state, spec, commit=None)
        return self.values.none

    def catches_duplicates(self) -> bool:
        """Does an open try block catch the error that tells of a refused duplicate?"""
        return any(self.vocabulary.match("unique_error", name.replace(":", ".")) for names in self.caught for name in names)

    def creates_flushed(self) -> None:
        """`session.add(x)`, then a flush or commit inside a handler of the duplicate: it counts for the add."""
        if self.catches_duplicates():
            for n in self.added:
                self.trace.events[n].handled = True
        self.added.clear()

    def op_rollback(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        if spec.entry.kind == "store" and receiver is not None and self._is_queue(receiver, state):
            self._set_marks(receiver, state, clear=True)
            self.end_watch(state)
            return self.values.none
        self.event(Expire, node, state)
        self.drop_units(state)
        self.span_ends(None, state, well=False, session=receiver)
        self.close_blocks(state)
        self.session_expired(state)
        return self.values.none

    def close_blocks(self, state: State) -> None:
        """commit() and rollback() end the transaction that began without a block."""
        self.release(state, "tx")

    def op_transaction(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        flags = frozenset(f for value in args.all() for f in self.isolation_flags(value))
        flags |= frozenset(f for _, value in bound.by_role.get("isolation", ()) if value.literal is True for f in ("serializable",))
        if any(value.literal is False for _, value in bound.by_role.get("precondition", ())):
            flags |= {"unchecked"}
        alias = self.other_database(bound.by_name.get("using"))
        if alias:
            flags |= {ALIAS + alias}
        return self.values.make(NOTHING, ref=("transaction", spec, None), flags=flags)

    @staticmethod
    def other_database(value: Optional[Value]) -> str:
        """Words for the database alias of `atomic(using="replica")`, where it is a constant and not the default's; '' otherwise."""
        if value is None or any(o.kind not in ("const", "global") for o in value.origins):
            return ""
        words = value.text or value.dotted or value.name
        return "" if not words or "default" in words.lower() else words

    def transaction_spec(self, dotted: str) -> Any:
        """The vocabulary's word for a context manager or decorator that is a transaction; None: it is none."""
        return next((s for s in self.vocabulary.functions(dotted) if s.op in ("transaction", "enter") and s.entry.kind in ("orm", "transaction")), None)

    # --- decorators -----------------------------------------------------------------------------------------------------------
    def contexts_of(self, definition: Any, state: State) -> list:
        """(decorator, spec or None, kind of lock, flags) of a function's decorators that are a transaction or a lock, outermost first."""
        found: list = []
        for decorator in getattr(definition, "decorators", ()):
            called = isinstance(decorator, ir.Call)
            name = self.static_name(decorator.func if called else decorator)
            if not name or self.is_own_function(name) or self.ask.dotted(name) is not None:
                if called and self.is_own_context(decorator, state):
                    found.append((decorator, None, "own", NOTHING))
                continue  # what a wrapper does is seen where the function is called through it
            spec = self.transaction_spec(name)
            flags = NOTHING
            if spec is not None and called:
                try:
                    flags = self.eval(decorator, state.copy()).flags
                except Dead:
                    pass
            last = name.rsplit(".", 1)[-1]
            if spec is not None:
                found.append((decorator, spec, "", flags))
            elif self.vocabulary.match("transaction", last) or last in ("commit_on_success",):
                found.append((decorator, None, "", flags))
            elif self.vocabulary.match("lock_factory", last):
                found.append((decorator, None, "pattern", flags))
        return found

    def is_own_context(self, decorator: Any, state: State) -> bool:
        """Does a called decorator of the project give a context manager: a generator's, a `ContextDecorator`, a transaction that it returns?"""
        try:
            ref = self.eval(decorator.func, state.copy()).ref
            if ref is None or ref[0] not in ("function", "class"):
                return False
            if ref[0] == "class":
                return ref[1].method("__enter__") is not None and any(base.rsplit(".", 1)[-1] == "ContextDecorator" for base in ref[1].library_bases())
            if ref[1].is_context_manager:
                return True
            kinds = ref[1].kinds
            if ref[1].info.end - ref[1].info.start > _SHORT or kinds is not None and not kinds & {"begin", "lock"}:
                return False
            made = self.eval(decorator, state.copy()).ref
        except Dead:
            return False
        return made is not None and made[0] in ("contextmanager", "transaction")

    def is_own_function(self, name: str) -> bool:
        found = self.ask.name(self.frames[-1].scope.module, name) if self.frames and "." not in name else None
        return found is not None and found[0] in ("function", "class")

    def in_contexts(self, definition: Any, contexts: list, frame: Any, body: Callable, state: State) -> Optional[State]:
        """Run a function's body inside the transactions and locks that its decorators hold."""
        if not contexts:
            return body(state)
        first = next((place for place, context in enumerate(contexts) if context[2] == "own"), len(contexts))
        if first < len(contexts):
            decorator, rest, innermost = contexts[first][0], contexts[first + 1:], body
            contexts = contexts[:first]

            def body(inner: State) -> Optional[State]:
                return self.enter_context(definition, decorator, self.eval(decorator, inner), inner,
                                          lambda within, _: self.in_contexts(definition, rest, frame, innermost, within))

            if not contexts:
                return body(state)
        entry = state.copy()
        held: list = []
        for decorator, spec, kind, flags in contexts:
            if kind:
                event = self.event(LockEvent, decorator, entry, "decorator")
                event.lock = token = Lock(kind, event.n, "block")
            else:
                event = self.event(Begin, decorator, entry, "decorator", label=spec.signature.last + "()" if spec is not None else "transaction")
                event.alias = _alias_in(flags)
                token = self.transaction_token(spec, event.n, flags)
                if spec is not None and spec.entry.fields.get("unit_of_work"):
                    self.session_expired(entry)  # each call has a session of its own
            entry.held |= {token}
            held.append((token, spec, decorator))

        def leave(left: State, commit: bool) -> None:
            for token, spec, decorator in reversed(held):
                if commit and spec is not None and spec.entry.fields.get("unit_of_work"):
                    event = self.event(Commit, decorator, left, "end", label="end of the function")
                    self.flush_units(None, decorator, left, None, commit=event.n)
                if token.kind == "pattern":
                    left.held -= {token}
                else:
                    self.close_transaction(token, left, commit)

        collector = self.collectors and type(self.collectors[-1])() or None
        if collector is not None:
            self.collectors.append(collector)
        try:
            end = body(entry)
        finally:
            if collector is not None:
                self.collectors.pop()
        returned = []
        for left, value in frame.returns:
            left = left.copy()
            leave(left, True)
            returned.append((left, value))
        frame.returns = returned
        for raised, types, cause in collector.raised if collector is not None else ():
            left = raised.copy()
            leave(left, False)
            self.rethrow(left, types, cause)
        if end is not None:
            end = end.copy()
            leave(end, True)
        return end

    def transaction_token(self, spec: Any, n: int, flags: frozenset) -> Lock:
        """What an open transaction holds. owner 'unit': of an ORM that checks at its end what was read in it, unless told not to ('atomic')."""
        level = (spec.get("isolation") or "") if spec is not None and hasattr(spec, "get") else ""
        serializable = "serializable" in flags or "serializable" in level.lower()
        if spec is not None and spec.entry.fields.get("optimistic"):
            return Lock("serializable" if serializable else "atomic" if "unchecked" in flags else "unit", n, "block", owner="unit")
        return Lock("serializable" if serializable else "atomic", n, "block")

    def op_after_commit(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        return self.values.none

    def op_lock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """A call that returns a lock object."""
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        return self.values.make(frozenset((own,)), same=frozenset((own,)), ref=("lock", spec))

    def op_enter_lock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`lock.acquire()`: held from here on; where it may fail (`blocking=False`, a timeout) only where a test of its answer says so."""
        event = self.event(LockEvent, node, state)
        event.lock = Lock(_lock_kind(spec), event.n, "session")
        # A file lock that cannot be had raises.
        if event.lock.kind == "file" or not spec.entry.fields.get("unsure") and all(value.literal is True or value.literal is None or value.literal == -1 for value in args.all()):
            state.held |= {event.lock}
        origin = Origin("lock", event.n)
        return self.values.make(frozenset((origin,)), same=frozenset((origin,)), flags=frozenset(("acquired",)))

    def op_unlock(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        self.release(state, "session")
        return self.values.none

    def transaction_method(self, receiver: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """`tx = transaction.atomic(); tx.__enter__() … tx.__exit__(…)` of a class that holds one."""
        if name in ("__enter__", "__aenter__"):
            spec = receiver.ref[1]
            event = self.event(Begin, node, state, "entered", label=spec.signature.last + "()" if hasattr(spec, "signature") else self.words(receiver))
            state.held |= {self.transaction_token(spec if hasattr(spec, "entry") else None, event.n, receiver.flags)}
            return receiver
        if name in ("__exit__", "__aexit__"):
            opened = [lock for lock in state.held if lock.kind in ("atomic", "serializable", "unit") and lock.scope == "block"]
            if opened:
                self.close_transaction(max(opened, key=lambda lock: lock.n), state)
            return self.values.none
        return None

    def library_context(self, node: Any, expression: Any, manager: Value, state: State, inside: Callable) -> Any:
        ref = manager.ref
        if ref is not None and ref[0] == "suppress":
            return self._suppressed(ref[1], state, inside, node)
        if ref is not None and ref[0] == "transaction":
            return self._transaction_block(ref[1], ref[2], manager, expression, state, inside)
        if manager.dotted:
            spec = self.transaction_spec(manager.dotted)
            if spec is not None:  # `with db_session:`, not called
                return self._transaction_block(spec, None, manager, expression, state, inside)
        if ref is not None and ref[0] == "lock":
            return self._lock_block(ref[1], expression, state, inside, manager)
        for typ in self.library_types(manager):
            for entry in self.vocabulary.entries_of_type(typ):
                if entry.kind == "lock" and entry.ops("take"):
                    continue  # a client in whose store a key can be a lock: entering it opens a connection
                if entry.kind == "lock":
                    return self._lock_block(entry, expression, state, inside, manager)
                if entry.kind == "transaction":
                    return self._transaction_block(entry.specs[0], None, manager, expression, state, inside)
                if entry.fields.get("context") == "transaction" and "autocommit" not in manager.flags:
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
            event.alias = _alias_in(manager.flags)
            token = self.transaction_token(spec if hasattr(spec, "entry") else None, event.n, manager.flags)
            state.held |= {token}
        bound = self.values.replace(manager, ref=None) if manager.typ else None
        if spec is not None and hasattr(spec, "get") and spec.get("savepoint"):
            return self._savepoint(token, bound, expression, state, inside)
        commits = manager.typ and any(e.fields.get("unit_of_work") for e in self.vocabulary.entries_of_type(manager.typ))
        commits = commits or spec is not None and bool(spec.entry.fields.get("unit_of_work"))

        def commit(left: State) -> None:
            if commits:
                event = self.event(Commit, expression, left, "exit", label="end of the block")
                self.flush_units(None, expression, left, None, commit=event.n)

        def leave(left: State) -> None:
            commit(left)
            self.commit_may_fail(token, left)
            self.close_transaction(token, left)

        end = self.leaving(inside, state, bound, leave, fail=lambda left: self.close_transaction(token, left, False))
        if end is None:
            return None
        end = end.copy()
        commit(end)
        self.commit_may_fail(token, end)
        self.close_transaction(token, end)
        return end

    def _savepoint(self, token: Lock, bound: Optional[Value], expression: Any, state: State, inside: Callable) -> Optional[State]:
        """`with session.begin_nested():` its end writes what was changed; the transaction around it goes on, with its locks."""
        def leave(left: State) -> None:
            left.held -= {token}

        end = self.leaving(inside, state, bound, leave)
        if end is not None:
            end = end.copy()
            self.flush_units(None, expression, end, None, commit=None)
            leave(end)
        return end

    def commit_may_fail(self, token: Lock, end: State) -> None:
        """The commit at the end of a block may be refused; that matters to what was done inside it for good."""
        inside = {n for tag, n in end.done if tag == "tx" and self.trace.events[n].kind == "effect" and token in self.trace.events[n].ctx.held}
        if inside and self.collectors:
            failed = end.copy()
            failed.won = NOTHING
            self.close_transaction(token, failed, False)
            self.throw(failed, frozenset(("*io", "*conflict")), ("commit", token.n))

    def _lock_block(self, spec: Any, expression: Any, state: State, inside: Callable, manager: Value) -> Optional[State]:
        event = self.event(LockEvent, expression, state)
        event.lock = Lock(_lock_kind(spec) if spec is not None else self._kind_by_name(manager), event.n, "block")
        entry = getattr(spec, "entry", spec)
        if entry is None or not entry.fields.get("unsure"):
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
        collector = Collector()
        self.collectors.append(collector)
        self.caught.append(frozenset().union(*(self.exception_names(t) or frozenset() for t in types)))
        end = inside(state, None)
        self.caught.pop()
        self.collectors.pop()
        wanted = frozenset().union(*(self.exception_names(t) or frozenset(("Exception",)) for t in types)) if types else frozenset()
        ends = [end]
        for raised, names, cause in collector.raised:
            answer = self.catches(wanted, names)
            if answer != "no":
                ends.append(self.suppressed_conflict(node, wanted, ends, raised, state))
            if answer != "yes":
                self.rethrow(raised, names, cause)
        return join_states(self.values, ends)


ALIAS = "alias:"


def _alias_in(flags: frozenset) -> str:
    return next((flag[len(ALIAS):] for flag in sorted(flags) if flag.startswith(ALIAS)), "")


#: Lines of a helper that only returns a transaction.
_SHORT = 15


def _lock_kind(spec: Any) -> str:
    get = spec.get if hasattr(spec, "get") else spec.fields.get
    if get("ttl"):
        return "ttl"
    return {"process": "process", "host": "file"}.get(get("scope") or "cluster", "session")
