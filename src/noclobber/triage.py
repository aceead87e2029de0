"""Which scopes of a module can matter to the selected pages (DESIGN §4). It only skips: findings with triage on and
off are equal.

A scope is an outermost def with all that is in it, the loose statements of the module, or those of a class body. One
pass over the `ast` notes each scope's *atoms* (event kinds) and the names it mentions; names become *edges* to scopes
of the same module, blind to receivers except `self`, `cls` and `super()`. kinds(scope) = atoms + kinds of what the
edges reach. Everything errs towards more kinds. Sets of kinds are bit masks inside, frozensets of words outside.
"""
from __future__ import annotations

import ast
import builtins
import re
import sys
from ast import (AnnAssign, Assign, AsyncFor, AsyncFunctionDef, AsyncWith, Attribute, AugAssign, Call, ClassDef,
                 Constant, Dict, Expr, For, FunctionDef, Lambda, Load, Name, Subscript, While, With)
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Callable, Iterable, Iterator
from unicodedata import normalize
from weakref import WeakKeyDictionary

from noclobber.knowledge.pairs import halves
from noclobber.knowledge.reach import shape_of
from noclobber.resolve import (ModuleIndex, Source, SourceError, absolute, cookie, dotted, dotted_text,
                               import_names)

FAMILIES = ("sql", "http", "object", "document", "key", "accessor", "file", "remote")
#: `knowledge.tables` says what each means; not imported, since a run needs nothing else of it.
KINDS = ("read", "write", "conditional", "create", "delete", "lock", "unlock", "begin", "replay", "effect", "policy",
         "conflict", "tool", "schema", "dump", "makekey", "change", "subscript",
         "row-change", "recursion", "precondition", "witness", "record-read", "versioned",
         *(f"{family}-{kind}" for family in FAMILIES for kind in ("read", "write")),
         "sql-run", "sql-conditional", "sql-built", "decode", "encode",
         "orm-read", "orm-session-read", "orm-update", "orm-persist", "orm-flush")
MODULE = "<module>"

_BIT = {kind: 1 << place for place, kind in enumerate(KINDS)}
_CHANGE, _REPLAY, _CONFLICT = _BIT["change"] | _BIT["row-change"], _BIT["replay"], _BIT["conflict"]
_OWN_CHANGE = _BIT["change"] | 1 << len(KINDS)  # `self.x = …`: of a row where the class may be a model
_MAY_BE_MODEL = 1 << len(KINDS)
_RECURSION = _REPLAY | _BIT["recursion"]
_CONDITION = _BIT["conditional"] | _BIT["precondition"]
_COMMAND = _BIT["conditional"] | _BIT["precondition"] | _BIT["write"]
_WITNESS = _BIT["conditional"] | _BIT["witness"]
_GETTER, _SETTER = _BIT["accessor-read"], _BIT["accessor-write"]
_MANAGER = _BIT["read"] | _BIT["orm-read"] | _BIT["record-read"]
#: What a value kept in `self.x` can carry to its reader. A change or a loop happened elsewhere; where only `self.x.y`
#: is used, the value itself is not called, so that it does nothing either (a statement kept there is run by a call of
#: its own).
CARRIED = ~(_CHANGE | _RECURSION)
#: Kinds that statements alone can make, so that no needle in the bytes tells of them.
CARRIED_BY_BASE = sum(_BIT[kind] for kind in (
    "read", "create", "lock", "begin", "policy", "conflict", "tool", "schema", "dump", "makekey", "subscript",
    *(f"{family}-read" for family in FAMILIES), "record-read", "orm-read", "orm-session-read", "versioned",
    "sql-write", "sql-conditional", "sql-built"))  # a text or statement kept there
#: Kinds of needs: reads of any family; rows of an ORM; what writes these.
READS = sum(_BIT[kind] for kind in ("read", "record-read", "orm-read", "orm-session-read", *(f"{family}-read" for family in FAMILIES)))
EFFECT, POLICY = _BIT["effect"], _BIT["policy"]
ROW_READS = (_BIT["orm-read"], _BIT["orm-session-read"])
ROW_WRITES = _BIT["orm-persist"] | _BIT["orm-flush"] | _BIT["orm-update"]
_STATEMENT_KINDS = frozenset({"change", "row-change", "replay", "recursion", "subscript", "conflict", "schema"})


def class_scope(key: str) -> str:
    """Name of the scope of a class body's loose statements; `key` as in ModuleIndex.classes."""
    return f"<class {key}>"


@dataclass(slots=True)
class Triage:
    """Outcome for one module. Scope names: keys of ModuleIndex.functions, MODULE, class_scope(key).

    `roots`: the scopes to walk, in source order. `kinds`, `atoms`: per scope. `edges`: scope → scopes it may enter.
    `lines`, `root_lines`: physical lines of the file, of its roots.
    """

    roots: tuple[str, ...]
    kinds: dict[str, frozenset[str]]
    atoms: dict[str, frozenset[str]]
    edges: dict[str, tuple[str, ...]]
    lines: int
    root_lines: int
    counters: dict[str, int] = field(default_factory=dict)


# --- what a name may mean ----------------------------------------------------------------------------------------

_MUTATORS = frozenset({"append", "update", "insert", "add", "extend", "pop", "remove", "setdefault", "clear", "discard",
                       "popitem", "sort", "reverse", "appendleft", "extendleft", "popleft", "difference_update",
                       "intersection_update", "symmetric_difference_update", "subtract", "move_to_end"})
#: Calls that the language and its standard library give a kind, whatever the vocabulary says.
_CALLS = {
    **dict.fromkeys(("setattr", "delattr", "__setattr__", "__setitem__", "__delitem__", "__delattr__"), "change"),
    **dict.fromkeys(("setitem", "delitem", "iadd", "isub", "ior"), "change"),
    **dict.fromkeys(("model_dump", "model_dump_json", "dict", "asdict"), "dump"),
    **dict.fromkeys(("uuid1", "uuid4", "uuid6", "uuid7", "token_hex", "token_urlsafe", "token_bytes", "urandom",
                     "getrandbits", "randbytes", "randint", "randrange", "random", "choice", "now", "utcnow", "today",
                     "time", "time_ns",
                     "monotonic", "monotonic_ns", "perf_counter", "ulid", "ksuid", "nanoid"), "makekey"),
}
_CALL_PATTERNS = (("locking_reader", ("read", "lock")), ("lock_factory", ("lock",)), ("transaction", ("begin",)))
_CONDITION_NAMES = ("IFMATCH", "IFNONEMATCH")
_CONFLICT_WORDS = ("CONFLICT", "PRECONDITION_FAILED", "_409", "_412")
_CONFLICT_STRINGS = frozenset({"409", "412", "40001", "40P01"})
_SCHEMA_KEYS = frozenset({"properties", "input_schema", "inputSchema", "parameters"})
_FRESH_BUILTINS = frozenset({"dict", "list", "set", "tuple", "str", "int", "float", "bool", "bytes", "bytearray",
                             "len", "sorted", "range"})
_FRESH_IMPORTS = frozenset({"collections.defaultdict", "collections.OrderedDict", "collections.Counter",
                            "collections.deque"})
_BUILTINS = frozenset(dir(builtins))

_SQL = re.compile(
    r"(?i)\b(?:(?P<locks>FOR\s+(?:NO\s+KEY\s+)?UPDATE|FOR\s+(?:KEY\s+)?SHARE|LOCK\s+(?:TABLES?|IN)"
    r"|(?:pg_)?(?:try_)?advisory_\w*lock\w*|GET_LOCK)"
    r"|(?P<change>UPDATE)|(?P<create>INSERT|REPLACE)|(?P<merge>MERGE|UPSERT)|(?P<delete>DELETE)|(?P<read>SELECT)"
    r"|(?P<begin>BEGIN|START\s+TRANSACTION)|(?P<clause>CONFLICT|DUPLICATE)|(?P<condition>IF-(?:NONE-)?MATCH))\b")
_SQL_KINDS = {"locks": ("lock",), "change": ("write", "conditional", "sql-write", "sql-conditional"),
              "create": ("write", "conditional", "create", "sql-write"), "clause": ("sql-conditional",),
              "merge": ("write", "conditional", "create", "sql-write", "sql-conditional"),
              "delete": ("write", "conditional", "delete", "sql-conditional"),
              "read": ("read", "sql-read", "record-read"), "begin": ("begin",),
              "condition": ("conditional", "precondition")}


_SUBSCRIPTS = frozenset(("__getitem__", "__setitem__", "__delitem__"))


def _mask(kinds: Iterable[str]) -> int:
    mask = 0
    for kind in kinds:
        mask |= _BIT[kind]
    return mask


_SQL_MASKS = {group: _mask(kinds) for group, kinds in _SQL_KINDS.items()}
_WORDS: dict[int, frozenset[str]] = {}


def words_of(mask: int) -> frozenset[str]:
    found = _WORDS.get(mask)
    if found is None:
        found = _WORDS[mask] = frozenset(kind for kind, bit in _BIT.items() if mask & bit)
    return found


class _Names:
    """What names mean under one vocabulary, remembered per process: name → mask."""

    def __init__(self, vocabulary: Any) -> None:
        self.match = vocabulary.match
        groups = getattr(vocabulary, "pattern_groups", None)
        self.groups = None if groups is None else frozenset(groups)
        self.reach = getattr(vocabulary, "reach", None)
        call_names = vocabulary.call_names
        self.known = call_names.keys()
        #: what calls mean where every library is in reach: name → kinds
        self.everything = self.reach.everything() if self.reach is not None else None
        self.all_kinds = self.everything.kinds if self.everything is not None else lambda name: call_names.get(shape_of(name)[0], ())
        #: names of calls whose positional arguments matter; names of arguments that have kinds (as of `Reach`)
        self.shaped = getattr(self.reach, "shaped", frozenset())
        self.keywords = getattr(self.reach, "keywords", frozenset())
        self.tables: dict[Any, dict[str, int]] = {}
        self.patterns: dict[str, int] = {}
        self.mentions: dict[str, int] = {}
        self.attributes: dict[str, int] = {}
        self.functions = getattr(vocabulary, "functions", None)
        self.builtins: dict[str, bool] = {}
        self.standard: dict[str, bool] = {}
        self.arguments: dict[str, int] = {}
        self.keepers: dict[str, bool] = {}
        self.quiet: set[str] = set()
        entries = getattr(vocabulary, "entries", None)
        stores = [entry.fields for kind in ("store", "orm") for entry in entries(kind)] if entries else []
        #: words of commands whose writes carry a condition (`push`)
        self.commands = frozenset(word for fields in stores for word, role in (fields.get("commands") or {}).items() if role == "write")
        self.programs = tuple({fields["program"] for fields in stores if fields.get("program")})
        self.subscripts = any(fields.get("subscript") for fields in stores)
        #: last parts of the conflict errors that entries name, globs among them
        self.errors = frozenset(text.rpartition(".")[2] for fields in stores for key in ("conflict_errors", "conflict")
                                for text in fields.get(key, ()) if isinstance(text, str) and " " not in text)
        self.error_globs = tuple(text for text in self.errors if "*" in text)

    def fits(self, group: str, name: str) -> bool:
        return (self.groups is None or group in self.groups) and self.match(group, name)

    def table(self, calls: Any) -> tuple[dict[str, int], Callable[[str], int]]:
        """(remembered masks, how to ask for another) of call names in files that reach `calls`; None: reach all."""
        table = self.tables.get(calls)
        if table is None:
            if len(self.tables) > 500:
                self.tables.clear()
            table = self.tables[calls] = {}
        kinds = self.all_kinds if calls is None else calls.kinds

        def ask(name: str) -> int:
            mask = table[name] = _mask(kinds(name)) | self.pattern(name)
            return mask

        return table, ask

    def pattern(self, name: str) -> int:
        """Kinds of a call by its name alone, whatever the vocabulary says."""
        name = shape_of(name)[0]
        if name.endswith("="):  # an argument's
            return 0
        patterns = self.patterns
        mask = patterns.get(name)
        if mask is None:
            mask = 0
            if name in _CALLS:
                mask = _CHANGE if _CALLS[name] == "change" else _BIT[_CALLS[name]]
            for group, kinds in _CALL_PATTERNS:
                if self.fits(group, name):
                    mask |= _mask(kinds)
            patterns[name] = mask
        return mask

    def attribute(self, name: str) -> int:
        """Kinds of an attribute of something that may be a class: as of a name; a manager's queries read."""
        mask = self.attributes.get(name)
        if mask is None:
            manager = self.reach is not None and self.reach.manager(name)
            mask = self.attributes[name] = self.mention(name) | (_MANAGER if manager else 0)
        return mask

    def builtin(self, name: str) -> bool:
        """Does the vocabulary know this builtin function?"""
        found = self.builtins.get(name)
        if found is None:
            found = self.builtins[name] = name in ("setattr", "delattr") or self.functions is None or bool(
                self.functions(name) or self.functions("builtins." + name))
        return found

    def plain(self, module: str, name: str) -> bool:
        """Is this a function of the standard library, known for sure, that has no kind?"""
        if self.functions is None or module.partition(".")[0] not in sys.stdlib_module_names:
            return False
        key = f"{module}.{name}"
        found = self.standard.get(key)
        if found is None:
            # an imported class of the library may be subclassed data's type: only lower-case names are taken for
            # modules
            found = module.islower() and name not in _CALLS and not self.functions(key) and not any(
                self.fits(group, name) for group, _ in _CALL_PATTERNS)
            self.standard[key] = found
        return found

    def mention(self, name: str) -> int:
        """Kinds of a name that only stands there, or of a string that looks like one: conflicts, conditional headers."""
        mask = self.mentions.get(name)
        if mask is None:
            upper = name.upper()
            conflict = self.fits("conflict_exception", name) or name in self.errors or any(
                fnmatchcase(name, text) for text in self.error_globs) or any(
                word in upper for word in _CONFLICT_WORDS) and (upper == name or "_" not in name)
            condition = upper.replace("_", "") in _CONDITION_NAMES  # `aiohttp.hdrs.IF_MATCH`
            mask = self.mentions[name] = (_CONFLICT if conflict else 0) | (_CONDITION if condition else 0)
        return mask

    def keeps_records(self, name: str) -> bool:
        """Is this a name of something that keeps records outside of the process?"""
        found = self.keepers.get(name)
        if found is None:
            found = self.keepers[name] = self.fits("store_receiver", name.strip("_"))
        return found

    def notable(self, name: str) -> int:
        """Kinds of a word that is a manager's or a witness's name; `quiet` remembers the others."""
        mask = self.argument(name)
        if self.reach is not None and self.reach.manager(name):
            mask |= _MANAGER
        if not mask:
            if len(self.quiet) > 50_000:
                self.quiet.clear()
            self.quiet.add(name)
        return mask

    def argument(self, name: str) -> int:
        """Kinds of a call's keyword: a witness makes the write behind it conditional."""
        mask = self.arguments.get(name)
        if mask is None:
            witness = self.fits("witness_argument", name)
            mask = self.arguments[name] = _WITNESS if witness else 0
        return mask


_KNOWN: WeakKeyDictionary = WeakKeyDictionary()


def _names(vocabulary: Any) -> _Names:
    found = _KNOWN.get(vocabulary)
    if found is None:
        found = _KNOWN[vocabulary] = _Names(vocabulary)
    return found


# --- one pass over a scope ---------------------------------------------------------------------------------------

_SKIPPED_FIELDS = frozenset({"ctx", "op", "ops", "annotation", "returns", "type_comment", "type_params", "conversion",
                             "kind", "level", "is_async", "simple"})  # with the plain ints: an int marks a loop's end
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _SKIPPED_FIELDS)
    for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
_FRESH_TYPES = frozenset({ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp,
                          ast.GeneratorExp, Constant, ast.JoinedStr, ast.Compare, Lambda})
_LOOPS = frozenset({For, AsyncFor, While})
_NAMING = frozenset({ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping})
_ITERATES = frozenset({ast.comprehension, ast.YieldFrom, ast.Starred})


@dataclass(slots=True)
class _Part:
    """What one pass saw. `names`: bare and first parts of dotted ones; `attrs`: attributes of receivers other than
    self.

    `mask` is complete only with what `called` (last name parts of what is called, decorates or is handed on) means,
    which depends on what its file imports. `words`: names that are bound; `targets`: of imports.
    """

    mask: int = 0
    called: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    attrs: set[str] = field(default_factory=set)
    self_attrs: set[str] = field(default_factory=set)
    self_bases: set[str] = field(default_factory=set)  # read for an attribute of theirs: `self.x.y`
    self_stores: set[str] = field(default_factory=set)
    supers: set[str] = field(default_factory=set)
    dunders: set[str] = field(default_factory=set)

    def merge(self, other: _Part) -> None:
        self.mask |= other.mask
        self.called |= other.called
        self.names |= other.names
        self.attrs |= other.attrs
        self.dunders |= other.dunders


def _is_annotated(node: ast.AST | None) -> bool:
    """`Annotated[Session, Depends(get_session)]`: the one annotation that holds calls."""
    return type(node) is Subscript and dotted_text(node.value).rpartition(".")[2] == "Annotated"


def _scan(nodes: list, known: _Names, imports: tuple[dict[str, str], ...], self_name: str = "", new: bool = False,
          loose: bool = False, shadows: frozenset[str] = frozenset(), is_class: bool = False) -> _Part:
    """One pass over statements or expressions.

    `self_name`: the first parameter of a method; `is_class`: it is the class. `new`: plain stores on it make a new
    record (`__init__`), no change.
    `loose`: leave out defs and classes, which are scopes of their own. `shadows`: names of builtins that the module
    binds.
    """
    part = _Part()
    mask = calls_seen = receivers = 0
    names, attrs, supers = part.names, part.attrs, part.supers
    shaped, telling = known.shaped, known.keywords
    self_attrs, self_bases, self_stores = part.self_attrs, part.self_bases, part.self_stores
    pairs: set[tuple[str, str, str]] = set()  # called methods of plain names: name, method, with its arguments' mark
    chains: set[tuple[str, str]] = set()  # what is called or read somewhere below a plain name, which may be a package
    called = part.called
    functions: set[str] = set()  # plain names that are called
    bare: set[str] = set()  # names that stand alone
    fresh: set[str] = set()  # names bound to a container made here
    stale: set[str] = set()  # names bound to anything else
    mutated: set[str] = set()
    keywords: set[str] = set()
    witnesses: set[str] = set()  # keywords whose argument may be a witness
    strings: list[str] = []
    iterates = withs = subscripts = spreads = False
    stack = list(nodes)
    push, pop, extend = stack.append, stack.pop, stack.extend
    fields = _FIELDS
    while stack:
        node = pop()
        kind = node.__class__
        if kind is Name:
            if node.ctx.__class__ is Load:
                bare.add(node.id)
            else:
                stale.add(node.id)
        elif kind is Call:
            calls_seen += 1
            func = node.func
            kind = func.__class__
            extend(node.args)
            for keyword in node.keywords:
                value = keyword.value
                push(value)
                if keyword.arg in telling:
                    called.add(keyword.arg + "=")
                if keyword.arg is None:
                    spreads = True
                elif value.__class__ is not Constant:
                    witnesses.add(keyword.arg)
                else:
                    keywords.add(keyword.arg)
            if kind is Attribute:
                attr = func.attr
                value = func.value
                kind = value.__class__
                marked = attr + _arguments_mark(node) if attr in shaped else attr
                if kind is Name:
                    if value.id == self_name:
                        self_attrs.add(attr)
                        called.add("." + marked)
                    else:
                        pairs.add((value.id, attr, marked))
                        attrs.add(attr)
                        names.add(value.id)
                    if attr in _MUTATORS:
                        mutated.add(value.id)
                    continue
                if kind is Constant or kind is ast.JoinedStr:  # ", ".join(…)
                    push(value)
                    continue
                called.add("." + marked)
                if attr in _MUTATORS:
                    mask |= _CHANGE
                if kind is Call and value.func.__class__ is Name and value.func.id == "super":
                    supers.add(attr)
                    continue
                attrs.add(attr)
                while kind is Attribute:
                    inner = value.value
                    kind = inner.__class__
                    if kind is Name and inner.id == self_name:
                        self_bases.add(value.attr)
                    else:
                        attrs.add(value.attr)
                    value = inner
                if kind is Name:
                    names.add(value.id)
                    chains.add((value.id, marked))
                else:
                    push(value)
            elif kind is Name:
                name = func.id
                functions.add(name)
                bare.add(name)
                if (name == "getattr" or name == "setattr") and len(node.args) > 1:
                    attr = node.args[1]
                    if attr.__class__ is Constant and attr.value.__class__ is str:
                        attrs.add(attr.value)
                        called.add(attr.value)
                        self_attrs.add(attr.value)
                        if name == "setattr":
                            self_stores.add(attr.value)
            else:
                push(func)
        elif kind is Attribute:
            attr = node.attr
            value = node.value
            kind = value.__class__
            own = kind is Name and value.id == self_name
            if node.ctx.__class__ is not Load:
                if own:
                    self_stores.add(attr)
                if not own:
                    mask |= _CHANGE
                elif not new:
                    mask |= _OWN_CHANGE
            else:
                called.add("." + attr)  # may be handed on: executor.submit(client.put, …)
            if own:
                self_attrs.add(attr)
                continue
            attrs.add(attr)
            while kind is Attribute:
                inner = value.value
                kind = inner.__class__
                if kind is Name and inner.id == self_name:
                    self_bases.add(value.attr)
                else:
                    attrs.add(value.attr)
                value = inner
            if kind is Name:
                names.add(value.id)
                chains.add((value.id, attr))
            else:
                push(value)
        elif kind is Constant:
            value = node.value
            kind = value.__class__
            if kind is str:
                strings.append(value)
            elif kind is int and (value == 409 or value == 412):
                mask |= _CONFLICT
        elif kind is Assign:
            value = node.value
            kind = value.__class__
            made = kind in _FRESH_TYPES or kind is Call and _makes_fresh(value.func, imports, shadows)
            for target in node.targets:
                if target.__class__ is Name:
                    (fresh if made else stale).add(target.id)
                else:
                    push(target)
            push(value)
        elif kind is Expr:
            if node.value.__class__ is not Constant:  # a docstring is no SQL
                push(node.value)
        elif kind is Subscript:
            value = node.value
            subscripts = True
            if node.ctx.__class__ is not Load:
                if value.__class__ is Name:
                    mutated.add(value.id)
                else:
                    mask |= _CHANGE
            push(value)
            push(node.slice)
        elif kind is int:  # the end of a loop's body, pushed with the number of calls before it
            if calls_seen > node:
                mask |= _REPLAY
        elif kind in _LOOPS:
            extend(node.orelse)
            if kind is While:
                push(calls_seen)
                push(node.test)
            else:
                iterates = True
                if kind is AsyncFor:
                    mask |= _REPLAY
                push(node.target)
                push(node.iter)
                # what is below this mark runs once, what is above it runs again and again
                push(calls_seen)
            extend(node.body)
        elif kind is AugAssign:
            target, value = node.target, node.value
            if target.__class__ is Name:
                if not (value.__class__ is Constant and value.value.__class__ is not str):
                    mutated.add(target.id)  # `tags += [x]` changes the list in place
            else:
                own = target.__class__ is Attribute and target.value.__class__ is Name and target.value.id == self_name
                mask |= _OWN_CHANGE if own else _CHANGE
                push(target)
            push(value)
        elif kind is AnnAssign:
            if node.value is not None:
                value = node.value
                made = value.__class__ in _FRESH_TYPES or (
                    value.__class__ is Call and _makes_fresh(value.func, imports, shadows))
                if node.target.__class__ is Name:
                    (fresh if made else stale).add(node.target.id)
                else:
                    push(node.target)
                push(value)
            if _is_annotated(node.annotation):
                push(node.annotation)
        elif kind is With or kind is AsyncWith:
            withs = True
            for item in node.items:
                expression = item.context_expr
                if expression.__class__ is not Call or expression.func.__class__ is not Name:
                    called.add(_last_name(expression))
                push(expression)
                push(item.optional_vars)
            extend(node.body)
        elif kind is Dict:
            for key in node.keys:
                if key.__class__ is Constant and key.value in _SCHEMA_KEYS:
                    mask |= _BIT["schema"]
            extend(node.keys)
            extend(node.values)
        elif kind is ast.arguments:
            for group in (node.posonlyargs, node.args, node.kwonlyargs):
                for argument in group:
                    if argument.arg == self_name:
                        receivers += 1
                    else:
                        stale.add(argument.arg)
                    if argument.annotation.__class__ is Subscript and _is_annotated(argument.annotation):
                        push(argument.annotation)
            if node.vararg:
                fresh.add(node.vararg.arg)
            if node.kwarg:
                fresh.add(node.kwarg.arg)
            extend(node.defaults)
            extend(node.kw_defaults)
        elif kind is FunctionDef or kind is AsyncFunctionDef or kind is ClassDef:
            if loose:
                continue
            stale.add(node.name)
            for decorator in node.decorator_list:
                called.add(_last_name(decorator))
            for name in fields[kind]:
                value = getattr(node, name)
                if value.__class__ is list:
                    extend(value)
                elif value.__class__ is ast.arguments:
                    push(value)
        elif kind is ast.Import or kind is ast.ImportFrom:
            for name, target in import_names(node):
                part.targets.add(target)
                stale.add(name)
        elif kind is ast.Global or kind is ast.Nonlocal:
            stale.update(node.names)
        else:
            if kind in _ITERATES:
                iterates = True
            elif kind in _NAMING:
                stale.add(getattr(node, "rest", None) or getattr(node, "name", None))
            for name in fields.get(kind, ()):
                value = getattr(node, name, None)
                if value.__class__ is list:
                    extend(value)
                elif value is not None:
                    push(value)
    # names to kinds
    names |= bare
    for name in bare:
        for table in imports:
            if name in table:  # `from requests import get as fetch`
                called.add("(" + table[name].rpartition(".")[2])
                break
        else:
            if name in functions or name in _BUILTINS:
                # `set(rows)` is no `redis.set(…)`, but `open(path)` may be in the vocabulary as a function
                if name not in _BUILTINS or name in stale or name in shadows or known.builtin(name):
                    called.add("(" + name)
    made_here = fresh - stale
    if len(imports) > 1:
        made_here -= imports[0].keys()
    for name, attr, marked in pairs:
        if name not in made_here and not (name in imports[-1] and known.plain(imports[-1][name], attr)):
            called.add("." + marked)
            if any(name in table for table in imports):  # a package's function, or a method of a class
                called.add("(" + marked)
    for name, marked in chains:
        if any(name in table for table in imports):
            called.add("(" + marked)
    table, unknown = known.mentions, known.mention
    for name in names:
        found = table.get(name)
        mask |= unknown(name) if found is None else found
    table, unknown = known.attributes, known.attribute
    for group in (attrs, self_attrs, self_bases) if is_class else (attrs,):
        for name in group:
            found = table.get(name)
            mask |= unknown(name) if found is None else found
    for name in witnesses:
        mask |= known.argument(name)
    if strings:
        if known.commands and any(known.commands.intersection(text.split()) for text in strings if len(text) < 200):
            if any(program in text for program in known.programs for text in (*strings, *names, *called)):
                mask |= _COMMAND
        for text in strings:
            if len(text) < 64 and (text in _CONFLICT_STRINGS or text.isidentifier()):
                mask |= known.mention(text)
                if text in telling:  # f(**{"nx": True})
                    called.add(text + "=")
                if spreads:  # f(**{"if_match": etag})
                    mask |= known.argument(text)
        for found in _SQL.finditer("\0".join(strings)):
            mask |= _SQL_MASKS[found.lastgroup]
    if mutated and not mutated <= made_here:
        mask |= _CHANGE
    if subscripts:
        part.dunders.update(("__getitem__", "__setitem__", "__delitem__"))
        if known.subscripts:
            mask |= _BIT["subscript"]
    if iterates:
        part.dunders.update(("__iter__", "__next__", "__aiter__", "__anext__"))
    if withs:
        part.dunders.update(("__enter__", "__exit__", "__aenter__", "__aexit__"))
    if calls_seen:
        part.dunders.add("__call__")
    if self_name and (receivers > 1 or self_name in stale or self_name in fresh):  # rebound: not always the receiver
        attrs |= self_attrs | self_bases
    stale.discard(None)
    part.words.update(stale, fresh, keywords, witnesses)
    part.mask = mask
    return part


def _arguments_mark(node: Call) -> str:
    """What the positional arguments are like, as `reach.Calls` knows it; "" where a `*x` may be anything."""
    args = node.args
    if not args:
        return "="
    if any(arg.__class__ is ast.Starred for arg in args):
        return ""
    if args[0].__class__ is Constant and args[0].value.__class__ is str:
        return "'"
    return "1" if len(args) == 1 and not node.keywords else "+"


def _makes_fresh(func: ast.AST, imports: tuple[dict[str, str], ...], shadows: frozenset[str]) -> bool:
    """Does this call make a container (or a plain value) that nobody else has?"""
    text = dotted_text(func)
    first, dot, rest = text.partition(".")
    for table in imports:
        if first in table:
            return table[first] + dot + rest in _FRESH_IMPORTS
    return text in _FRESH_BUILTINS and text not in shadows


def _last_name(node: ast.AST) -> str:
    """Last name part of a called, decorating or entered expression."""
    while node.__class__ is Call or node.__class__ is ast.Await:
        node = node.func if node.__class__ is Call else node.value
    if node.__class__ is Attribute:
        return node.attr
    return node.id if node.__class__ is Name else ""


# --- the module --------------------------------------------------------------------------------------------------

_DEFS = (FunctionDef, AsyncFunctionDef, ClassDef)
_NEW_METHODS = frozenset({"__init__", "__new__", "__post_init__"})
CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__attrs_post_init__")


#: What a scope holds: kinds of its statements, and the names whose calls may have more.
Atoms = tuple[int, frozenset[str]]


class Outline:
    """Scopes, constants and edges of one module. Holds no tree; what calls mean is not in the parts' masks."""

    def __init__(self, tree: ast.Module, index: ModuleIndex, known: _Names) -> None:
        self.index = index
        self.known = known
        self.keys = {info.def_line: key for key, info in index.functions.items()}
        self.class_keys = {info.def_line: key for key, info in index.classes.items()}
        self.shadows = _BUILTINS & _defined(index)
        self.parts: list[_Part] = []
        self.scopes: dict[str, _Part] = {}
        self.lines: dict[str, int] = {}
        self.module_constants: dict[str, list[_Part]] = {}
        self.class_constants: dict[str, list[_Part]] = {}
        self.functions: dict[str, list[str]] = {}
        self.methods: dict[str, list[str]] = {}
        self.class_names: dict[str, list[str]] = {}
        for key, info in index.functions.items():
            (self.functions if info.cls is None else self.methods).setdefault(info.name, []).append(key)
        for key, info in index.classes.items():
            self.class_names.setdefault(info.qualname.rpartition(".")[2], []).append(key)
        self.families: dict[str, frozenset[str]] = {}
        self.ancestors: dict[str, frozenset[str]] = {}
        self.by_class: dict[str, list[str]] = {}
        for key, info in index.functions.items():
            if info.cls is not None:
                self.by_class.setdefault(info.cls, []).append(key)
        self.read(tree)

    def read(self, tree: ast.Module) -> None:
        blocks: list[tuple[ast.AST, str | None]] = [(tree, None)]
        while blocks:
            owner, cls = blocks.pop()
            part = _Part()
            self.parts.append(part)
            header: list[ast.AST] = []
            if cls is not None:
                header = [*owner.decorator_list, *owner.bases, *owner.keywords]
            imports = (self.index.imports,) if cls is None else (self.index.classes[cls].imports, self.index.imports)
            constants = self.module_constants if cls is None else self.class_constants
            for statement in owner.body:
                if isinstance(statement, _DEFS):
                    self.define(statement, blocks)
                elif isinstance(statement, (Assign, AnnAssign, AugAssign)):
                    own = self.scan([statement], imports, loose=True)
                    part.merge(own)
                    for name in _bound(statement):
                        constants.setdefault(name, []).append(own)
                else:
                    part.merge(self.scan([statement], imports, loose=True))
                    self.nested(statement, imports, constants, blocks)
            if header:
                own = self.scan(header, imports)
                own.called.update(map(_last_name, owner.decorator_list))
                part.merge(own)
            name = MODULE if cls is None else class_scope(cls)
            self.scopes[name] = part
            ranges = self.index.loose if cls is None else self.index.classes[cls].loose
            self.lines[name] = sum(last - first + 1 for first, last in ranges)

    def scan(self, nodes: list, imports: tuple[dict[str, str], ...], **options: Any) -> _Part:
        part = _scan(nodes, self.known, imports, shadows=self.shadows, **options)
        self.parts.append(part)
        return part

    def nested(self, statement: ast.stmt, imports, constants: dict[str, list[_Part]], blocks: list) -> None:
        """Defs and constants inside if, try, with, for and match of a loose level."""
        stack: list[Any] = [statement]
        while stack:
            node = stack.pop()
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                below = getattr(node, name, None)
                if below.__class__ is not list:
                    continue
                for inner in below:
                    if isinstance(inner, _DEFS):
                        self.define(inner, blocks)
                    elif isinstance(inner, (Assign, AnnAssign, AugAssign)):
                        own = self.scan([inner], imports, loose=True)
                        for bound in _bound(inner):
                            constants.setdefault(bound, []).append(own)
                    else:
                        stack.append(inner)
            header: list[ast.AST] = []
            if isinstance(node, (For, AsyncFor)):
                header, targets = [node.iter], [node.target]
            elif isinstance(node, (With, AsyncWith)):
                header = [item.context_expr for item in node.items]
                targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            if header:
                own = self.scan(header, imports)
                for target in targets:
                    for bound in _bound(target):
                        constants.setdefault(bound, []).append(own)

    def define(self, node: ast.stmt, blocks: list) -> None:
        if isinstance(node, ClassDef):
            blocks.append((node, self.class_keys[node.lineno]))
            return
        key = self.keys[node.lineno]
        info = self.index.functions[key]
        self_name = ""
        if info.cls is not None and info.params and not any(
                text.rpartition(".")[2] == "staticmethod" for text in info.decorators):
            self_name = info.params[0]
        imports = (info.imports, self.index.imports) if info.imports else (self.index.imports,)
        is_class = info.name == "__init_subclass__" or any(
            text.rpartition(".")[2] == "classmethod" for text in info.decorators)
        self.scopes[key] = self.scan([node], imports, self_name=self_name, new=info.name in _NEW_METHODS,
                                     is_class=is_class)
        self.lines[key] = info.end - info.start + 1

    def prepare(self, source: Source, bases_of: Callable[[Iterable[str]], Iterable[str]] = lambda bases: (),
                is_ours: Callable[[str], bool] = lambda target: False) -> tuple[int, int]:
        """Settle what does not depend on the meaning of calls.

        Returns what the module opens in the vocabulary (`Reach.doors`): by what it imports and what its classes are, and in all, the
        habitual names of receivers included.

        `is_ours(target)`: is the source of an import target at hand? `bases_of`: bases outside the project of those among some dotted bases that are classes of other modules of it.
        """
        reach = self.known.reach
        models = self.models(source, bases_of) if any(part.mask & _MAY_BE_MODEL for part in self.parts) else set()
        versioned = _BIT["versioned"] if reach is not None and reach.versioned(source.text) else 0
        for part in self.parts:
            part.mask |= versioned
        for name, part in self.scopes.items():
            if part.mask & _MAY_BE_MODEL:
                info = self.index.functions.get(name)
                if info is None or info.cls is None or info.cls in models:
                    part.mask |= _CHANGE
                part.mask &= ~_MAY_BE_MODEL
        if reach is None:
            return 0, 0
        targets: set[str] = set()
        words: set[str] = {*self.index.functions, *self.index.classes}
        attributes: set[str] = set()
        for part in self.parts:
            targets |= part.targets
            attributes |= part.attrs
            words.update(part.words, part.names, part.self_attrs, part.self_bases)
        for name, part in self.scopes.items():
            if name in self.index.functions:
                attributes |= part.self_attrs
                attributes |= part.self_bases
                words.add(self.index.functions[name].name)
        strangers = {absolute(self.index, target) for target in targets if not is_ours(target)}
        targets = {absolute(self.index, target) for target in targets}
        words.update([target.rpartition(".")[2] for target in targets])
        words |= attributes
        bases = list(self.dotted_bases(source))
        bases += bases_of(bases)
        facts = (attributes, bases, source.text, strangers)
        return reach.doors(targets, frozenset(), *facts), reach.doors(targets, words, *facts)

    def models(self, source: Source, bases_of: Callable[[Iterable[str]], Iterable[str]]) -> set[str]:
        """Classes whose `self` may be a row: those with a model's base, with their ancestors; those whose methods are
        called through the class."""
        index, reach = self.index, self.known.reach
        if reach is None:
            return set(index.classes)
        found: set[str] = set()
        for key, info in index.classes.items():
            bases = list(self.dotted_bases(source, (info,))) if key not in found else ()
            if any(reach.is_base(base) for base in (*bases, *bases_of(bases))):
                found |= {other for other in index.classes if key in self.above(other)}
        for key in list(found):
            found |= self.above(key)
        for part in self.parts:
            for name in self.class_names.keys() & part.names | self.class_names.keys() & part.attrs:
                for key in self.class_names[name]:
                    line = self.above(key)
                    if not line <= found and any(
                            index.functions[method].name in part.attrs for above in line
                            for method in self.by_class.get(above, ())):
                        found |= line
        return found

    def dotted_bases(self, source: Source, infos: Iterable[Any] = ()) -> Iterator[str]:
        """Dotted names of the classes' bases outside this module, `f()` for what a call made (as `link` names them)."""
        index = self.index
        for info in infos or index.classes.values():
            for text in info.bases:
                name, call, _ = text.partition("(")
                target = dotted(index, name)
                if target is None:
                    continue
                yield target + ("()" if call else "")
                if target in index.assigns:  # Base = declarative_base()
                    yield from self.made_by(source, target)

    def made_by(self, source: Source, name: str) -> Iterator[str]:
        """For `Base = declarative_base()`: the dotted name of what is called, with `()`."""
        first, last = self.index.assigns[name][0]
        value = "".join(source.lines[first - 1:last]).partition("=")[2]
        made = dotted(self.index, value.partition("(")[0].strip())
        if made is not None:
            yield made + "()"

    def forget(self) -> None:
        """Drop what only the making of the graph needs."""
        self.parts = []
        for part in self.scopes.values():
            part.called = part.words = part.targets = part.names = part.attrs = part.self_bases = part.supers = part.dunders = set()
        self.module_constants = {name: [] for name in self.module_constants}
        self.class_constants = {}

    # classes of this module
    def bases(self, key: str) -> list[str]:
        found: list[str] = []
        for text in self.index.classes[key].bases:
            found += [name for name in self.class_names.get(text.rpartition(".")[2], ()) if name != key]
        return found

    def above(self, key: str) -> frozenset[str]:
        """The class and its ancestors in this module."""
        found = self.ancestors.get(key)
        if found is None:
            seen: set[str] = set()
            stack = [key]
            while stack:
                name = stack.pop()
                if name not in seen:
                    seen.add(name)
                    stack.extend(self.bases(name))
            found = self.ancestors[key] = frozenset(seen)
        return found

    def family(self, key: str) -> frozenset[str]:
        """All classes whose methods `self.m()` may mean inside this class: ancestors of its descendants."""
        found = self.families.get(key)
        if found is None:
            seen: set[str] = set()
            for name in self.index.classes:
                line = self.above(name)
                if key in line:
                    seen |= line
            found = self.families[key] = frozenset(seen)
        return found

    # edges
    def constants_of(self, part: _Part, cls: str | None) -> _Part:
        """`part` with the constants it reads (and those that they read) merged in: no constant is walked by itself."""
        seen: set[int] = {id(part)}
        whole = part
        stack = [part]
        while stack:
            item = stack.pop()
            found = [own for name in self.module_constants.keys() & item.names for own in self.module_constants[name]]
            if self.class_constants:
                words = item.attrs | item.self_attrs | item.self_bases | (item.names if cls is not None else set())
                found += [own for name in self.class_constants.keys() & words for own in self.class_constants[name]]
            for own in found:
                if id(own) not in seen:
                    seen.add(id(own))
                    stack.append(own)
                    if whole is part:
                        whole = replace(part, called=set(part.called), names=set(part.names), attrs=set(part.attrs),
                                        dunders=set(part.dunders))
                    whole.merge(own)
        return whole

    def graph(self) -> tuple[dict[str, Atoms], dict[str, dict[str, int]]]:
        """(what each scope holds, scope → scope of this module that it may enter → mask of what the edge lets through)."""
        atoms: dict[str, Atoms] = {}
        edges: dict[str, dict[str, int]] = {}
        getters, setters = self.pairs()
        for name, part in self.scopes.items():
            cls = self.class_of(name)
            part = self.constants_of(part, cls)
            found, values = self.edges(name, part, cls)
            own: dict[str, int] = values
            own.update(dict.fromkeys(found, -1))
            mask = part.mask
            if getters:
                called = {shape_of(call)[0] for call in part.called}
                mask |= (0 if getters.isdisjoint(called) else _GETTER) | (0 if setters.isdisjoint(called) else _SETTER)
            if own.pop(name, 0):
                mask |= _RECURSION
            atoms[name] = (mask, frozenset(part.called | {"[]"} if part.dunders & _SUBSCRIPTS else part.called))  # `store[key]` of a store that can be reached
            edges[name] = own
        return atoms, edges

    def pairs(self) -> tuple[set[str], set[str]]:
        """Calls of this file that are halves of an accessor pair by their names: those that read, those that write."""
        called = {shape_of(call)[0] for part in self.scopes.values() for call in part.called}

        def keeps_records() -> bool:
            words = {target.rpartition(".")[2] for target in self.index.imports.values()}
            for part in self.scopes.values():
                words |= part.names | part.attrs | part.self_attrs | part.self_bases | part.words
            return any(map(self.known.keeps_records, words))

        return halves(called, keeps_records)

    def class_of(self, scope: str) -> str | None:
        """Key of the class that a scope belongs to."""
        info = self.index.functions.get(scope)
        return info.cls if info is not None else scope[7:-1] if scope != MODULE else None

    def edges(self, name: str, part: _Part, cls: str | None) -> tuple[set[str], dict[str, int]]:
        """(scopes that this one may enter, scopes whose values it reads from `self` → mask of what they carry)."""
        found: set[str] = set()
        classes: list[str] = []
        for word in self.functions.keys() & part.names:
            found.update(self.functions[word])
        attrs = part.attrs
        if cls is not None:
            family = self.family(cls)
            strangers = set()
            own_attrs = part.self_attrs | part.self_bases
            for word in own_attrs & self.methods.keys():
                own = [key for key in self.methods[word] if self.index.functions[key].cls in family]
                if own:
                    found.update(own)
                else:
                    strangers.add(word)
            strangers.update(own_attrs - self.methods.keys())
            attrs = attrs | strangers
            for word in part.supers & self.methods.keys():
                found.update(key for key in self.methods[word]
                             if key != name and self.index.functions[key].cls in family)
        else:
            attrs = attrs | part.supers
        for word in self.functions.keys() & attrs:
            found.update(self.functions[word])
        for word in self.methods.keys() & attrs:
            found.update(self.methods[word])
        for word in self.methods.keys() & part.dunders:
            found.update(key for key in self.methods[word] if key != name)
        if self.class_names:
            for word in self.class_names.keys() & (part.names | attrs):
                classes.extend(self.class_names[word])
        for key in classes:
            for base in self.above(key):
                for method in self.by_class.get(base, ()):
                    if self.index.functions[method].name in CONSTRUCTORS:
                        found.add(method)
        values: dict[str, int] = {}
        if cls is not None and (part.self_attrs or part.self_bases):
            for base in self.above(cls):
                for method in self.by_class.get(base, ()):
                    stores = self.scopes[method].self_stores
                    if method != name and stores:
                        if not stores.isdisjoint(part.self_attrs):
                            values[method] = CARRIED
                        elif not stores.isdisjoint(part.self_bases):
                            values[method] = CARRIED_BY_BASE
        return found, values


def _defined(index: ModuleIndex) -> set[str]:
    """Names that the module itself binds."""
    return {*index.functions, *index.classes, *index.assigns, *index.rebound}


def _bound(node: ast.AST) -> Iterator[str]:
    """Names bound by an assignment or a target."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Assign):
            stack.extend(item.targets)
        elif isinstance(item, (AnnAssign, AugAssign)):
            stack.append(item.target)
        elif isinstance(item, (ast.Tuple, ast.List)):
            stack.extend(item.elts)
        elif isinstance(item, ast.Starred):
            stack.append(item.value)
        elif isinstance(item, Name):
            yield item.id


def read(tree: ast.Module, index: ModuleIndex, vocabulary: Any) -> Outline:
    """What a module's scopes hold, before it is known what their calls mean."""
    return Outline(tree, index, _names(vocabulary))


def roots(source: Source, tree: ast.Module, index: ModuleIndex, vocabulary: Any, pages: Iterable[Any]) -> Triage:
    """Find the scopes of a module that a selected page's rule can have something to say about, by the module alone.

    `pages`: objects with `needs`, an iterable of sets of kinds, and `slug`. Raises ValueError for a page that needs an unknown kind.
    """
    outline = read(tree, index, vocabulary)
    needs = needs_of(pages)
    meaning = Meaning(vocabulary, outline.prepare(source)[1])
    held, edges = outline.graph()
    atoms = with_policies({name: meaning.mask(*own) for name, own in held.items()})
    kinds = dict(atoms)
    settle(kinds, edges)
    # Also where one callee brings everything: what the caller hands it (a session, a query, a key) tells what it does
    # to which record.
    return outcome(source, outline, atoms, edges, kinds, [name for name in edges if any(not need & ~kinds[name] for need in needs)])


def with_policies(atoms: dict[Any, int]) -> dict[Any, int]:
    """Atoms of a module's scopes: where one of them makes a client with a retry policy, what another sends may go through it."""
    if any(mask & POLICY for mask in atoms.values()):
        return {name: mask | POLICY if mask & EFFECT else mask for name, mask in atoms.items()}
    return atoms


class Meaning:
    """What calls mean where some doors of the vocabulary are open."""

    def __init__(self, vocabulary: Any, doors: int) -> None:
        known = _names(vocabulary)
        calls = known.reach.table(doors) if known.reach is not None else known.everything
        self._table, self._ask = known.table(calls)

    def mask(self, mask: int, called: Iterable[str]) -> int:
        """Kinds of a scope that holds these kinds and calls these names."""
        table, ask = self._table, self._ask
        for name in called:
            found = table.get(name)
            mask |= ask(name) if found is None else found
        return mask


def outcome(source: Source, outline: Outline, atoms: dict[str, int], edges: dict[str, dict[str, int]], kinds: dict[str, int],
            found_roots: list[str]) -> Triage:
    """The Triage of a module whose scopes have these kinds and of which these are roots."""
    index = outline.index
    found_roots = sorted(found_roots, key=lambda name: _line(index, name))
    root_lines = min(sum(outline.lines[name] for name in found_roots), len(source.lines))
    return Triage(
        tuple(found_roots), {name: words_of(kinds[name]) for name in edges},
        {name: words_of(mask) for name, mask in atoms.items()},
        {name: tuple(sorted(own)) for name, own in edges.items()}, len(source.lines), root_lines,
        {"scopes": len(edges), "roots": len(found_roots), "edges": sum(map(len, edges.values())),
         "lines": len(source.lines), "root_lines": root_lines})


def benches(found: Triage) -> tuple[str, ...]:
    """The scopes that may expose something to a model: those that name a tool, or a raw schema where the file also writes to a store."""
    kinds = frozenset().union(*found.kinds.values()) if found.kinds else frozenset()
    wanted = {"tool"} | ({"schema"} if kinds & {"sql-write", "orm-persist", "orm-update", "orm-flush", *(f"{family}-write" for family in FAMILIES)} else set())
    return tuple(name for name, own in found.atoms.items() if own & wanted) if kinds & wanted else ()


def _line(index: ModuleIndex, name: str) -> int:
    if name in index.functions:
        return index.functions[name].start
    return 0 if name == MODULE else index.classes[name[7:-1]].start


def settle(kinds: dict[str, int], edges: dict[str, dict[str, int]]) -> None:
    """Least fixpoint of kinds(scope) = atoms + kinds of what its edges reach."""
    callers: dict[str, list[str]] = {}
    for name, own in edges.items():
        for target in own:
            callers.setdefault(target, []).append(name)
    work = [name for name, mask in kinds.items() if mask]
    while work:
        name = work.pop()
        mask = kinds[name]
        for caller in callers.get(name, ()):
            more = kinds[caller] | mask & edges[caller][name]
            if more != kinds[caller]:
                kinds[caller] = more
                work.append(caller)


_NEEDS: dict[tuple, list[int]] = {}


def needs_of(pages: Iterable[Any]) -> list[int]:
    """The sets that pages need, as masks."""
    pages = list(pages)
    key = tuple([page.needs for page in pages])
    found = _NEEDS.get(key)
    if found is None:
        masks: set[int] = set()
        for page in pages:
            for need in page.needs:
                unknown = sorted(set(need) - _BIT.keys())
                if unknown:
                    raise ValueError(f"{page.slug}: needs unknown kind {unknown[0]!r}")
                masks.add(_mask(need))
        if len(_NEEDS) > 50:
            _NEEDS.clear()
        found = _NEEDS[key] = sorted(masks)
    return found


# --- before the parse --------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_FROM = re.compile(r"(?m)^[ \t]*from[ \t]+[\w.]+(?=[ \t]+import\b)")
#: Turns what is no part of an identifier into blanks.
_NO_WORD = bytes(byte if byte < 128 and (chr(byte).isalnum() or byte == 95) else 32 for byte in range(256))
_PLAIN_CODECS = frozenset({"", "utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252"})
_OF_STATEMENTS = _mask(_STATEMENT_KINDS)
_OF_TEXTS = _mask(kind for kinds in _SQL_KINDS.values() for kind in kinds)
#: Kinds that a call's name brings by itself.
_OF_NAMES = _mask({*_CALLS.values(), *(kind for _, kinds in _CALL_PATTERNS for kind in kinds)}) & ~_OF_STATEMENTS


def has_needle(data: bytes, vocabulary: Any, pages: Iterable[Any] = ()) -> bool:
    """May a scope of this file be a root for one of `pages` (without pages: have a kind that calls or SQL text make)?

    False: the outline is not needed. Words count wherever they stand, kinds that statements alone can make are taken
    for granted. A file that imports project modules whose scopes have kinds must be looked at all the same; the caller
    knows that.
    """
    needs = needs_of(pages)
    if any(not need & ~_OF_STATEMENTS for need in needs):
        return True
    try:
        codec = cookie(data)[0]
        if codec not in _PLAIN_CODECS or b"\\" in data and _escaped(data):
            return True
        text = data.decode(codec or "utf-8")
    except (SourceError, UnicodeError):
        return True
    if not text.isascii():
        text = normalize("NFKC", text)  # as identifiers are: a full-width letter is the plain one
    known = _names(vocabulary)
    words = frozenset(_IDENTIFIER.findall(text) if not data.isascii() else data.translate(_NO_WORD).decode().split())
    called: Iterable[str] = words
    calls, mask = known.everything, 0
    if known.reach is not None:
        named = known.reach.receivers(words)
        if named:  # `from django.db import models` names no receiver
            named -= set(_IDENTIFIER.findall(_FROM.sub("", text)))
        calls = known.reach.calls(words, words - named if named else words, words, None, text)
        if known.reach.versioned(text):
            mask |= _BIT["versioned"]
        if needs and not any(need & _OF_NAMES for need in needs):
            called = known.reach.names(words)
    table, ask = known.table(calls)
    if called is words:
        called = words | {word + "=" for word in known.keywords & words}
    for word in called:
        found = table.get(word)
        mask |= ask(word) if found is None else found
    for word in words - known.quiet:
        mask |= known.notable(word)
    if known.commands & words:
        mask |= _COMMAND
    if not needs or any(need & _GETTER for need in needs):
        getters, _ = halves(words, lambda: any(map(known.keeps_records, words)))
        mask |= _GETTER | _SETTER if getters else 0
    if needs:
        mask |= _OF_STATEMENTS
        if any(not need & ~mask for need in needs):
            return True
        if all(need & ~(mask | _OF_TEXTS) for need in needs):
            return False
    for match in _SQL.finditer(text):
        mask |= _SQL_MASKS[match.lastgroup]
    return any(not need & ~mask for need in needs) if needs else mask != 0


def _escaped(data: bytes) -> bool:
    """Does a string spell letters by escapes, or go on in the next line inside a word?"""
    marks = (b"\\x", b"\\u", b"\\U", b"\\N", b"\\\n", b"\\\r")
    return any(mark in data for mark in marks) or bool(re.search(rb"\\[0-7]", data))
