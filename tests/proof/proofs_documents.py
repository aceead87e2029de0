"""Proofs over HTTP, objects, documents and keys."""

from __future__ import annotations

import json
from typing import Any

import stores
from proof import AMOUNTS, NAMES, Outcome, Proof


class SettingsHttp(Proof):
    program, store = "settings_http", stores.Web
    fix = "`If-Match` from the response's ETag"
    asked = "two set one option each"
    before, after = Outcome({"bob": 1}), Outcome({"ann": 1}, b="HTTPError")

    def setup(self) -> None:
        self.at.put("/settings", {})

    def worker(self, number: int) -> Any:
        return lambda: self.module.set_option(f"{self.at.site.url}/settings", NAMES[number], 1)

    def state(self) -> Any:
        return self.at.get("/settings")


class PlaylistHttp(Proof):
    program, store = "playlist_httpx", stores.Web
    fix = "`If-Match` from the response's ETag"
    asked = "two add a track"
    before, after = Outcome(["bob"]), Outcome(["ann"], b="HTTPStatusError")

    def setup(self) -> None:
        self.at.put("/list", {"tracks": []})

    def worker(self, number: int) -> Any:
        client = self.at.closing(stores.library("httpx").Client())
        return lambda: self.module.add_track(client, f"{self.at.site.url}/list", NAMES[number])

    def state(self) -> Any:
        return self.at.get("/list")["tracks"]


class RosterHttp(Proof):
    program, store = "roster_http", stores.Web
    fix = "the read and the computation move into the loop"
    asked = "two enlist, and try again after a conflict"
    before, after = Outcome(["ann"], b="RosterBusy"), Outcome(["ann", "bob"])

    def setup(self) -> None:
        self.at.put("/roster", {"names": []})

    def worker(self, number: int) -> Any:
        return lambda: self.module.enlist(f"{self.at.site.url}/roster", NAMES[number])

    def state(self) -> Any:
        return self.at.get("/roster")["names"]


class PaymentHttp(Proof):
    program, store = "payment_http", stores.Web
    fix = "the key is made once, above the loop"
    asked = "500 cents are paid; the first answer is lost"
    before, after = Outcome([500, 500]), Outcome([500])
    held = False

    def setup(self) -> None:
        self.at.site.lose = 1

    def worker(self, number: int) -> Any:
        return None if number else lambda: self.module.pay(f"{self.at.site.url}/charges", 500)

    def state(self) -> Any:
        return [json.loads(body)["cents"] for body in self.at.site.charges]




class LedgerS3(Proof):
    program, store = "ledger_s3", stores.S3
    fix = "`IfMatch` from the read's ETag"
    asked = "two book an amount"
    before, after = Outcome({"bob": 10}), Outcome({"ann": 5}, b="ClientError")

    def setup(self) -> None:
        self.at.client().put_object(Bucket="proof", Key="ledger", Body=b"{}")

    def worker(self, number: int) -> Any:
        return lambda: self.module.book("proof", "ledger", NAMES[number], AMOUNTS[number])

    def state(self) -> Any:
        return json.loads(self.at.client().get_object(Bucket="proof", Key="ledger")["Body"].read())


class CounterDynamo(Proof):
    program, store = "counter_dynamodb", stores.DynamoDb
    fix = "the store adds"
    asked = "5 and 10 votes are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.create("poll").put_item(Item={"poll": "p", "votes": 0})

    def worker(self, number: int) -> Any:
        return lambda: self.module.vote("p", AMOUNTS[number])

    def state(self) -> Any:
        return int(self.at.table().get_item(Key={"poll": "p"})["Item"]["votes"])


class PlanDynamo(Proof):
    program, store = "plan_dynamodb", stores.DynamoDb
    fix = "`ConditionExpression` on the version"
    asked = "two add a step to a plan of version 1"
    before, after = Outcome((["bob"], 2)), Outcome((["ann"], 2), b="ConditionalCheckFailedException")

    def setup(self) -> None:
        self.at.create("plan").put_item(Item={"plan": "p", "steps": [], "version": 1})

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_step("p", NAMES[number])

    def state(self) -> Any:
        item = self.at.table().get_item(Key={"plan": "p"})["Item"]
        return item["steps"], int(item["version"])


class GuestsDynamo(Proof):
    program, store = "guests_dynamodb", stores.DynamoDb
    fix = "`list_append`"
    asked = "two invite a guest"
    before, after = Outcome(["bob"]), Outcome(["ann", "bob"])

    def setup(self) -> None:
        self.at.create("party").put_item(Item={"party": "p", "guests": []})

    def worker(self, number: int) -> Any:
        return lambda: self.module.invite("p", NAMES[number])

    def state(self) -> Any:
        return self.at.table().get_item(Key={"party": "p"})["Item"]["guests"]


class LikesDynamo(Proof):
    program, store = "likes_dynamodb", stores.DynamoDb
    fix = "`ADD`: the attribute may be missing"
    asked = "5 and 10 likes, and none before"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.create("thing")

    def worker(self, number: int) -> Any:
        return lambda: self.module.like("t", AMOUNTS[number])

    def state(self) -> Any:
        return int(self.at.table().get_item(Key={"thing": "t"})["Item"]["likes"])


class RecipeDynamo(Proof):
    program, store = "recipe_dynamodb", stores.DynamoDb
    fix = "`version = version + :one`"
    asked = "two add a step to a recipe of version 1"
    before, after = Outcome((["bob"], 1)), Outcome((["ann"], 2), b="ConditionalCheckFailedException")

    def setup(self) -> None:
        self.at.create("recipe").put_item(Item={"recipe": "r", "steps": [], "version": 1})

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_step("r", NAMES[number])

    def state(self) -> Any:
        item = self.at.table().get_item(Key={"recipe": "r"})["Item"]
        return item["steps"], int(item["version"])


class FeaturesS3(Proof):
    program, store = "features_s3", stores.S3
    fix = "the read and the computation move into the loop"
    asked = "two switch on a feature, and try again after a conflict"
    before, after = Outcome({"ann": True}, b="Busy"), Outcome({"ann": True, "bob": True})

    def setup(self) -> None:
        self.at.client().put_object(Bucket="proof", Key="features", Body=b"{}")

    def worker(self, number: int) -> Any:
        return lambda: self.module.switch_on("proof", "features", NAMES[number])

    def state(self) -> Any:
        return json.loads(self.at.client().get_object(Bucket="proof", Key="features")["Body"].read())


class SongPynamo(Proof):
    program, store = "plays_pynamodb", stores.PynamoDb
    fix = "`update(actions=[Song.plays.add(times)])`"
    asked = "5 and 10 plays are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.create("title").put_item(Item={"title": "s", "plays": 0})
        self.module.Song.get("s")  # the connection is made here, not in both workers at once

    def worker(self, number: int) -> Any:
        return lambda: self.module.played("s", AMOUNTS[number])

    def state(self) -> Any:
        return int(self.module.Song.get("s").plays)


class TeamMongoEngine(Proof):
    program, store = "score_mongoengine", stores.MongoEngine
    fix = "`modify(inc__score=points)`"
    asked = "5 and 10 points are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.module.Team(name="t", score=0).save()

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_score("t", AMOUNTS[number])

    def state(self) -> Any:
        return self.module.Team.objects.get(name="t").score


class SlipMongoEngine(Proof):
    program, store = "slip_mongoengine", stores.MongoEngine
    fix = '`objects(pk=..., status="new").update_one(...)`, and the count is checked'
    asked = "two stamp one slip"
    before, after = Outcome(("stamped", "bob")), Outcome(("stamped", "ann"), b="Stamped")

    def setup(self) -> None:
        self.slip = self.module.Slip().save().pk

    def worker(self, number: int) -> Any:
        return lambda: self.module.stamp(self.slip, NAMES[number])

    def state(self) -> Any:
        slip = self.module.Slip.objects.get(pk=self.slip)
        return slip.status, slip.clerk


class NotesMongo(Proof):
    program, store = "notes_mongo", stores.Mongo
    fix = "the version joins the filter, and the count is checked"
    asked = "two add a line to a note of version 1"
    before, after = Outcome(("bob;", 2)), Outcome(("ann;", 2), b="RuntimeError")

    def setup(self) -> None:
        self.at.collection.insert_one({"_id": "n", "text": "", "version": 1})

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_note(self.at.collection, "n", NAMES[number])

    def state(self) -> Any:
        found = self.at.collection.find_one({"_id": "n"})
        return found["text"], found["version"]


class RotaMongo(Proof):
    program, store = "rota_mongo", stores.Mongo
    fix = '`"$inc": {"rev": 1}`'
    asked = "two assign a nurse, both on revision 1"
    before, after = Outcome(("bob;", 1)), Outcome(("ann;", 2), b="Conflict")

    def setup(self) -> None:
        self.at.collection.insert_one({"_id": "r", "names": "", "rev": 1})

    def worker(self, number: int) -> Any:
        return lambda: self.module.assign(self.at.collection, "r", NAMES[number])

    def state(self) -> Any:
        found = self.at.collection.find_one({"_id": "r"})
        return found["names"], found["rev"]


class ScoreMongo(Proof):
    program, store = "score_mongo", stores.Mongo
    fix = "`$inc`"
    asked = "5 and 10 points are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.collection.insert_one({"_id": "p", "score": 0})

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_score(self.at.collection, "p", AMOUNTS[number])

    def state(self) -> Any:
        return self.at.collection.find_one({"_id": "p"})["score"]


class BasketMongo(Proof):
    program, store = "basket_mongo", stores.Mongo
    fix = "`$push`"
    asked = "two put an article into a basket"
    before, after = Outcome(["bob"]), Outcome(["ann", "bob"])

    def setup(self) -> None:
        self.at.collection.insert_one({"_id": "b", "articles": []})

    def worker(self, number: int) -> Any:
        return lambda: self.module.put_in(self.at.collection, "b", NAMES[number])

    def state(self) -> Any:
        return self.at.collection.find_one({"_id": "b"})["articles"]


class DraftMongo(Proof):
    program, store = "draft_mongo", stores.Mongo
    fix = "`matched_count` is checked"
    asked = "two store a text, both on version 1"
    before, after = Outcome(("ann", 2)), Outcome(("ann", 2), b="RuntimeError")

    def setup(self) -> None:
        self.at.collection.insert_one({"_id": "d", "text": "", "version": 1})

    def worker(self, number: int) -> Any:
        return lambda: self.module.store(self.at.collection, "d", NAMES[number], 1)

    def state(self) -> Any:
        found = self.at.collection.find_one({"_id": "d"})
        return found["text"], found["version"]


class VisitsRedis(Proof):
    program, store = "visits_redis", stores.Redis
    fix = "`incrby`"
    asked = "5 and 10 visitors come, from 0"
    before, after = Outcome("10"), Outcome("15")

    def worker(self, number: int) -> Any:
        client = self.at.client()
        return lambda: self.module.visit(client, "home", AMOUNTS[number])

    def state(self) -> Any:
        return self.at.client().get("visits:home")


class JournalRedis(Proof):
    program, store = "journal_redis", stores.Redis
    fix = "`append`"
    asked = "two write down an entry"
    before, after = Outcome("bob;"), Outcome("ann;bob;")

    def worker(self, number: int) -> Any:
        client = self.at.client()
        return lambda: self.module.write_down(client, "journal", NAMES[number])

    def state(self) -> Any:
        return self.at.client().get("journal")


class TriesRedis(Proof):
    program, store = "tries_redis", stores.Redis
    fix = "`incrby` and `expire`"
    asked = "5 and 10 tries within a minute"
    before, after = Outcome(("10", True)), Outcome(("15", True))

    def worker(self, number: int) -> Any:
        client = self.at.client()
        return lambda: self.module.tried(client, "ann", AMOUNTS[number])

    def state(self) -> Any:
        client = self.at.client()
        return client.get("ann"), 0 < client.ttl("ann") <= 60


class ViewsMemcached(Proof):
    program, store = "views_memcached", stores.Memcached
    fix = "`add` and `incr`"
    asked = "5 and 10 views, and none before"
    before, after = Outcome(b"10"), Outcome(b"15")

    def worker(self, number: int) -> Any:
        client = self.at.client()
        return lambda: self.module.view(client, "home", AMOUNTS[number])

    def state(self) -> Any:
        return self.at.client().get("home")


class HitsDiskCache(Proof):
    program, store = "hits_diskcache", stores.DiskCache
    fix = "`incr`"
    asked = "5 and 10 hits, and none before"
    before, after = Outcome(10), Outcome(15)

    def worker(self, number: int) -> Any:
        cache = self.at.cache()
        return lambda: self.module.hit(cache, "home", AMOUNTS[number])

    def state(self) -> Any:
        return self.at.cache().get("home")
