"""Pieces on a shelf (SQLModel)."""
from typing import Optional

from sqlmodel import Field, Session, SQLModel


class Piece(SQLModel, table=True):
    id: Optional[int] = Field(default=None, primary_key=True)
    count: int = 0


def add_pieces(session: Session, piece_id: int, pieces: int) -> None:
    piece = session.get(Piece, piece_id)
    piece.count += pieces  # expect: orm-increment
    session.add(piece)
    session.commit()
