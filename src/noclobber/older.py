"""The same text for an older Python: without type parameters and `type` statements (PEP 695), with the brackets of `except A, B:` (PEP 758).

Every line keeps its place. A file that only a newer Python reads would be walked by itself, but nothing in it could be found from another module.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?m)^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w+[ \t]*(?=\[)")
_ALIAS = re.compile(r"(?m)^(?P<indent>[ \t]*)type(?P<space>[ \t]+)(?P<name>[^\W\d]\w*)(?P<params>[ \t]*\[[^\n=]*\])?(?=[ \t]*=)")
_EXCEPT = re.compile(r"(?m)^(?P<head>[ \t]*except\*?)[ \t](?P<types>[ \t]*[\w.]+[ \t]*(?:,[ \t]*[\w.]+[ \t]*)+)(?=:)")
_TOKEN = re.compile(r"""(?s)#[^\n]*|(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|[\[\](){}]""")
_BLANK = re.compile(r"[^\n]")


def for_older_python(text: str) -> str:
    """`text` as an older Python reads it, or as it is where it has nothing newer. Lines stay; columns, too, but behind an added bracket."""
    pieces: list[str] = []
    done = 0
    for head in _HEAD.finditer(text):
        if head.start() < done:
            continue
        end = _closed(text, head.end())
        if end is None:
            continue
        bracket = text[head.end():end]
        after = re.compile(r"\s*\(").match(text, end)
        pieces.append(text[done:head.end()])
        if "\n" not in bracket:
            pieces.append(" " * len(bracket))
            done = end
        elif after is not None:  # one bracket goes on over the lines
            pieces.append("(" + _BLANK.sub(" ", text[head.end() + 1:after.end()]))
            done = after.end()
        else:
            pieces.append("(" + _BLANK.sub(" ", bracket[1:-1]) + ")")
            done = end
    text = _EXCEPT.sub(lambda found: f"{found['head']}({found['types']})", "".join(pieces) + text[done:])
    return _ALIAS.sub(lambda found: found["indent"] + found["name"] + " " * (4 + len(found["space"]) + len(found["params"] or "")), text)


def _closed(text: str, start: int) -> int | None:
    """The place behind the bracket that opens at `start`; None: it is not closed."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[({":
            depth += 1
        elif token[0] in "])}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None
