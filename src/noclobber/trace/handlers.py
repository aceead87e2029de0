"""Exceptions: what is thrown, which handler takes it, what runs on the way out."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .causes import IO
from .events import Swallow
from .frames import Collector, Past
from .objects import State, join_states
from .refine import asks_for_duplicate
from .values import NOTHING, Origin, Value


def past(cause: Any, names: frozenset) -> Past:
    """What is left of an exception of unknown type behind a handler for these names."""
    return Past(cause.names | names, cause.cause) if type(cause) is Past else Past(names, cause)


class Handlers:
    """Mixin of Walker."""

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
                    left.append((raised, types, past(cause, wanted) if match == "maybe" and wanted else cause))
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
