"""Where a key stands in TOML text: a light scan, since tomllib gives values without their places.

Only ever serves a message, so it trusts that the text is TOML.
"""

from __future__ import annotations


def locate(text: str, keys: tuple[str | int, ...]) -> tuple[int, int]:
    """(line, column) of a key or table header in TOML text that parses; of its nearest parent; (0, 0) for none.

    The n-th `[[a.b]]` is ("a", "b", n).
    """
    places = _places(text)
    while keys:
        if keys in places:
            return places[keys]
        keys = keys[:-1]
    return 0, 0


def locate_item(text: str, keys: tuple[str | int, ...], item: object) -> tuple[int, int] | None:
    """(line, column) of the string `item` behind a key: an element of its list or a key of its table."""
    if not isinstance(item, str):
        return None
    deeper = _places(text).get((*keys, item))
    if deeper:
        return deeper
    line, column = locate(text, keys)
    lines = text.split("\n")
    for number in range(line, len(lines) + 1):
        start = column if number == line else 0
        for quoted in (f'"{item}"', f"'{item}'"):
            at = lines[number - 1].find(quoted, start)
            if at >= 0:
                return number, at + 1
    return None


def _places(text: str) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """A light scan: (line, column) of every table header and every key that starts a line. Trusts that the text is
    TOML."""
    places: dict[tuple[str | int, ...], tuple[int, int]] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    at, length, line, line_start = 0, len(text), 1, 0
    while at < length:
        char = text[at]
        if char in " \t\r\ufeff":
            at += 1
        elif char == "\n":
            at, line = at + 1, line + 1
            line_start = at
        elif char == "#":
            at = _line_end(text, at)
        elif char == "[":
            double = text.startswith("[[", at)
            where = (line, at - line_start + 1)
            names, at = _key(text, at + (2 if double else 1))
            table = ()
            for part in names[:-1]:
                table = (*table, part)
                if table in counts:
                    table = (*table, counts[table])
            table = (*table, *names[-1:])
            places.setdefault(table, where)
            if double:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
                places[table] = where
            at = _line_end(text, at)
        else:
            where = (line, at - line_start + 1)
            start = at
            names, at = _key(text, at)
            for count in range(1, len(names) + 1):
                places.setdefault((*table, *names[:count]), where)
            at = max(_value_end(text, at), start + 1)
            breaks = text.count("\n", start, at)
            if breaks:
                line += breaks
                line_start = text.rfind("\n", start, at) + 1
    return places


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The dotted key at `at`, and the position of the `=` or `]` behind it."""
    names: list[str] = []
    name = ""
    while at < len(text) and text[at] not in "=]\n":
        char = text[at]
        if char in "\"'":
            end = at + 1
            while end < len(text) and text[end] not in (char, "\n"):
                end += 2 if text[end] == "\\" and char == '"' else 1
            name += text[at + 1 : end]
            at = end + 1
            continue
        if char == ".":
            names.append(name)
            name = ""
        elif char not in " \t":
            name += char
        at += 1
    return (*names, name), at


def _value_end(text: str, at: int) -> int:
    """The end of the line on which the value that starts at `at` ends."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\n" and depth == 0:
            return at
        if char == "#":
            at = _line_end(text, at)
            continue
        if char in "\"'":
            mark = char * 3 if text.startswith(char * 3, at) else char
            at += len(mark)
            while at < len(text) and not text.startswith(mark, at):
                at += 2 if text[at] == "\\" and char == '"' else 1
            at += len(mark)
            continue
        depth += (char in "[{") - (char in "]}")
        at += 1
    return at
