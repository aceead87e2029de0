"""The outline made from LibCST, and files that only a newer Python reads."""
from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from helpers import FIXTURES, ROOT, everything_on, lint_bytes
from noclobber import engine
from noclobber.older import for_older_python
from noclobber.outline import outline
from noclobber.resolve import Source, SourceError, index_module
from noclobber.trace import lower

#: All of the fixtures and examples, and every third of the (much longer) modules of our own.
FILES = sorted([*FIXTURES.rglob("*.py"), *(ROOT / "docs").rglob("*.py"), *sorted((ROOT / "src").rglob("*.py"))[::3]])


def facts(item: Any) -> Any:
    """All of an outline but the depths, and the names of `nonlocal`, which ir cannot tell from `global`."""
    if dataclasses.is_dataclass(item):
        names = [field.name for field in dataclasses.fields(item) if field.name not in ("depth", "deep_line", "rebound")]
        return {name: facts(getattr(item, name)) for name in names}
    return {key: facts(value) for key, value in item.items()} if isinstance(item, dict) else item


def of(text: str) -> Any:
    source = Source.decode("m.py", text.encode())
    return outline(source, lower.lower_module(source))


def same(source: Source) -> None:
    index, _ = index_module(source)
    assert facts(outline(source, lower.lower_module(source))) == facts(index)


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_the_outline_that_ast_gives(folder: Path) -> None:
    for path in (path for path in FILES if path.parent == folder):
        source = Source.decode(str(path), path.read_bytes())
        try:
            index, _ = index_module(source)
        except SourceError:  # newer syntax than the running Python's
            continue
        assert facts(outline(source, lower.lower_module(source))) == facts(index), path


ODD = '''\
from __future__ import annotations
try:
    import json
except ImportError:
    import simplejson as json
from .models import *
from . import models as m, (
    other)
if True: one = 1; two = 2
a = b = 3; c: int = 4; d: str
if (n := 5): pass
for i, (j, *k) in (): pass
with open("x") as f, open("y"): pass
match a:
    case {"x": x, **rest}: pass
    case [y, *_] | (y): pass
@deco(1)
# comment
@a.b[0]

async def outer(p, /, q, *r, s, **t):
    global made
    import os.path
    def inner(): import sys
class A(B[int], f(), metaclass=M):
    "é"
    x: "Optional[int]" = None; y: list[
        str]
    if x:
        z = 1
    @property
    def v(self): return 1
    @v.setter
    def v(self, value): pass
    class Inner:
        def deep(self):
            pass
class A: w = 1
'''.replace("from . import models as m, (\n    other)", "from . import models as m, other")


def test_odd_places_give_the_same_outline() -> None:
    same(Source.decode("m.py", ODD.encode()))
    same(Source.decode("m.py", ODD.replace("\n", "\r\n").encode()))
    same(Source.decode("m.py", b"\xef\xbb\xbf\f" + ODD.encode()))


@pytest.mark.parametrize("text", [
    "class A[T]: x = 1\n",
    "class A[T: B[C], *Ts, **P](D[T], E):\n    def f[R](self, x: R) -> R: ...\n",
    "class A[\n    T: (int, str),  # a bracket ]\n    ID,\n](\n    Base[T]\n):\n    n: int\n",
    "class A[\n    T,\n]:\n    async def load[\n        R,\n    ](self): ...\n",
    "type X = int\ntype Pair[T] = tuple[T, T]\ntype = 3\n",
    "try:\n    import a\nexcept A, b.B:\n    import c as a\n",
])
def test_what_is_newer_is_taken_out_for_an_older_python(text: str) -> None:
    """The outline of what is left is that of the text itself, as LibCST reads it."""
    older = for_older_python(text)
    assert older != text and all(len(a) - len(b) in (0, 1) for a, b in zip(older.splitlines(), text.splitlines(), strict=True))
    left, whole = index_module(Source.decode("m.py", older.encode()))[0], of(text)
    assert (list(left.classes), list(left.functions), left.assigns) == (list(whole.classes), list(whole.functions), whole.assigns)
    assert [(cls.bases, cls.start, cls.end) for cls in left.classes.values()] == [(cls.bases, cls.start, cls.end) for cls in whole.classes.values()]


def test_names_of_newer_syntax() -> None:
    index = of("type X = int\ntry:\n    import a\nexcept A, B:\n    import b as a\ndef f[T](x: T): ...\nclass C[T](D): n: int\n")
    assert index.assigns == {"X": ((1, 1),)}
    assert (index.imports, index.choices) == ({"a": "a"}, {"a": ("a", "b")})
    assert index.functions["f"].params == ("x",)
    assert (index.classes["C"].bases, index.classes["C"].annotations) == (("D",), {"n": "int"})
    assert index.loose == ((1, 5),)


# --- the slow path --------------------------------------------------------------------------------------------------------

LOST = '''
def spend(db: sqlite3.Connection, code, cents):
    row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
    db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (row[0] - cents, code))
'''
#: Each is refused by some Python that noclobber runs on: brackets are not needed since 3.14, t-strings came with it.
NEWER = {
    "except": "try:\n    pass\nexcept KeyError, ValueError:\n    pass\n",
    "t-string": "greeting = t'hello {name}'\n",
    "type": "type Code = str\n",
    "f-string": "title = f'{names['first']}'\n",
    "generic": "def first[T](items: list[T]) -> T:\n    return items[0]\n",
}


@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_a_lost_update_beside_newer_syntax_is_found(text: str) -> None:
    code = "import sqlite3\n" + text + LOST
    found = lint_bytes(code.encode(), "pay.py")
    assert [(finding.code, finding.place.line, finding.function) for finding in found] == [
        ("RMW101", code.count("\n"), "spend")
    ]


def test_a_lost_update_of_a_script_with_newer_syntax_is_found() -> None:
    code = (
        "import sqlite3\ndb = sqlite3.connect('x')\ntry:\n    row = db.execute('SELECT n FROM t WHERE id = 1').fetchone()\n"
        "except KeyError, ValueError:\n    raise\ndb.execute('UPDATE t SET n = ? WHERE id = 1', (row[0] + 1,))\n"
    )
    assert [(finding.code, finding.place.line) for finding in lint_bytes(code.encode(), "pay.py")] == [("RMW101", 7)]


def test_only_what_both_refuse_is_unparsable() -> None:
    config = everything_on()

    def failures(text: str) -> list[tuple[str, int]]:
        item = engine.analyse_item(text.encode(), "a.py", config)
        return [(failure.code, failure.line) for failure in item.result.failures]

    assert failures("import sqlite3\ntry:\n    pass\nexcept A, B:\n    pass\n") == []
    assert failures("try:\n    pass\nexcept A, B:\n    pass\n") == []
    assert failures("import sqlite3\nx = 1\ndef (:\n") == [("RMW001", 3)]
    assert failures("try:\n    pass\nexcept A, B:\n    x = " + "(" * 300 + ")" * 300 + "\n") in ([("RMW001", 4)], [("RMW001", 3)])
