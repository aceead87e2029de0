"""From what scopes hold, and what pages need, to the scopes that are walked."""
from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from noclobber.resolve import ModuleIndex, Source

from .kinds import BIT, EFFECT, FAMILIES, POLICY, mask_of, words_of
from .names import names_of
from .outline import MODULE, Outline, read

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
        known = names_of(vocabulary)
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
                unknown = sorted(set(need) - BIT.keys())
                if unknown:
                    raise ValueError(f"{page.slug}: needs unknown kind {unknown[0]!r}")
                masks.add(mask_of(need))
        if len(_NEEDS) > 50:
            _NEEDS.clear()
        found = _NEEDS[key] = sorted(masks)
    return found
