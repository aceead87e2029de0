"""What a check says: claims and the places they name."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..events import Event, Site, Write

#: Variant of a create whose second the database refuses.
REFUSED = "constraint"


@dataclass(slots=True)
class Mark:
    """A related place: role of `finding.ROLES`, site, words."""

    role: str
    site: Site
    text: str


def written_at(write: Write, changed: Site) -> Mark:
    """Where the row is written. Where the commit is out of sight, nothing is claimed but that it comes: at the change."""
    return Mark("write", changed, "written when the owner of the session commits") if write.owed else Mark("write", write.site, "written to the row")


@dataclass(slots=True)
class Claim:
    """What a check says, before places and confidence. `site`: where the finding stands; `write`: the event it is about."""

    rule: str
    site: Site
    write: Event
    message: str
    related: list = field(default_factory=list)
    guards: list = field(default_factory=list)  # (Site, kind, why it is none)
    record: str = ""
    help: str = ""
    teach: str = ""
    doubts: frozenset = frozenset()
    variant: str = ""
    values: tuple = ()
    obj: str = ""
    read: Any = None  # the Read event, for fixes
    change: Any = None  # the Change event, for fixes
    loop: Any = None  # the Loop (or Begin, Commit) event, for fixes
    tested: Any = None  # the Act or Tested that lets the write through, for fixes
    field: str = ""  # the column or attribute, for fixes
    needs_another: bool = False  # it takes a second run of the same code: what a person starts by hand now and then hardly meets itself


def lock_help_of(write: Write, general: str, field: str = "", record: str = "") -> str:
    """How the row is held from its load to its save, in the library's own terms."""
    return (write.lock_help or general).replace("{field}", field).replace("{record}", record)


def help_of(write: Write, general: str, field: str = "", record: str = "") -> str:
    """The repair in the library's own terms where the vocabulary has a line for it, else in general ones."""
    return (write.help or general).replace("{field}", field).replace("{record}", record)
