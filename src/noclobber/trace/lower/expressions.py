"""LibCST's expressions, parameters and annotations → ir."""
from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from .. import ir
from .text import string_value, unescape

#: Longer string annotations stay strings: their nesting was not bounded by the `ast` pass, and LibCST has no limit
#: of its own.
_MAX_ANNOTATION = 400


def _simple_string(node: cst.SimpleString) -> ir.Node:
    return ir.Const(string_value(node.value), at=node)


def _add_text(parts: list[Any], text: str) -> None:
    if not text:
        return
    if parts and type(parts[-1]) is str:
        parts[-1] += text
    else:
        parts.append(text)


def _add_formatted(parts: list[Any], pieces: Iterable[Any], raw: bool, in_spec: bool) -> None:
    """Append the pieces of one f-string or t-string. Of a format spec only the expressions count."""
    for piece in pieces:
        if type(piece) in (cst.FormattedStringText, cst.TemplatedStringText):
            if not in_spec:
                text = piece.value.replace("{{", "{").replace("}}", "}")
                _add_text(parts, text if raw else unescape(text))
            continue
        if piece.equal is not None and not in_spec:
            _add_text(parts, _EMPTY.code_for_node(piece.expression) + "=")
        parts.append(EXPRESSIONS[type(piece.expression)](piece.expression))
        if piece.format_spec:
            _add_formatted(parts, piece.format_spec, raw, True)


_EMPTY = cst.Module(())


def _formatted_string(node: Any) -> ir.Node:
    parts: list[Any] = []
    _add_formatted(parts, node.parts, "r" in node.start.lower(), False)
    return ir.FString(tuple(parts), at=node)


def _concatenated_string(node: cst.ConcatenatedString) -> ir.Node:
    pieces: list[Any] = []
    rest: Any = node
    while type(rest) is cst.ConcatenatedString:  # nests to the right
        pieces.append(rest.left)
        rest = rest.right
    pieces.append(rest)
    if all(type(piece) is cst.SimpleString for piece in pieces):
        values: list[Any] = [string_value(piece.value) for piece in pieces]
        return ir.Const(values[0][:0].join(values), at=node)
    parts: list[Any] = []
    for piece in pieces:
        if type(piece) is cst.SimpleString:
            _add_text(parts, str(string_value(piece.value)))  # LibCST refuses bytes beside f-strings
        else:
            _add_formatted(parts, piece.parts, "r" in piece.start.lower(), False)
    return ir.FString(tuple(parts), at=node)


_NAMED_CONSTANTS = {"True": True, "False": False, "None": None}


def _name(node: cst.Name) -> ir.Node:
    if node.value in _NAMED_CONSTANTS:
        return ir.Const(_NAMED_CONSTANTS[node.value], at=node)
    return ir.Name(node.value, at=node)


def _integer(node: cst.Integer) -> ir.Node:
    return ir.Const(int(node.value, 0), at=node)


def _float(node: cst.Float) -> ir.Node:
    return ir.Const(float(node.value), at=node)


def _imaginary(node: cst.Imaginary) -> ir.Node:
    return ir.Const(complex(0, float(node.value[:-1])), at=node)


def _ellipsis(node: cst.Ellipsis) -> ir.Node:
    return ir.Const(..., at=node)


# --- expressions -------------------------------------------------------------------------------------------------
def _chain(node: Any) -> ir.Node:
    """Attribute, call and subscript chains: down to the base in a loop, then up again."""
    links = []
    kind = type(node)
    while True:
        if kind is cst.Call:
            links.append(node)
            node = node.func
        elif kind is cst.Attribute or kind is cst.Subscript:
            links.append(node)
            node = node.value
        else:
            break
        kind = type(node)
    result = EXPRESSIONS[kind](node)
    for link in reversed(links):
        kind = type(link)
        if kind is cst.Attribute:
            result = ir.Attr(result, link.attr.value, at=link)
        elif kind is cst.Call:
            args = []
            for arg in link.args:
                value = EXPRESSIONS[type(arg.value)](arg.value)
                args.append(ir.Arg(value, None if arg.keyword is None else arg.keyword.value, arg.star, at=arg))
            result = ir.Call(result, tuple(args), at=link)
        else:
            result = ir.Sub(result, _index(link), at=link)
    return result


def _index(node: cst.Subscript) -> ir.Node:
    items = []
    is_tuple = len(node.slice) != 1 or type(node.slice[0].comma) is cst.Comma
    for element in node.slice:
        inner: Any = element.slice
        if type(inner) is cst.Slice:
            bounds = [None if bound is None else EXPRESSIONS[type(bound)](bound)
                      for bound in (inner.lower, inner.upper, inner.step)]
            items.append(ir.Slice(*bounds, at=inner))
            continue
        item = EXPRESSIONS[type(inner.value)](inner.value)
        if inner.star:
            item = ir.Starred(item, at=inner)
            is_tuple = True  # `a[*b]` is `a[(*b,)]`
        items.append(item)
    return ir.TupleX(tuple(items), at=node) if is_tuple else items[0]


BINARY = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitAnd: "&", cst.BitOr: "|",
    cst.BitXor: "^",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%", cst.PowerAssign: "**", cst.MatrixMultiplyAssign: "@", cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>", cst.BitAndAssign: "&", cst.BitOrAssign: "|", cst.BitXorAssign: "^",
}
_UNARY = {cst.Not: "not", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}
_COMPARE = {
    cst.Equal: "==", cst.NotEqual: "!=", cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=", cst.In: "in", cst.NotIn: "not in", cst.Is: "is", cst.IsNot: "is not",
}


def _binary(node: Any) -> ir.Node:
    links = []
    while type(node) is cst.BinaryOperation:
        links.append(node)
        node = node.left
    result = EXPRESSIONS[type(node)](node)
    for link in reversed(links):
        result = ir.Bin(BINARY[type(link.operator)], result, EXPRESSIONS[type(link.right)](link.right), at=link)
    return result


def _unary(node: cst.UnaryOperation) -> ir.Node:
    return ir.Unary(_UNARY[type(node.operator)], EXPRESSIONS[type(node.expression)](node.expression), at=node)


def _boolean(node: cst.BooleanOperation) -> ir.Node:
    kind = type(node.operator)
    values = []
    rest: list[Any] = [node]
    while rest:
        item = rest.pop()
        if type(item) is cst.BooleanOperation and type(item.operator) is kind:
            rest.append(item.right)
            rest.append(item.left)
        else:
            values.append(EXPRESSIONS[type(item)](item))
    return ir.BoolOp("and" if kind is cst.And else "or", tuple(values), at=node)


def _comparison(node: cst.Comparison) -> ir.Node:
    left = EXPRESSIONS[type(node.left)](node.left)
    rest = []
    for target in node.comparisons:
        rest.append((_COMPARE[type(target.operator)], EXPRESSIONS[type(target.comparator)](target.comparator)))
    return ir.Compare(left, tuple(rest), at=node)


def _if_expression(node: cst.IfExp) -> ir.Node:
    test = EXPRESSIONS[type(node.test)](node.test)
    body = EXPRESSIONS[type(node.body)](node.body)
    return ir.IfExp(test, body, EXPRESSIONS[type(node.orelse)](node.orelse), at=node)


def _lambda(node: cst.Lambda) -> ir.Node:
    return ir.Lambda(params(node.params), EXPRESSIONS[type(node.body)](node.body), at=node)


def _elements(elements: Iterable[Any]) -> tuple[ir.Node, ...]:
    items = []
    for element in elements:
        value = EXPRESSIONS[type(element.value)](element.value)
        items.append(ir.Starred(value, at=element) if type(element) is cst.StarredElement else value)
    return tuple(items)


def _tuple(node: cst.Tuple) -> ir.Node:
    return ir.TupleX(_elements(node.elements), at=node)


def _list(node: cst.List) -> ir.Node:
    return ir.ListX(_elements(node.elements), at=node)


def _set(node: cst.Set) -> ir.Node:
    return ir.SetX(_elements(node.elements), at=node)


def _dict(node: cst.Dict) -> ir.Node:
    items = []
    for element in node.elements:
        key = element.key if type(element) is cst.DictElement else None
        lowered = None if key is None else EXPRESSIONS[type(key)](key)
        items.append((lowered, EXPRESSIONS[type(element.value)](element.value)))
    return ir.DictX(tuple(items), at=node)


_COMPREHENSIONS = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "gen", cst.DictComp: "dict"}


def _comprehension(node: Any) -> ir.Node:
    """`{**d for d in ds}` (Python 3.15) is a dict Comp without a key, like the `**` items of DictX; `[*r for r in
    rs]` has a
    Starred element."""
    kind = _COMPREHENSIONS.get(type(node), "dict")
    elt = value = None
    if type(node) is cst.DictComp:
        elt = EXPRESSIONS[type(node.key)](node.key)
        value = EXPRESSIONS[type(node.value)](node.value)
    elif kind == "dict":
        value = EXPRESSIONS[type(node.value)](node.value)
    else:
        elt = EXPRESSIONS[type(node.elt)](node.elt)
    generators = []
    clause: Any = node.for_in
    while clause is not None:
        target = EXPRESSIONS[type(clause.target)](clause.target)
        source = EXPRESSIONS[type(clause.iter)](clause.iter)
        tests = []
        for condition in clause.ifs:
            tests.append(EXPRESSIONS[type(condition.test)](condition.test))
        generators.append(ir.Gen(target, source, tuple(tests), clause.asynchronous is not None, at=clause))
        clause = clause.inner_for_in
    return ir.Comp(kind, elt, value, tuple(generators), at=node)


def _await(node: cst.Await) -> ir.Node:
    return ir.Await(EXPRESSIONS[type(node.expression)](node.expression), at=node)


def _yield(node: cst.Yield) -> ir.Node:
    value: Any = node.value
    if type(value) is cst.From:
        return ir.YieldFrom(EXPRESSIONS[type(value.item)](value.item), at=node)
    return ir.Yield(optional(value), at=node)


def _walrus(node: cst.NamedExpr) -> ir.Node:
    return ir.Walrus(EXPRESSIONS[type(node.target)](node.target), EXPRESSIONS[type(node.value)](node.value), at=node)


def _starred(node: Any) -> ir.Node:
    return ir.Starred(EXPRESSIONS[type(node.value)](node.value), at=node)


def optional(node: Any) -> ir.Node | None:
    return None if node is None else EXPRESSIONS[type(node)](node)


EXPRESSIONS: dict[type, Callable[[Any], ir.Node]] = {
    cst.Name: _name, cst.Attribute: _chain, cst.Call: _chain, cst.Subscript: _chain,
    cst.SimpleString: _simple_string, cst.FormattedString: _formatted_string, cst.TemplatedString: _formatted_string,
    cst.ConcatenatedString: _concatenated_string, cst.Integer: _integer, cst.Float: _float, cst.Imaginary: _imaginary,
    cst.Ellipsis: _ellipsis, cst.BinaryOperation: _binary, cst.UnaryOperation: _unary, cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison, cst.IfExp: _if_expression, cst.Lambda: _lambda, cst.Tuple: _tuple, cst.List: _list,
    cst.Set: _set, cst.Dict: _dict, cst.ListComp: _comprehension, cst.SetComp: _comprehension,
    cst.GeneratorExp: _comprehension, cst.DictComp: _comprehension, cst.Await: _await, cst.Yield: _yield,
    cst.NamedExpr: _walrus, cst.StarredElement: _starred,
}
if hasattr(cst, "StarredDictComp"):  # newer than the oldest LibCST we accept
    EXPRESSIONS[cst.StarredDictComp] = _comprehension


# --- parameters and annotations ----------------------------------------------------------------------------------
def params(node: cst.Parameters) -> ir.Node:
    items: list[ir.Node] = []
    for param in node.posonly_params:
        _add_param(items, param, "posonly")
    for param in node.params:
        _add_param(items, param, "pos")
    if type(node.star_arg) is cst.Param:
        _add_param(items, node.star_arg, "var")
    for param in node.kwonly_params:
        _add_param(items, param, "kw")
    if node.star_kwarg is not None:
        _add_param(items, node.star_kwarg, "varkw")
    return ir.Params(tuple(items), at=node)


def _add_param(items: list[ir.Node], node: cst.Param, kind: str) -> None:
    spelled = None if node.annotation is None else annotation(node.annotation)
    items.append(ir.Param(node.name.value, kind, spelled, optional(node.default), at=node))


def annotation(node: cst.Annotation) -> ir.Node:
    inner: Any = node.annotation
    return _read_strings(EXPRESSIONS[type(inner)](inner))


def _read_strings(node: ir.Node) -> ir.Node:
    """An annotation with the strings in it (forward references) replaced by the expressions that they spell.

    `node` is fresh, so it is changed in place. Strings in `Literal[…]` and all but the first of `Annotated[…]` are
    values.
    """
    kind = type(node)
    if kind is ir.Const:
        return _parse_annotation(node) if isinstance(node.value, str) else node
    if kind is ir.Sub:
        name = getattr(node.value, "name", None) or getattr(node.value, "id", None)  # Attr or Name
        if name == "Annotated" and type(node.index) is ir.TupleX and node.index.items:
            node.index.items = (_read_strings(node.index.items[0]), *node.index.items[1:])
        elif name != "Literal":
            node.index = _read_strings(node.index)
    elif kind is ir.TupleX or kind is ir.ListX:
        node.items = tuple([_read_strings(item) for item in node.items])
    elif kind is ir.Bin and node.op == "|":
        link = node
        link.right = _read_strings(link.right)
        while type(link.left) is ir.Bin and link.left.op == "|":  # a long union nests to the left
            link = link.left
            link.right = _read_strings(link.right)
        link.left = _read_strings(link.left)
    elif kind is ir.Starred:
        node.value = _read_strings(node.value)
    return node


def _parse_annotation(const: ir.Node) -> ir.Node:
    """The expression that a string annotation spells (every node's `at` is the string's), or the Const itself."""
    text = const.value.strip()
    names = text.split(".")
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        result = ir.Name(names[0], at=const.at)
        for name in names[1:]:
            result = ir.Attr(result, name, at=const.at)
        return result
    if not text or len(text) > _MAX_ANNOTATION:
        return const
    try:
        node: Any = cst.parse_expression(f"({text})")  # parentheses as `typing` puts them: line ends are allowed
        result = EXPRESSIONS[type(node)](node)
    except Exception:
        return const  # any text may stand in a string
    _place_at(result, const.at)
    return result


def _place_at(node: ir.Node, at: Any) -> None:
    rest: list[Any] = [node]
    while rest:
        item = rest.pop()
        if isinstance(item, tuple):
            rest.extend(item)
        elif isinstance(item, ir.Node):
            item.at = at
            rest.extend(getattr(item, name) for name in item._fields)
