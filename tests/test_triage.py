"""triage: atoms, edges, the fixpoint, roots, the bytes scan; with a small vocabulary of its own."""

from __future__ import annotations

from fnmatch import fnmatchcase
from types import SimpleNamespace

import pytest

from noclobber import knowledge, triage
from noclobber.knowledge import tables
from noclobber.resolve import Source, index_module
from noclobber.triage import MODULE, class_scope, has_needle

CALLS = {
    "fetchone": "read",
    "save": "write",
    "put": "write conditional",
    "commit": "write",
    "make": "create write",
    "purge": "delete write",
    "acquire": "lock",
    "release": "unlock",
    "begin": "begin",
    "send_mail": "effect",
    "retry": "replay policy",
    "tool": "tool",
    "set": "write",
    "open": "read",
    "listdir": "read",
}


class Vocabulary:
    call_names = {name: frozenset(kinds.split()) for name, kinds in CALLS.items()}
    pattern_groups = {
        "conflict_exception": ["*Conflict*", "Stale*"],
        "transaction": ["*transaction*"],
        "locking_reader": ["*_for_update"],
        "lock_factory": ["*_mutex"],
        "witness_argument": ["expected_*"],
    }
    subscript = False

    def match(self, group: str, name: str) -> bool:
        return any(fnmatchcase(name, glob) for glob in self.pattern_groups[group])

    def functions(self, dotted: str) -> tuple:
        return ("spec",) if dotted in ("open", "os.listdir") else ()

    def entries(self, kind: str) -> tuple:
        fields = {"subscript": "read/write"} if self.subscript else {}
        fields["conflict_errors"] = ["driver.errors.UniqueViolation"]
        return (SimpleNamespace(fields=fields),) if kind == "store" else ()


VOCABULARY = Vocabulary()


def page(*needs: str) -> SimpleNamespace:
    return SimpleNamespace(slug="page", needs=tuple(frozenset(need.split()) for need in needs))


def run(
    text: str, *needs: str, vocabulary=VOCABULARY, path: str = "shop/views.py", module: str = "shop.views"
) -> triage.Triage:
    source = Source.decode(path, text.encode())
    index, tree = index_module(source, module)
    return triage.roots(source, tree, index, vocabulary, [page(*needs)] if needs else [])


def atoms(statements: str, vocabulary=VOCABULARY) -> str:
    """The atoms of a function with these statements, as sorted words."""
    body = "".join(f"    {line}\n" for line in statements.split("\n"))
    found = run(f"def scope(par, obj):\n{body}", vocabulary=vocabulary).atoms["scope"]
    assert ("change" in found) == ("row-change" in found)
    return " ".join(sorted(found - {"row-change"}))


# --- atoms ---


@pytest.mark.parametrize(
    "statements, kinds",
    [
        ("pass", ""),
        # calls, whatever the receiver
        ("cur.fetchone()", "read"),
        ("a.b[0].save()", "write"),
        ("save()", "write"),
        ("x = y(z=obj.make())", "create write"),
        ("f().purge()", "delete write"),
        ("with par.begin(): pass", "begin"),
        ("l.acquire()\nl.release()", "lock unlock"),
        ("mail.send_mail()", "effect"),
        ("await_ = [r.save() for r in x]", "write"),
        ("lambda: par.save()", "write"),
        ("def inner():\n    par.save()", "write"),
        ("return par.save()", "write"),
        ("assert par.save()", "write"),
        ("x = f'{par.fetchone()}'", "read"),
        ("x = par.save() if obj else None", "write"),
        ("print(par.unknown(1))", ""),
        ("match par.fetchone():\n    case 1: pass", "read"),
        ("del par.fetchone()[0]", "change read"),
        ("global g\ng = par.fetchone()", "read"),
        # handed on, not called
        ("pool.submit(par.save)", "write"),
        ("s = par.save\ns()", "write"),
        ("getattr(par, 'save')()", "write"),
        # builtins only where the vocabulary knows them; methods of what is made here; the standard library
        ("x = set(par)", ""),
        ("open(par)", "read"),
        ("x = {}\nx.set(1)\nx.save()", ""),
        ("x = {}\nx = par\nx.set(1)", "write"),
        ("', '.put(x)", ""),
        ("set = par\nset(1)", "write"),
        ("import os\nos.save()", "write"),
        # changes
        ("obj.n = 1", "change"),
        ("obj.n += 1", "change"),
        ("obj.n: int = 1", "change"),
        ("obj.a.b = 1", "change"),
        ("(obj.n, x) = 1, 2", "change"),
        ("for obj.n in par: pass", "change"),
        ("with par as obj.n: pass", "change"),
        ("setattr(obj, k, 1)", "change"),
        ("object.__setattr__(obj, k, 1)", "change"),
        ("obj['n'] = 1", "change"),
        ("obj['n'] += 1", "change"),
        ("obj.data['n'] = 1", "change"),
        ("del obj['n']", "change"),
        ("del obj.n", "change"),
        *[
            (f"obj.tags.{name}(1)", "change")
            for name in (
                "append",
                "update",
                "insert",
                "add",
                "extend",
                "pop",
                "remove",
                "setdefault",
                "clear",
                "discard",
            )
        ],
        ("tags = obj.tags\ntags.append(1)", "change"),
        ("obj.tags[0].append(1)", "change"),
        ("tags = obj.tags\ntags += [1]", "change"),
        ("x = []\nx.append(1)", ""),
        ("x = {}\nx['a'] = 1\nx.update(b=1)", ""),
        ("x = dict(par)\nx['a'] = 1", ""),
        ("x: list = []\nx.append(1)", ""),
        ("from collections import deque\nx = deque()\nx.append(1)", ""),
        ("from mine import deque\nx = deque()\nx.append(1)", "change"),
        ("x = []\nx = obj.tags\nx.append(1)", "change"),
        ("x = []\nfor x in par: x.append(1)", "change replay"),
        ("x = []\ndef g(x): x.append(1)", "change"),
        ("x = []\nwith par as x: x.append(1)", "change"),
        ("x = None\ntry: pass\nexcept E as x: x.append(1)", "change"),
        ("x = []\nmatch par:\n    case {'a': x}: x.append(1)", "change"),
        ("x = []\nif (x := par): x.append(1)", "change"),
        ("x = []\ndef g():\n    nonlocal x\n    x.append(1)", "change"),
        ("x = None\nimport x\nx.append(1)", "change"),
        ("def g(**kw): kw.pop('a')", ""),
        ("n = 0\nn += 1", ""),
        ("n = obj.n\nn += 1", ""),
        ("x = obj.n", ""),
        ("obj.tags.index(1)", ""),
        # replay
        ("while par: f()", "replay"),
        ("for x in par: f()", "replay"),
        ("while True:\n    if x:\n        f()", "replay"),
        ("while f(): pass", "replay"),
        ("for x in f(): pass", ""),
        ("for x in par: y = x + 1", ""),
        ("for x in par: pass\nelse: f()", ""),
        ("for x in par: pass\nf()", ""),
        ("while par: pass\nf()", ""),
        ("f()\nfor x in par: pass", ""),
        ("scope()", "recursion replay"),
        ("[f(x) for x in par]", ""),
        ("f()\n[f(x) for x in par]", ""),
        ("f()\nimport a\nfrom b import c", ""),
        # SQL
        ("x = 'UPDATE t SET a = 1'", "conditional sql-conditional sql-write write"),
        ("x = 'update t set a = 1'", "conditional sql-conditional sql-write write"),
        ("x = f'DELETE FROM {par}'", "conditional delete sql-conditional write"),
        ("x = 'INSERT INTO t'", "conditional create sql-write write"),
        ("x = f'INSERT INTO t {par} ON CONFLICT'", "conditional create sql-conditional sql-write write"),
        ("x = 'replace into t'", "conditional create sql-write write"),
        ("x = 'MERGE INTO t'", "conditional create sql-conditional sql-write write"),
        ("x = 'SELECT 1'", "read record-read sql-read"),
        ("x = 'SELECT 1 FOR UPDATE'", "lock read record-read sql-read"),
        ("x = 'select 1 for no key update'", "lock read record-read sql-read"),
        ("x = 'BEGIN IMMEDIATE'", "begin"),
        ("x = 'select pg_advisory_xact_lock(1)'", "lock read record-read sql-read"),
        ("x = 'UPD' 'ATE t'", "conditional sql-conditional sql-write write"),
        ("x = 'last_updated, updates, deleted, selection'", ""),
        ("'''UPDATE t'''", ""),
        ("x = par['SELECT']", "read record-read sql-read"),
        ("x = 'If-Match'", "conditional precondition"),
        # regions and names
        ("with par.transaction(): pass", "begin"),
        ("with par.my_transaction: pass", "begin"),
        ("with row_mutex: pass", "lock"),
        ("with row_mutex(): pass", "lock"),
        ("try: f()\nexcept ConflictError: pass", "conflict"),
        ("try: f()\nexcept (A, m.StaleData): pass", "conflict"),
        ("try: f()\nexcept ValueError: pass", ""),
        ("try: f()\nexcept UniqueViolation: pass", "conflict"),
        ("if par == 409: pass", "conflict"),
        ("if par in {412, 500}: pass", "conflict"),
        ("if par == 404: pass", ""),
        ("if par == HTTPStatus.CONFLICT: pass", "conflict"),
        ("if par == status.HTTP_409_CONFLICT: pass", "conflict"),
        ("if par == 'ItemConflictException': pass", "conflict"),
        ("match par:\n    case 409: pass", "conflict"),
        ("par.get_for_update()", "lock read"),
        ("par.unknown(expected_version=par)", "conditional witness"),
        ("par.unknown(expected_version=1)", ""),
        ("par.unknown(**{'expected_version': par})", "conditional witness"),
        # the rest
        ("x = {'type': 'object', 'properties': {}}", "schema"),
        ("x = {'input_schema': par}", "schema"),
        ("x = par['properties']", ""),
        ("par.model_dump()", "dump"),
        ("par.dict()", "dump"),
        ("x = dict(par)", ""),
        ("k = uuid.uuid4()", "makekey"),
        ("k = datetime.now()", "makekey"),
        ("k = time.time()", "makekey"),
        ("x = par['a']", ""),
    ],
)
def test_atoms(statements, kinds):
    assert atoms(statements) == kinds


def test_subscripts_count_where_the_vocabulary_has_such_stores():
    vocabulary = Vocabulary()
    vocabulary.subscript = True
    assert atoms("x = par['a']", vocabulary) == "subscript"
    assert atoms("par['a'] = 1", vocabulary) == "change subscript"
    assert atoms("self.shelf['a']", vocabulary) == "subscript"
    assert atoms("x = par", vocabulary) == ""


def test_async_for_is_replay():
    assert run("async def scope(a):\n    async for x in a: pass\n").atoms["scope"] == {"replay"}


def test_imported_names_count_under_their_own_name():
    got = run(
        "from lib import save as persist, fetchone as one\nimport os, mine\n"
        "def a(): persist()\ndef b(): one(1)\ndef c(): pool.map(persist, x)\n"
        "def d(): os.listdir()\ndef e(): os.save()\ndef f(): mine.save()\n"
        "def g():\n    from lib import put as p\n    p()\n"
    )
    assert {name: " ".join(sorted(kinds)) for name, kinds in got.atoms.items()} == {
        MODULE: "",
        "a": "write",
        "b": "read",
        "c": "write",
        "d": "read",
        "e": "",
        "f": "write",
        "g": "conditional write",
    }


def test_decorators_count_inside_their_function():
    got = run("@retry\ndef a(): pass\n@lib.retry(stop=3)\ndef b(): pass\nclass C:\n    @tool\n    def m(self): pass\n")
    assert (
        got.atoms["a"] == got.atoms["b"] == {"replay", "policy"}
        and got.atoms["C.m"] == {"tool"}
        and got.atoms[MODULE] == set()
    )


def test_defaults_and_annotated_count_annotations_do_not():
    got = run(
        "def a(x=dep.fetchone()): pass\ndef b(x: Annotated[S, Depends(get.fetchone())]): pass\n"
        "def c(x: 'SELECT' = 1) -> 'UPDATE t': pass\n"
    )
    assert [" ".join(got.atoms[name]) for name in "abc"] == ["read", "read", ""]


def test_a_new_record_in_its_constructor_is_no_change():
    got = run(
        "class C:\n    def __init__(self, o):\n        self.x = 1\n    def m(self):\n"
        "        self.x = 1\n    def __post_init__(self):\n        self.x += 1\n"
        "class D:\n    def __init__(self, o):\n        o.x = 1\n"
    )
    assert got.atoms["C.__init__"] == set()
    assert got.atoms["C.m"] == got.atoms["C.__post_init__"] == got.atoms["D.__init__"] == {"change", "row-change"}


@pytest.mark.parametrize(
    "text, changes",
    [
        ("class C:\n    def m(self, o):\n        self.n = 1\n", False),
        ("class C(View):\n    def m(self, o):\n        self.n += 1\n", False),
        ("class C(View):\n    def m(self, o):\n        o.n = 1\n", True),
        ("class C(View):\n    def m(self, o):\n        self.o.n = 1\n", True),
        ("class C(View):\n    def m(self, o):\n        self.o.append(1)\n", True),
        ("class C(View):\n    def m(self, o):\n        setattr(self, o, 1)\n", True),
        ("class C(View):\n    @staticmethod\n    def m(self, o):\n        self.n = 1\n", True),
        ("from django.db.models import Model\nclass C(Model):\n    def m(self, o):\n        self.n = 1\n", True),
        (
            "from django.db.models import Model\nclass C:\n    def m(self, o):\n        self.n = 1\n"
            "class B(C): pass\nclass D(B, Model): pass\n",
            True,
        ),
        ("class C:\n    def m(self, o):\n        self.n = 1\ndef f(row): C.m(row, 1)\n", True),
        ("class C:\n    def m(self, o):\n        self.n = 1\ndef f(row): C(row).other()\n", False),
    ],
)
def test_self_is_a_row_in_models_only(text, changes):
    got = run(text, vocabulary=knowledge.load().vocabulary)
    assert got.atoms["C.m"] >= {"change"} and ("row-change" in got.atoms["C.m"]) == changes


# --- scopes ---


def test_scopes_of_a_module():
    got = run("""\
import x
x.fetchone()
if x:
    def f(): x.save()
    class C(x.make()):
        x.begin()
        for a in b:
            x.acquire()
        def m(self): x.put()
        class D:
            x.send_mail()
""")
    assert {name: " ".join(sorted(kinds)) for name, kinds in got.atoms.items()} == {
        MODULE: "read",
        "f": "write",
        "C.m": "conditional write",
        class_scope("C"): "begin create lock replay write",
        class_scope("C.D"): "effect",
    }


def test_both_definitions_of_a_name_are_scopes():
    got = run(
        "class A:\n    @property\n    def x(self): return c.fetchone()\n    @x.setter\n    def x(self, v): c.save()\n"
    )
    assert got.atoms["A.x"] == {"read"} and got.atoms["A.x@2"] == {"write"}


def test_empty_module():
    got = run("", "read write")
    assert (got.roots, got.lines, got.root_lines, got.kinds) == ((), 0, 0, {MODULE: frozenset()})


# --- edges and kinds ---


def reached(text: str, name: str = "scope") -> str:
    return " ".join(sorted(run(text).kinds[name]))


@pytest.mark.parametrize(
    "body",
    [
        "write_it()",
        "x.write_it()",
        "pool.submit(write_it)",
        "lambda: write_it()",
        "f = write_it",
        "[write_it(x) for x in y]",
        "return write_it",
        "x = {1: write_it}",
        "def inner(): write_it()",
        "with write_it(): pass",
        "with write_it: pass",
        "getattr(x, 'write_it')()",
        "functools.partial(write_it, 1)",
        "x = par or write_it",
    ],
)
def test_calls_and_callbacks_reach_functions(body):
    assert "write" in reached(f"def write_it(): c.save()\ndef scope(par):\n    {body}\n")


def test_what_is_not_named_is_not_reached():
    assert reached("def write_it(): c.save()\ndef scope(par):\n    other()\n") == ""


@pytest.mark.parametrize(
    "body", ["x.meth()", "x.meth", "Cls.meth(x)", "f(x.y.meth)", "x().meth()", "x[0].meth", "super().meth()"]
)
def test_methods_of_unknown_receivers_reach_every_method_of_the_name(body):
    text = (
        "class Cls:\n    def meth(self): c.save()\nclass Other:\n    def meth(self): c.fetchone()\n"
        f"def scope(x):\n    {body}\n"
    )
    assert reached(text) == "read write"


def test_a_decorator_of_the_module_is_reached():
    assert reached("def again(f):\n    while f(): pass\n@again\ndef scope(): pass\n") == "replay"
    assert reached("def again(n):\n    while f(): pass\n@again(3)\ndef scope(): pass\n") == "replay"


def test_context_managers_and_containers_reach_their_methods():
    text = (
        "class Cm:\n    def __enter__(self): c.acquire()\n    def __exit__(self, *a): c.release()\n"
        "class Box:\n    def __getitem__(self, k): c.fetchone()\n"
    )
    assert reached(text + "def scope(x):\n    with x: pass\n") == "lock unlock"
    assert reached(text + "def scope(x):\n    return x[1]\n") == "read"
    assert reached(text + "def scope(x):\n    return x\n") == ""
    assert reached("class It:\n    def __iter__(self): c.fetchone()\ndef scope(x):\n    for y in x: pass\n") == "read"
    assert reached("class Fn:\n    def __call__(self): c.fetchone()\ndef scope(x):\n    x()\n") == "read"


def test_constructors_reach_init_of_the_class_and_its_bases():
    text = (
        "class Base:\n    def __init__(self): c.save()\nclass Mid(Base): pass\nclass Leaf(Mid):\n"
        "    def __post_init__(self): c.fetchone()\n"
    )
    assert reached(text + "def scope(): Leaf()\n") == "read write"
    assert reached(text + "def scope(): m.Mid()\n") == "write"
    assert reached(text + "def scope(): x()\n") == ""


def test_property_reads_reach_the_property():
    assert (
        reached("class A:\n    @property\n    def total(self): return c.fetchone()\ndef scope(a): return a.total + 1\n")
        == "read"
    )


def test_self_means_the_family_of_the_class():
    text = (
        "class A:\n    def go(self): self.step()\n    def step(self): c.fetchone()\nclass B(A):\n"
        "    def step(self): c.save()\n"
        "class Stranger:\n    def step(self): c.send_mail()\n"
    )
    assert reached(text, "A.go") == "read write"
    mixin = (
        "class M:\n    def go(self): self.step()\nclass N:\n    def step(self): c.save()\n"
        "class Both(M, N): pass\nclass S:\n    def step(self): c.send_mail()\n"
    )
    assert reached(mixin, "M.go") == "write"
    unknown = "class M:\n    def go(self): self.step()\nclass S:\n    def step(self): c.send_mail()\n"
    assert reached(unknown, "M.go") == "effect"
    rebound = (
        "class M:\n    def go(self):\n        self = x\n        self.step()\n"
        "    def step(self): c.save()\nclass S:\n    def step(self): c.send_mail()\n"
    )
    assert "effect" in reached(rebound, "M.go")


def test_super_does_not_mean_itself():
    text = "class A:\n    def put_it(self): c.fetchone()\nclass B(A):\n    def put_it(self): super().put_it()\n"
    got = run(text)
    assert got.kinds["B.put_it"] == {"read"} and got.edges["B.put_it"] == ("A.put_it",)


def test_self_values_flow_from_their_writers():
    text = """\
class Base:
    def load(self): self.doc = c.fetchone()
class A(Base):
    def __init__(self, k):
        self.key = k.uuid4()
        for x in k: x.f()
    def push(self): return self.doc
    def send(self): return self.key
    def deep(self): return self.doc.value
class B:
    def push(self): return self.doc
"""
    got = run(text)
    assert got.kinds["A.push"] == got.kinds["A.deep"] == {"read"}
    assert got.kinds["A.send"] == {"makekey"}, "a loop or a change elsewhere is not carried by a value"
    assert got.kinds["B.push"] == set()
    called = run(
        "class A:\n    def __init__(self, c): self.out = c.save\n    def go(self): self.out()\n"
        "    def look(self): self.out.name\n"
    )
    assert called.kinds["A.go"] == {"write"} and called.kinds["A.look"] == set()


def test_constants_count_where_they_are_read():
    text = """\
SQL = "UPDATE t SET a = 1"
LONG = SQL + " WHERE b"
if x:
    TABLE: str = "SELECT 1"
with lib.fetchone() as ROW: pass
HANDLERS = {"a": write_it}
def write_it(): c.send_mail()
class C:
    SQL2 = "DELETE FROM t"
    def m(self): return self.SQL2
def a(): run(SQL)
def b(): run(LONG)
def c_(): run(TABLE)
def d(): run(C.SQL2)
def e(): run(ROW)
def f(): HANDLERS["a"]()
def g(): pass
"""
    got = run(text)
    assert {name: " ".join(sorted(got.atoms[name])) for name in ("a", "b", "c_", "d", "e", "g", "C.m", "f")} == {
        "a": "conditional sql-conditional sql-write write",
        "b": "conditional sql-conditional sql-write write",
        "c_": "read record-read sql-read",
        "d": "conditional delete sql-conditional write",
        "e": "read",
        "g": "",
        "C.m": "conditional delete sql-conditional write",
        "f": "",
    }
    assert got.kinds["f"] == {"effect"}


def test_kinds_go_through_chains_and_cycles():
    text = "def a(): b()\ndef b(): c()\ndef c():\n    a()\n    x.save()\ndef d(): a()\ndef e(): x.fetchone()\n"
    got = run(text)
    assert [" ".join(got.kinds[name]) for name in "abcde"] == ["write", "write", "write", "write", "read"]
    assert got.edges["a"] == ("b",) and got.edges["c"] == ("a",)


# --- roots ---


def test_roots_by_own_atoms():
    got = run("def f(c):\n    c.fetchone()\n    c.save()\ndef g(c):\n    c.save()\n", "read write")
    assert (got.roots, got.lines, got.root_lines) == (("f",), 5, 3)
    assert got.counters == {"scopes": 3, "roots": 1, "edges": 0, "lines": 5, "root_lines": 3}


def test_without_pages_or_needs_nothing_is_a_root():
    assert run("x.fetchone()\nx.save()\n").roots == ()
    assert triage.needs_of([page()]) == []


def test_one_set_of_the_needs_suffices():
    text = "def f(c):\n    c.send_mail()\n"
    assert run(text, "read write", "effect").roots == ("f",)
    assert run(text, "read write", "effect replay").roots == ()


def test_helpers_that_share_the_work_make_their_caller_the_root():
    text = "def rd(c): return c.fetchone()\ndef wr(c): c.save()\ndef f(c):\n    rd(c)\n    wr(c)\n"
    assert run(text, "read write").roots == ("f",)


def test_callers_of_a_complete_callee_are_roots():
    """What a caller hands in may be what tells the callee's calls."""
    text = "def f(c):\n    c.fetchone()\n    c.save()\ndef g(c): f(c)\ndef h(c): g(c)\ndef k(c): c.fetchone()\n"
    assert run(text, "read write").roots == ("f", "g", "h")


def test_constants_are_no_callee():
    assert run("SQL = 'UPDATE t'\ndef f(c): c.run(SQL)\n", "conditional").roots == (MODULE, "f")


def test_roots_come_in_source_order_with_loose_scopes():
    text = "def z(c):\n    c.put()\nclass A:\n    x.put()\n    def m(self): x.put()\nx.put()\n"
    got = run(text, "conditional")
    assert got.roots == (MODULE, "z", class_scope("A"), "A.m") and got.root_lines == 5


def test_unknown_kinds_are_an_error():
    with pytest.raises(ValueError, match="page: needs unknown kind 'reed'"):
        run("x = 1\n", "reed")


TWINS = [
    "def f(c):\n    r = c.fetchone()\n    c.save(r)\n",
    "def rd(c): return c.fetchone()\ndef f(c):\n    r = rd(c)\n    c.save(r)\n",
    "def wr(c, r): c.save(r)\ndef f(c):\n    r = c.fetchone()\n    wr(c, r)\n",
    "def rd(c): return c.fetchone()\ndef wr(c, r): c.save(r)\ndef f(c):\n    r = rd(c)\n    wr(c, r)\n",
    (
        "class S:\n    def rd(self): return c.fetchone()\n    def wr(self, r): c.save(r)\n"
        "def f(s):\n    r = s.rd()\n    s.wr(r)\n"
    ),
    "rd = lambda c: c.fetchone()\ndef wr(c, r): c.save(r)\ndef f(c):\n    r = rd(c)\n    wr(c, r)\n",
    "def rd(c): return c.fetchone()\nalias = rd\ndef f(c):\n    r = alias(c)\n    c.save(r)\n",
    "class P:\n    @property\n    def row(self): return c.fetchone()\ndef f(p):\n    c.save(p.row)\n",
    "READ = 'SELECT 1'\ndef f(c):\n    c.run(READ)\n    c.save()\n",
    "def rd(c): return c.fetchone()\ndef f(c):\n    return update(rd, c.save)\n",
]


@pytest.mark.parametrize("text", TWINS)
def test_twins_have_the_same_root(text):
    assert "f" in run(text, "read write").roots


# --- the bytes scan ---


@pytest.mark.parametrize(
    "data, found",
    [
        (b"", False),
        (b"x = 1\n", False),
        (b"x.unknown()\n", False),
        (b"x.save()\n", True),
        (b"x.saves()\nsave_ = 1\n", False),
        (b"x = 'update t'", True),
        (b"# select\n", True),
        (b"x = 'selection'", False),
        (b"f(expected_v=1)", True),
        (b"uuid4()", True),
        (b"setattr(a, b, c)", True),
        ("x = 'é'".encode(), False),
        ("x.ｓave()".encode(), True),
        (b"\xff.save()", True),
        (b"# coding: utf-7\n+AHMAYQB2AGU-()", True),
        (b"# coding: nonsense\n", True),
        (b"x = '\\x55PDATE'", True),
        (b"x = '\\n'", False),
        (b"# coding: latin-1\nx = 1\n", False),
    ],
)
def test_has_needle(data, found):
    assert has_needle(data, VOCABULARY) is found


def test_has_needle_is_always_true_for_needs_of_statements_alone():
    assert has_needle(b"x = 1\n", VOCABULARY, [page("change replay")])
    assert not has_needle(b"x = 1\n", VOCABULARY, [page("change write")])


@pytest.mark.parametrize("text", [text for text in TWINS])
def test_no_needle_means_no_root(text):
    assert has_needle(text.encode(), VOCABULARY)


# --- hostile input ---


@pytest.mark.parametrize(
    "text",
    [
        "x = " + " and ".join(["a.save()"] * 20000),
        "x = " + " + ".join(["a"] * 800),
        "x = a" + ".save()" * 400,
        "x = " + "(" * 199 + "a.save()" + ")" * 199,
        "x = " + "[" * 190 + "]" * 190,
        "if a:\n p.save()\n" + "elif b:\n p.save()\n" * 1000,
        "x = (" + "'a'\n" * 5000 + ")",
        "\x0cx.save()\n\x0c\n",
        "x.save()\rx.fetchone()\r",
        "".join(f"def f{n}(): f{n + 1}()\n" for n in range(3000)) + "def f3000(): x.save()\n",
        "class A(A): pass\nclass B(C): pass\nclass C(B): pass\n",
        "def f(): pass\n" * 500 + "class K: pass\n" * 500,
        "x = y = x\ny = x\nSQL = SQL + 'UPDATE'\ndef f(): return SQL\n",
        "def f(): f()\n",
        "lambda: (yield)\n",
    ],
)
def test_hostile_modules_pass(text):
    got = run(text, "read write", "write")
    assert set(got.roots) <= set(got.kinds)


def test_a_long_chain_of_calls_settles():
    got = run("".join(f"def f{n}(): f{n + 1}()\n" for n in range(3000)) + "def f3000(): x.save()\n", "write")
    assert got.kinds["f0"] == {"write"} and got.roots[0] == "f0" and got.roots[-1] == "f3000"


def test_the_real_vocabulary():
    vocabulary = knowledge.load().vocabulary
    assert triage.KINDS == tables.TRIAGE_KINDS and triage.FAMILIES == tables.FAMILIES
    assert {kind for kinds in vocabulary.call_names.values() for kind in kinds} <= set(triage.KINDS)
    got = run("def f(pk):\n    row = load_row(pk)\n    save_row(row)\n", "accessor-read accessor-write", vocabulary=vocabulary)
    assert got.roots == ("f",)
