"""Gift vouchers, kept in the SQLite file of the shop's till server."""
import sqlite3


def spend(db: sqlite3.Connection, code: str, cents: int) -> int:
    row = db.execute("SELECT balance FROM vouchers WHERE code = ?", (code,)).fetchone()
    left = row[0] - cents
    db.execute("UPDATE vouchers SET balance = ? WHERE code = ?", (left, code))
    db.commit()
    return left


def top_up(db: sqlite3.Connection, code: str, cents: int) -> None:
    db.execute("UPDATE vouchers SET balance = balance + ? WHERE code = ?", (cents, code))
    db.commit()


def charge_fee(db: sqlite3.Connection, code: str, percent: int) -> None:
    balance, version = db.execute("SELECT balance, version FROM vouchers WHERE code = ?", (code,)).fetchone()
    fee = max(100, balance * percent // 100)
    done = db.execute(
        "UPDATE vouchers SET balance = ?, version = version + 1 WHERE code = ? AND version = ?",
        (balance - fee, code, version),
    )
    if done.rowcount != 1:
        db.rollback()
        raise RuntimeError(f"voucher {code} was changed by someone else")
    db.commit()


def issue(db: sqlite3.Connection, code: str, cents: int) -> None:
    db.execute("INSERT INTO vouchers (code, balance, version) VALUES (?, ?, 1)", (code, cents))
    db.commit()
