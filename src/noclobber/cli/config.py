"""`noclobber config`."""

from __future__ import annotations

import os
from typing import Any

from noclobber.cli.common import OK, Failed, Parser, loaded, make_resolver, page_named


def parser() -> Parser:
    cli = Parser("config")
    cli.add_argument("path", nargs="?", default=".", metavar="PATH")
    cli.add_argument("--check", action="store_true", help="only say whether the settings can be used")
    cli.add_argument(
        "--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="this settings file"
    )
    cli.add_argument("--isolated", action="store_true", help="read no settings file")
    cli.add_argument("--schema", action="store_true", help="print the JSON Schema of [tool.noclobber]")
    return cli


def run(arguments: list[str]) -> int:
    from noclobber.config import SETTINGS

    options = parser().parse(arguments)
    if options.schema:
        import json

        from noclobber.config.schema import schema

        print(json.dumps(schema(), indent=2))
        return OK
    if not os.path.exists(options.path):
        raise Failed(f"{options.path}: no such file or directory")
    resolver = make_resolver(options)
    config = resolver.for_path(options.path)
    config.vocabulary  # noqa: B018  a mistake in the user's tables shows here
    if options.check:
        print(f"{config.file}: ok" if config.file else "no settings file; the defaults are in force")
        return OK
    print(f"# root: {config.root}")
    print(f"# file: {config.file or 'none'}")
    rows = []
    for row in SETTINGS.values():
        value = getattr(config.settings, row.name)
        rows.append((f"{row.key} = {_toml(value)}", config.origins.get(row.key, "default")))
    edge = min(max(len(text) for text, _ in rows), 60)
    for text, origin in rows:
        print(f"{text:<{edge}}  # {origin}")
    print(f"# rules that run: {', '.join(sorted(page_named(loaded(), slug).code for slug in config.selected))}")
    return OK


def _toml(value: Any) -> str:
    """The value as TOML would write it on one line."""
    import json

    if value is None:
        return "[]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
            if value
            else "{}"
        )
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
