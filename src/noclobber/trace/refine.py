"""Tests that refine a branch: what is known where a condition has held, and where it has not."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import SOME, Test
from .exceptions import Exceptions
from .mixing import NOT_ASKED, Mixing, joined_codes
from .objects import Dead, State, join_states
from .parameters import Parameters
from .spans import OPEN, TRANSACTION
from .values import NOT_LITERAL, NOTHING, Lit, Origin, Value
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


class Refiner(Exceptions, Parameters, Mixing, Verdicts):
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
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
