"""Fixes store by store: expressions, version filters, conditions, keys, statements that test and write."""
from __future__ import annotations

import pytest
from test_fixes import ALCHEMY, check, refusals

DYNAMO = '''\
import boto3

table = boto3.resource("dynamodb").Table("polls")


'''


def test_an_update_expression_adds_and_appends():
    check(DYNAMO + '''def vote(poll, votes: int):
    item = table.get_item(Key={"poll": poll})["Item"]
    total = item["votes"] - votes
    table.update_item(
        Key={"poll": poll}, UpdateExpression="SET #v = :v, seen = :now",
        ExpressionAttributeNames={"#v": "votes"}, ExpressionAttributeValues={":v": total, ":now": 1},
    )


def first(poll, votes: int):
    item = table.get_item(Key={"poll": poll})["Item"]
    table.update_item(Key={"poll": poll}, UpdateExpression="SET votes = :v", ExpressionAttributeValues={":v": item.get("votes", 0) + votes})


def comment(poll, text):
    item = table.get_item(Key={"poll": poll})["Item"]
    comments = item["comments"]
    comments.append(text)
    table.update_item(Key={"poll": poll}, UpdateExpression="SET comments = :c", ExpressionAttributeValues={":c": comments})
''', '''\
-     total = item["votes"] - votes
-         Key={"poll": poll}, UpdateExpression="SET #v = :v, seen = :now",
-         ExpressionAttributeNames={"#v": "votes"}, ExpressionAttributeValues={":v": total, ":now": 1},
+         Key={"poll": poll}, UpdateExpression="SET #v = #v - :v, seen = :now",
+         ExpressionAttributeNames={"#v": "votes"}, ExpressionAttributeValues={":v": votes, ":now": 1},
-     table.update_item(Key={"poll": poll}, UpdateExpression="SET votes = :v", ExpressionAttributeValues={":v": item.get("votes", 0) + votes})
+     table.update_item(Key={"poll": poll}, UpdateExpression="ADD votes :v", ExpressionAttributeValues={":v": votes})
-     comments = item["comments"]
-     comments.append(text)
-     table.update_item(Key={"poll": poll}, UpdateExpression="SET comments = :c", ExpressionAttributeValues={":c": comments})
+     table.update_item(Key={"poll": poll}, UpdateExpression="SET comments = list_append(comments, :c)", ExpressionAttributeValues={":c": [text]})
''')


def test_numbers_in_the_wire_format():
    check('''\
import boto3

ddb = boto3.client("dynamodb")


def sell(concert, seats: int):
    got = ddb.get_item(TableName="tickets", Key={"concert": {"S": concert}})
    left = int(got["Item"]["left"]["N"])
    ddb.update_item(
        TableName="tickets", Key={"concert": {"S": concert}},
        UpdateExpression="SET #l = :left", ExpressionAttributeNames={"#l": "left"}, ExpressionAttributeValues={":left": {"N": str(left - seats)}},
    )
''', '''\
-         UpdateExpression="SET #l = :left", ExpressionAttributeNames={"#l": "left"}, ExpressionAttributeValues={":left": {"N": str(left - seats)}},
+         UpdateExpression="SET #l = #l - :left", ExpressionAttributeNames={"#l": "left"}, ExpressionAttributeValues={":left": {"N": str(seats)}},
''')


def test_the_version_of_a_document_joins_the_condition():
    check(DYNAMO + '''def close(poll):
    item = table.get_item(Key={"poll": poll})["Item"]
    item["open"] = sorted(item["open"])
    item["version"] += 1
    table.put_item(Item=item)
''', '''\
+ from boto3.dynamodb.conditions import Attr
+     version = item["version"]
-     table.put_item(Item=item)
+     table.put_item(Item=item, ConditionExpression=Attr("version").eq(version))
''')
    check('''\
from pymongo import MongoClient

notes = MongoClient().app.notes


def rename(note, old, new):
    doc = notes.find_one({"_id": note})
    doc["tags"] = [new if tag == old else tag for tag in doc["tags"]]
    doc["version"] += 1
    notes.replace_one({"_id": note}, doc)
''', '''\
+     version = doc["version"]
-     notes.replace_one({"_id": note}, doc)
+     result = notes.replace_one({"_id": note, "version": version}, doc)
+     if result.matched_count != 1:
+         raise RuntimeError("app / notes / note has changed since it was read")
''')


@pytest.mark.parametrize(("body", "reason"), [
    ('doc["version"] += 1\n    notes.replace_one({"_id": note}, doc, upsert=True)', "as a whole"),
    ('notes.replace_one({"_id": note}, doc)', "as a whole"),
    ('tags = doc["tags"]\n    for _ in range(n):\n        tags.append(1)\n    notes.update_one({"_id": note}, {"$set": {"tags": tags}})', "on some ways only"),
    ('tags = doc["tags"]\n    tags.append(len(tags))\n    notes.update_one({"_id": note}, {"$set": {"tags": tags}})', "used elsewhere"),
])
def test_documents_that_stay(body, reason):
    found = refusals(f'''\
from pymongo import MongoClient

notes = MongoClient().app.notes


def change(note, n):
    doc = notes.find_one({{"_id": note}})
    doc["n"] = doc["n"] * 2
    {body}
''' if "tags" not in body else f'''\
from pymongo import MongoClient

notes = MongoClient().app.notes


def change(note, n):
    doc = notes.find_one({{"_id": note}})
    {body}
''', "blind-document-replace")
    assert all(reason in answer for answer in found), found


def test_a_member_is_pushed():
    check('''\
from pymongo import MongoClient

notes = MongoClient().app.notes


def tag(note, word):
    doc = notes.find_one({"_id": note})
    tags = doc["tags"]
    tags.append(word.lower())
    notes.update_one({"_id": note}, {"$set": {"tags": tags, "seen": True}})
''', '''\
-     tags = doc["tags"]
-     tags.append(word.lower())
-     notes.update_one({"_id": note}, {"$set": {"tags": tags, "seen": True}})
+     notes.update_one({"_id": note}, {"$set": {"seen": True}, "$push": {"tags": word.lower()}})
''')


def test_keys_that_the_store_adds_to_and_joins():
    check('''\
import redis
from diskcache import Cache
from django.core.cache import cache
from pymemcache.client.base import Client

r = redis.Redis()
mc = Client("localhost")
disk = Cache("/var/lib/app")


def hit(key):
    seen = int(r.get(key) or 0)
    r.set(key, seen + 1, ex=60)


def log(key, line: str):
    text = r.get(key).decode()
    r.set(key, f"{text}{line};")


def log_bytes(key, line):
    r.set(key, r.get(key) + b"," + line)


def tries(ip):
    seen = cache.get(ip, 0)
    cache.set(ip, seen + 1, timeout=300)


def visit(page):
    seen = mc.get(page)
    mc.set(page, int(seen) - 1)


def count(key):
    disk[key] = disk.get(key, 0) + 1
''', '''\
-     r.set(key, seen + 1, ex=60)
+     r.incrby(key, 1)
+     r.expire(key, 60)
-     r.set(key, f"{text}{line};")
+     r.append(key, f"{line};")
-     r.set(key, r.get(key) + b"," + line)
+     r.append(key, b"," + line)
-     cache.set(ip, seen + 1, timeout=300)
+     cache.add(ip, 0, 300)
+     cache.incr(ip, 1)
-     mc.set(page, int(seen) - 1)
+     mc.add(page, 0)
+     mc.decr(page, 1)
-     disk[key] = disk.get(key, 0) + 1
+     disk.incr(key, 1)
''')


def test_changes_of_a_unit_of_work_become_one_statement():
    check(ALCHEMY + '''class Task(Base):
    __tablename__ = "tasks"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="open")
    owner: Mapped[str | None] = mapped_column(default=None)


def take(session: Session, task_id: int, me: str) -> bool:
    task = session.get(Task, task_id)
    if task.owner is not None:
        return False
    task.owner = me  # mine now
    task.state = "taken"
    session.commit()
    return True


def spend(session: Session, account_id: int, n: int) -> None:
    account = session.get(Account, account_id)
    if account.credits < n:
        raise ValueError("too few")
    account.credits -= n
    session.commit()
''', '''\
+ from sqlalchemy import update
-     task.owner = me  # mine now
-     task.state = "taken"
+     result = session.execute(
+         update(Task)
+         .where(Task.id == task.id, Task.owner.is_(None))
+         .values(owner=me, state="taken")
+         .execution_options(synchronize_session="fetch")
+     )  # mine now
+     if result.rowcount != 1:
+         return False
-     account.credits -= n
+     result = session.execute(
+         update(Account)
+         .where(Account.id == account.id, Account.credits >= n)
+         .values(credits=Account.credits - n)
+         .execution_options(synchronize_session="fetch")
+     )
+     if result.rowcount != 1:
+         raise ValueError("too few")
''')


CORE = '''\
import sqlalchemy as sa

seats = sa.Table("seats", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("free", sa.Integer), sa.Column("state", sa.Text), sa.Column("version", sa.Integer))


'''


def test_built_statements_compute_compare_and_test():
    check(CORE + '''def sell(conn: sa.Connection, seat: int, n: int) -> None:
    row = conn.execute(sa.select(seats.c.free).where(seats.c.id == seat)).one()
    if row.free < n:
        raise ValueError("sold out")
    conn.execute(sa.update(seats).where(seats.c.id == seat).values(free=row.free - n))


def rename(conn: sa.Connection, seat: int, n: int) -> None:
    row = conn.execute(sa.select(seats.c.state, seats.c.version).where(seats.c.id == seat)).one()
    conn.execute(sa.update(seats).where(seats.c.id == seat).values(state=row.state.upper()))


def hold(conn: sa.Connection, seat: int) -> bool:
    row = conn.execute(sa.select(seats.c.state).where(seats.c.id == seat)).one()
    if row.state != "free":
        return False
    conn.execute(seats.update().where(seats.c.id == seat).values(state="held"))
    return True
''', '''\
-     conn.execute(sa.update(seats).where(seats.c.id == seat).values(free=row.free - n))
+     result = conn.execute(sa.update(seats).where(seats.c.id == seat, seats.c.free >= n).values(free=seats.c.free - n))
+     if result.rowcount != 1:
+         raise ValueError("sold out")
-     conn.execute(sa.update(seats).where(seats.c.id == seat).values(state=row.state.upper()))
+     result = conn.execute(sa.update(seats).where(seats.c.id == seat, seats.c.version == row.version).values(state=row.state.upper(), version=seats.c.version + 1))
+     if result.rowcount != 1:
+         raise RuntimeError("seats has changed since it was read")
-     conn.execute(seats.update().where(seats.c.id == seat).values(state="held"))
+     result = conn.execute(seats.update().where(seats.c.id == seat, seats.c.state == "free").values(state="held"))
+     if result.rowcount != 1:
+         return False
''')


def test_saves_that_name_their_columns_become_statements():
    check('''\
from mongoengine import Document, StringField
from peewee import CharField, IntegerField, Model, SqliteDatabase


class Voucher(Model):
    code = CharField(unique=True)
    state = CharField(default="open")
    uses = IntegerField(default=0)

    class Meta:
        database = SqliteDatabase("desk.db")


class Slip(Document):
    status = StringField(default="new")


def redeem(code: str) -> bool:
    voucher = Voucher.get(Voucher.code == code)
    if voucher.state != "open":
        return False
    voucher.state = "redeemed"
    voucher.save(only=[Voucher.state])
    return True


def use(code: str) -> int:
    voucher = Voucher.get(Voucher.code == code)
    voucher.uses += 1
    voucher.save(only=[Voucher.uses])
    return {"uses": voucher.uses}


def stamp(pk: str) -> bool:
    slip = Slip.objects.get(pk=pk)
    if slip.status == "new":
        slip.status = "stamped"
        slip.save()
        return True
    return False
''', '''\
-     voucher.save(only=[Voucher.state])
+     updated = Voucher.update(state=voucher.state).where(Voucher.id == voucher.id, Voucher.state == "open").execute()
+     if updated != 1:
+         return False
-     voucher.uses += 1
+     voucher.uses = Voucher.uses + 1
+     voucher = Voucher.get_by_id(voucher.get_id())
-         slip.save()
+         updated = Slip.objects(pk=slip.pk, status="new").update_one(
+             set__status=slip.status
+         )
+         if updated != 1:
+             return False
''')


def test_a_key_over_several_lines_moves_above_the_loop():
    check('''\
import time
import uuid

import requests


def pay(url: str, cents: int, order: str) -> None:
    for attempt in range(3):
        try:
            response = requests.post(url, json={"cents": cents}, headers={
                "Idempotency-Key": "-".join([
                    order,
                    str(uuid.uuid4()),
                ])}, timeout=10)
            response.raise_for_status()
            return
        except requests.ConnectionError:
            time.sleep(0.01 * 2**attempt)
    raise RuntimeError("not paid")
''', '''\
+     idempotency_key = "-".join([
+         order,
+         str(uuid.uuid4()),
+     ])
-                 "Idempotency-Key": "-".join([
-                     order,
-                     str(uuid.uuid4()),
-                 ])}, timeout=10)
+                 "Idempotency-Key": idempotency_key}, timeout=10)
''')


LOCKED = '''\
from django.db import models, transaction


class Account(models.Model):
    balance = models.IntegerField(default=0)
    log = models.TextField(default="")


@transaction.atomic
def deposit(pk: int, amount: int) -> None:
    account = Account.objects.select_for_update().get(pk=pk)
    account.balance += amount
    account.save()


'''


def test_the_row_is_locked_where_the_project_does_so():
    check(LOCKED + '''def withdraw(pk: int, amount: int) -> None:
    account = Account.objects.get(pk=pk)
    account.balance -= amount
    account.save()
''', '''\
+ @transaction.atomic
-     account = Account.objects.get(pk=pk)
+     account = Account.objects.select_for_update().get(pk=pk)
''')


def test_the_row_is_locked_where_the_new_number_is_wanted():
    check(ALCHEMY + '''def deposit(session: Session, account_id: int, n: int) -> int:
    account = session.get(Account, account_id)
    account.credits += n
    session.commit()
    return account.credits
''', '''\
-     account = session.get(Account, account_id)
+     account = session.get(Account, account_id, with_for_update=True)
''')


def test_help_shows_the_read_with_its_lock():
    from helpers import everything_on
    from noclobber import engine, verdict
    from noclobber.repair import fixes_for

    code = LOCKED + '''def note(pk: int, line: str) -> None:
    account = Account.objects.get(pk=pk)
    account.log = account.log + line
    account.save(update_fields=["log"])
'''

    def work():
        item = engine.analyse_item(code.encode(), "nowhere/app.py", everything_on())
        settled = verdict.settle([item])
        return verdict.with_fixes(settled, fixes_for(code.encode(), "nowhere/app.py", everything_on(), settled.findings)).findings

    (finding,) = engine.on_big_stack(work)
    assert finding.name == "orm-derived-save" and finding.fix is None
    assert finding.help.endswith("; here: `account = Account.objects.select_for_update().get(pk=pk)`")


def test_versions_in_documents_are_raised():
    check('''\
import boto3
from boto3.dynamodb.conditions import Attr
from pymongo import MongoClient

table = boto3.resource("dynamodb").Table("recipes")
rotas = MongoClient().ward.rotas


def assign(rota: str, nurse: str) -> bool:
    doc = rotas.find_one({"_id": rota})
    result = rotas.update_one({"_id": rota, "rev": doc["rev"]}, {"$set": {"names": doc["names"] + nurse}})
    return result.matched_count == 1


def tune(recipe: str, factor: int) -> None:
    item = table.get_item(Key={"recipe": recipe})["Item"]
    table.update_item(
        Key={"recipe": recipe}, UpdateExpression="SET phases = :p", ConditionExpression=Attr("version").eq(item["version"]),
        ExpressionAttributeValues={":p": [phase * factor for phase in item["phases"]]},
    )
''', '''\
-     result = rotas.update_one({"_id": rota, "rev": doc["rev"]}, {"$set": {"names": doc["names"] + nurse}})
+     result = rotas.update_one({"_id": rota, "rev": doc["rev"]}, {"$set": {"names": doc["names"] + nurse}, "$inc": {"rev": 1}})
-         Key={"recipe": recipe}, UpdateExpression="SET phases = :p", ConditionExpression=Attr("version").eq(item["version"]),
-         ExpressionAttributeValues={":p": [phase * factor for phase in item["phases"]]},
+         Key={"recipe": recipe}, UpdateExpression="SET version = version + :one, phases = :p", ConditionExpression=Attr("version").eq(item["version"]),
+         ExpressionAttributeValues={":p": [phase * factor for phase in item["phases"]], ":one": 1},
''')


def test_a_patch_that_is_iterated_gives_what_was_sent():
    check('''\
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy.orm import Session

from kennel.models import Dog

app = FastAPI()


class DogPatch(BaseModel):
    name: str | None = None
    diet: str | None = None


@app.patch("/dogs/{dog_id}")
def patch_dog(dog_id: int, patch: DogPatch, db: Session):
    dog = db.get(Dog, dog_id)
    for name, value in patch:
        setattr(dog, name, value)
    db.commit()
''', '''\
-     for name, value in patch:
+     for name, value in patch.model_dump(exclude_unset=True).items():
''')
