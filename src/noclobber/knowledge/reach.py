"""Which calls of the vocabulary a file can come to at all, so that triage need not ask for the rest (DESIGN §4).

A method of a library counts only where a value of its type can be: the file imports the type (or what makes it), a
receiver has its habitual name, or the call is known whatever the receiver. A row of an ORM needs a manager, a model, a
query. A value that comes from another module has no type yet; once it has one, what that module imports must be added
to `imports`.

Entries, their rows and dotted functions have a bit each; what is open in a file is an int.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from noclobber.knowledge.vocabulary import Globs

#: Kinds that only a unit of work has: without one a commit writes no changed objects.
_OF_UNITS = frozenset({"orm-flush", "orm-session-read"})
_ANY = 1  # bit of the calls that are known whatever the receiver
_MAX_REMEMBERED = 50_000  # words


#: Marks of a call's shape. The first is how the name is reached: `.get` of a value, `(get` a function by its name. The
#: last tells its positional arguments: `=` none, `'` a literal text first, `1` one alone, `+` others. A name without a
#: mark may be anything: it was handed on, decorates, is entered.
_FIRST, _LAST = ".(", "='1+"


class Calls:
    """What call names mean in the files that have the same doors open.

    A name is asked for with the shape of its call around it: `.get'`, `(open+`, `update`; `with_for_update=` without a first
    mark is an argument given by that name.
    """

    __slots__ = ("_uses", "_open", "_units", "_found")

    def __init__(self, uses: dict[str, list[tuple[int, frozenset[str], str]]], open_: int, units: int) -> None:
        self._uses = uses
        self._open = open_
        self._units = bool(units & open_)
        self._found: dict[str, frozenset[str]] = {}

    def kinds(self, name: str) -> frozenset[str]:
        found = self._found.get(name)
        if found is None:
            kinds: set[str] = set()
            bare, marks = shape_of(name)
            for uses in (self._uses.get(bare, ()), self._uses.get("*", ())):
                for doors, own, misfits in uses:
                    if doors & self._open and not (misfits and any(mark in misfits for mark in marks)):
                        kinds |= own
            if not self._units:
                kinds -= _OF_UNITS
            found = self._found[name] = frozenset(kinds)
        return found


def shape_of(name: str) -> tuple[str, str]:
    """(name, marks) of a call name as `Calls` is asked for it; an argument's name keeps its `=`."""
    if name[:1] not in _FIRST or not name:
        return name, ""
    return (name[1:-1], name[0] + name[-1]) if name[-1] in _LAST else (name[1:], name[0])


class Reach:
    """Made of a Vocabulary's index (`uses`, `openers`, `gives`, `types`); `gone`: numbers of entries that are left
    out."""

    def __init__(self, index: dict[str, Any], gone: Iterable[int] = ()) -> None:
        self._bits: dict[str, int] = {"_": _ANY}
        self._prefixes: dict[str, int] = {}  # dotted prefix of an import → what it opens
        self._words: dict[str, int] = {}  # remembered: word → what it opens
        self._quiet: set[str] = set()  # remembered: words that open nothing
        self._word_globs: list[tuple[Globs, int]] = []
        self._managers: dict[str, int] = {}  # remembered: attribute → rows that it gives
        self._no_managers: set[str] = set()
        self._manager_globs: list[tuple[Globs, int]] = []
        self._bases: dict[str, int] = {}  # remembered: base of a class → rows that it gives
        self._base_globs: list[tuple[Globs, int]] = []
        self._module_globs: list[tuple[Globs, int]] = []  # modules of models → the rows
        self._row_packages: list[tuple[frozenset[str], int]] = []  # packages of an ORM → its rows
        self._modules: dict[str, int] = {}  # remembered: import target → rows that it gives
        self._texts: list[tuple[tuple[str, ...], int]] = []  # all of these in the text → what it opens
        self._calls: dict[int, Calls] = {}
        self._opened: dict[tuple[int, int], int] = {}
        gone = frozenset(gone)
        types: dict[str, int] = {}
        units: list[int] = []
        markers: list[str] = []
        every_word: list[str] = []
        every_manager: list[str] = []
        self._always = _ANY
        self._of_rows = self._units = 0
        for number, (own_types, words, rows, unit) in enumerate(index["openers"]):
            if number in gone:
                continue
            bit = self._bit(f"#{number}")
            for type_ in own_types:
                if "*" in type_:  # `*.OrderRepo`: imported from anywhere, or named in an annotation only
                    self._texts.append((tuple(filter(None, type_.rpartition(".")[2].split("*"))), bit))
                else:
                    types[type_] = types.get(type_, 0) | bit
                    self._prefix(type_, bit)
            if "*" in words:
                self._always |= bit
            elif words:
                self._word_globs.append((Globs(words), bit))
                every_word += words
            if rows:
                self._of_rows |= bit << 1
                self._manager_globs.append((Globs(rows["manager"]), bit << 1))
                every_manager += rows["manager"]
                self._base_globs.append((Globs(rows["base"]), bit << 1))
                packages = frozenset(base.partition(".")[0] for base in rows["base"]) - {"*"}
                self._row_packages.append((packages, bit << 1))
                self._texts += [((text,), bit << 1) for word in rows["keywords"] for text in (word + "=", word + " =")]
                self._module_globs.append((Globs(rows["model_modules"]), bit << 1))
                markers += rows["markers"]
            if unit:
                units.append(bit << 1)
                self._units |= bit << 1
        self._every_word = Globs(every_word)
        self._every_manager = Globs(every_manager)
        for type_, numbers in index["types"].items():
            if ":" in type_:
                for number in numbers:
                    if number not in gone:
                        types[type_] = types.get(type_, 0) | self._bit(f"#{number}")
        self._gives: list[tuple[int, str, tuple[str, ...], int]] = []  # door, word, texts → what it opens
        self._uses: dict[str, list[tuple[int, frozenset[str], str]]] = {}
        for name, uses in index["uses"].items():
            own = self._uses[name] = []
            for number, door, of_rows, kinds, misfits in uses:
                if number in gone:
                    continue
                bits = self._door(number, door)
                own.append((bits | bits << 1 if of_rows and not door else bits, frozenset(kinds), misfits))
                rows = self._bit(f"#{number}") << 1
                if rows & self._of_rows and door:  # what such a function loads is a row
                    self._gives.append((bits, name if door == "_" else "", (), rows))
                if "sql-built" in kinds or "orm-read" in kinds and not rows & self._of_rows:
                    self._gives += [(bits, "", (), unit) for unit in units]  # rows of a builder's select
        for number, door, last, texts, type_ in index["gives"]:
            target = types.get(type_, 0)
            if number not in gone and target:
                self._gives.append((self._door(number, door), last if door == "_" else "", tuple(texts), target))
        self._gives = list(dict.fromkeys(self._gives))
        #: names whose calls mean different things by their positional arguments
        self.shaped = frozenset(name for name, uses in self._uses.items() if any(misfits.strip(_FIRST) for _, _, misfits in uses))
        #: names of arguments that bring kinds
        self.keywords = frozenset(name[:-1] for name in self._uses if name.endswith("="))
        self._markers = tuple(dict.fromkeys(markers))

    def _bit(self, key: str) -> int:
        """An entry's or a door's own bit; the one above it stands for the entry's rows."""
        found = self._bits.get(key)
        if found is None:
            found = self._bits[key] = 1 << 2 * len(self._bits)
        return found

    def _door(self, number: int, door: str) -> int:
        if not door:
            return self._bit(f"#{number}")
        if door == "_" or "." not in door or door.startswith("builtins."):
            return _ANY
        if door not in self._bits:
            self._prefix(door, self._bit(door))
        return self._bits[door]

    def _prefix(self, dotted: str, bit: int) -> None:
        at = dotted.find(".")
        while at >= 0:
            self._prefixes[dotted[:at]] = self._prefixes.get(dotted[:at], 0) | bit
            at = dotted.find(".", at + 1)
        self._prefixes[dotted] = self._prefixes.get(dotted, 0) | bit

    # --- asking --------------------------------------------------------------------------------------------------
    def manager(self, attribute: str) -> int:
        """What an attribute of that name opens when it gives a query; 0: it is no manager."""
        found = self._managers.get(attribute)
        if found is not None:
            return found
        if attribute in self._no_managers:
            return 0
        if self._every_manager.match(attribute):
            found = self._managers[attribute] = _matched(self._manager_globs, (attribute,))
            return found
        if len(self._no_managers) > _MAX_REMEMBERED:
            self._no_managers.clear()
        self._no_managers.add(attribute)
        return 0

    def is_base(self, base: str) -> int:
        """What a class with that dotted base opens; 0: it is no model."""
        found = self._bases.get(base)
        if found is None:
            found = self._bases[base] = _matched(self._base_globs, (base,))
        return found

    def _model_module(self, target: str) -> int:
        """What an import target opens as a model's module, or as a class in one."""
        found = self._modules.get(target)
        if found is None:
            if len(self._modules) > _MAX_REMEMBERED:
                self._modules.clear()
            found = _matched(self._module_globs, (target, target.rpartition(".")[0]))
            own = {target.partition(".")[0]}
            if any(own & packages for packages, _ in self._row_packages):
                found = self._rows_of(own, found)  # `django.db.models.F` is no document of another ORM
            self._modules[target] = found
        return found

    def _rows_of(self, packages: Set[str], rows: int) -> int:
        """Those of some rows that are of ORMs with one of these packages."""
        own = 0
        for names, bits in self._row_packages:
            if bits & rows and names & packages:
                own |= bits
        return own

    def _word(self, word: str) -> int:
        texts = (word, word.lstrip("_")) if word.startswith("_") else (word, word.lower()) if word.isupper() else (word,)
        match = self._every_word.match
        found = _matched(self._word_globs, texts) if match(word) or len(texts) > 1 and match(texts[1]) else 0
        if len(self._words) + len(self._quiet) > _MAX_REMEMBERED:
            self._words.clear()
            self._quiet.clear()
        if found:
            self._words[word] = found
        else:
            self._quiet.add(word)
        return found

    def receivers(self, words: Set[str]) -> set[str]:
        """Those of the words that open something as the name of a receiver."""
        return {word for word in words - self._quiet if self._words.get(word) or self._word(word)}

    def names(self, words: Set[str]) -> Set[str]:
        """Those of the words that are names of calls, as they are asked for."""
        return self._uses.keys() & words | {name + "=" for name in self.keywords & words}

    def calls(
        self, imports: Set[str], words: Set[str], attributes: Set[str], bases: Iterable[str] | None, text: str
    ) -> Calls:
        """What call names mean in a file. Arguments as of `doors`."""
        return self.table(self.doors(imports, words, attributes, bases, text))

    def doors(
        self,
        imports: Set[str],
        words: Set[str],
        attributes: Set[str],
        bases: Iterable[str] | None,
        text: str,
        strangers: Iterable[str] | None = None,
    ) -> int:
        """What a file opens, as a set of bits; those of several files together are what values of the one can be in another.

        `strangers`: those of `imports` whose source is not at hand, so that a class may be a model by its module's name;
        None: all.

        `imports`: absolute targets of all its imports; `words`: its names and attributes; `attributes`: those that may
        be a manager of a class; `bases`: dotted bases of its classes, None: not known; `text`: its source.
        """
        open_ = self._always
        prefixes = self._prefixes
        for target in prefixes.keys() & imports:
            open_ |= prefixes[target]
        known, ask = self._words, self._word
        for word in words - self._quiet:
            found = known.get(word)
            open_ |= ask(word) if found is None else found
        rows = 0
        for attribute in attributes - self._no_managers:
            rows |= self.manager(attribute)
        for target in imports if strangers is None else strangers:
            rows |= self._model_module(target)
        if rows:  # `Model.objects`, `shop.models.Item` of several ORMs: of the one that the file imports, as the walk decides
            packages = {target.partition(".")[0] for target in imports}
            open_ |= self._rows_of(packages, rows) or rows
        if bases is None:
            for _, bits in self._base_globs:
                open_ |= bits
        for base in bases or ():
            open_ |= self.is_base(base)
        for parts, bits in self._texts:
            if bits & ~open_ and all(part in text for part in parts):
                open_ |= bits
        open_ |= open_ << 1 & self._of_rows  # a session gives rows
        more = True
        while more:
            more = False
            for doors, word, texts, target in self._gives:
                if target & ~open_ and doors & open_ and (not word or word in words) and all(t in text for t in texts):
                    open_ |= target | target << 1 & self._of_rows
                    more = True
        return open_

    def versioned(self, text: str) -> bool:
        """Does the text name a version that an ORM checks by itself?"""
        return any(marker in text for marker in self._markers)

    def everything(self) -> Calls:
        """What call names mean where nothing is left out."""
        return self.table((1 << 2 * len(self._bits)) - 1)

    def table(self, open_: int) -> Calls:
        """What call names mean where these doors are open."""
        found = self._calls.get(open_)
        if found is None:
            if len(self._calls) > 2000:
                self._calls.clear()
            found = self._calls[open_] = Calls(self._uses, open_, self._units)
        return found


def _matched(globs: list[tuple[Globs, int]], texts: Iterable[str]) -> int:
    found = 0
    for patterns, bits in globs:
        if any(map(patterns.match, texts)):
            found |= bits
    return found
