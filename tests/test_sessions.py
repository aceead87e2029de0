"""Whose commit writes a changed row, and what is said where that is out of sight."""
from __future__ import annotations

from typing import Any

from helpers import lint_bytes

HEAD = '''from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Poster(Base):
    __tablename__ = "posters"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]


'''


def only(body: str) -> Any:
    (finding,) = lint_bytes((HEAD + body).encode(), "posters.py")
    return finding


def words(finding: Any) -> list[str]:
    return [mark.message for mark in finding.related if mark.role == "write"]


def test_the_commit_of_this_function_is_the_write() -> None:
    finding = only("def shout(session: Session, n: int):\n    poster = session.get(Poster, n)\n    poster.title = poster.title.upper()\n    session.commit()\n")
    assert (words(finding), finding.doubts) == (["written to the row"], frozenset())
    assert finding.related[-1].place.line == finding.place.line + 1


def test_a_commit_out_of_sight_is_said_to_be_so() -> None:
    finding = only("def shout(session: Session, n: int):\n    poster = session.get(Poster, n)\n    poster.title = poster.title.upper()\n    return poster\n")
    assert words(finding) == ["written when the owner of the session commits"]


def test_the_commit_of_a_session_that_may_be_another_is_doubted() -> None:
    finding = only("def shout(session: Session, other: Session, n: int):\n    poster = session.get(Poster, n)\n    poster.title = poster.title.upper()\n    other.commit()\n")
    assert finding.doubts == {"session-unknown"}


def test_the_commit_of_a_session_that_is_another_writes_nothing() -> None:
    body = "def shout(session: Session, n: int):\n    poster = session.get(Poster, n)\n    session.expunge(poster)\n    poster.title = poster.title.upper()\n    with Session() as other:\n        other.commit()\n"
    assert lint_bytes((HEAD + body).encode(), "posters.py") == []
