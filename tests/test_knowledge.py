"""knowledge: signatures, tables, lookups, pages, precedence, the compiled form, and every error with file, line and
nearest word."""

from __future__ import annotations

import ast
import marshal
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from noclobber import finding, knowledge
from noclobber.knowledge import NOTHING, KnowledgeError, compiled, describe, pages, signatures, tables
from noclobber.knowledge.build import Layer

RULES = Path(__file__).parent.parent / "rules"
ROLES = frozenset(tables.ROLES)

REDIS = """\
[[store]]
id       = "redis"
types    = ["redis.Redis", "redis.client.Pipeline"]
made_by  = ["redis.from_url(_)", "_.master_for(_)"]
names    = ["redis", "*redis*", "db.*"]
family   = "key"
witness  = ["."]
conflict = "returns None"
result   = ["pipeline() -> redis.client.Pipeline"]
read = [
  "get(name: key)",
  {call = "digest(name: key)", witness = ["."], value = ""},
]
write = ["set(name: key, value: payload, ex: ttl = None, nx: create_only = False, ifeq: precondition = None)"]
atomic = ["incr(name: key)"]
delete = ["delete(*names: key)"]
begin  = [{call = "watch(*names: key)", on = "redis.client.Pipeline", guard = true}]
commit = [
  {call = "execute()", on = ["redis.client.Pipeline"], needs = "multi()", conflict = ["raises redis.WatchError"]},
]
replay = ["transaction(func: func, *watches: key)"]
"""

PAGE = """\
+++
code = "RMW105"
slug = "blind-key-set"
summary = "A key is set from a value read before."
family = "Blind write"
group = "write"
level = "recommended"
severity = "error"
scope = "function"
trust = {right = 3, wrong = 1}
since = "0.1"
status = "preview"
needs = [["read", "write"]]
fix = "unsafe"
references = ["https://redis.io/docs/latest/develop/interact/transactions/"]

[[variant]]
name = "cache"
severity = "warning"

[[timeline]]
worker = "A"
role = "read"
text = "reads {value}"
state = "{record}: 100"

[[timeline]]
worker = "B"
text = "sets 90"
+++

# blind-key-set

## What it does
Finds it.

## How the update is lost
Two workers.

## Example
```python
## not a heading
x = 1
```

## Use instead
More.

## When it stays silent
More.

## Known problems
More.

## How to test it
More.

## Fix safety
More.

## References
More.
"""

NAMES = '[patterns]\nlocking_reader = ["*for_update*", "lock_*"]\nconflict_exception = ["Stale*", "*Conflict*"]\n'


def rules(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in {"vocabulary/_names.toml": NAMES, **files}.items():
        path = tmp_path / "rules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "rules"


def made(tmp_path: Path, text: str = REDIS) -> knowledge.Vocabulary:
    return knowledge.from_folder(rules(tmp_path, {"vocabulary/redis.toml": text})).vocabulary


def signature(text: str, *, literals: bool = False) -> knowledge.Signature:
    return signatures.from_data(signatures.parse(text, ROLES, literals=literals))


def failure(tmp_path: Path, files: dict[str, str]) -> str:
    with pytest.raises(KnowledgeError) as caught:
        knowledge.from_folder(rules(tmp_path, files))
    return str(caught.value)


# --- signatures --------------------------------------------------------------------------------------------------
def test_a_signature_is_read_as_python_writes_it() -> None:
    parsed = signature(
        "set(name: key, payload, /, x: _ = (), *names: key, ifeq: precondition = None, **fields) -> redis.Redis"
    )
    assert parsed.name == "set"
    assert parsed.returns == "redis.Redis"
    assert [(p.name, p.role, p.kind, p.default, p.literal) for p in parsed.params] == [
        ("name", "key", "posonly", NOTHING, NOTHING),
        ("payload", "payload", "posonly", NOTHING, NOTHING),
        ("x", None, "pos", (), NOTHING),
        ("names", "key", "var", NOTHING, NOTHING),
        ("ifeq", "precondition", "kw", None, NOTHING),
        ("fields", "fields", "varkw", NOTHING, NOTHING),
    ]
    assert parsed.roles() == {"key", "payload", "precondition", "fields"}
    assert parsed.param("key").name == "name"
    assert parsed.param("func") is None


@pytest.mark.parametrize(
    "text, name, last",
    [
        ("requests.get(url: key)", "requests.get", "get"),
        ("_.client('s3')", "_.client", "client"),
        (".messages.create(to: key)", ".messages.create", "create"),
        ("__getitem__(name: key)", "__getitem__", "__getitem__"),
        ("tenacity.retry", "tenacity.retry", "retry"),
        ("*", "*", "*"),
        ("with", "with", "with"),
        ("f()", "f", "f"),
        ("f(a,)", "f", "f"),
    ],
)
def test_names_of_signatures(text: str, name: str, last: str) -> None:
    assert (signature(text).name, signature(text).last) == (name, last)


def test_literals_require_a_value() -> None:
    params = signature("f('s3', -1, mode: 'w', cas=True, dsn=None, kind: 'r' = 'r', q: key = 2)", literals=True).params
    assert [(p.name, p.role, p.default, p.literal) for p in params] == [
        ("", None, NOTHING, "s3"),
        ("", None, NOTHING, -1),
        ("mode", None, NOTHING, "w"),
        ("cas", None, NOTHING, True),
        ("dsn", None, None, NOTHING),
        ("kind", None, "r", "r"),
        ("q", "key", 2, NOTHING),
    ]
    # outside make and made_by an unannotated default is a default
    assert [(p.default, p.literal) for p in signature("f('s3', cas=True)").params] == [(NOTHING, "s3"), (True, NOTHING)]


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "set(name: key, value: paylod)",
            'unknown role "paylod" in "set(name: key, value: paylod)"; did you mean "payload"?',
        ),
        ("set(name: Key)", 'unknown role "Key" in "set(name: Key)"; did you mean "key"?'),
        ("set(name: zzzzzz)", 'unknown role "zzzzzz" in "set(name: zzzzzz)"'),
        ("set(name: a.b)", 'bad signature "set(name: a.b)": the annotation of "name" is no role name'),
        ("set(a, a)", 'bad signature "set(a, a)": two parameters "a"'),
        ("set(name", 'bad signature "set(name": "(" is never closed'),
        ("set)", 'bad signature "set)": ")" without "("'),
        ("set(a,, b)", 'bad signature "set(a,, b)": two commas in a row'),
        ("set(a = x)", 'bad signature "set(a = x)": the default of "a" is no literal'),
        ("set(a) ->", 'bad signature "set(a) ->": nothing after "->"'),
        ("set(a) b", 'bad signature "set(a) b": "b" after the closing parenthesis'),
        ("a-b(c)", 'bad signature "a-b(c)": "a-b" is no name'),
        ("", 'bad signature "": "" is no name'),
        ("a.(b)", 'bad signature "a.(b)": "a." is no name'),
        (
            "_.resource('s3').Object(name: key)",
            "bad signature \"_.resource('s3').Object(name: key)\": one call only; give the step in between an entry "
            "of its own "
            "(`make = [\"_.resource('s3') -> store:ID\"]`, and the next step in the entry ID)",
        ),
        ("f(" + "a" * 5000 + ")", "signature longer than 4000 characters"),
    ],
)
def test_bad_signatures(text: str, message: str) -> None:
    with pytest.raises(signatures.SignatureProblem) as caught:
        signatures.parse(text, ROLES)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "f(*a, *b)",
        "f(a=1, b)",
        "f(a b)",
        "f(a\0)",
        "f('x)",
        "f(lambda: 1)",
        "f(**a, b)",
        "f(a: )",
        "f(a): pass\ndef g(",
        "(",
        ")",
        "->",
        "-> x",
        "f(" + "(" * 3000,
        "f(a = " + "-" * 3000 + "1)",
        "f(a = ...)",
        "f(\ud800)",
        "é.ü(ß: key, 1)",
        "f(a:key=[{}])",
        "f(,)",
        "f(*)",
        "f(/)",
        "f(a](b)",
    ],
)
def test_odd_text_is_a_problem_or_a_signature_never_a_crash(text: str) -> None:
    try:
        marshal.dumps(signatures.parse(text, ROLES), 4)
    except signatures.SignatureProblem:
        pass


def test_bind_by_position_and_keyword() -> None:
    parsed = signature("set(name: key, value: payload, ex: ttl = None, *, ifeq: precondition = None)")
    bound = parsed.bind(["k", "v"], [("ifeq", "old")])
    assert bound.by_role == {"key": [("name", "k")], "payload": [("value", "v")], "precondition": [("ifeq", "old")]}
    assert bound.by_name == {"name": "k", "value": "v", "ifeq": "old"}
    assert bound.extra == []
    assert bound.first("payload") == "v"
    assert bound.first("ttl") is None
    assert parsed.bind([], [("value", "v"), ("name", "k")]).by_role == {
        "key": [("name", "k")],
        "payload": [("value", "v")],
    }


def test_bind_keeps_what_the_signature_does_not_mention() -> None:
    bound = signature("get(key: key)").bind(["k", "more"], [("timeout", 1)])
    assert bound.by_role == {"key": [("key", "k")]}
    assert bound.extra == [(None, "more"), ("timeout", 1)]


def test_bind_of_stars() -> None:
    bound = signature("f(*names: key, **fields: fields)").bind(["a", "b"], [("x", 1), ("y", 2)])
    assert bound.by_role == {"key": [("names", "a"), ("names", "b")], "fields": [("x", 1), ("y", 2)]}
    assert signature("f(defaults: payload = None, **filter)").bind([], [("id", 1), ("defaults", 2)]).by_role == {
        "payload": [("defaults", 2)],
        "filter": [("id", 1)],
    }
    assert signature("f(*_, **_)").bind([1], [("a", 2)]).by_role == {}


def test_bind_composite_keys_may_leave_parts_out() -> None:
    parsed = signature("hset(name: key, key: key, value: payload, mapping: payload = None)")
    assert parsed.bind(["h"], [("mapping", "m")]).by_role == {"key": [("name", "h")], "payload": [("mapping", "m")]}


@pytest.mark.parametrize(
    "text, args, keywords, opens, fits",
    [
        ("get(key)", [], [], {}, False),  # queue.get()
        ("get(key)", [], [], {"open_star": True}, True),
        ("get(key)", [], [], {"open_kwargs": True}, True),
        ("get(key)", [], [("timeout", 1)], {}, True),
        ("get(key = None)", [], [], {}, True),
        ("get(x: _)", [], [], {}, True),
        ("get(*, key)", [], [], {}, True),
        ("get(a: _, b: key, /)", ["1"], [], {}, False),
        ("get(a: _, b: key, /)", ["1"], [], {"open_star": True}, True),
        ("get(a: _, b: key, /)", ["1"], [("b", 2)], {}, False),
        ("client('s3')", ["s3"], [], {}, True),
        ("client('s3')", ["sqs"], [], {}, False),
        ("client('s3')", [], [("service_name", "s3")], {}, True),
        ("client('s3')", [], [("region", "eu")], {}, False),
        ("client('s3')", [], [], {}, False),
        ("client('s3')", [object()], [], {}, False),
        ("client(service_name='s3')", [], [("service_name", "s3")], {}, True),
        ("client(service_name='s3')", ["s3"], [], {}, True),
        ("client(service_name='s3')", [], [("other", "s3")], {}, False),
        ("client(cas=True)", [], [("cas", True)], {}, True),
        ("client(cas=True)", [], [("cas", 1)], {}, False),
        ("client(cas=True)", [], [], {}, False),
        ("create('sqlite://')", ["sqlite:///x.db"], [], {}, True),
        ("create('sqlite://')", ["postgresql://h/d"], [], {}, False),
        ("create('postgresql*')", ["postgresql+psycopg://h/d"], [], {}, True),
        ("open(file: key, mode: 'r*' = 'r')", ["p"], [], {}, True),
        ("open(file: key, mode: 'r*' = 'r')", ["p", "rb"], [], {}, True),
        ("open(file: key, mode: 'r*' = 'r')", ["p", "w"], [], {}, False),
    ],
)
def test_what_refuses_a_call(text: str, args: list, keywords: list, opens: dict, fits: bool) -> None:
    assert (signature(text, literals=True).bind(args, keywords, **opens) is not None) is fits


def test_bind_reads_literals_of_nodes_and_of_the_callers_own_values() -> None:
    parsed = signature("client('s3')")
    assert parsed.bind([ast.Constant("s3")]) is not None
    assert parsed.bind([ast.Name("s3")]) is None
    assert parsed.bind([("value", "s3")], literal=lambda value: value[1]) is not None


# --- lookups -----------------------------------------------------------------------------------------------------
def ops(specs: tuple[knowledge.Spec, ...]) -> list[tuple[str, str]]:
    return [(spec.op, spec.signature.name) for spec in specs]


def test_methods_of_types_and_of_made_by_receivers(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    assert ops(vocabulary.methods("redis.Redis", "get")) == [("read", "get")]
    assert ops(vocabulary.methods("store:redis", "set")) == [("write", "set")]
    assert vocabulary.methods("redis.Redis", "nothing") == ()
    assert vocabulary.methods("other.Redis", "get") == ()
    assert vocabulary.methods("redis.Redis", "get")[0] is vocabulary.methods("store:redis", "get")[0]


def test_made_by_is_a_make_that_returns_the_entry(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    (spec,) = vocabulary.functions("redis.from_url")
    assert (spec.op, spec.signature.returns) == ("make", "store:redis")
    assert ops(vocabulary.methods("_", "master_for")) == [("make", "_.master_for")]
    assert vocabulary.methods("_", "get") == ()


def test_on_restricts_a_call_to_a_type(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    assert ops(vocabulary.methods("redis.client.Pipeline", "watch")) == [("begin", "watch")]
    assert vocabulary.methods("redis.Redis", "watch") == ()
    assert vocabulary.methods("store:redis", "watch") == ()


def test_on_alone_makes_a_type_known_for_that_call_only(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path, REDIS.replace('types    = ["redis.Redis", "redis.client.Pipeline"]', 'types    = ["redis.Redis"]')
    )
    assert ops(vocabulary.methods("redis.client.Pipeline", "execute")) == [("commit", "execute")]
    assert vocabulary.methods("redis.client.Pipeline", "get") == ()
    assert vocabulary.known_type("redis.client.Pipeline")


def test_settings_come_from_the_call_then_from_the_entry(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    (digest,) = vocabulary.methods("redis.Redis", "digest")
    (commit,) = vocabulary.methods("redis.client.Pipeline", "execute")
    assert digest.get("value") == ""
    assert digest.get("conflict") == ["returns None"]  # one string is a list of one
    assert commit.get("conflict") == ["raises redis.WatchError"]
    assert commit.get("needs") == ["multi()"]
    assert commit.get("ttl") is None and commit.get("ttl", "none") == "none"
    assert digest.entry.origin == ("rules/vocabulary/redis.toml", 1)
    assert (digest.entry.kind, digest.entry.id, digest.entry.user, digest.entry.type) == (
        "store",
        "redis",
        False,
        "store:redis",
    )
    assert ops(digest.entry.ops("read")) == [("read", "get"), ("read", "digest")]


@pytest.mark.parametrize(
    "receiver, found",
    [
        ("redis", True),
        ("self.redis", True),
        ("self._redis", True),
        ("my_redis_client", True),
        ("db.users", True),
        ("rds", False),
        ("self.db", False),
        ("", False),
    ],
)
def test_by_name(tmp_path: Path, receiver: str, found: bool) -> None:
    assert ops(made(tmp_path).by_name(receiver, "get")) == ([("read", "get")] if found else [])


def test_by_name_leaves_out_calls_of_another_type(tmp_path: Path) -> None:
    assert made(tmp_path).by_name("redis", "watch") == ()


def test_type_globs_fit_any_module_or_none(tmp_path: Path) -> None:
    vocabulary = made(tmp_path, '[[store]]\ntypes = ["*.OrderRepo", "acme.repos.*"]\nread = ["get(key)"]\n')
    for type_ in ("shop.OrderRepo", "a.b.OrderRepo", "OrderRepo", "acme.repos.X"):
        assert ops(vocabulary.methods(type_, "get")) == [("read", "get")], type_
        assert vocabulary.known_type(type_)
    assert not vocabulary.known_type("shop.BigOrderRepo")
    assert [entry.id for entry in vocabulary.entries_of_type("shop.OrderRepo")] == ["OrderRepo"]


def test_functions_of_modules(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        (
            '[[store]]\nid = "bank"\nfunctions = ["bank.accounts", "*.ledger"]\n'
            'read = ["get_balance(key)", "other.module.peek(key)"]\n'
            'write = ["set_balance(key, payload)"]\n'
        ),
    )
    assert ops(vocabulary.functions("bank.accounts.get_balance")) == [("read", "get_balance")]
    assert ops(vocabulary.functions("acme.ledger.set_balance")) == [("write", "set_balance")]
    assert ops(vocabulary.functions("other.module.peek")) == [("read", "other.module.peek")]
    assert vocabulary.functions("bank.accounts.peek") == ()
    assert vocabulary.functions("get_balance") == ()


def test_star_stands_for_every_unknown_method(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        (
            '[[orm]]\nid = "django"\nunit_of_work = false\ntypes = ["q.QuerySet"]\nbase = ["m.Model"]\n'
            'load = ["get(**filter)"]\nchain = ["order_by", "*"]\n'
        ),
    )
    assert ops(vocabulary.methods("q.QuerySet", "get")) == [("load", "get")]
    assert ops(vocabulary.methods("q.QuerySet", "order_by")) == [("chain", "order_by")]
    assert ops(vocabulary.methods("q.QuerySet", "whatever")) == [("chain", "*")]
    assert ops(vocabulary.methods("m.Model", "get")) == [("load", "get")]
    assert "*" not in vocabulary.call_names


def test_paths_from_the_receiver(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path, '[[effect]]\ntypes = ["twilio.rest.Client"]\nkind = "sms"\ncall = [".messages.create(to: key)"]\n'
    )
    assert ops(vocabulary.methods("twilio.rest.Client", "messages.create")) == [("call", ".messages.create")]
    assert vocabulary.call_names["create"] == {"effect"}


def test_several_tables_share_a_type_and_versions_are_both_tried(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        (
            '[[store]]\nid = "a"\ntypes = ["r.S"]\nuntil = "5"\nread = ["get(url: key)"]\n[[store]]\nid = "b"\n'
            'types = ["r.S"]\nsince = "6"\nread = ["get(*, url: key)"]\n'
            '[[effect]]\nid = "a"\ntypes = ["r.S"]\ncall = ["post(url: key)"]\n'
        ),
    )
    assert [spec.entry.id for spec in vocabulary.methods("r.S", "get")] == ["a", "b"]
    assert [spec.entry.kind for spec in vocabulary.methods("r.S", "post")] == ["effect"]
    assert vocabulary.entry("effect", "a").kind == "effect"
    assert vocabulary.entry("effect", "b") is None
    assert [entry.id for entry in vocabulary.entries("store")] == ["a", "b"]


def test_listed_fields(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        (
            '[[orm]]\nid = "django"\nunit_of_work = false\nbase = ["m.Model"]\n'
            'atomic_values = ["django.db.models.F", "django.db.models.functions.*"]\nload = ["get()"]\n'
        ),
    )
    assert [entry.id for entry in vocabulary.listed("atomic_values", "django.db.models.functions.Now")] == ["django"]
    assert vocabulary.listed("atomic_values", "django.db.models.Q") == ()
    assert vocabulary.listed("unit_of_work", "x") == ()


def test_name_patterns(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    assert vocabulary.match("locking_reader", "repo.get_for_update")
    assert vocabulary.match("locking_reader", "lock_row")
    assert not vocabulary.match("locking_reader", "unlock_row")
    assert vocabulary.match("conflict_exception", "sqlalchemy.orm.exc.StaleDataError")
    assert not vocabulary.match("conflict_exception", "stale")  # case counts
    with pytest.raises(KnowledgeError) as caught:
        vocabulary.match("locking_readers", "x")
    assert (
        str(caught.value) == 'rules/vocabulary/_names.toml: no group "locking_readers"; did you mean "locking_reader"?'
    )


@pytest.mark.parametrize(
    "pattern, yes, no",
    [
        ("etag", ["etag"], ["etags", "e"]),
        ("rev_*", ["rev_", "rev_a"], ["rev", "xrev_a"]),
        ("*_rev", ["a_rev"], ["rev", "a_revs"]),
        ("*ver*", ["ver", "version", "over"], ["VER"]),
        ("If*Match", ["IfMatch", "IfNoneMatch"], ["IfMatchX", "if_Match"]),
        ("a?c", ["abc"], ["ac"]),
        ("*", ["", "x"], []),
    ],
)
def test_globs(pattern: str, yes: list[str], no: list[str]) -> None:
    globs = knowledge.vocabulary.Globs([pattern])
    assert [globs.match(name) for name in yes + no] == [True] * len(yes) + [False] * len(no)


# --- kinds for triage --------------------------------------------------------------------------------------------
def test_kinds_of_a_store(tmp_path: Path) -> None:
    names = made(tmp_path).call_names
    assert {name: sorted(kinds) for name, kinds in names.items()} == {
        "get": ["key-read", "read", "record-read"],
        "digest": ["key-read", "read", "record-read"],
        "set": ["conditional", "create", "key-write", "lock", "precondition", "write"],
        "incr": ["write"],
        "delete": ["delete", "write"],
        "watch": ["begin"],
        "execute": ["conditional", "orm-flush", "precondition", "write"],
        "transaction": ["policy", "replay"],
        "pipeline": [],
        "from_url": [],
        "master_for": [],
    }
    assert names.get("nothing") is None
    assert "pipeline" in names and len(names) == 11


@pytest.mark.parametrize(
    "table, line, kinds",
    [
        ("store", 'run = ["f(sql: sql)"]', "conditional read sql-run write"),
        ("store", 'fetch = ["f()"]', "read"),
        ("store", 'read = ["f(key)"]', "key-read read record-read"),
        ("store", 'family = "http"\nread = ["f(key)"]', "http-read read record-read"),
        ("store", 'family = "sql"\nread = ["f(key)"]', "read record-read sql-read sql-run"),
        ("store", 'read = ["f(key, l: lock = None)"]', "key-read lock read record-read"),
        ("store", 'write = ["f(key, payload)"]', "key-write write"),
        ("store", 'family = "object"\nwrite = ["f(key, payload)"]', "object-write write"),
        ("store", 'family = "sql"\nwrite = ["f(key, payload)"]', "sql-run sql-write write"),
        ("store", 'write = ["f(filter, payload)"]', "conditional key-write precondition write"),
        ("store", 'write = ["f(key, payload, v: precondition)"]', "conditional key-write precondition write"),
        (
            "store",
            'write = [{call = "f(key, payload)", always_conditional = true}]',
            "conditional key-write precondition write",
        ),
        ("store", 'write = ["f(key, payload, headers)"]', "key-write write"),
        (
            "store",
            'precondition_headers = ["If-Match"]\nwrite = ["f(key, payload, headers)"]',
            "key-write write",
        ),
        ("store", 'write = [{call = "f(key, payload)", kinds = ["read", "write"]}]', "read write"),
        ("store", 'write = ["f(method, key, payload)"]', "create delete effect key-read key-write read record-read write"),
        (
            "store",
            'method_roles = {GET = "read", PUT = "write"}\nwrite = ["f(method, key, payload)"]',
            "key-read key-write read record-read write",
        ),
        ("store", 'create = ["f(key, payload)"]', "create write"),
        (
            "store",
            'create = [{call = "f(key, payload)", conflict = "returns False"}]',
            "conditional create precondition write",
        ),
        ("store", 'append = ["f(key)"]', "write"),
        ("store", 'lock = ["f(key)"]', "lock"),
        ("store", 'unlock = ["f()"]', "unlock"),
        ("store", 'commit = ["f()"]', "orm-flush write"),
        ("store", 'rollback = ["f()"]', ""),
        ("store", 'check = ["f()"]', ""),
        ("orm", 'persist = ["f()"]', "orm-persist write"),
        ("orm", 'set_write = ["f(**fields)"]', "conditional orm-update write"),
        ("orm", 'upsert = ["f()"]', "create write"),
        ("orm", 'add = ["f(entity)"]', "create write"),
        ("orm", 'remove = ["f()"]', "delete write"),
        ("orm", 'many = ["f()"]', "read"),
        ("orm", 'load = ["f(e: table, ident)"]', "orm-read orm-session-read read record-read"),
        ("orm", 'result = ["f(*e: table) -> select"]', "orm-read orm-session-read record-read"),
        ("orm", 'result = ["f() -> a.B"]', ""),
        (
            "orm",
            'run = ["f(statement)"]',
            "conditional orm-session-read read sql-run write",
        ),
        ("orm", 'begin = ["f()"]', "begin orm-flush"),
        ("orm", 'check_exists = ["f()"]', "read"),
        ("orm", 'scalar = ["f()"]', "read"),
        ("orm", 'reload = ["f()"]', "orm-read read record-read"),
        ("orm", 'flush = ["f()"]', "orm-flush write"),
        ("orm", 'merge = ["f(entity)"]', "write"),
        ("orm", 'transaction = ["x.f"]', "begin orm-flush"),
        ("orm", 'after_commit = ["x.f(func)"]', ""),
        ("orm", 'filter = ["f(**filter)"]', ""),
        ("orm", 'chain = ["f"]', ""),
        ("orm", 'mutation = ["x.f(entity)"]', "change row-change"),
        ("builder", 'start = ["x.f(table) -> select"]', "orm-read read record-read sql-read"),
        ("builder", 'start = ["x.f(table) -> update"]', "conditional sql-built sql-write write"),
        ("builder", 'start = ["x.f(table) -> delete"]', "conditional delete sql-built write"),
        ("builder", 'start = ["x.f(table) -> insert"]', "create write"),
        ("builder", 'start = ["x.f(sql) -> text"]', "conditional read write"),
        ("builder", 'lock = ["f()"]', "lock"),
        ("builder", 'upsert = ["f(set_: fields)"]', "conditional create write"),
        ("effect", 'call = ["f()"]', "effect"),
        ("retry", 'decorator = ["x.f"]', "policy replay"),
        ("retry", 'policy = ["x.f"]', "policy replay"),
        ("lock", 'enter = ["f()"]', "lock"),
        ("lock", 'make = ["x.f(key) -> a.B"]', "lock"),
        ("tool", 'decorator = ["x.f"]', "tool"),
        ("tool", 'schema = ["x.f"]', "schema tool"),
        ("transaction", 'enter = ["x.f"]', "begin"),
    ],
)
def test_kinds_of_every_list(tmp_path: Path, table: str, line: str, kinds: str) -> None:
    extra = "unit_of_work = true\n" if table == "orm" else ""
    vocabulary = made(tmp_path, f'[[{table}]]\nid = "x"\ntypes = ["a.B"]\n{extra}{line}\n')
    assert " ".join(sorted(vocabulary.call_names["f"])) == kinds


def test_every_op_has_kinds_that_triage_knows() -> None:
    from noclobber.knowledge.index import kinds_of

    for kind, table in tables.TABLES.items():
        for op in table.ops:
            for role in ROLES:
                entry = {"kind": kind, "fields": {}}
                assert kinds_of(entry, (op, ("f", (("p", role, "pos", ..., ...),), "", "f"), {})) <= set(
                    tables.TRIAGE_KINDS
                )


# --- load errors -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "old, new, line, message",
    [
        (
            "value: payload",
            "value: paylod",
            14,
            'unknown role "paylod" in "set(name: key, value: paylod, ex: ttl = None, nx: create_only = False, ifeq: '
            'precondition = None)"; did you mean "payload"?',
        ),
        (
            "name: key, value: payload",
            "name: key",
            14,
            'the write "set(name: key, ex: ttl = None, nx: create_only = False, ifeq: precondition = None)" does '
            "not say what is written: annotate a "
            "parameter as payload, entity, fields, operators, sql, statement or instance",
        ),
        ("[[store]]", "[[stores]]", 1, 'unknown table "stores"; did you mean "store"?'),
        ("family  ", "famly  ", 6, 'unknown field "famly" in [[store]]; did you mean "family"?'),
        ('"key"\nwitness', '"keys"\nwitness', 6, '"keys" is no value of "family"; did you mean "key"?'),
        ('witness  = ["."]', "witness  = 3", 7, '"witness" must be a string or a list of strings'),
        ('witness  = ["."]', "witness  = [1]", 7, '"witness" must be a string or a list of strings'),
        ('family   = "key"', "family   = true", 6, '"family" must be a string'),
        ("guard = true", 'guard = "yes"', 17, '"guard" must be true or false'),
        ("guard = true", "gaurd = true", 17, 'unknown setting "gaurd" of "watch(*names: key)"; did you mean "guard"?'),
        ("guard = true", 'id = "x"', 17, 'unknown setting "id" of "watch(*names: key)"'),
        (
            '{call = "digest(name: key)", witness',
            '{cal = "digest(name: key)", witness',
            10,
            'an inline table of "read" needs call = "signature"',
        ),
        ('"get(name: key)"', "7", 10, '"read" must hold signatures: strings or inline tables with call = "…"'),
        ('atomic = ["incr(name: key)"]', "atomic = 7", 15, '"atomic" must be a list of signatures'),
        (
            'atomic = ["incr(name: key)"]',
            'on = "x"',
            15,
            '"on" stands in the inline table of one call: {call = "…", on = …}',
        ),
        (
            '"pipeline() -> redis.client.Pipeline"',
            '"pipeline() -> store:redsi"',
            9,
            '"pipeline() -> store:redsi" returns an unknown "store:redsi"; did you mean "store:redis"?',
        ),
        (
            'id       = "redis"',
            'id       = "redis"\nextends = "rediss"',
            3,
            'extends: no [[store]] has the id "rediss"',
        ),
        ('id       = "redis"', 'id       = "redis"\nextends = "redis"', 3, '"redis" extends itself'),
        ('id       = "redis"', "id       = ", 2, "not valid TOML: Invalid value"),
    ],
)
def test_vocabulary_errors(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert REDIS.count(old) >= 1
    text = failure(tmp_path, {"vocabulary/redis.toml": REDIS.replace(old, new, 1)})
    head = f"rules/vocabulary/redis.toml:{line}: {message}"
    assert text.startswith(head)
    assert text == head or text[len(head) :].startswith("; one of: ")


def test_more_vocabulary_errors(tmp_path: Path) -> None:
    def error(text: str) -> str:
        return failure(tmp_path, {"vocabulary/x.toml": text}).removeprefix("rules/vocabulary/x.toml")

    assert error('[store]\nid = "x"\n') == ':1: "store" is an array of tables: write [[store]]'
    assert error("store = [1]\n") == ':1: "store" is an array of tables: write [[store]]'
    assert error('[[store]]\nread = ["get(key)"]\n') == ":1: [[store]] needs an id, types, functions or names"
    assert (
        error('[[store]]\nid = "x"\nread = ["get(key)"]\n')
        == ':1: nothing leads to [[store]] "x": give it types, functions, names or made_by'
    )
    assert error('[[store]]\nid = "x"\ntypes = ["a.B"]\n\n[[store]]\ntypes = ["b.B"]\nid = "x"\n') == (
        ':7: a second [[store]] with the id "x" (the first: rules/vocabulary/x.toml:1)'
    )
    assert error('[[orm]]\nid = "x"\nbase = ["a.B"]\n') == ':1: [[orm]] "x" needs unit_of_work = true or false'
    assert error('disable = ["x"]\n') == ':1: disable: no entry has the id "x"'
    assert error("disable = 3\n") == ':1: "disable" must be a string or a list of strings'
    assert error("patterns = 3\n") == ':1: "patterns" is a table: write [patterns]'
    assert error('[patterns]\nlocking_reader = ["x"]\n') == ':1: a second group of patterns "locking_reader"'
    assert error("[patterns]\nnew = 3\n") == ':2: "new" must be a string or a list of strings'
    assert error('[[store]]\nid = "a"\nextends = "b"\n[[store]]\nid = "b"\nextends = "a"\n') == ':6: "a" extends itself'
    assert error('[[store]]\ntypes = ["a.B"]\nmethod_roles = {GET = "raed"}\n') == (
        ':3: "raed" is no value of "method_roles"; did you mean "read"?'
    )
    assert (
        error('[[store]]\ntypes = ["a.B"]\nmethod_roles = {GET = 1}\n')
        == ':3: "method_roles" must be a table of strings'
    )
    assert error('[[store]]\ntypes = ["a.B"]\nttl = 3\n') == ':3: "ttl" must be a string, true or false'


def test_two_files_cannot_share_an_id(tmp_path: Path) -> None:
    assert failure(tmp_path, {"vocabulary/a.toml": REDIS, "vocabulary/b.toml": REDIS}) == (
        'rules/vocabulary/b.toml:2: a second [[store]] with the id "redis" (the first: rules/vocabulary/a.toml:1)'
    )


def test_undecodable_and_deep_files(tmp_path: Path) -> None:
    folder = rules(tmp_path, {})
    (folder / "vocabulary" / "x.toml").write_bytes(b'[[store]]\nid = "\xff"\n')
    with pytest.raises(KnowledgeError, match=r"^rules/vocabulary/x.toml:2: not valid UTF-8$"):
        knowledge.from_folder(folder)
    (folder / "vocabulary" / "x.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(KnowledgeError, match=r"^rules/vocabulary/x.toml"):
        knowledge.from_folder(folder)


# --- extends, disable, users' tables -----------------------------------------------------------------------------
def test_extends_copies_all_but_the_receivers(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        REDIS + '\n[[store]]\nid = "typed"\nextends = "redis"\ntypes = ["acme.TypedRedis"]\nread = ["load(key)"]\n'
        'role = "cache"\n',
    )
    entry = vocabulary.entry("store", "typed")
    assert entry.fields == {
        "types": ["acme.TypedRedis"],
        "role": "cache",
        "extends": "redis",
        "family": "key",
        "witness": ["."],
        "conflict": ["returns None"],
    }
    assert ops(entry.ops("read")) == [("read", "load")]  # a list is replaced as a whole
    assert ops(entry.ops("make")) == []
    assert ops(vocabulary.methods("acme.TypedRedis", "set")) == [("write", "set")]
    assert len(vocabulary.by_name("redis", "set")) == 1


def test_extends_may_come_before_and_chain(tmp_path: Path) -> None:
    vocabulary = made(
        tmp_path,
        (
            '[[store]]\nid = "c"\nextends = "b"\ntypes = ["x.C"]\n[[store]]\nid = "b"\nextends = "a"\n'
            'role = "cache"\n[[store]]\nid = "a"\nread = ["get(key)"]\n'
        ),
    )
    (spec,) = vocabulary.methods("x.C", "get")
    assert spec.get("role") == "cache"


USER = """\
[project]
name = "acme"

[tool.noclobber]
strict = true

[[tool.noclobber.store]]
types    = ["acme.store.Store"]
names    = ["store"]
read     = ["get(key)"]
write    = ["put(key, payload, if_version: precondition = None)"]
witness  = [".version"]
conflict = ["raises acme.store.VersionConflict"]

[[tool.noclobber.effect]]
functions = "acme.mail"
call = ["send(to)"]
kind = "email"
"""


def user_tables(text: str) -> dict:
    from noclobber.knowledge.errors import parse_toml

    section = parse_toml(text, "pyproject.toml")["tool"]["noclobber"]
    return {name: value for name, value in section.items() if name in tables.TOP_KEYS}


def test_five_lines_teach_a_store(tmp_path: Path) -> None:
    base = made(tmp_path)
    vocabulary = base.with_user_tables(user_tables(USER), "pyproject.toml", text=USER)
    (put,) = vocabulary.methods("acme.store.Store", "put")
    assert put.entry.id == "Store" and put.entry.user
    assert put.entry.origin == ("pyproject.toml", 7)
    assert put.signature.param("precondition").default is None
    assert ops(vocabulary.functions("acme.mail.send")) == [("call", "send")]
    assert vocabulary.entry("effect", "mail").fields["kind"] == "email"
    assert vocabulary.call_names["put"] == {"write", "conditional", "key-write", "precondition"}
    assert ops(vocabulary.methods("redis.Redis", "get")) == [("read", "get")]
    assert base.methods("acme.store.Store", "put") == ()  # the first one is unchanged
    assert vocabulary.digest != base.digest
    assert vocabulary.digest == base.with_user_tables(user_tables(USER), "pyproject.toml", text=USER).digest


def test_user_errors_name_the_line_of_the_pyproject(tmp_path: Path) -> None:
    base = made(tmp_path)
    text = USER.replace("send(to)", "send(to: keyy)")
    with pytest.raises(KnowledgeError) as caught:
        base.with_user_tables(user_tables(text), "pyproject.toml", text=text)
    assert str(caught.value) == 'pyproject.toml:17: unknown role "keyy" in "send(to: keyy)"; did you mean "key"?'
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(KnowledgeError) as caught:
        base.with_user_tables(user_tables(text), str(path), 4)  # the text is read from the file
    assert (caught.value.path, caught.value.line) == (str(path), 17)
    with pytest.raises(KnowledgeError) as caught:
        base.with_user_tables(user_tables(text), str(tmp_path / "gone.toml"), 4)
    assert caught.value.line == 4


def test_user_file(tmp_path: Path) -> None:
    base = made(tmp_path)
    path = tmp_path / "stores.toml"
    path.write_text(
        '[[store]]\nfunctions = "bank.accounts"\nread = ["get_balance(key)"]\nwrite = ["set_balance(key, payload)"]\n'
    )
    vocabulary = base.with_user_file(str(path), "stores.toml")
    assert vocabulary.entry("store", "accounts").origin == ("stores.toml", 1)
    path.write_text('[[store]]\nfunctions = "bank.accounts"\nread = "get_balance(kye: kye)"\n')
    with pytest.raises(KnowledgeError) as caught:
        base.with_user_file(str(path), "stores.toml")
    assert str(caught.value) == 'stores.toml:3: unknown role "kye" in "get_balance(kye: kye)"; did you mean "key"?'
    with pytest.raises(KnowledgeError) as caught:
        base.with_user_file(str(tmp_path / "gone.toml"), "gone.toml")
    assert "cannot be read" in str(caught.value)


def test_a_user_changes_or_disables_a_built_in_entry(tmp_path: Path) -> None:
    base = made(tmp_path)
    silent = base.with_user_tables({"store": [{"extends": "redis", "last_writer_wins": True}]}, "p")
    (spec,) = silent.methods("redis.Redis", "set")
    assert spec.get("last_writer_wins") is True and spec.get("witness") == ["."]
    assert [entry.id for entry in silent.entries("store")] == ["redis"]
    assert ops(silent.functions("redis.from_url")) == [("make", "redis.from_url")]
    replaced = base.with_user_tables({"store": [{"id": "redis", "types": ["redis.Redis"], "read": ["get(key)"]}]}, "p")
    assert replaced.methods("redis.Redis", "set") == ()
    off = base.with_user_tables({"disable": ["redis"]}, "p")
    assert off.methods("redis.Redis", "get") == () and not off.known_type("redis.Redis")
    again = silent.with_user_tables({"store": [{"extends": "redis", "role": "cache"}]}, "p")
    assert again.methods("redis.Redis", "set")[0].get("last_writer_wins") is True


def test_user_patterns_extend_a_group(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables({"patterns": {"locking_reader": ["grab_*"]}}, "p")
    assert vocabulary.match("locking_reader", "grab_row") and vocabulary.match("locking_reader", "lock_row")
    with pytest.raises(KnowledgeError, match='no group of patterns "locking_raeder"; did you mean "locking_reader"'):
        made(tmp_path).with_user_tables({"patterns": {"locking_raeder": ["grab_*"]}}, "p")


def test_two_unnamed_user_stores_of_one_class_name(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables(
        {"store": [{"types": ["a.Store"], "read": ["get(key)"]}, {"types": ["b.Store"], "read": ["get(key)"]}]}, "p"
    )
    assert [entry.id for entry in vocabulary.entries("store")] == ["redis", "Store", "b.Store"]


@pytest.mark.parametrize(
    "given",
    [
        None,
        3,
        "store",
        [],
        {"store": None},
        {"store": 3},
        {"store": {}},
        {"store": [None]},
        {"store": [[]]},
        {"store": [{}]},
        {"store": [{"types": None}]},
        {"store": [{"types": ["a.B"], "read": [None]}]},
        {"store": [{"types": ["a.B"], "read": [{"call": 3}]}]},
        {"store": [{"types": [{}]}]},
        {"store": [{"types": ["a.B"], "read": [[["x"]]]}]},
        {"store": [{"types": ["a.B"], 3: 4}]},
        {3: 4},
        {"disable": [3]},
        {"patterns": []},
        {"patterns": {"x": [1]}},
        {"store": [{"types": ["a.B"], "write": ["f(\0: payload)"]}]},
        {"store": [{"types": ["["], "id": "\ud800", "read": ["f(" + "[" * 1000 + ")"]}]},
        {"store": [{"types": ["a.B"], "since": 1.5}]},
        {"store": [{"extends": "nothing"}]},
        {"store": [{"id": "x", "extends": "x"}]},
        {"orm": [{"base": ["x"]}]},
    ],
)
def test_anything_from_outside_is_a_knowledge_error(tmp_path: Path, given: object) -> None:
    with pytest.raises(KnowledgeError) as caught:
        made(tmp_path).with_user_tables(given, "pyproject.toml")
    assert str(caught.value).startswith("pyproject.toml")


def test_odd_but_valid_tables_do_not_crash(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables(
        {"store": [{"types": ["[", "*", ""], "names": ["[!", ""], "read": ["get(key)"]}], "effect": []}, "p"
    )
    assert vocabulary.known_type("anything")
    assert vocabulary.by_name("", "get") == ()


# --- pages -------------------------------------------------------------------------------------------------------
def test_a_page(tmp_path: Path) -> None:
    known = knowledge.from_folder(rules(tmp_path, {"catalog/blind-key-set.md": PAGE}))
    page = known.pages["blind-key-set"]
    assert known.by_code["RMW105"] is page is known.page("rmw105") is known.page("blind-key-set")
    assert (page.level, page.severity, page.scope, page.status, page.fix, page.since) == (
        "recommended",
        "error",
        "function",
        "preview",
        "unsafe",
        "0.1",
    )
    assert page.trust == {"right": 3, "wrong": 1}
    assert page.needs == (frozenset({"read", "write"}),)
    assert page.variants == {"cache": ("recommended", "warning")}
    assert page.judged("cache") == ("recommended", "warning") and page.judged() == ("recommended", "error")
    assert page.timeline == (("A", "read", "reads {value}", "{record}: 100"), ("B", "", "sets 90", ""))
    assert list(page.sections) == list(pages.SECTIONS)
    assert page.sections["Example"] == "```python\n## not a heading\nx = 1\n```"
    assert page.text.startswith("# blind-key-set\n") and page.text.endswith("## References\nMore.\n")
    assert page.path == "rules/catalog/blind-key-set.md"
    assert page.options == () and len(page.references) == 1 and not page.own
    assert known.groups == {"write": ("blind-key-set",)}
    with pytest.raises(KnowledgeError, match='no rule "blind-key-sett"; did you mean "blind-key-set"'):
        known.page("blind-key-sett")


def test_an_own_rules_page_is_shorter(tmp_path: Path) -> None:
    text = (
        '+++\ncode = "RMW001"\nslug = "unparsable-file"\nsummary = "x"\nfamily = "Own"\ngroup = "own"\n'
        'level = "recommended"\nseverity = "error"\n'
        'scope = "function"\nsince = "0.1"\nstatus = "stable"\n+++\n## What it does\nx\n## Example\ny\n'
    )
    page = knowledge.from_folder(rules(tmp_path, {"catalog/unparsable-file.md": text})).pages["unparsable-file"]
    assert (
        page.own and page.needs == () and page.fix == "none" and page.sections == {"What it does": "x", "Example": "y"}
    )


@pytest.mark.parametrize(
    "old, new, line, message",
    [
        ("+++\ncode", "code", 1, 'a page begins with a line "+++" and its front matter'),
        ('text = "sets 90"\n+++', 'text = "sets 90"', 1, 'the front matter is never closed with a line "+++"'),
        (
            'slug = "blind-key-set"',
            'slug = "blind-keyset"',
            3,
            'the slug "blind-keyset" is not the file\'s name "blind-key-set"',
        ),
        ('code = "RMW105"', 'code = "RM105"', 2, '"RM105" is no code: RMW and three digits'),
        ('group = "write"', 'group = "lock"', 6, 'RMW105 belongs to the group "write", not "lock"'),
        ('group = "write"', 'group = "wirte"', 6, '"wirte" is no value of "group"; did you mean "write"?'),
        (
            'level = "recommended"',
            'level = "recomended"',
            7,
            '"recomended" is no value of "level"; did you mean "recommended"?',
        ),
        ('severity = "error"', 'severity = "eror"', 8, '"eror" is no value of "severity"; did you mean "error"?'),
        ('scope = "function"', 'scope = "functoin"', 9, '"functoin" is no value of "scope"; did you mean "function"?'),
        ('status = "preview"', 'status = "previw"', 12, '"previw" is no value of "status"; did you mean "preview"?'),
        ("trust = {right = 3, wrong = 1}", "trust = 3", 10, '"trust" must be {right = 0, wrong = 0}'),
        ('needs = [["read", "write"]]', 'needs = [["raed", "write"]]', 13, 'unknown kind "raed"; did you mean "read"?'),
        (
            'needs = [["read", "write"]]',
            'needs = ["read"]',
            13,
            '"needs" must be a list of lists of kinds: [["read", "write"]]',
        ),
        ('needs = [["read", "write"]]\n', "", 1, 'the front matter lacks "needs"'),
        ('since = "0.1"', "since = 0.1", 11, '"since" must be a string'),
        ('since = "0.1"\n', "", 1, 'the front matter lacks "since"'),
        ('since = "0.1"', 'sinc = "0.1"', 11, 'unknown field "sinc"; did you mean "since"?'),
        ('references = ["https', "references = [1] # [", 15, '"references" must be a list of strings'),
        ('name = "cache"\n', "", 17, '[[variant]] lacks "name"'),
        ('severity = "warning"', 'severity = "warn"', 19, '"warn" is no value of "severity"; did you mean "warning"?'),
        (
            'severity = "warning"',
            'severty = "warning"',
            19,
            'unknown field "severty" in [[variant]]; did you mean "severity"?',
        ),
        ('worker = "B"', 'worker = "C"', 28, '"C" is no value of "worker"; one of: A, B'),
        ('role = "read"', 'role = "raed"', 23, '"raed" is no value of "role"; did you mean "read"?'),
        ('text = "sets 90"', "text = 90", 29, '"text" must be a string'),
        ("## Known problems\nMore.\n", "", 31, 'the section "Known problems" is missing'),
        (
            "## Known problems",
            "## Known problem",
            52,
            'unknown section "Known problem"; did you mean "Known problems"?',
        ),
        ("## Known problems", "## Use instead", 52, 'a second section "Use instead"'),
        ("## Known problems\nMore.", "## Known problems\n", 52, 'the section "Known problems" is empty'),
        ("x = 1\n```", "x = 1\n", 41, "the code block is never closed with ```"),
        ("fix = ", "fix = = ", 14, "not valid TOML: Invalid value"),
    ],
)
def test_page_errors(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert PAGE.count(old) >= 1
    assert (
        failure(tmp_path, {"catalog/blind-key-set.md": PAGE.replace(old, new, 1)})
        == f"rules/catalog/blind-key-set.md:{line}: {message}"
    )


def test_sections_out_of_order_and_a_code_given_twice(tmp_path: Path) -> None:
    swapped = (
        PAGE.replace("## Fix safety", "## @")
        .replace("## How to test it", "## Fix safety")
        .replace("## @", "## How to test it")
    )
    assert "stands too late" in failure(tmp_path, {"catalog/blind-key-set.md": swapped})
    other = PAGE.replace('slug = "blind-key-set"', 'slug = "other"')
    assert failure(tmp_path, {"catalog/blind-key-set.md": PAGE, "catalog/other.md": other}) == (
        "rules/catalog/other.md:1: RMW105 is the code of rules/catalog/blind-key-set.md already"
    )


def test_step_roles_are_the_findings_own() -> None:
    assert pages.STEP_ROLES == finding.ROLES


@pytest.mark.parametrize(
    "code, group",
    [
        ("RMW001", "own"),
        ("RMW101", "write"),
        ("RMW208", "write"),
        ("RMW306", "write"),
        ("RMW401", "write"),
        ("RMW403", "write"),
        ("RMW404", "retry"),
        ("RMW505", "effect"),
        ("RMW603", "lock"),
        ("RMW704", "tool"),
        ("RMW900", ""),
    ],
)
def test_groups(code: str, group: str) -> None:
    assert pages.group_of(code) == group


# --- precedence --------------------------------------------------------------------------------------------------
def test_precedence_joins_its_orders(tmp_path: Path) -> None:
    text = '[[order]]\ngroup = "write"\nslugs = ["a", "b"]\n[[order]]\ngroup = "write"\nwhy = "x"\nslugs = ["b", "c"]\n'
    known = knowledge.from_folder(rules(tmp_path, {"precedence.toml": text}))
    assert known.precedence == [("a", "b"), ("b", "c")]
    assert known.beats("a", "b") and known.beats("a", "c") and known.beats("b", "c")
    assert not known.beats("c", "a") and not known.beats("a", "a") and not known.beats("x", "a")


@pytest.mark.parametrize(
    "text, message",
    [
        ("[[ordre]]\nslugs = []\n", ':1: unknown table "ordre"; did you mean "order"?'),
        ("order = 3\n", ':1: "order" is an array of tables: write [[order]]'),
        (
            '[[order]]\ngroup = "x"\nslugs = ["a", "b"]\n',
            ":2: [[order]] needs group, one of: write, retry, effect, lock, tool, own",
        ),
        ('[[order]]\ngroup = "write"\nslugs = ["a"]\n', ":3: [[order]] needs slugs, a list of at least two"),
        (
            '[[order]]\ngroup = "write"\nslug = ["a", "b"]\n',
            ':3: unknown field "slug" in [[order]]; one of: group, slugs, why',
        ),
        (
            '[[order]]\ngroup = "write"\nslugs = ["a", "b"]\n[[order]]\ngroup = "write"\nslugs = ["b", "c", "a"]\n',
            ":6: the orders contradict each other: a > b > c > a",
        ),
    ],
)
def test_precedence_errors(tmp_path: Path, text: str, message: str) -> None:
    assert failure(tmp_path, {"precedence.toml": text}) == f"rules/precedence.toml{message}"


# --- the project's own rules -------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted((RULES / "vocabulary").glob("*.toml")), ids=lambda path: path.name)
def test_every_vocabulary_file_loads(path: Path) -> None:
    from noclobber.knowledge.errors import parse_toml

    text = path.read_text(encoding="utf-8")
    Layer(parse_toml(text, path.name), path.name, text)


def test_the_projects_rules_load_as_a_whole() -> None:
    known = knowledge.from_folder(RULES)
    assert known.digest == knowledge.load().digest
    for group in (
        "locking_reader",
        "conflict_exception",
        "witness_argument",
        "accessor_get",
        "accessor_set",
        "version_column",
        "state_column",
        "set_once_column",
        "dirty_column",
        "in_transaction",
        "transaction",
        "lock_factory",
        "throttle_exception",
        "idempotency_argument",
    ):
        assert known.vocabulary.pattern_groups[group]


@pytest.mark.parametrize(
    "group, yes, no",
    [
        (
            "locking_reader",
            ["get_for_update", "select_for_update_of", "fetch_locked", "lock_account"],
            ["get", "unlock", "block_user", "find_clock"],
        ),
        (
            "conflict_exception",
            [
                "StaleDataError",
                "WatchError",
                "ConditionalCheckFailedException",
                "PreconditionFailed",
                "ConflictError",
                "CompareFailed",
                "BadVersionError",
                "ResourceModifiedError",
                "CosmosAccessConditionFailedError",
                "RevisionIdWasChanged",
                "SaveConditionError",
                "OptimisticCheckError",
                "SerializationFailure",
                "DeadlockDetected",
                "CasMismatchException",
                "DocumentRevisionError",
                "TransactionCanceledException",
                "VersionConflict",
                "RecordModifiedError",
                "Aborted",
                "ConditionalRequestConflict",
                "FailedPrecondition",
                "SerializationError",
            ],
            ["ValueError", "KeyError", "OperationalError", "Timeout", "InstallError"],
        ),
        (
            "throttle_exception",
            [
                "SlowDown",
                "ThrottlingException",
                "TooManyRequests",
                "ResourceExhausted",
                "ProvisionedThroughputExceededException",
                "RateLimitError",
            ],
            ["Conflict"],
        ),
        (
            "witness_argument",
            [
                "expected_version",
                "if_version",
                "base_version",
                "etag",
                "if_match",
                "revision",
                "rev",
                "sha",
                "generation",
                "resource_version",
                "updated_at",
                "IfMatch",
                "cas",
                "seq_no",
                "if_generation_match",
                "expected_status",
            ],
            ["value", "key", "timeout", "name", "data"],
        ),
        (
            "version_column",
            ["version", "lock_version", "row_version", "updated_at", "etag", "_rev", "seq_no"],
            ["name", "balance", "tenant_id", "created_at"],
        ),
        (
            "state_column",
            ["status", "state", "owner", "claimed_by", "locked_by", "lease_expires_at", "order_status"],
            ["name", "email", "tenant_id", "estate"],
        ),
        ("transaction", ["atomic", "in_transaction", "retrying_atomic", "begin"], ["save", "begins_with"]),
        ("lock_factory", ["Lock", "row_lock", "distributed_lock", "Mutex"], ["block", "clock", "unlock"]),
        ("accessor_get", ["get_balance", "load", "fetch_user"], ["getter", "set_balance", "loaded"]),
        ("accessor_set", ["set_balance", "save", "put_item"], ["settle", "get_balance"]),
        (
            "idempotency_argument",
            ["idempotency_key", "client_token", "MessageDeduplicationId", "ClientToken"],
            ["key", "token"],
        ),
    ],
)
def test_the_projects_name_patterns(group: str, yes: list[str], no: list[str]) -> None:
    vocabulary = knowledge.load().vocabulary
    assert [name for name in yes if not vocabulary.match(group, name)] == []
    assert [name for name in no if vocabulary.match(group, name)] == []


def test_the_projects_precedence_is_the_specifications() -> None:
    known = knowledge.load()
    for chain in (
        ["stale-retry", "stale-lock", "orm-increment", "orm-derived-save", "orm-check-then-act", "orm-full-save"],
        ["stale-retry-policy", "stale-lock"],
        ["unconditional-fallback", "stale-lock"],
        *(
            ["stale-retry", blind, "check-then-act", "unchecked-rowcount"]
            for blind in (
                "blind-sql-update",
                "blind-http-put",
                "blind-object-put",
                "blind-document-replace",
                "blind-key-set",
                "blind-accessor-write",
                "blind-file-rewrite",
            )
        ),
        ["check-then-act", "unchecked-conditional-result"],
        ["check-then-act", "swallowed-conflict"],
        ["stale-retry", "split-witness"],
        ["per-attempt-idempotency-key", "effect-in-retry-loop", "effect-without-key"],
        ["effect-in-retry-loop", "effect-before-commit"],
        ["effect-in-replayed-transaction", "effect-before-commit"],
        ["effect-in-retry-loop", "lock-across-network"],
        ["effect-in-replayed-transaction", "lock-across-network"],
        ["unsafe-lock-release", "check-then-act"],
    ):
        for first, second in zip(chain, chain[1:]):
            assert known.beats(first, second) and not known.beats(second, first), (first, second)
    # a POST in a transaction is both
    assert not known.beats("effect-before-commit", "lock-across-network") and not known.beats(
        "lock-across-network", "effect-before-commit"
    )


def test_the_precedence_names_only_rules_of_the_catalog() -> None:
    known = knowledge.load()
    assert {slug for order in known.precedence for slug in order} <= set(known.pages)


def test_the_readme_holds_the_loaders_own_tables() -> None:
    text = (RULES / "README.md").read_text(encoding="utf-8")
    begin, end = "<!-- made by noclobber.knowledge.tables.markdown() -->\n", "<!-- end -->\n"
    assert text[text.index(begin) + len(begin) : text.index(end)] == tables.markdown()


# --- the compiled form -------------------------------------------------------------------------------------------
def test_plain_data_only(tmp_path: Path) -> None:
    data = knowledge.compile_rules(rules(tmp_path, {"vocabulary/redis.toml": REDIS, "catalog/blind-key-set.md": PAGE}))
    assert marshal.loads(marshal.dumps(data, 4)) == data


def unpacked(data: dict) -> dict:
    for entry in data["entries"]:
        knowledge.vocabulary.specs_of(entry)
    return data


def test_the_cache_is_used_and_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = rules(tmp_path, {"vocabulary/redis.toml": REDIS})
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", str(tmp_path / "cache"))
    first = unpacked(compiled.cached(str(folder)))
    (stored,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr("noclobber.knowledge.compile.compile_rules", lambda folder: pytest.fail("parsed again"))
    assert unpacked(compiled.cached(str(folder))) == first
    monkeypatch.undo()
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", str(tmp_path / "cache"))
    (folder / "vocabulary" / "redis.toml").write_text(
        REDIS.replace('"incr(name: key)"', '"incr(name: key)", "decr(name: key)"')
    )
    assert "decr" in compiled.cached(str(folder))["index"]["calls"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [stored.name]
    (folder / "vocabulary" / "more.toml").write_text('[[effect]]\ntypes = ["a.B"]\ncall = ["ping()"]\n')
    assert "ping" in compiled.cached(str(folder))["index"]["calls"]


@pytest.mark.parametrize("content", [b"", b"x", b"00000000" * 20, b"\0" * 100, b"0000000099999999x"])
def test_a_broken_cache_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    folder = rules(tmp_path, {"vocabulary/redis.toml": REDIS})
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", str(tmp_path / "cache"))
    data = compiled.cached(str(folder))
    (stored,) = (tmp_path / "cache").iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(content)
    assert unpacked(compiled.cached(str(folder))) == data
    assert stored.read_bytes() == whole
    stored.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert unpacked(compiled.cached(str(folder))) == data
    stored.write_bytes(whole[: len(whole) // 2])
    assert unpacked(compiled.cached(str(folder))) == data


def test_an_unusable_cache_folder_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = rules(tmp_path, {"vocabulary/redis.toml": REDIS})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(compiled, "_private_temporary", lambda: None)
    assert "get" in compiled.cached(str(folder))["index"]["calls"]
    monkeypatch.undo()
    monkeypatch.setenv("NOCLOBBER_CACHE_DIR", "x" * 5000)
    monkeypatch.setattr(compiled, "_private_temporary", lambda: None)
    assert "get" in compiled.cached(str(folder))["index"]["calls"]


def test_the_temporary_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = compiled._private_temporary()
    assert folder and Path(folder).stat().st_mode & 0o777 == 0o700
    os.chmod(folder, 0o777)
    assert compiled._private_temporary() is None
    os.rmdir(folder)
    os.symlink(tmp_path, folder)
    assert compiled._private_temporary() is None


def test_the_wheels_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    import noclobber

    folder = rules(tmp_path, {"vocabulary/redis.toml": REDIS})
    module = types.ModuleType("noclobber._rules")
    exec(knowledge.module_source(folder), module.__dict__)
    monkeypatch.setitem(sys.modules, "noclobber._rules", module)
    monkeypatch.setattr(noclobber, "_rules", module, raising=False)
    data = knowledge.compile_rules(folder)
    assert unpacked(compiled._shipped(str(folder))) == data
    assert unpacked(compiled._shipped(None)) == data  # no TOML beside it: nothing to compare with
    (folder / "vocabulary" / "redis.toml").write_text(REDIS.replace("incr", "incrby"))
    assert compiled._shipped(str(folder)) is None
    module.FORMAT = -1
    assert compiled._shipped(None) is None


def test_a_missing_rules_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "rules_folder", lambda: None)
    monkeypatch.setattr(compiled, "_shipped", lambda folder: None)
    with pytest.raises(KnowledgeError, match="the rules are missing"):
        compiled.load_data()


def test_a_warm_start_parses_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, time; from noclobber import knowledge\n"
        "knowledge.load() if len(sys.argv) < 2 else None\n"
        "bad = {'tomllib', 'tomli', 'libcst', 'sqlglot', 'rich', 'tempfile', 'hashlib', 'difflib', "
        "'noclobber.knowledge.build', 'noclobber.knowledge.describe'}\n"
        "print(sorted(bad & set(sys.modules)))\n"
    )
    environment = {**os.environ, "NOCLOBBER_CACHE_DIR": str(tmp_path)}

    def run(*args: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", program, *args],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            cwd=RULES.parent / "src",
        ).stdout.strip()

    assert run("import only") == "[]"
    run()
    assert run() == "[]"


def test_a_vocabulary_can_be_sent_to_another_process(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables(user_tables(USER), "pyproject.toml", text=USER)
    vocabulary.methods("redis.Redis", "get")
    other = pickle.loads(pickle.dumps(vocabulary))
    assert ops(other.methods("acme.store.Store", "put")) == [("write", "put")]
    assert other.digest == vocabulary.digest
    assert pickle.loads(pickle.dumps(signature("f(a)").params[0])).default is NOTHING


def test_load_is_made_once() -> None:
    assert knowledge.load() is knowledge.load()


# --- words and checks --------------------------------------------------------------------------------------------
def test_describe_call(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    assert describe.describe_call(vocabulary.methods("redis.Redis", "set")[0]) == (
        "redis write set(name, value, ex, …) · key: name · payload: value · precondition: ifeq · create only: nx · "
        "ttl: ex · conflict: returns None"
    )
    assert (
        describe.describe_call(vocabulary.methods("redis.Redis", "get")[0])
        == "redis read get(name) · key: name · witness: . · conflict: returns None"
    )
    assert describe.describe_call(vocabulary.functions("redis.from_url")[0]).startswith("redis make redis.from_url(_)")
    entry = describe.describe_entry(vocabulary.entry("store", "redis"))
    assert entry.startswith(
        "[[store]] redis  (rules/vocabulary/redis.toml:1)\n  types: redis.Redis, redis.client.Pipeline\n"
    )


def test_stores_table(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables(user_tables(USER), "pyproject.toml", text=USER)
    rows = describe.stores_table(vocabulary)
    assert rows[0] == ("kind", "id", "receivers", "calls", "guard", "verified", "origin")
    assert rows[1] == ("store", "Store", "acme.store.Store", "1 read, 1 write", "if_version", "", "pyproject.toml:7")
    assert rows[2] == ("effect", "mail", "acme.mail.*", "1 call", "", "", "pyproject.toml:15")
    assert rows[3] == (
        "store",
        "redis",
        "redis.Redis and 1 more",
        "2 read, 1 write, 1 atomic, 1 delete, 1 begin, 1 commit, 1 replay",
        "ifeq",
        "",
        "built in",
    )


def test_check_file_tells_everything_at_once(tmp_path: Path) -> None:
    vocabulary = made(tmp_path)
    path = tmp_path / "pyproject.toml"
    path.write_text(USER)
    assert describe.check_file(str(path), vocabulary) == []
    path.write_text(
        USER.replace("send(to)", "send(to: keyy)").replace("witness ", "wittness ").replace("get(key)", "get(key")
    )
    assert [(problem.line, problem.message) for problem in describe.check_file(str(path), vocabulary)] == [
        (10, 'bad signature "get(key": "(" is never closed'),
        (12, 'unknown field "wittness" in [[tool.noclobber.store]]; did you mean "witness"?'),
        (17, 'unknown role "keyy" in "send(to: keyy)"; did you mean "key"?'),
    ]
    path.write_text('[[tool.noclobber.store]]\nextends = "rediss"\n')
    assert [str(problem) for problem in describe.check_file(str(path), vocabulary)] == [
        f'{path}:2: extends: no [[store]] has the id "rediss"; did you mean "redis"?'
    ]
    for text in ("", "[tool]\n", "tool = 1 # [tool.noclobber]\n", "[tool.black]\n"):
        path.write_text(text)
        describe.check_file(str(path), vocabulary)
    (problem,) = describe.check_file(str(tmp_path / "gone.toml"), vocabulary)
    assert "cannot be read" in str(problem)
    page = tmp_path / "blind-key-set.md"
    page.write_text(PAGE)
    assert describe.check_file(str(page), vocabulary) == []
    page.write_text(PAGE.replace("RMW105", "RMW1"))
    assert len(describe.check_file(str(page), vocabulary)) == 1


VERIFIED = """\
[[store]]
id = "probe"
types = ["shelve.Shelf", "json.JSONEncoder"]
read = ["get(key)", "encode(o: key)"]
write = ["setdefault(key, default: payload = None)"]

[[effect]]
id = "fns"
functions = "subprocess"
call = [
  "run(*popenargs: key, **kwargs: _)", "check_call(**_)", "json.dump(obj: key, fp: _)", "nothing_here(x: key)",
  "shutil.copy(source: key)", "not_installed_at_all.f(x: key)",
]

[[effect]]
id = "shelf"
functions = ["shutil"]
call = [
  "move(dst: key, src: key)", "copytree(src: key, ignores: _ = None)",
  "rmtree(path: key, *, ignore_errors: _ = False, nothing: _ = 1)",
]
"""


def test_verify_signatures(tmp_path: Path) -> None:
    vocabulary = made(tmp_path).with_user_tables({}, "x")
    path = tmp_path / "verified.toml"
    path.write_text(VERIFIED)
    vocabulary = vocabulary.with_user_file(str(path), "verified.toml")
    found = describe.verify_signatures(vocabulary, user_only=True)
    assert [(mismatch.target, mismatch.message) for mismatch in found] == [
        ("subprocess.nothing_here", "no such name"),
        ("shutil.copy", 'position 0 is "src", not "source"'),
        ("shutil.move", '"dst" is at position 1, not 0'),
        ("shutil.copytree", 'position 1 is "dst", not "ignores"'),
        ("shutil.rmtree", 'has no parameter "nothing"; one of: dir_fd, ignore_errors, onerror, path'),
    ]
    assert str(found[0]) == 'verified.toml:7: subprocess.nothing_here: no such name (in "nothing_here(x: key)" of fns)'
