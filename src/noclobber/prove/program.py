"""The function under a finding, read with `ast`: its parameters, what it computes with and tests, the values that make it run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Callable, Optional

from noclobber.finding import Finding
from noclobber.prove.errors import CannotProve
from noclobber.resolve import SourceError, dotted, dotted_text, parse

NUMBERS = ("int", "float", "Decimal", "complex")
#: Annotations (last name) → the values of worker 0 and worker 1.
VALUES = {
    "int": ("5", "10"),
    "float": ("5.0", "10.0"),
    "Decimal": ("decimal.Decimal(5)", "decimal.Decimal(10)"),
    "str": ('"ann"', '"bob"'),
    "bytes": ('b"ann"', 'b"bob"'),
    "bool": ("True", "True"),
    "dict": ('{"ann": 1}', '{"bob": 2}'),
    "list": ('["ann"]', '["bob"]'),
    "set": ('{"ann"}', '{"bob"}'),
    "tuple": ('("ann",)', '("bob",)'),
    "date": ("datetime.date(2030, 1, 1)", "datetime.date(2030, 1, 2)"),
    "datetime": ("datetime.datetime(2030, 1, 1)", "datetime.datetime(2030, 1, 2)"),
    "UUID": ("uuid.UUID(int=1)", "uuid.UUID(int=2)"),
}
#: Spellings of the same.
SAME = {
    "Dict": "dict",
    "Mapping": "dict",
    "List": "list",
    "Sequence": "list",
    "Iterable": "list",
    "Collection": "list",
    "Set": "set",
    "frozenset": "set",
}
#: Kind of a subject → the annotation that it would have.
BY_KIND = {"number": "int", "text": "str", "json": "dict", "bool": "bool"}
#: Words of parameters that are nearly always a number, for those that neither an annotation nor a use tells.
AMOUNTS = ("amount", "delta", "quantity", "qty", "count", "cents", "points", "number", "step", "n", "by", "value")

Subject = tuple  # ("param" | "column", name)


class Program:
    """A finding's function and its surroundings.

    `columns`: set by a store's plan: (node) → the column's name that the expression has the value of, or None. `stored`: likewise, the
    parameters that are written into a column as they are → the kind of the column.
    """

    def __init__(self, finding: Finding, project: Any, path: str, vocabulary: Any) -> None:
        self.finding, self.project, self.vocabulary = finding, project, vocabulary
        entry = project.entry(path)
        if entry is None:
            raise CannotProve(f"{finding.path} cannot be read", "run noclobber check on it")
        self.entry, self.index = entry, entry.index
        self.tree = self.parsed(entry)
        self.cls, self.function = self._function()
        self.imports = {**self.index.imports, **self._own_imports()}
        self.columns: Callable[[ast.AST], Optional[str]] = lambda node: None
        self.stored: dict[str, str] = {}
        self.shown = f"{finding.function}() ({finding.path}:{finding.place.line})"

    # --- where -----------------------------------------------------------------------------------------------------------
    def parsed(self, entry: Any) -> ast.Module:
        try:
            return parse(entry.source)
        except SourceError as error:
            raise CannotProve(f"{entry.path}: {error}", "run noclobber check on it") from None

    def _function(self) -> tuple[Optional[ast.ClassDef], Any]:
        """The function that holds the finding, of the module or of a class of the module."""
        line = self.finding.place.line
        owners: list[tuple[Optional[ast.ClassDef], ast.AST]] = [(None, node) for node in self.tree.body]
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                owners += [(node, child) for child in node.body]
        for cls, node in owners:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
                inner = [
                    d
                    for d in ast.walk(node)
                    if isinstance(d, (ast.FunctionDef, ast.AsyncFunctionDef)) and d is not node and d.lineno <= line <= (d.end_lineno or 0)
                ]
                if inner:
                    raise CannotProve(
                        f"{inner[0].name}() is made inside {node.name}(): a test cannot call it",
                        "move it to the module, or give it what it needs as parameters",
                    )
                if isinstance(node, ast.AsyncFunctionDef) or any(isinstance(d, (ast.Await, ast.Yield, ast.YieldFrom)) for d in ast.walk(node)):
                    raise CannotProve(
                        f"{node.name}() is asynchronous or a generator: the test holds plain function calls in threads",
                        "prove a plain function that does the same, or write the test by hand",
                    )
                return cls, node
        raise CannotProve(f"line {line} is in no function: a test has nothing to call", "put the statements into a function")

    def _own_imports(self) -> dict[str, str]:
        found = {}
        for info in self.index.functions.values():
            if info.def_line == self.function.lineno:
                found.update(info.imports)
        return found

    def resolves(self, node: Optional[ast.AST]) -> str:
        """The full name of what an expression names ('sqlite3.Connection'), as written where it is made here; "" for anything else."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return ""
        text = dotted_text(node)
        return (dotted(self.index, text, self.imports) or text) if text else ""

    def uses(self, *names: str) -> bool:
        """Does the module import one of these packages?"""
        return any(target.partition(".")[0] in names for target in self.imports.values())

    # --- parameters ------------------------------------------------------------------------------------------------------
    def parameters(self, function: Optional[ast.FunctionDef] = None) -> list[tuple[ast.arg, bool, bool]]:
        """(parameter, has a default, keyword only), without self and cls."""
        function = function or self.function
        args = function.args
        plain = [*args.posonlyargs, *args.args]
        bound = (
            self.cls is not None
            and function in self.cls.body
            and not any(dotted_text(d).rpartition(".")[2] == "staticmethod" for d in function.decorator_list)
        )
        defaults = [False] * (len(plain) - len(args.defaults)) + [True] * len(args.defaults)
        rows = [(arg, default, False) for arg, default in zip(plain, defaults)][1 if bound else 0 :]
        return rows + [(arg, default is not None, True) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]

    def decorated(self, *names: str) -> bool:
        """Does a decorator of one of these last names stand above the function?"""
        texts = (dotted_text(d.func if isinstance(d, ast.Call) else d) for d in self.function.decorator_list)
        return any(text.rpartition(".")[2] in names for text in texts)

    def is_version(self, name: str) -> bool:
        return bool(self.vocabulary.match("strong_version", name))

    def annotated(self, arg: ast.arg) -> str:
        """The full name of a parameter's type, Optional and Annotated taken off; "" without one."""
        node: Optional[ast.AST] = arg.annotation
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return ""
        for _ in range(4):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                node = node.right if isinstance(node.left, ast.Constant) and node.left.value is None else node.left
            elif isinstance(node, ast.Subscript) and dotted_text(node.value).rpartition(".")[2] in ("Optional", "Annotated"):
                node = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            elif isinstance(node, ast.Subscript):
                node = node.value
            else:
                break
        return self.resolves(node)

    def value(self, arg: ast.arg) -> str:
        """What both workers give for a parameter that is neither store nor key. Raises CannotProve."""
        if self.is_version(arg.arg) or arg.arg.startswith("expected_"):
            if self.finding.name in ("unchecked-rowcount", "unchecked-conditional-result"):
                raise CannotProve(
                    f"the version comes from the caller (`{arg.arg}`): the second of two calls with one version does nothing, also when it runs "
                    "after the first",
                    "test that the function tells its caller so: call it with an old version and look at what comes back",
                )
            return "1"
        if arg.arg in self.tied():
            return self.tied_value(arg.arg)
        kind = self.annotated(arg).rpartition(".")[2]
        kind = SAME.get(kind, kind)
        if not kind or kind == "Any":
            told = self.kinds().get(("param", arg.arg))
            if told is None and any(word in AMOUNTS for word in (arg.arg, *arg.arg.split("_"))):
                told = "number"
            kind = BY_KIND.get(told or self.stored.get(arg.arg, ""), "")
        if kind in VALUES:
            ours, theirs = VALUES[kind]
            if kind in ("list", "set", "tuple") and arg.annotation is not None and "[int" in ast.unparse(arg.annotation):
                ours = theirs = {"list": "[1]", "set": "{1}", "tuple": "(1,)"}[kind]  # keys, most likely
            # To create the same thing both must ask for the same.
            return ours if ours == theirs or self.finding.name == "check-then-create" else f"({ours}, {theirs})[worker]"
        what = f"a {kind}" if kind else "its type"
        raise CannotProve(
            f"the parameter `{arg.arg}` of {self.finding.function}(): no value for it is known ({what})",
            "annotate it as int, str or the like; or prove a function beneath that takes plain values",
        )

    # --- subjects: parameters and columns, and what is done with them ------------------------------------------------------
    def subject(self, node: Optional[ast.AST]) -> Optional[Subject]:
        """The parameter or column that an expression has the value of."""
        while True:
            if isinstance(node, ast.Call) and len(node.args) == 1 and dotted_text(node.func) in ("int", "float", "str", "Decimal", "decimal.Decimal"):
                node = node.args[0]
            elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                node = node.values[0]
            elif isinstance(node, ast.IfExp):
                node = node.body
            else:
                break
        if node is None:
            return None
        column = self.columns(node)
        if column is not None:
            return "column", column
        if isinstance(node, ast.Name):
            if any(arg.arg == node.id for arg, _, _ in self.parameters()):
                return "param", node.id
            source = self.aliases().get(node.id)
            if source is not None:
                return source
        return None

    def aliases(self) -> dict[str, Subject]:
        """Local names that were given the value of a column."""
        known = self.__dict__.get("_aliases")
        if known is None:
            known = self.__dict__["_aliases"] = {}
            for node in ast.walk(self.function):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    source = self.subject(node.value)
                    if source is not None and source[0] == "column":
                        known.setdefault(node.targets[0].id, source)
        return known

    def kinds(self) -> dict[Subject, str]:
        """Subject → 'number', 'text', 'json' or 'bool', as annotations and uses in the function tell."""
        known = self.__dict__.get("_kinds")
        if known is not None:
            return known
        found: dict[Subject, str] = {}
        weak: dict[Subject, str] = {}
        for arg, _, _ in self.parameters():
            kind = {**dict.fromkeys(NUMBERS, "number"), "str": "text", "bool": "bool"}.get(self.annotated(arg).rpartition(".")[2])
            if kind is not None:
                found["param", arg.arg] = kind

        def kind(node: ast.AST) -> str:
            """Of an expression."""
            if isinstance(node, ast.Constant):
                return (
                    "bool"
                    if isinstance(node.value, bool)
                    else "text" if isinstance(node.value, str) else "number" if isinstance(node.value, (int, float)) else ""
                )
            if isinstance(node, (ast.List, ast.Dict, ast.ListComp, ast.DictComp)):
                return "json"
            if isinstance(node, ast.JoinedStr):
                return "text"
            if isinstance(node, ast.BinOp):
                if isinstance(node.op, (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)):
                    return "number"
                return kind(node.left) or kind(node.right)
            if isinstance(node, ast.Call) and dotted_text(node.func) in ("int", "float", "len", "sum", "Decimal"):
                return "number"
            subject = self.subject(node)
            return found.get(subject, "") if subject is not None else ""

        def alike(left: ast.AST, right: ast.AST, op: Optional[ast.AST] = None) -> None:
            for one, other in ((left, right), (right, left)):
                subject = self.subject(one)
                if subject is not None and subject not in found:
                    told = "number" if isinstance(op, (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)) else kind(other)
                    if told:
                        found[subject] = told

        for _ in range(3):  # what is known of one side tells of the other
            for node in ast.walk(self.function):
                if isinstance(node, ast.BinOp):
                    alike(node.left, node.right, node.op)
                elif isinstance(node, ast.AugAssign):
                    alike(node.target, node.value, node.op)
                elif isinstance(node, ast.Compare) and len(node.ops) == 1:
                    alike(node.left, node.comparators[0])
                elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                    alike(node.values[0], node.values[1])
                elif isinstance(node, ast.IfExp):
                    alike(node.body, node.orelse)
                elif isinstance(node, ast.FormattedValue):
                    subject = self.subject(node.value)
                    if subject is not None:
                        weak.setdefault(subject, "text")
                elif isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted_text(node.func)
                    first = self.subject(node.args[0]) if node.args else None
                    owner = self.subject(node.func.value) if isinstance(node.func, ast.Attribute) else None
                    if first is not None and name == "loads":
                        found[first] = "json"
                    elif first is not None and name in ("int", "float", "Decimal"):
                        found.setdefault(first, "number")
                    elif first is not None and name in ("append", "add"):
                        weak.setdefault(first, "text")
                    if owner is not None and name in ("append", "extend", "remove", "setdefault", "update", "pop", "get", "items"):
                        found.setdefault(owner, "json")
        known = self.__dict__["_kinds"] = {**weak, **found}
        return known

    def tied(self) -> dict[str, str]:
        """Parameter → column that it must equal for the write to be reached (a version that the caller brings)."""
        return {
            other.id: column
            for column, op, other, holds in self.tests()
            if isinstance(other, ast.Name)
            and (self.subject(other) or ("",))[0] == "param"
            and isinstance(op, (ast.Eq, ast.NotEq))
            and isinstance(op, ast.Eq) == holds
        }

    def tied_value(self, name: str) -> str:
        """The value of a column and of the parameter `name` that is tied to it."""
        return '"first"' if self.kinds().get(("param", name)) == "text" else "1"

    # --- what is tested ----------------------------------------------------------------------------------------------------
    def tests(self) -> Iterator[tuple[str, ast.cmpop, ast.AST, bool]]:
        """(column, operator, the other side, whether the test must hold for the write to be reached)."""
        for node in ast.walk(self.function):
            if not isinstance(node, (ast.If, ast.While, ast.IfExp)):
                continue
            wanted = self._wanted(node)
            if wanted is None:
                continue
            for test, holds in _conjuncts(node.test, wanted):
                if isinstance(test, ast.Compare) and len(test.ops) == 1:
                    left, right = self.subject(test.left), self.subject(test.comparators[0])
                    if left is not None and left[0] == "column":
                        yield left[1], test.ops[0], test.comparators[0], holds
                    elif right is not None and right[0] == "column":
                        yield right[1], _TURNED.get(type(test.ops[0]), type(test.ops[0]))(), test.left, holds
                else:
                    subject = self.subject(test)
                    if subject is not None and subject[0] == "column":
                        yield subject[1], ast.Eq(), ast.Constant(True), holds

    def _wanted(self, node: Any) -> Optional[bool]:
        """How an `if` must turn out for the write to be reached; None: either way."""
        line = self.finding.place.line
        body, other = getattr(node, "body", []), getattr(node, "orelse", [])
        if not isinstance(body, list):
            return None
        for part, outcome in ((body, True), (other, False)):
            if part and part[0].lineno <= line <= (part[-1].end_lineno or 0):
                return outcome
        if body and isinstance(body[-1], (ast.Raise, ast.Return, ast.Continue, ast.Break)):
            return False
        return None

    def constant(self, node: ast.AST) -> Optional[str]:
        """The text of a value that a test names: a literal, a constant of the module or of a class ('program.Status.OPEN')."""
        if isinstance(node, ast.Constant):
            return repr(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return f"-{node.operand.value!r}"
        text = dotted_text(node)
        head = text.partition(".")[0]
        if text and (head in self.index.classes or head in self.index.assigns or head in self.index.imports):
            return f"program.{text}"
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node.elts:
            return self.constant(node.elts[0])
        return None

    def passing(self, column: str) -> Optional[str]:
        """A value with which the tests of a column just let the write be reached; None: no test says."""
        for name, op, other, holds in self.tests():
            if name != column:
                continue
            text = self.constant(other)
            if text is None or text in ("None",):
                if text == "None" and isinstance(op, (ast.Is, ast.Eq)) and holds:
                    return "None"
                continue
            equal = isinstance(op, (ast.Eq, ast.Is, ast.In))
            unequal = isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn))
            if equal and holds or unequal and not holds:
                return text
            if equal or unequal:
                if isinstance(other, ast.Constant) and isinstance(other.value, bool):
                    return repr(not other.value)
                continue
            # an order: the value nearest to the bound that passes
            plus = {
                (ast.Lt, True): -1,
                (ast.LtE, True): 0,
                (ast.Gt, True): 1,
                (ast.GtE, True): 0,
                (ast.Lt, False): 0,
                (ast.LtE, False): 1,
                (ast.Gt, False): 0,
                (ast.GtE, False): -1,
            }[type(op), holds]
            if isinstance(other, ast.Constant) and isinstance(other.value, int):
                return repr(other.value + plus)
            return f"{text} + {plus}" if plus else text
        return None

    def bounded(self, column: str) -> Optional[str]:
        """For a column compared with a parameter or with another column: 'above' or 'below' (the side it must stay on)."""
        for name, op, other, holds in self.tests():
            if name == column and self.constant(other) is None and isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                return "above" if isinstance(op, (ast.Gt, ast.GtE)) == holds else "below"
        return None


_TURNED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def _conjuncts(test: ast.AST, holds: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The parts of a test that must all turn out so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _conjuncts(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        for part in test.values:
            yield from _conjuncts(part, holds)
    else:
        yield test, holds
