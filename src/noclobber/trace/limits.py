"""Does something end a loop although every attempt is refused: a count, a deadline, a cancellation?"""
from __future__ import annotations

from typing import Any, Callable, Iterator, Optional

from . import ir
from .frames import Collector, Past
from .objects import State
from .values import CLOCK

#: Cause of an exception that a `raise` statement throws.
RAISED = ("raise",)
_LEAVING = (ir.Return, ir.Raise, ir.Break)


class Limits:
    """Watches one walk over a loop's body for a way out that is open to a refused write."""

    def __init__(self, walker: Any, region: Any, state: State) -> None:
        self.walker, self.region, self.before = walker, region, state.control
        self.collector: Any = None
        self.returns = self.breaks = 0

    def open(self) -> None:
        self.collector = Collector()
        self.walker.collectors.append(self.collector)
        self.returns = len(self.walker.frames[-1].returns)

    def close(self, backs: list, head: Optional[Callable]) -> None:
        """backs: the states that go on with the next round; head: the loop's own test."""
        walker = self.walker
        walker.collectors.pop()
        leaving = [raised for raised, _, cause in self.collector.raised if RAISED in (cause, cause.cause if type(cause) is Past else None)]
        leaving += [left for left, _ in walker.frames[-1].returns[self.returns:]]
        leaving += self.region.breaks
        for raised, types, cause in self.collector.raised:
            walker.rethrow(raised, types, cause)
        refused = [state for state in leaving if self.is_refused(state)]
        if any(self._by_limit(state) for state in refused) or any(CLOCK in state.control - self.before for state in leaving):
            self.region.event.bounded = True
        elif head is not None:
            for back in backs:
                if self.is_refused(back):
                    _, out = head(back.copy())
                    if out is not None and self.is_refused(out):
                        self.region.event.bounded = True

    def is_refused(self, state: State) -> bool:
        return any(self.region.id in self.walker.trace.events[n].ctx.loops for n in state.lost)

    def _by_limit(self, state: State) -> bool:
        """A way out that only the record's own content opens (`if run.status == "finished": raise`) is no limit."""
        tests = [o for o in state.control - self.before if o.kind not in ("outcome", "exc")]
        return not tests or any(o.kind != "read" for o in tests)


class TimeLimits:
    """Mixin of Walker."""

    _time_limits = 0

    def in_time_limit(self) -> bool:
        return self._time_limits > 0

    def is_time_limit(self, expression: Any) -> bool:
        """`asyncio.timeout(5)`, `anyio.fail_after(5)`: a block that ends by itself."""
        func = expression.func if isinstance(expression, ir.Call) else expression
        return isinstance(func, (ir.Name, ir.Attr)) and self.vocabulary.match("time_limit", func.id if isinstance(func, ir.Name) else func.name)

    def is_limited(self, node: Any) -> bool:
        """Does the text of a loop show a limit: a counter that a leaving test or the loop's test looks at, a deadline or a cancellation that is asked?"""
        counters = set(_counters(node.body))
        if isinstance(node, ir.While) and not isinstance(node.test, ir.Const):
            if self._asks_limit(node.test, counters):
                return True
        for inner in _nodes(node.body):
            if isinstance(inner, ir.If):
                for test, body in inner.branches:
                    if self._asks_limit(test, counters) and (_leaves(body) or _leaves(inner.orelse)):
                        return True
            elif isinstance(inner, ir.Handler):
                if any(isinstance(call, ir.Call) and self.vocabulary.match("limit_call", _called(call)) for call in _nodes(inner.body)):
                    return True
        return False

    def _asks_limit(self, test: Any, counters: set) -> bool:
        for inner in _nodes((test,)):
            name = inner.id if isinstance(inner, ir.Name) else inner.name if isinstance(inner, ir.Attr) else ""
            if name and (name in counters or self.vocabulary.match("limit_name", name)):
                return True
        return False


def raises_at_last(loop: Any) -> bool:
    """Is there a `raise` in a handler of the loop, or behind a test of what it counts?"""
    counted = _named(loop.target) if isinstance(loop, ir.For) else _named(loop.test) if isinstance(loop, ir.While) else set()
    stack = [(loop.body, False)]
    while stack:
        node, told = stack.pop()
        if isinstance(node, tuple):
            stack += [(inner, told) for inner in node]
        elif isinstance(node, ir.Raise):
            if told:
                return True
        elif isinstance(node, ir.Handler):
            stack.append((node.body, True))
        elif isinstance(node, ir.If):
            stack += [(body, told or bool(_named(test) & counted)) for test, body in node.branches]
            stack.append((node.orelse, told))
        elif isinstance(node, ir.Node) and not isinstance(node, (ir.FunctionDef, ir.Lambda)):
            stack += [(getattr(node, field), told) for field in node._fields]
    return False


def _named(node: Any) -> set:
    return {inner.id for inner in _nodes((node,)) if isinstance(inner, ir.Name)}


def _nodes(start: Any) -> Iterator[Any]:
    stack = list(start)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif isinstance(node, ir.Node):
            yield node
            if not isinstance(node, (ir.FunctionDef, ir.Lambda, ir.ClassDef)):
                stack += [getattr(node, field) for field in node._fields]


def _counters(body: Any) -> Iterator[str]:
    """Names and attributes that a loop counts up or down."""
    for node in _nodes(body):
        if isinstance(node, ir.AugAssign) and node.op in ("+", "-", "*"):
            yield _name(node.target)
        elif isinstance(node, ir.Assign) and isinstance(node.value, ir.Bin) and node.value.op in ("+", "-") and len(node.targets) == 1:
            name = _name(node.targets[0])
            if name and name == _name(node.value.left) and isinstance(node.value.right, ir.Const):
                yield name


def _name(node: Any) -> str:
    return node.id if isinstance(node, ir.Name) else node.name if isinstance(node, ir.Attr) else ""


def _called(call: Any) -> str:
    return _name(call.func)


def _leaves(body: Any) -> bool:
    return any(isinstance(node, _LEAVING) for node in _nodes(body))
