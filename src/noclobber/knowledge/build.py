"""TOML → plain data: validation, `extends`, `disable`. Imported only when something has to be parsed.

Entry data: {"kind", "id", "fields", "specs": [(op, signature data, settings)], "file", "line", "user"}; everything in
it is what marshal can store. `index.index_entries` makes the lookups of `Vocabulary` from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from noclobber.knowledge import signatures
from noclobber.knowledge.errors import KnowledgeError, TomlLines, nearest
from noclobber.knowledge.tables import RECEIVERS, ROLES, TABLES, TOP_KEYS, Field
from noclobber.knowledge.vocabulary import specs_of

_ROLES = frozenset(ROLES)
#: One of these makes a `write` say what is written.
_WRITE_ROLES = frozenset({"payload", "entity", "fields", "operators", "sql", "instance", "statement", "file"})


class Layer:
    """The tables of one origin: a built-in file, a user's file, or `[tool.noclobber]`.

    `prefix` stands before table names in the text ("tool.noclobber."); `first_line`: the line to name when the text
    does not tell. Raises KnowledgeError for anything unusable; with `collect` it is kept in `problems` and the
    unusable part left out.
    """

    def __init__(
        self,
        tables: dict,
        path: str,
        text: str = "",
        *,
        prefix: str = "",
        user: bool = False,
        first_line: int = 0,
        collect: bool = False,
    ) -> None:
        self.path = path
        self.first_line = first_line
        self.problems: list[KnowledgeError] | None = [] if collect else None
        self.lines = TomlLines(text)
        self.prefix = prefix
        self.user = user
        if not isinstance(tables, dict):
            raise KnowledgeError(path, 0, "not a table")
        self.disable: list[str] = []
        self.patterns: dict[str, list[str]] = {}
        self.entries: list[dict] = []
        for name in tables:
            with self._kept():
                if name not in TOP_KEYS:
                    raise KnowledgeError(
                        path, self._line(str(name)), f'unknown table "{name}"{nearest(str(name), TOP_KEYS)}'
                    )
        with self._kept():
            self.disable = self._strings(tables.get("disable", []), "disable", self._line("disable"))
        with self._kept():
            self.patterns = self._patterns(tables.get("patterns", {}))
        for kind in TABLES:
            rows = tables.get(kind, [])
            with self._kept():
                if not isinstance(rows, list):
                    raise KnowledgeError(
                        path, self._line(kind), f'"{kind}" is an array of tables: write [[{prefix}{kind}]]'
                    )
                for number, row in enumerate(rows):
                    with self._kept():
                        self.entries.append(self._entry(kind, row, self._line(kind, number)))

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except KnowledgeError as problem:
            if self.problems is None:
                raise
            self.problems.append(problem)

    def _line(self, name: str, index: int = 0) -> int:
        return self.lines.table(self.prefix + name, index) or self.first_line

    def _strings(self, value: Any, name: str, line: int) -> list[str]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(value)
        raise KnowledgeError(self.path, line, f'"{name}" must be a string or a list of strings')

    def _patterns(self, value: Any) -> dict[str, list[str]]:
        line = self._line("patterns")
        if not isinstance(value, dict):
            raise KnowledgeError(self.path, line, f'"patterns" is a table: write [{self.prefix}patterns]')
        return {
            str(group): self._strings(globs, str(group), self.lines.key(line, str(group)))
            for group, globs in value.items()
        }

    def _entry(self, kind: str, row: Any, line: int) -> dict:
        if not isinstance(row, dict):
            raise KnowledgeError(self.path, line, f'"{kind}" is an array of tables: write [[{self.prefix}{kind}]]')
        table = TABLES[kind]
        fields: dict[str, Any] = {}
        ops: dict[str, list] = {}
        for name, value in row.items():
            name = str(name)  # tables need not come from TOML
            at = self.lines.key(line, name)
            known = table.fields.get(name)
            with self._kept():
                if name in table.ops:
                    ops[name] = []
                    for item in self._items(value, name, at):
                        with self._kept():
                            ops[name].append(self._spec(kind, name, item, at))
                elif known is not None and not known.inline:
                    fields[name] = self._value(known, value, name, at)
                elif known is not None:
                    raise KnowledgeError(
                        self.path, at, f'"{name}" stands in the inline table of one call: {{call = "…", {name} = …}}'
                    )
                else:
                    words = [*table.ops, *(key for key, field in table.fields.items() if not field.inline)]
                    raise KnowledgeError(
                        self.path, at, f'unknown field "{name}" in [[{self.prefix}{kind}]]{nearest(name, words)}'
                    )
        return {
            "kind": kind,
            "id": fields.get("id", ""),
            "fields": fields,
            "ops": ops,
            "file": self.path,
            "line": line,
            "user": self.user,
        }

    def _items(self, value: Any, name: str, line: int) -> list:
        if isinstance(value, (str, dict)):
            return [value]
        if not isinstance(value, list):
            raise KnowledgeError(self.path, line, f'"{name}" must be a list of signatures')
        return value

    def _spec(self, kind: str, op: str, item: Any, line: int) -> tuple:
        settings: dict[str, Any] = {}
        if isinstance(item, dict):
            text = item.get("call")
            if not isinstance(text, str):
                raise KnowledgeError(self.path, line, f'an inline table of "{op}" needs call = "signature"')
            at = self.lines.key(line, op, text) if self.lines.lines else line
            known_fields = TABLES[kind].fields
            for name, value in item.items():
                name = str(name)
                if name == "call":
                    continue
                known = known_fields.get(name)
                if known is None or name in RECEIVERS or name == "extends":
                    words = ["call", *(key for key in known_fields if key not in RECEIVERS and key != "extends")]
                    raise KnowledgeError(self.path, at, f'unknown setting "{name}" of "{text}"{nearest(name, words)}')
                settings[name] = self._value(known, value, name, at)
        elif isinstance(item, str):
            text = item
            at = self.lines.key(line, op, text) if self.lines.lines else line
        else:
            raise KnowledgeError(
                self.path, line, f'"{op}" must hold signatures: strings or inline tables with call = "…"'
            )
        try:
            data = signatures.parse(text, _ROLES, literals=op in ("make", "made_by"))
        except signatures.SignatureProblem as problem:
            raise KnowledgeError(self.path, at, str(problem)) from None
        if kind == "store" and op == "write" and not settings.get("stream") and not settings.get("deferred") and not settings.get("document") and settings.get("role") != "swap" and not _WRITE_ROLES & {param[1] for param in data[1]}:
            raise KnowledgeError(
                self.path,
                at,
                f'the write "{text}" does not say what is written: annotate a parameter as payload, entity, fields, '
                "operators, sql, statement or instance",
            )
        return (op, data, settings)

    def _value(self, known: Field, value: Any, name: str, line: int) -> Any:
        if known.type == "list":
            result: Any = self._strings(value, name, line)
            words = result
        elif known.type == "table":
            if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
                raise KnowledgeError(self.path, line, f'"{name}" must be a table of strings')
            result, words = {str(key): item for key, item in value.items()}, list(value.values())
        elif isinstance(value, bool) and "bool" in known.type:
            return value
        elif isinstance(value, str) and "str" in known.type:
            result, words = value, [value]
        else:
            wanted = {"str": "a string", "bool": "true or false", "str|bool": "a string, true or false"}[known.type]
            raise KnowledgeError(self.path, line, f'"{name}" must be {wanted}')
        if known.values is not None:
            for word in words:
                if word not in known.values:
                    raise KnowledgeError(
                        self.path, line, f'"{word}" is no value of "{name}"{nearest(word, known.values)}'
                    )
        return result


# --- layers → entries --------------------------------------------------------------------------------------------
def merge(base: list[dict], layers: Iterable[Layer]) -> list[dict]:
    """Return `base` (entry data, already complete) with the layers' entries added, in order.

    An entry of a user's layer with the id of an older one replaces it; two of one layer, or two built-in ones, are an
    error. Resolves `extends` and `disable`. Raises KnowledgeError.
    """
    layers = list(layers)
    entries: dict[tuple[str, str], dict] = {(entry["kind"], entry["id"]): entry for entry in base}
    fresh: dict[tuple[str, str], dict] = {}
    replaced: dict[tuple[str, str], dict] = {}
    for layer in layers:
        for entry in layer.entries:
            key = _identify(entry, layer, fresh)
            if key in fresh and (fresh[key]["file"] == entry["file"] or not entry["user"]):
                other = fresh[key]
                raise KnowledgeError(
                    entry["file"],
                    layer.lines.key(entry["line"], "id"),
                    f'a second [[{entry["kind"]}]] with the id "{entry["id"]}" (the first: '
                    f"{other['file']}:{other['line']})",
                )
            if key in entries:
                replaced[key] = entries[key]
            entries[key] = fresh[key] = entry
    done: dict[tuple[str, str], dict] = {}
    for key in list(entries):
        entries[key] = _extended(key, entries, replaced, done, layers, ())
    for layer in layers:
        for name in layer.disable:
            found = [key for key in entries if key[1] == name]
            if not found:
                line = layer.lines.key(layer.lines.table(layer.prefix + "disable"))
                raise KnowledgeError(
                    layer.path,
                    line,
                    f'disable: no entry has the id "{name}"{nearest(name, (key[1] for key in entries))}',
                )
            for key in found:
                del entries[key]
    for layer in layers:
        _check_references(layer, entries)
    return list(entries.values())


def _identify(entry: dict, layer: Layer, fresh: dict) -> tuple[str, str]:
    """Give the entry its id. Without one: the extended entry's when it names no receiver, else from its first
    receiver."""
    fields, kind = entry["fields"], entry["kind"]
    if not entry["id"]:
        receivers = [*fields.get("types", []), *fields.get("base", []), *fields.get("functions", [])]
        receivers += [spec[1][0] for op in entry["ops"].values() for spec in op if "." in spec[1][0].strip("._")]
        made = entry["ops"].get("make") or entry["ops"].get("made_by")
        if fields.get("extends") and not receivers and not made and not fields.get("names"):
            entry["id"] = fields["extends"]
        elif receivers or fields.get("names"):
            dotted = (receivers or fields["names"])[0]
            entry["id"] = dotted.rpartition(".")[2].strip("*") or dotted
            if (kind, entry["id"]) in fresh:
                entry["id"] = dotted
        else:
            raise KnowledgeError(
                entry["file"], entry["line"], f"[[{layer.prefix}{kind}]] needs an id, types, functions or names"
            )
    return kind, entry["id"]


def _extended(key: tuple, entries: dict, replaced: dict, done: dict, layers: list[Layer], path: tuple) -> dict:
    if key in done:
        return done[key]
    entry = entries[key]
    if "ops" not in entry:  # of the base: complete already
        done[key] = entry
        return entry
    kind, wanted = key[0], entry["fields"].get("extends")
    fields, ops = dict(entry["fields"]), dict(entry["ops"])
    if wanted:
        layer = next(layer for layer in layers if layer.path == entry["file"])
        line = layer.lines.key(entry["line"], "extends")
        source_key = (kind, wanted)
        alone = source_key == key and key not in replaced  # nothing of that id but the entry itself
        if source_key in path or (alone and "id" in fields):
            raise KnowledgeError(entry["file"], line, f'"{wanted}" extends itself')
        if source_key not in entries or alone:
            known = [name for known_kind, name in entries if known_kind == kind and (known_kind, name) != key]
            raise KnowledgeError(
                entry["file"], line, f'extends: no [[{kind}]] has the id "{wanted}"{nearest(wanted, known)}'
            )
        if source_key == key:
            source = replaced[key]
            if "ops" in source:
                source = _extended(key, {**entries, key: source}, {}, {}, layers, path)
        else:
            source = _extended(source_key, entries, replaced, done, layers, (*path, key))
        same = source_key == key  # the entry is changed in place and stays reachable as it was
        fields = {
            **{name: value for name, value in source["fields"].items() if same or name not in RECEIVERS},
            **fields,
        }
        inherited: dict[str, list] = {}
        for spec in specs_of(source):
            if same or (spec[0] not in RECEIVERS and "." not in spec[1][0].lstrip(".")):
                inherited.setdefault(spec[0], []).append(spec)
        ops = {**inherited, **ops}
    fields.pop("id", None)
    complete = {
        "kind": kind,
        "id": entry["id"],
        "fields": fields,
        "file": entry["file"],
        "line": entry["line"],
        "user": entry["user"],
        "specs": [_completed(spec, kind, entry["id"]) for specs in ops.values() for spec in specs],
    }
    done[key] = complete
    return complete


def _completed(spec: tuple, kind: str, id_: str) -> tuple:
    op, (name, params, returns, text), settings = spec
    if op == "made_by":
        return ("make", (name, params, returns or f"{kind}:{id_}", text), settings)
    return spec


def _check_references(layer: Layer, entries: dict) -> None:
    """Every `-> kind:id` leads somewhere, and something leads to every entry of this layer."""
    led_to: set[str] | None = None
    extended = {(entry["kind"], entry["fields"].get("extends")) for entry in entries.values()}
    for key, entry in entries.items():
        if entry["file"] != layer.path:
            continue
        for op, data, _ in specs_of(entry):
            kind, colon, id_ = data[2].partition(":")
            if colon and (kind, id_) not in entries:
                line = layer.lines.key(entry["line"], op, data[3])
                known = [f"{known_kind}:{known_id}" for known_kind, known_id in entries]
                raise KnowledgeError(
                    layer.path, line, f'"{data[3]}" returns an unknown "{data[2]}"{nearest(data[2], known)}'
                )
        fields = entry["fields"]
        if entry["kind"] == "orm" and "unit_of_work" not in fields:
            raise KnowledgeError(layer.path, entry["line"], f'[[orm]] "{key[1]}" needs unit_of_work = true or false')
        reachable = any(
            fields.get(name) for name in ("types", "base", "functions", "names", "model_modules", "manager")
        )
        reachable = reachable or any(
            "." in spec[1][0].strip(".") or spec[0] == "make" or spec[2].get("on") for spec in specs_of(entry)
        )
        if reachable or key in extended:
            continue
        if led_to is None:
            led_to = {spec[1][2] for other in entries.values() for spec in specs_of(other)}
        if f"{key[0]}:{key[1]}" not in led_to:
            raise KnowledgeError(
                layer.path,
                entry["line"],
                f'nothing leads to [[{key[0]}]] "{key[1]}": give it types, functions, names or made_by',
            )
