"""Which columns a class declares unique together, where that can be read from its body: `unique=True`, `unique_together`, `UniqueConstraint(fields=…)`."""
from __future__ import annotations

import ast
from textwrap import dedent
from typing import Any, Iterable, Iterator, Optional

from . import ir

_ONE = "OneToOneField"


def unique_groups(cls: Any, bodies: Iterable[str]) -> tuple:
    """(frozenset of columns, …) that are unique together, from the fields and from the nested classes `bodies` (`Meta`) of a class and its bases.

    Empty: none was found, or one is declared in a way that is not read here.
    """
    found: list = []
    for base in cls.mro():
        for name in base.info.assigns:
            call = base.field_call(name)
            if call is not None and not makes_itself(call) and (call[2].get("unique") == "True" or call[0].rsplit(".", 1)[-1] == _ONE):
                found.append(frozenset((name,)))
    for body in bodies:
        nested, assigned = cls.nested_text(body), cls.text_of(body)
        for part in [*(f"class {part}" for part in ("\n" + dedent(nested)).split("\nclass ")[1:]), *([dedent(assigned)] if assigned else ())]:
            groups = _declared(part)
            if groups is None:
                return ()
            found += groups
    return tuple(dict.fromkeys(found))


def table_keys(statements: Iterable[Any]) -> tuple:
    """(columns of the primary key, (columns that are unique together, …)) of a table that is made by a call: `marks = Table("marks", …, Column("id", …, primary_key=True))`."""
    keys: set = set()
    groups: list = []
    for statement in statements:
        call = statement.value if isinstance(statement, (ir.Assign, ir.AnnAssign)) else None
        if not isinstance(call, ir.Call) or _called(call) != "Table":
            continue
        for part in (arg.value for arg in call.args if arg.keyword is None and isinstance(arg.value, ir.Call)):
            words = [arg.value.value for arg in part.args if arg.keyword is None and isinstance(arg.value, ir.Const) and isinstance(arg.value.value, str)]
            told = {arg.keyword for arg in part.args if arg.keyword and isinstance(arg.value, ir.Const) and arg.value.value is True}
            if _called(part) == "Column" and words:
                keys |= set(words[:1]) if "primary_key" in told else set()
                groups += [frozenset(words[:1])] if "unique" in told else []
            elif _called(part) == "PrimaryKeyConstraint":
                keys |= set(words)
            elif _called(part) == "UniqueConstraint" and words:
                groups.append(frozenset(words))
    return frozenset(keys), tuple(groups)


def _called(call: Any) -> str:
    return call.func.id if isinstance(call.func, ir.Name) else call.func.name if isinstance(call.func, ir.Attr) else ""


def makes_itself(call: tuple) -> bool:
    """Does the column get a random value of its own (`default=uuid.uuid4`)? Such a key refuses no second row."""
    return any("uuid4" in call[2].get(word, "") or "token_" in call[2].get(word, "") for word in ("default", "default_factory"))


def _declared(text: str) -> Optional[list]:
    """Groups in the source of a class (`class Meta`) or of an assignment (`__table_args__ = …`); None: some of it is not to be read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list = []
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and not any("unique" in ast.unparse(target) for target in node.targets)}  # `abstract = True`
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "unique_together" for target in node.targets):
            groups = list(_together(node.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] == "UniqueConstraint":
            groups = [frozenset(_columns(node))]
        elif isinstance(node, ast.Constant) and id(node) not in plain and (node.value is True or node.value == "unique"):
            return None  # `indexes = ((("a", "b"), True),)`, `Index("name", "a", unique=True)`, `{"fields": […], "unique": True}`
        else:
            continue
        if not groups or not all(groups):
            return None
        found += groups
    return found


def _together(value: ast.expr) -> Iterator[frozenset]:
    items = value.elts if isinstance(value, (ast.Tuple, ast.List, ast.Set)) else []
    if items and all(isinstance(item, ast.Constant) for item in items):
        yield frozenset(str(item.value) for item in items)
        return
    for item in items:
        if isinstance(item, (ast.Tuple, ast.List, ast.Set)):
            yield from _together(item)


def _columns(call: ast.Call) -> Iterator[str]:
    """Of `fields=[…]`, or the names inside expressions: `UniqueConstraint(Lower("name"), …)`."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "fields"), None)
    for expression in [given] if given is not None else call.args:
        for node in ast.walk(expression):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.lstrip("-")
