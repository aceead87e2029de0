"""The root of a walk: how it is entered, what decorates it, how it ends."""
from __future__ import annotations

from typing import Any, Callable, Optional

from . import ir
from .arguments import Argument, Arguments
from .frames import Frame
from .objects import Dead, State, join_states
from .values import Value


class Roots:
    """Mixin of Walker."""

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
