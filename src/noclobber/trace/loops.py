"""Loops to a fixpoint, retry regions, and what leads back to their top."""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .events import Loop
from .frames import Collector, Region
from .limits import Limits
from .objects import State, join_states
from .values import NOTHING, Origin

MAX_ROUNDS = 8  # of a loop's fixpoint (DESIGN §2)


class Loops:
    """Mixin of Walker."""

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
        pairs = self.known_pairs(node.iter, state) if _only_sets(node) else None
        if pairs is not None:
            return self.one_by_one(node, pairs, state)
        iterable = self.eval(node.iter, state)
        element, item = self.element_of(iterable, node, state)
        counts = self.counts_attempts(node, iterable, item, state)
        if counts:
            element = self.values.replace(element, origins=element.origins | {Origin("attempt", self.open_region(node, state, "loop").id)})

        passed = self.sifted_by(iterable)
        if state.unchecked and any(isinstance(statement, (ir.If, ir.Raise, ir.Match)) for statement in node.body):
            self.looked_at(state, iterable, "tested")  # `for answer in transaction.commit(): if isinstance(answer, Error): raise`

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

    def one_by_one(self, node: Any, pairs: list, state: State) -> Optional[State]:
        """`for name, value in fields.items(): setattr(row, name, value)` over fields that are all known: each by itself."""
        current: Optional[State] = state
        for pair in pairs:
            if current is not None:
                self.assign(node.target, pair, current, node)
                current = self.block(node.body, current)
        return self.block(node.orelse, current) if node.orelse else current

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
        if exits is not None and not items and not endless:
            self.attempts_run_out(region, node, before, exits)
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
                if policy.repeats(self, types, self._is_refused_here(region, raised), cause):
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
                if policy.repeats(self, types, self._is_refused_here(region, raised), cause):
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


def _only_sets(node: Any) -> bool:
    """Does each round only set attributes by their names, with or without a test around it?"""
    def sets(body: Any) -> bool:
        return all(
            isinstance(inner, ir.Expr) and isinstance(inner.value, ir.Call) and isinstance(inner.value.func, ir.Name) and inner.value.func.id == "setattr"
            or isinstance(inner, ir.If) and all(sets(suite) for suite in ir.suites(inner) if suite)
            for inner in body)

    return not node.is_async and sets(node.body)
