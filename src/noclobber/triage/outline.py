"""The scopes of one module, what they hold, and which of them may enter which."""
from __future__ import annotations

import ast
from ast import AnnAssign, Assign, AsyncFor, AsyncFunctionDef, AsyncWith, AugAssign, ClassDef, For, FunctionDef, Name, With
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from noclobber.knowledge.pairs import halves
from noclobber.knowledge.reach import shape_of
from noclobber.resolve import ModuleIndex, Source, absolute, dotted

from .kinds import BIT, CARRIED, CARRIED_BY_BASE, CHANGE, GETTER, MAY_BE_MODEL, RECURSION, SETTER
from .names import Names, names_of
from .scan import BUILTINS, SUBSCRIPTS, Part, last_name, scan

_DEFS = (FunctionDef, AsyncFunctionDef, ClassDef)
_NEW_METHODS = frozenset({"__init__", "__new__", "__post_init__"})
CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__attrs_post_init__")
MODULE = "<module>"


def class_scope(key: str) -> str:
    """Name of the scope of a class body's loose statements; `key` as in ModuleIndex.classes."""
    return f"<class {key}>"


#: What a scope holds: kinds of its statements, and the names whose calls may have more.
Atoms = tuple[int, frozenset[str]]


class Outline:
    """Scopes, constants and edges of one module. Holds no tree; what calls mean is not in the parts' masks."""

    def __init__(self, tree: ast.Module, index: ModuleIndex, known: Names) -> None:
        self.index = index
        self.known = known
        self.keys = {info.def_line: key for key, info in index.functions.items()}
        self.class_keys = {info.def_line: key for key, info in index.classes.items()}
        self.shadows = BUILTINS & _defined(index)
        self.parts: list[Part] = []
        self.scopes: dict[str, Part] = {}
        self.lines: dict[str, int] = {}
        self.module_constants: dict[str, list[Part]] = {}
        self.class_constants: dict[str, list[Part]] = {}
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
            part = Part()
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
                own.called.update(map(last_name, owner.decorator_list))
                part.merge(own)
            name = MODULE if cls is None else class_scope(cls)
            self.scopes[name] = part
            ranges = self.index.loose if cls is None else self.index.classes[cls].loose
            self.lines[name] = sum(last - first + 1 for first, last in ranges)

    def scan(self, nodes: list, imports: tuple[dict[str, str], ...], **options: Any) -> Part:
        part = scan(nodes, self.known, imports, shadows=self.shadows, **options)
        self.parts.append(part)
        return part

    def nested(self, statement: ast.stmt, imports, constants: dict[str, list[Part]], blocks: list) -> None:
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
        models = self.models(source, bases_of) if any(part.mask & MAY_BE_MODEL for part in self.parts) else set()
        versioned = BIT["versioned"] if reach is not None and reach.versioned(source.text) else 0
        for part in self.parts:
            part.mask |= versioned
        for name, part in self.scopes.items():
            if part.mask & MAY_BE_MODEL:
                info = self.index.functions.get(name)
                if info is None or info.cls is None or info.cls in models:
                    part.mask |= CHANGE
                part.mask &= ~MAY_BE_MODEL
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
    def constants_of(self, part: Part, cls: str | None) -> Part:
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
                mask |= (0 if getters.isdisjoint(called) else GETTER) | (0 if setters.isdisjoint(called) else SETTER)
            if own.pop(name, 0):
                mask |= RECURSION
            atoms[name] = (mask, frozenset(part.called | {"[]"} if part.dunders & SUBSCRIPTS else part.called))  # `store[key]` of a store that can be reached
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

    def edges(self, name: str, part: Part, cls: str | None) -> tuple[set[str], dict[str, int]]:
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
    return Outline(tree, index, names_of(vocabulary))
