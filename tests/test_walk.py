"""The walk over Python code: each test gives a piece of code and says which events, origins, locks and findings come of it."""
from __future__ import annotations

import textwrap
from typing import Any

import pytest

from noclobber import analyse, knowledge
from noclobber.finding import Finding
from noclobber.trace.values import Value

import helpers

HEAD = """\
import asyncio, copy, functools, json, threading
import sqlite3
import psycopg
import redis_lock
from contextlib import contextmanager, asynccontextmanager
from functools import partial
from django.db import transaction
pg = psycopg.connect("x")
db = sqlite3.connect("x.db")
mutex = redis_lock.Lock(pg, "x")
class Stale(Exception): pass
def load(key):
    return db.execute("SELECT n, doc FROM t WHERE id = ?", (key,)).fetchone()
def save(key, value):
    db.execute("UPDATE t SET n = ? WHERE id = ?", (value, key))
def compare(key, value, version):
    return db.execute("UPDATE t SET n = ? WHERE id = ? AND version = ?", (value, key, version)).rowcount
"""


def walked(code: str, name: str = "f") -> Any:
    """The trace of one function of the code."""
    data = (HEAD + textwrap.dedent(code)).encode()
    for found, trace, _ in analyse.traces(data, "m.py", knowledge.load().vocabulary, name):
        assert found == name
        return trace
    raise AssertionError(f"no trace of {name}")


def found(code: str) -> list[tuple[str, str]]:
    """(rule, function) of the findings in the code."""
    findings: list[Finding] = helpers.lint_bytes((HEAD + textwrap.dedent(code)).encode(), "m.py")
    return sorted((finding.name, finding.function) for finding in findings)


def told(value: Value) -> str:
    """Origins of a value in short: `=` the same, `±` more or less, `~` derived; reads without their numbers."""
    out = []
    for origin in value.origins:
        if origin.kind == "const":
            continue
        mark = "=" if origin in value.same else "±" if origin in value.incr else "~"
        n = origin.n if origin.kind == "param" else ""
        out.append(f"{mark}{origin.kind}{':' + n if n else ''}{''.join(f'.{step}' for step in origin.path)}")
    return " ".join(sorted(out))


def written(code: str, name: str = "f") -> list[str]:
    """What each write of the function puts into its first column."""
    return [told(event.columns[0][1]) if event.columns else "?" for event in walked(code, name).of("write")]


def held(code: str, kind: str = "write", name: str = "f") -> list[list[str]]:
    """The kinds of the locks that are held at each event of a kind."""
    return [sorted({lock.kind for lock in event.ctx.held}) for event in walked(code, name).of(kind)]


# --- where a value comes from ----------------------------------------------------------------------------------------------

N = "=read.[0]"
ONE_MORE = "±read.[0]"

VALUES = {
    "item": ("n = load(k)[0]\nsave(k, n)", N),
    "sum": ("save(k, load(k)[0] + 1)", ONE_MORE),
    "sum from the left": ("save(k, 1 + load(k)[0])", ONE_MORE),
    "difference": ("save(k, load(k)[0] - 1)", ONE_MORE),
    "product": ("save(k, load(k)[0] * 2)", "~read.[0]"),
    "subtrahend": ("save(k, 1 - load(k)[0])", "~read.[0]"),
    "augmented": ("n = load(k)[0]\nn += 1\nsave(k, n)", ONE_MORE),
    "conversion": ("save(k, int(load(k)[0]))", N),
    "conversion of a sum": ("save(k, int(load(k)[0] + 1))", ONE_MORE),
    "default": ("save(k, load(k)[0] or 0)", N),
    "clamp": ("save(k, max(load(k)[0] - 1, 0))", ONE_MORE),
    "conditional expression": ("n = load(k)[0]\nsave(k, n if k else n + 1)", N),
    "conjunction": ("n = load(k)[0]\nsave(k, k and n)", "=read.[0] ~param:k"),
    "unpacking": ("n, doc = load(k)\nsave(k, n)", N),
    "unpacking in a list": ("[n, doc] = load(k)\nsave(k, n)", N),
    "nested unpacking": ("(n, doc), x = load(k), k\nsave(x, n)", N),
    "unpacking with a star": ("n, *rest = load(k)\nsave(k, n)", N),
    "chained assignment": ("a = b = load(k)[0]\nsave(k, b)", N),
    "annotated assignment": ("n: int = load(k)[0]\nsave(k, n)", N),
    "swap": ("a, b = load(k)[0], k\na, b = b, a\nsave(a, b)", N),
    "walrus": ("if (n := load(k)[0]) is not None:\n    save(k, n + 1)", ONE_MORE),
    "walrus in a comprehension": ("[n for x in k if (n := load(k)[0])]\nsave(k, 1)", ""),
    "dict": ("d = {'n': load(k)[0]}\nsave(k, d['n'])", N),
    "other key of a dict": ("d = {'n': load(k)[0], 'm': k}\nsave(k, d['m'])", "=param:k"),
    "dict by get": ("d = {'n': load(k)[0]}\nsave(k, d.get('n', 0))", N),
    "dict by assignment": ("d = {}\nd['n'] = load(k)[0]\nsave(k, d['n'])", N),
    "dict by update": ("d = {}\nd.update(n=load(k)[0])\nsave(k, d['n'])", N),
    "dict by double star": ("d = {'n': load(k)[0]}\ne = {**d, 'm': 1}\nsave(k, e['n'])", N),
    "dict by union": ("d = {'n': load(k)[0]} | {'m': 1}\nsave(k, d['n'])", N),
    "dict call": ("d = dict(n=load(k)[0])\nsave(k, d['n'])", N),
    "list": ("xs = [load(k)[0], k]\nsave(k, xs[0])", N),
    "list by append": ("xs = []\nxs.append(load(k)[0])\nsave(k, xs[0])", N),
    "list by star": ("xs = [*[load(k)[0]], k]\nsave(k, xs[0])", N),
    "overwritten": ("n = load(k)[0]\nn = 1\nsave(k, n)", ""),
    "overwritten item": ("d = {'n': load(k)[0]}\nd['n'] = 1\nsave(k, d['n'])", ""),
    "deleted": ("n = load(k)[0]\ndel n\nn = k\nsave(k, n)", "=param:k"),
    "list comprehension": ("xs = [x for x in [load(k)[0]]]\nsave(k, xs[0])", N + " ~item"),
    "dict comprehension": ("d = {'n': v for v in [load(k)[0]]}\nsave(k, d['n'])", N + " ~item"),
    "name of a comprehension": ("n = 1\nxs = [n for n in [load(k)[0]]]\nsave(k, n)", ""),
    "f-string": ("save(k, f'{load(k)[0]}!')", "~read.[0]"),
    "text sum": ("save(k, 'a' + load(k)[0])", "~read.[0]"),
    "percent": ("save(k, '%s' % load(k)[0])", "~read.[0]"),
    "format": ("save(k, '{}'.format(load(k)[0]))", "~read.[0]"),
    "attribute": ("o = Thing()\no.n = load(k)[0]\nsave(k, o.n)", N),
    "other attribute": ("o = Thing()\no.n = load(k)[0]\no.m = 1\nsave(k, o.m)", ""),
    "setattr": ("o = Thing()\nsetattr(o, 'n', load(k)[0])\nsave(k, o.n)", N),
    "getattr": ("o = Thing()\no.n = load(k)[0]\nsave(k, getattr(o, 'n'))", N),
    "alias": ("d = {}\ne = d\ne['n'] = load(k)[0]\nsave(k, d['n'])", N),
    "copy": ("d = {'n': load(k)[0]}\ne = dict(d)\nd['n'] = 1\nsave(k, e['n'])", N),
    "copy is not changed": ("d = {'n': 1}\ne = copy.copy(d)\ne['n'] = load(k)[0]\nsave(k, d['n'])", ""),
    "deep copy": ("d = {'n': load(k)[0]}\nsave(k, copy.deepcopy(d)['n'])", N),
    "json": ("doc = json.loads(load(k)[1])\ndoc['n'] = 1\nsave(k, json.dumps(doc))", "~read.[1]"),
    "json field": ("doc = json.loads(load(k)[1])\nsave(k, doc['n'])", "=read.[1].json.['n']"),
    "lambda": ("g = lambda x: x + 1\nsave(k, g(load(k)[0]))", ONE_MORE),
    "nested function": ("def g(x):\n    return x + 1\nsave(k, g(load(k)[0]))", ONE_MORE),
    "closure": ("n = load(k)[0]\ndef g():\n    return n\nsave(k, g())", N),
    "closure sees later names": ("n = 1\ndef g():\n    return n\nn = load(k)[0]\nsave(k, g())", N),
    "default of a parameter": ("n = load(k)[0]\ndef g(x=1):\n    return x\nsave(k, g())", ""),
    "star arguments": ("def g(*a):\n    return a[1]\nsave(k, g(k, load(k)[0]))", N),
    "known star": ("xs = (k, load(k)[0])\nsave(*xs)", N),
    "bundle of keywords": ("b = {'key': k, 'value': load(k)[0]}\nsave(**b)", N),
    "bundle made by dict": ("b = dict(key=k)\nb['value'] = load(k)[0]\nsave(**b)", N),
    "keywords of a helper": ("def g(**kw):\n    return kw['n']\nsave(k, g(n=load(k)[0]))", N),
    "keyword-only": ("def g(*, n):\n    return n\nsave(k, g(n=load(k)[0]))", N),
    "partial": ("g = partial(save, k)\ng(load(k)[0])", N),
    "partial with keywords": ("g = partial(save, value=load(k)[0])\ng(k)", N),
    "map": ("save(k, list(map(lambda x: x, [load(k)[0]]))[0])", N),
    "branch": ("n = load(k)[0]\nif k:\n    n = n + 1\nsave(k, n)", N),
    "branch that leaves": ("n = load(k)[0]\nif k:\n    n = 1\n    return\nsave(k, n)", N),
    "branch that decides": ("if k:\n    n = 1\nelse:\n    n = load(k)[0]\nsave(k, n)", N),
    "branch never taken": ("n = 1\nif False:\n    n = load(k)[0]\nsave(k, n)", ""),
    "match": ("n = load(k)[0]\nmatch k:\n    case 1:\n        n = 5\n    case _:\n        pass\nsave(k, n)", N),
    "capture": ("match load(k)[0]:\n    case n:\n        save(k, n)", N),
    "match that leaves": ("n = load(k)[0]\nmatch k:\n    case _:\n        n = 2\nsave(k, n)", ""),
    "while": ("n = load(k)[0]\nwhile k:\n    n += 1\nsave(k, n)", N),
    "loop carried": ("a = b = 0\nfor x in k:\n    a = b\n    b = load(k)[0]\nsave(k, a)", N),
    "for over members": ("for n in [load(k)[0]]:\n    save(k, n)", N + " ~item"),
    "for else": ("n = 1\nfor x in k:\n    break\nelse:\n    n = load(k)[0]\nsave(k, n)", N),
    "enumerate": ("for i, n in enumerate([load(k)[0]]):\n    save(k, n)", N),
    "zip": ("for a, n in zip([k], [load(k)[0]]):\n    save(a, n)", N),
    "items": ("for key, n in {'a': load(k)[0]}.items():\n    save(k, n)", N),
    "try": ("try:\n    n = load(k)[0]\nexcept KeyError:\n    n = 0\nsave(k, n)", N),
    "try else": ("try:\n    n = load(k)[0]\nexcept KeyError:\n    return\nelse:\n    save(k, n)", N),
    "finally": ("n = 0\ntry:\n    n = load(k)[0]\nfinally:\n    save(k, n)", N),
    "handler sees its own names": ("n = load(k)[0]\ndef g(k):\n    n = 5\n    raise Stale\ntry:\n    g(7)\nexcept Stale:\n    save(k, n)", N),
    "finally sees its own names": ("n = load(k)[0]\ndef g(k):\n    n = 5\n    raise Stale\ntry:\n    g(7)\nfinally:\n    save(k, n)", N),
    "early return": ("n = 1\nif k:\n    return\nn = load(k)[0]\nsave(k, n)", N),
    "assertion": ("n = load(k)[0]\nassert n\nsave(k, n)", N),
    "none on one path": ("n = None\nif k:\n    n = load(k)[0]\nsave(k, n)", N),
}


@pytest.mark.parametrize("name", VALUES)
def test_where_a_value_comes_from(name: str) -> None:
    body, wanted = VALUES[name]
    got = [value for value in written("def f(k):\n" + textwrap.indent(body, "    "))]
    assert got
    # `N` also where another path adds to it: what it equals on some path counts.
    assert got[-1] == wanted, got


def test_await_and_async_for() -> None:
    code = """
    async def get(key):
        return load(key)[0]
    async def f(k):
        n = await get(k)
        async with k as c:
            async for x in c:
                save(k, n + 1)
    """
    assert written(code) == [ONE_MORE]


def test_gather_and_to_thread() -> None:
    code = """
    async def get(key):
        return load(key)[0]
    async def f(k):
        a, b = await asyncio.gather(get(k), get(k))
        await asyncio.to_thread(save, k, b + 1)
    """
    assert written(code) == [ONE_MORE]


def test_a_generator_gives_its_members() -> None:
    code = """
    def rows(k):
        yield load(k)[0]
    def f(k):
        for n in rows(k):
            save(k, n)
    """
    assert written(code) == [N + " ~item"]


def test_recursion_comes_to_an_end() -> None:
    code = """
    def f(k):
        n = load(k)[0]
        if n:
            f(n)
        save(k, n)
    def g(k):
        h(k)
    def h(k):
        g(k)
        save(k, load(k)[0])
    """
    assert written(code) == [N]
    assert written(code, "g") == [N]


# --- classes -----------------------------------------------------------------------------------------------------------------


def test_attributes_of_self() -> None:
    code = """
    class A:
        table = "t"
        def __init__(self, key):
            self.key = key
        def load(self):
            self.n = load(self.key)[0]
        def f(self):
            self.load()
            save(self.key, self.n + 1)
    """
    trace = walked(code, "A.f")
    assert [told(event.columns[0][1]) for event in trace.of("write")] == [ONE_MORE]
    read, write = trace.of("read")[0], trace.of("write")[0]
    assert read.record.key[0][1] is write.record.key[0][1]


def test_class_attributes_in_sql() -> None:
    code = """
    class A:
        TABLE = "things"
        def f(self, k):
            n = db.execute(f"SELECT n FROM {self.TABLE} WHERE id = ?", (k,)).fetchone()[0]
            db.execute("UPDATE " + self.TABLE + " SET n = ? WHERE id = ?", (n + 1, k))
    """
    trace = walked(code, "A.f")
    assert [event.record.label for event in trace.events if event.kind in ("read", "write")] == ["things", "things"]


def test_properties_are_calls() -> None:
    code = """
    class A:
        @property
        def n(self):
            return load(self.key)[0]
        def f(self):
            save(self.key, self.n + 1)
    """
    assert [told(event.columns[0][1]) for event in walked(code, "A.f").of("write")] == [ONE_MORE]


def test_methods_of_a_base_class() -> None:
    code = """
    class Base:
        def get(self, k):
            return load(k)[0]
        def put(self, k, n):
            pass
    class A(Base):
        def put(self, k, n):
            super().put(k, n)
            save(k, n)
        def f(self, k):
            self.put(k, self.get(k) + 1)
    """
    assert [told(event.columns[0][1]) for event in walked(code, "A.f").of("write")] == [ONE_MORE]


# --- literal arguments that decide a branch -------------------------------------------------------------------------------------

FETCH = """
def fetch(key, lock=False):
    if lock:
        return pg.execute("SELECT n FROM t WHERE id = %s FOR UPDATE", (key,)).fetchone()
    return pg.execute("SELECT n FROM t WHERE id = %s", (key,)).fetchone()
def put(key, n):
    pg.execute("UPDATE t SET n = %s WHERE id = %s", (n, key))
"""


@pytest.mark.parametrize("call, locks", [("fetch(k, lock=True)", [["row"]]), ("fetch(k, True)", [["row"]]), ("fetch(k)", [[]]), ("fetch(k, lock=False)", [[]]), ("fetch(k, **{'lock': True})", [["row"]]),
                                         ("fetch(k, lock=k)", [[]])])
def test_literal_arguments_decide(call: str, locks: list) -> None:
    assert held(FETCH + f"def f(k):\n    n = {call}[0]\n    put(k, n + 1)\n") == locks


def test_findings_by_literal_arguments() -> None:
    code = FETCH + "def good(k):\n    put(k, fetch(k, lock=True)[0] + 1)\ndef bad(k):\n    put(k, fetch(k)[0] + 1)\n"
    assert found(code) == [("blind-accessor-write", "bad")]
    assert found(code.partition("def bad")[0]) == []


# --- locks: must ------------------------------------------------------------------------------------------------------------------

LOCKS = {
    "block": ("with mutex:\n    save(k, 1)", [["ttl"]]),
    "after the block": ("with mutex:\n    pass\nsave(k, 1)", [[]]),
    "acquire": ("mutex.acquire()\nsave(k, 1)", [["ttl"]]),
    "released": ("mutex.acquire()\nmutex.release()\nsave(k, 1)", [[]]),
    "on one path only": ("if k:\n    mutex.acquire()\nsave(k, 1)", [[]]),
    "on both paths": ("if k:\n    mutex.acquire()\nelse:\n    mutex.acquire()\nsave(k, 1)", [[]]),
    "the other path leaves": ("if k:\n    mutex.acquire()\nelse:\n    return\nsave(k, 1)", [["ttl"]]),
    "the other path raises": ("if k:\n    mutex.acquire()\nelse:\n    raise Stale\nsave(k, 1)", [["ttl"]]),
    "the other path goes on": ("for x in k:\n    if x:\n        mutex.acquire()\n    else:\n        continue\n    save(k, 1)", [["ttl"]]),
    "not had": ("if not mutex.acquire(blocking=False):\n    save(k, 0)\n    return\nsave(k, 1)", [[], ["ttl"]]),
    "had": ("if mutex.acquire(blocking=False):\n    save(k, 0)\nelse:\n    save(k, 1)\nsave(k, 2)", [["ttl"], [], []]),
    "answer kept in a name": ("got = mutex.acquire(timeout=3)\nsave(k, 0)\nif not got:\n    raise Stale\nsave(k, 1)", [[], ["ttl"]]),
    "compared with False": ("if mutex.acquire(False) is False:\n    return\nsave(k, 1)", [["ttl"]]),
    "in a conjunction": ("if k and mutex.acquire(blocking=False):\n    save(k, 1)", [["ttl"]]),
    "waited for": ("while not mutex.acquire(blocking=False):\n    save(k, 0)\nsave(k, 1)", [[], ["ttl"]]),
    "asserted": ("assert mutex.acquire(blocking=False)\nsave(k, 1)", [["ttl"]]),
    "blocking with a timeout, not tested": ("mutex.acquire(timeout=1)\nsave(k, 1)", [[]]),
    "by its name": ("with get_lock(k):\n    save(k, 1)", [["pattern"]]),
    "by its name, not had": ("with try_lock(k) as got:\n    if not got:\n        save(k, 0)\n        return\n    save(k, 1)", [[], ["pattern"]]),
    "advisory, tried": ("if not pg.execute('SELECT pg_try_advisory_xact_lock(%s)', (k,)).fetchone()[0]:\n    save(k, 0)\n    return\nsave(k, 1)", [[], ["advisory"]]),
    "transaction": ("with transaction.atomic():\n    save(k, 1)\nsave(k, 2)", [["atomic"], []]),
    "row lock": ("pg.execute('SELECT n FROM t WHERE id = %s FOR UPDATE', (k,))\nsave(k, 1)\npg.commit()\nsave(k, 2)", [["row"], []]),
    "row lock, rolled back": ("pg.execute('SELECT n FROM t WHERE id = %s FOR UPDATE', (k,))\npg.rollback()\nsave(k, 2)", [[]]),
    "try finally": ("mutex.acquire()\ntry:\n    save(k, 1)\nfinally:\n    mutex.release()\nsave(k, 2)", [["ttl"], []]),
    "in a helper": ("def take():\n    mutex.acquire()\ntake()\nsave(k, 1)", [["ttl"]]),
    "returned from the block": ("def g():\n    with mutex:\n        return load(k)[0]\nsave(k, g())", [[]]),
    "left by break": ("while True:\n    with mutex:\n        break\nsave(k, 1)", [[]]),
    "left by continue": ("for x in k:\n    save(x, 1)\n    with mutex:\n        continue", [[]]),
    "left by an exception": ("try:\n    with mutex:\n        raise Stale\nexcept Stale:\n    save(k, 1)", [[]]),
    "transaction left by return": ("def g():\n    with transaction.atomic():\n        return 1\nsave(k, g())", [[]]),
    "callback": ("with mutex:\n    run(lambda: save(k, 1))", [["ttl"]]),
}


@pytest.mark.parametrize("name", LOCKS)
def test_held_locks(name: str) -> None:
    body, wanted = LOCKS[name]
    assert held("def f(k):\n" + textwrap.indent(body, "    ")) == wanted


def test_context_manager_functions_wrap_the_block() -> None:
    code = """
    @contextmanager
    def guarded(k):
        save(k, 0)
        with mutex:
            yield load(k)[0]
        save(k, 2)
    def f(k):
        with guarded(k) as n:
            save(k, n + 1)
    """
    assert held(code) == [[], ["ttl"], []]
    assert written(code) == ["", ONE_MORE, ""]


def test_context_manager_classes_wrap_the_block() -> None:
    code = """
    class Guard:
        def __enter__(self):
            mutex.acquire()
            return self
        def __exit__(self, *a):
            mutex.release()
    def f(k):
        with Guard():
            save(k, 1)
        save(k, 2)
    """
    assert held(code) == [["ttl"], []]


def test_a_return_from_such_a_block_leaves_it() -> None:
    code = """
    @contextmanager
    def guarded():
        with mutex:
            yield
    class Guard:
        def __enter__(self):
            mutex.acquire()
        def __exit__(self, *a):
            mutex.release()
    def one(k):
        with guarded():
            return load(k)[0]
    def two(k):
        with Guard():
            return load(k)[0]
    def f(k):
        save(k, one(k))
        save(k, two(k))
    """
    assert held(code) == [[], []]
    assert held(code, "read") == [["ttl"], ["ttl"]]


def test_a_handler_outside_a_generator_block_keeps_its_names() -> None:
    code = """
    @contextmanager
    def guarded(k):
        n = 5
        try:
            yield n
        finally:
            n = 6
    def f(k):
        n = load(k)[0]
        try:
            with guarded(1) as m:
                raise Stale
        except Stale:
            save(k, n)
    """
    assert written(code) == [N]


# --- decorators of the project ---------------------------------------------------------------------------------------------------

DECORATORS = """
def again(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        for _ in range(3):
            try:
                return f(*args, **kwargs)
            except Stale:
                continue
        raise Stale
    return inner
def times(n):
    def deco(f):
        def inner(*args, **kwargs):
            while True:
                try:
                    return f(*args, **kwargs)
                except Stale:
                    pass
        return inner
    return deco
def locked(f):
    def inner(*args, **kwargs):
        with mutex:
            return f(*args, **kwargs)
    return inner
def with_session(f):
    def inner(*args, **kwargs):
        with transaction.atomic():
            return f(pg, *args, **kwargs)
    return inner
def plain(f):
    return f
"""


@pytest.mark.parametrize("decorators", ["@again", "@times(3)", "@plain\n@again", "@again\n@functools.lru_cache"])
def test_a_decorator_that_loops_is_a_retry_region(decorators: str) -> None:
    code = DECORATORS + f"{decorators}\ndef f(k, value, version):\n    if compare(k, value, version) == 0:\n        raise Stale\n"
    trace = walked(code)
    (write,) = trace.of("write")
    (loop,) = trace.of("loop")
    assert write.ctx.loops == (loop.n,) and loop.retried == {write.n}
    assert told(write.columns[0][1]) == "=param:value"


def test_a_decorator_without_a_loop_is_none() -> None:
    trace = walked(DECORATORS + "@plain\ndef f(k, value, version):\n    if compare(k, value, version) == 0:\n        raise Stale\n")
    assert trace.of("loop") == []


def test_a_decorator_that_locks() -> None:
    code = DECORATORS + "@locked\ndef f(k):\n    save(k, load(k)[0] + 1)\n"
    assert held(code) == [["ttl"]] and held(code, "read") == [["ttl"]] and written(code) == [ONE_MORE]


def test_decorators_at_a_call() -> None:
    code = DECORATORS + "@locked\ndef g(k, n):\n    save(k, n)\n    return n + 1\ndef f(k):\n    n = g(k, load(k)[0])\n    save(k, n)\n"
    assert held(code) == [["ttl"], []]
    assert written(code) == [N, ONE_MORE]


def test_decorators_of_a_method() -> None:
    code = DECORATORS + "class A:\n    @locked\n    @again\n    def f(self, k, *, n=1):\n        save(k, n)\n"
    assert held(code, name="A.f") == [["ttl"]] and written(code, "A.f") == ["=param:n"]


def test_a_decorator_that_gives_an_argument_of_its_own() -> None:
    code = DECORATORS + "@with_session\ndef f(session, k, n):\n    save(k, n)\n"
    assert held(code) == [["atomic"]] and written(code) == ["=param:n"]


def test_a_decorator_that_never_calls_is_ignored() -> None:
    code = DECORATORS + "def drop(f):\n    def inner(*a):\n        for x in a:\n            known(f)\n    return inner\n@drop\ndef f(k):\n    save(k, load(k)[0])\n"
    assert written(code) == [N]


# --- calls at another time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    "task.delay(k, n + 1)", "task.apply_async((k, n + 1))", "task.apply_async(args=(k,), kwargs={'n': n + 1})", "threading.Thread(target=task, args=(k, n + 1)).start()",
    "transaction.on_commit(lambda: task(k, n + 1))", "background.add_task(task, k, n=n + 1)", "queue.enqueue(task, k, n + 1)", "transaction.on_commit(partial(task, k, n + 1))",
])
def test_deferred_calls_are_without_the_locks_of_the_caller(call: str) -> None:
    code = f"def task(k, n):\n    save(k, n)\ndef f(k, background, queue):\n    with mutex, transaction.atomic():\n        n = load(k)[0]\n        {call}\n"
    assert held(code) == [[]] and written(code) == [ONE_MORE]


def test_what_a_deferred_call_raises_is_not_the_callers() -> None:
    code = "def task(k):\n    raise Stale\ndef f(k):\n    try:\n        task.delay(k)\n    except Stale:\n        save(k, 1)\n    save(k, 2)\n"
    assert len(walked(code).of("write")) == 1 and all(not event.ctx.loops for event in walked(code).events)


# --- callers -----------------------------------------------------------------------------------------------------------------------

BUMP = "def bump(k):\n    n = pg.execute('SELECT n FROM t WHERE id = %s', (k,)).fetchone()[0]\n    pg.execute('UPDATE t SET n = %s WHERE id = %s', (n + 1, k))\n"


def test_no_known_caller() -> None:
    assert found(BUMP) == [("blind-sql-update", "bump")]


def test_all_callers_hold_the_guard() -> None:
    assert found(BUMP + "def a(k):\n    with mutex:\n        bump(k)\ndef b(k):\n    with mutex:\n        bump(k)\n") == [("unfenced-lock", "bump")]


def test_some_callers_hold_the_guard() -> None:
    assert found(BUMP + "def a(k):\n    with mutex:\n        bump(k)\ndef b(k):\n    bump(k)\n") == [("blind-sql-update", "bump"), ("unfenced-lock", "bump")]


def test_a_deferred_call_under_a_lock_holds_none() -> None:
    assert found(BUMP + "def a(k):\n    with mutex:\n        bump.delay(k)\n") == [("blind-sql-update", "bump")]
