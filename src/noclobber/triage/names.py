"""What names mean under one vocabulary: of calls, attributes, arguments, mentions."""
from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from typing import Any, Callable
from weakref import WeakKeyDictionary

from noclobber.knowledge.reach import shape_of

from .kinds import BIT, CHANGE, CONDITION, CONFLICT, MANAGER, WITNESS, mask_of

#: Calls that the language and its standard library give a kind, whatever the vocabulary says.
CALLS = {
    **dict.fromkeys(("setattr", "delattr", "__setattr__", "__setitem__", "__delitem__", "__delattr__"), "change"),
    **dict.fromkeys(("setitem", "delitem", "iadd", "isub", "ior"), "change"),
    **dict.fromkeys(("model_dump", "model_dump_json", "dict", "asdict"), "dump"),
    **dict.fromkeys(("uuid1", "uuid4", "uuid6", "uuid7", "token_hex", "token_urlsafe", "token_bytes", "urandom",
                     "getrandbits", "randbytes", "randint", "randrange", "random", "choice", "now", "utcnow", "today",
                     "time", "time_ns",
                     "monotonic", "monotonic_ns", "perf_counter", "ulid", "ksuid", "nanoid"), "makekey"),
}
CALL_PATTERNS = (("locking_reader", ("read", "lock")), ("lock_factory", ("lock",)), ("transaction", ("begin",)))
_CONDITION_NAMES = ("IFMATCH", "IFNONEMATCH")
_CONFLICT_WORDS = ("CONFLICT", "PRECONDITION_FAILED", "_409", "_412")


class Names:
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
            mask = table[name] = mask_of(kinds(name)) | self.pattern(name)
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
            if name in CALLS:
                mask = CHANGE if CALLS[name] == "change" else BIT[CALLS[name]]
            for group, kinds in CALL_PATTERNS:
                if self.fits(group, name):
                    mask |= mask_of(kinds)
            patterns[name] = mask
        return mask

    def attribute(self, name: str) -> int:
        """Kinds of an attribute of something that may be a class: as of a name; a manager's queries read."""
        mask = self.attributes.get(name)
        if mask is None:
            manager = self.reach is not None and self.reach.manager(name)
            mask = self.attributes[name] = self.mention(name) | (MANAGER if manager else 0)
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
            found = module.islower() and name not in CALLS and not self.functions(key) and not any(
                self.fits(group, name) for group, _ in CALL_PATTERNS)
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
            mask = self.mentions[name] = (CONFLICT if conflict else 0) | (CONDITION if condition else 0)
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
            mask |= MANAGER
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
            mask = self.arguments[name] = WITNESS if witness else 0
        return mask


_KNOWN: WeakKeyDictionary = WeakKeyDictionary()


def names_of(vocabulary: Any) -> Names:
    found = _KNOWN.get(vocabulary)
    if found is None:
        found = _KNOWN[vocabulary] = Names(vocabulary)
    return found
