"""External effects: what they are called."""
from __future__ import annotations

from ..events import Effect

#: Effects that stay when their attempt or transaction is undone. Model calls and requests that only look are not among them.
LASTING = frozenset(("email", "sms", "chat", "payment", "publish", "enqueue", "http", "remote"))
_WORDS = {
    "email": "mail", "sms": "text message", "chat": "message", "payment": "payment", "publish": "message", "enqueue": "task", "http": "request", "remote": "request", "process": "command",
}


def thing_of(effect: Effect) -> str:
    """A word for what goes out."""
    return _WORDS.get(effect.what, "effect")
