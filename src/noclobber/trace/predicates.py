"""Predicates of retry policies: `lambda e: e.response.status_code in (409, 503)`, asked code by code.

A predicate is not walked: it is asked, for every code that matters and every text that it compares with, whether it would answer
yes. What it compares that is no constant stands for the code; a class test does not decide; the answer may stay open.
"""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Site
from .objects import State
from .values import NOTHING

_ASKED = (409, 412, 429, 503, 500)
MAX_DEPTH = 3  # of functions that a predicate calls


class Predicates:
    """Mixin of Walker."""

    def predicate_condition(self, ref: tuple, negated: bool = False) -> Any:
        """The Condition of a function of the project or a lambda; negated: it says when to give up."""
        from .policies import ANY, UNKNOWN, Condition

        definition, module, scope, excerpt = self.predicate_scope(ref)
        if definition is None:
            return UNKNOWN
        classes = set(self._predicate_names(ref) or ())
        found: dict = {"codes": set(), "compares": None, "opaque": False}
        self._constants_of(definition, module, found, 0)
        if found["compares"] is None:
            if not classes:
                return UNKNOWN
            names = frozenset(classes)
            if negated:
                return Condition(None, None, names)
            return ANY if names & {"Exception", "BaseException"} else Condition(names)
        wanted = set()
        for code in (*_ASKED, *sorted(c for c in found["codes"] if isinstance(c, str))):
            answer = self._ask_predicate(definition, module, code, 0)
            if answer is None and isinstance(code, str) or answer is negated:
                continue
            if answer is None and found["opaque"]:
                continue
            wanted.add(code)
        site = Site(excerpt, found["compares"].at, getattr(scope, "qualname", ""), getattr(scope, "path", "")) if scope is not None else None
        return Condition(frozenset(classes) if classes and not negated else None, frozenset(wanted), NOTHING, False, True, site)

    def predicate_scope(self, ref: tuple) -> tuple:
        """(definition, module, scope, excerpt)."""
        if ref[0] == "function":
            scope = ref[1]
            return scope.definition(), scope.module, scope, scope.excerpt()
        definition, scope, excerpt, _, _ = self.local_functions[ref[1]]
        return definition, scope.module, scope, excerpt

    def _constants_of(self, definition: Any, module: Any, found: dict, depth: int) -> None:
        """What is compared in a predicate and in the functions that it calls: codes, and the first comparison with one."""
        stack = [definition.body]
        while stack:
            node = stack.pop(0)
            if isinstance(node, tuple):
                stack = list(node) + stack
                continue
            if not isinstance(node, ir.Node):
                continue
            if isinstance(node, ir.Compare):
                for op, right in node.rest:
                    for side in (node.left, right):
                        codes = self._constant_codes(side, module)
                        if codes and any(isinstance(c, str) or 100 <= c < 600 for c in codes):
                            found["codes"] |= codes
                            if found["compares"] is None or isinstance(found["compares"], ir.Call):
                                found["compares"] = node
            elif isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id != "isinstance" and depth < MAX_DEPTH:
                inner = self.ask.name(module, node.func.id)
                if inner is not None and inner[0] == "function" and inner[1].definition() is not None:
                    self._constants_of(inner[1].definition(), inner[1].module, found, depth + 1)
            stack = [getattr(node, field) for field in node._fields] + stack

    def _constant_codes(self, node: Any, module: Any) -> set:
        """Literal codes of an expression: a constant, a collection of such, an attribute such as `codes.CONFLICT`, a module's constant."""
        if isinstance(node, ir.Const):
            return {node.value} if isinstance(node.value, (int, str)) and not isinstance(node.value, bool) else set()
        if isinstance(node, (ir.TupleX, ir.ListX, ir.SetX)):
            return set().union(*(self._constant_codes(item, module) for item in node.items)) if node.items else set()
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id in ("frozenset", "set", "tuple", "list") and node.args:
            return self._constant_codes(node.args[0].value, module)
        if isinstance(node, ir.Attr):
            return set(self.status_named(node.name))
        if isinstance(node, ir.Name):
            found = self.ask.name(module, node.id)
            if found is not None and found[0] == "global":
                state = State()
                return {code for code in self._codes(self.global_value(found[1], found[2], state), state) if isinstance(code, (int, str)) and not isinstance(code, bool)}
        return set()

    def _ask_predicate(self, definition: Any, module: Any, code: Any, depth: int) -> Optional[bool]:
        """Would it say yes to an error with this code? None: it depends on something else."""
        if isinstance(definition, ir.Lambda):
            return self._answer(definition.body, module, code, depth)
        said, answer = self._ask_block(definition.body, module, code, depth)
        return answer if said else False

    def _ask_block(self, body: tuple, module: Any, code: Any, depth: int) -> tuple:
        """(it certainly returns here, what). An undecided test goes on with what follows, where the branch itself says nothing else."""
        unsure: list = []
        for node in body:
            if isinstance(node, ir.Return):
                answer = self._answer(node.value, module, code, depth) if node.value is not None else False
                return True, answer if all(other == answer for other in unsure) else None
            if isinstance(node, (ir.Try, ir.With)):
                said, answer = self._ask_block(node.body, module, code, depth)
                if said:
                    return True, answer
            if not isinstance(node, ir.If):
                continue
            decided = False
            for test, inner in node.branches:
                holds = self._answer(test, module, code, depth)
                if holds is False:
                    continue
                said, answer = self._ask_block(inner, module, code, depth)
                if holds is True:
                    if said:
                        return True, answer if all(other == answer for other in unsure) else None
                    decided = True
                    break
                if said and not _is_class_test(test):
                    unsure.append(answer)
                elif said and answer is not False:
                    unsure.append(answer)  # of such an error it says so
            if not decided and node.orelse:
                said, answer = self._ask_block(node.orelse, module, code, depth)
                if said:
                    return True, answer if all(other == answer for other in unsure) else None
        return (True, unsure[-1]) if unsure and all(other == unsure[0] for other in unsure) else (bool(unsure), None)

    def _answer(self, node: Any, module: Any, code: Any, depth: int) -> Optional[bool]:
        if isinstance(node, ir.Const):
            return bool(node.value)
        if isinstance(node, ir.Unary) and node.op == "not":
            inner = self._answer(node.operand, module, code, depth)
            return None if inner is None else not inner
        if isinstance(node, ir.BoolOp):
            answers = [self._answer(value, module, code, depth) for value in node.values]
            stop = node.op == "or"
            if any(answer is stop for answer in answers):
                return stop
            decided = [answer for answer in answers if answer is not None]
            # `isinstance(e, HTTPError) and e.status in (…)`: the class test is taken as passed.
            return (not stop) if decided and node.op == "and" else None if None in answers else not stop
        if isinstance(node, ir.Compare):
            return self._compared_with(node, module, code)
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and depth < MAX_DEPTH:
            if node.func.id == "bool" and node.args:
                return self._answer(node.args[0].value, module, code, depth)
            inner = self.ask.name(module, node.func.id)
            if inner is not None and inner[0] == "function" and inner[1].definition() is not None:
                return self._ask_predicate(inner[1].definition(), inner[1].module, code, depth + 1)
        return None

    def _compared_with(self, node: Any, module: Any, code: Any) -> Optional[bool]:
        left = node.left
        answer: Optional[bool] = True
        for op, right in node.rest:
            mine, other = self._constant_codes(left, module), self._constant_codes(right, module)
            left = right
            if bool(mine) == bool(other):
                return None
            known = mine or other
            if op in ("in", "not in", "==", "!="):
                if not any(isinstance(c, type(code)) for c in known):
                    result: Optional[bool] = op in ("not in", "!=")
                else:
                    result = (code in known) == (op in ("in", "=="))
            elif op in ("<", "<=", ">", ">=") and isinstance(code, int) and all(isinstance(c, int) for c in known):
                bound = next(iter(known))
                first, second = (bound, code) if mine else (code, bound)
                result = {"<": first < second, "<=": first <= second, ">": first > second, ">=": first >= second}[op]
            else:
                return None
            if not result:
                return False
        return answer


def _is_class_test(node: Any) -> bool:
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "isinstance"
