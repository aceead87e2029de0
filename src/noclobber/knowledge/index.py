"""The lookups of `Vocabulary` as plain data, and what triage is told of each call name. Imported with `build` only."""

from __future__ import annotations

import keyword
from typing import Any

from noclobber.knowledge.signatures import takes_names_only
from noclobber.knowledge.tables import TRIAGE_KINDS
from noclobber.knowledge.vocabulary import specs_of


def index_entries(entries: list[dict], start: int = 0) -> dict[str, Any]:
    """Return the lookups as plain data; a place is (entry number, spec number), entries count from `start`.

    functions: dotted → places; function_globs: [(glob, places)]; methods: entry number → name → spec numbers; types:
    type → entry numbers; type_globs: [(glob, entry numbers)]; receivers: "_" name → places; names: [(glob, entry
    number)]; calls: last name part → kinds. For `reach`: uses: last name part, or `keyword=` → (entry number, door, does it
    act on rows, kinds, shapes of calls that do not fit); openers: one for each entry; gives: (entry number, door, last name part, literals, type).
    """
    functions: dict[str, list] = {}
    function_globs: dict[str, list] = {}
    methods: list[dict[str, list[int]]] = []
    types: dict[str, list[int]] = {}
    type_globs: dict[str, list[int]] = {}
    any_receiver: dict[str, list] = {}
    names: list[tuple[str, int]] = []
    calls: dict[str, set[str]] = {}
    uses: dict[str, list] = {}
    openers: list[tuple] = []
    gives: list[tuple] = []

    for number, entry in enumerate(entries, start):
        fields = entry["fields"]
        own: dict[str, list[int]] = {}
        methods.append(own)
        extra_types = (
            {on for _, _, settings in specs_of(entry) for on in settings.get("on", ())}
            if entry["kind"] != "retry"
            else set()
        )
        for type_ in dict.fromkeys(
            [*fields.get("types", ()), *fields.get("base", ()), *sorted(extra_types), f"{entry['kind']}:{entry['id']}"]
        ):
            (type_globs if "*" in type_ else types).setdefault(type_, []).append(number)
        names += [(glob, number) for glob in fields.get("names", ())]
        openers.append(_openers(entry, sorted(extra_types)))
        for place, (op, (name, _, _, _), _) in enumerate(specs_of(entry)):
            if name.startswith("_."):
                any_receiver.setdefault(name[2:], []).append((number, place))
            elif name.startswith("."):
                own.setdefault(name[1:], []).append(place)
            elif "." in name:
                functions.setdefault(name, []).append((number, place))
            else:
                own.setdefault(name, []).append(place)
                for module in fields.get("functions", ()):
                    dotted = f"{module}.{name}"
                    (function_globs if "*" in module else functions).setdefault(dotted, []).append((number, place))
            last = name.rpartition(".")[2]
            spec = specs_of(entry)[place]
            kinds = kinds_of(entry, spec)
            doors = _doors(entry, spec)
            if last.isidentifier() and not keyword.iskeyword(last):
                calls.setdefault(last, set()).update(kinds)
            if kinds and (last.isidentifier() or last == "*"):
                rows = entry["kind"] == "orm" and _is_of_rows(spec)
                if last in ("__getitem__", "__setitem__", "__delitem__"):  # `store[key]`
                    uses.setdefault("[]", []).extend((number, door, rows, sorted(kinds), "") for door in doors)
                # What only an argument by name can bring stands at that name: `get(…, with_for_update=True)`.
                keywords = _optional_keywords(spec)
                plain = kinds_of(entry, _without(spec, keywords)) if keywords else kinds
                for name in keywords if plain != kinds else ():
                    uses.setdefault(name + "=", []).extend((number, door, rows, sorted(kinds - plain), "") for door in doors)
                uses.setdefault(last, []).extend((number, door, rows, sorted(plain), _misfits(entry, spec, door)) for door in doors)
            returns = spec[1][2] or (f"{entry['kind']}:{entry['id']}" if op in ("make", "made_by") else "")
            if returns:
                literals = _literals(spec)
                gives += [(number, door, last, literals, returns) for door in doors]
    return {
        "functions": functions,
        "function_globs": list(function_globs.items()),
        "methods": methods,
        "types": types,
        "type_globs": list(type_globs.items()),
        "receivers": any_receiver,
        "names": names,
        "calls": {name: sorted(kinds) for name, kinds in calls.items()},
        "uses": uses,
        "openers": openers,
        "gives": gives,
    }


def _openers(entry: dict, extra_types: list[str]) -> tuple[list[str], list[str], dict[str, list[str]], str]:
    """What in a file can make a value of an entry: (types, globs of receivers' names, for rows {list field: its
    values}, id of the unit of work)."""
    fields = entry["fields"]
    types = [*fields.get("types", ()), *extra_types]
    if entry["kind"] in ("store", "lock"):  # an instance that a library keeps (`django.core.cache.cache`) may be put into an attribute
        types += [module for module in fields.get("functions", ()) if "." in module and "*" not in module]
    words = [glob.rpartition(".")[2] for glob in fields.get("names", ())]
    rows = {}
    if entry["kind"] == "orm":
        rows = {name: list(fields.get(name, ())) for name in ("base", "manager", "model_modules")}
        # `__mapper_args__['version_id_col']`, `concurrency.fields.IntegerVersionField`
        rows["markers"] = [
            marker.rpartition("[")[2].strip("[]'\"").rpartition(".")[2] for marker in fields.get("version_markers", ())
        ]
        # `save(update_fields=[…])` says by itself whose row it writes
        params = [param for op, data, _ in specs_of(entry) if op == "persist" for param in data[1]]
        rows["keywords"] = sorted({param[0] for param in params if param[1] == "columns"})
    unit = f"{entry['kind']}:{entry['id']}" if fields.get("unit_of_work") else ""
    return types, words, rows, unit


def _doors(entry: dict, spec: tuple) -> list[str]:
    """How a call comes to a spec: "" on a receiver of the entry, "_" on any, or the function's dotted name."""
    op, (name, _, _, _), _ = spec
    if name.startswith("_."):
        return ["_"]
    if "." in name.lstrip("."):
        return [name] if not name.startswith(".") else [""]
    found = [""]
    for module in entry["fields"].get("functions", ()):
        found.append("_" if "*" in module else f"{module}.{name}")
    if op == "run" and entry["id"] == "dbapi":
        found.append("_")  # SQL text is run whoever the receiver is
    return found


def _is_of_rows(spec: tuple) -> bool:
    """Is it called on a row, or on a query that was begun elsewhere?"""
    op, (_, params, _, _), _ = spec
    roles = {param[1] for param in params}
    if op in ("load", "many"):
        return "table" not in roles
    if op in ("reload", "remove"):
        return not roles & {"instance", "entity"}
    return op in _OF_ROWS


#: Roles that change what a call is, so that its plain form is less.
_AT_KEYWORDS = frozenset({"lock", "precondition", "create_only", "ttl"})


def _optional_keywords(spec: tuple) -> list[str]:
    """Names of the parameters with a role that can be given by name only, and need not be given."""
    return [name for name, role, kind, _, literal in spec[1][1] if role in _AT_KEYWORDS and kind == "kw" and literal is ...]


def _without(spec: tuple, names: list[str]) -> tuple:
    op, (name, params, returns, text), settings = spec
    return op, (name, tuple(param for param in params if param[0] not in names), returns, text), settings


def _misfits(entry: dict, spec: tuple, door: str) -> str:
    """The shapes of calls that a spec does not fit, as the walk binds them (see `reach.Calls`)."""
    op, (_, params, _, _), _ = spec
    found = "(" if not door else "." if door != "_" else ""
    if takes_names_only(params):
        found += "+'1"
    elif entry["kind"] == "orm" and op in ("load", "many") and params and params[0][1] == "table":
        found += "'"  # a text is no entity: `session.get("cart")` of a web framework
        if op == "load" and len(params) > 1 and params[1][1] == "ident" and params[1][3] is ...:
            found += "1"
    return found


def _literals(spec: tuple) -> list[str]:
    """Texts that the file must hold for the call to fit."""
    return sorted(
        literal
        for _, _, _, default, literal in spec[1][1]
        if isinstance(literal, str) and default is ... and "*" not in literal and not literal.endswith("://")
    )


def join_indexes(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return an index of both; neither is changed. Kinds only grow, also where an entry is replaced: triage may see
    more, never less."""
    joined: dict[str, Any] = {}
    for name, old in base.items():
        new = more[name]
        if isinstance(old, list):
            joined[name] = [*old, *new]
        elif name == "calls":
            joined[name] = {**old, **{call: sorted({*old.get(call, ()), *kinds}) for call, kinds in new.items()}}
        else:
            joined[name] = {**old, **{key: [*old.get(key, ()), *places] for key, places in new.items()}}
    return joined


_WRITING = {
    "write": ("write",),
    "atomic": ("write",),
    "append": ("write",),
    "create": ("create", "write"),
    "add": ("create", "write"),
    "delete": ("delete", "write"),
    "remove": ("delete", "write"),
    "persist": ("write", "orm-persist"),
    "set_write": ("write", "conditional", "orm-update"),
    "upsert": ("write", "create"),
    "merge": ("write",),
    "flush": ("write", "orm-flush"),
    "commit": ("write", "orm-flush"),
}
_KINDS: dict[str, tuple[str, ...]] = {
    **_WRITING,
    "run": ("read", "write", "conditional", "sql-run"),  # the text says the rest, where it stands
    "read": ("read",),
    "fetch": ("read",),
    "load": ("read",),
    "many": ("read",),
    "scalar": ("read",),
    "check_exists": ("read",),
    "reload": ("read", "orm-read", "record-read"),
    "lock": ("lock",),
    "unlock": ("unlock",),
    "begin": ("begin",),
    "transaction": ("begin",),
    "replay": ("replay", "policy"),
    "batch": ("write", "conditional", "create", "delete"),
    "change": ("change",),
    "decode": ("decode",),
    "encode": ("encode",),
    "mutation": ("change", "row-change"),
    "assign": ("change", "row-change"),
    "execute": ("read", "write", "conditional", "create", "delete", "orm-read", "record-read", "orm-update"),
}
#: Lists whose words mean something else in these tables.
_KINDS_OF_TABLE: dict[tuple[str, str], tuple[str, ...]] = {
    **{("retry", op): ("replay", "policy") for op in ("decorator", "loop", "call")},
    ("retry", "policy"): ("policy", "replay"),
    **{("retry", op): ("policy",) for op in ("condition", "attach")},
    ("effect", "call"): ("effect",),
    ("lock", "make"): ("lock",),
    ("lock", "enter"): ("lock",),
    ("lock", "extend"): ("lock", "write"),
    ("lock", "take"): ("lock",),
    ("lock", "drop"): ("unlock",),
    ("tool", "decorator"): ("tool",),
    ("tool", "register"): ("tool",),
    ("tool", "subclass"): ("tool",),
    ("tool", "schema"): ("tool", "schema"),
    ("transaction", "enter"): ("begin",),
    ("builder", "upsert"): ("write", "create", "conditional"),
}
_KINDS_OF_START = {
    "select": ("read", "sql-read", "orm-read", "record-read"),
    "update": ("write", "conditional", "sql-write", "sql-built"),
    "delete": ("delete", "write", "conditional", "sql-built"),
    "insert": ("create", "write"),
    "text": ("read", "write", "conditional"),  # its own text says the rest; whoever runs it has `sql-run`
}
_UNKNOWN_START = ("read", "write", "conditional", "sql-read", "sql-write", "sql-built", "orm-read", "record-read")
#: Lists of `[[orm]]` that act on a row or on a query made before, whoever made it: no session is called.
_OF_ROWS = frozenset({"set_write", "persist", "create", "upsert", "filter", "lock", "scalar", "check_exists", "assign", "execute"})


def kinds_of(entry: dict, spec: tuple) -> frozenset[str]:
    """Return the triage kinds that a call of this spec can have: never fewer than the walk can see (see
    rules/README.md)."""
    op, (_, params, returns, _), settings = spec
    if "kinds" in settings:
        return frozenset(settings["kinds"])
    kind, fields = entry["kind"], entry["fields"]
    kinds = set(_KINDS_OF_TABLE.get((kind, op)) or _KINDS.get(op, ()))
    if kind == "builder" and op == "start":
        kinds.update(_KINDS_OF_START.get(returns, _UNKNOWN_START))
    roles = {param[1] for param in params}
    if "lock" in roles:
        kinds.add("lock")
    if op in _WRITING:
        if (  # a header is conditional by its text, where that stands
            roles & {"precondition", "filter", "create_only"}
            or settings.get("conflict")
            or settings.get("always_conditional")
            or fields.get("always_conditional")
        ):
            kinds.add("conditional")
        if "create_only" in roles:
            kinds.add("create")
            if "ttl" in roles:  # SET key token NX PX 5000 takes a lock
                kinds.add("lock")
    by_verb: set[str] = set()
    if "method" in roles and kind == "store":
        verbs = fields.get("method_roles") or dict.fromkeys(("read", "write", "create", "delete", "effect"))
        by_verb = set(verbs.values() if fields.get("method_roles") else verbs)
        kinds |= by_verb
    if kind == "store":
        kinds |= _kinds_of_family(op, settings.get("family") or fields.get("family") or "key", by_verb, kinds)
    if kind == "orm":
        kinds |= _kinds_of_orm(op, fields, roles, returns)
    if fields.get("replays") and kind == "transaction" and op == "enter":
        kinds.update(("replay", "policy"))
    if settings.get("replays") or (kind == "orm" and op in ("transaction", "begin") and fields.get("replays")):
        kinds.update(("replay", "policy"))
    assert kinds <= set(TRIAGE_KINDS), kinds
    return frozenset(kinds)


def _kinds_of_family(op: str, family: str, by_verb: set[str], kinds: set[str]) -> set[str]:
    """What a store's call is beside its plain kinds: of which family, and can its write carry a precondition?"""
    found = set()
    if op == "read" or "read" in by_verb:
        found.update((f"{family}-read", "record-read"))
    if op in ("write", "batch") or "write" in by_verb:
        found.add(f"{family}-write")
    if found and family == "sql":
        found.add("sql-run")
    if op != "run" and "conditional" in kinds:
        found.add("precondition")
    return found


def _kinds_of_orm(op: str, fields: dict, roles: set[str], returns: str) -> set[str]:
    """Rows come from loads that name their entity and from calls that begin a query; a session's are of its owner."""
    found = set()
    begins = op in ("load", "many", "scalar") and "table" in roles or returns in ("select", "update", "delete")
    if fields.get("related_managers") and op in ("filter", "scalar", "check_exists"):
        found.update(("orm-read", "record-read"))  # `order.refunds.filter(…).exists()`
    if fields.get("class_queries"):
        begins |= op in ("load", "many", "scalar", "check_exists", "filter", "lock")
    if begins:
        found.update(("orm-read", "record-read"))
    if fields.get("unit_of_work"):
        if (begins or op == "run") and not fields.get("class_queries"):
            found.add("orm-session-read")
        if op in ("begin", "transaction"):
            found.add("orm-flush")
    return found
