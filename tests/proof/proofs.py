"""The proofs. docs/proofs.md is made of them: `python -m noclobber.dev proofs`."""

from __future__ import annotations

import proofs_documents  # noqa: F401  each proof is known by being written
import proofs_orm  # noqa: F401
import proofs_sql  # noqa: F401
from proof import KNOWN

#: Programs whose fix is not there yet: their test fails when it comes.
PENDING: set[str] = set()
WAITING = [proof for proof in KNOWN if proof.program in PENDING]
PROOFS = [proof for proof in KNOWN if proof.program not in PENDING]
