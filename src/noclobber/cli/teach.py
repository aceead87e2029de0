"""`noclobber teach PATH:LINE guard|last-writer|effect|store`: the vocabulary line that says it for every such place.

For `guard` and `last-writer` the line must silence the finding: candidates are tried on the file, and the first that does is
written. Without one nothing is written.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from noclobber.cli.common import OK, Failed, Parser, nearest, overrides
from noclobber.cli.places import EVERYTHING, at, overriding, place_of

KINDS = ("guard", "effect", "store", "last-writer")
READS = ("get", "load", "read", "fetch", "find", "lookup", "select", "head", "describe")
WITNESSES = ("version", "etag", "expected", "if_match", "revision", "generation", "token", "cas")


def parser() -> Parser:
    cli = Parser("teach")
    cli.add_argument("place", metavar="PATH:LINE", help="a finding (guard, last-writer) or a call")
    cli.add_argument("kind", metavar="|".join(KINDS))
    cli.add_argument("--dry-run", action="store_true", help="print the line, write nothing")
    cli.add_argument("--config", metavar="FILE", default=os.environ.get("NOCLOBBER_CONFIG", ""), help="write into this settings file")
    return cli


def run(arguments: list[str]) -> int:
    options = parser().parse(arguments)
    if options.kind not in KINDS:
        raise Failed(f"unknown kind `{options.kind}`{nearest(options.kind, KINDS)}: one of {', '.join(KINDS)}")
    path, line = place_of(options.place, "teach")
    from noclobber.config import Resolver

    resolver = Resolver({**EVERYTHING, **overrides(options)}, config_file=options.config, environ=os.environ)
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError) as error:
        raise Failed(f"{path}: {error}") from None
    if options.kind in ("guard", "last-writer"):
        lesson = _silencing(path, line, options.kind, tree, resolver)
    else:
        lesson = _described(path, line, options.kind, tree, data, resolver.for_path(path).vocabulary)
    if "_." in lesson.tables:
        print("noclobber: warning: the receiver's type is not known here, so this counts for every method of that name; write its dotted name instead of `_`", file=sys.stderr)
    for row in lesson.text.split("\n"):
        print(row)
    if options.dry_run:
        return OK
    file = _write(lesson, resolver.for_path(path), resolver.cwd)
    print(f"written to {file}" + (f"; it silences {lesson.code} at {path}:{line} and everywhere else" if lesson.code else "; `noclobber stores check` checks it"))
    return OK


class _Lesson:
    """`key`, `value`: a list of [tool.noclobber] (or of its `patterns`) and the word to add; or `tables`: TOML to append."""

    def __init__(self, key: str = "", value: str = "", tables: str = "", code: str = "") -> None:
        self.key, self.value, self.tables, self.code = key, value, tables, code

    @property
    def text(self) -> str:
        if self.tables:
            return self.tables.rstrip("\n")
        table = "[tool.noclobber.patterns]" if self.key != "disable" else "[tool.noclobber]"
        return f"{table}\n{self.key} = [{json.dumps(self.value)}]"


def _silencing(path: str, line: int, kind: str, tree: ast.Module, resolver: Any) -> _Lesson:
    from noclobber import engine, verdict

    def findings(configs: Any) -> list[Any]:
        return list(verdict.settle(engine.run([path], configs, jobs=1).items).findings)

    found = [finding for finding in at(findings(resolver), path, line) if not finding.code.startswith("RMW0")]
    if not found:
        raise Failed(f"{path}:{line}: no finding here to silence; `noclobber explain {path}:{line}` says what is")
    finding = found[0]
    key = (finding.name, finding.place.line, finding.place.column)
    own = resolver.for_path(path).settings
    tried = []
    for name, value in _candidates(path, finding, kind, tree, resolver):
        tried.append(value)
        if name == "lock":
            values = {"lock": (*own.lock, _lock(value))}
        elif name == "disable":
            values = {"disable": (*own.disable, value)}
        else:
            values = {"patterns": {**own.patterns, name: [*own.patterns.get(name, ()), value]}}
        left = findings(overriding(resolver, values))
        if key not in {(f.name, f.place.line, f.place.column) for f in left}:
            if name == "lock":
                rows = (f"{key} = {json.dumps(given)}" for key, given in _lock(value).items())
                return _Lesson(tables="\n".join(("[[tool.noclobber.lock]]", *rows)) + "\n", code=finding.code)
            return _Lesson(name, value, code=finding.code)
    raise Failed(
        f"{path}:{line}: no {'call here can be the guard' if kind == 'guard' else 'entry of the vocabulary is behind this'}"
        + (f" (tried {', '.join(dict.fromkeys(tried))})" if tried else "")
        + f"; suppress it with a reason: # noclobber: ignore[{finding.code}] -- …"
    )


def _lock(name: str) -> dict[str, Any]:
    """The entry of a context manager that is a lock, by its dotted name. A pattern of its last name does not reach a helper whose
    code is in the project: that code is followed, and what it calls may be what noclobber does not know."""
    return {"id": name.rpartition(".")[2].replace("_", "-"), "made_by": [f"{name}(*_)"], "enter": ["with"], "scope": "cluster"}


def _candidates(path: str, finding: Any, kind: str, tree: ast.Module, resolver: Any) -> Iterator[tuple[str, str]]:
    """(list, word) to try, the likeliest first."""
    if kind == "last-writer":
        import re

        from noclobber.explain import explain

        text = explain(path, finding.place.line, resolver.for_path(path).vocabulary) or ""
        yield from (("disable", word) for word in dict.fromkeys(re.findall(r"\(`([\w.-]+)`, ", text)))
        return
    from noclobber.resolve import Source, dotted, dotted_text, index_module

    with open(path, "rb") as stream:
        index, _ = index_module(Source.decode(path, stream.read()))
    module = _module(path)
    function = _enclosing(tree, finding.place.line)
    first = min([related.place.line for related in finding.related if related.role == "read"], default=finding.place.line)
    names: list[tuple[int, str, str]] = []
    for node in ast.walk(function):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                call = item.context_expr
                word = _last_name(call.func if isinstance(call, ast.Call) else call)
                written = dotted_text(call.func) if isinstance(call, ast.Call) else ""
                target = dotted(index, written) if written else None
                if target in index.functions:
                    target = f"{module}.{target}"
                if word:
                    names.append((node.lineno, "lock_factory", word))
                    names.append((node.lineno, "transaction", word))
                if target and _is_ours(target, path, resolver.for_path(path).root):
                    names.append((node.lineno, "lock", target))
        elif isinstance(node, ast.Call):
            word = _last_name(node.func)
            if word and node.lineno <= finding.place.line:
                names.append((node.lineno, "locking_reader", word))
                names.append((node.lineno, "lock_factory", word))
    # what stands at the read, then what stands above it
    names.sort(key=lambda row: (abs(row[0] - first), row[0]))
    yield from dict.fromkeys((group, word) for _, group, word in names)


def _module(path: str) -> str:
    """The dotted name under which a file of this project is imported, as far as its path tells."""
    return ".".join(os.path.splitext(os.path.relpath(path))[0].split(os.sep)).removeprefix("src.").removesuffix(".__init__")


def _is_ours(name: str, path: str, root: str) -> bool:
    """Whether a dotted name is defined in a file of this project: what a library's context manager is, its own entry says."""
    parts = name.split(".")[:-1]
    folders = (root, os.path.join(root, "src"), os.path.dirname(os.path.abspath(path)))
    return bool(parts) and any(os.path.isfile(os.path.join(folder, *parts) + end) for folder in folders for end in (".py", f"{os.sep}__init__.py"))


def _enclosing(tree: ast.Module, line: int) -> ast.AST:
    best: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            best = node
    return best


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _described(path: str, line: int, kind: str, tree: ast.Module, data: bytes, vocabulary: Any) -> _Lesson:
    """A table for the call on that line. Raises Failed for a call that the vocabulary knows: a second entry would only hide the first."""
    from noclobber.resolve import Source, dotted, dotted_text, index_module

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)]
    calls.sort(key=lambda node: (node.lineno != line, (node.end_lineno or 0) - node.lineno, node.col_offset))
    if not calls:
        raise Failed(f"{path}:{line}: no call on this line")
    call = calls[0]
    index, _ = index_module(Source.decode(path, data))
    written = dotted_text(call.func)
    method = _last_name(call.func)
    if not method:
        raise Failed(f"{path}:{line}: what is called here has no name")
    _refuse_known(path, call, written or method, data, vocabulary)
    target = dotted(index, written) if written else None
    module = _module(path)
    if target is not None and target in index.functions:
        target = f"{module}.{target}"
    if kind == "effect":
        name = target if target and "." in target else f"_.{method}"
        return _Lesson(tables=f'[[tool.noclobber.effect]]\nid = "{method.replace("_", "-")}"\nkind = "remote"\ncall = ["{name}(*_)"]\n')
    parameters = []
    for number, argument in enumerate(call.args):
        name = argument.id if isinstance(argument, ast.Name) else f"arg{number + 1}"
        parameters.append((name, number))
    parameters += [(keyword.arg, 9) for keyword in call.keywords if keyword.arg]
    reads = method.split("_")[0].lower() in READS
    parts = []
    for name, number in parameters:
        role = "precondition" if any(word in name.lower() for word in WITNESSES) else "key" if number == 0 or reads else "payload"
        parts.append(f"{name}: {role}" + (" = None" if role == "precondition" else ""))
    receiver = written.rpartition(".")[0]
    known = _receiver(tree, line, receiver)
    kind_of = dotted(index, known) if known else None
    if kind_of and kind_of in index.classes:
        kind_of = f"{module}.{kind_of}"
    head = f'types = ["{kind_of}"]' if kind_of else (f'names = ["{receiver.rpartition(".")[2]}"]' if receiver else "")
    function = f"{target}" if not receiver and target else method
    call_text = f"{function}({', '.join(parts)})" + (" -> value" if reads else "")
    other = "write" if reads else "read"
    rows = ["[[tool.noclobber.store]]", f'id = "{"-".join(filter(None, (receiver.rpartition(".")[2], method))).replace("_", "-")}"', *([head] if head else [])]
    rows += [f'{"read" if reads else "write"} = ["{call_text}"]', f"# and the {other}: {other} = [\"…\"]"]
    return _Lesson(tables="\n".join(rows) + "\n")


def _refuse_known(path: str, call: ast.Call, written: str, data: bytes, vocabulary: Any) -> None:
    import re

    from noclobber.explain import explain

    before = data.split(b"\n")[call.lineno - 1][: call.col_offset]
    place = f"{path}:{call.lineno}:{len(before.decode('utf-8', 'replace')) + 1}  "
    for part in (explain(path, call.lineno, vocabulary) or "").split("\n\n"):
        entry = re.search(r"\(`([\w.-]+)`, ", part)
        if part.startswith(place) and entry:
            what = re.search(r"^  ((?:read|write) of|effect): ([^;,\n]+)", part, re.M)
            raise Failed(
                f"{path}:{call.lineno}: `{written}()` is known already: "
                + (f"{what[1].replace('effect', 'an effect,')} {what[2]}, " if what else "")
                + f"by the entry `{entry[1]}`\n"
                + f"  `noclobber stores explain {path}:{call.lineno}` shows it; an entry of your own has to be written by hand and comes before it"
            )


def _receiver(tree: ast.Module, line: int, name: str) -> str:
    """The annotation of a parameter, or the class that a variable was made of, as written; ""."""
    function = _enclosing(tree, line)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        from noclobber.resolve import dotted_text

        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if argument.arg == name and argument.annotation is not None:
                if isinstance(argument.annotation, ast.Constant) and isinstance(argument.annotation.value, str):
                    return argument.annotation.value
                return dotted_text(argument.annotation)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                made = dotted_text(node.value.func)
                return made if made.rpartition(".")[2][:1].isupper() else ""  # what a method gives is no class
    return ""


def _write(lesson: _Lesson, config: Any, cwd: str) -> str:
    """Add the lesson to the settings file in force, or to a new noclobber.toml at the root. Returns the file as shown."""
    from noclobber.config import read_toml
    from noclobber.config.toml_edit import add_to_list, append_table
    from noclobber.files import display

    if config.file:
        file = os.path.join(cwd, config.file)
    else:
        pyproject = os.path.join(config.root, "pyproject.toml")
        file = pyproject if os.path.isfile(pyproject) else os.path.join(config.root, "noclobber.toml")
    shown = display(file, cwd)
    text = ""
    if os.path.exists(file):
        _, text = read_toml(file, shown)
    prefixed = os.path.basename(file) == "pyproject.toml" or "[tool.noclobber" in text
    prefix = ("tool", "noclobber") if prefixed else ()
    if lesson.tables:
        tables = lesson.tables if prefixed else lesson.tables.replace("[[tool.noclobber.", "[[")
        text = append_table(text, tables)
    else:
        text = add_to_list(text, (*prefix, *(() if lesson.key == "disable" else ("patterns",))), lesson.key, lesson.value)
    try:
        import tomllib
    except ModuleNotFoundError:
        import tomli as tomllib
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Failed(f"{shown} is written in a way that cannot be added to; put the lines there yourself") from None
    temporary = f"{file}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    os.replace(temporary, file)
    return shown
