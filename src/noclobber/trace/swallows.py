"""Refusals that end nowhere: a handler or a branch met a conflict, and neither an exception nor the value that comes back tells of it.

A handler that only logs, waits, rolls back or assigns marks its path; what is assigned there carries the mark as an origin. Where the function
of the handler ends, the values that come back on marked and on other paths are compared. A new attempt, a raise, a test of what was assigned,
a re-read that comes back and everything that is done beside logging end the mark's meaning.
"""
from __future__ import annotations

from typing import Any, Iterable, Optional

from . import ir
from .events import Swallow, Write
from .limits import raises_at_last
from .objects import State
from .values import NOTHING, Lit, Origin, Value

#: Marks of `State.done`: a way that only logs, the way beside it that met no refusal, the same handler entered for something else, and what that was is asked there.
_MARKS = ("swallow", "passed", "besides", "asked")
_BROAD = frozenset(("Exception", "BaseException", "?"))
_IDLE_CALLS = frozenset(("rollback", "arollback", "close", "aclose", "str", "repr", "int", "float", "len", "min", "max", "format", "isinstance", "getattr", "uniform",
                         "random", "randint", "expire_all", "expunge_all", "expire", "total_seconds", "join", "get", "time", "monotonic", "perf_counter", "items", "dict"))
_ENDED_WELL = frozenset(("ok", "success", "succeeded", "saved", "updated", "done", "stored", "written", "resolved"))
_WELL = ("ok", "success", "saved", "updated", "done")
_FAILED_HARD = ("500", "INTERNAL_SERVER_ERROR", "InternalServerError")


class Met:
    """A conflict that a handler being walked has met. writes: those whose refusal led here; general: by the class of the exception alone."""

    __slots__ = ("event", "writes", "general", "handler", "raises", "io")

    def __init__(self, event: Any, writes: frozenset, general: bool, handler: Any, raises: dict) -> None:
        self.event, self.writes, self.general, self.handler, self.raises = event, writes, general, handler, raises
        self.io = False

    def holds(self, state: State) -> bool:
        return self.general or bool(self.writes & state.lost)


class Swallows:
    """Mixin of Walker."""

    # --- what a conflict is ---------------------------------------------------------------------------------------------------------
    def witnessed(self, n: int) -> bool:
        """Was it the version of the record that the store refused? A state that has moved on, or something that is there already, is none."""
        write = self.trace.events[n]
        return isinstance(write, Write) and any(p.kind == "witness" and type(p.value.shape) is not Lit for p in write.preconditions)

    def bounded(self, n: int) -> bool:
        """`SET cents = cents - :n` on the condition `cents >= :n`: what was to be taken was not there."""
        write = self.trace.events[n]
        return isinstance(write, Write) and any(p.kind == "bound" and p.column in write.self_columns for p in write.preconditions)

    def of_version(self, event: Any) -> bool:
        """Is it a lost race that was met, and not only a bound?"""
        return event.general or any(self.witnessed(n) for n in event.lost)

    def is_version_conflict(self, name: str) -> bool:
        """An exception class that an ORM raises for a lost race."""
        return bool(self.vocabulary.listed("conflict_errors", name)) and self.vocabulary.match("conflict_exception", _last(name))

    def met_by(self, wanted: Optional[frozenset], lost: frozenset) -> tuple:
        """(writes, by class alone) of the conflict that a handler for `wanted` meets; ((), False): none."""
        if wanted is None or any(_last(name) in _BROAD for name in wanted):
            return NOTHING, False
        writes = frozenset(n for n in lost if self.witnessed(n) or self.bounded(n))
        writes = frozenset(n for n in writes if "*conflict" not in self.trace.events[n].conflict or any(self.vocabulary.match("conflict_exception", _last(w)) for w in wanted))
        return writes, not writes and any(self.is_version_conflict(name) for name in wanted)

    # --- handlers --------------------------------------------------------------------------------------------------------------------
    def open_swallow(self, event: Swallow, node: Any, body: Iterable, name: str, wanted: Optional[frozenset], entry: State, before: State, raises: dict, io: bool) -> None:
        """io: a transport failure leads here as well."""
        writes, general = self.met_by(wanted, entry.lost - before.lost)
        met = Met(event, writes, general, node, raises)
        met.io = io
        self.met.append(met)
        if not writes and not general:
            entry.done |= {("besides", event.n)}  # the same handler, entered for something else
            if io:
                self.met_by_failures.add(event.n)
            return
        self.note_swallow(event, writes, general)
        raises.setdefault("met", set()).add(event.n)
        if self.only_idles(body, name) and not _gives_up(body, name) and not self.tells_by_count(node):
            entry.done |= {("swallow", event.n)}

    def close_swallow(self, body: Iterable, end: Optional[State]) -> None:
        met = self.met.pop()
        if end is not None and (met.writes or met.general):
            self.mark_assigned(body, met.event.n, end)
        elif end is not None and any(o.kind == "exc" for o in end.control):
            end.done |= {("asked", met.event.n)}

    def note_swallow(self, event: Swallow, writes: frozenset, general: bool) -> None:
        event.lost |= writes
        event.general |= general
        self.swallows = True

    def mark_assigned(self, body: Iterable, n: int, end: State) -> None:
        """What is assigned on a marked path tells of it."""
        for name in _assigned(body):
            value = end.env.get(name)
            if value is not None:
                end.bind(name, self.values.replace(value, origins=value.origins | {Origin("fate", n)}))

    def only_idles(self, body: Iterable, name: str) -> bool:
        """Nothing but logging, waiting, rolling back, assigning names, leaving: nobody else is told."""
        return all(self._idles(statement, name) for statement in body)

    def _idles(self, node: Any, name: str) -> bool:
        if isinstance(node, tuple):
            return all(self._idles(inner, name) for inner in node)
        if isinstance(node, ir.If):
            return all((_asks_about(test, name) or self._idles(test, name)) and self._idles(body, name) for test, body in node.branches) and self._idles(node.orelse, name)
        if not isinstance(node, ir.Node):
            return True
        if isinstance(node, (ir.Yield, ir.YieldFrom, ir.FunctionDef, ir.Lambda)):
            return False
        if isinstance(node, (ir.Assign, ir.AugAssign, ir.AnnAssign)):
            targets = node.targets if isinstance(node, ir.Assign) else (node.target,)
            if not all(isinstance(target, ir.Name) for target in targets):
                return False
        if isinstance(node, ir.Call) and not isinstance(node, ir.Raise):
            func, root = node.func, node.func
            last = func.id if isinstance(func, ir.Name) else func.name if isinstance(func, ir.Attr) else ""
            while isinstance(root, ir.Attr):
                root = root.value
            holder = func.value.id if isinstance(func, ir.Attr) and isinstance(func.value, ir.Name) else func.value.name if isinstance(func, ir.Attr) and isinstance(func.value, ir.Attr) else ""
            logs = self.vocabulary.match("harmless", last) and (not holder or self.vocabulary.match("harmless_receiver", holder) or last in ("info", "warning", "debug", "exception", "error"))
            if logs:
                return True
            if not (last in _IDLE_CALLS or self.vocabulary.match("suspending", last) and last in ("sleep", "wait") or isinstance(root, ir.Name) and root.id == name):
                return False
        if isinstance(node, ir.Return):
            return True  # what comes back is compared
        if isinstance(node, ir.Raise):
            return True
        return all(self._idles(getattr(node, field), name) for field in node._fields)

    # --- branches ----------------------------------------------------------------------------------------------------------------------
    def branch_swallow(self, test: Any, body: Any, branch: Optional[State], other: Optional[State], before: State) -> Optional[Any]:
        """`if row is None: log(…)`: the branch of a refusal that goes on as if nothing was. Returns the event, or None."""
        if branch is None or not body or not (branch.lost - before.lost):
            return None
        writes = frozenset(n for n in branch.lost - before.lost if self.witnessed(n) and (other is None or n not in other.lost)
                           and self.trace.events[n].outcome in ("count", "row", "result", "status"))
        if not writes or not self.only_idles(body, "") or self.goes_to_next(body) and (all(self.claims_state(n) for n in writes) or self.tells_by_count(body[-1])):
            return None
        event = self.event(Swallow, test, branch, "branch", types=NOTHING)
        self.note_swallow(event, writes, False)
        if isinstance(body[-1], ir.Return) and _claims_success(body[-1].value):
            event.verdicts.add("success")
        branch.done |= {("swallow", event.n)}
        if other is not None:
            other.done |= {("passed", event.n)}
        return event

    def attempts_run_out(self, region: Any, node: Any, before: State, exits: State) -> None:
        """`if cur.rowcount: return` and nothing for the other case: after the last attempt the function goes on with its refusal.

        A loop whose handlers or last attempt raise ends otherwise; one that reads nothing anew has another fault."""
        writes = frozenset(n for n in exits.lost - before.lost - exits.won if n in region.event.retried and self.witnessed(n)
                           and self.trace.events[n].outcome in ("count", "row", "result", "status") and self.is_read_anew(n, region))
        told = frozenset(n for mark in exits.done if mark[0] == "swallow" for n in self.trace.events[mark[1]].lost)
        if writes and not writes & told and not raises_at_last(node):
            event = self.event(Swallow, node, exits, "run out", types=NOTHING)
            self.note_swallow(event, writes, False)
            exits.done |= {("swallow", event.n)}

    def is_read_anew(self, n: int, region: Any) -> bool:
        """Does the version that a write compares come from a read in the loop?"""
        return any(o.kind == "read" and region.id in self.trace.events[o.n].ctx.loops for p in self.trace.events[n].preconditions if p.kind == "witness" for o in p.value.origins)

    def goes_to_next(self, body: Any) -> bool:
        """`continue` in a loop over many records: this one is left to whoever was faster."""
        return isinstance(body[-1], ir.Continue) and bool(self.regions) and self.regions[-1].event.items

    def tells_by_count(self, node: Any) -> bool:
        """Inside a loop over many records, where those that were stored are counted or collected beside this node, and the function returns that."""
        if not self.regions or not self.regions[-1].event.items:
            return False
        scope = self.frames[-1].scope
        body = scope.body() if hasattr(scope, "body") else ()
        around = [loop for loop in _inside(body, ir.For) if any(inner is node for inner in _inside(loop.body, type(node)))]
        if not around:
            return False
        counted = _collected(around[-1].body, node)
        return bool(counted) and any(returned.value is not None and _names(returned.value) & counted for returned in _inside(body, ir.Return))

    def claims_state(self, n: int) -> bool:
        """Does the write lead its record out of the very state that its condition asks for?"""
        write = self.trace.events[n]
        written = {name for name, _ in write.columns or ()}
        return any(p.kind == "state" and p.column in written for p in write.preconditions)

    # --- what ends a mark ---------------------------------------------------------------------------------------------------------------
    def fate_is_told(self, state: State, value: Value) -> None:
        told = {o.n for o in value.origins if o.kind == "fate"}
        if told:
            state.done = frozenset(mark for mark in state.done if mark[0] != "swallow" or mark[1] not in told)

    def is_done_about(self, state: State) -> None:
        """Something is done beside logging on a way that only the refused take: it is dealt with."""
        passed = {mark[1] for mark in state.done if mark[0] == "passed"}
        told = {mark[1] for mark in state.done if mark[0] == "swallow" and mark[1] not in passed and not self.trace.events[mark[1]].lost & state.won}
        if told:
            state.done = frozenset(mark for mark in state.done if mark[0] != "swallow" or mark[1] not in told)

    def is_idle_call(self, name: str) -> bool:
        return name in _IDLE_CALLS or self.vocabulary.match("suspending", name)

    def passed_by(self, raises: dict, end: Optional[State]) -> Optional[State]:
        """The way of a `try` that met no exception."""
        met = raises.get("met")
        if end is None or not met:
            return end
        end = end.copy()
        end.done |= {("passed", n) for n in met}
        return end

    def without_swallows(self, state: State, region: Any = None) -> frozenset:
        """region: only the marks made inside it (a new attempt is made)."""
        if not self.swallows:
            return state.done
        return frozenset(mark for mark in state.done if mark[0] not in _MARKS or region is not None and region.id not in self.trace.events[mark[1]].ctx.loops)

    def note_raise(self, node: Any, types: Optional[frozenset], state: State) -> None:
        """A raise in a handler that has met a conflict: is it the error that a lost connection raises as well, or a generic 500?"""
        if not self.met or node.exc is None or types is None:
            return
        met = self.met[-1]
        held = met.holds(state)
        if held and self.of_version(met.event) and _mentions(node.exc, _FAILED_HARD) and not self.asked_again(met, state):
            met.event.verdicts.add("generic")
        if any(o.kind == "exc" for o in state.control):
            return  # its code was asked
        if met.general or _tells(node.exc, met.handler.name or "") or any(self.vocabulary.match("conflict_exception", _last(name)) for name in types):
            return
        if held or met.io:
            met.raises.setdefault(("at", id(node)), set()).add(met.event.n if held else "io")

    def asked_again(self, met: Met, state: State) -> bool:
        """Has the handler read since, and looked at what it got? Then the conflict was told apart from what is left."""
        reads = {event.n for event in self.trace.events[met.event.n + 1:] if event.kind == "read"}
        return bool(reads) and any(o.kind == "test" and any(p.kind == "read" and p.n in reads for p in self.trace.events[o.n].left.origins) for o in state.control)

    def flattened(self, raises: dict) -> None:
        for key, found in raises.items():
            if key != "met" and "io" in found:
                for n in found - {"io"}:
                    if self.of_version(self.trace.events[n]):
                        self.trace.events[n].verdicts.add("flattened")

    # --- where the function of the handler ends -------------------------------------------------------------------------------------------
    def judge_swallows(self, frame: Any) -> None:
        """Compare what comes back on marked paths with what comes back on the others; then the marks of this function are gone."""
        if not self.swallows:
            return
        if frame.fallen is not None:
            frame.returns = [*frame.returns, (frame.fallen, self.values.none)]
        marks = {mark[1] for state, _ in frame.returns for mark in state.done if mark[0] == "swallow"}
        own = {n for n in marks if self.trace.events[n].ctx.calls == frame.calls}
        only_turns = bool(frame.calls) and frame.calls[-1][0] in self.turns
        for n in own:
            event = self.trace.events[n]
            accepted = [(state, value) for state, value in frame.returns if ("swallow", n) not in state.done and ("besides", n) not in state.done]
            failed = [value for state, value in frame.returns if ("besides", n) in state.done and ("asked", n) not in state.done] if n in self.met_by_failures else []
            for state, value in frame.returns:
                if ("swallow", n) not in state.done or not (event.general or event.lost & state.lost):
                    continue
                if only_turns and isinstance(value.literal, bool):
                    continue  # "look for more work": nobody takes it for a success
                verdict = self.verdict_of(n, value, state, accepted, ("passed", n) in state.done)
                if not verdict and (value.literal is False or value.is_none) and value in failed and not any(o.kind == "exc" for o in state.control):
                    verdict = "flattened"  # None for a lost race as for a lost connection, and nobody has asked which it was
                if verdict == "success" or verdict and self.of_version(event):
                    event.verdicts.add(verdict)
        if own:
            frame.returns = [(self._unmarked(state, own), value) for state, value in frame.returns]

    def note_turns(self, node: ir.While) -> None:
        """`while self.handle_one(): pass`, `while True: if not handle_one(): break`: the answer of the call says whether there is more to do."""
        tests = [node.test, *(test for statement in node.body if isinstance(statement, ir.If) for test, body in statement.branches
                              if self.only_idles(body, "") and self.only_idles(statement.orelse, ""))]
        while tests:
            test = tests.pop()
            if isinstance(test, ir.BoolOp):
                tests += test.values
            elif isinstance(test, ir.Unary):
                tests.append(test.operand)
            elif isinstance(test, ir.Await):
                tests.append(test.value)
            elif isinstance(test, ir.Call):
                self.turns.add(id(test.at))

    @staticmethod
    def _unmarked(state: State, own: set) -> State:
        state = state.copy()
        state.done = frozenset(mark for mark in state.done if mark[0] not in _MARKS or mark[1] not in own)
        return state

    def verdict_of(self, n: int, value: Value, state: State, accepted: list, joined: bool = False) -> str:
        """joined: the ways of the refused and of the accepted have come together before this return."""
        origins = self.deep(state, value)
        if any(o.kind == "fate" and o.n == n for o in origins):
            return ""
        if any(o.kind == "read" and o.n > n for o in origins):
            return ""  # read again: the caller gets what the winner wrote
        if any(o.kind in ("exc", "outcome") for o in origins):
            return ""
        if (value.literal is False or value.is_none) and any(other.literal is not False and not other.is_none for _, other in accepted):
            return ""  # what success never returns, though a way that did not come to the write does (`if outbid: return False`)
        if joined or not accepted or any(value is other or self._alike(value, state, other, its) for its, other in accepted):
            return "dropped" if value.is_none else "success"
        return "success" if value.literal is True or self._says_well(value, state) else ""

    def _alike(self, value: Value, state: State, other: Value, its: State) -> bool:
        """Two values that a caller cannot tell apart."""
        if value.objs and value.objs == other.objs:
            return True
        mine, theirs = self.mapping_items(value, state), self.mapping_items(other, its)
        return bool(mine) and mine.keys() == (theirs or {}).keys() and all(mine[key] is theirs[key] for key in mine)

    def _says_well(self, value: Value, state: State) -> bool:
        for step, inner in (self.mapping_items(value, state) or {}).items():
            if step.strip("[]'\"").lower() in _ENDED_WELL and inner.literal is True:
                return True
            if step.strip("[]'\"").lower() in ("status", "result", "state") and inner.text in _WELL:
                return True
        return False

    def note_generic(self, node: Any, state: State) -> None:
        """`return {…}, 500` in a handler that has met a conflict; or `return jsonify(ok=True)`."""
        if not self.met or not self.met[-1].holds(state) or node.value is None:
            return
        if _mentions(node.value, _FAILED_HARD) and self.of_version(self.met[-1].event):
            self.met[-1].event.verdicts.add("generic")
        elif _claims_success(node.value):
            self.met[-1].event.verdicts.add("success")

    def suppressed_conflict(self, node: Any, wanted: frozenset, ends: list, raised: State, before: State) -> State:
        """`with suppress(StaleDataError): …`."""
        writes, general = self.met_by(wanted, raised.lost - before.lost)
        if writes or general:
            event = self.event(Swallow, node, raised, "suppress", types=wanted)
            self.note_swallow(event, writes, general)
            raised = raised.copy()
            raised.done |= {("swallow", event.n)}
        return raised


def _last(name: str) -> str:
    return name.replace(":", ".").rsplit(".", 1)[-1]


def _asks_about(node: Any, name: str) -> bool:
    """`if is_conflict(error):`, `if not _stale(error, 412):`: a helper is asked about the exception."""
    while isinstance(node, (ir.Unary, ir.Await)):
        node = node.operand if isinstance(node, ir.Unary) else node.value
    return bool(name) and isinstance(node, ir.Call) and isinstance(node.func, (ir.Name, ir.Attr)) and any(isinstance(arg.value, ir.Name) and arg.value.id == name for arg in node.args) and all(
        isinstance(arg.value, (ir.Name, ir.Const, ir.Attr)) for arg in node.args)


def _gives_up(body: Iterable, name: str) -> bool:
    """`if attempt == times - 1: raise`: the attempts end with the error, whatever stands after the loop."""
    stack = list(body)
    told = {name}  # the exception, and what was taken out of it (`code = exc.response["Error"]["Code"]`)
    for node in body:
        if isinstance(node, ir.Assign) and _names(node.value) & told:
            told |= {target.id for target in node.targets if isinstance(target, ir.Name)}
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.If):
            for test, inner in node.branches:
                if not told & _names(test) and any(isinstance(statement, ir.Raise) for statement in inner):
                    return True
            stack += [inner for _, inner in node.branches]
    return False


def _assigned(body: Iterable) -> set:
    """Names that a body assigns; a counter (`tries -= 1`) tells nothing."""
    found: set = set()
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ir.Name)}
            for target in node.targets:
                if isinstance(target, ir.Name) and _names(node.value) & {target.id}:
                    found.discard(target.id)  # `delay = delay * 2`
        elif isinstance(node, ir.Node) and not isinstance(node, (ir.FunctionDef, ir.Lambda)):
            stack += [getattr(node, field) for field in node._fields]
    return found


def _inside(body: Any, kind: Any) -> list:
    """The nodes of a kind in these statements, outer ones first; not those of functions in them."""
    found: list = []
    stack = [body]
    while stack:
        node = stack.pop(0)
        if isinstance(node, kind):
            found.append(node)
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Node) and not isinstance(node, (ir.FunctionDef, ir.Lambda)):
            stack += [getattr(node, field) for field in node._fields]
    return found


_COLLECTING = frozenset(("append", "add", "extend", "insert", "update", "setdefault"))


def _collected(body: Any, but: Any) -> set:
    """Names that are counted up, or into which something is put, outside of one node."""
    found: set = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if node is but:
            continue
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Node) and not isinstance(node, (ir.FunctionDef, ir.Lambda)):
            if isinstance(node, ir.AugAssign) and isinstance(node.target, ir.Name):
                found.add(node.target.id)
            elif isinstance(node, ir.Assign):
                found |= {target.value.id for target in node.targets if isinstance(target, ir.Sub) and isinstance(target.value, ir.Name)}
            elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _COLLECTING and isinstance(node.func.value, ir.Name):
                found.add(node.func.value.id)
            stack += [getattr(node, field) for field in node._fields]
    return found


def _names(node: Any) -> set:
    found: set = set()
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack += item
        elif isinstance(item, ir.Name):
            found.add(item.id)
        elif isinstance(item, ir.Node):
            stack += [getattr(item, field) for field in item._fields]
    return found


def _mentions(node: Any, words: tuple) -> bool:
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack += item
        elif isinstance(item, ir.Const):
            if item.value == 500 and not isinstance(item.value, bool):
                return True
        elif isinstance(item, (ir.Name, ir.Attr)):
            name = item.id if isinstance(item, ir.Name) else item.name
            if any(word in name for word in words):
                return True
            stack += [item.value] if isinstance(item, ir.Attr) else []
        elif isinstance(item, ir.Node):
            stack += [getattr(item, field) for field in item._fields]
    return False


def _claims_success(node: Any) -> bool:
    """An answer that says so in words: `jsonify(ok=True)`, `Response({"status": "saved"})`; not where it names the conflict as well."""
    claims = False
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack += item
            continue
        if not isinstance(item, ir.Node):
            continue
        if isinstance(item, ir.Const) and (item.value in (409, 412) or isinstance(item.value, str) and "conflict" in item.value.lower()):
            return False
        named = [(arg.keyword, arg.value) for arg in item.args if arg.keyword] if isinstance(item, ir.Call) else \
            [(key.value, value) for key, value in item.items if isinstance(key, ir.Const)] if isinstance(item, ir.DictX) else []
        for name, value in named:
            word = value.value if isinstance(value, ir.Const) else None
            if "conflict" in str(name).lower() or "stale" in str(name).lower():
                return False
            claims |= str(name).lower() in _ENDED_WELL and word is True or name in ("status", "result", "state") and isinstance(word, str) and word.lower() in _WELL
        stack += [getattr(item, field) for field in item._fields]
    return claims


def _tells(node: Any, name: str) -> bool:
    """Does a raised error carry the exception, a part of it, or a conflict's code? Its text alone does not."""
    if not isinstance(node, ir.Call):
        return isinstance(node, ir.Name) and node.id == name
    for arg in node.args:
        value = arg.value
        while isinstance(value, (ir.Attr, ir.Sub)):
            value = value.value
        if name and isinstance(value, ir.Name) and value.id == name or isinstance(value, ir.Const) and value.value in (409, 412):
            return True
    return False


