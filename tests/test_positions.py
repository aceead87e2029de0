"""positions: exact places in the file, and every call of a sample of the standard library against `ast`."""
from __future__ import annotations

import ast
import asyncio
import email
import glob
import http
import json
import logging
import os
from collections.abc import Iterator
from typing import Any

import libcst as cst
import pytest

from noclobber.resolve import Source
from noclobber.trace import ir
from noclobber.trace.lower import Excerpt, lower_lines, lower_module, lower_ranges
from noclobber.trace.positions import place, source_text, statement_lines


def source(text: str) -> Source:
    return Source.decode("t.py", text.encode())


def nodes(tree: Any, kind: type) -> list[Any]:
    """All nodes of one ir class, in source order."""
    found, rest = [], [tree]
    while rest:
        item = rest.pop()
        if isinstance(item, tuple):
            rest.extend(reversed(item))
        elif isinstance(item, ir.Node):
            if isinstance(item, kind):
                found.append(item)
            rest.extend(reversed([getattr(item, name) for name in item._fields]))
    return found


def name(excerpt: Excerpt, wanted: str) -> Any:
    (node,) = [node for node in nodes(excerpt.body, ir.Name) if node.id == wanted]
    return node.at


METHOD = """\
class Ä:
    x = 1

    @deco(
        arg
    )
    # note
    @other
    def m(self, first,
          second=default):
        'ü'; é.save(value)
        if (test and
                more):
            a = [
                item
            ]; b = other_item
        elif second_test: inline
        else:
            in_else
        try: tried
        except (Error,
                More) as e:
            handled
        finally:
            at_last
        with lock as held, \\
                again:
            locked
        for target in \\
            things: body
        match subject(
                1):
            case {'k': captured} if (
                    guard):
                matched
        class Inner(Base,
                    meta=M): attr = inner
        return (
            result
        )
"""
STATEMENT_LINES = {
    "deco": (4, 10), "arg": (4, 10), "other": (4, 10), "default": (4, 10), "é": (11, 11), "value": (11, 11),
    "test": (12, 13), "more": (12, 13),
    "item": (14, 16), "other_item": (16, 16), "second_test": (17, 17), "inline": (17, 17), "in_else": (19, 19),
    "tried": (20, 20),
    "Error": (21, 22), "More": (21, 22), "handled": (23, 23), "at_last": (25, 25), "lock": (26, 27), "again": (26, 27),
    "locked": (28, 28),
    "things": (29, 30), "body": (30, 30), "subject": (31, 32), "guard": (33, 34), "matched": (35, 35), "Base": (36, 37),
    "inner": (37, 37),
    "result": (38, 40),
}


@pytest.mark.parametrize("wanted", STATEMENT_LINES)
@pytest.mark.parametrize("whole", [False, True])
def test_statement_lines(wanted: str, whole: bool) -> None:
    excerpt = lower_module(source(METHOD)) if whole else lower_lines(source(METHOD), 4, 40, indented=True)
    assert statement_lines(excerpt, name(excerpt, wanted)) == STATEMENT_LINES[wanted]


def test_statement_lines_of_statements() -> None:
    excerpt = lower_lines(source(METHOD), 4, 40, indented=True)
    (method,) = excerpt.body
    assert statement_lines(excerpt, method.at) == (4, 10)
    assert statement_lines(excerpt, method.params.items[1].at) == (4, 10)
    assert [statement_lines(excerpt, statement.at) for statement in method.body] == [
        (11, 11), (11, 11), (12, 13), (20, 20), (26, 27), (29, 30), (31, 32), (36, 37), (38, 40)]
    assert statement_lines(excerpt, nodes(excerpt.body, ir.Handler)[0].at) == (21, 22)
    assert statement_lines(excerpt, nodes(excerpt.body, ir.Case)[0].at) == (33, 34)


def test_place_is_the_files() -> None:
    excerpt = lower_lines(source(METHOD), 4, 40, indented=True)
    call = nodes(excerpt.body[0].body, ir.Call)[0]
    assert place(excerpt, call.at) == (11, 14, 11, 27)  # characters, not bytes
    assert place(excerpt, call.args[0].at) == (11, 21, 11, 26)
    assert place(excerpt, name(excerpt, "deco")) == (4, 6, 4, 10)
    assert place(excerpt, excerpt.body[0].at)[:2] == (9, 5)
    assert place(excerpt, name(excerpt, "result")) == (39, 13, 39, 19)
    assert place(excerpt, excerpt.body[0].body[-1].at) == (38, 9, 40, 10)


def test_place_leaves_out_parentheses() -> None:
    excerpt = lower_module(source("x = ((a.b()))\n"))
    assert place(excerpt, excerpt.body[0].value.at) == (1, 7, 1, 12)


def test_place_of_long_chain() -> None:
    excerpt = lower_module(source("x = (q\n  .filter(a)\n  .all())\n"))
    assert place(excerpt, excerpt.body[0].value.at) == (1, 6, 3, 9)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_place_with_any_line_end(end: str) -> None:
    text = "class A:\n\tdef m(self):\n\t\tx = '''\n''' ; a.save(\n  1)\n".replace("\n", end)
    excerpt = lower_lines(source(text), 2, 5, indented=True)
    (call,) = nodes(excerpt.body, ir.Call)
    assert place(excerpt, call.at) == (4, 7, 5, 5)


def test_place_behind_form_feeds() -> None:
    text = "class A:\n\f    def m(self): a()\n  \f    def n(self):\n\f        b()\n        c()\n"
    excerpt = lower_lines(source(text), 2, 5, indented=True)
    places = [place(excerpt, call.at) for call in nodes(excerpt.body, ir.Call)]
    assert places == [(2, 19, 2, 22), (4, 10, 4, 13), (5, 9, 5, 12)]
    excerpt = lower_module(source("\fa()\n"))
    assert place(excerpt, excerpt.body[0].value.at) == (1, 2, 1, 5)


def test_place_in_loose_statements() -> None:
    text = "class A:\n    x = f(1)\n    def m(self):\n        pass\n\n    y = g(2)\n"
    excerpt = lower_ranges(source(text), [(2, 2), (6, 6)])
    assert [place(excerpt, call.at) for call in nodes(excerpt.body, ir.Call)] == [(2, 9, 2, 13), (6, 9, 6, 13)]
    assert statement_lines(excerpt, nodes(excerpt.body, ir.Call)[1].at) == (6, 6)


def test_place_of_string_annotation_and_f_string() -> None:
    excerpt = lower_module(source("x: 'List[a()]' = f'{b()}'\n"))
    assert [place(excerpt, call.at) for call in nodes(excerpt.body, ir.Call)] == [(1, 4, 1, 15), (1, 21, 1, 24)]


def test_positions_are_computed_once_and_lazily() -> None:
    excerpt = lower_module(source("a()\n"))
    assert excerpt.positions is None
    place(excerpt, excerpt.body[0].at)
    kept = excerpt.positions
    statement_lines(excerpt, excerpt.body[0].at)
    assert excerpt.positions is kept


def test_unknown_nodes() -> None:
    excerpt = lower_module(source("a()\n"))
    for at in (None, cst.Name("x")):
        with pytest.raises(LookupError):
            place(excerpt, at)
        with pytest.raises(LookupError):
            statement_lines(excerpt, at)
    with pytest.raises(LookupError):
        source_text(excerpt, None)


def test_source_text() -> None:
    excerpt = lower_module(source("# above\n\nx = session.execute(\n    'a  b',   [1,\n 2])\nif x:\n    pass\n"))
    assign, if_ = excerpt.body
    assert source_text(excerpt, assign.value.at) == "session.execute("
    assert source_text(excerpt, assign.value.at, whole=True) == "session.execute( 'a b', [1, 2])"
    assert source_text(excerpt, assign.at) == "x = session.execute("
    assert source_text(excerpt, if_.at) == "if x:"
    decorated = lower_module(source("a\n\n# note\n@d\ndef f():\n    pass\n"))
    assert source_text(decorated, decorated.body[1].at) == "def f"  # a function stands at its name, not at its decorators


@pytest.mark.parametrize("text", [
    "x = " + "f(" * 199 + "a()" + ")" * 199, "x = a()" + " + a" * 199, "x = a()" + ".b(c)" * 100,
    "x = a()" + " and a" * 199,
    "if a: b\n" + "elif a: b\n" * 198 + "elif a: a()", "x = " + "lambda: " * 199 + "a()",
    "".join(" " * level + "if a:\n" for level in range(95)) + " " * 95 + "a()",
])
def test_depth(text: str) -> None:
    excerpt = lower_module(source(text + "\n"))
    call = min(nodes(excerpt.body, ir.Call), key=lambda call: len(source_text(excerpt, call.at)))
    line, column, end_line, end_column = place(excerpt, call.at)
    assert text.split("\n")[line - 1][column - 1:end_column - 1] == source_text(excerpt, call.at)
    assert statement_lines(excerpt, call.at) == (line, line)


# --- against ast -------------------------------------------------------------------------------------------------
def sample() -> list[str]:
    paths = []
    for package in (asyncio, email, http, json, logging):
        paths += sorted(glob.glob(os.path.join(os.path.dirname(package.__file__), "**", "*.py"), recursive=True))
    return paths


def functions(tree: ast.AST) -> Iterator[Any]:
    """All outermost functions and methods."""
    rest = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            rest.extend(ast.iter_child_nodes(node))


def calls_of_ast(function: ast.AST, lines: list[str]) -> tuple[int, set[tuple[int, int, int, int]]]:
    """(number of calls, places of those outside f-strings, whose places are wrong before Python 3.12)."""
    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode()) + 1

    count, places, rest = 0, set(), [(function, False)]
    while rest:
        node, in_f_string = rest.pop()
        in_f_string = in_f_string or isinstance(node, ast.JoinedStr)
        if isinstance(node, ast.Call):
            count += 1
            if not in_f_string:
                places.add((node.lineno, column(node.lineno, node.col_offset),
                            node.end_lineno, column(node.end_lineno, node.end_col_offset)))
        rest.extend((child, in_f_string) for child in ast.iter_child_nodes(node))
    return count, places


def test_calls_are_those_of_ast() -> None:
    """Every second function of the sample is lowered and counted, every eighth placed (printing positions is slow)."""
    seen = lowered = compared = 0
    for path in sample():
        with open(path, "rb") as stream:
            data = stream.read()
        file = Source.decode(path, data)
        for function in functions(ast.parse(data)):
            seen += 1
            if seen % 2:
                continue
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            excerpt = lower_lines(file, first, function.end_lineno, indented=function.col_offset > 0)
            lowered += 1
            calls = [call for call in nodes(excerpt.body, ir.Call) if type(call.at) is cst.Call]
            count, places = calls_of_ast(function, file.lines)
            assert len(calls) == count, (path, first)
            if seen % 8:
                continue
            compared += 1
            mine = {place(excerpt, call.at) for call in calls}
            assert len(mine) == len(calls) and places <= mine, (path, first)
    assert lowered > 500 and compared > 100


def test_statement_lines_are_those_of_ast() -> None:
    """Simple statements of three modules: the same physical lines as `ast`."""
    for path in sample()[::40]:
        with open(path, "rb") as stream:
            data = stream.read()
        excerpt = lower_module(Source.decode(path, data))
        simple = [node for node in nodes(excerpt.body, ir.Node) if isinstance(node.at, cst.BaseSmallStatement)]
        wanted = sorted((node.lineno, node.end_lineno) for node in ast.walk(ast.parse(data))
                        if isinstance(node, ast.stmt) and not hasattr(node, "body"))
        assert sorted(statement_lines(excerpt, node.at) for node in simple) == wanted
