"""Deposits whose new balance is told (SQLAlchemy)."""
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"

    id: Mapped[int] = mapped_column(primary_key=True)
    balance: Mapped[int] = mapped_column(default=0)


def deposit(session: Session, account_id: int, amount: int) -> int:
    account = session.get(Account, account_id)
    account.balance += amount  # expect: orm-increment
    session.commit()
    return account.balance
