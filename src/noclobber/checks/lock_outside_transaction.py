"""RMW207: a row lock is asked for where no transaction is open that could hold it."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.locks import locks_outside


def check(trace: Trace) -> Iterator[Claim]:
    for found in locks_outside(trace):
        label = found.read.record.label
        yield Claim(
            "lock-outside-transaction", found.read.site, found.read,
            f"the lock of `{label}` guards nothing: {found.why}",
            related=[Mark("lock", found.read.site, f"`{label}` is to be locked here"),
                     *([Mark("transaction", found.begin.site, "the transaction begins here")] if found.begin is not None else [])],
            record=label,
            help="open the transaction first and evaluate the locking query inside it, the write too: `with transaction.atomic():`, `async with conn.transaction():`, `with db.atomic():`",
            teach="transaction = [\"name_of_your_decorator\"]  # [tool.noclobber.patterns]: what opens a transaction",
            values=(("value", label), ("lock", "the row lock")),
        )
