"""The lookups of `Vocabulary` as plain data, and what triage is told of each call name. Imported with `build` only."""

from __future__ import annotations

import keyword
from typing import Any

from noclobber.knowledge.tables import TRIAGE_KINDS
from noclobber.knowledge.vocabulary import specs_of


def index_entries(entries: list[dict], start: int = 0) -> dict[str, Any]:
    """Return the lookups as plain data; a place is (entry number, spec number), entries count from `start`.

    functions: dotted → places; function_globs: [(glob, places)]; methods: entry number → name → spec numbers; types:
    type → entry numbers; type_globs: [(glob, entry numbers)]; receivers: "_" name → places; names: [(glob, entry
    number)]; calls: last name part → kinds.
    """
    functions: dict[str, list] = {}
    function_globs: dict[str, list] = {}
    methods: list[dict[str, list[int]]] = []
    types: dict[str, list[int]] = {}
    type_globs: dict[str, list[int]] = {}
    any_receiver: dict[str, list] = {}
    names: list[tuple[str, int]] = []
    calls: dict[str, set[str]] = {}

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
            if last.isidentifier() and not keyword.iskeyword(last):
                calls.setdefault(last, set()).update(kinds_of(entry, specs_of(entry)[place]))
    return {
        "functions": functions,
        "function_globs": list(function_globs.items()),
        "methods": methods,
        "types": types,
        "type_globs": list(type_globs.items()),
        "receivers": any_receiver,
        "names": names,
        "calls": {name: sorted(kinds) for name, kinds in calls.items()},
    }


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
    "persist": ("write",),
    "set_write": ("write", "conditional"),
    "upsert": ("write", "create"),
    "merge": ("write",),
    "flush": ("write",),
    "commit": ("write",),
}
_KINDS: dict[str, tuple[str, ...]] = {
    **_WRITING,
    "run": ("read", "write", "conditional", "create", "delete", "lock", "unlock", "begin"),
    "read": ("read",),
    "fetch": ("read",),
    "load": ("read",),
    "many": ("read",),
    "scalar": ("read",),
    "check_exists": ("read",),
    "reload": ("read",),
    "lock": ("lock",),
    "unlock": ("unlock",),
    "begin": ("begin",),
    "transaction": ("begin",),
    "replay": ("replay", "policy"),
    "mutation": ("change",),
}
#: Lists whose words mean something else in these tables.
_KINDS_OF_TABLE: dict[tuple[str, str], tuple[str, ...]] = {
    **{("retry", op): ("replay", "policy") for op in ("decorator", "loop", "call")},
    ("retry", "policy"): ("policy",),
    ("effect", "call"): ("effect",),
    ("lock", "make"): ("lock",),
    ("lock", "enter"): ("lock",),
    ("lock", "extend"): ("lock", "write"),
    ("tool", "decorator"): ("tool",),
    ("tool", "register"): ("tool",),
    ("tool", "schema"): ("tool", "schema"),
    ("transaction", "enter"): ("begin",),
    ("builder", "upsert"): ("write", "create", "conditional"),
}
_KINDS_OF_START = {
    "select": ("read",),
    "update": ("write", "conditional"),
    "delete": ("delete", "write", "conditional"),
    "insert": ("create", "write"),
    "text": _KINDS["run"],
}


def kinds_of(entry: dict, spec: tuple) -> frozenset[str]:
    """Return the triage kinds that a call of this spec can have: never fewer than the walk can see (see
    rules/README.md)."""
    op, (_, params, returns, _), settings = spec
    if "kinds" in settings:
        return frozenset(settings["kinds"])
    kind, fields = entry["kind"], entry["fields"]
    kinds = set(_KINDS_OF_TABLE.get((kind, op)) or _KINDS.get(op, ()))
    if kind == "builder" and op == "start":
        kinds.update(_KINDS_OF_START.get(returns, _KINDS["run"]))
    roles = {param[1] for param in params}
    if "lock" in roles:
        kinds.add("lock")
    if op in _WRITING:
        headers = "headers" in roles and (fields.get("precondition_headers") or fields.get("create_headers"))
        if (
            roles & {"precondition", "filter", "create_only"}
            or headers
            or settings.get("conflict")
            or settings.get("always_conditional")
            or fields.get("always_conditional")
        ):
            kinds.add("conditional")
        if "create_only" in roles:
            kinds.add("create")
            if "ttl" in roles:  # SET key token NX PX 5000 takes a lock
                kinds.add("lock")
    if "method" in roles and kind == "store":
        verbs = fields.get("method_roles") or dict.fromkeys(("read", "write", "create", "delete", "effect"))
        kinds.update(verbs.values() if fields.get("method_roles") else verbs)
        if "write" in kinds:
            kinds.add("conditional")
    if fields.get("replays") and kind == "transaction" and op == "enter":
        kinds.update(("replay", "policy"))
    if settings.get("replays") or (kind == "orm" and op in ("transaction", "begin") and fields.get("replays")):
        kinds.update(("replay", "policy"))
    assert kinds <= set(TRIAGE_KINDS), kinds
    return frozenset(kinds)
