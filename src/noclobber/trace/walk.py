"""The walk: abstract interpretation of one scope in evaluation order; its result is a Trace.

This module holds control flow: statements, branches, loops to a fixpoint, exceptions, regions. Expressions are in `evaluate`,
calls in `calls`, what library calls mean in `stores`, tests that refine a branch in `refine`.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .calls import MAX_STEPS as ENTERING_STEPS
from .calls import Argument, Arguments, Calls, Dead
from .causes import IO, Causes
from .evaluate import Evaluator
from .events import Context, Event, Loop, RaiseEvent, Site, Swallow, Trace
from .limits import RAISED, Limits, TimeLimits
from .objects import State, join_states
from .refine import Refiner, asks_for_duplicate
from .stores import Stores
from .swallows import Swallows
from .tools import Tools
from .values import NOTHING, Origin, Value, Values

MAX_ROUNDS = 8  # of a loop's fixpoint (DESIGN §2)
MAX_STEPS = 6_000  # statements and calls of one root, helpers included; then the trace is incomplete
FILE_STEPS = 120_000  # of all roots of a file; each further root enters helpers for LATE_STEPS only
LATE_STEPS = 200


class Frame:
    """One function being walked. `scope`: what `ask` knows of it (module, qualname, class); closure: names of the enclosing function."""

    __slots__ = ("scope", "excerpt", "returns", "self_value", "closure", "on_yield", "yields", "function", "calls", "entry", "first", "globals_", "fallen")

    def __init__(self, scope: Any, excerpt: Any, function: str, calls: tuple, closure: Optional[dict] = None) -> None:
        self.scope, self.excerpt, self.function, self.calls, self.closure = scope, excerpt, function, calls, closure
        self.returns: list = []
        self.self_value: Optional[Value] = None
        self.on_yield: Optional[Callable] = None
        self.yields: list = []
        self.globals_: set = set()
        self.fallen: Optional[State] = None  # a root's body that ended without a return
        self.entry: Optional[dict] = None  # its parameters as they came in
        self.first = -1  # number of the last event before it


class Region:
    """An open loop or retry region."""

    __slots__ = ("id", "event", "breaks", "continues", "back", "items")

    def __init__(self, id_: int, event: Loop) -> None:
        self.id, self.event = id_, event
        self.breaks: list = []
        self.continues: list = []
        self.back: list = []  # states that lead back to the top


class Collector:
    """Exceptional states of an open try or retry region: (state, types or None, cause)."""

    __slots__ = ("_by_facts",)

    def __init__(self) -> None:
        self._by_facts: dict = {}

    def add(self, state: State, types: Optional[frozenset], cause: Any) -> None:
        """Of the states with the same facts the latest is kept: it has all the names that the earlier ones had."""
        key = (types, state.held, state.won, state.lost, state.unchecked, state.done)
        if len(self._by_facts) < 40 or key in self._by_facts:
            self._by_facts[key] = (state, types, cause)

    @property
    def raised(self) -> list:
        return list(self._by_facts.values())


class Walker(Evaluator, Calls, Stores, TimeLimits, Tools, Swallows, Refiner, Causes):
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
        self.turns: set = set()  # handles of calls whose answer only says whether a loop goes on
        self.sought: frozenset = NOTHING  # functions that a caller is walked for; other helpers are entered only when they hold something
        self.dispatch: Optional[str] = None  # of the tools behind a dispatching function the one that is looked at
        self.dispatch_names: frozenset = NOTHING
        self.sifted: dict = {}  # object id of a list: the tests that its members have passed
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
                self.retried_body(definition, root, state, frame, args)
            self.note_body(root, definition, frame, self.ended)
            self.walk_returned(frame)
        finally:
            self.frames.pop()
            self.shared[account] = spent + self.steps - first
        return self.trace

    def entry_point(self, root: Any) -> str:
        """Is the root something that a framework calls outside of any transaction: a command, a queue's task, a script?"""
        info = getattr(root, "info", None)
        if info is None:
            return "script" if root.qualname == "<module>" else ""
        if any(self.vocabulary.match("task_decorator", text.split("(")[0]) for text in info.decorators if text):
            return "task"
        cls = root.cls
        if cls is not None and root.name in ("handle", "run", "handle_noargs", "handle_label", "handle_app_config"):
            if any(self.vocabulary.match("command_base", base.rstrip("()")) for base in cls.library_bases()):
                return "command" if root.name != "run" else "task"
        return ""

    def retried_body(self, definition: Any, root: Any, state: State, frame: Frame, args: dict) -> None:
        """A root's body, inside the retry regions that its decorators make."""
        policies = self.policies_of(definition, state)
        contexts = self.contexts_of(definition, state)
        for name, value in args.items():
            state.bind(name, value)
        frame.entry = args

        def body(entry: State) -> Optional[State]:
            frame.returns = []
            if isinstance(definition, ir.Lambda):
                end = self._lambda_end(definition, entry)
            else:
                end = self.in_contexts(definition, contexts, frame, lambda inner: self.block(definition.body, inner), entry)
                frame.fallen = end
            return join_states(self.values, [end] + [s for s, _ in frame.returns])

        if isinstance(definition, ir.FunctionDef) and definition.decorators and self._walk_decorated(definition, state, frame, args, lambda entry: self.in_policies(policies, body, entry)):
            return
        end = self.in_policies(policies, body, state)
        self.finish(end, frame)

    def _walk_decorated(self, definition: Any, state: State, frame: Frame, args: dict, body: Callable) -> bool:
        """A root through the decorators of the project that wrap around it; False: there are none, or its body was not reached."""
        own = Arguments()
        reached = False
        for param in definition.params.items:
            value = args[param.name]
            if param.kind in ("var", "varkw"):
                own.open_star, own.open_kwargs = own.open_star or param.kind == "var", own.open_kwargs or param.kind == "varkw"
                own.rest.append(value)
            elif param.kind == "kw":
                own.keywords.append((param.name, Argument(value, param.name)))
            else:
                own.positional.append(Argument(value))

        def run(given: Arguments, inner: State) -> Value:
            nonlocal reached
            reached = True
            more = len(given.positional) - len(own.positional)
            if more > 0 and not own.open_star:
                # The wrapper puts arguments of its own before (a session); a caller gives that many less.
                again = Arguments()
                again.positional, again.keywords = given.positional[:more] + given.positional[2 * more:], given.keywords
                given = again
            entry = inner.with_env(self.bind_parameters(definition, given, None, inner, frame))
            self.frames.append(frame)
            self.decorating.append(None)
            opened = self.open_call()
            try:
                after = body(entry)
            finally:
                self.decorating.pop()
                self.frames.pop()
                self.close_call(opened, inner)
            if after is None:
                raise Dead
            control = inner.control
            inner.adopt(after.with_env(inner.env))
            inner.control = control
            result = self.values.none
            for _, value in frame.returns:
                result = self.values.join(value, result)
            return result

        end: Optional[State] = state.copy()
        value: Optional[Value] = self.values.none
        try:
            value = self.through_decorators(definition, frame, own, definition, end, run)
        except Dead:
            end = None
        if value is None or not reached:
            return False
        frame.returns = [(end, value)] if end is not None else []
        self.finish(end, frame)
        return True

    def _lambda_end(self, definition: Any, state: State) -> State:
        frame = self.frames[-1]
        frame.returns.append((state, self.eval(definition.body, state)))
        return state

    def finish(self, end: Optional[State], frame: Frame) -> None:
        self.ended = end
        self.root_returns = list(frame.returns)
        if self.swallows:
            self.judge_swallows(frame)
            if frame.fallen is not None:
                frame.returns.pop()
        for state, value in frame.returns:
            self.escapes(state, value, "returned")
        ends = [s for s, _ in frame.returns]
        if end is not None and end not in ends:
            ends.append(end)
        for state in ends:
            self.root_ends(state)
            self.trace.unchecked |= state.unchecked

    # --- events ------------------------------------------------------------------------------------------------------
    def site(self, node: Any) -> Site:
        frame = self.frames[-1]
        return Site(frame.excerpt, node.at if node is not None else None, frame.function, frame.scope.path)

    def context(self, state: State) -> Context:
        return Context(tuple(r.id for r in self.regions), state.control, state.held, self.frames[-1].calls, state.unchecked, state.freed)

    def event(self, cls: type, node: Any, state: State, *extra: Any, **fields: Any) -> Event:
        """The event of this site; made on first sight, its facts joined on later rounds. `extra` tells apart several at one node."""
        site = self.site(node)
        key = (cls.kind, id(site.at), self.frames[-1].calls) + extra
        if self.member_of is not None:
            key += ("member", self.member_of)
        found = self.index.get(key)
        context = self.context(state)
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
        value = self.eval(node.value, state) if node.value is not None else self.values.none
        self.note_generic(node, state)
        self.frames[-1].returns.append((state, value))
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
            if case.guard is not None and branch is not None:
                branch, _ = self.test(case.guard, branch)
            if branch is not None:
                ends.append(self.block(case.body, branch))
            if case.guard is None and case.pattern.kind in ("wild", "capture"):
                exhaustive = True
        if not exhaustive:
            ends.append(rest)
        return self.after_branches(ends, state.control)

    # --- loops -----------------------------------------------------------------------------------------------------------
    def open_region(self, node: Any, state: State, how: str, label: str = "", extra: Any = 0, policy: Any = None) -> Region:
        event = self.index.get(("loop", id(node.at if node is not None else None), self.frames[-1].calls, how, extra))
        if event is None:
            event = Loop(len(self.trace.events), self.site(node), self.context(state))
            event.how, event.retried, event.replayed, event.items, event.label = how, set(), {}, False, label
            event.accepted, event.quiet, event.unseen, event.resent = set(), False, set(), set()
            event.policy, event.bounded, event.pauses, event.mixed = policy, policy is None or policy.bounded, set(), set()
            event.given, event.dropped, event.decorator = set(), set(), self.decorating[-1] if self.decorating else None
            self.index[("loop", id(node.at if node is not None else None), self.frames[-1].calls, how, extra)] = event
            self.trace.events.append(event)
            self.trace.loops[event.n] = event
        region = Region(event.n, event)
        return region

    def _while(self, node: Any, state: State) -> Optional[State]:
        def head(entry: State) -> tuple:
            return self.test(node.test, entry)

        self.note_turns(node)
        endless = isinstance(node.test, ir.Const) and bool(node.test.value)
        return self.loop(node, state, head, node.body, node.orelse, endless=endless, counted=self.is_limited(node), asks=not endless)

    def _for(self, node: Any, state: State) -> Optional[State]:
        attempts = self.attempts_of(node, state)
        if attempts is not None:
            return self.attempt_loop(node, state, attempts)
        iterable = self.eval(node.iter, state)
        element, item = self.element_of(iterable, node, state)
        counts = self.counts_attempts(node, iterable, item, state)
        if counts:
            element = self.values.replace(element, origins=element.origins | {Origin("attempt", self.open_region(node, state, "loop").id)})

        passed = self.sifted_by(iterable)

        def head(entry: State) -> tuple:
            inside = entry.copy()
            inside.control |= passed
            self.assign(node.target, element, inside, node)
            return inside, entry.copy()

        endless = self.is_endless(iterable)
        return self.loop(
            node, state, head, node.body, node.orelse, items=not counts, endless=endless,
            counted=not endless or self.is_limited(node),
        )

    def loop(self, node: Any, state: State, head: Callable, body: Any, orelse: Any, *, items: bool = False,
             endless: bool = False, counted: bool = True, asks: bool = False) -> Optional[State]:
        """asks: `head` is a test; counted: a count, a deadline or a cancellation certainly ends it; else that must show in a way out that a refused write can take."""
        region = self.open_region(node, state, "loop")
        region.event.items = items
        region.event.bounded = counted or self.in_time_limit()
        limits = None if region.event.bounded else Limits(self, region, state)
        before = state
        entry = state
        exits: Optional[State] = None
        for round_ in range(MAX_ROUNDS + 1):
            region.breaks, region.continues, region.back = [], [], []
            current = entry.copy()
            # A new round of the loop is a new attempt: what the last one won or lost does not hold for this one.
            current.done = frozenset(d for d in current.done if d[0] != region.id) | {(region.id, "fine")}
            self.regions.append(region)
            inside, exits = head(current)
            if inside is not None:
                inside.won -= self._written_in(region, inside)
                inside.lost -= self._written_in(region, inside)
                inside.done = self.without_swallows(inside, region)
            if limits is not None:
                limits.open()
            end = self.block(body, inside) if inside is not None else None
            self.regions.pop()
            backs = [s for s in [end, *region.continues] if s is not None]
            leaving: list = []
            if asks and len(backs) > 1:
                backs, leaving = self._last_rounds(region, head, backs)
            if limits is not None:
                limits.close(backs, None if endless else head)
            for back in backs:
                # `while not done`: what the loop's own test says of the last attempt.
                on = self._goes_on(region, head, back) if asks else back
                if on is not None:
                    self.note_back(region, on)
            again = join_states(self.values, [before, *backs])
            if again is None or again.equals(entry):
                break
            if round_ >= MAX_ROUNDS - 1:
                again = self._widen(entry, again)
            entry = again
        exits = join_states(self.values, [exits, *leaving])
        if region.event.retried:
            self.try_again(region, backs, head, body)
        if endless:
            exits = None
        if items and exits is not None and self._locks_each(before, backs):
            # `for row in rows: session.refresh(row, with_for_update=True)`: where there was no row, there is none to be written either.
            control, exits = exits.control, join_states(self.values, backs).copy()
            exits.control = control
        if exits is not None and orelse:
            if self.swallows and not self.only_idles(orelse, ""):
                exits = exits.copy()
                self.is_done_about(exits)
            exits = self.block(orelse, exits)
        return join_states(self.values, [exits, *region.breaks])

    def _last_rounds(self, region: Region, head: Callable, backs: list) -> tuple:
        """(ways that go on, ways out) of the ways back to a test: on some of them it is certain what it says (`done = True` in one branch)."""
        going, leaving = [], []
        for back in backs:
            self.regions.append(region)
            on, out = head(back.copy())
            self.regions.pop()
            if on is None and out is not None:
                leaving.append(out)
            else:
                going.append(back)
        return going, leaving

    @staticmethod
    def _locks_each(before: State, backs: list) -> bool:
        """Does every round of a loop over rows leave a row lock behind?"""
        kept = frozenset.intersection(*(back.held for back in backs)) - before.held if backs else NOTHING
        return any(lock.kind in ("row", "advisory") and lock.scope == "tx" for lock in kept)

    def _goes_on(self, region: Region, head: Callable, back: State) -> Optional[State]:
        if not any(region.id in self.trace.events[o.n].ctx.loops for value in back.env.values() for o in value.origins if o.kind == "outcome"):
            return back
        self.regions.append(region)
        on, _ = head(back.copy())
        self.regions.pop()
        return on

    def _widen(self, old: State, new: State) -> State:
        widened = new.copy()
        for name, value in new.env.items():
            if old.env.get(name) is not value:
                widened.bind(name, self.values.make(frozenset(o for o in value.origins if o.kind in ("read", "outcome")) | self.values.unknown.origins))
        return widened

    def _written_in(self, region: Region, state: State) -> frozenset:
        return frozenset(n for n in state.won | state.lost if region.id in self.trace.events[n].ctx.loops)

    def note_back(self, region: Region, state: State) -> None:
        """A state that leads back to the top of a loop or retry region: which refused writes and finished effects does it carry?"""
        event = region.event
        expired = (region.id, "expired") in state.done
        for n in state.lost:
            if region.id in self.trace.events[n].ctx.loops:
                event.retried.add(n)
                if not expired:
                    event.unseen.add(n)
        for mark in state.done:
            if mark[0] == region.id and type(mark[1]) is tuple and mark[1][0] in ("pause", "mixed"):
                (event.pauses if mark[1][0] == "pause" else event.mixed).add((mark[1][1], self._is_refused_here(region, state)))
        if (region.id, "raised") in state.done:
            event.resent |= {mark[1][1] for mark in state.done if mark[0] == region.id and type(mark[1]) is tuple and mark[1][0] == "sent"}
        event.accepted |= {n for n in state.won if region.id in self.trace.events[n].ctx.loops and self.trace.events[n].conditional}
        refused = self.run_again_by(region, state)
        if (region.id, "fine") in state.done and not any(region.id in self.trace.events[n].ctx.loops for n in state.lost):
            event.quiet = True  # some way here has met neither a refusal nor an exception
        if refused is None:
            return
        for mark in state.done:
            if mark[0] == region.id and isinstance(mark[1], int):
                event.replayed.setdefault(mark[1], refused)

    def _is_refused_here(self, region: Region, state: State) -> bool:
        return any(region.id in self.trace.events[n].ctx.loops for n in state.lost)

    def run_again_by(self, region: Region, state: State) -> Any:
        """What makes the region run again in this state: the number of a refused write, 'exception', or None (the next item)."""
        lost = [n for n in state.lost if region.id in self.trace.events[n].ctx.loops]
        if lost:
            return max(lost)
        if any(mark == (region.id, "raised") for mark in state.done) and not region.event.items:
            return "exception"
        return None

    def in_policies(self, policies: list, body: Callable, state: State) -> Optional[State]:
        """Run `body` inside the retry regions of decorators (outermost first)."""
        if not policies:
            return body(state)
        policy, rest = policies[0], policies[1:]
        region = self.open_region(policy.node, state, "decorator", policy.label, extra=policy.key, policy=policy)
        entry = state
        end: Optional[State] = None
        for _ in range(3):
            region.back = []
            collector = Collector()
            self.collectors.append(collector)
            self.regions.append(region)
            end = self.in_policies(rest, body, entry.copy())
            self.regions.pop()
            self.collectors.pop()
            backs = []
            for raised, types, cause in collector.raised:
                if policy.repeats(self, types, self._is_refused_here(region, raised)):
                    back = self.unsent(self.undone(raised.copy(), policy.on.names, types, cause), policy.on.names)
                    back.done |= {(region.id, "raised")}
                    backs.append(back)
                self.rethrow(raised, types, cause)
            if end is not None and policy.repeats_result(self):
                returned = [self.told_by_result(policy, left, value) for left, value in self.frames[-1].returns]
                backs += [left for left in returned if self._is_refused_here(region, left)]
            for back in backs:
                self.note_back(region, back)
            again = join_states(self.values, [state, *(self._outside(b, state) for b in backs)])
            if again is None or again.equals(entry):
                break
            entry = again
        return end

    def _outside(self, inner: State, outer: State) -> State:
        """What the next run of a retried function starts from: its parameters, but the heap as the last run left it."""
        again = inner.copy()
        again.env, again._own_env = outer.env, False
        again.done = outer.done
        again.won = again.lost = NOTHING
        again.freed = outer.freed | inner.freed | (inner.held - outer.held)
        again.held = outer.held
        return again

    def attempt_loop(self, node: Any, state: State, policy: Any) -> Optional[State]:
        """`for attempt in Retrying(…): with attempt: …`: success of the block leaves the loop, an exception comes back."""
        region = self.open_region(node, state, "attempts", policy.label, policy=policy)
        entry = state
        before = state
        end: Optional[State] = None
        for _ in range(MAX_ROUNDS):
            region.breaks, region.continues, region.back = [], [], []
            collector = Collector()
            self.collectors.append(collector)
            self.regions.append(region)
            inside = entry.copy()
            inside.done = frozenset(d for d in inside.done if d[0] != region.id) | {(region.id, "fine")}
            inside.won -= self._written_in(region, inside)
            inside.lost -= self._written_in(region, inside)
            inside.done = self.without_swallows(inside, region)
            self.assign(node.target, self.values.make(self.values.unknown.origins | {Origin("attempt", region.id)}, flags=frozenset(("attempt",))), inside, node)
            end = self.block(node.body, inside)
            self.regions.pop()
            self.collectors.pop()
            backs = [*region.continues]
            for raised, types, cause in collector.raised:
                if policy.repeats(self, types, self._is_refused_here(region, raised)):
                    back = self.unsent(self.undone(raised.copy(), policy.on.names, types, cause), policy.on.names)
                    back.done |= {(region.id, "raised")}
                    backs.append(back)
                else:
                    self.rethrow(raised, types, cause)
            for back in backs:
                self.note_back(region, back)
            again = join_states(self.values, [before, *backs])
            if again is None or again.equals(entry):
                break
            entry = again
        return join_states(self.values, [end, *region.breaks])

    # --- exceptions --------------------------------------------------------------------------------------------------------
    def throw(self, state: State, types: Optional[frozenset], cause: Any = None) -> None:
        """An exception leaves from this state. types: names it may have, None = any."""
        if self.collectors:
            self.collectors[-1].add(state.copy(), types, cause)

    def rethrow(self, state: State, types: Optional[frozenset], cause: Any = None) -> None:
        if self.collectors:
            self.collectors[-1].add(state, types, cause)

    def _try(self, node: Any, state: State) -> Optional[State]:
        if node.final:
            return self._try_finally(node, state)
        return self._try_except(node, state)

    def _try_finally(self, node: Any, state: State) -> Optional[State]:
        frame = self.frames[-1]
        loop = self._innermost_loop() if self.regions else None
        returns, breaks, continues = len(frame.returns), len(loop.breaks) if loop else 0, len(loop.continues) if loop else 0
        collector = Collector()
        self.collectors.append(collector)
        end = self._try_except(node, state) if node.handlers else self.block(node.body, state)
        if not node.handlers and node.orelse and end is not None:
            end = self.block(node.orelse, end)
        self.collectors.pop()
        finished = self.block(node.final, end) if end is not None else None
        # Every other way out runs the final block as well.
        for i in range(returns, len(frame.returns)):
            left, value = frame.returns[i]
            after = self.block(node.final, left.copy())
            frame.returns[i] = (after if after is not None else left, value)
        if loop is not None:
            for exits, start in ((loop.breaks, breaks), (loop.continues, continues)):
                for i in range(start, len(exits)):
                    after = self.block(node.final, exits[i].copy())
                    exits[i] = after if after is not None else exits[i]
        if collector.raised:
            merged = join_states(self.values, [s for s, _, _ in collector.raised])
            after = self.block(node.final, merged.copy())
            for raised, types, cause in collector.raised:
                if after is not None:
                    left = raised.copy()
                    left.held = raised.held & after.held
                    self.rethrow(left, types, cause)
        return finished

    def _try_except(self, node: Any, state: State) -> Optional[State]:
        collector = Collector()
        self.collectors.append(collector)
        caught_names = [self.handler_names(handler, state) for handler in node.handlers]
        told = frozenset(("IntegrityError",)) if any(asks_for_duplicate(handler) for handler in node.handlers) else NOTHING
        self.caught.append(told.union(*(names for names in caught_names if names)))
        self.tried_reads.append(set())
        end = self.block(node.body, state)
        missing = self.tried_reads.pop()
        self.caught.pop()
        self.collectors.pop()
        if end is not None and node.orelse:
            end = self.block(node.orelse, end)
        ends = [end]
        raises: dict = {}
        pending = collector.raised
        for handler in node.handlers:
            wanted = self.handler_names(handler, state)
            caught, left = [], []
            for raised, types, cause in pending:
                match = self.catches(wanted, types)
                if match == "maybe" and types is None and raised.lost - state.lost and self.is_transient(wanted):
                    match = "no"  # a refusal raised as something unknown is no lost connection
                if match != "no":
                    caught.append((self.undone(raised, wanted, types, cause), types, cause))
                if match != "yes":
                    left.append((raised, types, cause))
            pending = left
            if not caught and (collector.raised or wanted is None):
                continue
            # A refusal and a lost connection are told apart: a handler is walked once for each set of refused writes.
            groups: dict[frozenset, list] = {}
            failing = set()
            for raised, types, _ in caught:
                groups.setdefault(raised.lost, []).append(raised)
                if types is not None and any(name.startswith(IO) for name in types):
                    failing.add(raised.lost)
            # Nothing that was seen raises this? The handler is still code that may run.
            for lost, entering in list(groups.items())[:4] or [(state.lost, [state])]:
                entry = join_states(self.values, entering).copy()
                if wanted and any(self.vocabulary.match("not_found", name.replace(":", ".")) for name in wanted):
                    # `except DoesNotExist`: what was asked for in the block is not there.
                    entry.control |= {Origin("read", n, ("@missing",)) for n in missing}
                ends.append(self.handle(handler, wanted, entry, state, raises, lost in failing))
        self.flattened(raises)
        for raised, types, cause in pending:
            self.rethrow(raised, types, cause)
        ends[0] = self.passed_by(raises, end)
        return join_states(self.values, ends)

    def handle(self, handler: Any, wanted: Optional[frozenset], entry: State, before: State, raises: dict, io: bool) -> Optional[State]:
        types = wanted if wanted is not None else frozenset(("Exception",))
        if handler.name:
            entry.bind(handler.name, self.exception_value(handler, entry))
        event = self.event(Swallow, handler, entry, types=types)
        self.open_swallow(event, handler, handler.body, handler.name or "", wanted, entry, before, raises, io)
        if self.mixes(types):
            self.mark_mixed(handler, entry, types)
        self.handling.append(types)
        self.handling_writes.append(entry.lost - before.lost)
        for region in self.regions:
            entry.done = (entry.done | {(region.id, "raised")}) - {(region.id, "fine")}
        self.unsent(entry, wanted)
        end = self.block(handler.body, entry)
        self.close_swallow(handler.body, end)
        self.handling.pop()
        self.handling_writes.pop()
        if handler.name and end is not None:
            end.unbind(handler.name)
        return end

    # --- with --------------------------------------------------------------------------------------------------------------
    def _with(self, node: Any, state: State) -> Optional[State]:
        return self._with_items(node, list(node.items), state)

    def leaving(self, inside: Callable, state: State, bound: Optional[Value], leave: Callable, raising: bool = True, fail: Optional[Callable] = None) -> Optional[State]:
        """Run a block that holds something; where it is left otherwise than at its end, `leave(state)` lets go of it (`fail`: by an exception)."""
        frame = self.frames[-1]
        loop = self._innermost_loop() if self.regions else None
        lists = [exits for exits in ((loop.breaks, loop.continues) if loop is not None else ())]
        starts = [len(exits) for exits in lists]
        returns = len(frame.returns)
        collector = Collector() if self.collectors and raising else None
        if collector is not None:
            self.collectors.append(collector)
        try:
            end = inside(state, bound)
        finally:
            if collector is not None:
                self.collectors.pop()
        for i in range(returns, len(frame.returns)):
            left, value = frame.returns[i]
            left = left.copy()
            leave(left)
            frame.returns[i] = (left, value)
        for exits, start in zip(lists, starts):
            for i in range(start, len(exits)):
                exits[i] = exits[i].copy()
                leave(exits[i])
        for raised, types, cause in collector.raised if collector is not None else ():
            left = raised.copy()
            (fail or leave)(left)
            self.rethrow(left, types, cause)
        return end

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
