"""Counting the tills, and confirming the orders that were paid at one of them."""
import smtplib
import sqlite3
from email.message import EmailMessage


class OrderBusy(Exception):
    """The order kept changing while it was being confirmed."""


def record_count(db: sqlite3.Connection, till: int, version: int, counted: int) -> None:
    db.execute(
        "UPDATE tills SET counted = ?, version = version + 1 WHERE id = ? AND version = ?",
        (counted, till, version),
    )
    db.commit()


def close_till(db: sqlite3.Connection, till: int, version: int, cashier: str) -> bool:
    done = db.execute(
        "UPDATE tills SET closed_by = ?, version = version + 1 WHERE id = ? AND version = ?",
        (cashier, till, version),
    )
    db.commit()
    return done.rowcount == 1


def _letter(to: str, subject: str, text: str) -> EmailMessage:
    letter = EmailMessage()
    letter["From"] = "tickets@example.org"
    letter["To"] = to
    letter["Subject"] = subject
    letter.set_content(text)
    return letter


def confirm(db: sqlite3.Connection, mail: smtplib.SMTP, order: int) -> None:
    for _ in range(5):
        email, seats, version = db.execute(
            "SELECT email, seats, version FROM orders WHERE id = ?", (order,)
        ).fetchone()
        mail.send_message(_letter(email, "Your tickets", f"{seats} seats are yours."))
        done = db.execute(
            "UPDATE orders SET confirmed_seats = ?, version = version + 1 WHERE id = ? AND version = ?",
            (seats, order, version),
        )
        db.commit()
        if done.rowcount == 1:
            return
    raise OrderBusy(order)


def change_seats(db: sqlite3.Connection, mail: smtplib.SMTP, order: int, extra: int) -> None:
    for _ in range(5):
        email, seats, version = db.execute(
            "SELECT email, seats, version FROM orders WHERE id = ?", (order,)
        ).fetchone()
        wanted = max(1, seats + extra)
        done = db.execute(
            "UPDATE orders SET seats = ?, version = version + 1 WHERE id = ? AND version = ?",
            (wanted, order, version),
        )
        db.commit()
        if done.rowcount == 1:
            break
    else:
        raise OrderBusy(order)
    mail.send_message(_letter(email, "Your order was changed", f"You now have {wanted} seats."))
