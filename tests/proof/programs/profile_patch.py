"""A PATCH of a profile: what the client left out is written as NULL (pydantic, sqlite3)."""
import sqlite3
from typing import Optional

from pydantic import BaseModel


class ProfilePatch(BaseModel):
    name: Optional[str] = None
    city: Optional[str] = None


def patch_profile(connection: sqlite3.Connection, profile_id: int, patch: ProfilePatch) -> None:
    changes = patch.model_dump()  # expect: unset-as-null
    columns = ", ".join(f"{name} = ?" for name in changes)
    connection.execute(f"UPDATE profiles SET {columns} WHERE id = ?", (*changes.values(), profile_id))
    connection.commit()
