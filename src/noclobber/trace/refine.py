"""Tests that refine a branch, exceptions and what catches them, annotations, globals, and the unknown values a root starts from."""
from __future__ import annotations

import builtins as _python
from typing import Any, Optional

from . import ir
from .calls import MAX_STEPS
from .causes import root_of
from .events import SOME, Test, Trace
from .mixing import NOT_ASKED, Mixing, joined_codes
from .objects import Dead, Obj, State, join_states
from .spans import OPEN, TRANSACTION
from .uniques import table_keys
from .values import CONST, NOTHING, NOT_LITERAL, UNKNOWN, Lit, Origin, Query, Value
from .verdicts import Verdicts

CONFLICT_CODES = frozenset((409, 412, 428))
_STATUS_STEPS = frozenset(("status_code", "status", "code", "http_status"))
_OK_STEPS = frozenset(("ok", "is_success", "acknowledged"))
#: What git says of a push that it refuses.
_REFUSALS = frozenset(("rejected", "[rejected]", "! [rejected]", "non-fast-forward", "fetch first", "(fetch first)", "failed to push some refs", "stale info"))
#: Exit codes: zero is success.
_EXIT_STEPS = frozenset(("returncode", "exit_code", "exitcode", "exit_status", "wait()"))
_BAD_STEPS = frozenset(("is_error", "is_client_error"))
_TESTABLE = frozenset(("read", "param", "opaque", "item", "answer"))
_ANY = frozenset(("Exception", "BaseException"))
#: Methods of containers, texts and files: a call of one says nothing of the class.
_CONTAINER_METHODS = frozenset(name for kind in (dict, list, set, str, bytes) for name in dir(kind)) | {"read", "write", "close", "open", "flush", "run", "execute", "save", "put", "send"}
#: Library exceptions below one another, as far as handlers in real code need it (requests 2.34, httpx 0.28, aiohttp 3.14, botocore 1.43).
_LIBRARY_BASES = {
    "HTTPError": ("RequestException", "OSError", "IOError"), "ConnectionError": ("RequestException", "OSError"),
    "Timeout": ("RequestException", "OSError"), "HTTPStatusError": ("HTTPError",), "ClientResponseError": ("ClientError",),
    "TransportError": ("RequestError", "HTTPError"), "StaleDataError": ("SQLAlchemyError",), "IntegrityError": ("DatabaseError", "DBAPIError", "SQLAlchemyError"),
    "OperationalError": ("DatabaseError", "DBAPIError", "SQLAlchemyError"), "ConditionalCheckFailedException": ("ClientError",),
}


class Refiner(Mixing, Verdicts):
    """Mixin of Walker."""

    _asked: tuple = ()

    # --- tests ----------------------------------------------------------------------------------------------------------------
    def test(self, node: Any, state: State) -> tuple:
        """(state where the test holds, state where it does not); None for a branch that cannot be taken."""
        kind = type(node)
        try:
            if kind is ir.Unary and node.op == "not":
                yes, no = self.test(node.operand, state)
                self.asked = self.asked[::-1]
                return no, yes
            if kind is ir.BoolOp:
                return self._bool_test(node, state)
            value = self.eval(node, state)
            if value.query is not None and value.query.verb == "select" and value.query.entry[0] == "orm" and not value.query.flags & {"manager"}:
                rows = self.select_rows(value, "many", node, state)  # `if queryset:` asks the database
                asked = [o for o in rows.origins if o.kind == "read" and not o.path]
                value = self.values.origin(max(asked, key=lambda o: o.n)) if asked else rows
            self.asked = NOT_ASKED
            return self.refine(value, node, state)
        except Dead:
            self.asked = NOT_ASKED
            return None, None

    def _bool_test(self, node: Any, state: State) -> tuple:
        current: Optional[State] = state
        others: list = []
        asked: list = []
        for operand in node.values:
            if current is None:
                break
            yes, no = self.test(operand, current)
            asked.append(self.asked)
            if node.op == "and":
                others.append(no)
                current = yes
            else:
                others.append(yes)
                current = no
        joined = join_states(self.values, others)
        if joined is not None:
            live = [s for s in others if s is not None]
            joined = joined.copy()
            # Which of the operands decided cannot be told: their tests hold on one way each.
            told = frozenset.intersection(*(s.control for s in live))
            some = frozenset(Origin("test", o.n, (*o.path, SOME)) for s in live for o in s.control - told if o.kind == "test" and len(o.path) == 1)
            joined.control = frozenset(o for s in live for o in s.control if o.kind != "test") | told | some
        self.asked = joined_codes(asked, node.op)
        return (current, joined) if node.op == "and" else (joined, current)

    def refine(self, value: Value, node: Any, state: State) -> tuple:
        ref = value.ref
        if ref is not None and ref[0] == "not":
            yes, no = self.refine(ref[1], node, state)
            self.asked = self.asked[::-1]
            return no, yes
        decided = self._decided(value)
        yes, no = state.copy(), state.copy()
        origins = frozenset(o for o in value.origins if o.kind not in ("const", "unknown"))
        tested = self.note_test(value, node, state)
        yes.control |= origins | ({Origin("test", tested, ("yes",))} if tested is not None else NOTHING)
        no.control |= origins | ({Origin("test", tested, ("no",))} if tested is not None else NOTHING)
        for branch in (yes, no):
            self.looked_at(branch, value, "tested")
            if self.swallows:
                self.fate_is_told(branch, value)
        if decided is not None:
            return (yes, None) if decided else (None, no)
        if ref is not None and ref[0] == "compare":
            _, left, op, right = ref
            self._compared(left, op, right, yes, no)
            self._compared(right, _MIRROR.get(op, op), left, yes, no)
            self.asked = self.codes_asked(left, op, right, yes)
        elif ref is not None and ref[0] == "isinstance":
            self._instance_test(ref[1], ref[2], yes, no)
        else:
            self._truth(value, yes, no)
            return self._in_transaction(value, yes, no)
        return yes, no

    def note_test(self, value: Value, node: Any, state: State) -> Optional[int]:
        """The number of the event of a test that looks at something read or handed in; None: it looks at nothing of the kind."""
        if not any(o.kind in _TESTABLE for o in value.origins) or getattr(node, "at", None) is None:
            return None
        left, op, right = (value.ref[1], value.ref[2], value.ref[3]) if value.ref is not None and value.ref[0] == "compare" else (value, "truth", self.values.none)
        return self.event(Test, node, state, op, left=left, op=op, right=right).n

    def _decided(self, value: Value) -> Optional[bool]:
        if type(value.shape) is Lit and "maybe-none" not in value.flags:
            return bool(value.shape.value)
        ref = value.ref
        if ref is not None and ref[0] == "compare":
            _, left, op, right = ref
            if self.dispatch is not None:
                decided = self.dispatched(left, op, right)
                if decided is not None:
                    return decided
            a, b = left.literal, right.literal
            if a is not NOT_LITERAL and b is not NOT_LITERAL and "maybe-none" not in left.flags and "maybe-none" not in right.flags:
                try:
                    return {"==": a == b, "!=": a != b, "is": a is b or a == b and a is None, "is not": not (a is b or a == b and a is None)}.get(op)
                except Exception:  # a literal's own comparison: nothing is known then
                    return None
            if op in ("is", "is not") and (left.is_none or right.is_none):
                other = right if left.is_none else left
                if "maybe-none" not in other.flags and (other.ref is not None and other.ref[0] in ("function", "local", "class")
                                                        or type(other.shape) is Lit or (other.objs and not other.same)):
                    return op == "is not"
        return None

    def _outcomes(self, value: Value) -> list:
        return [o for o in value.same | value.incr if o.kind == "outcome" and self.trace.events[o.n].kind == "write"]

    def _apply(self, origin: Origin, verdict: Optional[str], yes: State, no: State) -> None:
        """verdict: what the true branch means for the write, 'won' or 'lost'."""
        if verdict is None:
            return
        if verdict in ("other", "not other"):
            # `status >= 500`, `status == 503`: a failure that is no conflict.
            failed = yes if verdict == "other" else no
            failed.lost -= {origin.n}
            failed.won -= {origin.n}
            return
        good, bad = (yes, no) if verdict == "won" else (no, yes)
        if origin.n not in good.lost or origin.n in good.won:
            self.accepted(origin.n, good)  # else an earlier test has said that it failed: it is another failure than the conflict
        good.lost -= {origin.n}
        bad.lost |= {origin.n}
        bad.won -= {origin.n}

    def _locked(self, value: Value, yes: State, no: State) -> None:
        """What `acquire()` answered: the lock is held where it is true, and only there."""
        for origin in value.same:
            lock = self.trace.events[origin.n].lock if origin.kind == "lock" else self.tried.get(origin.n) if origin.kind == "read" else None
            if lock is not None:
                yes.held |= {lock}
                no.held -= {lock}

    def _made_here(self, value: Value, branch: Optional[State]) -> None:
        """`if obj._state.adding`, `if not obj.pk`: on this branch the object has no row yet."""
        if branch is None:
            return
        for origin in value.same:
            steps = tuple(str(step) for step in origin.path[-2:])
            adding = steps == ("_state", "adding")
            cut = 2 if adding else 1 if steps[-1:] in (("pk",), ("id",)) else 0
            if not cut:
                continue
            base = origin._replace(path=origin.path[:-cut])
            for oid, obj in list(branch.heap.items()):
                if obj.origin == base and obj.kind in ("row", "path", "part", "instance") and (adding or obj.read is None):
                    branch.put(oid, obj.but(new=True))

    def _told_new(self, value: Value, yes: State, no: State) -> None:
        """`def handler(sender, instance, created)`, `save_model(request, obj, form, change)`: the framework says whether the row was just made."""
        names = {str(o.n) for o in value.same if o.kind == "param" and not o.path}
        if len(names) != 1:
            return
        (name,) = names
        last = name.rpartition(":")[2]
        for entry in self.vocabulary.entries("orm"):
            for text in entry.fields.get("made_if", ()) or ():
                asked, _, row = text.partition(" -> ")
                if asked.removeprefix("not ") != last:
                    continue
                branch = no if asked.startswith("not ") else yes
                own = Origin("param", name.removesuffix(last) + row)
                for oid, obj in list(branch.heap.items()):
                    if obj.origin == own and obj.kind == "path" and obj.model is not None and obj.read is None:
                        branch.put(oid, obj.but(new=True))

    def _in_transaction(self, value: Value, yes: State, no: State) -> tuple:
        """`if connection.in_atomic_block: on_commit(f)`, else at once: the branch without a transaction is not taken where one is open."""
        steps = [str(o.path[-1] if str(o.path[-1]) != "()" or len(o.path) == 1 else o.path[-2]) for o in value.same if o.path]
        asked = steps or ([value.name] if value.name else [])
        if not asked or not all(self.vocabulary.match("in_transaction", step) for step in asked):
            return yes, no
        if any(lock.kind in OPEN and lock.scope == "block" for lock in no.held):
            return yes, None
        no.done = frozenset(mark for mark in no.done if mark[0] != TRANSACTION)
        return yes, no

    def _truth(self, value: Value, yes: State, no: State) -> None:
        self._locked(value, yes, no)
        self.skipped(value, yes, no)
        self.answered(value, "truth", None, yes, no)
        if any(str(o.path[-1]) == "adding" for o in value.same if o.path):
            self._made_here(value, yes)
        elif any(str(o.path[-1]) in ("pk", "id") for o in value.same if o.path):
            self._made_here(value, no)
        elif value.name and any(o.kind == "param" for o in value.same):
            self._told_new(value, yes, no)
        for origin in self._outcomes(value):
            last = str(origin.path[-1]) if origin.path else ""
            if last.startswith("@"):
                self.answer_truth(origin, yes, no)
            elif last in _BAD_STEPS or last in _EXIT_STEPS:
                self._apply(origin, "lost", yes, no)
            elif last in _STATUS_STEPS:
                continue
            elif self.trace.events[origin.n].outcome == "status" and last not in _OK_STEPS and origin.path:
                continue
            else:
                self._apply(origin, "won", yes, no)

    def _compared(self, left: Value, op: str, right: Value, yes: State, no: State) -> None:
        if right.is_none and op in ("is", "==", "is not", "!="):
            self._made_here(left, yes if op in ("is", "==") else no)
        if op in ("is", "==", "is not", "!=") and (right.is_none or right.literal in (True, False)):
            had = (right.literal in (True,)) == (op in ("is", "=="))
            self._locked(left, *((yes, no) if had else (no, yes)))
        if op in ("in", "not in") and left.text is not None:
            for origin in self._outcomes(right):
                if str(origin.path[-1] if origin.path else "") in ("stderr", "stdout") and left.text.lower() in _REFUSALS:
                    self._apply(origin, "lost" if op == "in" else "won", yes, no)
        self.answered(left, op, right, yes, no)
        for origin in self._outcomes(left):
            self._asked = (origin.n,)
            if origin.path and str(origin.path[-1]).startswith("@"):
                self.apply_answer(origin, op, right, yes, no)
                continue
            self._apply(origin, self._outcome_verdict(origin, op, right, yes), yes, no)
        if any(o.kind == "exc" for o in left.origins):
            self._exception_code(op, right, yes, no)

    def _outcome_verdict(self, origin: Origin, op: str, right: Value, state: State) -> Optional[str]:
        last = str(origin.path[-1]) if origin.path else ""
        literal = right.literal
        if op in ("is", "==") and right.is_none:
            return "lost"
        if op in ("is not", "!=") and right.is_none:
            return "won"
        if literal is True or literal is False:
            if op in ("is", "=="):
                return "won" if literal else "lost"
            return "lost" if literal else "won"
        if last in _STATUS_STEPS or self.trace.events[origin.n].outcome == "status":
            return self._status_verdict(op, right, state)
        if isinstance(literal, str):
            refused = literal.rstrip().endswith(" 0")
            return {"==": "lost" if refused else "won", "!=": "won" if refused else "lost"}.get(op)
        if last in _EXIT_STEPS and isinstance(literal, int):
            return {"==": "won" if literal == 0 else "lost", "!=": "lost" if literal == 0 else "won", ">": "lost", ">=": "lost"}.get(op)
        if isinstance(literal, (int, float)):
            if op == "==":
                return "lost" if literal == 0 else "won"
            if op == "!=":
                return "won" if literal == 0 else "lost"
            if op in (">", ">="):
                return "won"
            if op in ("<", "<="):
                return "lost"
        if op == "==":
            return "won"
        if op in ("!=", "<"):
            return "lost"
        return None

    def _codes(self, value: Value, state: State) -> set:
        found: set = set()
        for part in [value, *(self.known_items(value, state) or []), *([self.member(value, state)] if value.objs else [])]:
            literal = part.literal
            if isinstance(literal, int):
                found.add(literal)
            elif isinstance(literal, str):
                found.add(literal)
            name = part.dotted.rsplit(".", 1)[-1]
            if name:
                found |= self.status_named(name) or {name.lower()}
        return found

    @staticmethod
    def status_named(name: str) -> set:
        """The code that a constant such as `CONFLICT`, `HTTP_409_CONFLICT`, `too_many_requests` names."""
        if name != name.lower() and name != name.upper():
            return set()  # a class: `exceptions.Conflict`
        lower = name.lower()
        if lower.startswith("http_") and lower[5:8].isdigit():
            return {int(lower[5:8])}
        code = _STATUS_NAMES.get(lower)
        return {code} if code is not None else set()

    def _status_verdict(self, op: str, right: Value, state: State) -> Optional[str]:
        codes = self._codes(right, state)
        conflict = bool(codes & CONFLICT_CODES)
        fine = any(isinstance(c, int) and 200 <= c < 300 for c in codes)
        if conflict:
            for origin in self._asked:
                self.trace.events[origin].conflict_handled = True
        failed = any(isinstance(c, int) and c >= 400 for c in codes)
        if op in ("==", "in"):
            return "lost" if conflict else "won" if fine else "other" if failed else None
        if op in ("!=", "not in"):
            return "won" if conflict else "lost" if fine else "not other" if failed else None
        beyond = any(isinstance(c, int) and not isinstance(c, bool) and c > 412 for c in codes)
        if op in ("<", "<="):
            return "not other" if beyond else "won"
        if op in (">", ">="):
            return "other" if beyond else "lost"
        return None

    def _exception_code(self, op: str, right: Value, yes: State, no: State) -> None:
        """`err.response["Error"]["Code"] == "ConditionalCheckFailed…"`: which branch is the conflict's?"""
        codes = self._codes(right, yes)
        texts = [c for c in codes if isinstance(c, str)]
        conflict = bool(codes & CONFLICT_CODES) or any(self.vocabulary.match("conflict_exception", t) for t in texts)
        if op in ("<", "<=", ">", ">=") and any(isinstance(c, int) and not isinstance(c, bool) and 412 < c < 600 for c in codes):
            (yes if op in (">", ">=") else no).lost -= self.handling_writes[-1] if self.handling_writes else NOTHING
            return
        if op not in ("==", "!=", "in", "not in") or not codes:
            return
        same, other = (yes, no) if op in ("==", "in") else (no, yes)
        innermost = self.handling_writes[-1] if self.handling_writes else NOTHING
        if conflict:
            other.lost -= innermost
        else:
            same.lost -= innermost

    def _instance_test(self, subject: Value, classes: Value, yes: State, no: State) -> None:
        if not any(o.kind == "exc" for o in subject.origins):
            return
        names = self.exception_names(classes) or NOTHING
        self.asked = (names, NOTHING)
        innermost = self.handling_writes[-1] if self.handling_writes else NOTHING
        if any(self.vocabulary.match("conflict_exception", name) for name in names):
            no.lost -= innermost
        elif names:
            yes.lost -= innermost

    def pattern_outcome(self, pattern: Any, subject: Value, state: State, rest: State) -> Optional[State]:
        """What a case of `match` says of a write: `state` where it matches, `rest` where it does not."""
        expressions = _alternatives(pattern)
        if not expressions:
            return state
        values = [self.eval(expression, state) for expression in expressions]
        self.note_case(pattern, subject, values, state, rest)
        for origin in self._outcomes(subject):
            self._asked = (origin.n,)
            verdicts = {self._outcome_verdict(origin, "==", value, state) for value in values}
            verdict = "lost" if "lost" in verdicts else verdicts.pop() if len(verdicts) == 1 else None
            if origin.path and str(origin.path[-1]).startswith("@"):
                self.apply_answer(origin, "==", values[0], state, rest)
            else:
                self._apply(origin, verdict, state, rest)
        codes = frozenset().union(*(self.codes_asked(subject, "==", value, state)[0] for value in values))
        if any(o.kind == "exc" for o in subject.origins):
            for value in values:
                self._exception_code("==", value, state, rest)
        self.asked = (codes, NOTHING)
        self.note_codes(pattern, state, rest)
        return state

    def note_case(self, pattern: Any, subject: Value, values: list, state: State, rest: State) -> None:
        """`case "queued":` is a test of the subject like `== "queued"`, `case "a" | "b":` one like `in ("a", "b")`."""
        if not any(o.kind in _TESTABLE for o in subject.origins) or getattr(pattern, "at", None) is None:
            return
        joined = values[0]
        for value in values[1:]:
            joined = self.values.join(joined, value)
        tested = self.event(Test, pattern, state, "case", left=subject, op="==" if len(values) == 1 else "in", right=joined).n
        state.control |= {Origin("test", tested, ("yes",))}
        rest.control |= {Origin("test", tested, ("no",))}

    # --- exceptions -----------------------------------------------------------------------------------------------------------
    def exception_names(self, value: Value, deep: bool = False) -> Optional[frozenset]:
        """Names of the exception classes that a value names; None = cannot be told."""
        ref = value.ref
        if ref is not None:
            if ref[0] == "dotted":
                return frozenset((_short(ref[1]),))
            if ref[0] == "class":
                return frozenset((ref[1].type_name,))
            if ref[0] == "localclass":
                return frozenset((ref[1],))
            if ref[0] in ("function", "local"):
                return self._predicate_names(ref)
            if ref[0] == "column":
                return frozenset((ref[2],))
        if value.typ:
            return frozenset((value.typ if value.typ.startswith("class:") else _short(value.typ),))
        found: set = set()
        for oid in value.objs:
            for state in (self.module_state, *(self.live_states[-1:])):
                obj = state.heap.get(oid) if state is not None else None
                if obj is not None:
                    for inner in [*obj.fields.values(), *([obj.elem] if obj.elem is not None else [])]:
                        names = self.exception_names(inner, deep)
                        if names is None:
                            return None
                        found |= names
                    break
        if found:
            return frozenset(found)
        if deep or not value.objs:
            for origin in value.origins:
                if origin.kind == "global" and _names_a_class(str(origin.n)):
                    name = str(origin.n)
                    found.add(name if name.startswith("class:") else _short(name))
        return frozenset(found) or None

    def raised_classes(self, value: Value, state: State) -> Optional[frozenset]:
        """The classes of the instances that a value may be (`raise error_for(status)`); None where one of them cannot be told."""
        found: set = set()
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind not in ("instance", "new") or obj.cls is None:
                return None
            found.add(obj.cls if isinstance(obj.cls, str) else obj.cls.type_name)
        return frozenset(found) or None

    def is_transient(self, wanted: Any) -> bool:
        """A handler for lost connections, timeouts and throttling only."""
        return bool(wanted) and all(_last(name) in _TRANSPORT or self.vocabulary.match("transient_exception", _last(name)) for name in wanted)

    def _predicate_names(self, ref: tuple) -> Optional[frozenset]:
        """The classes that a predicate such as `lambda e: isinstance(e, Conflict)` tests for."""
        definition = ref[1].definition() if ref[0] == "function" else self.local_functions[ref[1]][0]
        found: set = set()
        stack = [definition]
        while stack:
            node = stack.pop()
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "isinstance" and len(node.args) > 1:
                wanted = node.args[1].value
                for item in wanted.items if isinstance(wanted, ir.TupleX) else (wanted,):
                    name = self.static_name(item) if isinstance(item, (ir.Name, ir.Attr)) else ""
                    if isinstance(item, ir.Name):
                        value = self.module_name(item.id, State())
                        names = self.exception_names(value)
                        found |= names or set()
                    elif name:
                        found.add(_short(name))
            if isinstance(node, ir.Node):
                for field in node._fields:
                    stack.append(getattr(node, field))
            elif isinstance(node, tuple):
                stack.extend(node)
        return frozenset(found) or None

    def handler_names(self, handler: Any, state: State) -> Optional[frozenset]:
        if handler.types is None:
            return None
        if isinstance(handler.types, ir.TupleX):
            found: set = set()
            for item in handler.types.items:
                names = self.exception_names(self.eval(item, state.copy()))
                found |= names if names is not None else {"?"}
            return frozenset(found)
        value = self.eval(handler.types, state.copy())
        self.live_states.append(state)
        try:
            return self.exception_names(value) or frozenset(("?",))
        finally:
            self.live_states.pop()

    def catches(self, wanted: Optional[frozenset], types: Optional[frozenset]) -> str:
        """Does a handler for `wanted` (None: bare) catch an exception of `types` (None: any)? yes | maybe | no."""
        if wanted is None or any(_last(name) in _ANY for name in wanted):
            return "yes"
        if types is None:
            return "maybe"
        answers = [self._catches_one(wanted, name) for name in types]
        if all(a == "yes" for a in answers):
            return "yes"
        return "no" if all(a == "no" for a in answers) else "maybe"

    def _catches_one(self, wanted: frozenset, name: str) -> str:
        if name.startswith("*io"):
            if all(self.is_from_elsewhere(w, name) for w in wanted):
                return "no"
            return "no" if all(self.vocabulary.match("conflict_exception", _last(w)) or w.startswith("class:") or _last(w) in _LOCAL_ERRORS for w in wanted) else "maybe"
        if name == "*conflict":
            return "no" if all(_last(w) in _TRANSPORT or _last(w) in _LOCAL_ERRORS for w in wanted) else "maybe"
        ancestors = self._ancestors(name)
        if any(_last(w) in ancestors for w in wanted):
            return "yes"
        if name.startswith("class:") or hasattr(_python, _last(name)):
            return "no" if "?" not in wanted else "maybe"
        # Two library classes: only what is known to be unrelated is ruled out.
        for w in wanted:
            if w == "?":
                return "maybe"
            if w.startswith("class:") or hasattr(_python, _last(w)):
                continue
            if root_of(w) and root_of(name) and root_of(w) != root_of(name):
                continue
            if self.is_transient((w,)) and (name in _ANSWERS or self.vocabulary.match("conflict_exception", _last(name))):
                continue
            return "maybe"
        return "no"

    def _ancestors(self, name: str) -> set:
        found = {_last(name)}
        if name.startswith("class:"):
            cls = self.ask.klass_of(name)
            if cls is not None:
                found |= {_last(a) for a in cls.ancestors()}
        for known in list(found):
            exception = getattr(_python, known, None)
            if isinstance(exception, type) and issubclass(exception, BaseException):
                found |= {base.__name__ for base in exception.__mro__}
            stack = list(_LIBRARY_BASES.get(known, ()))
            while stack:
                base = stack.pop()
                if base not in found:
                    found.add(base)
                    stack += _LIBRARY_BASES.get(base, ())
        return found

    def is_general_error(self, name: str) -> bool:
        """An error that any call may meet (network, database, operating system), not a conflict class of the project."""
        return not name.startswith("class:") and not self.vocabulary.match("conflict_exception", _last(name))

    def exception_value(self, handler: Any, state: State) -> Value:
        origin = Origin("exc", self.object_id_of(("exc", id(handler.at), self.frames[-1].calls)))
        return self.values.origin(origin, name=handler.name or "")

    # --- iteration ------------------------------------------------------------------------------------------------------------
    def element_of(self, iterable: Value, node: Any, state: State) -> tuple:
        """(value of the loop variable, key of the item origin or None when the loop counts attempts)."""
        if iterable.query is not None:
            iterable = self.evaluated_query(iterable, node, state)
        pair = self.dump_iteration(iterable, node, state)
        if pair is not None:
            return pair, self.object_id_of(("item", id(node.at), self.frames[-1].calls))
        last = self.last_of(iterable, state)
        if last is not None:
            element = last
        else:
            element = self.member(iterable, state)
        if element.typ is None and iterable.typ and self.vocabulary.known_type(iterable.typ):
            pass
        origins = self.deep(state, element) | iterable.origins
        if any(o.kind in ("read", "param", "opaque", "outcome") for o in origins):
            key = self.object_id_of(("item", id(node.at), self.frames[-1].calls))
            if isinstance(node, ir.For) and isinstance(node.target, ir.Name):
                element = self.as_object(element, state)  # it may be a record whose fields are changed in the loop
                self.related_element(iterable, element, state)
            return self.values.replace(element, origins=(element.origins - {CONST}) | {Origin("item", key)}), key
        return element, None

    def is_counted(self, node: Any) -> bool:
        """`range(n)`, `count()`, a literal tuple of pauses."""
        return isinstance(node, ir.Call) and isinstance(node.func, (ir.Name, ir.Attr)) and _name_of(node.func) in ("range", "count", "repeat", "islice")

    def counts_attempts(self, node: Any, iterable: Value, item: Any, state: State) -> bool:
        """Does the loop count attempts (`range(n)`, a tuple of pauses), or does it go over things?"""
        if self.is_counted(node.iter) or self.is_endless(iterable):
            return True
        known = self.known_items(iterable, state)
        if known:
            return all(isinstance(value.literal, (int, float)) for value in known)
        return item is None and not iterable.objs

    def is_endless(self, iterable: Value) -> bool:
        return "endless" in iterable.flags

    # --- annotations ------------------------------------------------------------------------------------------------------------
    def annotation_type(self, node: Any, scope: Any = None) -> Optional[str]:
        """The type that an annotation names: dotted, or 'class:…' of the project; None for containers and what is not known."""
        module = scope.module if scope is not None else self.frames[-1].scope.module
        return self._annotation(node, module, 0)

    def _annotation(self, node: Any, module: Any, depth: int) -> Optional[str]:
        if depth > 6:
            return None
        if isinstance(node, (ir.Name, ir.Attr)):
            dotted = ir.dotted(node)
            if not dotted:
                return None
            found = self.ask.resolve(module, dotted)
            if found is None:
                return None
            if found[0] == "class":
                return found[1].type_name
            if found[0] == "import":
                return found[1]
            if found[0] == "global":
                value = self.ask.alias(found[1], found[2])
                return self._annotation(value, found[1], depth + 1) if value is not None else None
            return None
        if isinstance(node, ir.Sub):
            head = ir.dotted(node.value).rsplit(".", 1)[-1]
            if head in ("Optional", "Annotated", "Mapped", "Final", "ClassVar", "Required", "NotRequired", "Union", "Type", "type"):
                inner = node.index.items if isinstance(node.index, ir.TupleX) else (node.index,)
                if head in ("Type", "type"):
                    return None
                for item in inner:
                    found = self._annotation(item, module, depth + 1)
                    if found:
                        return found
                return None
            if head in ("AsyncIterator", "Iterator", "Generator", "AsyncGenerator", "list", "List", "dict", "Dict", "tuple", "Tuple", "set", "Sequence", "Iterable",
                        "Callable", "Awaitable", "Coroutine", "Mapping", "frozenset", "Collection"):
                return None
            return self._annotation(node.value, module, depth + 1)
        if isinstance(node, ir.Bin) and node.op == "|":
            return self._annotation(node.left, module, depth + 1) or self._annotation(node.right, module, depth + 1)
        return None

    # --- globals and the values of a root ------------------------------------------------------------------------------------------
    def global_value(self, module: Any, name: str, state: State) -> Value:
        found = self.ask.global_statements(module, name)
        if found is None:
            return self.values.origin(Origin("global", f"{module.name}:{name}"), name=name)
        value = self.evaluated_constant(("global", module.name, name), found, name, state)
        if type(value.shape) is Lit and name in module.index.rebound:
            # `_maker = None`, which a function sets by `global _maker`: what it holds at a time is not known.
            return self.values.origin(Origin("global", f"{module.name}:{name}"), typ=value.typ, name=name)
        return value

    def evaluated_constant(self, key: tuple, found: tuple, name: str, state: State) -> Value:
        """The value of a module- or class-level name: its statements are walked, once for each root."""
        from .walk import Frame

        known = self.constants.get(key)
        if known is not None:
            value, heap = known
            for oid, obj in heap.items():
                if oid not in state.heap:
                    state.put(oid, obj)
            return value
        own = self.values.origin(Origin("global", f"{key[1]}:{name}"), name=name)
        self.constants[key] = (own, {})
        scope, excerpt, statements = found
        if len(self.frames) > 12:
            return own
        frame = Frame(scope, excerpt, scope.qualname, ("constant",) + key)
        inner = state.with_env({})
        inner.held = NOTHING
        before = state.heap
        self.frames.append(frame)
        saved = self.collectors, self.regions, self.active
        self.collectors, self.regions = [], []
        try:
            end = self.block(statements, inner)
            made = end.env.get(name) if end is not None else None
            if made is not None and key[0] == "global" and self.can_have_policy(made):
                end = self.block(self.ask.global_calls(scope.module, name), end)
        finally:
            self.frames.pop()
            self.collectors, self.regions, self.active = saved
        value = end.env.get(name) if end is not None else None
        if value is None:
            return own
        if value.shape is None and not value.same and value.ref is None and value.query is None:
            # Not a literal: the name itself is its identity.
            value = self.values.replace(value, origins=value.origins | own.origins, same=own.same)
        if not value.name and value.ref is None:
            value = self.values.replace(value, name=name)
        if self.is_table(value):
            self.declared_tables.update(dict.fromkeys(value.objs, table_keys(statements)))
        if name.isupper() and value.ref is None and value.query is None and not value.objs:
            value = self.values.replace(value, flags=value.flags | {"constant"})  # set once, whatever it was read from
        heap = {oid: obj for oid, obj in end.heap.items() if before.get(oid) is not obj}
        for oid, obj in heap.items():
            state.put(oid, obj)
        self.constants[key] = (value, heap)
        return value

    def parameters_as_unknown(self, definition: Any, scope: Any, state: State, prefix: str = "", nested: bool = False) -> dict:
        """nested: a function inside the scope's, which has no `self` of its own. The names a root starts with: parameters that nothing is known of but their annotation; `self` with what `__init__` makes of it."""
        env: dict = {}
        params = definition.params.items
        for place, param in enumerate(params):
            name = f"{prefix}{param.name}"
            if place == 0 and scope.cls is not None and not nested and not scope.is_static and param.kind in ("pos", "posonly"):
                if scope.is_class_method:
                    env[param.name] = self.class_value(scope.cls)
                else:
                    env[param.name] = self.self_object(scope, state, init=scope.name != "__init__")
                    self.frames[-1].self_value = env[param.name]
                continue
            typ = self.annotation_type(param.annotation, scope) if param.annotation is not None else None
            if typ is None and param.annotation is None and param.kind == "pos" and len(self.frames) == 1:
                typ = self.class_by_use(definition, param.name, scope)
            value = self.values.origin(Origin("param", name), typ=typ, name=param.name)
            if param.kind == "var":
                value = self.values.make(frozenset((Origin("param", name),)), name=param.name)
            if param.kind == "varkw":
                oid = self.object_id_of(("kwargs", name))
                state.put(oid, Obj("path", Origin("param", name), label=param.name))
                value = self.values.origin(Origin("param", name), objs=frozenset((oid,)), name=param.name)
            if typ and typ.startswith("class:") and param.kind not in ("var", "varkw"):
                cls = self.ask.klass_of(typ)
                if cls is not None and self.orm_of_class(cls) is None and len(self.frames) < 4:
                    value = self.instance_parameter(cls, name, param.name, state)
                elif cls is not None:
                    oid = self.object_id_of(("path", Origin("param", name)))
                    state.put(oid, Obj("path", Origin("param", name), label=param.name, cls=cls))
                    value = self.values.replace(value, objs=frozenset((oid,)))
            env[param.name] = value
        self.rows_handed_in(env, [param.name for param in params], prefix, state)
        return env

    def class_by_use(self, definition: Any, name: str, scope: Any) -> Optional[str]:
        """The one class of the module that has all the methods which are called on a parameter without annotation; two at least, of
        names that no container has. None: there is none, or more than one."""
        called: set = set()
        stack: list = list(definition.body) if isinstance(definition.body, tuple) else [definition.body]
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                stack.extend(node)
                continue
            if not isinstance(node, ir.Node):
                continue
            if isinstance(node, (ir.FunctionDef, ir.Lambda)):
                continue
            if isinstance(node, ir.Assign) and any(isinstance(target, ir.Name) and target.id == name for target in node.targets):
                return None
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and isinstance(node.func.value, ir.Name) and node.func.value.id == name:
                called.add(node.func.name)
            stack.extend(getattr(node, field) for field in node._fields)
        if len(called - _CONTAINER_METHODS) < 2:
            return None
        module = scope.module
        found = [key for key, info in module.index.classes.items() if called <= info.methods.keys()]
        return module.klass(found[0]).type_name if len(found) == 1 else None

    def rows_handed_in(self, env: dict, names: list, prefix: str, state: State) -> None:
        """Parameters by which a framework hands a row in (`def handler(sender, instance, **kwargs)`), or a query of several: of that ORM, by their names only."""
        for entry in self.vocabulary.entries("orm"):
            for text in entry.fields.get("row_parameters", ()) or ():
                wanted, _, row = text.partition(" -> ")
                several = row.endswith("[]")
                row = row.removesuffix("[]")
                if row not in env or env[row].objs or not set(wanted.split(", ")) <= set(names):
                    continue
                if several and (not env[row].typ or env[row].typ.endswith("QuerySet")):
                    env[row] = self.values.make(env[row].origins, query=Query((entry.kind, entry.id), "select", (), flags=frozenset(("open",))), name=row)
                    continue
                if env[row].typ or several:
                    continue
                oid = self.object_id_of(("path", Origin("param", prefix + row)))
                state.put(oid, Obj("path", Origin("param", prefix + row), label=row, model=((entry.kind, entry.id), None)))
                env[row] = self.values.replace(env[row], objs=frozenset((oid,)))

    def self_object(self, scope: Any, state: State, init: bool = True) -> Value:
        oid = self.object_id_of(("self", scope.cls.type_name))
        origin = Origin("param", "self")
        value = self.values.origin(origin, objs=frozenset((oid,)), typ=scope.cls.type_name, name="self")
        if oid in state.heap:
            return value
        state.put(oid, Obj("instance", origin, cls=scope.cls, label="self"))
        if init:
            self.initialise(scope.cls, value, state)
        return value

    def instance_parameter(self, cls: Any, origin_name: str, name: str, state: State) -> Value:
        """A parameter that is an instance of a class of the project: its attributes are what `__init__` makes them."""
        origin = Origin("param", origin_name)
        oid = self.object_id_of(("instance", origin))
        value = self.values.origin(origin, objs=frozenset((oid,)), typ=cls.type_name, name=name)
        state.put(oid, Obj("instance", origin, cls=cls, label=name))
        self.initialise(cls, value, state)
        return value

    def initialise(self, cls: Any, value: Value, state: State) -> None:
        """Give an instance that came from outside the attributes that its `__init__` sets.

        `__init__` ran at another time: its events are not ours. It is walked once for each way to such an instance, and what its
        attributes derive from are the objects and parameters it was made of, never a read of this trace.
        """
        key = (cls.type_name, value)
        if key not in self.selves:
            self.selves[key] = {}
            if len(self.frames) <= 6:
                other = type(self)(self.ask, self.vocabulary, self.values, self.shared)
                other.trace = Trace(cls.name)
                other.frames, other.active = list(self.frames), list(self.active)
                other.steps = MAX_STEPS - MAX_INIT_STEPS
                before = State()
                for oid in value.objs:
                    before.put(oid, state.heap[oid])
                other.run_init(cls, value, before)
                self.selves[key] = {oid: self.without_events(obj) for oid, obj in before.heap.items()}
        for oid, obj in self.selves[key].items():
            if oid not in state.heap or oid in value.objs:
                state.put(oid, obj)

    def without_events(self, obj: Obj) -> Obj:
        fields = {name: self.detached(value) for name, value in obj.fields.items()}
        origin = obj.origin if obj.origin is None or obj.origin.kind not in ("read", "outcome") else None
        return obj.but(fields=fields, elem=self.detached(obj.elem) if obj.elem is not None else None, pending=NOTHING, changed=NOTHING, read=None,
                       origin=origin, model=obj.model if origin is not None else None)

    def detached(self, value: Value) -> Value:
        """The value without reads and outcomes of another trace."""
        if not any(o.kind in ("read", "outcome") for o in value.origins | value.same | value.incr):
            return value
        keep = frozenset(o for o in value.origins if o.kind not in ("read", "outcome"))
        return self.values.replace(value, origins=keep or frozenset((UNKNOWN,)), same=value.same & keep, incr=value.incr & keep)

    def run_init(self, cls: Any, value: Value, state: State) -> None:
        from .walk import Frame

        init = cls.method("__init__")
        if init is None or init.key in self.active or len(self.frames) > 6:
            return
        definition = init.definition()
        if definition is None:
            return
        frame = Frame(init, init.excerpt(), init.qualname, self.frames[-1].calls + (("init", init.key),))
        frame.self_value = value
        self.frames.append(frame)
        self.active.append(init.key)
        saved = self.collectors, self.regions
        self.collectors, self.regions = [], []
        try:
            label = next(iter(value.same)).n if value.same else value.name
            env = self.parameters_as_unknown_below(definition, init, state, f"{label}.", value)
            inner = state.with_env(env)
            end = self.block(definition.body, inner)
            states = [s for s, _ in frame.returns] + [end]
        finally:
            self.collectors, self.regions = saved
            self.active.pop()
            self.frames.pop()
        joined = join_states(self.values, states)
        if joined is not None:
            held, unchecked, done = state.held, state.unchecked, state.done
            restored = joined.with_env(state.env)
            restored.control = state.control
            state.adopt(restored)
            state.held, state.unchecked, state.done = held, unchecked, done
            for oid in value.objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    state.put(oid, obj.but(pending=NOTHING, changed=NOTHING))

    def parameters_as_unknown_below(self, definition: Any, scope: Any, state: State, prefix: str, self_value: Value) -> dict:
        env: dict = {}
        for place, param in enumerate(definition.params.items):
            if place == 0:
                env[param.name] = self_value
                continue
            typ = self.annotation_type(param.annotation, scope) if param.annotation is not None else None
            if typ and typ.startswith("class:"):
                cls = self.ask.klass_of(typ)
                if cls is not None and self.orm_of_class(cls) is None and len(self.frames) < 5:
                    env[param.name] = self.instance_parameter(cls, prefix + param.name, param.name, state)
                    continue
            env[param.name] = self.values.origin(Origin("param", prefix + param.name), typ=typ, name=param.name)
        return env

    def attribute_elsewhere(self, cls: Any, name: str, this: Value, state: State) -> Optional[Value]:
        """An attribute of self that another method than `__init__` sets: what is assigned there, evaluated with unknown parameters."""
        from .walk import Frame

        found = cls.annotation(name)
        if found is not None:
            typ = self.annotation_type(found[1], found[0])
            if typ:
                (origin,) = this.same or (Origin("param", "self"),)
                return self.values.origin(origin.at(name), typ=typ, name=name)
        key = ("elsewhere", cls.type_name, name)
        if key in self.active or len(self.frames) > 5:
            return None
        result: Optional[Value] = None
        self.active.append(key)
        try:
            for scope, expression in self.ask.attribute_writers(cls, name):
                if scope.name == "__init__" or scope.key in self.active:
                    continue
                frame = Frame(scope, scope.excerpt(), scope.qualname, self.frames[-1].calls + (("elsewhere", scope.key, name),))
                self.frames.append(frame)
                saved = self.collectors, self.regions
                self.collectors, self.regions = [], []
                try:
                    definition = scope.definition()
                    env = self.parameters_as_unknown_below(definition, scope, state, f"{scope.name}.", this) if definition is not None else {}
                    held = state.held
                    trial = state.with_env(env)
                    value = self.eval(expression, trial)
                    for oid in value.objs:
                        if oid in trial.heap and oid not in state.heap:
                            state.put(oid, trial.heap[oid])
                    state.held = held
                except Dead:
                    continue
                finally:
                    self.collectors, self.regions = saved
                    self.frames.pop()
                result = value if result is None else self.values.join(result, value)
        finally:
            self.active.remove(key)
        if result is not None and result.typ is None and result.ref is None:
            return None
        return result


def asks_for_duplicate(handler: Any) -> bool:
    """`except Exception as error: if "unique" in str(error).lower(): …`: is the error of a refused duplicate told apart by its text?"""
    if not handler.name:
        return False
    stack = [test for statement in handler.body if isinstance(statement, ir.If) for test, _ in statement.branches]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Const):
            if isinstance(node.value, str) and any(word in node.value.lower() for word in _DUPLICATE_WORDS):
                return True
        elif isinstance(node, ir.Node):
            stack += [getattr(node, field) for field in node._fields]
    return False


#: What the texts and codes of such errors say.
_DUPLICATE_WORDS = ("unique", "duplicate", "23505")


def _alternatives(pattern: Any) -> list:
    """The expressions of `case 409 | 412:`; empty for any other pattern."""
    if pattern.kind == "value":
        return list(pattern.values)
    if pattern.kind == "or":
        found = [_alternatives(part) for part in pattern.parts]
        return [value for values in found for value in values] if all(found) else []
    return []


_STATUS_NAMES = {
    "precondition_failed": 412, "conflict": 409, "precondition_required": 428, "ok": 200, "created": 201, "no_content": 204, "accepted": 202, "too_many_requests": 429,
    "too_many": 429, "service_unavailable": 503, "unavailable": 503, "bad_gateway": 502, "gateway_timeout": 504, "internal_server_error": 500, "request_timeout": 408, "not_found": 404,
}
#: Steps that one `__init__` may take.
MAX_INIT_STEPS = 1_000
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_TRANSPORT = frozenset(("ConnectionError", "ConnectTimeout", "ReadTimeout", "Timeout", "TimeoutError", "ConnectionResetError", "TransportError", "ConnectError",
                        "TimeoutException", "ClientConnectionError", "ClientConnectorError", "ServerDisconnectedError", "EndpointConnectionError", "NetworkError",
                        "OSError", "IOError", "ConnectTimeoutError", "ReadTimeoutError", "ChunkedEncodingError", "OperationalError", "InterfaceError"))
_LOCAL_ERRORS = frozenset(("KeyError", "IndexError", "ValueError", "TypeError", "AttributeError", "LookupError", "AssertionError", "StopIteration", "JSONDecodeError",
                           "UnicodeDecodeError", "ZeroDivisionError", "DoesNotExist", "NoResultFound", "ImportError", "NotImplementedError", "NameError"))


def _last(name: str) -> str:
    return name.replace(":", ".").rsplit(".", 1)[-1]


def _short(dotted: str) -> str:
    return dotted[9:] if dotted.startswith("builtins.") else dotted


def _names_a_class(name: str) -> bool:
    return _last(name)[:1].isupper()


def _name_of(node: Any) -> str:
    return node.id if isinstance(node, ir.Name) else node.name


#: Exceptions that are the server's answer: no handler for a lost connection catches them.
_ANSWERS = frozenset(("botocore.exceptions.ClientError", "kubernetes.client.exceptions.ApiException", "googleapiclient.errors.HttpError"))
