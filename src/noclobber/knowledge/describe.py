"""The vocabulary in words, and its checks: what `noclobber stores list | explain | check` prints. Imported by the CLI
only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from noclobber import knowledge
from noclobber.knowledge import Entry, KnowledgeError, Param, Signature, Spec, Vocabulary
from noclobber.knowledge.signatures import NOTHING
from noclobber.knowledge.tables import TABLES, TOP_KEYS

#: Roles worth a word of their own, in the order they are told.
_TOLD_ROLES = (
    "table",
    "key",
    "ident",
    "filter",
    "payload",
    "entity",
    "instance",
    "fields",
    "operators",
    "columns",
    "sql",
    "statement",
    "params",
    "precondition",
    "create_only",
    "exists_only",
    "headers",
    "method",
    "lock",
    "txn",
    "func",
    "ttl",
    "idempotency_key",
    "on",
    "stop",
    "wait",
)
_TOLD_SETTINGS = (
    "value",
    "witness",
    "conflict",
    "outcome",
    "requires",
    "noop_on",
    "scope",
    "ttl",
    "writes",
    "rows",
    "on",
)


def describe_call(spec: Spec) -> str:
    """Return one line: 'redis write set(name, value, …) · key: name · payload: value · precondition: ifeq · conflict:
    returns None'."""
    parts = [f"{spec.entry.id} {spec.op} {shown(spec.signature)}"]
    for role in _TOLD_ROLES:
        names = [_param_name(param) for param in spec.signature.params if param.role == role]
        if names:
            parts.append(f"{role.replace('_', ' ')}: {', '.join(names)}")
    for name in _TOLD_SETTINGS:
        value = spec.get(name)
        if value not in (None, "", []) and not (
            name in ("witness", "value") and spec.op not in ("read", "load", "many", "fetch")
        ):
            parts.append(f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
    if spec.signature.returns:
        parts.append(f"gives {spec.signature.returns}")
    return " · ".join(parts)


def describe_entry(entry: Entry) -> str:
    """Return several lines: the receivers, then one line for each call."""
    lines = [f"[[{entry.kind}]] {entry.id}  ({entry.origin[0]}:{entry.origin[1]})"]
    lines += [f"  {name}: {_text(value)}" for name, value in entry.fields.items()]
    lines += [f"  {describe_call(spec)}" for spec in entry.specs]
    return "\n".join(lines)


def shown(signature: Signature) -> str:
    """Return the signature without roles and defaults: 'set(name, value, …)'."""
    named = [
        _param_name(param) for param in signature.params if param.name != "_" or param.kind not in ("var", "varkw")
    ]
    if len(named) > 3:
        named = [*named[:3], "…"]
    return f"{signature.name.lstrip('._') if signature.name.startswith('_.') else signature.name}({', '.join(named)})"


def stores_table(vocabulary: Vocabulary) -> list[tuple[str, ...]]:
    """Return rows of texts, the headings first: kind, id, receivers, calls, guard, verified, origin. Users' entries
    come first."""
    rows = []
    for kind in TABLES:
        for entry in vocabulary.entries(kind):
            counts: dict[str, int] = {}
            for spec in entry.specs:
                if spec.op not in ("make", "result", "chain"):
                    counts[spec.op] = counts.get(spec.op, 0) + 1
            calls = ", ".join(f"{count} {op.replace('_', ' ')}" for op, count in counts.items())
            origin = f"{entry.origin[0]}:{entry.origin[1]}" if entry.user else "built in"
            rows.append(
                (
                    not entry.user,
                    (
                        kind,
                        entry.id,
                        _receivers(entry),
                        calls,
                        _guard(entry),
                        str(entry.fields.get("verified", "")),
                        origin,
                    ),
                )
            )
    rows.sort(key=lambda row: row[0])
    return [("kind", "id", "receivers", "calls", "guard", "verified", "origin"), *(row for _, row in rows)]


def _receivers(entry: Entry) -> str:
    fields = entry.fields
    texts = [
        *fields.get("types", ()),
        *fields.get("base", ()),
        *(f"{module}.*" for module in fields.get("functions", ())),
    ]
    texts = texts or [spec.signature.name for spec in entry.specs if "." in spec.signature.name]
    texts = texts or [f"named {glob}" for glob in fields.get("names", ())]
    return f"{texts[0]} and {len(texts) - 1} more" if len(texts) > 1 else "".join(texts)


def _guard(entry: Entry) -> str:
    """What makes a write of the entry conditional, by the parameter's name."""
    if entry.fields.get("last_writer_wins"):
        return "last writer wins"
    names: dict[str, None] = {}
    for spec in entry.specs:
        for param in spec.signature.params:
            if param.role == "precondition" and spec.op in ("write", "delete", "run", "upsert", "set_write"):
                names[param.name] = None
    names.update(dict.fromkeys(entry.fields.get("precondition_headers", ())))
    return ", ".join(names)


def _param_name(param: Param) -> str:
    if param.literal is not NOTHING:
        return f"{param.name}={param.literal!r}" if param.name else repr(param.literal)
    return {"var": "*", "varkw": "**"}.get(param.kind, "") + param.name


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- stores check ------------------------------------------------------------------------------------------------
def check_file(path: str, vocabulary: Vocabulary | None = None) -> list[KnowledgeError]:
    """Return everything that is wrong with a vocabulary file, a pyproject.toml, a `_names.toml` or a rule page, []
    when it is usable.

    `vocabulary`: what `extends` and `disable` may name (default: the built-in one). Imports nothing that the file
    names; never raises.
    """
    from noclobber.knowledge import pages
    from noclobber.knowledge.build import Layer, merge
    from noclobber.knowledge.errors import parse_toml, read_text, table_prefix

    try:
        text = read_text(path)
        if path.endswith(".md"):
            pages.parse(text, path)
            return []
        tables = parse_toml(text, path)
        prefix = table_prefix(text)
        if prefix:
            tool = tables.get("tool")
            section = tool.get("noclobber") if isinstance(tool, dict) else None
            tables = {key: section[key] for key in TOP_KEYS if key in section} if isinstance(section, dict) else {}
        layer = Layer(tables, path, text, prefix=prefix, user=True, collect=True)
        problems = list(layer.problems or ())
        if not problems:  # what is left out would only make errors of its own here
            base = vocabulary or knowledge.load().vocabulary
            merge(base.data, [layer])
        return problems
    except KnowledgeError as problem:
        return [problem]


# --- stores check --verify ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Mismatch:
    """`target`: the dotted name that was looked at; `message`: what differs."""

    kind: str
    id: str
    call: str
    target: str
    message: str
    origin: tuple[str, int]

    def __str__(self) -> str:
        return f'{self.origin[0]}:{self.origin[1]}: {self.target}: {self.message} (in "{self.call}" of {self.id})'


def verify_signatures(
    vocabulary: Vocabulary, *, kinds: Iterable[str] = tuple(TABLES), user_only: bool = False
) -> list[Mismatch]:
    """Import the types and functions that the entries name and compare parameter names and positions with
    `inspect.signature`.

    What is not installed, or has no signature to look at, is passed over. Runs the imported packages' top-level code:
    only on request.
    """
    found: list[Mismatch] = []
    for kind in kinds:
        for entry in vocabulary.entries(kind):
            if entry.user or not user_only:
                found += _verify_entry(entry)
    return found


def _verify_entry(entry: Entry) -> Iterator[Mismatch]:
    types = [*entry.fields.get("types", ()), *entry.fields.get("base", ())]
    for spec in entry.specs:
        signature = spec.signature
        if signature.name == "*" or signature.name.startswith(("_.", ".")):
            continue
        if "." in signature.name:
            targets = [signature.name]
        else:
            targets = [
                f"{owner}.{signature.name}"
                for owner in (*(spec.settings.get("on") or types), *entry.fields.get("functions", ()))
            ]
        problems: list[tuple[str, str]] = []
        # A method need not be in every type of the entry: it is missing only when all types could be looked at.
        # The queries of an ORM come from attributes of its models (`objects`), which have no type here.
        may_be_elsewhere = bool(spec.get("since") or spec.get("until")) or (
            entry.kind == "orm" and "." not in signature.name
        )
        for target in targets:
            problem = _verify_target(target, signature, "." not in signature.name)
            if problem == "":  # fits one of the types: the entry is right about it
                break
            if problem is None:
                may_be_elsewhere = True
            else:
                problems.append((target, problem))
        else:
            problems.sort(key=lambda found: found[1] == _ABSENT)  # a difference says more than an absence
            for target, problem in problems[:1]:
                if problem != _ABSENT or not may_be_elsewhere:
                    yield Mismatch(entry.kind, entry.id, signature.text, target, problem, entry.origin)


def _verify_target(dotted: str, signature: Signature, method: bool) -> str | None:
    """Return "" when the model fits or the thing has no signature to compare, a message when it does not fit, None
    when it is not installed."""
    import inspect

    if "*" in dotted:
        return None
    found = _import(dotted)
    if found is None:
        return None
    owner, thing = found
    if thing is _MISSING:
        return _ABSENT
    try:
        real = list(inspect.signature(thing).parameters.values())
    except Exception:  # noqa: BLE001 - builtins have none; a package's own __signature__ may raise anything
        return ""
    if inspect.isclass(owner) and method:
        static = inspect.getattr_static(owner, dotted.rpartition(".")[2], None)
        if not isinstance(static, (classmethod, staticmethod)) and real and not inspect.ismethod(thing):
            real = real[1:]
    return _compare(signature, real)


def _compare(signature: Signature, real: list[Any]) -> str:
    open_args = any(param.kind is param.VAR_POSITIONAL for param in real)
    open_keywords = any(param.kind is param.VAR_KEYWORD for param in real)
    positional = [param.name for param in real if param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD)]
    by_keyword = {param.name for param in real if param.kind in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY)}
    for position, param in enumerate(signature.params):
        if param.kind == "var":
            if not open_args and len(positional) <= position and param.name != "_":
                return f"takes no *{param.name}"
        elif param.kind == "varkw":
            if not open_keywords and not by_keyword and param.name != "_":
                return f"takes no **{param.name}"
        elif param.name in ("", "_") or param.kind == "posonly":
            if len(positional) <= position and not open_args:
                return f"takes only {len(positional)} positional arguments"
        elif param.kind == "kw":
            if param.name not in by_keyword and not open_keywords:
                return f'has no parameter "{param.name}"{knowledge.nearest(param.name, by_keyword)}'
        elif position >= len(positional):
            if param.name in by_keyword:
                return f'"{param.name}" is keyword-only'
            if not (open_args or open_keywords):
                return f'has no parameter "{param.name}"{knowledge.nearest(param.name, by_keyword)}'
        elif positional[position] != param.name:
            if param.name in positional:
                return f'"{param.name}" is at position {positional.index(param.name)}, not {position}'
            return f'position {position} is "{positional[position]}", not "{param.name}"'
    return ""


class _Missing:
    pass


_MISSING = _Missing()
_ABSENT = "no such name"


def _import(dotted: str) -> tuple[Any, Any] | None:
    """Return (owner, thing) of a dotted name; thing is _MISSING when its package is there and it is not; None: not
    installed."""
    import importlib
    import warnings

    parts = dotted.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: Any = None
        rest = parts
        for length in range(1, len(parts)):  # the last part is the thing itself
            name = ".".join(parts[:length])
            if module is not None and not hasattr(module, "__path__"):
                break  # a plain module: the rest are its names
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError as error:
                if module is None or error.name != name or getattr(module, "__file__", None) is None:
                    return None  # not installed; a namespace package (`google`) says nothing about its parts
                break
            except (Exception, SystemExit):  # noqa: BLE001 - an import runs foreign code
                return None
            rest = parts[length:]
        if module is None:
            return None
        owner: Any = module
        thing: Any = module
        for name in rest:
            owner = thing
            try:
                thing = getattr(owner, name)
            except AttributeError:
                return owner, _MISSING
            except (Exception, SystemExit):  # noqa: BLE001
                return None
    return owner, thing
