"""How many people went through a turnstile (SQLAlchemy)."""
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Turnstile(Base):
    __tablename__ = "turnstiles"

    id: Mapped[int] = mapped_column(primary_key=True)
    passed: Mapped[int] = mapped_column(default=0)


def count(session: Session, turnstile_id: int, people: int) -> None:
    turnstile = session.get(Turnstile, turnstile_id)
    turnstile.passed += people  # expect: orm-increment
    session.commit()
