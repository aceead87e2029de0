"""What the writer of the test must know of one finding, whatever the store."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from noclobber.prove.errors import CannotProve
from noclobber.prove.program import Program

#: Kind of a column → the first row's value: of a column that the function writes, of any other.
FIRST = {"number": ("100", "1000"), "text": ('"first"', '"first"'), "bool": ("False", "False")}
TIMES = ("_at", "_on", "_time", "timestamp", "modified", "updated", "created", "last_modified", "mtime")


@dataclass
class Plan:
    """`table`: an expression for the table's name. `compared`: columns that must agree with a serial run. `create`, `work`: bodies of the
    two functions of the test's head, indented by four. `before`: statements that must stand before the program is imported.
    """

    store: str
    table: str
    compared: list[str]
    create: list[str]
    work: list[str]
    imports: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_time(name: str) -> bool:
    return name.lower().endswith(TIMES)


def first_value(program: Program, column: str, kind: str, written: bool, lowered: bool) -> str:
    """The text of a column's value in the first row.

    `lowered`: the function takes something off the column (else it adds). A bound is set so that either worker fits, and both do not.
    """
    passing = program.passing(column)
    if passing is not None:
        return passing
    for parameter, tied in program.tied().items():
        if tied == column:
            return program.tied_value(parameter)
    if program.is_version(column) and kind in ("", "number"):
        return "1"
    used = program.kinds().get(("column", column), "")
    kind = used if used == "json" or not kind else kind
    bound = program.bounded(column) if "check" in program.finding.name else None
    if bound is not None:
        if written:
            return "10" if lowered else "0"
        return "10"
    if kind == "json":
        return repr(_json(program, column))
    return FIRST.get(kind, FIRST["text"])[0 if written else 1]


def _json(program: Program, column: str) -> str:
    """The JSON text of a first value: '[]' where the function appends to it, else an object with the keys that the function reads."""
    mine = ("column", column)
    loaded = {
        node.targets[0].id
        for node in ast.walk(program.function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and (
            program.subject(node.value) == mine
            or isinstance(node.value, ast.Call)
            and node.value.args
            and program.subject(node.value.args[0]) == mine
        )
    }

    def is_it(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in loaded or program.subject(node) == mine

    keys: dict[str, str] = {}
    for node in ast.walk(program.function):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend", "insert", "remove")
            and is_it(node.func.value)
        ):
            return "[]"
        if isinstance(node, (ast.ListComp, ast.For)):
            source = node.iter if isinstance(node, ast.For) else node.generators[0].iter
            if is_it(source):
                return "[]"
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) and is_it(node.value):
            if isinstance(node.ctx, ast.Load) or node.slice.value not in keys:
                keys[node.slice.value] = '"first"'
    for node in ast.walk(program.function):
        for part in (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target,) if isinstance(node, ast.AugAssign) else ():
            if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and part.slice.value in keys and is_it(part.value):
                keys[part.slice.value] = "100"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Subscript):
            part = node.func.value
            inner = {
                **dict.fromkeys(("append", "extend"), "[]"),
                **dict.fromkeys(("items", "values", "keys", "get", "update", "setdefault", "pop"), '{"first": 100}'),
            }.get(node.func.attr)
            if inner and isinstance(part.slice, ast.Constant) and part.slice.value in keys and is_it(part.value):
                keys[part.slice.value] = inner
    return "{" + ", ".join(f'"{name}": {value}' for name, value in keys.items()) + "}"


def lowers(program: Program, column: str) -> bool:
    """Does the function take something off the column?"""
    for node in ast.walk(program.function):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub) and program.subject(node.target) == ("column", column):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and program.subject(node.left) == ("column", column):
            return True
    return False


def call_of(program: Program, given: Callable[[ast.arg], Optional[str]], make: Callable[[], Optional[str]]) -> str:
    """The call of the finding's function, as an expression of the test's work().

    `given(parameter)`: the text for a parameter that is the store, the record or its key; None: an ordinary value. `make()`: the text of the
    object that a method is called on, when it is a record; None: a plain class, made with what its constructor asks for.
    Raises CannotProve.
    """
    arguments = _arguments(program, program.parameters(), given)
    name = program.function.name
    if program.cls is None:
        return f"program.{name}({arguments})"
    if any("staticmethod" in ast.unparse(d) or "classmethod" in ast.unparse(d) for d in program.function.decorator_list):
        return f"program.{program.cls.name}.{name}({arguments})"
    record = make()
    if record is not None:
        return f"{record}.{name}({arguments})"
    start = next((node for node in program.cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    made = _arguments(program, program.parameters(start), given) if start is not None else ""
    return f"program.{program.cls.name}({made}).{name}({arguments})"


def _arguments(program: Program, parameters: list[tuple[Any, bool, bool]], given: Callable[[ast.arg], Optional[str]]) -> str:
    parts, named = [], False
    for arg, default, keyword in parameters:
        text = given(arg)
        if text is None and default:
            named = True  # left out; what comes after is named
            continue
        if text is None:
            text = program.value(arg)
        parts.append(f"{arg.arg}={text}" if keyword or named else text)
    return ", ".join(parts)


def refuse_other_column(program: Program, written: set[str]) -> None:
    """A test of one column and a write of another: two runs of the function never collide. Raises CannotProve."""
    tested = {column for column, *_ in program.tests()}
    if "check-then-act" in program.finding.name and tested and written and not tested & written:
        state = sorted(tested)[0]
        raise CannotProve(
            f"{program.shown} tests `{state}` and writes `{sorted(written)[0]}`: it collides with the code that writes `{state}`, not with itself",
            "write a test that runs the two functions at once: a barrier in one of them between the test and the write",
        )


def refuse_unread(program: Program, reads: bool) -> None:
    """A conditional write whose condition the function did not read itself. Raises CannotProve."""
    if program.finding.name.startswith("unchecked-") and not reads:
        raise CannotProve(
            f"{program.shown} reads nothing before it writes: the second of two calls does nothing and says nothing, also when it runs "
            "after the first",
            "test what the caller is told: call it twice, and look at what the second call gives back or raises",
        )
