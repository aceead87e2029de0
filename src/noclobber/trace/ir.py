"""The intermediate form of one scope: what `lower` makes of LibCST nodes, and what `walk` interprets.

Nothing here knows LibCST. Every node carries `at`, an opaque handle (the LibCST node it came from); only
`trace/positions.py` looks into it, for the one excerpt that holds a finding. Lists are tuples, names are plain strings.
Expressions and statements are slotted classes compared by identity: two calls of the same text are two sites.
"""
from __future__ import annotations

from typing import Any, Union


class Node:
    """Base of all nodes. `at`: the opaque position handle, or None for invented nodes."""

    __slots__ = ("at",)
    _fields: tuple[str, ...] = ()

    def __init__(self, *values: Any, at: Any = None) -> None:
        if len(values) != len(self._fields):
            raise TypeError(f"{type(self).__name__} takes {self._fields}")
        self.at = at
        for name, value in zip(self._fields, values):
            setattr(self, name, value)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({inner})"


def _node(name: str, *fields: str, doc: str = "") -> type[Node]:
    return type(name, (Node,), {"__slots__": fields, "_fields": fields, "__doc__": doc, "__module__": __name__})


# --- expressions -------------------------------------------------------------------------------------------------
Const = _node("Const", "value", doc="A literal: str, bytes, int, float, complex, bool, None, Ellipsis.")
Name = _node("Name", "id")
Attr = _node("Attr", "value", "name")
Sub = _node("Sub", "value", "index", doc="`value[index]`; index is an expression or a Slice; several indexes become a TupleX.")
Slice = _node("Slice", "lower", "upper", "step")
Call = _node("Call", "func", "args", doc="args: tuple of Arg in source order.")
Arg = _node("Arg", "value", "keyword", "star", doc="keyword: str or None; star: '', '*' or '**'.")
Bin = _node("Bin", "op", "left", "right", doc="op as text: + - * / // % ** @ << >> & | ^.")
Unary = _node("Unary", "op", "operand", doc="op: 'not', '-', '+', '~'.")
BoolOp = _node("BoolOp", "op", "values", doc="op: 'and' | 'or'; flattened: `a and b and c` is one node with three values.")
Compare = _node("Compare", "left", "rest", doc="rest: tuple of (op, expr); op: == != < <= > >= 'in' 'not in' 'is' 'is not'.")
IfExp = _node("IfExp", "test", "body", "orelse")
Lambda = _node("Lambda", "params", "body", doc="params: Params; body: expression.")
TupleX = _node("TupleX", "items", doc="items may hold Starred.")
ListX = _node("ListX", "items")
SetX = _node("SetX", "items")
DictX = _node("DictX", "items", doc="items: tuple of (key expr or None, value expr); key None = `**value`.")
Comp = _node("Comp", "kind", "elt", "value", "generators",
             doc="kind: 'list'|'set'|'dict'|'gen'; dict: elt is the key, value the value (else None); generators: tuple of Gen.")
Gen = _node("Gen", "target", "iter", "ifs", "is_async")
FString = _node("FString", "parts", doc="parts: tuple of str (text pieces, unescaped) and expressions, in order.")
Await = _node("Await", "value")
Yield = _node("Yield", "value", doc="value: expression or None.")
YieldFrom = _node("YieldFrom", "value")
Walrus = _node("Walrus", "target", "value", doc="target: Name.")
Starred = _node("Starred", "value")

# --- statements --------------------------------------------------------------------------------------------------
Assign = _node("Assign", "targets", "value", doc="targets: tuple of target expressions (Name, Attr, Sub, TupleX, ListX, Starred).")
AugAssign = _node("AugAssign", "target", "op", "value", doc="op without '=': `x += 1` has op '+'.")
AnnAssign = _node("AnnAssign", "target", "annotation", "value", doc="value: expression or None; annotation: expression (see Params).")
Expr = _node("Expr", "value")
Return = _node("Return", "value")
Raise = _node("Raise", "exc", "cause")
Assert = _node("Assert", "test", "msg")
Delete = _node("Delete", "targets")
Pass = _node("Pass")
Break = _node("Break")
Continue = _node("Continue")
Global = _node("Global", "names", doc="global and nonlocal alike.")
Import = _node("Import", "names", doc="names: tuple of (local name, dotted target); relative imports keep their leading dots: '..models.Account'.")
If = _node("If", "branches", "orelse", doc="branches: tuple of (test, body) for if and each elif, flattened; orelse: body or ().")
While = _node("While", "test", "body", "orelse")
For = _node("For", "target", "iter", "body", "orelse", "is_async")
Try = _node("Try", "body", "handlers", "orelse", "final")
Handler = _node("Handler", "types", "name", "body", "star", doc="types: expression or None (bare except); name: str or None; star: except*.")
With = _node("With", "items", "body", "is_async", doc="items: tuple of (expression, target expression or None).")
Match = _node("Match", "subject", "cases", doc="cases: tuple of Case.")
Case = _node("Case", "pattern", "guard", "body", doc="pattern: Pattern; guard: expression or None.")
Pattern = _node("Pattern", "kind", "names", "values", "parts",
                doc="kind: 'value'|'capture'|'sequence'|'mapping'|'class'|'or'|'wild'; names: tuple of names bound anywhere inside;"
                    " values: tuple of expressions compared with (literals, dotted names, class name); parts: sub-patterns.")
FunctionDef = _node("FunctionDef", "name", "params", "body", "decorators", "returns", "is_async",
                    doc="decorators: tuple of expressions, source order; returns: annotation expression or None.")
ClassDef = _node("ClassDef", "name", "bases", "keywords", "body", "decorators",
                 doc="bases: tuple of expressions; keywords: tuple of (name, expression).")

Params = _node("Params", "items", doc="items: tuple of Param in source order.")
Param = _node("Param", "name", "kind", "annotation", "default",
              doc="kind: 'posonly'|'pos'|'kw'|'var'|'varkw'; annotation: expression or None (string annotations are parsed"
                  " into expressions; what does not parse stays Const); default: expression or None.")

def dotted(node: Any) -> str:
    """'a.b.c' of a name or a chain of attributes of one; '' of anything else."""
    parts: list = []
    while isinstance(node, Attr):
        parts.append(node.name)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, Name) else ""


def suites(node: Any) -> list:
    """The suites of a compound statement that run in its own scope, in source order; of a loop only its body."""
    if isinstance(node, If):
        return [*(inner for _, inner in node.branches), node.orelse]
    if isinstance(node, (With, While, For)):
        return [node.body]
    if isinstance(node, Try):
        return [node.body, node.orelse, node.final, *(handler.body for handler in node.handlers)]
    return []


Expression = Union[Const, Name, Attr, Sub, Slice, Call, Bin, Unary, BoolOp, Compare, IfExp, Lambda, TupleX, ListX, SetX, DictX,
                   Comp, FString, Await, Yield, YieldFrom, Walrus, Starred]
Body = tuple  # tuple of statements
