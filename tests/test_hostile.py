"""Hostile input: an answer each time, never a dead process, never an internal error.

Each case is one file in a project of its own. The cases are made here, none is stored.
"""
from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import made_once

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 300  # seconds of a busy machine

HEAD = """\
import sqlite3
import requests
db = sqlite3.connect("x.db")

"""
#: A lost update in four lines, at the indentation asked for.
LOST = """\
row = db.execute("SELECT n FROM counters WHERE id = ?", (key,)).fetchone()
db.execute("UPDATE counters SET n = ? WHERE id = ?", (row[0] + 1, key))
"""

Case = Callable[[], "str | bytes"]
CASES: dict[str, Case] = {}
#: Cases in which the lost update must still be found.
FOUND: set[str] = set()
#: Cases that cannot be read at all, or are nested too deeply: RMW001 with a line.
REFUSED: set[str] = set()


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def found(function: Case) -> Case:
    FOUND.add(function.__name__)
    return case(function)


def refused(function: Case) -> Case:
    REFUSED.add(function.__name__)
    return case(function)


def lost(spaces: int = 4) -> str:
    return "".join(" " * spaces + line + "\n" for line in LOST.splitlines())


def root(body: str = "", name: str = "bump", params: str = "key") -> str:
    """A function with a lost update after `body`."""
    return f"def {name}({params}):\n{body}{lost()}"


def nested(header: str, depth: int, inner: Callable[[int], str]) -> str:
    """`header` `depth` times below one another. One blank a level, so that 300 levels stay short."""
    return "".join(" " * i + header.format(i=i) + "\n" for i in range(depth)) + inner(depth)


# --- depth --------------------------------------------------------------------------------------------------------------


@refused
def operands_of_and() -> str:
    return HEAD + root("    ok = " + " and ".join(["key"] * 20_000) + "\n")


@refused
def terms_of_plus() -> str:
    return HEAD + root("    total = " + " + ".join(["key"] * 3_000) + "\n")


@found
def operands_outside_a_root() -> str:
    return HEAD + "def other(key):\n    return " + " and ".join(["key"] * 20_000) + "\n\n" + root()


@case
def terms_of_plus_at_the_limit() -> str:
    return HEAD + root("    total = " + " + ".join(["key"] * 150) + "\n")


@case
def adjacent_strings() -> str:
    return HEAD + root("    text = (" + "\n".join(["'a'"] * 5_000) + ")\n")


@refused
def chained_calls() -> str:
    return HEAD + root("    key = key" + ".strip()" * 500 + "\n")


@found
def chained_calls_under_the_limit() -> str:
    return HEAD + root("    other = key" + ".strip()" * 60 + "\n")


@case
def chained_comparisons() -> str:
    return HEAD + root("    ok = " + " < ".join(["key"] * 2_000) + "\n")


@case
def chained_attributes() -> str:
    return HEAD + root("    ok = key" + ".part" * 1_000 + "\n")


@case
def chained_subscripts() -> str:
    return HEAD + root("    ok = key" + "[0]" * 1_000 + "\n")


@case
def nested_brackets_200() -> str:
    return HEAD + root("    ok = " + "[" * 195 + "key" + "]" * 195 + "\n")


@refused
def nested_brackets_250() -> str:
    return HEAD + root("    ok = " + "[" * 250 + "key" + "]" * 250 + "\n")


@case
def nested_parentheses_190() -> str:
    return HEAD + root("    ok = " + "(" * 190 + "key" + ")" * 190 + "\n")


@case
def nested_calls_190() -> str:
    return HEAD + root("    ok = " + "str(" * 190 + "key" + ")" * 190 + "\n")


@case
def nested_nots() -> str:
    return HEAD + root("    ok = " + "not " * 3_000 + "key\n")


@case
def nested_lambdas() -> str:
    return HEAD + root("    ok = " + "lambda: " * 150 + "key\n")


@case
def nested_conditional_expressions() -> str:
    return HEAD + root("    ok = " + "key if key else " * 180 + "key\n")


@case
def nested_fstrings() -> str:
    return HEAD + root("    ok = f'{f\"{key}\"}'\n    more = f'" + "{key}" * 3_000 + "'\n")


@refused
def elifs() -> str:
    return HEAD + root("    if key == 0:\n        n = 0\n" + "".join(f"    elif key == {i}:\n        n = {i}\n" for i in range(1, 1_000)))


@case
def elifs_under_the_limit() -> str:
    return HEAD + root("    if key == 0:\n        n = 0\n" + "".join(f"    elif key == {i}:\n        n = {i}\n" for i in range(1, 180)))


@refused
def nested_ifs() -> str:
    """The compiler stops at 100 levels of indentation: refused by every Python."""
    return HEAD + "def bump(key):\n" + nested(" if key:", 300, lambda d: " " * (d + 1) + "pass\n") + lost(1)


@case
def nested_ifs_90() -> str:
    return HEAD + "def bump(key):\n" + nested(" if key > {i}:", 90, lambda d: "".join(" " * (d + 1) + line + "\n" for line in LOST.splitlines()))


@case
def nested_functions_90() -> str:
    return HEAD + nested("def f{i}(key):", 90, lambda d: "".join(" " * d + line + "\n" for line in LOST.splitlines()))


@case
def nested_functions_that_call_on() -> str:
    depth = 60
    text = "".join(" " * i + f"def f{i}(key):\n" for i in range(depth))
    text += "".join(" " * depth + line + "\n" for line in LOST.splitlines())
    return HEAD + text + "".join(" " * i + f"return f{i}(key)\n" for i in range(depth - 1, 0, -1))


@refused
def nested_functions_300() -> str:
    return HEAD + nested("def f{i}(key):", 300, lambda d: " " * d + "pass\n")


@case
def nested_classes_90() -> str:
    return HEAD + nested("class C{i}:", 89, lambda d: " " * d + "def bump(self, key):\n"
                         + "".join(" " * (d + 1) + line + "\n" for line in LOST.splitlines()))


@refused
def nested_classes_300() -> str:
    return HEAD + nested("class C{i}:", 300, lambda d: " " * d + "pass\n")


@case
def nested_comprehensions() -> str:
    return HEAD + root("    ok = " + "[x for x in " * 80 + "key" + "]" * 80 + "\n")


@case
def nested_subscripts_and_tuples_in_targets() -> str:
    return HEAD + root("    " + "(" * 60 + "a" + ",)" * 60 + " = key\n")


@case
def wide_comprehension() -> str:
    return HEAD + root("    ok = [key " + " ".join(f"for x{i} in key if x{i}" for i in range(19)) + "]\n")


# --- bytes --------------------------------------------------------------------------------------------------------------


@refused
def nul_bytes() -> bytes:
    return (HEAD + root()).encode() + b"\0\0\n"


@refused
def only_nul_bytes() -> bytes:
    return b"\0" * 5_000


@refused
def latin_1_without_cookie() -> bytes:
    return (HEAD + "# caf\xe9\n" + root()).encode("latin-1")


@found
def latin_1_with_cookie() -> bytes:
    return ("# -*- coding: latin-1 -*-\n" + HEAD + "name = 'caf\xe9'\n" + root()).encode("latin-1")


@refused
def unknown_cookie() -> bytes:
    return ("# -*- coding: klingon -*-\n" + HEAD + root()).encode()


@case
def rot13_cookie() -> bytes:
    return ("# -*- coding: rot13 -*-\n" + HEAD + root()).encode()


@case
def utf_7_cookie() -> bytes:
    return ("# -*- coding: utf-7 -*-\n" + HEAD + root()).encode()


@case
def utf_16() -> bytes:
    return (HEAD + root()).encode("utf-16")


@case
def utf_32() -> bytes:
    return (HEAD + root()).encode("utf-32")


@found
def byte_order_mark() -> bytes:
    return b"\xef\xbb\xbf" + (HEAD + root()).encode()


@refused
def mark_with_latin_1_cookie() -> bytes:
    return b"\xef\xbb\xbf# coding: latin-1\n" + (HEAD + root()).encode()


@found
def carriage_returns_only() -> bytes:
    return (HEAD + root()).replace("\n", "\r").encode()


@found
def mixed_line_ends() -> bytes:
    lines = (HEAD + root()).split("\n")
    return "".join(line + ("\n", "\r\n", "\r")[i % 3] for i, line in enumerate(lines)).encode()


@found
def form_feeds() -> str:
    return (HEAD + "\f\n\f" + root() + "\f\n\fclass A:\n\f    x = 1\n\n\f    def more(self, key):\n" + lost(8)).replace("    row =", "    row =\f")


@found
def other_line_separators() -> str:
    return HEAD + "text = 'a\u2028b\x85c\x0bd\x1ce'\n" + root("    text = 'a\u2028b\x85c\x0bd\x1ce'\n")


@found
def no_newline_at_the_end() -> str:
    return (HEAD + root()).rstrip("\n")


@found
def backslash_continuations() -> str:
    return HEAD + root("    x = \\\n" + "    1 + \\\n" * 150 + "    1\n")


@case
def backslash_at_the_end() -> str:
    return HEAD + root() + "x = 1 \\"


@found
def tabs() -> str:
    return (HEAD + root()).replace("    ", "\t")


@case
def tabs_and_spaces_mixed() -> str:
    return HEAD + "def bump(key):\n\tif key:\n        pass\n" + lost()


@found
def unicode_names() -> str:
    return HEAD + root("    ſchlüssel = 數 = ℌ = key\n", params="key, \ufb01eld=None")


@case
def lone_surrogates_in_text() -> str:
    return HEAD + root("    text = '\\ud800'\n") + "def more(key):\n    row = db.execute('SELECT n FROM t WHERE id = \"\\ud800\"').fetchone()\n    db.execute('UPDATE t SET n = ? WHERE id = \"\\ud800\"', (row[0] + 1,))\n"


@case
def empty() -> bytes:
    return b""


@case
def one_newline() -> bytes:
    return b"\n"


@case
def comments_only() -> str:
    return "# SELECT n FROM t; UPDATE t SET n = 1\n" * 3_000


@case
def binary() -> bytes:
    return bytes(range(1, 256)) * 50 + b"execute UPDATE SELECT"


@refused
def unclosed() -> str:
    return HEAD + root("    x = [[[(((\n")


@refused
def unclosed_string() -> str:
    return HEAD + root("    x = '''\n")


@refused
def python_2() -> str:
    return HEAD + root("    print 'x'\n    exec 'y' in {}\n")


# --- size ---------------------------------------------------------------------------------------------------------------


@case
def ten_thousand_lines() -> str:
    parts = []
    for i in range(2_000):
        parts.append(f'    row = db.execute("SELECT n FROM t{i % 50} WHERE id = ?", (key,)).fetchone()\n'
                     f'    total = row[0] + {i}\n    if total > {i}:\n        total = {i}\n'
                     f'    db.execute("UPDATE t{i % 50} SET n = ? WHERE id = ?", (total, key))\n')
    return HEAD + "def bump(key):\n" + "".join(parts)


@case
def a_long_loop() -> str:
    parts = []
    for i in range(500):
        parts.append(f'        row = db.execute("SELECT n FROM t WHERE id = ?", (key,)).fetchone()\n'
                     f'        total = row[0] + {i}\n        names.append(total)\n'
                     f'        db.execute("UPDATE t SET n = ? WHERE id = ?", (total, key))\n')
    return HEAD + "def bump(keys, names):\n    for key in keys:\n" + "".join(parts)


@case
def two_thousand_loose_lines() -> str:
    return HEAD + "key = 1\n" + (LOST * 1_000)


@found
def two_thousand_statements() -> str:
    return HEAD + root("".join(f'    db.execute("INSERT INTO log{i} (a, b) VALUES (?, ?)", (key, {i}))\n' for i in range(2_000)))


@case
def five_hundred_selects() -> str:
    return HEAD + root("".join(f'    r{i} = db.execute("SELECT a{i} FROM t{i} WHERE id = ? AND b{i} IN (1, 2)", (key,)).fetchone()\n' for i in range(500)))


@case
def four_hundred_functions() -> str:
    return HEAD + "\n".join(root(name=f"bump{i}") for i in range(400))


@found
def long_string() -> str:
    return HEAD + root("    text = '" + "x" * 1_000_000 + "'\n")


@found
def long_sql() -> str:
    return HEAD + root("    db.execute('SELECT " + ", ".join(f"c{i}" for i in range(20_000)) + " FROM t')\n")


@case
def deep_sql() -> str:
    return HEAD + root("    db.execute('SELECT " + "(" * 1_500 + "1" + ")" * 1_500 + " FROM t')\n"
                       "    db.execute('SELECT a FROM t WHERE " + " AND ".join(f"a = {i}" for i in range(3_000)) + "')\n"
                       "    db.execute('SELECT " + "(SELECT " * 300 + "1" + ")" * 300 + "')\n")


@case
def broken_sql() -> str:
    return HEAD + root("".join(f"    db.execute({text!r})\n" for text in (
        "SELECT 'unclosed", "UPDATE", "UPDATE t SET", "SELECT $$ FROM", "/* no end", "-- only", ";;;;", "\x00", "UPDATE t SET n = n + WHERE", "%s %(x)s %%", "SELECT ((((", "DELETE",
        "INSERT INTO", "WITH a AS (", "MERGE INTO", "EXPLAIN SELECT 1", "BEGIN; UPDATE t SET a=1; COMMIT", "{0} {x} {", "$1 :x ? @p", "\\", "''''", "SELECT \u2028")))


@found
def large_dict() -> str:
    return HEAD + root("    table = {" + ", ".join(f"'k{i}': key" for i in range(5_000)) + "}\n    more = dict(table, **table)\n")


@found
def large_dict_of_dicts() -> str:
    return HEAD + root("    table = {\n" + "".join(f"        'k{i}': {{'a': key, 'b': [key, {i}]}},\n" for i in range(1_000)) + "    }\n    x = table[key]['a']\n")


@found
def large_module_constant() -> str:
    return HEAD + "TABLE = {\n" + "".join(f"    'k{i}': [{i}, 'x'],\n" for i in range(5_000)) + "}\n\n" + root("    x = TABLE[key]\n")


@case
def many_parameters() -> str:
    return HEAD + root(params="key, " + ", ".join(f"p{i}=None" for i in range(2_000)))


@case
def many_arguments() -> str:
    return HEAD + "def helper(*args, **kwargs):\n    return args, kwargs\n\n" + root(
        "    x = helper(" + ", ".join(["key"] * 2_000) + ", " + ", ".join(f"k{i}=key" for i in range(2_000)) + ")\n")


@case
def many_decorators() -> str:
    return HEAD + "def plain(f):\n    return f\n\n" + "@plain\n" * 150 + root()


@case
def many_with_items() -> str:
    return HEAD + "def bump(key):\n    with (" + ", ".join(f"open(str(key)) as f{i}" for i in range(150)) + "):\n" + lost(8)


@case
def many_targets() -> str:
    return HEAD + root("    " + " = ".join(f"a{i}" for i in range(150)) + " = key\n    " + ", ".join(f"b{i}" for i in range(1_000)) + " = key\n")


@case
def many_handlers() -> str:
    return HEAD + "def bump(key):\n    try:\n" + lost(8) + "".join(f"    except Error{i} as e:\n        raise Other{i} from e\n" for i in range(200))


# --- control flow ---------------------------------------------------------------------------------------------------------


@case
def branches_that_assign() -> str:
    return HEAD + root("".join(f"    if key == {i}:\n" + "".join(f"        v{j} = key + {i * j}\n" for j in range(20)) for i in range(60)))


@case
def branches_that_assign_in_a_loop() -> str:
    return HEAD + "def bump(key):\n    while key:\n" + "".join(
        f"        if key == {i}:\n" + "".join(f"            v{j} = (v{(j + 1) % 20} if key else v{(j + 7) % 20})\n" for j in range(20)) for i in range(60)) + lost(8)


@case
def branches_that_append() -> str:
    return HEAD + root("    box = []\n    d = {}\n" + "".join(f"    if key == {i}:\n        box.append(d)\n        d['k{i}'] = box\n" for i in range(80)))


@case
def loops_that_try() -> str:
    text, pad = "", "    "
    for i in range(8):
        text += f"{pad}while True:\n{pad}    try:\n"
        pad += "        "
    text += "".join(pad + line + "\n" for line in LOST.splitlines()) + f"{pad}if row[0]:\n{pad}    break\n"
    for i in range(8):
        pad = pad[:-8]
        text += f"{pad}    finally:\n{pad}        key = key + {i}\n{pad}        done = key\n" + (f"{pad}    break\n" if i % 2 else "")
    return HEAD + "def bump(key):\n" + text


@case
def loops_that_except() -> str:
    text, pad = "", "    "
    for i in range(8):
        text += f"{pad}for i{i} in range(3):\n{pad}    try:\n"
        pad += "        "
    text += "".join(pad + line + "\n" for line in LOST.splitlines())
    for i in range(7, -1, -1):
        pad = pad[:-8]
        text += f"{pad}    except ValueError as e:\n{pad}        key = str(e)\n{pad}        continue\n{pad}    except KeyError:\n{pad}        break\n{pad}    else:\n{pad}        v{i} = row\n"
    return HEAD + "def bump(key):\n" + text


@case
def nested_finallies() -> str:
    text, pad = "", "    "
    for i in range(18):
        text += f"{pad}try:\n"
        pad += "    "
    text += "".join(pad + line + "\n" for line in LOST.splitlines()) + f"{pad}if key:\n{pad}    return row\n"
    for i in range(18):
        pad = pad[:-4]
        text += f"{pad}finally:\n{pad}    done = key\n{pad}    if done:\n{pad}        log(done)\n"
    return HEAD + "def bump(key):\n" + text


@case
def finallies_in_finallies() -> str:
    text, pad = "", "    "
    for i in range(10):
        text += f"{pad}try:\n{pad}    key = work(key)\n{pad}finally:\n"
        pad += "    "
    return HEAD + "def bump(key):\n" + text + "".join(pad + line + "\n" for line in LOST.splitlines())


@case
def excepts_in_excepts() -> str:
    text, pad = "", "    "
    for i in range(14):
        text += f"{pad}try:\n{pad}    key = work(key)\n{pad}except (ValueError, db.Error) as e{i}:\n"
        pad += "    "
    return HEAD + "def bump(key):\n" + text + "".join(pad + line + "\n" for line in LOST.splitlines())


@case
def many_breaks() -> str:
    return HEAD + "def bump(key):\n    while True:\n" + lost(8) + "".join(f"        if row[0] == {i}:\n            {('break', 'continue', 'return row')[i % 3]}\n" for i in range(300))


@case
def loop_else_chains() -> str:
    return HEAD + "def bump(key):\n" + "".join(f"    for x{i} in key:\n        if x{i}:\n            break\n    else:\n        key = x{i - 1 if i else 0}\n" for i in range(150)) + lost()


@case
def generators() -> str:
    return HEAD + "def bump(key):\n    while True:\n        got = yield key\n        key = yield from bump(got)\n" + lost(8) + "        yield row\n" + \
        "def user(key):\n    for x in bump(key):\n        for y in bump(x):\n            yield (yield y)\n    return [z async for z in q] if 0 else (yield)\n".replace("[z async for z in q] if 0 else ", "")


@case
def jumps_outside_loops() -> str:
    return HEAD + "break\ncontinue\nreturn 1\nyield 2\nawait x\n" + root("    break\n    continue\n")


@case
def statements_after_the_end() -> str:
    return HEAD + root("    while True:\n        pass\n") + "def more(key):\n    return 1\n" + lost() + "def third(key):\n    raise ValueError\n" + lost()


# --- recursion ------------------------------------------------------------------------------------------------------------


@case
def mutual_recursion() -> str:
    parts = []
    for i in range(300):
        parts.append(f"def f{i}(key, value):\n    row = db.execute('SELECT n FROM t WHERE id = ?', (key,)).fetchone()\n"
                     f"    if row[0] > {i}:\n        return f{(i + 1) % 300}(key, row[0])\n"
                     f"    db.execute('UPDATE t SET n = ? WHERE id = ?', (row[0] + value, key))\n    return row[0] + value\n")
    return HEAD + "\n".join(parts)


@case
def all_call_all() -> str:
    calls = "".join(f"    f{j}(key)\n" for j in range(40))
    return HEAD + "\n".join(f"def f{i}(key):\n" + lost() + calls for i in range(40))


@case
def doubling_calls() -> str:
    """Two calls at each of 25 levels: 2^25 walks if nothing bounds them."""
    parts = [f"def f{i}(key):\n    if key:\n        f{i + 1}(key)\n    f{i + 1}(key)\n" for i in range(25)]
    return HEAD + "\n".join(parts) + "\n" + root(name="f25")


@case
def doubling_closures() -> str:
    text = "def bump(key):\n    def g0():\n        nonlocal key\n" + lost(8)
    text += "".join(f"    def g{i}():\n        g{i - 1}()\n        g{i - 1}()\n        return g{i - 1}\n" for i in range(1, 25))
    return HEAD + text + "    g24()()()\n"


@case
def self_containing() -> str:
    return HEAD + root("""\
    box = []
    box.append(box)
    box[0] = box
    table = {"self": box}
    table["self"] = table
    box.append(table)
    table.update(table)
    box += box
    a, *b = box
    box.extend(table.values())
    node.next = node
    node.next.next = node
    self = key
    self.me = self
    for x in box:
        box.append(x)
        x = box = [x, box]
    while box:
        box = {"inner": box}
        box["again"] = box
    json.dumps(box)
    db.execute("UPDATE t SET n = ? WHERE id = ?", (box, table))
""")


@case
def growing_values() -> str:
    return HEAD + "def bump(key):\n    text = ''\n    box = []\n    while key:\n        text = f'{text}{key}{text}'\n        text += text % (text,)\n        box = [box, box, box]\n" \
        "        key = key.next.next.next.value[key][text]\n        text = text.join(box)\n" + lost(8)


@case
def class_cycles() -> str:
    return HEAD + "class A(A):\n    def bump(self, key):\n        self.bump(key)\n        super().bump(key)\n        super(A, self).bump(key)\n" + lost(8) + \
        "class B(C):\n    x: 'D' = None\n    def bump(self, key):\n        self.x.y.x.bump(key)\n" + lost(8) + \
        "class C(D):\n    pass\nclass D(B):\n    def __init__(self, b: 'B'):\n        self.b = b\n        self.d = D(self)\n        self.bump(self.b)\n" + \
        "class E(A, B, C, D, E, metaclass=E):\n    def bump(self, key):\n        self.d.b.d.bump(E(E(key)))\n" + lost(8) + root("    A(key).bump(B(key))\n    E(key).bump(D(key))\n")


@case
def wide_diamonds() -> str:
    text = "class X0:\n    def bump(self, key):\n" + lost(8)
    for i in range(1, 40):
        text += f"class X{i}(X{i - 1}, " + ", ".join(f"X{j}" for j in range(i - 1)) + ("):" if i > 1 else "):") + f"\n    def m{i}(self, key):\n        super().bump(key)\n        self.m{i - 1}(key)\n" + lost(8)
    return HEAD + text.replace(", ):", "):")


@case
def instances_of_instances() -> str:
    text = ""
    for i in range(60):
        text += f"class K{i}:\n    def __init__(self, a: 'K{(i + 1) % 60}', b: 'K{(i + 7) % 60}'):\n        self.a = a\n        self.b = b\n        self.c = K{(i + 3) % 60}(a, b)\n" \
                f"    def bump(self, key):\n        self.a.b.a.bump(key)\n        self.c.a.bump(key)\n" + lost(8)
    return HEAD + text


@case
def properties_that_recurse() -> str:
    return HEAD + "class A:\n    @property\n    def x(self):\n        return self.y + self.x\n    @property\n    def y(self):\n        return self.x\n" \
        "    def __getattr__(self, name):\n        return getattr(self, name)\n    def __enter__(self):\n        return self.__enter__()\n    def __exit__(self, *a):\n        with self:\n            pass\n" \
        "    def bump(self, key):\n        with self as s, s as t:\n            self.x = t.y\n" + lost(12)


@case
def context_managers_that_recurse() -> str:
    return HEAD + "from contextlib import contextmanager\n@contextmanager\ndef cm(key):\n    with cm(key) as x:\n        yield x\n        yield x\n    for i in key:\n        with cm(i):\n            yield\n" \
        + "def bump(key):\n    with cm(key) as a, cm(a) as b:\n        with cm(b):\n" + lost(12)


@case
def context_managers_with_many_yields() -> str:
    return HEAD + "from contextlib import contextmanager\n@contextmanager\ndef cm(key):\n" + "".join(f"    if key == {i}:\n        yield key\n" for i in range(10)) + \
        "def bump(key):\n" + nested("    with cm(key):".replace("    ", " "), 5, lambda d: "").replace("\n", "\n") + "".join(" " * 6 + line + "\n" for line in LOST.splitlines())


@case
def recursive_lambdas() -> str:
    return HEAD + root("    y = lambda f: (lambda x: f(lambda v: x(x)(v)))(lambda x: f(lambda v: x(x)(v)))\n    fact = y(lambda me: lambda n: me(me)(n))\n    fact(y)(y)(y(y))\n"
                       "    g = lambda *a, **k: g(g, *a, **k)\n    g(g)(g)\n    h = partial(partial(partial, g), h)\n")


@case
def decorators_that_loop() -> str:
    return HEAD + """\
def again(f):
    def inner(*args, **kwargs):
        while True:
            try:
                return f(*args, **kwargs)
            except Exception:
                continue
    return inner

def odd(f):
    return odd(odd(f))

@odd
def even(f):
    return even

class Deco:
    def __init__(self, f): self.f = f
    def __call__(self, *a): return self.f(*a)

@again
@again
@again
@odd
@even
@Deco
@bump
@(lambda f: f)
@missing.thing(1)[2]
def bump(key):
    bump(key)
""" + lost() + "@again\ndef again(f):\n    return again(f)\n" + root("    again(again)(key)\n", name="third")


@case
def imports_of_itself() -> str:
    return "from . import hostile\nfrom .hostile import *\nfrom hostile import bump as bump\nimport hostile.bump\nfrom ..... import x\n" + HEAD + root("    hostile.bump(bump(key))\n")


@case
def globals_in_a_ring() -> str:
    return HEAD + "".join(f"G{i} = G{(i + 1) % 200}\n" for i in range(200)) + "A = [A, B]\nB = {'a': A}\nA.append(B)\nC = lambda: C()\nD: 'D' = D\n" + root("    x = G0, A[0]['a'], B, C(), D\n", params="key, p: 'D' = G5")


# --- forms ----------------------------------------------------------------------------------------------------------------


@case
def exec_and_eval() -> str:
    return HEAD + root("    exec('x = 1', globals(), locals())\n    eval(key)\n    globals()['db'] = key\n    locals().update(key)\n    vars()[key] = 1\n    __import__('os').system(key)\n"
                       "    setattr(key, key, key)\n    getattr(key, 'a', *key)\n    type(key)(key)\n    type('X', (key,), {'a': key})()\n    delattr(key, 'x')\n    del key.x, key[0], (a, b), [c]\n")


@case
def stars() -> str:
    return HEAD + "def helper(a, /, b=1, *args, c, d=2, **kw):\n    return helper(*args, *args, **kw, **kw)\n" + root(
        "    helper(*key, *[1, 2], **key, **{'c': 1}, d=key)\n    helper()\n    helper(1, 2, 3, 4, 5, 6, c=1, e=2)\n    helper(a=1)\n    a, *b, c = *key, *key\n    [*a], (*b,) = key, {**key, **{}}\n"
        "    print(*key, sep='', **key)\n    x = [*key, *{*key}, *(*key,)]\n    db.execute(*key)\n    db.execute(*[sql], **kw)\n    dict(**key, **key)\n    for a, *b in key: pass\n    for x in *a, *b: pass\n    return_ = key[*key]\n"
        if sys.version_info >= (3, 11) else "    helper(*key)\n", params="*key, **more")


@case
def shadowed_builtins() -> str:
    return HEAD + "def str(x): return dict(x)\ndef dict(x): return int(x)\nint = list = dict\nclass list(list): pass\nsuper = property = range = enumerate = str\n" + root(
        "    print = open = len = key\n    for int in range(len(key)): str = int(dict(list(int)))\n    super().x(enumerate(zip(map(filter, int))))\n    isinstance(key, (isinstance, None))\n    sorted(key, key=sorted)\n"
        "    min = max = lambda *a: min(a)\n    min(max(1), max)\n    dict(**dict())\n    None_ = str(int(float(getattr(setattr))))\n")


@case
def builtins_without_arguments() -> str:
    names = "abs all any bool bytes callable chr dict dir divmod enumerate filter float format frozenset getattr globals hasattr hash hex id input int isinstance issubclass iter len list locals " \
            "map max min next object open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip".split()
    text = "".join(f"    {n}()\n    {n}(*key)\n    {n}(**key)\n    {n}(key, key, key, key)\n    {n}(key=key)\n" for n in names)
    more = "json.dumps json.loads copy.copy copy.deepcopy functools.partial functools.reduce functools.wraps asyncio.gather asyncio.to_thread asyncio.create_task asyncio.run dataclasses.replace dataclasses.asdict " \
           "itertools.chain operator.attrgetter operator.itemgetter contextlib.suppress contextlib.ExitStack contextlib.closing threading.Thread random.random time.time uuid.uuid4 os.path.join urllib.parse.urljoin".split()
    text += "".join(f"    {n}()\n    {n}(*key)\n    {n}(**key)\n    {n}(key, key, key, key)\n    {n}(x=key)\n    {n}(key)(key)\n    with {n}(key) as x: pass\n    for y in {n}(key): pass\n" for n in more)
    imports = "".join(f"import {m}\n" for m in "json copy functools asyncio dataclasses itertools operator contextlib threading random time uuid os urllib.parse".split())
    return imports + HEAD + root(text)


@case
def methods_without_arguments() -> str:
    names = "execute executemany executescript fetchone fetchall fetchmany commit rollback cursor close get put post patch request save filter update delete create get_or_create select_for_update first one " \
            "append extend insert pop popitem remove clear sort items values keys setdefault copy join format split replace encode strip acquire release begin with_for_update where query add merge flush refresh " \
            "scalar scalars all json raise_for_status put_object get_object delay apply_async on_commit send publish".split()
    text = "".join(f"    {r}.{n}()\n    {r}.{n}(*key)\n    {r}.{n}(**key)\n    {r}.{n}(1, None, key, [], {{}})\n    {r}.{n}(key=key)\n    {r}.{n} = key\n    {r}.{n}[key]\n" for n in names for r in ("db", "session", "requests", "s3", "obj", "''", "[]", "{}"))
    return "import boto3\nfrom sqlalchemy.orm import Session\nfrom shop.models import Item\n" + HEAD + "s3 = boto3.client('s3')\nsession = Session()\n" + root(text + "    Item.objects.filter().update()\n    Item.objects.get(pk=key).save(update_fields=key)\n")


@case
def scopes() -> str:
    return HEAD + "def bump(key):\n    global row, db, nothing\n    def inner():\n        nonlocal key\n        global key2\n        key = [row := key for key in key if (row := key)]\n" + lost(8) + \
        "        del key, row\n        return key\n    inner()\n    del inner\n    inner()\n    class X:\n        key = key\n        global y\n        y = [key for _ in key]\n    import os, os.path as key\n    from x import (a as b, c)\n    from y import *\n" + lost()


@case
def walrus() -> str:
    return HEAD + root("    if (n := 10) > (m := n) and (k := (j := m)): pass\n    x = [y := 1, y**2, (z := y)]\n    [a for b in (c := key) if (d := b)]\n    f(x := 3)\n    while chunk := key.read(): pass\n    {(e := 1): (g := 2)}\n"
                       "    lambda: (h := 1)\n    print(f'{(i := 5)}')\n    any((last := w) for w in key)\n    key[o := 1]\n    assert (p := key)\n    with (q := key): pass\n").replace("[a for b in (c := key) if (d := b)]", "[b for b in key if (d := b)]")


@case
def async_everything() -> str:
    return HEAD + "import asyncio\nasync def bump(key):\n    async with key as a, await key as b:\n        async for x, *y in key:\n            await (await (await x))\n            z = [await i async for i in key if await i]\n" \
        "            w = {await k: await v async for k, v in key}\n            yield await x\n    else_ = [i async for j in key async for i in j]\n    await asyncio.gather(*[bump(i) for i in key], bump(key), return_exceptions=True)\n" \
        "    async with asyncio.TaskGroup() as tg:\n        tg.create_task(bump(key))\n    await asyncio.wait_for(asyncio.shield(bump(key)), 1)\n    async for q in bump(key):\n        continue\n    else:\n        pass\n" \
        "    try:\n        await key\n    except* ValueError as e:\n        await e\n".replace("except*", "except* " if sys.version_info >= (3, 11) else "except") + lost() + \
        "async def outer(key):\n    async def inner():\n" + lost(8) + "        return await outer(inner)\n    await inner()\n    await asyncio.to_thread(inner, key)\n    asyncio.run(outer(key))\n"


@case
def match_everything() -> str:
    return HEAD + "def bump(key):\n    match key, *key:\n        case 1 | 2 | -3 | 1+2j | 'a' 'b' | b'c' | None | True: pass\n        case [a, b, *_] | (a, b) if a > b: pass\n        case []: pass\n        case {'x': x, 'y': {'z': [*z]}, **rest}: key = rest\n" \
        "        case {}: pass\n        case Point(x=0, y=yy) | Point(0, yy): pass\n        case str() | int(): pass\n        case a.b.c: pass\n        case [Point(x=0) as p, [[[[q]]]]] as whole: key = whole\n        case (only): pass\n" \
        "    match key:\n        case _ if key:\n            pass\n        case {'row': 1}:\n" + lost(12) + "        case _:\n            pass\n" + lost() + \
        "def many(key):\n    match key:\n" + "".join(f"        case {i}:\n            v = {i}\n" for i in range(180)) + "        case other:\n            v = other\n" + lost()


@case
def lambdas_in_defaults() -> str:
    return HEAD + "def bump(key, a=lambda x, *y, z=lambda: key, **w: bump(x), b=[i for i in range(3)], c={**{}}, d=(lambda: (yield))):\n    a(b)(c)\n    d()\n" + lost() + \
        "def more(key, f=lambda key=(lambda key=(lambda key: key): key): key):\n    f(f(f))()\n" + lost() + "class A:\n    f = lambda self, key: self.g(key)\n    g = lambda self, key: self.f(key)\n    def bump(self, key):\n        self.f(key)\n" + lost(8)


@case
def roots_everywhere() -> str:
    """A lost update inside every construct."""
    blocks = [
        "if key:\n{}", "while key:\n{}", "for x in key:\n{}", "for x in key:\n    pass\nelse:\n{}", "with key:\n{}", "try:\n{}finally:\n    pass\n", "try:\n    pass\nfinally:\n{}", "try:\n    pass\nexcept Exception:\n{}",
        "try:\n    pass\nexcept Exception:\n    pass\nelse:\n{}", "if key:\n    pass\nelif key.x:\n{}", "if key:\n    pass\nelse:\n{}", "match key:\n    case _:\n    {}",
        "def inner():\n{}inner()\n", "async def inner():\n{}", "class Inner:\n    def bump(self, key):\n    {}", "class Inner:\n{}", "while True:\n{}    break\n",
    ]
    text = ""
    for i, block in enumerate(blocks):
        lead = 8 if "    {}" in block else 4
        body = "".join(" " * lead + line + "\n" for line in LOST.splitlines())
        filled = block.replace("    {}", body).replace("{}", body)
        text += f"def f{i}(key):\n" + "".join("    " + line + "\n" for line in filled.splitlines())
        text += filled.replace("key", "KEY") if "yield" not in filled else ""
    return HEAD + "KEY = 1\n" + text + "row = None\nx = [db.execute('UPDATE t SET n = ? WHERE id = 1', (db.execute('SELECT n FROM t WHERE id = 1').fetchone()[0] + 1,)) for i in key]\n" \
        "y = lambda key: db.execute('UPDATE t SET n = ? WHERE id = 1', (db.execute('SELECT n FROM t WHERE id = 1').fetchone()[0] + 1,))\n"


@case
def type_syntax() -> str:
    return HEAD + "from __future__ import annotations\nfrom typing import *\nT = TypeVar('T', bound='T')\nclass A(Generic[T], Dict['A', \"List['A']\"]):\n    x: ClassVar['A[A[A]]'] = None\n    y: Annotated[A, lambda: A]\n" \
        "    def bump(self: 'A', key: \"]]broken[[\", z: 'x' 'y' = 1, *a: *Ts, **k: Unpack[K]) -> 'A | None | 3':\n".replace("*a: *Ts", "*a: 'Ts'") + lost(8) + \
        "def more(key: " + "Optional[" * 100 + "A" + "]" * 100 + "):\n    key.bump(key)\n    x: int\n    key.y: A = 1\n    (z): A = key\n" + lost()


@case
def new_syntax() -> str:
    return HEAD + "type X[T: (int, str), *Ts, **P] = dict[T, X]\ndef bump[T](key: T) -> T:\n    x = f'{f'{f'{key}'}'}'\n    try:\n        pass\n    except ValueError, KeyError:\n        pass\n    t = t'{key!r:>{key}}'\n" + lost() + "class A[T]:\n    def bump(self, key):\n" + lost(8)


@case
def semicolons_and_one_liners() -> str:
    return HEAD + "def bump(key): row = db.execute('SELECT n FROM t WHERE id = ?', (key,)).fetchone(); db.execute('UPDATE t SET n = ? WHERE id = ?', (row[0] + 1, key)); return row;\n" \
        "class A: x = 1; y = x; z = lambda: 0\nif 1: pass; pass\nelse: x = 1;\nfor x in []: pass\nwhile 0: x = 1; y = 2\ntry: pass\nexcept: pass\nwith db: " + LOST.splitlines()[1] + "\n" + "x = 1; " * 3_000 + "\n"


@case
def literals() -> str:
    return HEAD + root("    x = 1_000j, 0xFF, 0o17, 0b1, 1e400, -1e400, " + "9" * 4_000 + ", ..., b'\\xff', rb'\\x', '\\N{DASH}', __debug__, NotImplemented\n    key = '%s' % (1, 2) % {} % None\n    '{} {0} {x.y[0]!r:>{w}}'.format(1, 2)\n"
                       "    '{'.format(key)\n    '%(a)s %' % {'a': key}\n    'a' 'b' f'{key=}' rf'\\d{key!r:{key}}'\n    -(-(-'x'))\n    1 / 0 + [] - {} * None @ key\n    'x' - 1\n    'a' * 10 ** 9\n    2 ** 10 ** 10\n    [0] * 10 ** 12\n    1 << 10 ** 6\n").replace("\\N{DASH}", "\\N{EN DASH}")


# --- the run ----------------------------------------------------------------------------------------------------------------


def check(folder: Path) -> tuple[int, dict, str]:
    """(exit code, JSON document, stderr) of `noclobber check --strict` on a folder in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "noclobber", "check", "--strict", "--no-cache", "-j", "1", "--output-format", "json", "."],
        cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT,
    )
    errors = done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 1, 2), f"died with {done.returncode}: {errors[-2000:]}"
    return done.returncode, json.loads(done.stdout), errors


def write_case(folder: Path, name: str) -> None:
    """A project of its own with one hostile file."""
    text = CASES[name]()
    project = folder / name
    project.mkdir()
    (project / ".noclobber.toml").write_text("")
    (project / "hostile.py").write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))


@functools.lru_cache(maxsize=None)
def together(half: int) -> tuple[dict, str]:
    """(JSON document, stderr) of one process over every second case of the normal set: each worker of a test run makes one half."""

    def run() -> tuple[dict, str]:
        with tempfile.TemporaryDirectory() as folder:
            for name in QUICK[half::2]:
                write_case(Path(folder), name)
            return check(Path(folder))[1:]

    return made_once(f"hostile-{half}", run)


#: The shapes that cost seconds run beside the normal set (`pytest -m corpus`): those from `a_long_loop` on that grow with a number, up to
#: `globals_in_a_ring`.
SLOW = list(CASES)[list(CASES).index("a_long_loop"):list(CASES).index("globals_in_a_ring") + 1]
QUICK = [name for name in CASES if name not in SLOW]


def assert_answered(name: str, document: dict, errors: str) -> None:
    """One file of the document: found or refused as its case says, no internal error."""
    own = f"{name}/hostile.py"
    codes = [finding["code"] for finding in document["findings"] if finding["path"] == own]
    failed = [error for error in document["errors"] if error["path"] == own]
    assert "Traceback" not in errors, errors
    assert "RMW009" not in codes, failed
    for error in failed:
        assert error["code"] == "RMW001"
        assert error["line"] >= 1 and error["message"]
    if name in REFUSED:
        assert [error["code"] for error in failed] == ["RMW001"], failed
    if name in FOUND:
        assert "RMW101" in codes, (codes, failed)


@pytest.mark.parametrize("name", QUICK)
def test_an_answer(name: str) -> None:
    """Of one process for many: the next file is read whatever came before it."""
    assert_answered(name, *together(QUICK.index(name) % 2))


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.corpus) for name in SLOW] + ["nested_brackets_200", *sorted(REFUSED)[:2]])
def test_an_answer_of_its_own_process(name: str, tmp_path: Path) -> None:
    write_case(tmp_path, name)
    code, document, errors = check(tmp_path)
    assert_answered(name, document, errors)
    assert code in ((1, 2) if document["errors"] else (0, 1))


if __name__ == "__main__":  # `python tests/test_hostile.py FOLDER [name …]` writes the cases
    for given in sys.argv[2:] or CASES:
        made = CASES[given]()
        (Path(sys.argv[1]) / f"{given}.py").write_bytes(made if isinstance(made, bytes) else made.encode("utf-8"))
