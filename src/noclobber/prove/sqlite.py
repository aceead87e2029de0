"""sqlite3: the table is made from the CREATE TABLE that the project has, else from the columns that its statements name."""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, Optional

from noclobber.prove.errors import CannotProve
from noclobber.prove.plan import Plan, call_of, first_value, is_time, lowers, refuse_other_column, refuse_unread
from noclobber.prove.program import Program
from noclobber.resolve import dotted_text
from noclobber.trace.sql import Statement, looks_like_sql, parse

FETCHES = ("fetchone", "fetchall", "fetchmany", "first", "one", "one_or_none", "scalar", "scalar_one", "scalar_one_or_none", "mappings")
CONNECTIONS = ("conn", "connection", "db", "con", "database", "cnx")
CURSORS = ("cur", "cursor", "c", "crsr")


class Run:
    """One execute call: its statement, and the expression behind each placeholder (by position and by name)."""

    def __init__(self, node: ast.Call, text: str, statement: Statement, values: dict[Any, ast.AST]) -> None:
        self.node, self.text, self.statement, self.values = node, text, statement, values

    def value(self, ref: Any) -> Optional[ast.AST]:
        return self.values.get(ref.name if ref.name is not None else ref.position)


class Sql:
    """The SQL of the finding's function and of its module."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runs = [run for node in _calls(program.function) for run in self.read(node)]
        self.table = self.table_of_the_write()
        self.mine = [run for run in self.runs if self.of_table(run.statement)]
        self.others = [run for node in _calls(program.tree) for run in self.read(node) if self.of_table(run.statement)]
        program.columns = self.column
        plain = [
            run.value(value.refs[0]) for run in self.runs for _, value in (*run.statement.sets, *run.statement.conflict_sets) if value.form == "param"
        ]
        program.stored = {value.id: "text" for value in plain if isinstance(value, ast.Name)}  # SQLite takes a text anywhere

    def of_table(self, statement: Statement) -> bool:
        return bool(self.table) and _name(statement.table) == self.table

    def read(self, node: ast.Call) -> Iterator[Run]:
        if not isinstance(node.func, ast.Attribute) or not node.func.attr.startswith(("execute", "exec_driver_sql")) or not node.args:
            return
        text = self.text(node.args[0])
        if text is None or not looks_like_sql(text):
            return
        values: dict[Any, ast.AST] = {}
        given = node.args[1] if len(node.args) > 1 else None
        if isinstance(given, (ast.Tuple, ast.List)):
            values = dict(enumerate(given.elts))
        elif isinstance(given, ast.Dict):
            values = {key.value: value for key, value in zip(given.keys, given.values) if isinstance(key, ast.Constant)}
        for statement in parse(text, "sqlite"):
            yield Run(node, text, statement, values)

    def text(self, node: ast.AST) -> Optional[str]:
        """A literal, a constant of the module, or text(...) around one."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2] == "text" and node.args:
            return self.text(node.args[0])
        if isinstance(node, ast.Name):
            for statement in (*self.program.function.body, *self.program.tree.body):
                if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
                    return self.text(statement.value) if not isinstance(statement.value, ast.Name) else None
        return None

    def table_of_the_write(self) -> str:
        first, last = self.program.finding.statement
        line = self.program.finding.place.line
        for run in self.runs:
            if run.statement.writes and (run.node.lineno <= line <= (run.node.end_lineno or 0) or first <= run.node.lineno <= last):
                return _name(run.statement.table)
        written = {_name(run.statement.table) for run in self.runs if run.statement.writes}
        return written.pop() if len(written) == 1 else ""

    # --- what expressions hold a column ----------------------------------------------------------------------------------
    def column(self, node: ast.AST) -> Optional[str]:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            names = self.row(node.value)
            key = node.slice.value
            if names is not None and isinstance(key, int) and -len(names) <= key < len(names):
                return names[key]
            return key.lower() if names is not None and isinstance(key, str) else None
        if isinstance(node, ast.Attribute):
            names = self.row(node.value)
            return node.attr.lower() if names is not None and node.attr.lower() in names else None
        if isinstance(node, ast.Name):
            return self.unpacked().get(node.id)
        names = self.row(node) if isinstance(node, ast.Call) and dotted_text(node.func).rpartition(".")[2].startswith("scalar") else None
        return names[0] if names else None

    def row(self, node: ast.AST) -> Optional[list[str]]:
        """The columns of the row that an expression holds."""
        if isinstance(node, ast.Name):
            for other in ast.walk(self.program.function):
                if (
                    isinstance(other, ast.Assign)
                    and any(isinstance(t, ast.Name) and t.id == node.id for t in other.targets)
                    and other.value is not node
                ):
                    found = self.row(other.value)
                    if found is not None:
                        return found
            return None
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in FETCHES:
            return None
        inner = [run for run in self.mine if run.statement.verb == "select" and run.node in set(ast.walk(node))]
        inner = inner or [run for run in self.mine if run.statement.verb == "select" and run.node.lineno <= node.lineno][-1:]
        return [str(name) for name, _ in inner[0].statement.columns] if inner else None

    def unpacked(self) -> dict[str, str]:
        """Names that a row was unpacked into → columns."""
        found: dict[str, str] = {}
        for node in ast.walk(self.program.function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
                names = self.row(node.value)
                if names is not None and len(names) == len(node.targets[0].elts):
                    found.update((t.id, name) for t, name in zip(node.targets[0].elts, names) if isinstance(t, ast.Name))
        return found

    # --- the tables --------------------------------------------------------------------------------------------------------
    def keys(self, table: str = "") -> dict[str, ast.AST]:
        """Column → the expression that says which row."""
        found: dict[str, ast.AST] = {}
        for run in self.of(table):
            for predicate in run.statement.key_predicates(self.program.is_version):
                value = run.value(predicate.value.refs[0]) if predicate.value.form == "param" else None
                if value is not None and isinstance(predicate.column, str) and self.column(value) is None:
                    found.setdefault(predicate.column, value)
            for column in run.statement.conflict_keys:
                expression = next((value for name, value in run.statement.sets if name == column), None)
                value = run.value(expression.refs[0]) if expression is not None and expression.form == "param" else None
                if value is not None and isinstance(column, str):
                    found.setdefault(column, value)
        return found

    def of(self, table: str) -> list[Run]:
        """The function's statements on a table (default: that of the finding)."""
        return [run for run in self.runs if _name(run.statement.table) == (table or self.table)]

    def tables(self) -> list[str]:
        """The finding's table first, then the others that the function names."""
        others = {_name(name) for run in self.runs for name in run.statement.tables}
        return [self.table, *sorted(others - {self.table, ""})]

    def written(self, table: str = "") -> set[str]:
        return {
            name
            for run in self.of(table)
            for name, _ in (*run.statement.sets, *run.statement.conflict_sets)
            if isinstance(name, str) and run.statement.writes
        }

    def named(self, table: str = "") -> list[str]:
        """Every column of a table that a statement of the function (of the module, for the finding's table) names, in order."""
        found: dict[str, None] = {}
        for run in (*self.of(table), *(self.others if table in ("", self.table) else ())):
            statement = run.statement
            for name, _ in (*statement.columns, *statement.sets, *statement.conflict_sets):
                if isinstance(name, str):
                    found.setdefault(name)
            for predicate in statement.predicates:
                if isinstance(predicate.column, str):
                    found.setdefault(predicate.column)
            for name in re.findall(r"\bORDER\s+BY\s+(\w+)", run.text, re.I):
                found.setdefault(name.lower())
        return [name for name in found if name.isidentifier()]

    def asked(self, column: str, table: str) -> Optional[str]:
        """The literal that a SELECT wants in a column."""
        for run in self.of(table):
            for predicate in run.statement.where if run.statement.verb == "select" else ():
                if predicate.column == column and predicate.must and predicate.op in ("=", "is") and predicate.value.form == "literal":
                    return repr(predicate.value.value)
        return None

    def created(self, table: str) -> Optional[str]:
        """The project's own CREATE TABLE of a table."""
        wanted = re.compile(rf"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?[\"'`\[]?{re.escape(table)}[\"'`\]]?\s*\(", re.I)
        for entry in (self.program.entry, *self.program.project.mentions(table)):
            for node in ast.walk(self.program.tree if entry is self.program.entry else self.program.parsed(entry)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    start = wanted.search(node.value)
                    end = _closing(node.value, start.end()) if start else 0
                    if start and end:
                        return " ".join(node.value[start.start() : end].split())
        return None


def _closing(text: str, at: int) -> int:
    """The end of the bracket that was opened before `at`; 0: none."""
    depth = 1
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return 0


def _calls(root: ast.AST) -> list[ast.Call]:
    return sorted((node for node in ast.walk(root) if isinstance(node, ast.Call)), key=lambda node: (node.lineno, node.col_offset))


def _name(table: tuple) -> str:
    return table[0] if len(table) == 1 and isinstance(table[0], str) else ""


# --- the plan ---------------------------------------------------------------------------------------------------------------


def plan(program: Program) -> Optional[Plan]:
    """None: not this store. Raises CannotProve."""
    connected = any(program.resolves(arg.annotation).startswith("sqlite3.") for arg, _, _ in _all_parameters(program))
    if not connected and not program.uses("sqlite3"):
        return None
    sql = Sql(program)
    if not sql.table:
        raise CannotProve(
            f"{program.shown}: its SQL is no literal text that names one table",
            "write the statement as one literal, or prove the function that holds it",
        )
    create, compared = tables(sql)
    own = [node for node in _calls(program.function) if program.resolves(node.func) == "sqlite3.connect"]
    start = _start(program)
    own += [node for node in _calls(start) if program.resolves(node.func) == "sqlite3.connect"] if start is not None else []
    opened: list[str] = []

    def given(arg: ast.arg) -> Optional[str]:
        kind = program.annotated(arg)
        if kind == "sqlite3.Cursor" or not kind and arg.arg in CURSORS:
            opened.append(arg.arg)
            return "connection.cursor()"
        if kind == "sqlite3.Connection" or not kind and arg.arg in CONNECTIONS:
            opened.append(arg.arg)
            return "connection"
        return key_of(sql, arg)

    call = call_of(program, given, lambda: None)
    rows = ["    connection.row_factory = sqlite3.Row"] if _by_name(program, sql) and not own else []
    if opened:
        work = [
            "    connection = sqlite3.connect(file)",
            *rows,
            "    connection.set_trace_callback(watch)",
            "    try:",
            f"        result = {call}",
            "        connection.commit()",
            "        return result",
            "    finally:",
            "        connection.close()",
        ]
        return Plan("sqlite3", repr(sql.table), compared, create, work)
    if not own:
        raise CannotProve(
            f"{program.shown} takes no connection and opens none: both workers would share one of the module",
            "give the function the connection as a parameter",
        )
    work = [
        "    def connect(*_, **options):",
        '        """Stands in for sqlite3.connect: the test\'s file, and the barrier sees each statement."""',
        '        options.pop("database", None)',
        '        options.pop("uri", None)',
        "        connection = CONNECT(file, **options)",
        "        connection.set_trace_callback(watch)",
        "        return connection",
        "",
        "    CONNECTS.here = connect",
        f"    return {call}",
    ]
    after = ["CONNECT, CONNECTS = sqlite3.connect, threading.local()"]
    if "sqlite3.connect" in {target for name, target in program.imports.items()}:
        name = next(name for name, target in program.imports.items() if target == "sqlite3.connect")
        after.append(f"program.{name} = lambda *args, **options: CONNECTS.here(*args, **options)")
    else:
        after.append(
            'program.sqlite3 = types.SimpleNamespace(**{**vars(sqlite3), "connect": lambda *args, **options: CONNECTS.here(*args, **options)})'
        )
    return Plan("sqlite3", repr(sql.table), compared, create, work, imports=["import types"], after=after)


def _start(program: Program) -> Optional[ast.FunctionDef]:
    body = program.cls.body if program.cls is not None else []
    return next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)


def _all_parameters(program: Program) -> list[tuple[ast.arg, bool, bool]]:
    start = _start(program)
    return program.parameters() + (program.parameters(start) if start is not None else [])


def _by_name(program: Program, sql: Sql) -> bool:
    """Are rows read by the names of their columns?"""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and sql.row(node.value) is not None
        for node in ast.walk(program.function)
    )


def key_of(sql: Sql, arg: ast.arg) -> Optional[str]:
    """The key's value, for a parameter that says which row."""
    for column, value in sql.keys().items():
        if isinstance(value, ast.Name) and value.id == arg.arg:
            return key_value(sql, column, value)
    return None


def key_value(sql: Sql, column: str, value: ast.AST) -> str:
    """The value of a key column in the first row: as the parameter behind it is annotated, else as the column is called."""
    if isinstance(value, ast.Constant):
        return repr(value.value)
    for arg, _, _ in sql.program.parameters():
        if isinstance(value, ast.Name) and arg.arg == value.id:
            kind = sql.program.annotated(arg)
            if kind in ("int", "str"):
                return "1" if kind == "int" else '"key"'
    return "1" if column == "id" or column.endswith(("_id", "_no", "number")) else '"key"'


def tables(sql: Sql) -> tuple[list[str], list[str]]:
    """The body of create(), and the columns of the finding's table to compare. Raises CannotProve."""
    program = sql.program
    creating = program.finding.name == "check-then-create"
    if not creating and not any(run.statement.verb == "select" for run in (*sql.mine, *sql.others)):
        raise CannotProve(f"{program.shown}: no SELECT of `{sql.table}` is seen in its module", "prove a function of the module that holds the read")
    refuse_other_column(program, sql.written())
    refuse_unread(program, any(run.statement.verb == "select" for run in sql.mine))
    lines = ["    connection = sqlite3.connect(file)"]
    compared: list[str] = []
    for table in sql.tables():
        created, columns, row = _table(sql, table)
        if table == sql.table:
            unseen = {"id"} if creating else set()
            compared = [name for name in columns if not is_time(name) and name not in unseen]
        lines.append(f"    connection.execute({_quoted(created)})")
        read = any(run.statement.verb == "select" for run in sql.of(table))
        if row and (table != sql.table if creating else table == sql.table or read):
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            values = ", ".join(row.values()) + ("," if len(row) == 1 else "")
            lines.append(f"    connection.execute({_quoted(f'INSERT INTO {table} ({names}) VALUES ({marks})')}, ({values}))")
    return [*lines, "    connection.commit()", "    connection.close()"], compared


def _table(sql: Sql, table: str) -> tuple[str, list[str], dict[str, str]]:
    """(CREATE TABLE, its columns, column → value of the first row). Raises CannotProve."""
    program, keys, written, named = sql.program, sql.keys(table), sql.written(table), sql.named(table)
    created = sql.created(table)
    declared = _declared(created) if created is not None else {}
    columns = list(declared) or named
    if not columns:
        raise CannotProve(
            f"{program.shown}: the columns of `{table}` are not named (SELECT *)", "name the columns, or put the CREATE TABLE into the project"
        )
    values = {name: key_value(sql, name, keys[name]) for name in keys}
    if created is None:
        main = next((name for name in ("id", *keys) if name in columns), "")
        types = [
            f"{name}{(' INTEGER' if values.get(name, '1') == '1' else '') + ' PRIMARY KEY' if name == main and len(keys) < 2 else ''}"
            for name in columns
        ]
        created = f"CREATE TABLE {table} ({', '.join(types)})"
    row = {}
    for name in columns:
        needed = "NOT NULL" in declared.get(name, "").upper() and "DEFAULT" not in declared[name].upper()
        if name in values:
            row[name] = values[name]
        elif (is_time(name) and not program.is_version(name) or name in declared and name not in named) and not needed:
            continue
        else:
            asked = sql.asked(name, table)
            kind = _kind(declared.get(name, "")) or _by_set(sql, name)
            row[name] = asked if asked is not None else first_value(program, name, kind, name in written, lowers(program, name))
    return created, columns, row


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _by_set(sql: Sql, name: str) -> str:
    """The kind of a column as a SET or WHERE with a literal or a parameter tells."""
    for run in (*sql.mine, *sql.others):
        for column, value in run.statement.sets:
            if column != name:
                continue
            if value.form == "arith" and value.sign in "+-*/":
                return "number"
            if value.form == "literal" and value.value is not None:
                return "text" if isinstance(value.value, str) else "number"
            bound = run.value(value.refs[0]) if value.form == "param" and run in sql.mine else None
            subject = sql.program.subject(bound)
            if subject is not None and subject[0] == "param":
                arg = next(arg for arg, _, _ in sql.program.parameters() if arg.arg == subject[1])
                kind = {"int": "number", "float": "number", "str": "text", "bool": "bool"}.get(sql.program.annotated(arg))
                return kind or sql.program.kinds().get(subject, "")
    return ""


def _declared(created: str) -> dict[str, str]:
    """Column → its declaration, of a CREATE TABLE text."""
    body, found, depth, part = created[created.index("(") + 1 : -1], {}, 0, ""
    for letter in body + ",":
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            words = part.split()
            if words and words[0].upper() not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT"):
                found[words[0].strip("\"'`[]").lower()] = " ".join(words[1:])
            part = ""
        else:
            part += letter
    return found


def _kind(declared: str) -> str:
    word = declared.upper()
    if any(name in word for name in ("INT", "REAL", "NUM", "DEC", "FLOAT", "DOUBLE")):
        return "number"
    return "text" if any(name in word for name in ("CHAR", "TEXT", "CLOB")) else "bool" if "BOOL" in word else ""
