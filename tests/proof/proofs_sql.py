"""Proofs over SQL text: sqlite3 and psycopg."""

from __future__ import annotations

import threading
import types
from typing import Any

import stores
from proof import AMOUNTS, NAMES, Outcome, Proof


class StockSqlite(Proof):
    program, store = "stock_sqlite", stores.Sqlite
    fix = "`SET quantity = quantity + ?`"
    asked = "5 and 10 come in, to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.run("CREATE TABLE stock (id INTEGER PRIMARY KEY, quantity INTEGER)", "INSERT INTO stock VALUES (1, 0)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.receive(connection, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.at.rows("SELECT quantity FROM stock")


class StockPostgres(StockSqlite):
    program, store = "stock_psycopg", stores.Postgres


class WikiSqlite(Proof):
    program, store = "wiki_sqlite", stores.Sqlite
    fix = "`AND version = ?`, and the row count is checked"
    asked = "two lines are added to a page of version 1"
    before, after = Outcome([("top\nbob", 2)]), Outcome([("top\nann", 2)], b="RuntimeError")

    def setup(self) -> None:
        self.at.run("CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT, version INTEGER)", "INSERT INTO pages VALUES (1, 'top', 1)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.add_line(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.at.rows("SELECT body, version FROM pages")


class WikiPostgres(WikiSqlite):
    program, store = "wiki_psycopg", stores.Postgres
    before = Outcome([("top\nbob", 3)])  # the version is bumped by the store, and one line is lost all the same


class JobsSqlite(Proof):
    program, store = "jobs_sqlite", stores.Sqlite
    fix = "`AND state = 'queued'`, and the row count is checked"
    asked = "two workers claim one job"
    before, after = Outcome([("running", "bob")]), Outcome([("running", "ann")], b="JobTaken")

    def setup(self) -> None:
        self.at.run("CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, owner TEXT)", "INSERT INTO jobs VALUES (1, 'queued', NULL)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.claim(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.at.rows("SELECT state, owner FROM jobs")


class JobsPostgres(JobsSqlite):
    program, store = "jobs_psycopg", stores.Postgres


class PriceSqlite(Proof):
    program, store = "price_sqlite", stores.Sqlite
    fix = "the row count is checked"
    asked = "two set the price, both on version 1"
    before, after = Outcome([(5, 2)]), Outcome([(5, 2)], b="RuntimeError")

    def setup(self) -> None:
        self.at.run("CREATE TABLE prices (id INTEGER PRIMARY KEY, price INTEGER, version INTEGER)", "INSERT INTO prices VALUES (1, 1, 1)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.change_price(connection, 1, AMOUNTS[number], 1)

    def state(self) -> Any:
        return self.at.rows("SELECT price, version FROM prices")


class PricePostgres(PriceSqlite):
    program, store = "price_psycopg", stores.Postgres


class SeatsSqlite(Proof):
    program, store = "seats_sqlite", stores.Sqlite
    fix = "`version = version + 1`"
    asked = "two book a seat in a coach of version 1"
    before, after = Outcome([("bob;", 1)]), Outcome([("ann;", 2)], b="Conflict")

    def setup(self) -> None:
        self.at.run("CREATE TABLE coaches (id INTEGER PRIMARY KEY, passengers TEXT, version INTEGER)", "INSERT INTO coaches VALUES (1, '', 1)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.book(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.at.rows("SELECT passengers, version FROM coaches")


class SeatsPostgres(SeatsSqlite):
    program, store = "seats_psycopg", stores.Postgres


class MinutesSqlite(Proof):
    program, store = "minutes_sqlite", stores.Sqlite
    fix = "the read and the computation move into the loop"
    asked = "two add a remark, and try again after a conflict"
    before, after = Outcome([("ann;", 2)], b="Busy"), Outcome([("ann;bob;", 3)])

    def setup(self) -> None:
        self.at.run("CREATE TABLE minutes (id INTEGER PRIMARY KEY, text TEXT, version INTEGER)", "INSERT INTO minutes VALUES (1, '', 1)")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        return lambda: self.module.add_remark(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.at.rows("SELECT text, version FROM minutes")


class PatchSqlite(Proof):
    program, store = "profile_patch", stores.Sqlite
    fix = "`exclude_unset=True`"
    asked = "one sends a new name, the other a new city"
    before, after = Outcome([(None, "Bern")]), Outcome([("Ann", "Bern")])

    def setup(self) -> None:
        self.at.run("CREATE TABLE profiles (id INTEGER PRIMARY KEY, name TEXT, city TEXT)", "INSERT INTO profiles VALUES (1, 'A.', 'Ulm')")

    def worker(self, number: int) -> Any:
        connection = self.at.connect()
        patch = self.module.ProfilePatch.model_validate(({"name": "Ann"}, {"city": "Bern"})[number])
        return lambda: self.module.patch_profile(connection, 1, patch)

    def state(self) -> Any:
        return self.at.rows("SELECT name, city FROM profiles")


class PauseSqlite(Proof):
    program, store = "poll_retry", stores.Sqlite
    fix = "jitter"
    asked = "two lose three conflicts each: do both pause for the same time?"
    before, after = Outcome((3, 3, "the same"), "Busy", "Busy"), Outcome((3, 3, "different"), "Busy", "Busy")
    held = False

    def setup(self) -> None:
        self.at.run("CREATE TABLE polls (id INTEGER PRIMARY KEY, votes INTEGER, version INTEGER)", "INSERT INTO polls VALUES (1, 0, 1)")
        self.pauses: dict[int, list[float]] = {0: [], 1: []}
        self.numbers: dict[int, int] = {}
        self.module.time = types.SimpleNamespace(sleep=lambda seconds: self.pauses[self.numbers[threading.get_ident()]].append(seconds))

    def worker(self, number: int) -> Any:
        connection, third = self.at.connect(), self.at.connect()

        def another_writer(statement: str) -> None:
            """Comes between each read and each write."""
            if statement.startswith("UPDATE polls"):
                third.execute("UPDATE polls SET version = version + 1")
                third.commit()

        def work() -> None:
            self.numbers[threading.get_ident()] = number
            connection.set_trace_callback(another_writer)
            self.module.add_vote(connection, 1)

        return work

    def state(self) -> Any:
        a, b = self.pauses.values()
        return len(a), len(b), "the same" if a == b else "different"
