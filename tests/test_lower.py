"""lower: every node kind with its exact outcome, the excerpts, and the limits."""
from __future__ import annotations

import subprocess
import sys
from typing import Any

import libcst as cst
import pytest

from noclobber.resolve import Source
from noclobber.trace import ir
from noclobber.trace.lower import LowerError, expressions, lower_lines, lower_module, lower_ranges, statements


def source(text: str) -> Source:
    return Source.decode("t.py", text.encode())


def body(text: str) -> tuple[ir.Node, ...]:
    return lower_module(source(text)).body


def one(text: str) -> ir.Node:
    (statement,) = body(text)
    return statement


def expression(text: str) -> ir.Node:
    return one(text).value


def same(got: Any, wanted: Any) -> None:
    assert repr(got) == repr(wanted)


def N(name: str) -> ir.Node:
    return ir.Name(name)


def C(value: Any) -> ir.Node:
    return ir.Const(value)


def call(func: Any, *args: Any) -> ir.Node:
    return ir.Call(func, tuple(arg if isinstance(arg, ir.Arg) else ir.Arg(arg, None, "") for arg in args))


a, b, c, d, x, y = (N(name) for name in "abcdxy")
PASS = (ir.Pass(),)


def params(*items: ir.Node) -> ir.Node:
    return ir.Params(items)


def pos(name: str, default: Any = None, annotation: Any = None, kind: str = "pos") -> ir.Node:
    return ir.Param(name, kind, annotation, default)


EXPRESSIONS = {
    "a": a,
    "True": C(True), "False": C(False), "None": C(None), "...": C(...),
    "1_000": C(1000), "0x1F": C(31), "0b11": C(3), "0o17": C(15), "1.5e3": C(1500.0), ".5": C(0.5), "3j": C(3j),
    "1_0.5j": C(10.5j),
    "a.b.c": ir.Attr(ir.Attr(a, "b"), "c"),
    "a[b]": ir.Sub(a, b),
    "a[b,]": ir.Sub(a, ir.TupleX((b,))),
    "a[b, c]": ir.Sub(a, ir.TupleX((b, c))),
    "a[(b, c)]": ir.Sub(a, ir.TupleX((b, c))),
    "a[()]": ir.Sub(a, ir.TupleX(())),
    "a[*b]": ir.Sub(a, ir.TupleX((ir.Starred(b),))),
    "a[1:2, ::x, :]":
        ir.Sub(a, ir.TupleX((ir.Slice(C(1), C(2), None), ir.Slice(None, None, x), ir.Slice(None, None, None)))),
    "a[b:]": ir.Sub(a, ir.Slice(b, None, None)),
    "a[b := 1]": ir.Sub(a, ir.Walrus(b, C(1))),
    "a()": call(a),
    "a(b, *c, x=1, **d)": call(a, b, ir.Arg(c, None, "*"), ir.Arg(C(1), "x", ""), ir.Arg(d, None, "**")),
    "a(b)[c].d(x)(y)": call(call(ir.Attr(ir.Sub(call(a, b), c), "d"), x), y),
    "a(b for b in c)": call(a, ir.Comp("gen", b, None, (ir.Gen(b, c, (), False),))),
    "a + b - c": ir.Bin("-", ir.Bin("+", a, b), c),
    "a ** b ** c": ir.Bin("**", a, ir.Bin("**", b, c)),
    "a - (b - c)": ir.Bin("-", a, ir.Bin("-", b, c)),
    "not a": ir.Unary("not", a), "-a": ir.Unary("-", a), "+1": ir.Unary("+", C(1)), "~a": ir.Unary("~", a),
    "a and b and c": ir.BoolOp("and", (a, b, c)),
    "a or (b or c)": ir.BoolOp("or", (a, b, c)),
    "a and b or c and d": ir.BoolOp("or", (ir.BoolOp("and", (a, b)), ir.BoolOp("and", (c, d)))),
    "a < b <= c": ir.Compare(a, (("<", b), ("<=", c))),
    "a == b != c > d >= x": ir.Compare(a, (("==", b), ("!=", c), (">", d), (">=", x))),
    "a in b": ir.Compare(a, (("in", b),)), "a not  in b": ir.Compare(a, (("not in", b),)),
    "a is b": ir.Compare(a, (("is", b),)), "a is not b": ir.Compare(a, (("is not", b),)),
    "a if b else c": ir.IfExp(b, a, c),
    "lambda: a": ir.Lambda(params(), a),
    "lambda a, /, b=1, *c, d, **x: a": ir.Lambda(params(
        pos("a", kind="posonly"), pos("b", C(1)), pos("c", kind="var"), pos("d", kind="kw"), pos("x", kind="varkw")),
        a),
    "()": ir.TupleX(()), "(a,)": ir.TupleX((a,)), "*a, b": ir.TupleX((ir.Starred(a), b)),
    "[a, *b]": ir.ListX((a, ir.Starred(b))), "[]": ir.ListX(()), "{a, *b}": ir.SetX((a, ir.Starred(b))),
    "{}": ir.DictX(()), "{'a': b, **c}": ir.DictX(((C("a"), b), (None, c))),
    "[a for b in c if d if x for y in b]": ir.Comp(
        "list", a, None, (ir.Gen(b, c, (d, x), False), ir.Gen(y, b, (), False))),
    "{a async for a in b}": ir.Comp("set", a, None, (ir.Gen(a, b, (), True),)),
    "{a: b for a, b in c}": ir.Comp("dict", a, b, (ir.Gen(ir.TupleX((a, b)), c, (), False),)),
    "[*a for a in b]": ir.Comp("list", ir.Starred(a), None, (ir.Gen(a, b, (), False),)),
    "{**a for a in b}": ir.Comp("dict", None, a, (ir.Gen(a, b, (), False),)),
    "await a.b": ir.Await(ir.Attr(a, "b")), "(await a).b": ir.Attr(ir.Await(a), "b"),
    "(yield)": ir.Yield(None), "(yield a, b)": ir.Yield(ir.TupleX((a, b))), "(yield from a)": ir.YieldFrom(a),
    "(a := b)": ir.Walrus(a, b),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    same(expression(text), EXPRESSIONS[text])


STRINGS = {
    "'a'": "a", '"a\'b"': "a'b", "''": "", "''''''": "", "'''a\nb'''": "a\nb", '"""a"b"""': 'a"b', "''' ' '''": " ' ",
    r"'\n\t\\\'\a\0\101\x41\u00e9\U0001F600\N{BULLET}'": "\n\t\\'\a\0AA\u00e9\U0001F600\u2022",
    r"'\d\q'": "\\d\\q", r"r'\n'": "\\n", r"R'\''": "\\'", "'a\\\nb'": "ab", r"'\777'": "\u01ff", r"'\ud800'": "\ud800",
    "u'x'": "x", "'a' 'b' r'\\c'": "ab\\c", "('a'\n  'b')": "ab",
    "b'a\\xff\\777\\u1'": b"a\xff\xff\\u1", "rb'\\n'": b"\\n", "b'a' b'b' Br'c'": b"abc",
    "'\u00e9\u2028\x85'": "\u00e9\u2028\x85",
}


@pytest.mark.parametrize("text", STRINGS)
def test_string_is_one_const(text: str) -> None:
    same(expression(text), C(STRINGS[text]))


@pytest.mark.parametrize("text", STRINGS)
def test_string_value_is_pythons(text: str, recwarn: pytest.WarningsRecorder) -> None:
    assert STRINGS[text] == eval(text)  # the table itself is right


def test_strings_with_invalid_escapes_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    expression(r"'\d' f'\d{a}'")
    assert not recwarn.list


F_STRINGS = {
    "f'a'": ("a",), "f''": (), "f'{a}'": (a,), "f'x{a}y{b.c}z'": ("x", a, "y", ir.Attr(b, "c"), "z"),
    "f'{{{a}}}'": ("{", a, "}"), r"f'\n\N{BULLET}{a}\x41'": ("\n\u2022", a, "A"), r"rf'\n{a}'": ("\\n", a),
    "f'{a!r:>{b}.{c}} '": (a, b, c, " "), "f'{a:%H:%M}x'": (a, "x"), "f'{a=}'": ("a=", a),
    "f'{a.b=!r:^20}'": ("a.b=", ir.Attr(a, "b")),
    "f'{f\"{a}b\"}'": (ir.FString((a, "b")),), "f'{a, b}'": (ir.TupleX((a, b)),),
    "f'{ {1: 2}[1] }'": (ir.Sub(ir.DictX(((C(1), C(2)),)), C(1)),),
    "'x' f'y{a}' 'z' f'w{b}'": ("xy", a, "zw", b), "'{' f'{a}' '}}'": ("{", a, "}}"), "f'''{\n a\n}'''": (a,),
    "t'x{a}y'": ("x", a, "y"), "f'{a['b']}'": (ir.Sub(a, C("b")),), "f'{(yield)}'": (ir.Yield(None),),
}


@pytest.mark.parametrize("text", F_STRINGS)
def test_f_string(text: str) -> None:
    same(expression(text), ir.FString(F_STRINGS[text]))


STATEMENTS = {
    "a": ir.Expr(a),
    "a = b": ir.Assign((a,), b),
    "a = b.c, d[x] = *y, [a, b] = c": ir.Assign(
        (a, ir.TupleX((ir.Attr(b, "c"), ir.Sub(d, x))), ir.TupleX((ir.Starred(y), ir.ListX((a, b))))), c),
    "a: b": ir.AnnAssign(a, b, None), "a.b: 'c' = 1": ir.AnnAssign(ir.Attr(a, "b"), c, C(1)),
    "type a[T: int] = b": ir.Assign((a,), b),
    "return": ir.Return(None), "return a, b": ir.Return(ir.TupleX((a, b))),
    "raise": ir.Raise(None, None), "raise a": ir.Raise(a, None), "raise a from b": ir.Raise(a, b),
    "assert a": ir.Assert(a, None), "assert a, b": ir.Assert(a, b),
    "del a": ir.Delete((a,)), "del a.b, (c[d], [x]), y": ir.Delete((ir.Attr(a, "b"), ir.Sub(c, d), x, y)),
    "pass": ir.Pass(), "break": ir.Break(), "continue": ir.Continue(),
    "global a, b": ir.Global(("a", "b")), "nonlocal a": ir.Global(("a",)),
    "import a": ir.Import((("a", "a"),)), "import a.b.c, d as x": ir.Import((("a", "a"), ("x", "d"))),
    "import a.b as c": ir.Import((("c", "a.b"),)),
    "from a.b import c, d as x": ir.Import((("c", "a.b.c"), ("x", "a.b.d"))),
    "from . import a": ir.Import((("a", ".a"),)), "from ..b.c import (a as x,)": ir.Import((("x", "..b.c.a"),)),
    "from a import *": ir.Import((("*", "a"),)), "from .. import *": ir.Import((("*", ".."),)),
    "lazy import a.b": ir.Import((("a", "a"),)), "lazy from .a import b": ir.Import((("b", ".a.b"),)),
    "if a: pass": ir.If(((a, PASS),), ()),
    "if a: pass\nelif b: c; d\nelif x:\n  pass\nelse:\n  y": ir.If(
        ((a, PASS), (b, (ir.Expr(c), ir.Expr(d))), (x, PASS)), (ir.Expr(y),)),
    "while a: pass": ir.While(a, PASS, ()), "while a: pass\nelse: b": ir.While(a, PASS, (ir.Expr(b),)),
    "for a, in b: pass": ir.For(ir.TupleX((a,)), b, PASS, (), False),
    "for a in *b, c:\n pass\nelse:\n d": ir.For(a, ir.TupleX((ir.Starred(b), c)), PASS, (ir.Expr(d),), False),
    "async for a in b: pass": ir.For(a, b, PASS, (), True),
    "try: pass\nfinally: a": ir.Try(PASS, (), (), (ir.Expr(a),)),
    "try:\n pass\nexcept a: b\nexcept (a, b) as c: pass\nexcept: c\nelse: d\nfinally: x": ir.Try(
        PASS, (ir.Handler(a, None, (ir.Expr(b),), False), ir.Handler(ir.TupleX((a, b)), "c", PASS, False),
               ir.Handler(None, None, (ir.Expr(c),), False)), (ir.Expr(d),), (ir.Expr(x),)),
    "try: pass\nexcept* a as b: pass": ir.Try(PASS, (ir.Handler(a, "b", PASS, True),), (), ()),
    "try: pass\nexcept a, b: pass": ir.Try(PASS, (ir.Handler(ir.TupleX((a, b)), None, PASS, False),), (), ()),
    "with a: pass": ir.With(((a, None),), PASS, False),
    "with a as b, c() as (d, x): pass": ir.With(((a, b), (call(c), ir.TupleX((d, x)))), PASS, False),
    "with (a as b, c,): pass": ir.With(((a, b), (c, None)), PASS, False),
    "with (a, b) as c: pass": ir.With(((ir.TupleX((a, b)), c),), PASS, False),
    "async with a as b.c: pass": ir.With(((a, ir.Attr(b, "c")),), PASS, True),
    "def a(): pass": ir.FunctionDef("a", params(), PASS, (), None, False),
    "@a\n@b.c(d)\nasync def x(): pass": ir.FunctionDef("x", params(), PASS, (a, call(ir.Attr(b, "c"), d)), None, True),
    "def a[T: int = str](x, /, y: b = 1, *, c: 'd' = 2, **k: 'a.b') -> 'x': pass": ir.FunctionDef("a", params(
        pos("x", kind="posonly"), pos("y", C(1), b), pos("c", C(2), d, "kw"), pos("k", None, ir.Attr(a, "b"), "varkw")),
        PASS, (), x, False),
    "def a(*b: *c): pass": ir.FunctionDef("a", params(pos("b", None, ir.Starred(c), "var")), PASS, (), None, False),
    "class a: x = 1; y = 2": ir.ClassDef("a", (), (), (ir.Assign((x,), C(1)), ir.Assign((y,), C(2))), ()),
    "@d\nclass a[T](b, *c, x=y, **d): pass": ir.ClassDef("a", (b, ir.Starred(c)), (("x", y), (None, d)), PASS, (d,)),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statement(text: str) -> None:
    same(one(text + "\n"), STATEMENTS[text])


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"])
def test_operators(op: str) -> None:
    same(expression(f"a {op} b"), ir.Bin(op, a, b))
    same(one(f"a {op}= b"), ir.AugAssign(a, op, b))


def pattern(kind: str, names: tuple = (), values: tuple = (), parts: tuple = ()) -> ir.Node:
    return ir.Pattern(kind, names, values, parts)


WILD = pattern("wild")
PATTERNS = {
    "_": WILD, "a": pattern("capture", ("a",)), "1": pattern("value", (), (C(1),)),
    "'a' 'b'": pattern("value", (), (C("ab"),)),
    "-1": pattern("value", (), (ir.Unary("-", C(1)),)), "1+2j": pattern("value", (), (ir.Bin("+", C(1), C(2j)),)),
    "None": pattern("value", (), (C(None),)), "a.b": pattern("value", (), (ir.Attr(a, "b"),)),
    "[a, *b]": pattern("sequence", ("a", "b"), (), (pattern("capture", ("a",)), pattern("capture", ("b",)))),
    "a, *_": pattern("sequence", ("a",), (), (pattern("capture", ("a",)), WILD)), "[]": pattern("sequence"),
    "(a)": pattern("capture", ("a",)), "(a,)": pattern("sequence", ("a",), (), (pattern("capture", ("a",)),)),
    "{'k': a, b.c: 1, **d}":
        pattern("mapping", ("a", "d"), (C("k"), ir.Attr(b, "c")), (
            pattern("capture", ("a",)), pattern("value", (), (C(1),)), pattern("capture", ("d",)))),
    "{}": pattern("mapping"),
    "a.b(c, x=d)":
        pattern("class", ("c", "d"), (ir.Attr(a, "b"),), (pattern("capture", ("c",)), pattern("capture", ("d",)))),
    "a()": pattern("class", (), (a,)),
    "[a, 1] | [1, a]": pattern("or", ("a",), (), (
        pattern("sequence", ("a",), (), (pattern("capture", ("a",)), pattern("value", (), (C(1),)))),
        pattern("sequence", ("a",), (), (pattern("value", (), (C(1),)), pattern("capture", ("a",)))))),
    "a() as b": pattern("capture", ("b",), (), (pattern("class", (), (a,)),)),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_pattern(text: str) -> None:
    same(one(f"match x:\n  case {text}:\n    pass\n"), ir.Match(x, (ir.Case(PATTERNS[text], None, PASS),)))


def test_match_guard_and_subject() -> None:
    same(one("match x, y:\n  case _ if a: pass\n  case _: b\n"), ir.Match(
        ir.TupleX((x, y)), (ir.Case(WILD, a, PASS), ir.Case(WILD, None, (ir.Expr(b),)))))


ANNOTATIONS = {
    "'a'": a, "' a.b '": ir.Attr(a, "b"), "'a[b]'": ir.Sub(a, b), "'a' 'b'": N("ab"), "'a b'": C("a b"), "''": C(""),
    "'None'": C(None),
    "'class'": C("class"), "b'a'": C(b"a"), "'a\\n | b'": ir.Bin("|", a, b), "'*a'": C("*a"),
    "a['b']": ir.Sub(a, b), "a['b', 'c']": ir.Sub(a, ir.TupleX((b, c))),
    "a[['b'], 'c']": ir.Sub(a, ir.TupleX((ir.ListX((b,)), c))),
    "Literal['b']": ir.Sub(N("Literal"), C("b")), "a.Literal['b']": ir.Sub(ir.Attr(a, "Literal"), C("b")),
    "Annotated['b', 'c']": ir.Sub(N("Annotated"), ir.TupleX((b, C("c")))),
    "'a' | b | 'c' | None": ir.Bin("|", ir.Bin("|", ir.Bin("|", a, b), c), C(None)), "a('b')": call(a, C("b")),
}


@pytest.mark.parametrize("text", ANNOTATIONS)
def test_string_annotation(text: str) -> None:
    same(one(f"x: {text}\n").annotation, ANNOTATIONS[text])


def test_long_string_annotation_is_left_alone() -> None:
    text = "a" + "+a" * 20_000
    same(one(f"x: '{text}'\n").annotation, C(text))


def test_nodes_of_a_string_annotation_are_at_the_string() -> None:
    annotation = one("x: 'a[b]'\n").annotation
    assert type(annotation.at) is cst.SimpleString and annotation.index.at is annotation.at is annotation.value.at


def test_at() -> None:
    text = ("@d\ndef f(x):\n  try:\n    match a(b): \n      case 1: pass\n  except c: pass\n  [a for a in b]\n")
    (function,) = body(text)
    assert type(function.at) is cst.FunctionDef and type(function.params.items[0].at) is cst.Param
    try_, comp = function.body
    assert type(try_.at) is cst.Try and type(try_.handlers[0].at) is cst.ExceptHandler
    match = try_.body[0]
    assert type(match.at) is cst.Match
    assert type(match.cases[0].at) is cst.MatchCase and type(match.cases[0].pattern.at) is cst.MatchValue
    assert type(match.subject.at) is cst.Call and type(match.subject.args[0].at) is cst.Arg
    assert type(comp.at) is cst.Expr and type(comp.value.generators[0].at) is cst.CompFor


def test_every_node_of_libcst_is_known() -> None:
    """A LibCST with a new expression, statement or pattern shows up here, not in users' runs."""
    def leaves(kind: type) -> set[type]:
        found = set()
        for sub in kind.__subclasses__():
            found |= leaves(sub)
            if not getattr(sub, "__abstractmethods__", None) and not sub.__name__.startswith("_"):
                found.add(sub)
        return found

    def unknown(base: type, table: dict) -> set[str]:
        return {kind.__name__ for kind in leaves(base)} - {kind.__name__ for kind in table}

    assert not unknown(cst.BaseExpression, expressions.EXPRESSIONS) - {"BaseString", "From"}
    assert not unknown(cst.BaseSmallStatement, statements.STATEMENTS)
    assert not unknown(cst.BaseCompoundStatement, statements.STATEMENTS)
    assert not unknown(cst.MatchPattern, statements.PATTERNS)


# --- excerpts ----------------------------------------------------------------------------------------------------
def names(nodes: tuple[ir.Node, ...]) -> list[str]:
    return [getattr(node, "name", type(node).__name__) for node in nodes]


def test_indented_lines() -> None:
    text = ("class A:\n    x = 1\n    @d\n    def m(self):\n        return '''\n"
            "class B:\n  def n(): pass\n'''\n\n# left\n    def k(): pass\n")
    excerpt = lower_lines(source(text), 3, 8, indented=True)
    assert (excerpt.first, excerpt.header_lines) == (3, 1)
    (method,) = excerpt.body
    returned = ir.Return(C("\nclass B:\n  def n(): pass\n"))
    same(method, ir.FunctionDef("m", params(pos("self")), (returned,), (N("d"),), None, False))
    assert names(lower_lines(source(text), 3, 11, indented=True).body) == ["m", "k"]
    assert names(lower_lines(source(text), 1, 11, indented=False).body) == ["A"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("tail", ["", "  # comment", "\n", "\n\n   # c"])
def test_line_ends_and_tails(end: str, tail: str) -> None:
    text = "class A:\n\tdef m(self):\n\t\tx = 1 + \\\n   2\n\t\treturn '''a\nb'''" + tail
    excerpt = lower_lines(source(text.replace("\n", end)), 2, 5 + 1, indented=True)
    same(excerpt.body[0].body, (ir.Assign((x,), ir.Bin("+", C(1), C(2))), ir.Return(C("a\nb"))))


def test_mixed_line_ends_and_separators_that_are_none() -> None:
    text = "a = 'x\u2028y\x85z\x1c'\rdef f():\r\n    b\n    c\r"
    same(lower_lines(source(text), 2, 4, indented=False).body[0].body, (ir.Expr(b), ir.Expr(c)))
    same(lower_lines(source(text), 1, 1, indented=False).body, (ir.Assign((a,), C("x\u2028y\x85z\x1c")),))


def test_form_feeds() -> None:
    text = "class A:\n\f    def m(self):\n  \f        x\n        '''\n\f  s'''\n\f\n        y\n"
    excerpt = lower_lines(source(text), 2, 7, indented=True)
    same(excerpt.body[0].body, (ir.Expr(x), ir.Expr(C("\n\f  s")), ir.Expr(y)))
    assert excerpt.dropped == {2: 1, 3: 3}
    same(lower_lines(source("\fdef f(): a\n"), 1, 1, indented=False).body[0].body, (ir.Expr(a),))
    same(body("\fa\n\n\fb\n"), (ir.Expr(a), ir.Expr(b)))


def test_ranges_keep_lines_and_blocks() -> None:
    text = ("a = 1\n"                   # 1
            "def f():\n    x\n"         # 2
            "if b:\n"                   # 4
            "    # note\n"              # 5
            "    @d(\n  1)\n"           # 6
            "    def g(): pass\n"       # 8
            "    class K: pass\n"       # 9
            "else:\n    c = 2\n"        # 10
            "class Z:\n    '''\n  y'''\n"  # 12
            "d = 3\n")                  # 15
    excerpt = lower_ranges(source(text), [(15, 15), (1, 1), (4, 4), (10, 11)])
    same(excerpt.body, (ir.Assign((a,), C(1)), ir.Pass(), ir.If(((b, PASS),), (ir.Assign((c,), C(2)),)), ir.Pass(),
                        ir.Assign((d,), C(3))))
    assert excerpt.module.code.split("\n")[14] == "d = 3"


def test_ranges_of_a_class_body() -> None:
    text = "class A:\n    x = 1\n    def m(self): pass\n    y = 2; a = 3\n"
    excerpt = lower_ranges(source(text), [(2, 2), (4, 4)])
    assert (excerpt.first, excerpt.header_lines) == (2, 1)
    same(excerpt.body, (ir.Assign((x,), C(1)), ir.Pass(), ir.Assign((y,), C(2)), ir.Assign((a,), C(3))))


def test_ranges_overlap_and_none() -> None:
    text = "a\nb\nc\nd\n"
    same(lower_ranges(source(text), [(1, 3), (2, 2), (3, 4)]).body, tuple(ir.Expr(N(name)) for name in "abcd"))
    same(lower_ranges(source(text), [(3, 3)]).body, (ir.Expr(c),))
    assert lower_ranges(source(text), []).body == () == lower_module(source("")).body


@pytest.mark.parametrize("text, first, last, indented, line", [
    ("x = 1\n\ndef f(:\n    pass\n", 3, 4, False, 4),
    ("class A:\n    def m():\n        x = = 1\n", 2, 3, True, 3),
    ("class A:\n    def m():\n        x\n  y\n", 2, 4, True, 2),
    ("if a:\n    b\nelse: c\n", 3, 3, False, 3),
    ("if a:\n    b\nelse: c\n", 2, 3, True, 2),
    ("if a:\n    b\nc\n", 2, 3, True, 2),
    ("a\n", 1, 1, True, 1), ("a\n", 1, 2, False, 1), ("a\n", 0, 1, False, 1), ("a\n", 3, 2, False, 3),
    ("x = 'a' b'c'\n", 1, 1, False, 1), ("x = '\\x4'\n", 1, 1, False, 1), ("x = '\\N{NO SUCH}'\n", 1, 1, False, 1),
    ("x = (\n", 1, 1, False, 1), ("x\x0b= 1\n", 1, 1, False, 1), ("    \n", 1, 1, True, 1),
])
def test_errors(text: str, first: int, last: int, indented: bool, line: int) -> None:
    with pytest.raises(LowerError) as caught:
        lower_lines(source(text), first, last, indented=indented)
    assert caught.value.line == line and caught.value.message and str(caught.value).startswith(f"line {line}: ")


# --- depth -------------------------------------------------------------------------------------------------------
DEEP = {
    "bin": "a" + " + a" * 199, "and": "a" + " and a" * 199, "attr": "a" + ".b" * 199, "call": "a" + ".b(c)" * 100,
    "sub": "a" + "[0]" * 199,
    "nested call": "f(" * 199 + "a" + ")" * 199, "paren": "(a + " * 199 + "a" + ")" * 199,
    "list": "[" * 199 + "]" * 199,
    "dict": "{1: " * 199 + "a" + "}" * 199, "unary": "not " * 199 + "a", "power": "a" + " ** a" * 199,
    "lambda": "lambda: " * 199 + "a", "if": "a if b else " * 199 + "a", "strings": "('a'" + " 'a'" * 199 + ")",
    "subs": "a[" * 199 + "a" + "]" * 199,
    "comp": "[" * 150 + "a" + " for a in b]" * 150, "await": "a(await " * 190 + "a" + ")" * 190,
}
NESTED = "".join(" " * level + "if a:\n" for level in range(95)) + " " * 95 + "a\n"
ELIFS = "if a: b\n" + "elif a: b\n" * 199


def at_depth(frames: int, function: Any) -> Any:
    return function() if not frames else at_depth(frames - 1, function)


@pytest.mark.parametrize("kind", [*DEEP, "nested blocks", "elifs"])
def test_depth_limit_fits_the_recursion_limit(kind: str) -> None:
    text = {"nested blocks": NESTED, "elifs": ELIFS}.get(kind) or DEEP[kind] + "\n"
    limit = sys.getrecursionlimit()
    depth = len(_frames())
    sys.setrecursionlimit(1000)
    try:
        assert at_depth(max(150 - depth, 0), lambda: one(text))
    finally:
        sys.setrecursionlimit(limit)


def _frames() -> list[Any]:
    frame, out = sys._getframe(), []
    while frame:
        out.append(frame)
        frame = frame.f_back
    return out


def test_recursion_becomes_lower_error() -> None:
    limit = sys.getrecursionlimit()
    excerpt = source("\nx = " + "f(" * 199 + "a" + ")" * 199 + "\n")
    sys.setrecursionlimit(len(_frames()) + 120)
    try:
        with pytest.raises(LowerError) as caught:
            lower_lines(excerpt, 2, 2, indented=False)
    finally:
        sys.setrecursionlimit(limit)
    assert (caught.value.line, caught.value.message) == (2, "too deeply nested")


def test_imports_no_more_than_libcst() -> None:
    code = ("import sys, noclobber.trace.lower, noclobber.trace.positions\n"
            "print([m for m in sys.modules if m.startswith(('libcst.matchers', 'libcst.codemod'))])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
