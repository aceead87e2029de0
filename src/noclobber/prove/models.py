"""Mapped classes of SQLAlchemy and Django, read as text: their fields, and the first row of their table."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional

from noclobber.prove.errors import CannotProve
from noclobber.prove.plan import first_value, is_time, lowers, refuse_other_column, refuse_unread
from noclobber.prove.program import Program
from noclobber.resolve import dotted, dotted_text

#: Parts of the names of field and column types → the kind of their values.
KINDS = (
    ("Bool", "bool"),
    ("JSON", "json"),
    ("Int", "number"),
    ("int", "number"),
    ("Float", "number"),
    ("float", "number"),
    ("Decimal", "number"),
    ("Numeric", "number"),
    ("Auto", "number"),
    ("DateTime", "time"),
    ("Date", "time"),
    ("date", "time"),
    ("Time", "time"),
    ("UUID", "uuid"),
    ("Char", "text"),
    ("Text", "text"),
    ("String", "text"),
    ("str", "text"),
    ("Slug", "text"),
    ("Email", "text"),
    ("URL", "text"),
    ("Unicode", "text"),
    ("Enum", "enum"),
    ("dict", "json"),
    ("list", "json"),
    ("bool", "bool"),
)


@dataclass
class Field:
    """`optional`: the row can be made without it. `relation`: name of the class that it points to, or "". `column`: its name in the table."""

    name: str
    kind: str
    optional: bool
    primary: bool
    relation: str
    column: str
    unique: bool = False


@dataclass
class Model:
    """`text`: how the program's module names the class ('Card', 'models.Card'). `entry`: the module that it is made in."""

    text: str
    name: str
    entry: Any
    node: ast.ClassDef
    fields: dict[str, Field]

    def primary(self) -> str:
        return next((field.name for field in self.fields.values() if field.primary), "id")


def find(program: Program, is_base: Callable[[str], bool], read: Callable[[ast.AST], Optional[tuple[Any, ...]]]) -> Optional[Model]:
    """The class of the finding's record: the one that the record's text names, of those that the function names.

    `is_base(full name)`: is it the library's own base class? `read(statement)`: the fields that a statement of a class body makes.
    """
    said = program.finding.record.partition(".")[0].strip("`")
    texts = [dotted_text(node) for node in ast.walk(program.function) if isinstance(node, (ast.Name, ast.Attribute))]
    texts += [program.resolves(arg.annotation) for arg, _, _ in program.parameters()]
    if program.cls is not None:
        texts.insert(0, program.cls.name)
    names = dict.fromkeys(name for text in texts if text for name in (text, text.partition(".objects")[0].partition(".query")[0]))
    models = [model for model in (model_of(program, program.entry, name, is_base, read) for name in names) if model is not None]
    return next((model for model in models if model.name == said), models[0] if models else None)


def model_of(
    program: Program, module: Any, text: str, is_base: Callable[[str], bool], read: Callable[[ast.AST], Optional[tuple[Any, ...]]]
) -> Optional[Model]:
    """The mapped class that a name in a module comes to; None for any other."""
    made = class_of(program, module, text)
    if made is None:
        return None
    fields: dict[str, Field] = {}
    based = False
    for entry, node in lineage(program, *made):
        for base in node.bases:
            if is_base(dotted(entry.index, dotted_text(base)) or dotted_text(base)):
                based = True
        for statement in node.body:
            for field in read(statement) or ():
                fields.setdefault(field.name, field)
    return Model(text, made[1].name, made[0], made[1], fields) if based else None


def class_of(program: Program, entry: Any, text: str) -> Optional[tuple[Any, ast.ClassDef]]:
    """(module, class) that a name in a module comes to, within the project."""
    place = program.project.inside(entry, text)
    if place is None or place[1] not in place[0].index.classes:
        return None
    info = place[0].index.classes[place[1]]
    for node in ast.walk(program.parsed(place[0])):
        if isinstance(node, ast.ClassDef) and node.lineno == info.def_line:
            return place[0], node
    return None


def lineage(program: Program, entry: Any, node: ast.ClassDef) -> Iterator[tuple[Any, ast.ClassDef]]:
    """The class, then its bases that the project makes."""
    todo, seen = [(entry, node)], set()
    while todo:
        entry, node = todo.pop(0)
        if (entry.path, node.lineno) in seen:
            continue
        seen.add((entry.path, node.lineno))
        yield entry, node
        todo += [made for base in node.bases for made in [class_of(program, entry, dotted_text(base))] if made is not None]


def kind_of(*texts: str) -> str:
    for text in texts:
        for part, kind in KINDS:
            if part in text:
                return kind
    return ""


def column_reader(program: Program, model: Model) -> Callable[[ast.AST], Optional[str]]:
    """An attribute of any object with the name of a field counts as that field."""
    own = program.cls is not None and program.cls.name == model.name

    def column(node: ast.AST) -> Optional[str]:
        if isinstance(node, ast.Attribute) and node.attr in model.fields:
            owner = dotted_text(node.value)
            if owner and owner != model.text and (owner != "self" or own):
                return node.attr
        return None

    return column


def key_fields(program: Program, model: Model) -> dict[str, str]:
    """Parameter → field that a look-up compares it with: keywords of get(), filter() and the like, `Model.f == p`, get(Model, p)."""
    found: dict[str, str] = {}
    names = {arg.arg for arg, _, _ in program.parameters()}
    primary = model.primary()

    def note(value: ast.AST, field: str) -> None:
        if isinstance(value, ast.Name) and value.id in names and not program.is_version(field):
            found.setdefault(value.id, {"pk": primary, "id": "id"}.get(field, field))

    for node in ast.walk(program.function):
        if isinstance(node, ast.Call):
            name = dotted_text(node.func).rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
            if name in ("get", "filter", "get_object_or_404", "get_or_create", "filter_by", "select_for_update", "exclude", "exists"):
                for keyword in node.keywords:
                    if keyword.arg in ("pk", *model.fields, "id", *(field.column for field in model.fields.values())):
                        note(keyword.value, keyword.arg)
                    elif keyword.arg in [f"{field}__{part}" for field in model.fields for part in ("exact", "iexact")]:
                        note(keyword.value, keyword.arg.partition("__")[0])
            if name in ("get", "get_one") and len(node.args) > 1 and dotted_text(node.args[0]) == model.text:
                note(node.args[1], primary)
            elif name == "get" and len(node.args) == 1 and isinstance(node.func, ast.Attribute) and "query" in ast.unparse(node.func.value):
                note(node.args[0], primary)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                if isinstance(one, ast.Attribute) and dotted_text(one.value) == model.text:
                    note(other, one.attr)
    return found


def key_value(model: Model, field: str) -> str:
    kind = model.fields[field].kind if field in model.fields else "number"
    if kind == "uuid":
        return "uuid.UUID(int=1)"
    return '"key"' if kind == "text" else "1"


def row(program: Program, model: Model, keys: dict[str, str], related: Callable[[Field], tuple[str, str]]) -> dict[str, str]:
    """Field → value of the first row, those left out that have a default and that the function does not work with. Raises CannotProve.

    `related(field)`: name and value for a relation that the row cannot be made without.
    """
    values: dict[str, str] = {}
    written = {
        target.attr
        for node in ast.walk(program.function)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
    }
    written |= {
        keyword.arg
        for call in ast.walk(program.function)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in model.fields and isinstance(call.func, ast.Attribute) and call.func.attr in ("update", "values")
    }
    written &= set(model.fields)
    program.stored = _stored(program, model)
    refuse_other_column(program, written)
    refuse_unread(program, any(isinstance(node, ast.Attribute) and program.columns(node) is not None for node in ast.walk(program.function)))
    asked = _asked(program, model)
    touched = written | {program.subject(node)[1] for node in ast.walk(program.function) if (program.subject(node) or ("",))[0] == "column"}
    values[model.primary()] = key_value(model, model.primary())
    for field in model.fields.values():
        if field.relation:
            if not field.optional or field.column in keys.values() or field.name in keys.values():
                name, value = related(field)
                values[name] = value
        elif field.name in keys.values():
            values[field.name] = key_value(model, field.name)
        elif field.primary:
            values[field.name] = key_value(model, field.name)
        elif field.name in asked:
            values[field.name] = asked[field.name]
        elif field.kind == "time":
            if not field.optional:
                values[field.name] = "datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc)"
        elif field.name in touched or not field.optional:
            if field.kind in ("enum", "uuid", "") and program.passing(field.name) is None and not field.optional:
                raise CannotProve(f"{model.name}.{field.name}: no value for its type is known", "write create() by hand, or give the field a default")
            if field.kind in ("enum", "uuid", "") and program.passing(field.name) is None:
                continue
            value = first_value(program, field.name, field.kind, field.name in written, lowers(program, field.name))
            values[field.name] = ast.literal_eval(value) if field.kind == "json" and value.startswith("'") else value
    return values


def _stored(program: Program, model: Model) -> dict[str, str]:
    """Parameter → kind of the field that it is written into as it is: by an assignment, by a keyword of create(), update() or the class."""
    pairs = [
        (t.attr, node.value)
        for node in ast.walk(program.function)
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Attribute)
    ]
    pairs += [(keyword.arg or "", keyword.value) for node in ast.walk(program.function) if isinstance(node, ast.Call) for keyword in node.keywords]
    return {value.id: model.fields[name].kind for name, value in pairs if isinstance(value, ast.Name) and name in model.fields}


def _asked(program: Program, model: Model) -> dict[str, str]:
    """Field → the literal that a look-up wants in it."""
    found: dict[str, str] = {}
    for node in ast.walk(program.function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "filter", "filter_by"):
            found.update((k.arg, repr(k.value.value)) for k in node.keywords if k.arg in model.fields and isinstance(k.value, ast.Constant))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq) and isinstance(node.left, ast.Attribute):
            if dotted_text(node.left.value) == model.text and isinstance(node.comparators[0], ast.Constant):
                found[node.left.attr] = repr(node.comparators[0].value)
    return {name: value for name, value in found.items() if not model.fields.get(name) or not model.fields[name].primary}


def refuse_unique(program: Program, model: Model, keys: dict[str, str]) -> None:
    """Raises CannotProve where the store itself refuses the second row."""
    told = ast.unparse(model.node)
    unique = next((name for name in keys.values() if name in model.fields and (model.fields[name].unique or model.fields[name].primary)), "")
    if unique or any(word in told for word in ("UniqueConstraint", "unique_together")):
        what = f"`{model.name}.{unique}`" if unique else f"a group of fields of {model.name}"
        raise CannotProve(
            f"{what} is unique: the store refuses the second row, and the loser gets an error; no update is lost that a test could show",
            "catch the error of the unique constraint, or use get_or_create()",
        )


def compared(model: Model, creating: bool) -> list[str]:
    """The columns that must agree with a serial run."""
    names = [] if creating else [model.primary()]
    names += [field.column for field in model.fields.values() if not field.primary and field.kind != "time" and not is_time(field.name)]
    return names or ["count(*)"]
