"""Annotations that are given as text, as expressions of `trace.ir`."""
from __future__ import annotations

from typing import Any

from noclobber.trace import ir


def annotation_expression(text: str) -> Any:
    """The ir of an annotation given as text; None when it does not parse."""
    import ast

    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _annotation_ir(tree, 0)


def _annotation_ir(node: Any, depth: int) -> Any:
    import ast

    if depth > 20:
        return None
    if isinstance(node, ast.Name):
        return ir.Name(node.id)
    if isinstance(node, ast.Attribute):
        inner = _annotation_ir(node.value, depth + 1)
        return ir.Attr(inner, node.attr) if inner is not None else None
    if isinstance(node, ast.Subscript):
        head, index = _annotation_ir(node.value, depth + 1), _annotation_ir(node.slice, depth + 1)
        return ir.Sub(head, index if index is not None else ir.Const(None)) if head is not None else None
    if isinstance(node, ast.Tuple):
        return ir.TupleX(tuple(filter(None, (_annotation_ir(item, depth + 1) for item in node.elts))))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = _annotation_ir(node.left, depth + 1), _annotation_ir(node.right, depth + 1)
        return ir.Bin("|", left or ir.Const(None), right or ir.Const(None))
    if isinstance(node, ast.Constant):
        return annotation_expression(node.value) if isinstance(node.value, str) else ir.Const(node.value)
    return None
