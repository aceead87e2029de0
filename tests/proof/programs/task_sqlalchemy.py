"""A task that one person takes (SQLAlchemy)."""
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Task(Base):
    __tablename__ = "tasks"

    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="open")
    taker: Mapped[str] = mapped_column(default="")


class Taken(Exception):
    pass


def take(session: Session, task_id: int, taker: str) -> None:
    task = session.get(Task, task_id)
    if task.state != "open":
        raise Taken(task_id)
    task.state = "taken"  # expect: orm-check-then-act
    task.taker = taker
    session.commit()
