"""`docs/stores.md`: what the vocabulary knows of each library that holds state, as a table."""
from __future__ import annotations

from typing import Any, Iterable

#: Family of a store → the rules that speak of its records.
RULES = {
    "sql": "RMW101, RMW107, RMW205, RMW301, RMW304", "orm": "RMW201 to RMW208, RMW302, RMW304, RMW305", "http": "RMW102, RMW107, RMW303, RMW305, RMW306",
    "object": "RMW103, RMW107, RMW108, RMW306", "document": "RMW104, RMW107, RMW108, RMW302, RMW304", "key": "RMW105, RMW107, RMW302, RMW602, RMW603", "file": "RMW106, RMW109",
    "accessor": "RMW106", "remote": "RMW403",
}
_TITLES = {
    "sql": "SQL drivers", "orm": "Object mappers", "http": "HTTP clients", "object": "Object stores", "document": "Document stores and APIs", "key": "Key-value stores and coordination",
    "file": "Files", "accessor": "Accessors", "remote": "Commands",
}
_READING = ("read", "load", "many", "scalar", "fetch", "decode")
_WRITING = ("write", "run", "persist", "set_write", "upsert", "batch", "flush", "commit")
HEAD = """# Stores

What noclobber knows of each library that holds state: how a record is read and written, what makes a write conditional, how a refused write shows, and which rules speak of it. Made from
`rules/vocabulary/` by `python -m noclobber.dev generate`. `noclobber stores list` prints it for a project with what its own settings add; `noclobber stores check --verify` compares the signatures with the libraries that
are installed.
"""


def stores_page(vocabulary: Any) -> str:
    """The page: a table for each family, a row for each entry that reads or writes."""
    rows: dict[str, list[str]] = {family: [] for family in RULES}
    for kind in ("store", "orm"):
        for entry in vocabulary.entries(kind):
            family = "orm" if kind == "orm" else entry.fields.get("family") or "key"
            row = _row(entry)
            if row is not None:
                rows[family].append(row)
    parts = [HEAD]
    for family, found in rows.items():
        if found:
            parts.append(f"\n## {_TITLES[family]}\nRules: {RULES[family]}, and those about retries, effects, locks and tools.\n\n"
                         "| entry | read | write | precondition | a refused write | checked against |\n|---|---|---|---|---|---|\n" + "".join(sorted(found)))
    return "".join(parts)


def _row(entry: Any) -> str | None:
    reads = _calls(spec for spec in entry.specs if spec.op in _READING)
    writes = _calls(spec for spec in entry.specs if spec.op in _WRITING)
    if not reads and not writes:
        return None
    conditions = dict.fromkeys(param.name for spec in entry.specs if spec.op in (*_WRITING, "delete") for param in spec.signature.params if param.role == "precondition")
    conditions.update(dict.fromkeys(entry.fields.get("precondition_headers", ())))
    if entry.fields.get("always_conditional"):
        conditions["always"] = None
    refused = dict.fromkeys(text for spec in entry.specs if spec.op in (*_WRITING, "create", "delete") for text in spec.get("conflict") or ())
    cells = (entry.id, reads, writes, _code(conditions), _code(refused), str(entry.fields.get("verified", "")))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _calls(specs: Iterable[Any]) -> str:
    return _code(dict.fromkeys(spec.signature.name.removeprefix("_.").lstrip(".") for spec in specs))


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
