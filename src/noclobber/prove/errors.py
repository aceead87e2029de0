"""Why no test can be written."""

from __future__ import annotations


class CannotProve(Exception):
    """`missing`: what is not there or not known. `remedy`: what the user can do about it."""

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(missing)
        self.missing, self.remedy = missing, remedy
