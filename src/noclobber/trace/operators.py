"""Operators, comparisons and formats: what is computed, and from what."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Test
from .objects import Dead, State, join_states
from .values import CONST, EXCEPT, NOT, NOTHING, SERVER, Lit, Origin, Template, Value

_TEXT_OPS = frozenset(("+", "-"))
_MINUS = frozenset(("minus",))  # something was taken from it


class Operators:
    """Mixin of Walker."""

    # --- operators ---------------------------------------------------------------------------------------------------------
    def _bin(self, node: Any, state: State) -> Value:
        # Left-nested chains of thousands of operands must not recurse.
        chain = []
        left = node
        while isinstance(left, ir.Bin):
            chain.append(left)
            left = left.left
        value = self.eval(left, state)
        for step in reversed(chain):
            value = self.binary(step.op, value, self.eval(step.right, state), step, state)
        return value

    def binary(self, op: str, left: Value, right: Value, node: Any, state: State) -> Value:
        if left.ref is not None and left.ref[0] in ("pred", "column", "server") or right.ref is not None and right.ref[0] in ("pred", "column", "server"):
            return self.server_operation(op, left, right)
        if SERVER in left.origins or SERVER in right.origins:
            return self.values.make(frozenset((SERVER,)) | left.origins | right.origins)
        if op == "+" and (is_text(left) or is_text(right)):
            joined = self.numbered(self.weakened(self.values.template([left, right])), node, state)
            return self.altered(right, joined) if left.text is not None and left.text.startswith("W/") else joined  # a strong tag made weak
        if op == "/" and (self.is_path(left) or self.is_path(right)):
            return self.path(left, "/", right)
        if op == "%" and is_text(left):
            return self.percent_format(left, right, state)
        if op == "-" and left.objs and self.words_among(right, state):
            return self.without(left, self.words_among(right, state), node, state)
        if op == "-" and right.objs and any(o.kind == "read" for o in right.origins) and self._is_list(right, state):
            return self.difference(left, right, node, state)
        if op == "|" and (left.objs or right.objs):
            return self.merged(left, right, node, state)
        if op == "+" and (left.objs or right.objs) and (self.known_items(left, state) is not None or self.known_items(right, state) is not None
                                                      or self._is_list(left, state) or self._is_list(right, state)):
            return self.merged(left, right, node, state)
        incr = NOTHING
        if op in _TEXT_OPS and not _not_number(left, state) and not _not_number(right, state):
            incr = left.same | left.incr
            if op == "+":
                incr |= right.same | right.incr
        origins = left.origins | right.origins
        if len(origins) > 1:
            origins -= {CONST}
        if type(left.shape) is Lit and type(right.shape) is Lit and op in _TEXT_OPS:
            try:
                folded = left.shape.value + right.shape.value if op == "+" else left.shape.value - right.shape.value
                if isinstance(folded, (int, float, str)) and (not isinstance(folded, str) or len(folded) < 10_000):
                    return self.values.const(folded)
            except TypeError:
                pass
        steps = frozenset(o for o in incr if o.kind != "const")
        return self.values.make(origins, incr=steps, flags=_MINUS if steps and op == "-" else NOTHING)

    def difference(self, left: Value, right: Value, node: Any, state: State) -> Value:
        """`wanted - known`, two sets: the members of the first that are not in the second."""
        member = self.member(left, state)
        number = self.event(Test, node, state, "minus", left=member, op="not in", right=right).n
        result = self.container(node, "list", state, {}, member, "minus")
        self.note_sifted(result, self.sifted_by(left) | {Origin("test", number, ("yes",))})
        return self.values.replace(result, origins=(result.origins | left.origins | right.origins) - {CONST} or result.origins)

    @staticmethod
    def _is_list(value: Value, state: State) -> bool:
        return any(state.heap[oid].kind in ("list", "tuple") for oid in value.objs if oid in state.heap)

    def without(self, left: Value, words: frozenset, node: Any, state: State) -> Value:
        """`set(names) - {"a", "b"}`."""
        known = self.words_among(left, state)
        if known is not None:
            return self.container(node, "list", state, {}, self._one_word(known - words))
        member = self.member(left, state)
        return self.container(node, "list", state, {}, self.values.replace(member, flags=member.flags | {EXCEPT} | {NOT + word for word in words}))

    def _one_word(self, words: frozenset) -> Optional[Value]:
        result: Optional[Value] = None
        for word in sorted(words):
            value = self.values.const(word)
            result = value if result is None else self.values.join(result, value)
        return result

    def merged(self, left: Value, right: Value, node: Any, state: State) -> Value:
        """`a | b`, `a + b` of containers: a new container with the members of both."""
        fields: dict = {}
        elem: Optional[Value] = None
        known = self.known_items(left, state)
        if known and node.op == "+":
            tail = self.member(right, state)
            whole = self.container(node, "list", state, {f"[{i}]": v for i, v in enumerate(known)}, tail)
            return self.values.replace(whole, origins=(whole.origins | left.origins | right.origins) - {CONST} or whole.origins)
        for side in (left, right):
            mapping = self.mapping_items(side, state)
            is_dict = any(state.heap[oid].kind == "dict" for oid in side.objs if oid in state.heap)
            if mapping is not None and is_dict:
                fields.update(mapping)
                rest = self.rest_of(side, state, mapping)
            else:
                rest = self.member(side, state)
                rest = self.values.replace(rest, origins=rest.origins | side.origins) if side.origins - {CONST} else rest
            if rest is not None:
                elem = rest if elem is None else self.values.join(elem, rest)
        value = self.container(node, "dict" if fields and elem is None else "list" if not fields else "dict", state, fields, elem)
        origins = (value.origins | left.origins | right.origins) - {CONST}
        return self.values.replace(value, origins=origins or value.origins)

    def percent_format(self, left: Value, right: Value, state: State) -> Value:
        """`"… %s …" % args` with the pieces kept."""
        text = left.text
        items = self.known_items(right, state)
        if text is None:
            return self.values.derived(left, self.flat(state, right))
        pieces = _split_percent(text)
        holes = [p for p in pieces if p[0] == "hole"]
        args = items if items is not None else [right] if len(holes) == 1 else None
        mapping = self.mapping_items(right, state)
        if pieces is None or (args is None and mapping is None) or (args is not None and mapping in (None, {}) and len(args) != len(holes)):
            return self.values.derived(left, self.flat(state, right))
        out: list = []
        place = 0
        for kind, piece in pieces:
            if kind == "text":
                out.append(piece)
            elif piece and mapping:
                out.append(mapping.get(f"[{piece!r}]", self.values.unknown))
            elif args is not None and place < len(args):
                out.append(args[place])
                place += 1
            else:
                return self.values.derived(left, self.flat(state, right))
        return self.values.template(out)

    def _unary(self, node: Any, state: State) -> Value:
        value = self.eval(node.operand, state)
        if node.op == "not":
            self.looked_at(state, value, "test")
            return self.values.make(value.origins, ref=("not", value))
        if node.op == "-" and type(value.shape) is Lit and isinstance(value.shape.value, (int, float)):
            return self.values.const(-value.shape.value)
        if value.ref is not None and value.ref[0] == "pred":
            return self.values.make(value.origins, ref=("pred", (("", "or", value),)))
        return self.values.make(value.origins, objs=value.objs if node.op == "~" else NOTHING, query=value.query)

    def _bool_op(self, node: Any, state: State) -> Value:
        # Each operand is evaluated only where the ones before let it: `lock and write()`.
        results: list[Value] = []
        ends: list = []
        current: Optional[State] = state.copy()
        for i, operand in enumerate(node.values):
            try:
                value = self.eval(operand, current)
            except Dead:
                break  # `x or abort(404)`: what comes after has an x
            if i == len(node.values) - 1:
                results.append(value)
                ends.append(current)
                break
            results.append(value)
            yes, no = self.refine(value, operand, current)
            stop, current = (no, yes) if node.op == "and" else (yes, no)
            if stop is not None:
                ends.append(stop)
            if current is None:
                break
        if not ends or not results:
            raise Dead
        self._rejoin(state, ends)
        if node.op == "or":
            return self._or_value(results)
        value = results[-1]
        for other in results[:-1]:
            value = self.values.replace(value, origins=(value.origins | other.origins) - {CONST} or value.origins)
        return value

    def _or_value(self, results: list) -> Value:
        """`x or default`: for an empty field its default; the identity of x survives a literal default (`x or 0`)."""
        first = results[0]
        for other in results[1:]:
            if other.is_none or (type(other.shape) is Lit and not first.objs):
                first = self.values.make(first.origins, same=first.same, incr=first.incr, objs=first.objs, typ=first.typ, name=first.name,
                                         flags=first.flags | ({"text"} if is_text(other) else NOTHING), query=first.query)
            else:
                first = self.values.join(first, other)
                if is_text(other):
                    first = self.values.replace(first, flags=first.flags | {"text"})
        return first

    def _rejoin(self, state: State, ends: list) -> None:
        control = state.control
        joined = join_states(self.values, ends)
        if joined is not None:
            state.adopt(joined.copy())
            state.control = control

    def _compare(self, node: Any, state: State) -> Value:
        left = self.eval(node.left, state)
        first = left
        rights = []
        for op, right in node.rest:
            rights.append((op, self.eval(right, state)))
        if len(rights) == 1:
            op, right = rights[0]
            if self.dispatch is not None and op in ("in", "not in"):
                decided = self.dispatched_in(first, right, state)
                if decided is not None:
                    return self.values.const(decided == (op == "in"))
            predicate = self.column_comparison(first, op, right)
            if predicate is not None:
                return predicate
        origins = first.origins
        for _, right in rights:
            origins |= self.deep(state, right)
        for op, right in rights:
            self.tag_order(op, left, right, node, state)
            left = right
        for value in (first, *(r for _, r in rights)):
            self.looked_at(state, value, "compared")
            self.trace.weighed.update(o.n for o in value.origins if o.kind == "outcome")
        result = self.values.make(origins - {CONST} or origins, ref=("compare", first, rights[0][0], rights[0][1]) if len(rights) == 1 else None)
        return result

    def _if_exp(self, node: Any, state: State) -> Value:
        yes, no = self.test(node.test, state.copy())
        results, ends = [], []
        for branch, expression in ((yes, node.body), (no, node.orelse)):
            if branch is not None:
                try:
                    results.append(self.eval(expression, branch))
                    ends.append(branch)
                except Dead:
                    continue
        if not ends:
            raise Dead
        self._rejoin(state, ends)
        value = results[0] if results else self.values.unknown
        for other in results[1:]:
            value = self.values.join(value, other)
        return value


def is_text(value: Value) -> bool:
    return type(value.shape) is Template or (type(value.shape) is Lit and isinstance(value.shape.value, str))


def _not_number(value: Value, state: State) -> bool:
    """Certainly no number: text, a list, dict or set made here."""
    if is_text(value) or "text" in value.flags:
        return True
    return any(state.heap[oid].kind in ("dict", "list", "tuple") for oid in value.objs if oid in state.heap)


def _split_percent(text: str) -> Any:
    """`"a %s b %(x)d"` → [('text', 'a '), ('hole', ''), …]."""
    pieces: list = []
    i = 0
    plain = ""
    while i < len(text):
        if text[i] != "%" or i + 1 >= len(text):
            plain += text[i]
            i += 1
            continue
        if text[i + 1] == "%":
            plain += "%"
            i += 2
            continue
        j = i + 1
        name = ""
        if text[j] == "(":
            end = text.find(")", j)
            if end < 0:
                plain += text[i]
                i += 1
                continue
            name = text[j + 1:end]
            j = end + 1
        while j < len(text) and text[j] in "#0- +.123456789":
            j += 1
        if j >= len(text) or text[j] not in "diouxXeEfFgGcrsa":
            plain += text[i]
            i += 1
            continue
        if plain:
            pieces.append(("text", plain))
            plain = ""
        pieces.append(("hole", name))
        i = j + 1
    if plain:
        pieces.append(("text", plain))
    return pieces
