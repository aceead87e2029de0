"""Django: the model's app is set up on an SQLite file, the table made by the schema editor."""
from __future__ import annotations

import ast
import os
from typing import Any, Optional

from noclobber.prove import models
from noclobber.prove.errors import CannotProve
from noclobber.prove.models import Field, Model
from noclobber.prove.plan import Plan, call_of
from noclobber.prove.program import Program
from noclobber.resolve import dotted_text

RELATIONS = ("ForeignKey", "OneToOneField", "ParentalKey")
BASES = ("django.db.models.Model", "django.db.models.base.Model")


def plan(program: Program) -> Optional[Plan]:
    """None: not this store. Raises CannotProve."""
    model = models.find(program, lambda base: base in BASES, read)
    if model is None:
        if program.uses("django") and not program.uses("sqlite3", "sqlalchemy"):
            raise CannotProve(f"{program.shown}: which model it writes is not seen", "prove the method or function that names the model")
        return None
    _no_transaction(program)
    program.columns = models.column_reader(program, model)
    keys = models.key_fields(program, model)
    values = models.row(program, model, keys) if program.finding.name != "check-then-create" else {}
    creating = program.finding.name == "check-then-create"
    if creating:
        models.refuse_unique(program, model, keys)

    def given(arg: ast.arg) -> Optional[str]:
        kind = program.annotated(arg).rpartition(".")[2]
        if kind == model.name or (not kind and arg.arg == model.name.lower()):
            return _load(model)
        if arg.arg in keys:
            return models.key_value(model, keys[arg.arg])
        return None

    own = program.cls is not None and program.cls.name == model.name
    call = call_of(program, given, lambda: _load(model) if own else None)
    apps, label = _apps(program, model)
    create = [
        "    connection.close()", '    connection.settings_dict["NAME"] = str(file)  # of the connections of all threads', "    with connection.schema_editor() as editor:",
        f"        editor.create_model(program.{model.text})",
    ]
    if not creating:
        create.append(f"    program.{model.text}.objects.create({', '.join(f'{name}={value}' for name, value in values.items())})")
    create.append("    connection.close()")
    work = [
        "    def told(execute, sql, *rest):", "        watch(sql)", "        return execute(sql, *rest)", "", "    try:", "        with connection.execute_wrapper(told):",
        f"            return {call}", "    finally:", "        connection.close()",
    ]
    before = [
        "from django.conf import settings  # noqa: E402", "", "settings.configure(",
        f"    INSTALLED_APPS={apps!r},".replace("'", '"'), '    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},',
        '    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",', "    USE_TZ=True,", ")", "import django  # noqa: E402", "", "django.setup()", "",
        "from django.db import connection  # noqa: E402", "",
    ]
    notes = ["On SQLite select_for_update() locks nothing: a function that is mended with it needs a database with row locks to pass."] if "lock" in program.finding.name else []
    return Plan("Django", f"program.{model.text}._meta.db_table", models.compared(model, creating), create, work, before=before, notes=notes)


def _load(model: Model) -> str:
    return f"program.{model.text}.objects.get(pk={models.key_value(model, model.primary())})"


def _no_transaction(program: Program) -> None:
    """SQLite lets nobody write between the read and the write of one transaction: nothing would be shown."""
    inside = program.decorated("atomic", "commit_on_success") or any(
        "atomic" in dotted_text(item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr)
        for node in ast.walk(program.function) if isinstance(node, ast.With) for item in node.items
    )
    if inside:
        raise CannotProve(
            f"{program.shown} reads and writes in transaction.atomic(): SQLite refuses the second writer there, so the test could not fail",
            "PostgreSQL or MySQL is missing: test it there with TransactionTestCase and a barrier between the read and the write "
            f"(noclobber rule {program.finding.code}, How to test it)",
        )


def read(statement: ast.AST) -> Optional[tuple[Field, ...]]:
    """`name = models.CharField(...)`."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(statement.value, ast.Call):
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    kind = dotted_text(statement.value.func).rpartition(".")[2]
    if not isinstance(target, ast.Name) or not kind.endswith(("Field", "Key")) or kind == "ManyToManyField":
        return None
    options = {keyword.arg: keyword.value for keyword in statement.value.keywords}
    set_to = {name: isinstance(value, ast.Constant) and value.value is True for name, value in options.items()}
    relation = ast.unparse(statement.value.args[0] if statement.value.args else options.get("to", ast.Constant(""))) if kind in RELATIONS else ""
    optional = "default" in options or any(set_to.get(name) for name in ("null", "auto_now", "auto_now_add")) or "Auto" in kind
    optional = optional or bool(set_to.get("blank")) and models.kind_of(kind) == "text"
    column = options.get("db_column")
    name = target.id
    stored = column.value if isinstance(column, ast.Constant) and isinstance(column.value, str) else f"{name}_id" if relation else name
    return (Field(name, models.kind_of(kind), optional, bool(set_to.get("primary_key")), relation.strip("'\""), stored, bool(set_to.get("unique"))),)


def _apps(program: Program, model: Model) -> tuple[list[str], str]:
    """What INSTALLED_APPS must hold, and the label that the class names itself. Raises CannotProve."""
    label = ""
    for node in model.node.body:
        if isinstance(node, ast.ClassDef) and node.name == "Meta":
            for statement in node.body:
                if isinstance(statement, ast.Assign) and dotted_text(statement.targets[0]) == "app_label" and isinstance(statement.value, ast.Constant):
                    label = str(statement.value.value)
    used = ["django.contrib.contenttypes", "django.contrib.auth"] if any(_of_auth(field) for field in model.fields.values()) else []
    if label:
        return used, label
    name = program.project.module_name(model.entry.path)
    package = name.rpartition(".models")[0] if name == "models" or ".models" in name else ""
    if not package:
        raise CannotProve(f"the Django app of {model.name} is not known: {os.path.basename(model.entry.path)} is no models module of a package, and the class names no app_label",
                          "give the class's Meta an app_label, or put it into an app's models.py")
    return [*used, package], label


def _of_auth(field: Any) -> bool:
    return "AUTH_USER_MODEL" in field.relation or field.relation in ("User", "auth.User", "Group", "Permission")
