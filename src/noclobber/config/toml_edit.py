"""Adding to a TOML file and touching nothing else of it: its comments, order and line ends stay."""

from __future__ import annotations

import json
import re


def append_table(text: str, table: str) -> str:
    """`table` (whole lines) at the end, after a blank line."""
    end = "\r\n" if "\r\n" in text else "\n"
    body = text.rstrip("\r\n")
    return (body + end + end if body else "") + table.replace("\n", end)


def add_to_list(text: str, table: tuple[str, ...], key: str, value: str) -> str:
    """The text with `value` in the list `key` of a table; the list and the table are made where they are missing."""

    end = "\r\n" if "\r\n" in text else "\n"
    word = json.dumps(value, ensure_ascii=False)
    line, column = _exactly(text, (*table, key))
    if line:
        lines = text.split("\n")
        start = sum(len(row) + 1 for row in lines[: line - 1]) + column - 1
        bracket = text.find("[", text.find("=", start))
        close = _closing(text, bracket)
        inner = text[bracket + 1 : close]
        if word in inner:
            return text
        body = inner.rstrip()
        comma = "" if not body.strip() or body.endswith(",") else ","
        blank = " " if body.strip() and "\n" not in inner else ""
        if "\n" in inner:
            indent = re.search(r"\n([ \t]*)\S", inner)
            addition = f"{comma}\n{indent[1] if indent else '  '}{word},"
        else:
            addition = f"{comma}{blank}{word}"
        return text[: bracket + 1] + body + addition + inner[len(body) :] + text[close:]
    row = f"{key} = [{word}]"
    if not table:
        first = re.search(r"^\s*\[", text, re.MULTILINE)
        head, tail = (text[: first.start()], text[first.start() :]) if first else (text, "")
        body = head.rstrip("\r\n")
        return (body + end if body else "") + row + end + (end if tail else "") + tail.lstrip("\r\n")
    header = "[" + ".".join(table) + "]"
    found = re.search(rf"^[ \t]*\[[ \t]*{'[ .]+'.join(map(re.escape, table))}[ \t]*\][ \t]*(?:#.*)?$", text, re.MULTILINE)
    if found:
        after = text.find("\n", found.end())
        after = len(text) if after < 0 else after + 1
        lead = "" if text[:after].endswith("\n") else end
        return text[:after] + lead + row + end + text[after:]
    return append_table(text, f"{header}\n{row}\n")


def _exactly(text: str, keys: tuple[str, ...]) -> tuple[int, int]:
    from noclobber.config.places import _places

    return _places(text).get(keys, (0, 0))


def _closing(text: str, at: int) -> int:
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            stop = at + 1
            while stop < len(text) and text[stop] != char:
                stop += 2 if text[stop] == "\\" and char == '"' else 1
            at = stop
        elif char == "#":
            at = text.find("\n", at)
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return at
        at += 1
    return len(text)
