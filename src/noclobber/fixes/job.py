"""What a fix is given, and what fixes share: names, definitions, imports, the exception to raise, the finished draft."""
from __future__ import annotations

import builtins
import re
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional

import libcst as cst

from noclobber.finding import Edit
from noclobber.trace import ir
from noclobber.trace.lower import LowerError, lower_ranges

from .edits import Refused, Sheet, Spot, walk

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Draft:
    """A fix before it is verified. `reason`: why it is unsafe; "" for a safe one. `needs_transaction`: its locks are none where no transaction is seen."""

    title: str
    edits: tuple[Edit, ...]
    reason: str = ""
    needs_transaction: bool = False

    @property
    def applicability(self) -> str:
        return "unsafe" if self.reason else "safe"


class Job:
    """One finding to be fixed.

    `claim`: trace.questions.claims.Claim; `trace`: the walk that it came from; `module`: link.Module of the file (its source, outline and
    classes); `vocabulary`: knowledge.Vocabulary. `attempt`: 1 where the first draft was not verified, and said that it has another form
    (`has_another`).
    """

    def __init__(self, claim: Any, trace: Any, module: Any, vocabulary: Any, attempt: int = 0) -> None:
        self.attempt, self.has_another = attempt, False
        self.claim, self.trace, self.module, self.vocabulary = claim, trace, module, vocabulary
        self.write = claim.write
        if claim.site.at is None or self.write.site.at is None:
            raise Refused("the write is not written out in the code")
        if self.write.site.path not in ("", module.path) or claim.site.path not in ("", module.path):
            raise Refused("the write stands in another file")
        if self.write.kind == "write" and self.write.given is not None:
            raise Refused("the statement is run by a helper that runs whatever it is given")
        self.sheet = Sheet(module.source, claim.site.excerpt)
        self.sheets = [self.sheet]
        self.imports: list[str] = []
        self._names: Optional[frozenset] = None
        self._entry: Any = None
        self.response: Optional[str] = None  # the name of what the read gave

    # --- the vocabulary's data -------------------------------------------------------------------------------------------------
    @property
    def entry(self) -> Any:
        """The vocabulary entry that the write belongs to, or None.

        An object of a class that is not found may be any library's whose save is called so: then the entry counts whose package the module
        imports, and Refused is raised where that is not one.
        """
        if self._entry is None:
            found = self.vocabulary.entry(*self.write.entry)
            if found is not None and found.kind == "orm" and self.write.model is None and not self.write.unit:
                imported = {target.lstrip(".").partition(".")[0] for target in self.module.index.imports.values()}
                mine = [entry for entry in self.vocabulary.entries("orm") if imported & {base.partition(".")[0] for base in entry.fields.get("base") or ()} - {"*", "db"}]
                if found not in mine:
                    spec = getattr(self.claim.read, "spec", None)
                    if not mine and spec is not None and spec.entry is found:
                        mine = [found]  # it is loaded and saved in the way of one library
                    if len(mine) != 1:
                        raise Refused("which library the object belongs to does not show in the module")
                    found = mine[0]
            if found is not None and found.kind == "store" and found.fields.get("family") != "sql" and "name-only" in self.claim.doubts and not self._imports(found):
                raise Refused("which library the receiver belongs to does not show in the module")
            self._entry = found
        return self._entry

    def _imports(self, entry: Any) -> bool:
        """Does the module import the package of one of the entry's types?"""
        packages = {name.partition(".")[0] for name in (*(entry.fields.get("types") or ()), *(spec.signature.name for spec in entry.specs if spec.op == "make"))}
        return bool(packages & {target.lstrip(".").partition(".")[0] for target in self.module.index.imports.values()})

    def setting(self, name: str) -> Any:
        """A field of the vocabulary entry that the write belongs to, or None."""
        return self.entry.fields.get(name) if self.entry is not None else None

    # --- names -----------------------------------------------------------------------------------------------------------------
    def names(self) -> frozenset:
        """Every name that means something in the finding's function."""
        if self._names is None:
            index = self.module.index
            inner = (node.value for node in walk(self.sheet.excerpt.module) if type(node) is cst.Name)
            self._names = frozenset((*inner, *index.imports, *index.assigns, *index.functions, *index.classes, *_BUILTINS))
        return self._names

    def fresh(self, *wanted: str) -> str:
        """The first of these names that is free here, else the last with a number."""
        taken = self.names()
        for name in wanted:
            if name not in taken:
                return name
        return next(name for number in range(2, 100) if (name := f"{wanted[-1]}_{number}") not in taken)

    def bound_here(self, name: str, node: Any) -> bool:
        """Does the function that holds `node`, or one around it, bind a name itself (so that the module's is hidden)?"""
        function = self.sheet.function(node)
        while isinstance(function, cst.FunctionDef):
            if name in parameters(function) or any(True for _ in self.bindings(name, function)):
                return True
            function = self.sheet.function(function)
        return False

    def imported(self, dotted: str, node: Any) -> str:
        """The code that means an imported thing at `node`: through an import that is there, or one that is added."""
        index = self.module.index
        head, _, last = dotted.rpartition(".")
        for local, target in index.imports.items():
            if target == dotted and not self.bound_here(local, node):
                return local
        for local, target in index.imports.items():
            if target == head and not self.bound_here(local, node):
                return f"{local}.{last}"
        if last in self.names():
            raise Refused(f"the name `{last}` means something else here")
        if dotted not in self.imports:
            self.imports.append(dotted)
        return last

    def imported_module(self, name: str, node: Any) -> str:
        """The code that means a module at `node`."""
        for local, target in self.module.index.imports.items():
            if target == name and not self.bound_here(local, node):
                return local
        if name in self.names():
            raise Refused(f"the name `{name}` means something else here")
        if name not in self.imports:
            self.imports.append(name)
        return name

    def class_code(self, cls: Any, node: Any) -> Optional[str]:
        """The code that names a class of the project at `node`; None where it has no name there."""
        index = self.module.index
        if cls.module is self.module and not self.bound_here(cls.name, node):
            return cls.info.qualname
        for local in index.imports:
            found = self.module.class_named(local)
            if found is not None and found == cls and not self.bound_here(local, node):
                return local
        for local in index.imports:
            name = f"{local}.{cls.name}"
            found = self.module.class_named(name)
            if found is not None and found == cls and not self.bound_here(local, node):
                return name
        return None

    def model_code(self, node: Any) -> str:
        """The code that names the class of the written row at `node`. Raises Refused where it has no name there."""
        code = self.class_code(self.write.model, node) if self.write.model is not None else None
        if code is None:
            read = self.claim.read
            tables = [event.record.table for event in (read, self.write) if event is not None]
            names = {part for table in tables if isinstance(table, tuple) for part in table if isinstance(part, str)}
            code = next((local for local, target in self.module.index.imports.items() if target in names and not self.bound_here(local, node)), None)
        if code is None:
            raise Refused("the class of the row has no name here")
        return code

    # --- definitions and uses ----------------------------------------------------------------------------------------------------
    def bindings(self, name: str, function: Any) -> Iterator[Any]:
        """The nodes (targets) that bind a name in a function, nested ones left out."""
        for node in walk(function.body if isinstance(function, cst.FunctionDef) else function):
            if type(node) is cst.Name and node.value == name and self.sheet.function(node) is function and is_target(self.sheet, node):
                yield node

    def definition(self, node: Any) -> Optional[tuple[Spot, Any]]:
        """(statement, value) of the one plain assignment `name = value` that gives a Name its value; None where there are others."""
        if type(node) is not cst.Name:
            return None
        function = self.sheet.function(node)
        if isinstance(function, cst.FunctionDef) and node.value in parameters(function):
            return None
        found = list(self.bindings(node.value, function))
        if len(found) != 1:
            return None
        target = self.sheet.parent(found[0])
        assign = self.sheet.parent(target)
        if isinstance(target, cst.AssignTarget) and isinstance(assign, cst.Assign) and len(assign.targets) == 1:
            return self.sheet.spot(assign), assign.value
        if isinstance(target, cst.AnnAssign) and target.value is not None:
            return self.sheet.spot(target), target.value
        return None

    def module_constant(self, name: str) -> Optional[tuple[Sheet, Any]]:
        """(sheet, value) of `NAME = value` at the module's top level, where the file names it in one other place only; its edits join the fix's."""
        ranges = self.module.index.assigns.get(name)
        if ranges is None or len(ranges) != 1 or name in self.module.index.rebound or len(re.findall(rf"\b{re.escape(name)}\b", self.module.source.text)) != 2:
            return None
        try:
            sheet = Sheet(self.module.source, lower_ranges(self.module.source, ranges))
        except LowerError:
            return None
        line = sheet.excerpt.module.body[0] if len(sheet.excerpt.module.body) == 1 else None
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(small, (cst.Assign, cst.AnnAssign)) or small.value is None:
            return None
        self.sheets.append(sheet)
        return sheet, small.value

    def uses(self, name: str, node: Any) -> list:
        """Every reading of a name in the function that holds `node`, those in nested functions included."""
        function = self.sheet.function(node)
        return [found for found in walk(function) if type(found) is cst.Name and found.value == name and not is_target(self.sheet, found)
                and not is_label(self.sheet, found)]

    def resolved(self, node: Any, depth: int = 3) -> Any:
        """The expression that a name stands for, through plain assignments; else the node itself."""
        while depth and type(node) is cst.Name:
            found = self.definition(node)
            if found is None:
                return node
            node, depth = found[1], depth - 1
        return node

    # --- what is raised ----------------------------------------------------------------------------------------------------------
    def conflict(self, node: Any, what: str) -> str:
        """`raise …` for a lost race: with the module's own exception for it where there is one that takes a message. `what`: the message."""
        text = self.sheet.quoted(what)
        for name in (*self.module.index.classes, *self.module.index.imports):
            if not self.vocabulary.match("conflict_exception", name) or "." in name or self.bound_here(name, node):
                continue
            cls = self.module.class_named(name)
            if cls is not None and cls.method("__init__") is None and not cls.field_names() and any(
                    base.rpartition(".")[2].endswith(("Exception", "Error")) for base in cls.library_bases()):
                return f"raise {name}({text})"
        return f"raise RuntimeError({text})"

    # --- the end -----------------------------------------------------------------------------------------------------------------
    def first_of(self, *drafts: Callable[[], Draft]) -> Draft:
        """What the first of these gives that does not refuse. Raises the first one's Refused where all do: it says most about the code."""
        first: Optional[Refused] = None
        for draft in drafts:
            try:
                return draft()
            except Refused as refusal:
                first = first or refusal
                for sheet in self.sheets:
                    sheet.edits.clear()
                self.imports.clear()
                self.response = None
        raise first or Refused("the rule has no fix")

    def draft(self, title: str, reason: str = "", needs_transaction: bool = False) -> Draft:
        edits = [edit for sheet in self.sheets for edit in sheet.finished()]
        for dotted in self.imports:
            edits.append(self.import_edit(dotted))
        return Draft(title, tuple(sorted(edits, key=lambda edit: edit.start)), reason, needs_transaction)

    def import_edit(self, dotted: str) -> Edit:
        """`from a.b import c`: into an import from the same module that stands on one line, else below the module's imports."""
        head, _, last = dotted.rpartition(".")
        index = self.module.index
        try:
            excerpt = lower_ranges(self.module.source, index.loose)
        except LowerError as error:
            raise Refused(f"the module's imports cannot be read: {error}") from None
        sheet = Sheet(self.module.source, excerpt)
        top = (head or last).partition(".")[0]
        stdlib = top in sys.stdlib_module_names
        behind = nearest = before = None
        for statement in excerpt.module.body:
            if not isinstance(statement, cst.SimpleStatementLine):
                if not _only_imports(statement):
                    break
                continue
            small = statement.body[0]
            if isinstance(small, cst.ImportFrom) and len(statement.body) == 1 and not small.relative and _dotted(small.module) == head \
                    and not small.lpar and not isinstance(small.names, cst.ImportStar):
                names = [_dotted(alias.name) for alias in small.names]
                later = next((alias for alias in small.names if _dotted(alias.name) > last), None) if names == sorted(names) else None
                at = sheet.span(later)[0] if later is not None else sheet.span(small.names[-1])[1]
                return Edit(sheet.lines.place(at), sheet.lines.place(at), f"{last}, " if later is not None else f", {last}")
            if isinstance(small, (cst.Import, cst.ImportFrom)):
                behind = statement
                named = _dotted(small.module) if isinstance(small, cst.ImportFrom) and small.module is not None and not small.relative else \
                    _dotted(small.names[0].name) if isinstance(small, cst.Import) else ""
                package = named.partition(".")[0]
                if package == top or stdlib and package in sys.stdlib_module_names and package != "__future__":
                    if nearest is None and package == top and head and named > head and isinstance(small, cst.ImportFrom):
                        before = statement
                    if nearest is None or (head or isinstance(small, cst.Import)) and (stdlib or named <= head):
                        nearest = statement
            elif isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString)):
                behind = behind or statement
            elif not _is_dunder(small):
                break
        row = f"from {head} import {last}" if head else f"import {last}"
        if before is not None and nearest is before and len(before.body) == 1:
            sheet.insert_before(sheet.spot(before.body[0]), [row])
            return sheet.finished()[0]
        behind = nearest or behind
        if behind is not None:
            spot = sheet.spot(behind.body[0]) if len(behind.body) == 1 else Spot(behind, None, excerpt.module, (), 0)
            docstring = isinstance(behind.body[0], cst.Expr)
            sheet.insert_after(spot, ["", row] if docstring else [row])
            return sheet.finished()[0]
        line = next((number for number, text in enumerate(self.module.source.lines, 1) if text.strip() and not text.lstrip().startswith("#")), 1)
        at = sheet.lines.starts[line - 1]
        newline = sheet.newline(at)
        return Edit(sheet.lines.place(at), sheet.lines.place(at), row + newline * (2 if index.functions or index.classes else 1))


def parameters(function: Any) -> frozenset:
    params = function.params
    found = [*params.posonly_params, *params.params, *params.kwonly_params]
    found += [star for star in (params.star_arg, params.star_kwarg) if isinstance(star, cst.Param)]
    return frozenset(param.name.value for param in found)


def is_target(sheet: Sheet, node: Any) -> bool:
    """Is the name bound where it stands: by an assignment, a loop, `with`, an import, a walrus?"""
    inner, above = node, sheet.parent(node)
    while isinstance(above, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)) and not isinstance(inner, cst.Attribute):
        inner, above = above, sheet.parent(above)
    if isinstance(above, (cst.AssignTarget, cst.AsName)):
        return True
    if isinstance(above, cst.ImportAlias):
        return True
    if isinstance(above, (cst.AugAssign, cst.AnnAssign, cst.NamedExpr, cst.For, cst.CompFor)):
        return above.target is inner
    if isinstance(above, cst.DelTarget if hasattr(cst, "DelTarget") else cst.Del):
        return True
    return isinstance(above, (cst.MatchAs, cst.MatchStar, cst.MatchMapping)) or isinstance(above, cst.FunctionDef) and above.name is node


def is_label(sheet: Sheet, node: Any) -> bool:
    """An attribute's or keyword's name: no variable."""
    above = sheet.parent(node)
    return isinstance(above, cst.Attribute) and above.attr is node or isinstance(above, cst.Arg) and above.keyword is node or \
        isinstance(above, cst.Param) and above.name is node


def _dotted(node: Any) -> str:
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, cst.Name) else ""


def _only_imports(statement: Any) -> bool:
    """`try: import a` …, `if TYPE_CHECKING: …`: imports may follow."""
    if not isinstance(statement, (cst.Try, cst.If)):
        return False
    smalls = [node for node in walk(statement) if isinstance(node, cst.BaseSmallStatement)]
    return any(isinstance(node, (cst.Import, cst.ImportFrom)) for node in smalls)


def _is_dunder(small: Any) -> bool:
    return isinstance(small, cst.Assign) and all(isinstance(t.target, cst.Name) and t.target.value.startswith("__") for t in small.targets)


# --- arithmetic --------------------------------------------------------------------------------------------------------------

_SIGNS = {cst.Add: "+", cst.Subtract: "-"}
_LOOSE = (cst.BooleanOperation, cst.Comparison, cst.IfExp, cst.Lambda, cst.NamedExpr, cst.Yield, cst.UnaryOperation)
_WEAK = (cst.Add, cst.Subtract, cst.LeftShift, cst.RightShift, cst.BitAnd, cst.BitOr, cst.BitXor)


def binds_loosely(node: Any) -> bool:
    """Must the node stand in parentheses as the right side of `+` or `-`?"""
    if getattr(node, "lpar", ()):
        return False
    return isinstance(node, _LOOSE) or isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _WEAK)


def terms(node: Any) -> Optional[list[tuple[str, Any]]]:
    """[(sign, term)] of a sum, left to right, down to the terms that are no sum; brackets around a sum stay one term. None: no sum."""
    found: list[tuple[str, Any]] = []
    while isinstance(node, cst.BinaryOperation) and type(node.operator) in _SIGNS and (not found or not node.lpar):
        found.append((_SIGNS[type(node.operator)], node.right))
        node = node.left
    if not found:
        return None
    return [("+", node), *reversed(found)]


_NUMBERS = ("int", "float", "Decimal", "complex", "Fraction", "Number")
_COUNTING = ("int", "float", "len", "abs", "round", "sum", "Decimal", "decimal.Decimal", "timedelta", "datetime.timedelta")


def is_number(job: Job, node: Any, depth: int = 4) -> bool:
    """Does it show that the expression is a number, and no text or list that `+` would join?"""
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary)) or isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        return True
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (cst.Subtract, cst.Divide, cst.FloorDivide, cst.Power)):
            return True
        if isinstance(node.operator, cst.Multiply):
            return is_number(job, node.left, depth) and is_number(job, node.right, depth)
        return isinstance(node.operator, cst.Add) and (is_number(job, node.left, depth) or is_number(job, node.right, depth))
    if isinstance(node, cst.Call):
        name = job.sheet.code(node.func)
        return name in _COUNTING or name in ("min", "max") and any(is_number(job, arg.value, depth) for arg in node.args)
    if isinstance(node, cst.IfExp):
        return is_number(job, node.body, depth) or is_number(job, node.orelse, depth)
    if isinstance(node, cst.Name) and depth:
        function = job.sheet.function(node)
        if isinstance(function, cst.FunctionDef) and node.value in parameters(function):
            params = function.params
            for param in (*params.posonly_params, *params.params, *params.kwonly_params):
                if param.name.value == node.value:
                    annotation = job.sheet.code(param.annotation.annotation).strip("\"'") if param.annotation is not None else ""
                    words = annotation.replace("Optional[", "").replace("]", "").split("|")
                    return words[0].strip().rpartition(".")[2] in _NUMBERS or param.default is not None and is_number(job, param.default, 0)
            return False
        found = job.definition(node)
        return found is not None and is_number(job, found[1], depth - 1)
    return False


def is_text(job: Job, node: Any, depth: int = 4) -> bool:
    """Does it show that the expression is text (or bytes)?"""
    if isinstance(node, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
        return True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return is_text(job, node.left, depth) or is_text(job, node.right, depth)
    if isinstance(node, cst.Call):
        return job.sheet.code(node.func) in ("str", "bytes", "json.dumps", "repr") or isinstance(node.func, cst.Attribute) and node.func.attr.value in ("encode", "decode", "join", "strip", "format")
    if isinstance(node, cst.Name) and depth:
        annotation = annotation_of(job, node)
        if annotation is not None:
            return annotation.rpartition(".")[2] in ("str", "bytes")
        found = job.definition(node)
        return found is not None and is_text(job, found[1], depth - 1)
    return False


def annotation_of(job: Job, node: Any) -> Optional[str]:
    """The first type in the annotation of the parameter that a Name is, "" where it has none; None: it is no parameter."""
    function = job.sheet.function(node)
    if not isinstance(function, cst.FunctionDef) or node.value not in parameters(function):
        return None
    params = function.params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.name.value == node.value and param.annotation is not None:
            text = job.sheet.code(param.annotation.annotation).strip("\"'").replace("Optional[", "").replace("]", "")
            return text.split("|")[0].strip()
    return ""


__all__ = ["Draft", "Job", "Refused", "Sheet", "Spot", "binds_loosely", "ir", "is_label", "is_number", "is_target", "is_text", "parameters", "terms", "walk"]
