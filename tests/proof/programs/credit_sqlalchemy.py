"""Credits that must not fall below zero (SQLAlchemy)."""
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Credit(Base):
    __tablename__ = "credits"

    id: Mapped[int] = mapped_column(primary_key=True)
    left: Mapped[int] = mapped_column(default=0)


class TooFew(Exception):
    pass


def spend(session: Session, credit_id: int, amount: int) -> None:
    credit = session.get(Credit, credit_id)
    if credit.left < amount:
        raise TooFew(credit_id)
    credit.left -= amount  # expect: orm-increment
    session.commit()
