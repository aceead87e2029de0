"""The walk: abstract interpretation of one scope in evaluation order; its result is a Trace.

This module holds statements and branches; roots, loops, handlers are in modules of that name. Expressions are in `evaluate`,
calls in `calls`, what library calls mean in `stores`, tests that refine a branch in `refine`.
"""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .calls import Calls
from .causes import Causes
from .dependencies import Dependencies
from .entering import ENTERING_STEPS
from .evaluate import Evaluator
from .events import Context, Event, RaiseEvent, Site, Trace
from .frames import Collector, Elsewhere, Frame, Region
from .handlers import Handlers
from .limits import RAISED, TimeLimits
from .loops import Loops
from .objects import Dead, State, join_states
from .refine import Refiner
from .roots import Roots
from .stores import Stores
from .swallows import Swallows
from .tools import Tools
from .values import NOTHING, Origin, Value, Values

MAX_STEPS = 6_000  # statements and calls of one root, helpers included; then the trace is incomplete
FILE_STEPS = 120_000  # of all roots of a file; each further root enters helpers for LATE_STEPS only
LATE_STEPS = 200


class Walker(Roots, Dependencies, Loops, Handlers, Evaluator, Calls, Stores, TimeLimits, Tools, Swallows, Refiner, Causes):
    """Walks one root. `ask` answers questions about names, functions and classes; `vocabulary` says what library calls do."""

    def __init__(self, ask: Any, vocabulary: Any, values: Values, shared: Optional[dict] = None) -> None:
        """shared: what the walks of one module have in common, {'objects': …, 'keep': …, 'selves': …}."""
        self.ask, self.vocabulary, self.values = ask, vocabulary, values
        shared = shared if shared is not None else {}
        self.trace: Trace
        self.frames: list[Frame] = []
        self.regions: list[Region] = []
        self.collectors: list[Collector] = []
        self.index: dict[tuple, Event] = {}
        self.objects: dict[tuple, int] = shared.setdefault("objects", {})
        self.selves: dict[str, Any] = shared.setdefault("selves", {})  # what __init__ makes of an instance
        self.shared = shared
        self.steps = 0
        self.active: list = []  # functions on the stack, for recursion
        self.beside = False  # this walk only asks which locks a function takes
        self.handed = False  # the function that is entered next was handed in as a callback
        self.handling: list = []  # exception names of the handlers being walked
        self.handling_writes: list = []  # writes whose refusal led into them
        self.live_states: list = []
        self.met: list = []  # conflicts that the handlers being walked have met
        self.swallows = False  # some handler or branch has met a conflict
        self.files: list = []  # (path, read whose answer was stored there)
        self.streams: set = set()  # writes whose payload is what is written into their result
        self.member_of: Optional[int] = None  # place of the operation of a batch that is looked at
        self.worktree: Optional[Origin] = None  # the last read of a command (`git fetch`)
        self.module_state = State()
        self.local_functions: dict = shared.setdefault("functions", {})
        self.remembered: list = shared.setdefault("arguments", [])
        self.constants: dict = {}
        self.keep: list = shared.setdefault("keep", [])  # nodes whose id() names an object
        self.own_sessions: set = set()  # origins of the sessions that a `with` of this walk has opened
        self.caught: list = []  # names of the exceptions that the open try blocks catch
        self.tried_reads: list = []  # numbers of the reads of one row in them
        self.added: set = set()  # creates that wait for the flush
        self.declared_tables: dict = {}  # object of a table that a module makes → (columns of its primary key, columns that are unique together)
        self.first_creates: dict = {}  # new object → number of the write that creates its row
        self.undecorated: dict[tuple, Any] = {}  # functions as the wrappers of their decorators get them
        self.answers: dict = {}
        self.sent: Optional[dict] = None  # write → preconditions, while one more attempt is tried
        self.decorating: list = []  # places of the decorators whose wrappers are being walked; None inside the function itself
        self.tried: dict[int, Any] = {}  # reads that asked for a lock → the lock
        self._instance_methods: Optional[frozenset] = None
        self.inner: list = []  # functions inside the root that are exposed to a model: (value, exposure, state)
        self.watched: Any = None  # the inner function whose returns are wanted, and these
        self.watched_returns: list = []
        self.met_by_failures: set = set()  # numbers of the handlers that a transport failure leads to as well
        self.turns: set = set()  # handles of calls whose answer only says whether a loop goes on
        self.sought: frozenset = NOTHING  # functions that a caller is walked for; other helpers are entered only when they hold something
        self.dispatch: Optional[str] = None  # of the tools behind a dispatching function the one that is looked at
        self.dispatch_names: frozenset = NOTHING
        self.sifted: dict = {}  # object id of a list: the tests that its members have passed
        self.handed_at: Optional[Site] = None  # the call that handed the statement being run to the helper that runs it
        self.ended: Optional[State] = None
        self.root_returns: list = []  # (state, value) of what the root gives back

    # --- entry -------------------------------------------------------------------------------------------------------
    def walk(self, root: Any) -> Trace:
        """root: a scope of `ask` (function, loose module statements, loose class statements)."""
        self.trace = Trace(root.qualname)
        self.trace.match = self.vocabulary.match
        self.trace.entry = self.entry_point(root)
        info = getattr(root, "info", None)
        self.trace.route = info is not None and any(self.vocabulary.match("route_decorator", text.split("(")[0]) for text in info.decorators if "." in text)
        account = "steps sought" if self.sought else "steps"  # who looks for one callee has steps of his own
        spent = self.shared.get(account, 0)
        first = self.steps = 0 if spent < FILE_STEPS else ENTERING_STEPS - LATE_STEPS
        state = State()
        frame = Frame(root, root.excerpt(), root.qualname, ())
        self.frames.append(frame)
        try:
            definition = root.definition()
            if definition is None:
                end = self.block(root.body(), state)
                self.finish(end, frame)
            else:
                self.active.append(root.key)
                args = self.parameters_as_unknown(definition, root, state)
                self.rows_depended_on(definition, root, args, state)
                self.retried_body(definition, root, state, frame, args)
            self.note_body(root, definition, frame, self.ended)
            self.walk_returned(frame)
        finally:
            self.frames.pop()
            self.shared[account] = spent + self.steps - first
        return self.trace

    # --- events ------------------------------------------------------------------------------------------------------
    def site(self, node: Any) -> Site:
        if type(node) is Elsewhere:
            return node.site
        frame = self.frames[-1]
        return Site(frame.excerpt, node.at if node is not None else None, frame.function, frame.scope.path)

    def context(self, state: State) -> Context:
        return Context(tuple(r.id for r in self.regions), state.control, state.held, self.frames[-1].calls, state.unchecked, state.freed)

    def event(self, cls: type, node: Any, state: State, *extra: Any, **fields: Any) -> Event:
        """The event of this site; made on first sight, its facts joined on later rounds. `extra` tells apart several at one node."""
        site = self.site(node)
        calls = self.frames[-1].calls if type(node) is not Elsewhere else node.calls
        key = (cls.kind, id(site.at), calls) + extra
        if self.member_of is not None:
            key += ("member", self.member_of)
        found = self.index.get(key)
        context = self.context(state)
        if calls is not context.calls:
            context = context._replace(calls=calls)
        if found is None:
            found = cls(len(self.trace.events), site, context)
            self.index[key] = found
            self.trace.events.append(found)
            for name, value in fields.items():
                setattr(found, name, value)
            return found
        found.ctx = found.ctx._replace(control=found.ctx.control | context.control, held=found.ctx.held & context.held, unseen=found.ctx.unseen | context.unseen,
                                      freed=found.ctx.freed | context.freed)
        for name, value in fields.items():
            old = getattr(found, name)
            if isinstance(value, Value) and isinstance(old, Value):
                value = self.values.join(old, value)
            elif isinstance(value, frozenset) and isinstance(old, frozenset):
                value = old | value
            elif name == "columns" and value and old and len(value) == len(old) and isinstance(value[0], tuple) and [c for c, _ in value] == [c for c, _ in old]:
                value = tuple((column, self.values.join(before, now)) for (column, before), (_, now) in zip(old, value))
            setattr(found, name, value)
        return found

    def written_at(self, node: Any, extra: Any) -> Event:
        """The write that `event` made of this node."""
        calls = self.frames[-1].calls if type(node) is not Elsewhere else node.calls
        return self.index["write", id(self.site(node).at), calls, extra]

    # --- blocks and statements -----------------------------------------------------------------------------------------
    def block(self, body: Any, state: Optional[State]) -> Optional[State]:
        for statement in body:
            if state is None:
                return None
            self.steps += 1
            if self.steps > MAX_STEPS:
                self.trace.incomplete.add("too long")
                return state
            state = self.statement(statement, state)
        return state

    def statement(self, node: Any, state: State) -> Optional[State]:
        try:
            return _STATEMENTS[type(node)](self, node, state)
        except Dead:
            return None

    def _expr(self, node: Any, state: State) -> State:
        self.eval(node.value, state)
        return state

    def _assign(self, node: Any, state: State) -> State:
        value = self.eval(node.value, state)
        for target in node.targets:
            self.assign(target, value, state, node)
        return state

    def _ann_assign(self, node: Any, state: State) -> State:
        if node.value is None:
            return state
        value = self.eval(node.value, state)
        if value.typ is None and not value.objs:
            typ = self.annotation_type(node.annotation)
            if typ:
                value = self.values.replace(value, typ=typ)
        self.assign(node.target, value, state, node)
        return state

    def _return(self, node: Any, state: State) -> None:
        if isinstance(node.value, ir.IfExp) and any(isinstance(part, ir.Const) and part.value in (None, False) for part in (node.value.body, node.value.orelse)):
            return self._return_either(node, state)
        value = self.eval(node.value, state) if node.value is not None else self.values.none
        self.note_generic(node, state)
        self.frames[-1].returns.append((state, value))
        return None

    def _return_either(self, node: Any, state: State) -> None:
        """`return token if taken else None`: what comes back tells how the test ended, as two returns would."""
        yes, no = self.test(node.value.test, state.copy())
        for branch, expression in ((yes, node.value.body), (no, node.value.orelse)):
            if branch is None:
                continue
            try:
                value = self.eval(expression, branch)
            except Dead:
                continue
            self.note_generic(node, branch)
            self.frames[-1].returns.append((branch, value))
        return None

    def _raise(self, node: Any, state: State) -> None:
        types: Optional[frozenset] = None
        if node.exc is not None:
            value = self.eval(node.exc, state)
            types = self.raised_classes(value, state) or self.exception_names(value)
        elif self.handling:
            types = self.handling[-1]
        self.event(RaiseEvent, node, state, types=types)
        self.note_raise(node, types, state)
        if self.swallows:
            state = state.copy()
            state.done = self.without_swallows(state)
        # `if response.status_code >= 500: raise`: it is that very call which has failed, not something after it.
        failed = {o.n for o in state.control if o.kind == "outcome"}
        if failed and self.collectors:
            state = state.copy()
            state.done = frozenset(mark for mark in state.done if mark[1] not in failed)
        self.throw(state, types, RAISED)
        return None

    def _assert(self, node: Any, state: State) -> Optional[State]:
        yes, no = self.test(node.test, state)
        if no is not None:
            self.throw(no, frozenset(("AssertionError",)))
        return yes

    def _delete(self, node: Any, state: State) -> State:
        for target in node.targets:
            if isinstance(target, ir.Name):
                state.unbind(target.id)
            elif isinstance(target, ir.Sub):
                self.delete_item(target, state)
            elif isinstance(target, ir.Attr):
                self.eval(target.value, state)
        return state

    def _nothing(self, node: Any, state: State) -> State:
        return state

    def _global(self, node: Any, state: State) -> State:
        self.frames[-1].globals_.update(node.names)
        return state

    def _break(self, node: Any, state: State) -> None:
        if self.regions:
            self._innermost_loop().breaks.append(state)
        return None

    def _continue(self, node: Any, state: State) -> None:
        if self.regions:
            self._innermost_loop().continues.append(state)
        return None

    def _innermost_loop(self) -> Region:
        for region in reversed(self.regions):
            if region.event.how in ("loop", "attempts"):
                return region
        return self.regions[-1]

    def _import(self, node: Any, state: State) -> State:
        for local, target in node.names:
            state.bind(local, self.imported(target))
        return state

    def _if(self, node: Any, state: State) -> Optional[State]:
        ends: list = []
        rest: Optional[State] = state
        for test, body in node.branches:
            if rest is None:
                break
            before = rest
            yes, rest = self.test(test, rest)
            self.note_codes(test, yes, rest)
            if yes is not None:
                event = self.branch_swallow(test, body, yes, rest, before)
                end = self.block(body, yes)
                if event is not None and end is not None:
                    self.mark_assigned(body, event.n, end)
                if end is not None and rest is not None and end.held - before.held and not node.orelse and len(node.branches) == 1:
                    rest = self.without_server(test, body, end, rest)
                ends.append(end)
        if rest is not None:
            event = self.branch_swallow(node.branches[-1][0], node.orelse, rest, yes, before)
            end = self.block(node.orelse, rest) if node.orelse else rest
            if event is not None and end is not None:
                self.mark_assigned(node.orelse, event.n, end)
            ends.append(end)
        return self.after_branches(ends, state.control)

    def after_branches(self, ends: list, control: frozenset) -> Optional[State]:
        """Join of the branches' ends. What a test decided goes on deciding only where the other branches have left."""
        joined = join_states(self.values, ends)
        if joined is not None and sum(1 for end in ends if end is not None) > 1:
            joined = joined.copy()
            joined.control = control
        return joined

    def _match(self, node: Any, state: State) -> Optional[State]:
        subject = self.eval(node.subject, state)
        self.looked_at(state, subject, "match")
        ends: list = []
        exhaustive = False
        rest = state.copy()  # none of the earlier patterns has matched
        rest.control |= subject.origins
        for case in node.cases:
            if self.dispatch is not None and self.dispatched_case(case.pattern) is False:
                continue
            branch = rest.copy()
            self.bind_pattern(case.pattern, subject, branch)
            branch = self.pattern_outcome(case.pattern, subject, branch, rest if case.guard is None else state.copy())
            anything = case.pattern.kind in ("wild", "capture")
            if case.guard is not None and branch is not None:
                branch, refused = self.test(case.guard, branch)
                if anything and refused is not None:
                    rest = refused  # `case row if row.sold:`: what comes here later has failed the guard
            if branch is not None:
                ends.append(self.block(case.body, branch))
            if case.guard is None and anything:
                exhaustive = True
        if not exhaustive:
            ends.append(rest)
        return self.after_branches(ends, state.control)

    def _with_items(self, node: Any, items: list, state: State) -> Optional[State]:
        if not items:
            return self.block(node.body, state)
        (expression, target), rest = items[0], items[1:]
        manager = self.eval(expression, state)
        timed = self.is_time_limit(expression)
        opened: list = []

        def inside(entry: State, bound: Optional[Value]) -> Optional[State]:
            value = bound if bound is not None else manager
            if isinstance(target, ir.Name) and value.typ is None and value.ref is None and value.query is None and value.shape is None:
                value = self.values.replace(value, name=target.id)  # `with scope() as session:`: what comes from elsewhere is known by this name
            if target is not None:
                self.assign(target, value, entry, node)
                if self.opened_by(value, expression):
                    opened.append(value)
                    self.own_sessions |= value.same
            self._time_limits += timed
            try:
                return self._with_items(node, rest, entry)
            finally:
                self._time_limits -= timed

        def leave(left: State) -> None:
            for session in opened:
                self.session_closed(session, left)

        end = self.leaving(lambda entry, _: self.enter_context(node, expression, manager, entry, inside), state, None, leave)
        if end is not None and opened:
            end = end.copy()
            leave(end)
        return end

    # --- definitions ---------------------------------------------------------------------------------------------------------
    def _function_def(self, node: Any, state: State) -> State:
        for decorator in node.decorators:
            self.eval(decorator, state)
        for param in node.params.items:
            if param.default is not None:
                self.eval(param.default, state)
        value = self.local_function(node, state)
        state.bind(node.name, value)
        self.note_inner(node, value, state)
        return state

    def _class_def(self, node: Any, state: State) -> State:
        state.bind(node.name, self.values.origin(Origin("opaque", ("class", node.name)), ref=("localclass", node.name)))
        return state


_STATEMENTS = {
    ir.Expr: Walker._expr, ir.Assign: Walker._assign, ir.AugAssign: Evaluator.aug_assign, ir.AnnAssign: Walker._ann_assign,
    ir.Return: Walker._return, ir.Raise: Walker._raise, ir.Assert: Walker._assert, ir.Delete: Walker._delete,
    ir.Pass: Walker._nothing, ir.Break: Walker._break, ir.Continue: Walker._continue, ir.Global: Walker._global,
    ir.Import: Walker._import, ir.If: Walker._if, ir.While: Walker._while, ir.For: Walker._for, ir.Try: Walker._try,
    ir.With: Walker._with, ir.Match: Walker._match, ir.FunctionDef: Walker._function_def, ir.ClassDef: Walker._class_def,
}
