"""Triage over the modules of a project: what a scope can come to through imports, re-exports, base classes and methods of classes
that other modules define (DESIGN §4). It only skips, as `triage` does for one module.

A module's kinds depend on what its imports lead to, and on nothing else: they are the same whatever else a run looks at. What a call
means depends on the libraries whose objects can come in: on those that the module where the analysis starts, and all that it leads
to, import, for a helper gets what its caller has; habitual names of receivers count where they stand, and where the analysis starts. Where the class of a receiver is not known, a method may be that of any class *near*: of the modules that this one imports, of the bases of their
classes, and of what these import, as far as NEAR says.
"""
from __future__ import annotations

import os
import re
from typing import Any, Iterable, Optional

from noclobber.project import MAX_CLOSURE, Entry, Project
from noclobber.triage import CARRIED, CONSTRUCTORS, EFFECT, KINDS, POLICY, READS, ROW_READS, ROW_WRITES, Atoms, Meaning, Outline, Triage, needs_of, outcome, settle, words_of

#: How many imports away a class may be defined whose instances come into a module by a call or an attribute. Two cost twice as much and
#: made 1 % more of the lines of an application roots.
NEAR = 1

_CREATE = 1 << KINDS.index("create")
_WORD = re.compile(r"[^\W\d]\w*")

Node = tuple  # (path of the module, scope) or (path, "=name") of a module-level constant


def _come_together(need: int, own: int, reached: list[int]) -> bool:
    """Do the kinds of a need first come together here? Not where one callee has them all.

    That is a guess: what the callee reads may be another record than what this scope hands it to write. For a look before a create, which
    helpers of one manager share as a rule (`get_for`, `create_for`), it fails too often: there nothing else may bring any of the kinds.
    """
    whole = [found for found in reached if not need & ~found]
    if not whole or not need & _CREATE:
        return not whole
    return len(whole) > 1 or bool(need & own) or any(need & found for found in reached if found is not whole[0])


class Survey:
    """Kinds of the scopes of a project's modules, asked for module by module. The project's `digest` must be triage's `read`."""

    def __init__(self, project: Project, vocabulary: Any, pages: Iterable[Any]) -> None:
        self.project = project
        self.vocabulary = vocabulary
        self.needs = needs_of(pages)
        #: Needs across modules: a write alone is no reason to look at its callers, the row that one of them hands in is.
        self.joined = sorted({need if need & READS else need | read for need in self.needs for read in (ROW_READS if need & ROW_WRITES else (0,))})
        self._held: dict[Node, Atoms] = {}
        self._edges: dict[Node, dict[Node, int]] = {}
        self._scopes: dict[str, tuple[str, ...]] = {}  # path → scopes of the module
        self._doors: dict[str, tuple[int, int]] = {}  # path → what the module opens: by its imports and classes, in all
        self._open: dict[str, int] = {}  # path → what it opens in all, and all that it leads to by imports and classes
        #: path → modules that it sees, where these are not all that its imports lead to; what is settled for it is its own
        self._sight: dict[str, frozenset[str]] = {}
        self._meanings: dict[int, Meaning] = {}
        self._atoms: dict[int, dict[Node, int]] = {}  # by doors
        self._kinds: dict[int, dict[Node, int]] = {}
        self._near: dict[str, tuple[Entry, ...]] = {}
        self._direct: dict[str, tuple[Entry, ...]] = {}
        self._lines: dict[tuple[str, str], list[tuple[Entry, str]]] = {}
        self._bases: dict[tuple[str, str], frozenset[str]] = {}
        self._policies: dict[tuple[str, Meaning], bool] = {}

    def triage(self, entry: Entry) -> Triage:
        """The outcome for one module of the project.

        A scope whose own module has all kinds of a need for it is a root, as without a project. Where other modules bring some of them,
        only the scope in which they first come together is: a caller of that one adds nothing of its own.
        """
        kinds = self._settled(entry)
        atoms = self._atoms[self._open[entry.path]]
        path, names = entry.path, self._scopes[entry.path]
        edges = {name: {"→".join(target): mask for target, mask in self._edges[path, name].items()} for name in names}
        own = {name: atoms[path, name] for name in names}
        settle(own, {name: {target: mask for (where, target), mask in self._edges[path, name].items() if where == path and target in own}
                     for name in names})
        roots = []
        for name in names:
            have, reached = kinds[path, name], [kinds[target] for target in self._edges[path, name]]
            if any(not need & ~own[name] for need in self.needs) or any(
                    not need & ~have and _come_together(need, atoms[path, name], reached) for need in self.joined):
                roots.append(name)
        return outcome(entry.source, entry.facts, {name: atoms[path, name] for name in names}, edges,
                       {name: kinds[path, name] for name in names}, roots)

    def kinds(self, entry: Entry, seen_from: Entry) -> dict[str, frozenset[str]]:
        """Kinds of each scope of a module, with the calls meaning what they can mean in `seen_from`, whose values may come in."""
        self._prepare(seen_from)
        self._prepare(entry)
        doors = self._open[seen_from.path]
        nodes = [(entry.path, name) for name in self._scopes[entry.path]]
        sight = self._sight.get(seen_from.path)
        kinds = self._settle(doors, nodes, sight and sight | {entry.path})
        return {name: words_of(kinds[path, name]) for path, name in nodes}

    # --- the fixpoint ----------------------------------------------------------------------------------------------------------
    def _settled(self, entry: Entry) -> dict[Node, int]:
        self._prepare(entry)
        return self._settle(self._open[entry.path], [(entry.path, name) for name in self._scopes[entry.path]], self._sight.get(entry.path))

    def _prepare(self, entry: Entry) -> None:
        """Read the module and all that it leads to, and note what they open together."""
        if entry.path in self._open:
            return
        closure = self.project.closure(entry)
        doors = 0
        for found in reversed(closure):
            if found.path not in self._doors:
                self._doors[found.path] = found.facts.prepare(
                    found.source, lambda bases, found=found: self._further_bases(found, bases),
                    lambda target, found=found: self.project.follow(found, target) is not None)
                self._graph(found)
                found.facts.forget()
            doors |= self._doors[found.path][0]
        self._open[entry.path] = doors | self._doors[entry.path][1]
        if len(closure) >= MAX_CLOSURE:
            self._sight[entry.path] = frozenset(found.path for found in closure)

    def _settle(self, doors: int, wanted: list[Node], sight: Optional[frozenset[str]] = None) -> dict[Node, int]:
        """Kinds of nodes, and of all that they reach, where these doors are open. `sight`: nothing is known of other modules."""
        kinds = self._kinds.setdefault(doors, {}) if sight is None else {}
        atoms = self._atoms.setdefault(doors, {})
        fresh: dict[Node, dict[Node, int]] = {}
        known: dict[Node, int] = {}
        queue = [node for node in wanted if node not in kinds]
        while queue:
            node = queue.pop()
            if node in fresh:
                continue
            if node not in self._held or sight is not None and node[0] not in sight:  # of a module outside of what was read
                fresh[node], known[node] = {}, 0
                continue
            own = fresh[node] = self._edges[node]
            held = atoms.get(node)
            if held is None:
                meaning = self._meaning(doors | self._doors[node[0]][1])
                held = meaning.mask(*self._held[node])
                if held & EFFECT and not held & POLICY and self._has_policy(node[0], meaning):
                    held |= POLICY  # what it sends may go through a client that the module gives a policy
                atoms[node] = held
            known[node] = held
            for target in own:
                if target in kinds:
                    known[target] = kinds[target]
                elif target not in fresh:
                    queue.append(target)
        settle(known, fresh)
        kinds.update(known)
        return kinds

    def _has_policy(self, path: str, meaning: Meaning) -> bool:
        """Does a function of the module give a client a retry policy?"""
        key = path, meaning
        found = self._policies.get(key)
        if found is None:
            found = self._policies[key] = any(meaning.mask(*self._held[path, name]) & POLICY for name in self._scopes[path])
        return found

    def _meaning(self, doors: int) -> Meaning:
        found = self._meanings.get(doors)
        if found is None:
            found = self._meanings[doors] = Meaning(self.vocabulary, doors)
        return found

    def _graph(self, entry: Entry) -> None:
        outline: Outline = entry.facts
        path = entry.path
        held, local = outline.graph()
        self._scopes[path] = tuple(held)
        methods = self._methods_near(entry)
        for name, atoms in held.items():
            own: dict[Node, int] = {(path, target): through for target, through in local[name].items()}
            cls = outline.class_of(name)
            part = outline.constants_of(outline.scopes[name], cls)
            info = entry.index.functions.get(name)
            for node in self._reached(entry, part, info.imports if info is not None else {}, cls, methods):
                own[node] = -1
            if cls is not None and (part.self_attrs or part.self_bases):
                for node, through in self._carried(entry, cls, part):
                    own.setdefault(node, through)
            self._held[path, name] = atoms
            self._edges[path, name] = own
        for name, parts in outline.module_constants.items():
            mask, own, called = 0, {}, set()
            for part in parts:
                part = outline.constants_of(part, None)
                mask |= part.mask
                called |= part.called
                own.update(dict.fromkeys(self._reached(entry, part, {}, None, methods), -1))
                own.update({(path, target): -1 for target in outline.edges("=" + name, part, None)[0]})
            self._held[path, "=" + name] = mask, frozenset(called)
            self._edges[path, "=" + name] = own

    # --- where a scope's names lead ------------------------------------------------------------------------------------------
    def _reached(self, entry: Entry, part: Any, own_imports: dict, cls: Optional[str], methods: dict) -> Iterable[Node]:
        found: dict[Node, None] = {}
        imports = entry.index.imports
        class_imports = entry.index.classes[cls].imports if cls is not None and cls in entry.index.classes else {}
        attrs = part.attrs | part.supers | part.self_attrs | part.self_bases
        for name in part.names:
            target = own_imports.get(name) or class_imports.get(name) or imports.get(name)
            if target is None:
                continue
            for written in (target, *entry.index.choices.get(name, ())):
                self._node(entry, self.project.follow(entry, written), attrs, found)
        if entry.index.stars:
            for star in entry.index.stars:
                module = self.project.follow(entry, star)
                if module is not None and not module[1]:
                    for name in part.names - imports.keys():
                        self._node(entry, self.project.inside(module[0], name), attrs, found)
        for name in methods.keys() & (attrs | part.dunders):
            found.update(dict.fromkeys(methods[name]))
        return found

    def _node(self, entry: Entry, followed: Optional[tuple[Entry, str]], attrs: set, found: dict[Node, None],
              seen: frozenset[str] = frozenset()) -> None:
        if followed is None:
            return
        module, name = followed
        if module.path == entry.path or module.path in seen and not name:
            return
        index = module.index
        if not name:
            for attr in attrs:
                if attr in index.functions or attr in index.classes or attr in index.assigns or attr in index.imports:
                    self._node(entry, self.project.inside(module, attr), attrs, found, seen | {module.path})
                elif len(seen) < 3 and os.path.basename(module.path) == "__init__.py":
                    self._node(entry, self.project.follow(module, "." + attr), attrs, found, seen | {module.path})
            return
        head = name.partition(".")[0]
        outline: Outline = module.facts
        for key in outline.functions.get(head, ()):
            found[module.path, key] = None
        for key in outline.class_names.get(head, ()):
            for owner, cls in self._line(module, key):
                for method in owner.facts.by_class.get(cls, ()):
                    if owner.index.functions[method].name in CONSTRUCTORS:
                        found[owner.path, method] = None
        if head in outline.module_constants:
            found[module.path, "=" + head] = None

    def _carried(self, entry: Entry, cls: str, part: Any) -> Iterable[tuple[Node, int]]:
        """What methods of bases in other modules keep in `self`, where this scope reads it."""
        for owner, key in self._line(entry, cls):
            if owner.path == entry.path:
                continue
            for method in owner.facts.by_class.get(key, ()):
                stores = owner.facts.scopes[method].self_stores
                if stores and not (stores.isdisjoint(part.self_attrs) and stores.isdisjoint(part.self_bases)):
                    yield (owner.path, method), CARRIED

    # --- what is near --------------------------------------------------------------------------------------------------------
    def _direct_of(self, entry: Entry) -> tuple[Entry, ...]:
        """Modules that define what a module imports, packages that re-export it included."""
        found = self._direct.get(entry.path)
        if found is None:
            modules = {path: self.project.entry(path) for path in self.project.imported(entry)}
            index = entry.index
            targets = [*index.imports.values(), *(target for choice in index.choices.values() for target in choice)]
            for info in (*index.functions.values(), *index.classes.values()):
                targets += info.imports.values()
            for target in targets:
                followed = self.project.follow(entry, target)
                if followed is not None:
                    modules[followed[0].path] = followed[0]
            modules.pop(entry.path, None)
            found = self._direct[entry.path] = tuple(module for module in modules.values() if module is not None)
        return found

    def _near_of(self, entry: Entry) -> tuple[Entry, ...]:
        found = self._near.get(entry.path)
        if found is None:
            seen = {entry.path: entry}
            layer = [entry]
            for _ in range(NEAR):
                following = []
                for module in layer:
                    for other in self._direct_of(module):
                        if other.path not in seen:
                            seen[other.path] = other
                            following.append(other)
                layer = following
            for module in list(seen.values()):
                for key in module.index.classes:
                    for owner, cls in self._line(module, key):
                        seen.setdefault(owner.path, owner)
                        for other in self._managers_of(owner, cls):
                            seen.setdefault(other.path, other)
            seen.pop(entry.path)
            found = self._near[entry.path] = tuple(seen.values())
        return found

    def _managers_of(self, entry: Entry, cls: str) -> Iterable[Entry]:
        """Modules that define what a class has as managers: `objects = AccountManager()`."""
        reach = getattr(self.vocabulary, "reach", None)
        for name, ranges in entry.index.classes[cls].assigns.items():
            if reach is None or not reach.manager(name):
                continue
            for first, last in ranges:
                for word in _WORD.findall("".join(entry.source.lines[first - 1:last]).partition("=")[2]):
                    target = entry.index.classes[cls].imports.get(word) or entry.index.imports.get(word)
                    followed = self.project.follow(entry, target) if target is not None else None
                    if followed is not None:
                        yield followed[0]

    def _methods_near(self, entry: Entry) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for module in self._near_of(entry):
            for name, keys in module.facts.methods.items():
                found.setdefault(name, []).extend((module.path, key) for key in keys)
        return found

    # --- classes -----------------------------------------------------------------------------------------------------------------
    def _line(self, entry: Entry, key: str) -> list[tuple[Entry, str]]:
        """(module, class) of a class and its bases in the project, nearest first."""
        known = self._lines.get((entry.path, key))
        if known is None:
            seen = {(entry.path, key): (entry, key)}
            queue = [(entry, key)]
            while queue:
                module, name = queue.pop(0)
                for text in module.index.classes[name].bases:
                    for owner, base in self._classes_of(module, text.partition("(")[0].partition("[")[0]):
                        if (owner.path, base) not in seen:
                            seen[owner.path, base] = (owner, base)
                            queue.append((owner, base))
            known = self._lines[entry.path, key] = list(seen.values())
        return known

    def _classes_of(self, entry: Entry, name: str) -> list[tuple[Entry, str]]:
        head = name.partition(".")[0]
        if head in entry.index.classes:
            return [(entry, key) for key in entry.facts.class_names.get(name.rpartition(".")[2], ())]
        target = entry.index.imports.get(head)
        followed = self.project.follow(entry, target + name[len(head):]) if target is not None else None
        if followed is None and entry.index.stars and head not in entry.index.assigns:
            followed = self.project.inside(entry, name)
        if followed is None or not followed[1]:
            return []
        module, made = followed
        if made in module.index.classes:
            return [(module, made)]
        return [(module, key) for key in module.facts.class_names.get(made.rpartition(".")[2], ())]

    def _further_bases(self, entry: Entry, bases: Iterable[str]) -> Iterable[str]:
        """Bases outside the project of classes of other modules, which `bases` name by their dotted names."""
        found: set[str] = set()
        for base in bases:
            followed = self.project.follow(entry, base.partition("(")[0]) if "." in base else None
            if followed is None or not followed[1]:
                continue
            module, name = followed
            if name in module.index.classes:
                found |= self._library_bases(module, name)
            elif name in module.index.assigns:  # Base = declarative_base() in another module
                found.update(module.facts.made_by(module.source, name))
        return found

    def _library_bases(self, module: Entry, key: str) -> frozenset[str]:
        known = self._bases.get((module.path, key))
        if known is None:
            self._bases[module.path, key] = frozenset()  # a class that is its own base
            found: set[str] = set()
            for owner, name in self._line(module, key):
                own = list(owner.facts.dotted_bases(owner.source, (owner.index.classes[name],)))
                found.update(own)
                found.update(self._further_bases(owner, own))
            known = self._bases[module.path, key] = frozenset(found)
        return known

