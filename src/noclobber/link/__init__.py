"""Answers the walk's questions: a name's target, a function's body, a class's facts, who calls this.

The answers come from the module at hand and from the modules of its project that it imports; callers from those that name the function.
Everything is lowered on demand, once. What cannot be found is answered with the dotted target only.
"""
from __future__ import annotations

from .ask import Ask
from .modules import Library
from .scopes import Loose

__all__ = ["Ask", "Library", "Loose"]
