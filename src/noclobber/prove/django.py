"""Django: the model's app is set up on an SQLite file, the table made by the schema editor."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
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
            raise CannotProve(
                f"{program.shown}: which model it writes is not seen, or its class is not in this project",
                "prove the method or function that names the model, in the project that has the class",
            )
        return None
    _no_transaction(program)
    program.columns = models.column_reader(program, model)
    keys = models.key_fields(program, model)
    others: list[Related] = []
    values = models.row(program, model, keys, lambda field: _relation(program, model, f"program.{model.text}", field, others))
    creating = program.finding.name == "check-then-create"
    if creating:
        models.refuse_unique(program, model, keys)

    def given(arg: ast.arg) -> Optional[str]:
        kind = program.annotated(arg).rpartition(".")[2]
        if kind == model.name or (not kind and arg.arg == model.name.lower()):
            return _load(model)
        for other in others:
            if kind == other.model or not kind and arg.arg == other.name:
                return f"{other.text}.objects.get(pk={other.key})"
        if arg.arg in keys:
            return models.key_value(model, keys[arg.arg])
        return None

    own = program.cls is not None and program.cls.name == model.name
    call = call_of(program, given, lambda: _load(model) if own else None)
    apps, stand_in = _apps(program, model, others)
    create = [
        "    connection.close()",
        '    connection.settings_dict["NAME"] = str(file)  # of the connections of all threads',
        "    with connection.schema_editor() as editor:",
        *(f"        editor.create_model({other.text})" for other in others),
        f"        editor.create_model(program.{model.text})",
        *(f"    {other.text}.objects.create({', '.join(f'{name}={value}' for name, value in other.row.items())})" for other in others),
    ]
    if not creating:
        create.append(f"    program.{model.text}.objects.create({', '.join(f'{name}={value}' for name, value in values.items())})")
    create.append("    connection.close()")
    work = [
        "    def told(execute, sql, *rest):",
        "        watch(sql)",
        "        return execute(sql, *rest)",
        "",
        "    try:",
        "        with connection.execute_wrapper(told):",
        f"            return {call}",
        "    finally:",
        "        connection.close()",
    ]
    database = '{"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}'
    mail = '"django.core.mail.backends.locmem.EmailBackend"'
    settings = _settings(program)
    if settings:
        before = [
            "from django.conf import settings  # noqa: E402",
            "",
            f'os.environ["DJANGO_SETTINGS_MODULE"] = "{settings}"',
            f"settings.DATABASES = {database}",
            "settings.DATABASE_ROUTERS = []",
            f"settings.EMAIL_BACKEND = {mail}",
        ]
    else:
        before = [
            *stand_in,
            "from django.conf import settings  # noqa: E402",
            "",
            "settings.configure(",
            f"    INSTALLED_APPS=[{', '.join(apps)}],",
            f"    DATABASES={database},",
            f"    EMAIL_BACKEND={mail},",
            '    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",',
            "    USE_TZ=True,",
            ")",
        ]
    before += ["import django  # noqa: E402", "", "django.setup()", "", "from django.db import connection  # noqa: E402", ""]
    notes = (
        ["On SQLite select_for_update() locks nothing: a function that is mended with it needs a database with row locks to pass."]
        if "lock" in program.finding.name
        else []
    )
    return Plan("Django", f"program.{model.text}._meta.db_table", models.compared(model, creating), create, work, before=before, notes=notes, imports=["import os"] if settings else [])


def _settings(program: Program) -> str:
    """The settings module that a manage.py in or above the module's root names; "" without one."""
    folder, name = os.path.dirname(program.entry.path), program.project.module_name(program.entry.path)
    for _ in range(name.count(".") + 1):
        text = program.project.read(os.path.join(folder, "manage.py"))
        found = re.search(rb"""DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']""", text) if text is not None else None
        if found:
            return found[1].decode()
        folder = os.path.dirname(folder)
    return ""


def _load(model: Model) -> str:
    return f"program.{model.text}.objects.get(pk={models.key_value(model, model.primary())})"


def _no_transaction(program: Program) -> None:
    """SQLite lets nobody write between the read and the write of one transaction: nothing would be shown."""
    inside = program.decorated("atomic", "commit_on_success") or any(
        "atomic" in dotted_text(item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr)
        for node in ast.walk(program.function)
        if isinstance(node, ast.With)
        for item in node.items
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


@dataclass
class Related:
    """A row that the finding's row points to. `name`: of the field; `text`: the class, as an expression; `model`: its name; `row`, `key`."""

    name: str
    text: str
    model: str
    key: str
    row: dict[str, str]


def _relation(program: Program, model: Model, text: str, field: Field, others: list[Related], depth: int = 2) -> tuple[str, str]:
    """(attribute, value) for a relation of a row, whose own row is noted in `others`. Raises CannotProve."""
    relation = field.relation.rpartition(".")[2] if not _of_auth(field) else "User"
    target = f'{text}._meta.get_field("{field.name}").related_model'
    if any(other.text == target for other in others):
        return f"{field.name}_id", "1"
    if _of_auth(field):
        others.append(Related(field.name, target, "User", "1", {"id": "1", "username": '"first"'}))
        return f"{field.name}_id", "1"
    found = models.model_of(program, model.entry, relation, lambda base: base in BASES, read)
    if found is None or depth == 0 or relation == "self":
        raise CannotProve(
            f"{model.name} needs a {field.relation} (`{field.name}`): the row that it points to is not known",
            "write create() by hand, or prove a function of a simpler model",
        )
    row = models.row(program, found, {}, lambda inner: _relation(program, found, target, inner, others, depth - 1))
    key = models.key_value(found, found.primary())
    others.append(Related(field.name, target, found.name, key, row))
    return f"{field.name}_id", key


def _apps(program: Program, model: Model, others: list[Related]) -> tuple[list[str], list[str]]:
    """What INSTALLED_APPS must hold, and the lines of an app that stands in where the models are in none."""
    used = (
        ['"django.contrib.contenttypes"', '"django.contrib.auth"']
        if any(_of_auth(field) for field in model.fields.values()) or any(other.model == "User" for other in others)
        else []
    )
    for node in model.node.body:
        if isinstance(node, ast.ClassDef) and node.name == "Meta":
            if any(isinstance(part, ast.Assign) and dotted_text(part.targets[0]) == "app_label" for part in node.body):
                return used, []
    name = program.project.module_name(model.entry.path)
    if ".models" in name:
        return [*used, f'"{name.partition(".models")[0]}"'], []
    stand_in = [
        "from django.apps import AppConfig  # noqa: E402",
        "",
        "",
        "class App(AppConfig):",
        '    """The models stand in no app: this one stands in."""',
        "",
        f'    path = "{os.path.basename(os.path.dirname(model.entry.path))}"',
        "",
        "    def import_models(self):",
        "        self.models = self.apps.all_models[self.label]",
        "",
        "",
    ]
    return [*used, f'App("{name}", None)'], stand_in


def _of_auth(field: Any) -> bool:
    return "AUTH_USER_MODEL" in field.relation or field.relation in ("User", "auth.User", "get_user_model()")
