"""RMW103: the ETag or generation of the object that was read goes back with the write."""
from __future__ import annotations

from .job import Draft, Job
from .witness import conditional


def fix(job: Job) -> Draft:
    return conditional(job)
