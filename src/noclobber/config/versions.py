"""Version specifiers, as far as `required-version` needs them."""

from __future__ import annotations


def version_fits(version: str, wanted: str) -> bool:
    """Whether `version` satisfies all of `wanted` (">=0.4,<0.5", "==0.4.*", "~=0.4.1", "0.4.0"). Raises ValueError."""
    return all([_fits(version, clause.strip()) for clause in wanted.split(",")])  # a list: look at all of them


def _fits(version: str, clause: str) -> bool:
    mark = next((mark for mark in ("==", "!=", ">=", "<=", "~=", ">", "<") if clause.startswith(mark)), "")
    text = clause[len(mark) :].strip()
    mark = mark or "=="
    if text.endswith(".*") and mark in ("==", "!="):
        wanted = _release(text[:-2])[0]
        return (_release(version)[0][: len(wanted)] == wanted) == (mark == "==")
    left, right = _ordered(version), _ordered(text)
    if mark == "~=":
        head = _release(text)[0][:-1]
        if not head:
            raise ValueError(clause)
        return left >= right and _release(version)[0][: len(head)] == head
    return {
        "==": left == right,
        "!=": left != right,
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
    }[mark]


def _release(version: str) -> tuple[tuple[int, ...], str]:
    """((0, 4, 1), "rc1") of "0.4.1rc1"."""
    parts: list[int] = []
    rest = version.strip().lstrip("vV")
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        if not digits:
            break
        parts.append(int(rest[:digits]))
        rest = rest[digits:]
        if not rest.startswith(".") or not rest[1:2].isdigit():
            break
        rest = rest[1:]
    if not parts:
        raise ValueError(version)
    return tuple(parts), rest.lstrip(".-_")


def _ordered(version: str) -> tuple[tuple[int, ...], int, str]:
    """Sorts dev, a, b, rc before the release and post after it."""
    numbers, rest = _release(version)
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    rest = rest.partition("+")[0]
    rank = 0 if not rest else 1 if rest.startswith("post") else -1 if rest[:1] in "abr" else -2
    return numbers, rank, rest
