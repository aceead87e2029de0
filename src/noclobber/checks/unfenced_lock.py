"""RMW602: a lock that expires by itself is all that protects a write; the write does not ask whether the lock still holds."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import LockEvent, Trace
from noclobber.trace.questions.claims import Claim, Mark
from noclobber.trace.questions.leases import unfenced_by_rows, without_ttl_locks

#: Rules that such a lock silences.
_SILENCED = (
    "blind-sql-update", "blind-http-put", "blind-object-put", "blind-document-replace", "blind-key-set", "blind-accessor-write", "check-then-act", "orm-increment",
    "orm-derived-save", "orm-check-then-act", "check-then-create",
)


def check(trace: Trace) -> Iterator[Claim]:
    for write, take in unfenced_by_rows(trace):
        yield Claim(
            "unfenced-lock", write.site, write,
            f"the write of `{write.record.label}` relies on the lease in `{take.record.label}`, which may have run out by then: it carries no fencing token and no version",
            related=[Mark("lock", take.site, "the lease is taken here, for a time"), Mark("write", write.site, "written whether the lease still holds or not")],
            record=write.record.label, help=_HELP, teach=_TEACH, doubts=write.doubts, values=(("value", write.record.label), ("changed", "its change")),
        )
    yield from _under_locks(trace)


_HELP = "let the write compare a version or a growing fencing token (`WHERE … AND fence < :token`, If-Match), so that the store refuses a holder that is late"
_TEACH = "a write with a condition of its own is silent"


def _under_locks(trace: Trace) -> Iterator[Claim]:
    from noclobber.checks import SLUGS, load

    if not any(lock.kind == "ttl" for event in trace.of("write") for lock in event.ctx.held):
        return
    checks = [load(slug) for slug in _SILENCED if slug in SLUGS]
    said = {id(claim.site.at) for run in checks for claim in run(trace)}
    with without_ttl_locks(trace):
        found = [claim for run in checks for claim in run(trace) if claim.variant != "cache"]
    for claim in found:
        lock = next((lock for lock in sorted(claim.write.ctx.held, key=lambda lock: lock.n) if lock.kind == "ttl"), None)
        if lock is None or id(claim.site.at) in said:
            continue
        said.add(id(claim.site.at))
        taken = trace.events[lock.n]
        yield Claim(
            "unfenced-lock", claim.site, claim.write,
            f"the write of `{claim.record}` relies on a lock that may have expired by then: it carries no fencing token and no version",
            related=[*([Mark("lock", taken.site, "the lock expires by itself")] if isinstance(taken, LockEvent) else []), *claim.related],
            record=claim.record,
            help=_HELP,
            teach=_TEACH,
            doubts=claim.doubts,
            values=claim.values,
        )
