"""The whole of `rules/` → plain data. Imported only when TOML has to be parsed (a changed checkout, the wheel's
build)."""

from __future__ import annotations

import hashlib
from typing import Any

from noclobber.knowledge import pages
from noclobber.knowledge.build import Layer, merge
from noclobber.knowledge.compiled import FORMAT, read_files
from noclobber.knowledge.errors import KnowledgeError, TomlLines, decode, parse_toml
from noclobber.knowledge.index import index_entries

NAMES_FILE = "vocabulary/_names.toml"


def compile_rules(folder: str) -> dict[str, Any]:
    """Return {"format", "digest", "entries", "patterns", "index", "pages", "precedence"} of the rules in `folder`.

    Plain data only (what marshal stores). Errors name files as `rules/…`. Raises KnowledgeError.
    """
    files = read_files(str(folder))
    layers, patterns, catalog = [], {}, []
    precedence: list[list[str]] = []
    for name, data in files.items():
        shown = f"rules/{name}"
        text = decode(data, shown)
        if name.startswith("catalog/"):
            if not name.endswith(("/README.md", "/index.md")):
                catalog.append(pages.parse(text, shown))
        elif name == "precedence.toml":
            precedence = _precedence(text, shown)
        elif name.startswith("vocabulary/"):
            layer = Layer(parse_toml(text, shown), shown, text)
            for group, globs in layer.patterns.items():
                if group in patterns:
                    raise KnowledgeError(shown, layer.lines.table("patterns"), f'a second group of patterns "{group}"')
                patterns[group] = globs
            layers.append(layer)
    entries = merge([], layers)
    _check_pages(catalog)
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return {
        "format": FORMAT,
        "digest": digest.hexdigest(),
        "entries": entries,
        "patterns": patterns,
        "index": index_entries(entries),
        "pages": catalog,
        "precedence": precedence,
    }


def _check_pages(catalog: list[dict]) -> None:
    seen: dict[str, str] = {}
    for page in catalog:
        if page["code"] in seen:
            raise KnowledgeError(page["path"], 1, f"{page['code']} is the code of {seen[page['code']]} already")
        seen[page["code"]] = page["path"]


def _precedence(text: str, path: str) -> list[list[str]]:
    """Read `[[order]] group, slugs, why`. Raises KnowledgeError for a wrong shape or when the orders contradict each
    other."""
    document = parse_toml(text, path)
    lines = TomlLines(text)
    for key in document:
        if key != "order":
            raise KnowledgeError(path, lines.table(key), f'unknown table "{key}"; did you mean "order"?')
    rows = document.get("order", [])
    if not isinstance(rows, list):
        raise KnowledgeError(path, lines.table("order"), '"order" is an array of tables: write [[order]]')
    orders: list[list[str]] = []
    for number, row in enumerate(rows):
        line = lines.table("order", number)
        if not isinstance(row, dict):
            raise KnowledgeError(path, line, '"order" is an array of tables: write [[order]]')
        for key, value in row.items():
            if key not in ("group", "slugs", "why"):
                raise KnowledgeError(
                    path, lines.key(line, key), f'unknown field "{key}" in [[order]]; one of: group, slugs, why'
                )
            if key != "slugs" and not isinstance(value, str):
                raise KnowledgeError(path, lines.key(line, key), f'"{key}" must be a string')
        group, slugs = row.get("group"), row.get("slugs")
        if group not in pages.GROUPS:
            raise KnowledgeError(
                path, lines.key(line, "group"), f"[[order]] needs group, one of: {', '.join(pages.GROUPS)}"
            )
        if not isinstance(slugs, list) or len(slugs) < 2 or not all(isinstance(slug, str) for slug in slugs):
            raise KnowledgeError(path, lines.key(line, "slugs"), "[[order]] needs slugs, a list of at least two")
        orders.append(slugs)
        loop = _loop(orders)
        if loop:
            raise KnowledgeError(
                path, lines.key(line, "slugs"), f"the orders contradict each other: {' > '.join(loop)}"
            )
    return orders


def _loop(orders: list[list[str]]) -> list[str]:
    """Return a circle of slugs in the orders, or []."""
    after: dict[str, set[str]] = {}
    for order in orders:
        for first, second in zip(order, order[1:]):
            after.setdefault(first, set()).add(second)
    state: dict[str, int] = {}
    for root in after:
        stack = [(root, iter(sorted(after.get(root, ()))))]
        if state.get(root):
            continue
        state[root] = 1
        while stack:
            slug, following = stack[-1]
            nxt = next(following, None)
            if nxt is None:
                state[slug] = 2
                stack.pop()
            elif state.get(nxt) == 1:
                path = [name for name, _ in stack]
                return [*path[path.index(nxt) :], nxt]
            elif not state.get(nxt):
                state[nxt] = 1
                stack.append((nxt, iter(sorted(after.get(nxt, ())))))
    return []
