"""LibCST's statements and patterns → ir."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from .. import ir
from .expressions import BINARY, EXPRESSIONS, annotation, optional, params


def lower_statements(nodes: Iterable[Any]) -> tuple[ir.Node, ...]:
    """Simple statement lines and compound statements → ir statements, in order."""
    out = []
    for node in nodes:
        if type(node) is cst.SimpleStatementLine:
            for small in node.body:
                out.append(STATEMENTS[type(small)](small))
        else:
            out.append(STATEMENTS[type(node)](node))
    return tuple(out)


def _body(suite: Any) -> tuple[ir.Node, ...]:
    if type(suite) is cst.IndentedBlock:
        return lower_statements(suite.body)
    return tuple([STATEMENTS[type(small)](small) for small in suite.body])


def _expr(node: cst.Expr) -> ir.Node:
    return ir.Expr(EXPRESSIONS[type(node.value)](node.value), at=node)


def _assign(node: cst.Assign) -> ir.Node:
    targets = []
    for target in node.targets:
        targets.append(EXPRESSIONS[type(target.target)](target.target))
    return ir.Assign(tuple(targets), EXPRESSIONS[type(node.value)](node.value), at=node)


def _ann_assign(node: cst.AnnAssign) -> ir.Node:
    target = EXPRESSIONS[type(node.target)](node.target)
    return ir.AnnAssign(target, annotation(node.annotation), optional(node.value), at=node)


def _aug_assign(node: cst.AugAssign) -> ir.Node:
    target = EXPRESSIONS[type(node.target)](node.target)
    return ir.AugAssign(target, BINARY[type(node.operator)], EXPRESSIONS[type(node.value)](node.value), at=node)


def _type_alias(node: cst.TypeAlias) -> ir.Node:
    return ir.Assign((EXPRESSIONS[cst.Name](node.name),), EXPRESSIONS[type(node.value)](node.value), at=node)


def _return(node: cst.Return) -> ir.Node:
    return ir.Return(optional(node.value), at=node)


def _raise(node: cst.Raise) -> ir.Node:
    return ir.Raise(optional(node.exc), None if node.cause is None else optional(node.cause.item), at=node)


def _assert(node: cst.Assert) -> ir.Node:
    return ir.Assert(EXPRESSIONS[type(node.test)](node.test), optional(node.msg), at=node)


def _delete(node: cst.Del) -> ir.Node:
    """`del a, (b, c)` deletes three targets."""
    targets = []
    rest = [EXPRESSIONS[type(node.target)](node.target)]
    while rest:
        target = rest.pop()
        if type(target) is ir.TupleX or type(target) is ir.ListX:
            rest.extend(reversed(target.items))
        else:
            targets.append(target)
    return ir.Delete(tuple(targets), at=node)


def _pass(node: cst.Pass) -> ir.Node:
    return ir.Pass(at=node)


def _break(node: cst.Break) -> ir.Node:
    return ir.Break(at=node)


def _continue(node: cst.Continue) -> ir.Node:
    return ir.Continue(at=node)


def _global(node: Any) -> ir.Node:
    return ir.Global(tuple([item.name.value for item in node.names]), at=node)


def _dotted(node: Any) -> str:
    names = []
    while type(node) is cst.Attribute:
        names.append(node.attr.value)
        node = node.value
    names.append(node.value)
    return ".".join(reversed(names))


def _import(node: Any) -> ir.Node:
    """`import a.b` binds `a` to `a`; `import a.b as c` binds `c` to `a.b`."""
    names = []
    for alias in node.names:
        dotted = _dotted(alias.name)
        if alias.asname is None:
            dotted = dotted.partition(".")[0]
            names.append((dotted, dotted))
        else:
            names.append((alias.asname.name.value, dotted))
    return ir.Import(tuple(names), at=node)


def _import_from(node: Any) -> ir.Node:
    """A star import is the one pair ("*", module)."""
    module = "." * len(node.relative) + ("" if node.module is None else _dotted(node.module))
    if type(node.names) is cst.ImportStar:
        return ir.Import((("*", module),), at=node)
    prefix = module if module.endswith(".") else module + "."
    names = []
    for alias in node.names:
        local = alias.name.value if alias.asname is None else alias.asname.name.value
        names.append((local, prefix + alias.name.value))
    return ir.Import(tuple(names), at=node)


def _if(node: cst.If) -> ir.Node:
    branches = []
    branch: Any = node
    while type(branch) is cst.If:
        branches.append((EXPRESSIONS[type(branch.test)](branch.test), _body(branch.body)))
        branch = branch.orelse
    return ir.If(tuple(branches), _else(branch), at=node)


def _else(node: Any) -> tuple[ir.Node, ...]:
    """The body of an Else or Finally node, or () for None."""
    return () if node is None else _body(node.body)


def _while(node: cst.While) -> ir.Node:
    return ir.While(EXPRESSIONS[type(node.test)](node.test), _body(node.body), _else(node.orelse), at=node)


def _for(node: cst.For) -> ir.Node:
    target = EXPRESSIONS[type(node.target)](node.target)
    source = EXPRESSIONS[type(node.iter)](node.iter)
    return ir.For(target, source, _body(node.body), _else(node.orelse), node.asynchronous is not None, at=node)


def _try(node: Any) -> ir.Node:
    body = _body(node.body)
    handlers = []
    for handler in node.handlers:
        name = None if handler.name is None else handler.name.name.value
        star = type(handler) is cst.ExceptStarHandler
        handlers.append(ir.Handler(optional(handler.type), name, _body(handler.body), star, at=handler))
    return ir.Try(body, tuple(handlers), _else(node.orelse), _else(node.finalbody), at=node)


def _with(node: cst.With) -> ir.Node:
    items = []
    for item in node.items:
        value = EXPRESSIONS[type(item.item)](item.item)
        items.append((value, None if item.asname is None else optional(item.asname.name)))
    return ir.With(tuple(items), _body(node.body), node.asynchronous is not None, at=node)


def _decorators(node: Any) -> tuple[ir.Node, ...]:
    out = []
    for decorator in node.decorators:
        out.append(EXPRESSIONS[type(decorator.decorator)](decorator.decorator))
    return tuple(out)


def _function(node: cst.FunctionDef) -> ir.Node:
    decorators = _decorators(node)
    parameters = params(node.params)
    returns = None if node.returns is None else annotation(node.returns)
    is_async = node.asynchronous is not None
    return ir.FunctionDef(node.name.value, parameters, _body(node.body), decorators, returns, is_async, at=node)


def _class(node: cst.ClassDef) -> ir.Node:
    """`class A(*bases, **options)`: a Starred base; a keyword whose name is None."""
    decorators = _decorators(node)
    bases = []
    for arg in node.bases:
        base = EXPRESSIONS[type(arg.value)](arg.value)
        bases.append(ir.Starred(base, at=arg) if arg.star else base)
    keywords = []
    for arg in node.keywords:
        name = None if arg.keyword is None else arg.keyword.value
        keywords.append((name, EXPRESSIONS[type(arg.value)](arg.value)))
    return ir.ClassDef(node.name.value, tuple(bases), tuple(keywords), _body(node.body), decorators, at=node)


# --- match -------------------------------------------------------------------------------------------------------
def _match(node: cst.Match) -> ir.Node:
    subject = EXPRESSIONS[type(node.subject)](node.subject)
    cases = []
    for case in node.cases:
        pattern = _pattern(case.pattern)
        cases.append(ir.Case(pattern, optional(case.guard), _body(case.body), at=case))
    return ir.Match(subject, tuple(cases), at=node)


def _pattern(node: Any) -> ir.Node:
    return PATTERNS[type(node)](node)


def _make_pattern(kind: str, node: Any, values: Iterable[ir.Node] = (), parts: Iterable[ir.Node] = (),
                  name: str | None = None) -> ir.Node:
    parts = tuple(parts)
    names: dict[str, None] = {}  # in order, once (alternatives of an or-pattern bind the same names)
    for part in parts:
        names.update(dict.fromkeys(part.names))
    if name is not None:
        names[name] = None
    return ir.Pattern(kind, tuple(names), tuple(values), parts, at=node)


def _match_value(node: Any) -> ir.Node:
    return _make_pattern("value", node, [EXPRESSIONS[type(node.value)](node.value)])


def _match_sequence(node: Any) -> ir.Node:
    parts = []
    for element in node.patterns:
        if type(element) is cst.MatchStar:
            parts.append(_capture(element, element.name))
        else:
            parts.append(_pattern(element.value))
    return _make_pattern("sequence", node, (), parts)


def _capture(node: Any, name: cst.Name | None) -> ir.Node:
    if name is None:
        return _make_pattern("wild", node)
    return _make_pattern("capture", node, name=name.value)


def _match_mapping(node: cst.MatchMapping) -> ir.Node:
    """values: the keys; parts: the pattern of each key, then a capture for `**rest`."""
    values = []
    parts = []
    for element in node.elements:
        values.append(EXPRESSIONS[type(element.key)](element.key))
        parts.append(_pattern(element.pattern))
    if node.rest is not None:
        parts.append(_capture(node.rest, node.rest))
    return _make_pattern("mapping", node, values, parts)


def _match_class(node: cst.MatchClass) -> ir.Node:
    """values: the class; parts: positional patterns, then keyword patterns."""
    parts = []
    for element in node.patterns:
        parts.append(_pattern(element.value))
    for keyword_element in node.kwds:
        parts.append(_pattern(keyword_element.pattern))
    return _make_pattern("class", node, [EXPRESSIONS[type(node.cls)](node.cls)], parts)


def _match_as(node: cst.MatchAs) -> ir.Node:
    """`p as n` is a capture with the one part `p`."""
    if node.pattern is None:
        return _capture(node, node.name)
    return _make_pattern("capture", node, (), [_pattern(node.pattern)], None if node.name is None else node.name.value)


def _match_or(node: cst.MatchOr) -> ir.Node:
    parts = []
    for element in node.patterns:
        parts.append(_pattern(element.pattern))
    return _make_pattern("or", node, (), parts)


PATTERNS: dict[type, Callable[[Any], ir.Node]] = {
    cst.MatchValue: _match_value, cst.MatchSingleton: _match_value, cst.MatchList: _match_sequence,
    cst.MatchTuple: _match_sequence, cst.MatchMapping: _match_mapping, cst.MatchClass: _match_class,
    cst.MatchAs: _match_as,
    cst.MatchOr: _match_or,
}

STATEMENTS: dict[type, Callable[[Any], ir.Node]] = {
    cst.Expr: _expr, cst.Assign: _assign, cst.AnnAssign: _ann_assign, cst.AugAssign: _aug_assign,
    cst.TypeAlias: _type_alias,
    cst.Return: _return, cst.Raise: _raise, cst.Assert: _assert, cst.Del: _delete, cst.Pass: _pass, cst.Break: _break,
    cst.Continue: _continue, cst.Global: _global, cst.Nonlocal: _global, cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.If: _if, cst.While: _while, cst.For: _for, cst.Try: _try, cst.TryStar: _try, cst.With: _with,
    cst.FunctionDef: _function, cst.ClassDef: _class, cst.Match: _match,
}
if hasattr(cst, "LazyImport"):  # newer than the oldest LibCST we accept
    STATEMENTS[cst.LazyImport] = _import
    STATEMENTS[cst.LazyImportFrom] = _import_from
