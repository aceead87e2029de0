"""JSON Lines: a record in each line, with `type`: finding, error, and one summary at the end."""

from __future__ import annotations

import json
from typing import Any, TextIO

from noclobber.report import Lines, Options, shown
from noclobber.report.json import document


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the records of the JSON document, each on its own line."""
    whole = document(settled, shown(settled, options))
    for kind, records in (("finding", whole["findings"]), ("error", whole["errors"]), ("summary", [whole["summary"]])):
        for record in records:
            stream.write(json.dumps({"type": kind, **record}) + "\n")
