"""RMW102: the ETag of the response that was read goes back as If-Match."""
from __future__ import annotations

from .job import Draft, Job
from .witness import conditional


def fix(job: Job) -> Draft:
    return conditional(job)
