"""The JSON Schema of [tool.noclobber], made from the table of settings and the tables of the vocabulary that the loader reads."""

from __future__ import annotations

from typing import Any

from noclobber import knowledge
from noclobber.config import FIXED, SETTINGS, Setting
from noclobber.knowledge import tables

STRINGS = {"type": "array", "items": {"type": "string"}}


def schema() -> dict[str, Any]:
    """The schema; keys are those of a settings file without the prefix `tool.noclobber`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://noclobber.github.io/noclobber/noclobber.schema.json",
        "title": "noclobber",
        "description": "Settings of noclobber: [tool.noclobber] in pyproject.toml, or noclobber.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {row.key: _described(row) for row in SETTINGS.values()},
    }


def _described(row: Setting) -> dict[str, Any]:
    made = {"description": row.help, **_value(row)}
    if row.kind not in ("tables",) and row.default not in (None, "", (), {}):
        made["default"] = list(row.default) if isinstance(row.default, tuple) else row.default
    return made


def _value(row: Setting) -> dict[str, Any]:
    if row.kind == "bool":
        return {"type": "boolean"}
    if row.kind == "choice":
        return {"type": "string", "enum": list(row.choices)}
    if row.kind == "string":
        return {"type": "string"}
    if row.kind == "selectors":
        return {"type": "array", "items": {"type": "string", "enum": selectors(row.key.endswith("ignore"))}}
    if row.kind == "severities":
        return {"type": "object", "propertyNames": {"enum": selectors(True)}, "additionalProperties": {"enum": list(row.choices)}}
    if row.kind == "ignores":
        return {"type": "object", "additionalProperties": {"type": "array", "items": {"enum": selectors(True)}}}
    if row.kind == "patterns":
        return {"type": "object", "additionalProperties": STRINGS}
    if row.kind == "tables":
        return {"type": "array", "items": _table(row.key)}
    return dict(STRINGS)


def selectors(ignoring: bool) -> list[str]:
    """What names a rule: ALL, a code, its beginnings, a name. `ignoring`: without those that nobody can turn off."""
    pages = knowledge.load().pages.values()
    words = {"ALL"}
    for page in pages:
        words.update(page.code[:length] for length in range(3, len(page.code)))
        if not (ignoring and page.code in FIXED):
            words.update((page.code, page.slug))
    return sorted(words)


def _table(kind: str) -> dict[str, Any]:
    table = tables.TABLES[kind]
    call = {"anyOf": [{"type": "string"}, {"type": "object"}]}
    properties: dict[str, Any] = {
        op: {"description": text, "anyOf": [*call["anyOf"], {"type": "array", "items": call}]} for op, text in table.ops.items()
    }
    kinds = {"str": ["string"], "bool": ["boolean"], "table": ["object"], "list": ["string", "array"], "str|bool": ["string", "boolean"]}
    for name, entry in table.fields.items():
        properties.setdefault(name, {"description": entry.help, "type": kinds.get(entry.type, ["string", "array", "boolean", "object"])})
    return {"type": "object", "description": table.help, "properties": properties, "required": ["id"]}
