"""SQLAlchemy and SQLModel: the mapped classes make their tables on an SQLite file, or the SQL text tells them."""

from __future__ import annotations

import ast
from typing import Any, Optional

from noclobber.prove import models, sqlite
from noclobber.prove.errors import CannotProve
from noclobber.prove.models import Field
from noclobber.prove.plan import Plan, call_of
from noclobber.prove.program import Program
from noclobber.resolve import dotted_text

SESSIONS = ("session", "db", "s", "db_session", "sess")
BASES = ("sqlalchemy.orm.DeclarativeBase", "sqlalchemy.orm.DeclarativeBaseNoMeta", "sqlmodel.SQLModel")
LISTEN = (
    '    engine = create_engine(f"sqlite:///{file}")',
    '    event.listen(engine, "before_cursor_execute", lambda connection, cursor, statement, *rest: watch(statement))',
)
MAKERS = ("declarative_base", "automap_base")


def plan(program: Program) -> Optional[Plan]:
    """None: not this store. Raises CannotProve."""
    if not any(
        program.project.find(target, program.entry.path) is not None or target.partition(".")[0] in ("sqlalchemy", "sqlmodel")
        for target in program.imports.values()
    ):
        return None
    model = models.find(program, lambda base: _is_base(program, base), read)
    if model is None:
        return _core(program) if program.uses("sqlalchemy", "sqlmodel") else None
    if program.finding.name == "version-not-bumped":
        raise CannotProve(
            f"{program.shown}: the value that is written does not depend on the one read: the later writer may win in any order",
            "test that the version has moved on after the write",
        )
    program.columns = models.column_reader(program, model)
    keys = models.key_fields(program, model)
    creating = program.finding.name == "check-then-create"
    if creating:
        models.refuse_unique(program, model, keys)
    values = models.row(program, model, keys, lambda field: (field.name, "1")) if program.finding.name != "check-then-create" else {}

    def given(arg: ast.arg) -> Optional[str]:
        kind = program.annotated(arg)
        last = kind.rpartition(".")[2]
        if last in ("AsyncSession", "async_sessionmaker", "AsyncEngine"):
            raise CannotProve(
                f"{program.shown} takes an {last}: the test holds plain function calls in threads",
                "prove a plain function that does the same, or write the test by hand",
            )
        if last in ("Session", "scoped_session") or not kind and arg.arg in SESSIONS:
            return "session"
        if last == "Engine" or not kind and arg.arg == "engine":
            return "engine"
        if last == "sessionmaker":
            return "sessionmaker(engine)"
        if last == model.name or (not kind and arg.arg == model.name.lower()):
            return f"session.get(program.{model.text}, {models.key_value(model, model.primary())})"
        if arg.arg in keys:
            return models.key_value(model, keys[arg.arg])
        return None

    own = program.cls is not None and program.cls.name == model.name
    record = f"session.get(program.{model.text}, {models.key_value(model, model.primary())})" if own else None
    call = call_of(program, given, lambda: record)
    swaps = [] if "session" in call or "engine" in call else _swaps(program)
    if not swaps and "session" not in call and "engine" not in call:
        raise CannotProve(
            f"{program.shown} takes no session and no engine, and none of its module is seen: it cannot be pointed at the test's database",
            "give the function the session as a parameter",
        )
    kind = "sqlmodel" if program.uses("sqlmodel") else "sqlalchemy.orm"
    create = ['    engine = create_engine(f"sqlite:///{file}")', f"    program.{model.text}.metadata.create_all(engine)"]
    if not creating:
        create += [
            "    with Session(engine) as session:",
            f"        session.add(program.{model.text}({', '.join(f'{name}={value}' for name, value in values.items())}))",
            "        session.commit()",
        ]
    create.append("    engine.dispose()")
    work = list(LISTEN)
    if swaps:
        work += ["    ENGINES.here = engine", "    try:", f"        return {call}", "    finally:", "        engine.dispose()"]
    else:
        work += [
            "    try:",
            "        with Session(engine) as session:",
            f"            result = {call}",
            "            session.commit()",
            "            return result",
            "    finally:",
            "        engine.dispose()",
        ]
    imports = [
        "from sqlalchemy import create_engine, event",
        f"from {kind} import {'Session, sessionmaker' if 'sessionmaker(' in ''.join([*work, *swaps]) else 'Session'}",
    ]
    if kind == "sqlmodel" and "sessionmaker" in imports[1]:
        imports = [imports[0], "from sqlalchemy.orm import sessionmaker", "from sqlmodel import Session"]
    notes = (
        ["On SQLite with_for_update() locks nothing: a function that is mended with it needs a database with row locks to pass."]
        if "lock" in program.finding.name
        else []
    )
    table = f"program.{model.text}.__table__.name"
    return Plan("SQLAlchemy", table, models.compared(model, creating), create, work, imports=imports, after=swaps, notes=notes)


def _core(program: Program) -> Plan:
    """A Table of Core, or SQL text. Raises CannotProve."""
    found = _table(program)
    if found is not None:
        program.columns = _core_reader(program, found)
        keys = models.key_fields(program, found)
        creating = program.finding.name == "check-then-create"
        values = models.row(program, found, keys, lambda field: (field.name, "1"))
        key = {name: models.key_value(found, field) for name, field in keys.items()}
        table, compared = f"program.{found.name}.name", models.compared(found, creating)
        create = ['    engine = create_engine(f"sqlite:///{file}")', f"    program.{found.name}.metadata.create_all(engine)"]
        if not creating:
            row = ", ".join(f"{name}={value}" for name, value in values.items())
            create += ["    with engine.begin() as connection:", f"        connection.execute(program.{found.name}.insert().values({row}))"]
        create.append("    engine.dispose()")
    else:
        sql = sqlite.Sql(program)
        if not sql.table:
            raise CannotProve(
                f"{program.shown}: no mapped class or Table of this project and no literal SQL is seen in it",
                "prove the function or method that names the class or the table, in the project that has it",
            )
        create, compared = sqlite.tables(sql)
        table = repr(sql.table)
        key = {arg.arg: text for arg, _, _ in program.parameters() for text in [sqlite.key_of(sql, arg)] if text is not None}

    def given(arg: ast.arg) -> Optional[str]:
        last = program.annotated(arg).rpartition(".")[2]
        if last in ("Session", "scoped_session") or not last and arg.arg in SESSIONS:
            return "session"
        if last == "Connection" or not last and arg.arg in sqlite.CONNECTIONS:
            return "connection"
        if last == "Engine" or not last and arg.arg == "engine":
            return "engine"
        if last.startswith("Async"):
            raise CannotProve(
                f"{program.shown} takes an {last}: the test holds plain function calls in threads",
                "prove a plain function that does the same, or write the test by hand",
            )
        return key.get(arg.arg)

    call = call_of(program, given, lambda: None)
    kind = next((word for word in ("session", "connection") if word in call), "")
    swaps = [] if kind or "engine" in call else _swaps(program)
    if not kind and not swaps and "engine" not in call:
        raise CannotProve(
            f"{program.shown} takes no session, connection or engine: it cannot be pointed at the test's database",
            "give the function the connection as a parameter",
        )
    opening = {"session": "Session(engine)", "connection": "engine.connect()"}.get(kind, "")
    work = [*LISTEN, *(["    ENGINES.here = engine"] if swaps else []), "    try:"]
    if opening:
        work += [f"        with {opening} as {kind}:", f"            result = {call}", f"            {kind}.commit()", "            return result"]
    else:
        work.append(f"        return {call}")
    work += ["    finally:", "        engine.dispose()"]
    imports = [
        "from sqlalchemy import create_engine, event",
        *(["from sqlalchemy.orm import Session"] if "Session(" in "".join([*work, *swaps]) else []),
    ]
    return Plan("SQLAlchemy", table, compared, create, work, imports=imports, after=swaps)


def _table(program: Program) -> Optional[models.Model]:
    """The Table of the finding's record, of those that the function names. Its `text` is that of its columns ('tickets.c')."""
    said = program.finding.record.partition(".")[0].strip("`")
    found = []
    for name in dict.fromkeys(node.id for node in ast.walk(program.function) if isinstance(node, ast.Name)):
        made = _made_by(program, name)
        if made is None or dotted_text(made[1].func).rpartition(".")[2] != "Table" or not made[1].args:
            continue
        fields = {}
        for part in made[1].args:
            if (
                isinstance(part, ast.Call)
                and dotted_text(part.func).rpartition(".")[2] == "Column"
                and part.args
                and isinstance(part.args[0], ast.Constant)
            ):
                column = str(part.args[0].value)
                fields[column] = (read(ast.Assign([ast.Name(column)], part)) or ())[0]
        found.append((getattr(made[1].args[0], "value", name), models.Model(f"{name}.c", name, made[0], ast.ClassDef(name, [], [], [], []), fields)))
    return next((model for title, model in found if said in (title, model.name)), found[0][1] if found else None)


def _core_reader(program: Program, table: models.Model) -> Any:
    plain = models.column_reader(program, table)

    def column(node: ast.AST) -> Optional[str]:
        """An attribute or key of a row, or what scalar() gives of a select of one column."""
        name = plain(node)
        if name is not None and not dotted_text(node).startswith(table.text):
            return name
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in table.fields:
            return str(node.slice.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("scalar"):
            select = next(
                (call for call in ast.walk(node) if isinstance(call, ast.Call) and dotted_text(call.func).rpartition(".")[2] == "select"), None
            )
            names = [arg.attr for arg in select.args if isinstance(arg, ast.Attribute) and arg.attr in table.fields] if select is not None else []
            return names[0] if len(names) == 1 else None
        return None

    return column


def _is_base(program: Program, base: str) -> bool:
    """DeclarativeBase, SQLModel, `Base = declarative_base()`, `db.Model`."""
    if base in BASES:
        return True
    place = program.project.inside(program.entry, base) or (program.project.follow(program.entry, base) if "." in base else None)
    if place is None:
        return False
    for statement in program.parsed(place[0]).body:
        if (
            isinstance(statement, ast.Assign)
            and any(dotted_text(target) == place[1] for target in statement.targets)
            and isinstance(statement.value, ast.Call)
        ):
            return dotted_text(statement.value.func).rpartition(".")[2] in MAKERS
    return False


def _swaps(program: Program) -> list[str]:
    """Lines that point the module's own session maker or engine at the test's database."""
    names = {node.id for node in ast.walk(program.function) if isinstance(node, ast.Name)}
    lines = []
    for name in sorted(names):
        maker = _made(program, name)
        if maker in ("sessionmaker", "scoped_session"):
            lines.append(f"program.{name} = lambda **options: Session(ENGINES.here, **options)")
        elif maker == "create_engine":
            lines += [f"program.{name} = EngineHere()"]
    if not lines:
        return []
    head = ["ENGINES = threading.local()  # the engine of each worker"]
    if any("EngineHere" in line for line in lines):
        head += [
            "",
            "",
            "class EngineHere:",
            '    """Stands in for the module\'s engine."""',
            "",
            "    def __getattr__(self, name):",
            "        return getattr(ENGINES.here, name)",
            "",
            "",
        ]
    return head + lines


def _made(program: Program, name: str) -> str:
    """The last name of the call that made a module's variable, there or where it was imported from; ""."""
    made = _made_by(program, name)
    return dotted_text(made[1].func).rpartition(".")[2] if made is not None else ""


def _made_by(program: Program, name: str) -> Optional[tuple[Any, ast.Call]]:
    """(module, call) that made a module's variable."""
    place: Any = program.project.inside(program.entry, name)
    if place is None:
        return None
    for statement in program.parsed(place[0]).body:
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
        if isinstance(value, ast.Call) and any(dotted_text(target) == place[1] for target in targets):
            return place[0], value
    return None


def read(statement: ast.AST) -> Optional[tuple[Field, ...]]:
    """`name: Mapped[int] = mapped_column(...)`, `name = Column(Integer, ...)`, SQLModel's `name: int = Field(...)`."""
    if isinstance(statement, ast.AnnAssign):
        target, value, annotation = statement.target, statement.value, ast.unparse(statement.annotation)
    elif isinstance(statement, ast.Assign):
        target, value, annotation = statement.targets[0], statement.value, ""
    else:
        return None
    if not isinstance(target, ast.Name) or target.id.startswith("_"):
        return None
    made = dotted_text(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    if made in ("relationship", "Relationship", "column_property", "association_proxy", "synonym", "deferred") or "ClassVar" in annotation:
        return None
    if not annotation and made not in ("Column", "mapped_column"):
        return None
    call: Any = value if isinstance(value, ast.Call) else ast.Call(ast.Name(""), [], [])
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    set_to = {name: value.value for name, value in options.items() if isinstance(value, ast.Constant)}
    inner = [ast.unparse(arg) for arg in call.args]
    points = next((text for text in inner if "ForeignKey" in text), "") or ("ForeignKey" if "foreign_key" in options else "")
    primary = set_to.get("primary_key") is True
    nullable = set_to.get("nullable", "Optional" in annotation or "None" in annotation or (not annotation and not primary))
    optional = (
        bool(nullable)
        or any(name in options for name in ("default", "server_default", "default_factory", "insert_default"))
        or (bool(annotation) and value is not None and not isinstance(value, ast.Call))
    )
    column = inner[0].strip("'\"") if inner and inner[0].startswith(("'", '"')) else set_to.get("name", target.id)
    # SQLite does not hold a foreign key against anybody: a number will do, of a row that is not there.
    kind = models.kind_of(annotation, *inner) or ("number" if points else "")
    return (Field(target.id, kind, optional, primary, "", str(column)),)
