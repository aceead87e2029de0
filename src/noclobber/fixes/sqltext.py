"""SQL text that stands in the code as plain string literals: its tokens with their places, and edits of them.

Only text whose literal says it as it is (no escapes, no f-string) is edited: an offset into the statement is then one into the file.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import libcst as cst

from noclobber.trace.sql.lexer import _PATTERNS

from .edits import Refused
from .job import Job


class Token(NamedTuple):
    """kind: word, quoted, string, number, param, op; start, end: offsets into the statement's text."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()


class Statement:
    """One UPDATE (or DELETE) in a call that runs it. `call`: the running call; `literal`: the node of the text."""

    def __init__(self, job: Job, call: Any) -> None:
        self.job, self.sheet, self.call = job, job.sheet, call
        names = {param.name for spec in job.entry.specs for param in spec.signature.params if param.role in ("sql", "statement")} if job.entry is not None else set()
        given = [arg for place, arg in enumerate(call.args) if not arg.star and (not place and arg.keyword is None or arg.keyword is not None and arg.keyword.value in names)]
        if len(given) != 1:
            raise Refused("the statement's text is not the first argument")
        self.run = given[0]
        self.literal = self._literal(given[0].value)
        self.pieces = list(self._pieces(self.literal))  # (offset in the statement, offset in the file, length)
        self.text = "".join(self.sheet.text[at:at + length] for _, at, length in self.pieces)
        self.tokens = tokens(self.text)

    def _literal(self, node: Any) -> Any:
        node = self._constant(self.job.resolved(node))
        if isinstance(node, cst.Call) and len(node.args) == 1 and not node.args[0].star:  # `text("…")`
            node = self._constant(self.job.resolved(node.args[0].value))
        if not isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            raise Refused("the statement's text is put together")
        return node

    def _constant(self, node: Any) -> Any:
        """The value of a module's constant that is used here alone: its text may change. Other nodes as they are."""
        if not isinstance(node, cst.Name) or self.sheet is not self.job.sheet or self.job.bound_here(node.value, node):
            return node
        found = self.job.module_constant(node.value)
        if found is None:
            return node
        self.sheet, value = found
        return value

    def _pieces(self, node: Any) -> Any:
        parts, stack = [], [node]
        while stack:
            inner = stack.pop()
            if isinstance(inner, cst.ConcatenatedString):
                stack += [inner.right, inner.left]
            elif isinstance(inner, cst.SimpleString):
                parts.append(inner)
            else:
                raise Refused("the statement's text is put together")
        at = 0
        for part in parts:
            if "\\" in part.value or "b" in part.prefix.lower():
                raise Refused("the statement's text has escapes in it")
            start, end = self.sheet.span(part)
            size = len(part.prefix) + len(part.quote)
            length = end - start - size - len(part.quote)
            yield at, start + size, length
            at += length

    def place(self, offset: int) -> int:
        """The file's offset of one in the statement (the end of a piece belongs to it)."""
        for at, start, length in self.pieces:
            if at <= offset <= at + length:
                return start + offset - at
        raise Refused("the statement's text is put together")

    def replace(self, start: int, end: int, text: str) -> None:
        first, last = self.place(start), self.place(end)
        if last - first != end - start:
            raise Refused("the statement's text is put together there")
        self.check(text)
        self.sheet.edits.append((first, last, text))

    def insert(self, offset: int, text: str) -> None:
        self.check(text)
        self.sheet.insert(self.place(offset), text)

    def check(self, text: str) -> None:
        quote = next(node.quote for node in _strings(self.literal))
        if quote[0] in text and len(quote) == 1:
            raise Refused("the statement's text would need escapes")

    # --- its parts -----------------------------------------------------------------------------------------------------------
    def only_update(self) -> None:
        words = [token.low for token in self.tokens if token.kind == "word"]
        if words[:1] != ["update"] or words.count("update") != 1 or words.count("where") != 1 or words.count("set") != 1 or "select" in words or "from" in words:
            raise Refused("the statement is no plain UPDATE of one table")

    def only_change(self) -> None:
        """The same, or a DELETE."""
        words = [token.low for token in self.tokens if token.kind == "word"]
        if words[:2] != ["delete", "from"]:
            self.only_update()
        elif words.count("where") != 1 or words.count("from") != 1 or "select" in words or "using" in words:
            raise Refused("the statement is no plain DELETE from one table")

    def word(self, low: str) -> int:
        """The number of the token that is that word."""
        return next(number for number, token in enumerate(self.tokens) if token.kind == "word" and token.low == low)

    def assignment(self, column: str) -> tuple[int, int]:
        """(number of the token of a column in SET, number of the first token of its value); the value must be one placeholder."""
        first, last = self.word("set"), self.word("where")
        for number in range(first + 1, last - 1):
            token = self.tokens[number]
            if name_of(token) == column.lower() and self.tokens[number + 1].text == "=" and self.tokens[number - 1].text in ("set", "SET", "Set", ","):
                behind = self.tokens[number + 3] if number + 3 <= last else None
                if self.tokens[number + 2].kind != "param" or behind is None or behind.text != "," and behind.low != "where":
                    break
                return number, number + 2
        raise Refused("the column is not set to a plain placeholder")

    def where_end(self) -> int:
        """The offset at which the condition ends: before RETURNING, LIMIT, ORDER, a semicolon, or the end."""
        last = self.word("where")
        end = last
        for number in range(last + 1, len(self.tokens)):
            token = self.tokens[number]
            if token.text == ";" or token.kind == "word" and token.low in ("returning", "limit", "order"):
                break
            if token.kind == "word" and token.low == "or":
                raise Refused("the condition has alternatives")
            end = number
        return self.tokens[end].end

    def params(self) -> list[int]:
        """Numbers of the tokens that are placeholders, in order."""
        return [number for number, token in enumerate(self.tokens) if token.kind == "param"]

    # --- its arguments ---------------------------------------------------------------------------------------------------------
    def argument(self, number: int) -> Any:
        """The node of the value that is bound to a placeholder (the number of its token)."""
        token = self.tokens[number]
        name = bind_name(token.text)
        if name is not None and not name.isdigit():
            return self._named(name)
        place = int(name) - 1 if name is not None else self.params().index(number)
        values = self.values()
        if not 0 <= place < len(values):
            raise Refused("the values of the statement are not written out")
        return values[place]

    def container(self) -> Any:
        """The node that holds the values: a tuple, list or mapping as second argument, or the call itself."""
        rest = [arg for arg in self.call.args if arg is not self.run]
        if any(arg.star for arg in rest):
            raise Refused("the values of the statement are not written out")
        if len(rest) == 1 or rest and rest[0].keyword is None and isinstance(self.job.resolved(rest[0].value), (cst.Tuple, cst.List, cst.Dict)):
            value = self.job.resolved(rest[0].value)
            if isinstance(value, (cst.Tuple, cst.List, cst.Dict)):
                return value
        return self.call

    def values(self) -> list:
        """The nodes of positional values. Raises Refused where they are not written out."""
        holder = self.container()
        if isinstance(holder, (cst.Tuple, cst.List)):
            if any(isinstance(element, cst.StarredElement) for element in holder.elements):
                raise Refused("the values of the statement are not written out")
            return [element.value for element in holder.elements]
        if isinstance(holder, cst.Call):
            return [arg.value for arg in self.call.args if arg is not self.run and arg.keyword is None]
        raise Refused("the values of the statement are not written out")

    def _named(self, name: str) -> Any:
        holder = self.container()
        if isinstance(holder, cst.Dict):
            for element in holder.elements:
                if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString) and element.key.evaluated_value == name:
                    return element.value
        if isinstance(holder, cst.Call):
            for arg in holder.args:
                if arg.keyword is not None and arg.keyword.value == name:
                    return arg.value
        raise Refused("the values of the statement are not written out")

    def add(self, name: str, code: str) -> str:
        """Another value at the end: returns the placeholder for it. `name`: the wanted one, where they have names."""
        numbers = self.params()
        sample = self.tokens[numbers[-1]].text if numbers else ""
        holder = self.container()
        bound = bind_name(sample)
        if bound is None:
            if numbers and self.tokens[numbers[-1]].end > self.where_end():
                raise Refused("placeholders stand behind the condition")
            self._append(holder, code)
            return sample
        if bound.isdigit():
            count = len(self.values())
            self._append(holder, code)
            return sample.replace(bound, str(count + 1))
        taken = {bind_name(self.tokens[number].text) for number in numbers}
        while name in taken:
            name += "_read"
        if isinstance(holder, cst.Dict):
            self._append(holder, f"{self.job.sheet.quoted(name)}: {code}")
        elif holder is self.call and any(arg.keyword is not None for arg in self.call.args):
            self.job.sheet.add_argument(self.call, f"{name}={code}")
        else:
            raise Refused("the values of the statement are not written out")
        return sample.replace(bound, name)

    def _append(self, holder: Any, code: str) -> None:
        if isinstance(holder, cst.Call):
            self.job.sheet.add_argument(holder, code)
            return
        last = holder.elements[-1] if holder.elements else None
        if last is None:
            raise Refused("the values of the statement are not written out")
        end = self.job.sheet.outer(last.value)[1]
        if isinstance(last.comma, cst.Comma):
            if len(holder.elements) == 1 and isinstance(holder, cst.Tuple):
                self.job.sheet.insert(self.job.sheet.span(last.comma)[0] + 1, " " + code)
            else:
                self.job.sheet.insert(end, ", " + code)
        else:
            self.job.sheet.insert(end, ", " + code)


def _strings(node: Any) -> list:
    found, stack = [], [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, cst.ConcatenatedString):
            stack += [inner.right, inner.left]
        elif isinstance(inner, cst.SimpleString):
            found.append(inner)
    return found


def tokens(text: str) -> list[Token]:
    """The significant tokens of a statement."""
    match = _PATTERNS[False].match
    found, at = [], 0
    while at < len(text):
        hit = match(text, at)
        kind = hit.lastgroup or "op"
        if kind in ("pyname", "name"):
            kind = "param"
        if kind == "comment" and hit.group() == "/*" or kind == "dollar":
            raise Refused("the statement has comments or odd quotes in it")
        if kind not in ("space", "comment"):
            found.append(Token(kind, hit.group(), hit.start(), hit.end()))
        at = hit.end()
    return found


def name_of(token: Token) -> Optional[str]:
    """The column that a token names, lower case."""
    if token.kind == "word":
        return token.low
    return token.text[1:-1].lower() if token.kind == "quoted" else None


def bind_name(text: str) -> Optional[str]:
    """The name or number in a placeholder; None for `?` and `%s`."""
    if text.startswith("%("):
        return text[2:text.index(")")]
    rest = text[1:]
    return rest if text[:1] in ":$@?" and rest else None


def is_plain(names: Sequence[str]) -> bool:
    return all(name.replace("_", "a").isalnum() for name in names)
