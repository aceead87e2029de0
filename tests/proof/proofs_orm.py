"""Proofs over ORMs and SQLAlchemy Core, on SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

import stores
from proof import AMOUNTS, NAMES, Outcome, Proof


class LoyaltySqlite(Proof):
    program, store = "loyalty_django", stores.DjangoSqlite
    fix = '`F("points") + points`, `update_fields`'
    asked = "5 and 10 points are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.create(self.module.Card)
        self.module.Card.objects.create(id=1, holder="Ann")

    def worker(self, number: int) -> Any:
        return lambda: self.module.add_points(1, AMOUNTS[number])

    def state(self) -> Any:
        return self.module.Card.objects.values_list("points", flat=True).get()


class LoyaltyPostgres(LoyaltySqlite):
    store = stores.DjangoPostgres


class WalletPostgres(Proof):
    program, store = "wallet_django", stores.DjangoPostgres
    fix = '`F("cents") + cents`'
    asked = "5 and 10 cents are added to 0, each in a transaction"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.create(self.module.Wallet)
        self.module.Wallet.objects.create(id=1)

    def worker(self, number: int) -> Any:
        wallet = self.module.Wallet.objects.get(pk=1)
        return lambda: wallet.charge(AMOUNTS[number])

    def state(self) -> Any:
        return self.module.Wallet.objects.values_list("cents", flat=True).get()


class TurnstileSqlite(Proof):
    program, store = "turnstile_sqlalchemy", stores.AlchemySqlite
    fix = "`Turnstile.passed + people`"
    asked = "5 and 10 people pass, from 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.module.Base.metadata.create_all(self.at.engine)
        session = self.at.session()
        session.add(self.module.Turnstile(id=1, passed=0))
        session.commit()

    def worker(self, number: int) -> Any:
        session = self.at.session()
        return lambda: self.module.count(session, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.at.session().get(self.module.Turnstile, 1).passed


class TurnstilePostgres(TurnstileSqlite):
    store = stores.AlchemyPostgres


class TankPeewee(Proof):
    program, store = "tank_peewee", stores.Peewee
    fix = "`Tank.litres + litres`"
    asked = "5 and 10 litres are filled in, from 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.bind(self.module, self.module.Tank)
        self.module.Tank.create(id=1)

    def worker(self, number: int) -> Any:
        return lambda: self.module.fill(1, AMOUNTS[number])

    def state(self) -> Any:
        return self.module.Tank.get_by_id(1).litres


class MemberSqlite(Proof):
    program, store = "member_django", stores.DjangoSqlite
    fix = '`update_fields=["name"]`'
    asked = "one changes the name; meanwhile the city is changed"
    before, after = Outcome(("Ann", "Ulm")), Outcome(("Ann", "Bern"))

    def setup(self) -> None:
        self.at.create(self.module.Member)
        self.module.Member.objects.create(id=1, name="A.", city="Ulm")

    def worker(self, number: int) -> Any:
        return (lambda: self.module.rename(1, "Ann")) if number else (lambda: self.module.move(1, "Bern"))

    def state(self) -> Any:
        return self.module.Member.objects.values_list("name", "city").get()


class MemberPostgres(MemberSqlite):
    store = stores.DjangoPostgres


class BoatPeewee(Proof):
    program, store = "boat_peewee", stores.Peewee
    fix = "`only=[...]`"
    asked = "one changes the owner; meanwhile the berth is changed"
    before, after = Outcome(("Ann", "3")), Outcome(("Ann", "7"))

    def setup(self) -> None:
        self.at.bind(self.module, self.module.Boat)
        self.module.Boat.create(id=1, owner="A.", berth="3")

    def worker(self, number: int) -> Any:
        return (lambda: self.module.sell(1, "Ann")) if number else (lambda: self.module.berth_at(1, "7"))

    def state(self) -> Any:
        boat = self.module.Boat.get_by_id(1)
        return boat.owner, boat.berth


class TagsSqlite(Proof):
    program, store = "tags_django", stores.DjangoSqlite
    fix = "`get_or_create`"
    asked = "two ask for a tag that is not there yet"
    before, after = Outcome(1, "1", "IntegrityError"), Outcome(1, "1", "1")

    def setup(self) -> None:
        self.at.create(self.module.Tag)

    def worker(self, number: int) -> Any:
        return lambda: self.module.tag_named("new")

    def state(self) -> Any:
        return self.module.Tag.objects.count()


class TagsPostgres(TagsSqlite):
    store = stores.DjangoPostgres


class OrderSqlite(Proof):
    program, store = "order_django", stores.DjangoSqlite
    fix = '`filter(pk=..., status="open").update(...)`, and the count is checked'
    asked = "two pay one order"
    before, after = Outcome(("paid", "bob")), Outcome(("paid", "ann"), b="NotOpen")

    def setup(self) -> None:
        self.at.create(self.module.Order)
        self.module.Order.objects.create(id=1)

    def worker(self, number: int) -> Any:
        return lambda: self.module.pay(1, NAMES[number])

    def state(self) -> Any:
        return self.module.Order.objects.values_list("status", "payer").get()


class OrderPostgres(OrderSqlite):
    store = stores.DjangoPostgres


class ArticleSqlite(Proof):
    program, store = "article_django", stores.DjangoSqlite
    fix = "the count is checked"
    asked = "two publish a text, both on version 1"
    before, after = Outcome(("ann", 2)), Outcome(("ann", 2), b="RuntimeError")

    def setup(self) -> None:
        self.at.create(self.module.Article)
        self.module.Article.objects.create(id=1, text="draft")

    def worker(self, number: int) -> Any:
        return lambda: self.module.publish(1, NAMES[number], 1)

    def state(self) -> Any:
        return self.module.Article.objects.values_list("text", "version").get()


class ArticlePostgres(ArticleSqlite):
    store = stores.DjangoPostgres


class SignupSqlite(Proof):
    program, store = "signup_django", stores.DjangoSqlite
    fix = "`transaction.on_commit(...)`"
    asked = "two sign up for one place: how many signed up, who got a mail?"
    before = Outcome((1, ["ann", "bob"]), b="IntegrityError")
    after = Outcome((1, ["ann"]), b="IntegrityError")

    def setup(self) -> None:
        self.at.create(self.module.Course, self.module.Signup)
        self.module.Course.objects.create(id=1)

    def worker(self, number: int) -> Any:
        return lambda: self.module.sign_up(1, NAMES[number])

    def state(self) -> Any:
        return self.module.Signup.objects.count(), [to for mail in self.at.outbox() for to in mail.to]


class SignupPostgres(SignupSqlite):
    store = stores.DjangoPostgres


class PiecesSqlModel(Proof):
    program, store = "stock_sqlmodel", stores.SqlModel
    fix = "`Piece.count + pieces`"
    asked = "5 and 10 pieces are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.module.Piece.metadata.create_all(self.at.engine)
        session = self.at.session()
        session.add(self.module.Piece(id=1))
        session.commit()

    def worker(self, number: int) -> Any:
        session = self.at.session()
        return lambda: self.module.add_pieces(session, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.at.session().get(self.module.Piece, 1).count


class MeterTortoise(Proof):
    program, store = "meter_tortoise", stores.Tortoise
    fix = '`F("units") + units`, `update_fields`'
    asked = "5 and 10 units are added to 0"
    before, after = Outcome(10), Outcome(15)

    def setup(self) -> None:
        self.at.loop(self.module, lambda: self.module.Meter.create(id=1), schemas=True)

    def worker(self, number: int) -> Any:
        return lambda: self.at.loop(self.module, lambda: self.module.read_off(1, AMOUNTS[number]))

    def state(self) -> Any:
        return self.at.rows("SELECT units FROM meter")


class TaskSqlite(Proof):
    program, store = "task_sqlalchemy", stores.AlchemySqlite
    fix = '`where(Task.state == "open")`, and the count is checked'
    asked = "two take one task"
    before, after = Outcome(("taken", "bob")), Outcome(("taken", "ann"), b="Taken")

    def setup(self) -> None:
        self.module.Base.metadata.create_all(self.at.engine)
        session = self.at.session()
        session.add(self.module.Task(id=1))
        session.commit()

    def worker(self, number: int) -> Any:
        session = self.at.session()
        return lambda: self.module.take(session, 1, NAMES[number])

    def state(self) -> Any:
        task = self.at.session().get(self.module.Task, 1)
        return task.state, task.taker


class TaskPostgres(TaskSqlite):
    store = stores.AlchemyPostgres


class TicketSqlite(Proof):
    program, store = "ticket_core", stores.AlchemySqlite
    fix = "the count is checked"
    asked = "two set the title, both on version 1"
    before, after = Outcome([("ann", 2)]), Outcome([("ann", 2)], b="RuntimeError")

    def setup(self) -> None:
        self.module.metadata.create_all(self.at.engine)
        with self.at.engine.begin() as connection:
            connection.execute(self.module.tickets.insert().values(id=1, title="", version=1))

    def worker(self, number: int) -> Any:
        connection = self.at.closing(self.at.engine.connect())
        return lambda: self.module.retitle(connection, 1, NAMES[number], 1)

    def state(self) -> Any:
        with self.at.engine.connect() as connection:
            return [tuple(row)[1:] for row in connection.execute(self.module.tickets.select())]


class TicketPostgres(TicketSqlite):
    store = stores.AlchemyPostgres


class VoucherPeewee(Proof):
    program, store = "voucher_peewee", stores.Peewee
    fix = '`update(...).where(Voucher.state == "open")`, and the count is checked'
    asked = "two redeem one voucher"
    before, after = Outcome(("redeemed", "bob")), Outcome(("redeemed", "ann"), b="NotOpen")

    def setup(self) -> None:
        self.at.bind(self.module, self.module.Voucher)
        self.module.Voucher.create(id=1)

    def worker(self, number: int) -> Any:
        return lambda: self.module.redeem(1, NAMES[number])

    def state(self) -> Any:
        voucher = self.module.Voucher.get_by_id(1)
        return voucher.state, voucher.guest


class CreditSqlite(Proof):
    program, store = "credit_sqlalchemy", stores.AlchemySqlite
    fix = "`Credit.left - amount`, `where(Credit.left >= amount)`, and the count is checked"
    asked = "5 and 10 of 12 credits are spent"
    before, after = Outcome(2), Outcome(7, b="TooFew")

    def setup(self) -> None:
        self.module.Base.metadata.create_all(self.at.engine)
        session = self.at.session()
        session.add(self.module.Credit(id=1, left=12))
        session.commit()

    def worker(self, number: int) -> Any:
        session = self.at.session()
        return lambda: self.module.spend(session, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.at.session().get(self.module.Credit, 1).left


class CreditPostgres(CreditSqlite):
    store = stores.AlchemyPostgres


class DepositPostgres(Proof):
    program, store = "deposit_sqlalchemy", stores.AlchemyPostgres
    fix = "`with_for_update=True`: the new number is wanted"
    asked = "5 and 10 are deposited, from 0, and the balance is told"
    before, after = Outcome(10, "5", "10"), Outcome(15, "5", "15")
    meets = False

    def setup(self) -> None:
        self.module.Base.metadata.create_all(self.at.engine)
        session = self.at.session()
        session.add(self.module.Account(id=1, balance=0))
        session.commit()

    def worker(self, number: int) -> Any:
        session = self.at.session()
        return lambda: self.module.deposit(session, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.at.session().get(self.module.Account, 1).balance


class PursePostgres(Proof):
    program, store = "purse_django", stores.DjangoPostgres
    fix = "`select_for_update()`, as the project does elsewhere"
    asked = "5 and 10 cents are put in, from 0"
    before, after = Outcome(10), Outcome(15)
    meets = False

    def setup(self) -> None:
        self.at.create(self.module.Purse)
        self.module.Purse.objects.create(id=1)

    def worker(self, number: int) -> Any:
        return lambda: self.module.put_in(1, AMOUNTS[number])

    def state(self) -> Any:
        return self.module.Purse.objects.values_list("cents", flat=True).get()


class SeatsSqlite(Proof):
    program, store = "seats_core", stores.AlchemySqlite
    fix = "`coaches.c.left - seats`, `where(coaches.c.left >= seats)`, and the count is checked"
    asked = "5 and 10 of 12 seats are booked"
    before, after = Outcome([(1, 2)]), Outcome([(1, 7)], b="Full")

    def setup(self) -> None:
        self.fill(self.module.coaches, id=1, left=12)

    def fill(self, table: Any, **row: Any) -> None:
        self.module.metadata.create_all(self.at.engine)
        with self.at.engine.begin() as connection:
            connection.execute(table.insert().values(**row))

    def rows(self, table: Any) -> Any:
        with self.at.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(table.select())]

    def worker(self, number: int) -> Any:
        connection = self.at.closing(self.at.engine.connect())
        return lambda: self.module.book(connection, 1, AMOUNTS[number])

    def state(self) -> Any:
        return self.rows(self.module.coaches)


class SeatsPostgres(SeatsSqlite):
    store = stores.AlchemyPostgres


class PageCorePostgres(SeatsSqlite):
    program, store = "page_core", stores.AlchemyPostgres
    fix = "`where(pages.c.version == row.version)`, and the count is checked"
    asked = "two add a line, both to version 1"
    before, after = Outcome([(1, "bob;", 1)]), Outcome([(1, "ann;", 2)], b="RuntimeError")

    def setup(self) -> None:
        self.fill(self.module.pages, id=1, body="", version=1)

    def worker(self, number: int) -> Any:
        connection = self.at.closing(self.at.engine.connect())
        return lambda: self.module.add_line(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.rows(self.module.pages)


class HoldCorePostgres(SeatsSqlite):
    program, store = "hold_core", stores.AlchemyPostgres
    fix = '`where(holds.c.state == "free")`, and the count is checked'
    asked = "two hold one seat"
    before, after = Outcome([(1, "held", "bob")]), Outcome([(1, "held", "ann")], b="Held")

    def setup(self) -> None:
        self.fill(self.module.holds, seat=1, state="free", guest="")

    def worker(self, number: int) -> Any:
        connection = self.at.closing(self.at.engine.connect())
        return lambda: self.module.hold(connection, 1, NAMES[number])

    def state(self) -> Any:
        return self.rows(self.module.holds)
