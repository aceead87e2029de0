"""resolve: decoding, the outline of a module, depth as LibCST nests it, names through imports."""

from __future__ import annotations

import ast
import pickle

import pytest

from noclobber import resolve
from noclobber.resolve import DEPTH_LIMIT, Source, SourceError, dotted, index_module, module_name, token_bound


def index(text: str | bytes, module: str = "shop.views", path: str = "shop/views.py"):
    data = text.encode() if isinstance(text, str) else text
    return index_module(Source.decode(path, data), module)[0]


def source(text: str | bytes) -> Source:
    return Source.decode("a.py", text.encode() if isinstance(text, str) else text)


# --- Source.decode ---


def test_decode_plain():
    got = source("a = 1\nb = 2\n")
    assert (got.path, got.text, got.lines, got.encoding) == ("a.py", "a = 1\nb = 2\n", ["a = 1", "b = 2"], "utf-8")


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("a\rb\r", ["a", "b"]),
        ("a\x0cb\x0b\x1c\x1d\x1e\x85\u2028\u2029c\n", ["a\x0cb\x0b\x1c\x1d\x1e\x85\u2028\u2029c"]),
        ("a\n\r\nb", ["a", "", "b"]),
    ],
)
def test_lines_split_at_three_line_ends_only(text, lines):
    assert source(text).lines == lines


def test_byte_order_mark_is_dropped_and_round_trips():
    got = source(b"\xef\xbb\xbfx = '\xc3\xa9'\n")
    assert (got.text, got.encoding) == ("x = 'é'\n", "utf-8-sig")
    assert got.text.encode(got.encoding) == got.data


@pytest.mark.parametrize(
    "data, encoding",
    [
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso8859-1"),
        (b"#!/bin/python\n# vim: set fileencoding=latin-1 :\nx = '\xe9'", "iso8859-1"),
        (b"\n# coding=latin-1\nx = '\xe9'", "iso8859-1"),
        (b"#\r# coding: latin-1\rx = '\xe9'", "iso8859-1"),
        (b"\xef\xbb\xbf# coding: utf-8\nx = '\xc3\xa9'", "utf-8-sig"),
        (b"# coding: UTF8\nx = '\xc3\xa9'", "utf-8"),
    ],
)
def test_cookie(data, encoding):
    got = source(data)
    assert got.encoding == encoding
    assert "'é'" in got.text
    assert got.text.encode(encoding) == data


@pytest.mark.parametrize(
    "data, line, part",
    [
        (b"x = 1\ny = '\xe9'\n", 2, "0xe9"),
        (b"x = 1\r\ny\rz = '\xe9'\n", 3, "0xe9"),
        (b"x = 1\n# coding: latin-1\ny = '\xe9'", 3, "0xe9"),
        (b"# coding: nonsense\n", 1, "unknown encoding nonsense"),
        (b"\n# coding: rot13\n", 2, "unknown encoding"),
        (b"\xef\xbb\xbf\n# coding: latin-1\n", 2, "byte order mark"),
        (b"a\nb\0c\n", 2, "NUL"),
        (b"\0", 1, "NUL"),
    ],
)
def test_undecodable(data, line, part):
    with pytest.raises(SourceError) as caught:
        source(data)
    assert caught.value.line == line and caught.value.reason == "encoding"
    assert part in caught.value.message and str(caught.value).startswith(f"line {line}: ")


def test_source_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(SourceError(3, "no", "deep")))
    assert (error.line, error.message, error.reason) == (3, "no", "deep")


# --- the outline ---

OUTLINE = '''\
"""Doc."""
import os
LIMIT = 3; OTHER = 4

@first
@second.third(1,
              2)
async def outer(a, /, b, *args, c=1, **kw):
    def nested():
        class Inside:
            def m(self): pass
    return nested


class Account(models.Model, Generic[T], make_base(), [1][0], metaclass=Meta):
    """Doc."""
    balance: int = 0
    owner: "list[str]"
    TABLE = "accounts"

    class Meta:
        ordering = ["x"]
        def describe(self): return 1

    @property
    def total(self):
        return 1

    @total.setter
    def total(self, value):
        self.balance = value
x = 1
'''


def test_functions_and_methods():
    got = index(OUTLINE)
    assert set(got.functions) == {"outer", "Account.total", "Account.total@2", "Account.Meta.describe"}
    outer = got.functions["outer"]
    assert (outer.qualname, outer.name, outer.cls, outer.start, outer.end, outer.def_line) == (
        "outer",
        "outer",
        None,
        5,
        12,
        8,
    )
    assert outer.params == ("a", "b", "args", "c", "kw")
    assert outer.decorators == ("first", "second.third") and outer.is_async and not outer.inline
    describe = got.functions["Account.Meta.describe"]
    assert (describe.cls, describe.name, describe.start, describe.end) == ("Account.Meta", "describe", 23, 23)


def test_a_name_defined_again_keeps_both():
    got = index(OUTLINE)
    getter, setter = got.functions["Account.total"], got.functions["Account.total@2"]
    assert getter.decorators == ("property",) and setter.decorators == ("total.setter",)
    assert getter.qualname == setter.qualname == "Account.total" and setter.key == "Account.total@2"
    assert got.classes["Account"].methods == {"total": getter}
    again = index(
        "try:\n    def f(): pass\nexcept E:\n    def f(): return 1\n@overload\ndef g(a): ...\ndef g(b): ...\n"
    )
    assert {key: info.def_line for key, info in again.functions.items()} == {"f@1": 2, "f": 4, "g@1": 6, "g": 7}


def test_classes():
    got = index(OUTLINE)
    assert set(got.classes) == {"Account", "Account.Meta"}
    account = got.classes["Account"]
    assert (account.start, account.end, account.def_line) == (15, 31, 15)
    assert account.bases == ("models.Model", "Generic", "make_base()", "")
    assert account.assigns == {"balance": ((17, 17),), "TABLE": ((19, 19),)}
    assert account.annotations == {"balance": "int", "owner": '"list[str]"'}
    assert account.loose == ((16, 19),)
    assert got.classes["Account.Meta"].assigns == {"ordering": ((22, 22),)}


def test_module_level_names_and_loose_lines():
    got = index(OUTLINE)
    assert got.assigns == {"LIMIT": ((3, 3),), "OTHER": ((3, 3),), "x": ((32, 32),)}
    assert got.loose == ((1, 3), (32, 32))
    assert got.module == "shop.views" and got.path == "shop/views.py"


def test_assigns_inside_blocks():
    got = index("""\
if A:
    x = (1,
         2)
elif B:
    x, *y = 3, 4
else:
    x: int = 5
    z: int
try:
    import q
except E as error:
    x += 1
for i in b:
    [j, k] = i
with c as d, e as (f, g): h = 1
match m:
    case {"a": n, **o} if n: p = 1
while (r := s()): pass
if t: u = 1; v = 2
lambda: (w := 1)
def fn():
    global late
    late = inner = 1
""")
    assert got.assigns == {
        "x": ((2, 3), (5, 5), (7, 7), (12, 12)),
        "y": ((5, 5),),
        "error": ((9, 12),),
        "i": ((13, 14),),
        "j": ((14, 14),),
        "k": ((14, 14),),
        "d": ((15, 15),),
        "f": ((15, 15),),
        "g": ((15, 15),),
        "h": ((15, 15),),
        "n": ((16, 17),),
        "o": ((16, 17),),
        "p": ((16, 17),),
        "r": ((18, 18),),
        "u": ((19, 19),),
        "v": ((19, 19),),
    }
    assert got.rebound == {"late"}


def test_statements_that_share_lines_are_given_whole():
    got = index('a = """\n"""; b = """\n"""; c = 1\nd = 2\n')
    assert got.assigns == {"a": ((1, 3),), "b": ((1, 3),), "c": ((1, 3),), "d": ((4, 4),)}


def test_functions_in_blocks_are_outermost():
    got = index(
        "if A:\n    def f(): pass\n    class C:\n        try:\n            def m(self): pass\n"
        "        finally:\n            pass\n"
    )
    assert set(got.functions) == {"f", "C.m"} and got.loose == ((1, 7),)


def test_start_is_the_line_of_the_at_sign():
    got = index("@ (\n  deco\n)\ndef f(): pass\n\n@\\\ndeco\ndef g(): pass\n\n@a\n@b\nclass C: pass\n")
    assert (got.functions["f"].start, got.functions["f"].def_line) == (1, 4)
    assert (got.functions["g"].start, got.functions["g"].def_line) == (6, 8)
    assert (got.classes["C"].start, got.classes["C"].def_line) == (10, 12)


def test_a_def_behind_a_continued_line_is_inline():
    got = index("class A:\n    x = 1\n    \\\ndef f(self):\n        return 1\n\n    def g(self): pass\n")
    assert got.functions["A.f"].inline and got.functions["A.f"].outer == (1, 7)
    assert not got.functions["A.g"].inline
    assert not index("# comment \\\ndef f(): pass\n").functions["f"].inline


def test_form_feeds_and_carriage_returns():
    assert index("x = 1\n\x0c\ndef f():\n    pass\n").functions["f"].start == 3
    got = index("def f():\r    pass\rdef g():\r\n    pass\r\n")
    assert (got.functions["f"].start, got.functions["f"].end, got.functions["g"].start) == (1, 2, 3)


def test_empty_file():
    got = index("")
    assert (got.functions, got.classes, got.loose, got.depth) == ({}, {}, (), 0)


def test_non_ascii_text_before_annotations():
    got = index("class A:\n    é: 'ü' = 1\n    x: dict[str,\n           'é'] = {}\n")
    assert got.classes["A"].annotations == {"é": "'ü'", "x": "dict[str,\n           'é']"}


def test_the_index_is_plain_data_and_the_tree_is_handed_out():
    got, tree = index_module(source(OUTLINE), "m")
    assert isinstance(tree, ast.Module)
    copy = pickle.loads(pickle.dumps(got))
    assert copy == got and b"ast" not in pickle.dumps(got)


@pytest.mark.parametrize(
    "text, line, reason",
    [
        ("x = 1\ny = (\n", 2, "syntax"),
        ("def f(:\n", 1, "syntax"),
        ("if x:\n\ty\n        z\n", 3, "syntax"),
        ("x = 1" + "0" * 5000, 1, "syntax"),
    ],
)
def test_refused_text(text, line, reason):
    with pytest.raises(SourceError) as caught:
        index(text)
    assert (caught.value.line, caught.value.reason) == (line, reason) and caught.value.message


def test_no_warning_reaches_stderr(recwarn):
    index('x = "\\d"\nassert (1, 2)\n')
    assert not recwarn.list


# --- depth ---


def depth(text: str) -> int:
    return index(text).depth


def test_ordinary_code_is_measured_by_its_blocks():
    assert index("def f():\n    if a:\n        for b in c:\n            d(e.f(g))\n").functions["f"].depth == 4


@pytest.mark.parametrize(
    "text, deep",
    [
        ("x = " + " and ".join(["a"] * 20000), 20001),
        ("x = " + " + ".join(["a"] * 800), 801),
        ("x = a" + ".f()" * 500, 1002),
        ("x = a" + "[0]" * 300, 302),
        ("x = a" + ".b" * 300, 302),
        ("x = [" + "'a' " * 300 + "]", 302),
        ("x = (\n" + "'a'\n" * 300 + ")", 301),
        ("x = [" + "f'{a}' " * 300 + "]", 304),
        ("x = " + "-" * 300 + "1", 302),
        ("x = " + "not " * 300 + "a", 302),
        ("x = " + "(" * 199 + "1" + ")" * 199, 201),
    ],
)
def test_expressions_above_the_limit_are_measured(text, deep):
    assert depth(text) == deep


def test_elif_counts_one_each():
    got = index("def f():\n    if a:\n        b\n" + "    elif a:\n        b\n" * 1000)
    assert got.functions["f"].depth == 1004
    assert got.functions["f"].deep_line == 2003


def test_long_but_flat_is_not_deep():
    assert depth("x = [" + "a, " * 5000 + "]") <= DEPTH_LIMIT
    assert depth("x = {" + "'k': f(a.b + 1, [2]),\n" * 5000 + "}") <= DEPTH_LIMIT
    assert depth("x = f(" + "a=b.c, " * 200 + ")") <= DEPTH_LIMIT
    assert depth("'''" + "and (. + " * 1000 + "'''") <= DEPTH_LIMIT


def test_depth_of_headers_and_decorators():
    chain = "a" + ".b()" * 150
    for text in (
        f"@{chain}\ndef f(): pass",
        f"def f(x={chain}): pass",
        f"def f():\n    with {chain} as y: pass",
        f"def f():\n    if {chain}: pass",
        f"def f():\n    for x in {chain}:\n        pass",
        f"def f():\n    match x:\n        case 1 if {chain}:\n            pass",
        f"def f():\n    try: pass\n    except {chain}: pass",
    ):
        assert index(text).functions["f"].depth > DEPTH_LIMIT, text


def test_deep_code_in_one_function_leaves_the_others_shallow():
    got = index("def f():\n    return 1\ndef g():\n    x = 1\n    return " + " + ".join(["a"] * 300) + "\ny = 1\n")
    assert got.functions["f"].depth == 2 and got.functions["g"].depth == 302 and got.depth == 1
    assert got.functions["g"].deep_line == 5
    cls = index("class A:\n    x = " + " + ".join(["a"] * 300) + "\n    def m(self): pass\n")
    assert cls.classes["A"].depth == 302 and cls.functions["A.m"].depth == 2


@pytest.mark.parametrize(
    "text",
    ["x = " + " + ".join(["a"] * 3000), "y = 1\nx = " + " + ".join(["a"] * 100_000), "x = " + "~" * 100_000 + "1"],
)
def test_what_the_parser_cannot_nest_is_a_clear_error(text):
    """Newer Pythons may parse it; then its depth is told."""
    try:
        got = index(text)
    except SourceError as error:
        assert error.reason in ("deep", "syntax")
        assert error.line == text.count("\n", 0, text.index("x =")) + 1
        if error.reason == "deep":
            assert error.message == f"too deeply nested at line {error.line}"
    else:
        assert got.depth > 2900


def test_brackets_above_pythons_own_limit():
    with pytest.raises(SourceError) as caught:
        index("x = " + "(" * 201 + ")" * 201)
    assert caught.value.reason == "syntax"


# --- token_bound ---


@pytest.mark.parametrize(
    "text, line",
    [
        ("x = 1\ny = " + "(" * 300, 2),
        ("x = " + " and ".join(["a"] * 20000), 1),
        ("\n\nx = " + " + ".join(["a"] * 3000), 3),
        ("x = a" + ".f()" * 500, 1),
        ("x = a" + "[0]" * 500, 1),
        ("x = (\n" + "'a'\n" * 300 + ")", 201),
        ("x = " + "lambda a, b: " * 300 + "1", 1),
        ("x = " + "not " * 300 + "a", 1),
        ("x = " + "a if b else " * 300 + "c", 1),
        ("x = " + "-" * 300 + "1", 1),
        ("x = f'{" + "(" * 300 + "'", 1),
        ("".join(" " * n + "if a:\n" for n in range(250)), 200),
        ("if a:\n p\n" + "elif b:\n p\n" * 1000, 400),
        ("x = [\n" + "(" * 100 + "\n" + "[" * 120, 3),
        ("a = '''\n\n'''\n" + "[" * 300, 4),
    ],
)
def test_token_bound_finds_the_first_deep_line(text, line):
    assert token_bound(source(text)) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "x = [" + "a + b, " * 3000 + "]",
        "x = f(a.b, c.d)\n" * 3000,
        "'''" + "(" * 1000 + "'''",
        "# " + "(" * 1000,
        "x = " + "(" * 190 + ")" * 190,
        "if a:\n p\nelif b:\n p\n" * 1000,
        "x = " + "lambda a: a, " * 300,
        "x = (" + "'a', " * 500 + ")",
        "d = {" + "'k': -1.5e-3,\n" * 500 + "}",
        "x: int = 1; " * 500,
        "x = ')' ']' \"\"\n" * 500,
        "x = 'unterminated\n" * 300,
        "x = a \\\n + b\n" * 300,
        "type X[T: (int, str)] = list[T]\n" * 300,
    ],
)
def test_token_bound_lets_ordinary_text_through(text):
    assert token_bound(source(text)) is None


def test_token_bound_is_never_below_the_tree():
    for text in (" and ".join(["a"] * 150), " + ".join(["a.b(c)"] * 90), "a" + ".f()" * 80, "(" * 90 + "1" + ")" * 90):
        nested = "if x:\n" + "    y = " + text + "\n"
        deep = resolve.depth.Meter(source(nested)).expression([ast.parse(text).body[0].value], 0)[0]
        assert token_bound(source(text), limit=deep - 2) == 1


# --- imports and names ---


def test_import_table():
    got = index("""\
import os, os.path, a.b.c
import sqlalchemy as sa, a.b as c
from . import x, y as z
from .. import up
from ..models import Account as Acc
from pkg.mod import *
from .local import *
try:
    import ujson as json
except ImportError:
    import json
if T:
    from one import same
else:
    from two import same
import late
import other as late
""")
    assert got.imports == {
        "os": "os",
        "a": "a",
        "sa": "sqlalchemy",
        "c": "a.b",
        "x": ".x",
        "z": ".y",
        "up": "..up",
        "Acc": "..models.Account",
        "json": "ujson",
        "same": "one.same",
        "late": "other",
    }
    assert got.choices == {"json": ("ujson", "json"), "same": ("one.same", "two.same")}
    assert got.stars == ("pkg.mod", ".local")


def test_imports_inside_functions_are_theirs():
    got = index("""\
def f():
    from a import b
    def g():
        import c.d
def h():
    global boto3
    import boto3
class C:
    from e import k
""")
    assert got.functions["f"].imports == {"b": "a.b", "c": "c"}
    assert got.imports == {"boto3": "boto3"} and got.classes["C"].imports == {"k": "e.k"}
    assert dotted(got, "b.x", got.functions["f"].imports) == "a.b.x" and dotted(got, "b.x") is None


@pytest.mark.parametrize(
    "name, target",
    [
        ("sa.orm.Session", "sqlalchemy.orm.Session"),
        (["sa", "orm"], "sqlalchemy.orm"),
        ("c.d", "a.b.d"),
        ("a.x", "a.x"),
        ("Acc.objects", "models.Account.objects"),
        ("x.f", "shop.x.f"),
        ("Foo", "Foo"),
        ("Foo.bar", "Foo.bar"),
        ("fn", "fn"),
        ("K", "K"),
        ("open", "open"),
        ("nope", None),
        ("", None),
        ("a-b", None),
        ("Foo()", None),
        ("pkg", "shop"),
    ],
)
def test_dotted(name, target):
    got = index(
        "import sqlalchemy as sa, a, a.b as c\nfrom ..models import Account as Acc\n"
        "from . import x\nfrom .. import shop as pkg\n"
        "class Foo: pass\ndef fn(): pass\nK = 1\n"
    )
    assert dotted(got, name) == target


def test_relative_targets():
    package = index("from .models import A\nfrom . import b\n", "shop", "shop/__init__.py")
    assert dotted(package, "A") == "shop.models.A" and dotted(package, "b.c") == "shop.b.c"
    nameless = index("from ..models import A\nfrom . import b\n", "")
    assert dotted(nameless, "A.x") == "..models.A.x" and dotted(nameless, "b") == ".b"
    high = index("from ...models import A\n", "shop.views")
    assert dotted(high, "A") == "...models.A"


@pytest.mark.parametrize(
    "path, name",
    [
        ("/r/shop/models.py", "shop.models"),
        ("/r/shop/__init__.py", "shop"),
        ("/r/a.pyi", "a"),
        ("/r/__init__.py", ""),
        ("/else/a.py", ""),
        ("/r/my-tool.py", ""),
        ("/r/shop/x/__main__.py", "shop.x.__main__"),
        ("/r/README", ""),
        ("/rr/a.py", ""),
        ("/r/a/../b.py", "b"),
    ],
)
def test_module_name(path, name):
    assert module_name(path, "/r") == name
    assert module_name(path, "/r/") == name
