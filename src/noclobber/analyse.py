"""One file's bytes → its raw findings."""
from __future__ import annotations

from typing import Any

from noclobber.finding import FileResult


def analyse(data: bytes, path: str, config: Any) -> FileResult:
    """The raw findings in `data`, the content of the file shown as `path`. `config`: config.Config."""
    return FileResult(path)
