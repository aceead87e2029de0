"""Same record? The table of yes, maybe and no."""
from __future__ import annotations

import pytest

from noclobber.trace.events import Record
from noclobber.trace.records import MAYBE, NO, YES, same_record, same_table, same_value, weakest
from noclobber.trace.values import CLOCK, CONST, RANDOM, UNKNOWN, Origin, Values

V = Values()


def param(name: str, *path: str) -> object:
    return V.origin(Origin("param", name, path), name=name)


def read(n: int, *path: str) -> object:
    return V.origin(Origin("read", n, path))


def opaque(n: int, *path: str) -> object:
    return V.origin(Origin("opaque", n, path))


def t(*parts: object) -> object:
    return V.template(parts)


def some(*origins: Origin) -> object:
    """Derived from these; identical with none."""
    return V.make(frozenset(origins))


K, J, SELF = param("key"), param("other"), param("self", "key")
P, Q = Origin("param", "key"), Origin("param", "other")
EITHER = V.join(K, J)
BASE, BASE2 = param("base"), param("base2")

VALUES = [
    # literals
    ("equal literals", V.const(1), V.const(1), YES), ("other literals", V.const(1), V.const(2), NO), ("number and its text", V.const(1), V.const("1"), YES), ("texts", V.const("a"), V.const("a"), YES),
    ("other texts", V.const("a"), V.const("b"), NO), ("literal and parameter", V.const(1), K, NO), ("literal and opaque", V.const("a"), opaque(1), NO),
    # absent
    ("both absent", None, None, YES), ("absent and None", None, V.none, YES), ("None and None", V.none, V.none, YES), ("absent and parameter", None, K, NO), ("None and parameter", V.none, K, NO),
    ("absent and literal", None, V.const(1), NO),
    # variables and attributes
    ("the same parameter", K, K, YES), ("other parameters", K, J, NO), ("the same attribute", SELF, SELF, YES), ("other attributes", SELF, param("self", "id"), NO), ("attribute of another", SELF, param("that", "key"), NO),
    ("parameter and its attribute", param("o"), param("o", "id"), NO), ("the same item", param("d", "['id']"), param("d", "['id']"), YES), ("other items", param("d", "['id']"), param("d", "['key']"), NO),
    ("the same column of the same read", read(1, "id"), read(1, "id"), YES), ("other columns", read(1, "id"), read(1, "n"), NO), ("the same column of another read", read(1, "id"), read(2, "id"), NO),
    ("read and parameter", read(1, "id"), K, NO), ("the same opaque call", opaque(1), opaque(1), YES), ("other opaque calls", opaque(1), opaque(2), NO), ("opaque and parameter", opaque(1), K, NO),
    ("outcome and read", V.origin(Origin("outcome", 1)), read(1), NO), ("the same loop variable", V.origin(Origin("item", 1)), V.origin(Origin("item", 1)), YES), ("other loops", V.origin(Origin("item", 1)), V.origin(Origin("item", 2)), NO),
    ("the same global", V.origin(Origin("global", "m:K")), V.origin(Origin("global", "m:K")), YES), ("other globals", V.origin(Origin("global", "m:K")), V.origin(Origin("global", "m:J")), NO),
    # may be several
    ("one of two", EITHER, K, MAYBE), ("one of two, the other", J, EITHER, MAYBE), ("one of two on both sides", EITHER, EITHER, MAYBE), ("one of two, a third", EITHER, param("third"), NO),
    ("maybe None", V.join(K, V.none), K, YES),
    # derived
    ("derived from the same", some(P), some(P), MAYBE), ("derived and itself", some(P), K, MAYBE), ("derived from others", some(P), some(Q), NO), ("derived, overlapping", some(P, Q), some(Q), MAYBE),
    ("only constants in common", some(CONST), some(CONST), NO), ("only a clock in common", some(CLOCK, P), some(CLOCK, Q), NO), ("only chance in common", some(RANDOM), some(RANDOM), NO), ("only unknown in common", some(UNKNOWN), some(UNKNOWN), NO),
    ("only a global in common", some(Origin("global", "m:X"), P), some(Origin("global", "m:X"), Q), NO), ("clocks", V.origin(CLOCK), V.origin(CLOCK), NO), ("unknowns", V.unknown, V.unknown, NO),
    # objects and classes
    ("the same object", V.make(objs=frozenset((1,))), V.make(objs=frozenset((1,))), YES), ("other objects", V.make(objs=frozenset((1,))), V.make(objs=frozenset((2,))), NO), ("perhaps the same object", V.make(objs=frozenset((1, 2))), V.make(objs=frozenset((1,))), NO),
    ("the same class", V.make(ref=("class", "A")), V.make(ref=("class", "A")), YES), ("other classes", V.make(ref=("class", "A")), V.make(ref=("class", "B")), NO), ("the same imported name", V.make(ref=("dotted", "a.b")), V.make(ref=("dotted", "a.b")), YES),
    ("other imported names", V.make(ref=("dotted", "a.b")), V.make(ref=("dotted", "a.c")), NO),
    # templates
    ("equal f-strings", t("a/", K), t("a/", K), YES), ("other pieces", t("a/", K), t("b/", K), NO), ("other holes", t("a/", K), t("a/", J), NO), ("holes that may be the same", t("a/", K), t("a/", EITHER), MAYBE),
    ("f-string and its literal", t("a/", V.const(1)), V.const("a/1"), YES), ("f-string and another literal", t("a/", K), V.const("b/1"), NO), ("a tail more", t("a/", K, "/lock"), t("a/", K), NO), ("another tail", t("a/", K, "/x"), t("a/", K, "/y"), NO),
    ("two holes", t("a/", K, "/", J), t("a/", K, "/", J), YES), ("two holes, exchanged", t("a/", K, "/", J), t("a/", J, "/", K), NO), ("the same base", t(BASE, "/a/", K), t(BASE, "/a/", K), YES), ("another base", t(BASE, "/a/", K), t(BASE2, "/a/", K), NO),
    ("the same base, another path", t(BASE, "/a/", K), t(BASE, "/b/", K), NO), ("a nested template", t("x/", t("a/", K)), t("x/a/", K), YES), ("f-string and its only hole", t(K), K, YES), ("f-string and its hole alone", t("a/", K), K, NO),
    ("hole derived from the same", t("a/", some(P)), t("a/", K), MAYBE), ("literal base or a variable", t("http://x/", K), t(BASE, "/", K), NO),
]


@pytest.mark.parametrize("name, a, b, answer", VALUES, ids=[row[0] for row in VALUES])
def test_same_value(name: str, a: object, b: object, answer: str) -> None:
    assert same_value(a, b) == answer
    assert same_value(b, a) == answer, "not symmetric"


def test_the_table_is_long_enough() -> None:
    assert len(VALUES) >= 60 and len({row[0] for row in VALUES}) == len(VALUES)


def test_weakest() -> None:
    assert weakest() == YES and weakest(YES, MAYBE) == MAYBE and weakest(MAYBE, NO, YES) == NO


TABLES = [
    (None, None, YES), (None, ("t",), MAYBE), (("t",), ("t",), YES), (("t",), ("u",), NO), (("s", "t"), ("t",), NO), ((K,), (K,), YES), ((K,), (J,), NO), ((EITHER,), (K,), MAYBE), (("t_", K), ("t_", K), YES), (K, K, YES), ("t", "t", YES), ("t", "u", NO),
]


@pytest.mark.parametrize("a, b, answer", TABLES)
def test_same_table(a: object, b: object, answer: str) -> None:
    assert same_table(a, b) == answer and same_table(b, a) == answer


def rec(table: object = ("t",), family: str = "sql", store: str = "sql", obj: object = None, **key: object) -> Record:
    return Record(family, store, table, tuple(key.items()), obj, "")


RECORDS = [
    ("the same key", rec(id=K), rec(id=K), YES), ("another key", rec(id=K), rec(id=J), NO), ("another table", rec(id=K), rec(("u",), id=K), NO), ("table not read", rec(None, id=K), rec(id=K), MAYBE),
    ("composite key", rec(a=K, b=J), rec(a=K, b=J), YES), ("composite key in another order", rec(a=K, b=J), rec(b=J, a=K), YES), ("one part differs", rec(a=K, b=J), rec(a=K, b=param("c")), NO), ("the write says more", rec(a=K), rec(a=K, b=J), YES),
    ("the read says more", rec(a=K, b=J), rec(a=K), YES), ("crossed parts", rec(a=K, b=J), rec(a=K, c=J), MAYBE), ("one part may differ", rec(a=K, b=EITHER), rec(a=K, b=J), MAYBE), ("other columns, the same value", rec(id=K), rec(name=K), MAYBE),
    ("other columns, other values", rec(id=K), rec(name=J), NO), ("whole tables", rec(), rec(), YES), ("whole table read, one row written", rec(), rec(id=K), MAYBE), ("one row read, whole table written", rec(id=K), rec(), MAYBE),
    ("object store without a key", rec(("b",), "object", "s3"), rec(("b",), "object", "s3", key=K), NO), ("the same object", rec(obj=3), rec(("u",), obj=3, id=J), YES), ("other stores", rec(family="http", store="a", id=K), rec(family="object", store="b", id=K), NO),
    ("SQL and ORM", rec(family="sql", store="sql", id=K), rec(family="orm", store="django", id=K), YES),
]


@pytest.mark.parametrize("name, a, b, answer", RECORDS, ids=[row[0] for row in RECORDS])
def test_same_record(name: str, a: Record, b: Record, answer: str) -> None:
    assert same_record(a, b) == answer


def test_the_key_of_the_row_that_was_read() -> None:
    from_row = rec(id=read(1, "id"))
    assert same_record(rec(name=K), from_row) == NO
    assert same_record(rec(name=K), from_row, key_from_read=lambda column, value: column == "id") == YES
    assert same_record(rec(name=K), rec(id=read(1, "id"), name=J), key_from_read=lambda column, value: column == "id") == NO
    assert same_record(rec(None, name=K), from_row, key_from_read=lambda column, value: True) == MAYBE


# --- URLs and object keys, as programs write them ------------------------------------------------------------------------------------
_PUT = """
import requests
from urllib.parse import urljoin
ROOT = "https://api.example.net"


class Client:
    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")
        self.session = requests.Session()

    def url(self, *parts: str) -> str:
        return "/".join((self.base, *parts))

    def edit(self, key: str, other: str, group: str) -> None:
        base = self.base
        path = f"/items/{{key}}"
        document = requests.get({read}).json()
        document["n"] = document["n"] + 1
        requests.put({write}, json=document).raise_for_status()
"""
#: (first URL, second URL, are they the same record?)
URLS = [
    ("f'{ROOT}/items/{key}'", "f'{ROOT}/items/{key}'", True), ("f'{ROOT}/items/{key}'", "f'{ROOT}/items/{other}'", False), ("f'{ROOT}/items/{key}'", "f'{ROOT}/things/{key}'", False),
    ("ROOT + '/items/' + key", "f'{ROOT}/items/{key}'", True), ("'%s/items/%s' % (ROOT, key)", "f'{ROOT}/items/{key}'", True), ("'{}/items/{}'.format(ROOT, key)", "f'{ROOT}/items/{key}'", True),
    ("ROOT + path", "f'{ROOT}/items/{key}'", True), ("'/'.join([ROOT, 'items', key])", "f'{ROOT}/items/{key}'", True), ("f'{self.base}/items/{key}'", "f'{base}/items/{key}'", True),
    ("self.url('items', key)", "self.url('items', key)", True), ("self.url('items', key)", "self.url('items', other)", False), ("self.url('items', key)", "f'{self.base}/items/{key}'", True),
    ("urljoin(ROOT, path)", "urljoin(ROOT, path)", True), ("urljoin(ROOT, path)", "urljoin(ROOT, f'/items/{other}')", False), ("urljoin(self.base, path)", "urljoin(ROOT, path)", False),
    ("f'{ROOT}/items/{key}/tags'", "f'{ROOT}/items/{key}'", False), ("f'{ROOT}/items/{key}'", "f'{ROOT}/items/{key}/tags'", False), ("f'{ROOT}/{group}/{key}'", "f'{ROOT}/{group}/{key}'", True),
    ("f'{ROOT}/{group}/{key}'", "f'{ROOT}/{key}/{group}'", False), ("f'{ROOT}/items/{str(key)}'", "f'{ROOT}/items/{key}'", True), ("f'{ROOT}/items/{key}', params={'id': key}", "f'{ROOT}/items/{key}'", True),
    ("ROOT, params={'id': key}", "ROOT, params={'id': key}", True), ("ROOT, params={'id': key}", "ROOT, params={'id': other}", False), ("ROOT, params={'id': key, 'expand': 'all'}", "ROOT, params={'id': key}", True),
    ("f'{ROOT}/items/{key.strip()}'", "f'{ROOT}/items/{key.strip()}'", True), ("f'https://one.example/items/{key}'", "f'https://two.example/items/{key}'", False), ("key", "key", True), ("key", "other", False),
]
_OBJECT = """
import boto3
from google.cloud import storage
s3 = boto3.client("s3")
resource = boto3.resource("s3")
BUCKET = "b"


def edit(bucket: str, key: str, other: str, gcs: storage.Bucket) -> None:
    where = {{"Bucket": bucket, "Key": key}}
    text = {read}
    {write}
"""
#: (read, write, are they the same record?)
OBJECTS = [
    ("s3.get_object(Bucket=bucket, Key=key)['Body'].read()", "s3.put_object(Bucket=bucket, Key=key, Body=text + b'x')", True),
    ("s3.get_object(Bucket=bucket, Key=key)['Body'].read()", "s3.put_object(Bucket=bucket, Key=other, Body=text + b'x')", False),
    ("s3.get_object(Bucket=bucket, Key=key)['Body'].read()", "s3.put_object(Bucket=BUCKET, Key=key, Body=text + b'x')", False),
    ("s3.get_object(**where)['Body'].read()", "s3.put_object(**where, Body=text + b'x')", True), ("s3.get_object(**where)['Body'].read()", "s3.put_object(Bucket=bucket, Key=key, Body=text + b'x')", True),
    ("s3.get_object(Bucket=BUCKET, Key=f'a/{key}')['Body'].read()", "s3.put_object(Bucket='b', Key='a/' + key, Body=text + b'x')", True),
    ("s3.get_object(Bucket=BUCKET, Key=f'a/{key}')['Body'].read()", "s3.put_object(Bucket='b', Key=f'b/{key}', Body=text + b'x')", False),
    ("resource.Object(bucket, key).get()['Body'].read()", "resource.Object(bucket, key).put(Body=text + b'x')", True), ("resource.Object(bucket, key).get()['Body'].read()", "resource.Object(bucket, other).put(Body=text + b'x')", False),
    ("resource.Bucket(bucket).Object(key).get()['Body'].read()", "resource.Object(bucket, key).put(Body=text + b'x')", True), ("s3.get_object(Bucket=bucket, Key=key)['Body'].read()", "resource.Bucket(bucket).put_object(Key=key, Body=text + b'x')", True),
    ("gcs.blob(key).download_as_bytes()", "gcs.blob(key).upload_from_string(text + b'x')", True), ("gcs.blob(key).download_as_bytes()", "gcs.blob(other).upload_from_string(text + b'x')", False),
    ("gcs.blob(f'a/{key}').download_as_bytes()", "gcs.blob('a/' + key).upload_from_string(text + b'x')", True),
]


def found(text: str) -> set[str]:
    from types import SimpleNamespace

    from noclobber.analyse import analyse

    result = analyse(text.encode(), "program.py", SimpleNamespace(vocabulary=None))
    assert not result.failures
    return {finding.name for finding in result.findings}


@pytest.mark.parametrize("read, write, same", URLS, ids=[f"{a} | {b}" for a, b, _ in URLS])
def test_urls_of_one_record(read: str, write: str, same: bool) -> None:
    assert ("blind-http-put" in found(_PUT.format(read=read, write=write))) is same


@pytest.mark.parametrize("read, write, same", OBJECTS, ids=[f"{a} | {b}" for a, b, _ in OBJECTS])
def test_keys_of_one_object(read: str, write: str, same: bool) -> None:
    assert ("blind-object-put" in found(_OBJECT.format(read=read, write=write))) is same
