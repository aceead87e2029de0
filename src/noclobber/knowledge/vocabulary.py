"""Lookups over vocabulary entries. Built from plain data; entries become objects when they are first asked for."""

from __future__ import annotations

import marshal
from collections.abc import Mapping

from noclobber.knowledge.errors import KnowledgeError, Record, nearest
from noclobber.knowledge.signatures import Signature, from_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from noclobber.knowledge.reach import Reach


def specs_of(entry: dict) -> list:
    """Return the specs of entry data; the stored form keeps each entry's packed until it is asked for."""
    specs = entry["specs"]
    if isinstance(specs, bytes):
        specs = entry["specs"] = marshal.loads(specs)
    return specs


class Spec(Record):
    """One call of an entry. `op`: the list it stands in (`made_by` is `make`); compared by identity: one object per
    spec and Vocabulary."""

    __slots__ = ("op", "signature", "entry", "settings")

    def __init__(self, op: str, signature: Signature, entry: Entry, settings: dict[str, Any]) -> None:
        self.op = op
        self.signature = signature
        self.entry = entry
        self.settings = settings

    def __repr__(self) -> str:
        return f"<Spec {self.entry.kind} {self.entry.id} {self.op} {self.signature.text!r}>"

    def get(self, key: str, default: Any = None) -> Any:
        """Return the setting of the call's inline table, else the entry's field, else `default`."""
        if key in self.settings:
            return self.settings[key]
        return self.entry.fields.get(key, default)

    @property
    def bind(self):
        return self.signature.bind


class Entry(Record):
    """One table of a vocabulary file. `fields`: without `id` and the lists of calls; list fields are always lists of
    str."""

    __slots__ = ("kind", "id", "fields", "specs", "origin", "user")

    def __init__(self, kind: str, id: str, fields: dict[str, Any], origin: tuple[str, int], user: bool) -> None:
        self.kind = kind  # 'store' | 'orm' | 'builder' | 'effect' | 'retry' | 'lock' | 'tool' | 'transaction'
        self.id = id
        self.fields = fields
        self.specs: tuple[Spec, ...] = ()
        self.origin = origin  # file, line
        self.user = user

    @property
    def type(self) -> str:
        """The type that `made_by` gives: 'store:redis'."""
        return f"{self.kind}:{self.id}"

    def ops(self, op: str) -> tuple[Spec, ...]:
        return tuple(spec for spec in self.specs if spec.op == op)


class Globs:
    """A set of fnmatch patterns, case-sensitive; `a`, `a*`, `*a`, `*a*` are matched without compiling anything."""

    __slots__ = ("exact", "starts", "ends", "holds", "others")

    def __init__(self, patterns: list[str]) -> None:
        self.exact: set[str] = set()
        starts, ends, holds, others = [], [], [], []
        for pattern in patterns:
            inner = pattern.strip("*")
            if "*" in inner or "?" in inner or "[" in inner:
                others.append(pattern)
            elif pattern == inner:
                self.exact.add(pattern)
            elif pattern.startswith("*") and pattern.endswith("*"):
                holds.append(inner)
            else:
                (ends if pattern.startswith("*") else starts).append(inner)
        self.starts, self.ends, self.holds, self.others = tuple(starts), tuple(ends), tuple(holds), tuple(others)

    def match(self, name: str) -> bool:
        if name in self.exact or name.startswith(self.starts) or name.endswith(self.ends):
            return True
        return any(part in name for part in self.holds) or any(_fnmatch(name, pattern) for pattern in self.others)


def _fnmatch(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


_single: dict[str, Globs] = {}


def _fits(name: str, pattern: str) -> bool:
    globs = _single.get(pattern)
    if globs is None:
        globs = _single[pattern] = Globs([pattern])
    return globs.match(name)


def _is_type(type_: str, pattern: str) -> bool:
    """`*.Repo` fits any module's Repo, also one whose module is not known ('Repo')."""
    if type_ == pattern:
        return True
    return "*" in pattern and (_fits(type_, pattern) or pattern.startswith("*.") and _fits(f".{type_}", pattern))


class _Kinds(Mapping):
    """Last part of every signature's name → kinds; made from the stored lists, which repeat few distinct values."""

    def __init__(self, calls: dict[str, list[str]]) -> None:
        self._calls = calls
        self._sets: dict[str, frozenset[str]] = {}

    def __getitem__(self, name: str) -> frozenset[str]:
        found = self._sets.get(name)
        if found is None:
            found = self._sets[name] = frozenset(self._calls[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._calls

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)


class Vocabulary:
    """What calls mean. Immutable; `with_user_tables` and `with_user_file` return another one. Picklable (plain data
    travels)."""

    def __init__(
        self,
        entries: list[dict],
        patterns: dict[str, list[str]],
        index: dict[str, Any],
        digest: str,
        gone: frozenset[int] = frozenset(),
        declared: dict[str, list[str]] | None = None,
    ) -> None:
        """`gone`: numbers of entries that a user's layer replaced or disabled; the index still names them. `declared`: the
        patterns that users have added, by group."""
        self._data = entries
        self._declared = declared or {}
        self._gone = gone
        self._patterns = patterns
        self._index = index
        self.digest = digest  # changes with any content; for caches
        self.call_names: Mapping[str, frozenset[str]] = _Kinds(index["calls"])
        self._entries: list[Entry | None] = [None] * len(entries)
        self._ids: dict[tuple[str, str], int] = {
            (entry["kind"], entry["id"]): at for at, entry in enumerate(entries) if at not in gone
        }
        self._globs: dict[str, Globs] = {}
        self._matched: dict[tuple[str, str], bool] = {}
        self._types: dict[str, tuple[int, ...]] = {}
        self._functions: dict[str, tuple[Spec, ...]] = {}
        self._methods: dict[tuple[str, str], tuple[Spec, ...]] = {}
        self._receivers: dict[str, tuple[int, ...]] = {}
        self._receiver_globs: list[tuple[int, Globs]] | None = None
        self._named: dict[tuple[str, str], tuple[Spec, ...]] = {}
        self._paths: dict[tuple[str, str], bool] = {}
        self._listed: dict[tuple[str, str], tuple[Entry, ...]] = {}
        self._reach: Reach | None = None

    def __reduce__(self):
        return Vocabulary, (self._data, self._patterns, self._index, self.digest, self._gone, self._declared)

    # --- calls -----------------------------------------------------------------------------------------------
    def functions(self, dotted: str) -> tuple[Spec, ...]:
        """Return the specs of a module function, constructor or class method by its full dotted name, () if none."""
        found = self._functions.get(dotted)
        if found is None:
            places = list(self._index["functions"].get(dotted, ()))
            for glob, more in self._index["function_globs"]:
                if _fits(dotted, glob):
                    places += more
            found = self._functions[dotted] = self._specs(places)
        return found

    def methods(self, type_: str, name: str) -> tuple[Spec, ...]:
        """Return the specs of method `name` on receivers of `type_`: dotted, 'kind:id' (of made_by and `-> kind:id`),
        or '_'.

        `name` may be a path from the receiver ('messages.create'). When nothing has the name, specs named `*` are
        returned. Base classes are the caller's business.
        """
        key = (type_, name)
        found = self._methods.get(key)
        if found is None:
            if type_ == "_":
                found = self._specs(self._index["receivers"].get(name, ()))
            else:
                entries = self._of_type(type_)
                found = self._named_specs(entries, name, type_) or self._named_specs(entries, "*", type_)
            self._methods[key] = found
        return found

    def by_name(self, receiver: str, name: str) -> tuple[Spec, ...]:
        """Return the specs of method `name` of entries whose `names` fit the receiver's text ('self.redis',
        'db.users').

        A glob is tried on the whole text and on its last part, there also without leading underscores.
        """
        key = (receiver, name)
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = self._named_specs(self._of_receiver(receiver), name, None)
        return found

    @property
    def has_operators(self) -> bool:
        """Does any entry know `store[key]` or `store.name`?"""
        calls = self.call_names
        return "__getitem__" in calls or "__setitem__" in calls or "__getattr__" in calls

    def known_type(self, type_: str) -> bool:
        return bool(self._of_type(type_))

    def leads_on(self, type_: str, name: str) -> bool:
        """Is there a call behind the attribute `name` of receivers of `type_` (`.reference.update`)?"""
        key = (type_, name)
        found = self._paths.get(key)
        if found is None:
            found = self._paths[key] = any(spec.signature.name.startswith(f".{name}.") for number in self._of_type(type_) for spec in self._entry(number).specs)
        return found

    # --- entries ---------------------------------------------------------------------------------------------
    def entry(self, kind: str, id_: str) -> Entry | None:
        number = self._ids.get((kind, id_))
        return None if number is None else self._entry(number)

    def entries(self, kind: str) -> tuple[Entry, ...]:
        return tuple(self._entry(number) for (known, _), number in self._ids.items() if known == kind)

    def entries_of_type(self, type_: str) -> tuple[Entry, ...]:
        """Return the entries whose `types` or `base` (or a call's `on`) hold the type, or the one that 'kind:id'
        names."""
        return tuple(self._entry(number) for number in self._of_type(type_))

    def listed(self, field_name: str, dotted: str) -> tuple[Entry, ...]:
        """Return the entries whose list field (`atomic_values`, `conflict_errors`, `base`, `injected` …) has a
        pattern for `dotted`."""
        key = (field_name, dotted)
        found = self._listed.get(key)
        if found is None:
            numbers = []
            for number, entry in enumerate(self._data):
                values = entry["fields"].get(field_name) if number not in self._gone else None
                if isinstance(values, list) and any(
                    value == dotted or ("*" in value and _fits(dotted, value)) for value in values
                ):
                    numbers.append(number)
            found = self._listed[key] = tuple(self._entry(number) for number in numbers)
        return found

    # --- name patterns ---------------------------------------------------------------------------------------
    def declares(self, patterns: str, name: str) -> bool:
        """Tell whether a user's own pattern of that group fits the name. It counts for code that can be read, too."""
        own = self._declared.get(patterns)
        return own is not None and any(_fits(name, pattern) for pattern in own)

    def match(self, patterns: str, name: str) -> bool:
        """Tell whether the last dotted part of `name` fits the group of `_names.toml`. Raises KnowledgeError for an
        unknown group."""
        key = (patterns, name)
        found = self._matched.get(key)
        if found is None:
            globs = self._globs.get(patterns)
            if globs is None:
                if patterns not in self._patterns:
                    raise KnowledgeError(
                        "rules/vocabulary/_names.toml", 0, f'no group "{patterns}"{nearest(patterns, self._patterns)}'
                    )
                globs = self._globs[patterns] = Globs(self._patterns[patterns])
            found = self._matched[key] = globs.match(name.rpartition(".")[2])
        return found

    @property
    def data(self) -> list[dict]:
        """The entries as plain data (knowledge.build); not to be changed."""
        return [entry for number, entry in enumerate(self._data) if number not in self._gone]

    @property
    def pattern_groups(self) -> Mapping[str, list[str]]:
        return self._patterns

    @property
    def reach(self) -> Reach:
        """Which of all this a file can come to, for triage."""
        if self._reach is None:
            from noclobber.knowledge.reach import Reach

            self._reach = Reach(self._index, self._gone)
        return self._reach

    # --- users' own ------------------------------------------------------------------------------------------
    def with_user_tables(self, tables: dict, origin: str, first_line: int = 0, text: str | None = None) -> Vocabulary:
        """Return this vocabulary with the tables of `[tool.noclobber]` (or of a whole file) added.

        `tables`: {"store": [...], "effect": [...], …, "disable": [...]}, only keys of `tables.TOP_KEYS`; `origin`:
        the file, as it is to be named; `text`: its text, for line numbers (default: read from `origin`);
        `first_line`: named when the text does not tell. Raises KnowledgeError.
        """
        from noclobber.knowledge.build import Layer
        from noclobber.knowledge.errors import read_text, table_prefix

        if text is None:
            try:
                text = read_text(origin)
            except KnowledgeError:  # tables that never were in a file
                text = ""
        return self._with(Layer(tables, origin, text, prefix=table_prefix(text), user=True, first_line=first_line))

    def with_user_file(self, path: str, shown: str | None = None) -> Vocabulary:
        """Return this vocabulary with a file of `vocabulary = [...]` added; `shown`: the path to name in errors.
        Raises KnowledgeError."""
        from noclobber.knowledge.build import Layer
        from noclobber.knowledge.errors import parse_toml, read_text

        text = read_text(path)
        return self._with(Layer(parse_toml(text, shown or path), shown or path, text, user=True))

    def _with(self, layer: Any) -> Vocabulary:
        import hashlib

        from noclobber.knowledge.build import merge
        from noclobber.knowledge.index import index_entries, join_indexes

        entries = merge(self.data, [layer])
        patterns, declared = dict(self._patterns), dict(self._declared)
        for group, globs in layer.patterns.items():
            if group not in patterns:
                line = layer.lines.key(layer.lines.table(layer.prefix + "patterns"), group)
                raise KnowledgeError(layer.path, line, f'no group of patterns "{group}"{nearest(group, patterns)}')
            patterns[group] = [*patterns[group], *globs]
            declared[group] = [*declared.get(group, ()), *globs]
        old = {id(entry) for entry in self._data}
        kept = {id(entry) for entry in entries}
        fresh = [entry for entry in entries if id(entry) not in old]
        gone = self._gone | {number for number, entry in enumerate(self._data) if id(entry) not in kept}
        told = repr((self.digest, fresh, sorted(gone), patterns))
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        index = join_indexes(self._index, index_entries(fresh, len(self._data)))
        return Vocabulary([*self._data, *fresh], patterns, index, digest, frozenset(gone), declared)

    # --- inner -----------------------------------------------------------------------------------------------
    def _entry(self, number: int) -> Entry:
        entry = self._entries[number]
        if entry is None:
            data = self._data[number]
            entry = Entry(data["kind"], data["id"], data["fields"], (data["file"], data["line"]), data["user"])
            entry.specs = tuple(
                Spec(op, from_data(signature), entry, settings) for op, signature, settings in specs_of(data)
            )
            self._entries[number] = entry
        return entry

    def _specs(self, places: Any) -> tuple[Spec, ...]:
        return tuple(self._entry(number).specs[place] for number, place in places if number not in self._gone)

    def _of_type(self, type_: str) -> tuple[int, ...]:
        found = self._types.get(type_)
        if found is None:
            numbers = list(self._index["types"].get(type_, ()))
            for glob, more in self._index["type_globs"]:
                if ":" not in type_ and _is_type(type_, glob):
                    numbers += more
            found = self._types[type_] = tuple(number for number in dict.fromkeys(numbers) if number not in self._gone)
        return found

    def _of_receiver(self, receiver: str) -> tuple[int, ...]:
        found = self._receivers.get(receiver)
        if found is None:
            if self._receiver_globs is None:
                globs: dict[int, list[str]] = {}
                for glob, number in self._index["names"]:
                    if number not in self._gone:
                        globs.setdefault(number, []).append(glob)
                self._receiver_globs = [(number, Globs(patterns)) for number, patterns in globs.items()]
            last = receiver.rpartition(".")[2]
            texts = {receiver, last, last.lstrip("_")} - {""}
            texts |= {text.lower() for text in texts if text.isupper()}  # `REDIS_CLIENT`
            found = self._receivers[receiver] = tuple(
                number for number, globs in self._receiver_globs if any(globs.match(text) for text in texts)
            )
        return found

    def _named_specs(self, numbers: tuple[int, ...], name: str, type_: str | None) -> tuple[Spec, ...]:
        """`type_` None: a receiver of unknown type, or known as 'kind:id'; calls that need another type (`on`) are
        left out."""
        found = []
        for number in numbers:
            places = self._index["methods"][number].get(name)
            if not places:
                continue
            specs = self._entry(number).specs
            fields = self._data[number]["fields"]
            plain = type_ is None or ":" in type_ or self._is_receiver(type_, fields)
            for place in places:
                on = specs[place].settings.get("on") if self._data[number]["kind"] != "retry" else None
                if (
                    on is None
                    and plain
                    or on is not None
                    and type_ is not None
                    and any(_is_type(type_, known) for known in on)
                ):
                    found.append(specs[place])
        return tuple(found)

    @staticmethod
    def _is_receiver(type_: str, fields: dict[str, Any]) -> bool:
        return any(_is_type(type_, known) for known in (*fields.get("types", ()), *fields.get("base", ())))
