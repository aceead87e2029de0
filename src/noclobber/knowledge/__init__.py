"""The compiled content of `rules/`: vocabulary, name patterns, rule pages, precedence.

Nothing here looks at code under analysis. `load()` reads the compiled form (DESIGN §3: a wheel ships it compiled; a
checkout compiles to the cache folder when a file changes); nothing that parses is imported then. Users' stores of
pyproject are merged in with `Vocabulary.with_user_tables`, files of `vocabulary = [...]` with
`Vocabulary.with_user_file`.
"""

from __future__ import annotations

from noclobber.knowledge import compiled, pages as _pages
from noclobber.knowledge.errors import KnowledgeError, Record, nearest
from noclobber.knowledge.pages import Page
from noclobber.knowledge.signatures import NOTHING, Bound, Param, Signature
from noclobber.knowledge.vocabulary import Entry, Spec, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "NOTHING",
    "Bound",
    "Entry",
    "Knowledge",
    "KnowledgeError",
    "Page",
    "Param",
    "Signature",
    "Spec",
    "Vocabulary",
    "compile_rules",
    "from_folder",
    "load",
    "module_source",
    "nearest",
]


class Knowledge(Record):
    """`pages`: slug → Page; `by_code`: code → Page; `precedence`: orders of slugs, the first of each wins; `groups`:
    group → slugs; `digest`: changes with any byte of `rules/`."""

    __slots__ = ("vocabulary", "pages", "by_code", "precedence", "groups", "digest", "_below")

    def __init__(
        self, vocabulary: Vocabulary, pages: dict[str, Page], precedence: list[tuple[str, ...]], digest: str = ""
    ) -> None:
        self.vocabulary = vocabulary
        self.pages = pages
        self.by_code: dict[str, Page] = {page.code: page for page in pages.values()}
        self.precedence = precedence
        groups: dict[str, list[str]] = {}
        for code in sorted(self.by_code):
            page = self.by_code[code]
            groups.setdefault(page.group, []).append(page.slug)
        self.groups: dict[str, tuple[str, ...]] = {group: tuple(slugs) for group, slugs in groups.items()}
        self.digest = digest
        self._below: dict[str, frozenset[str]] = {}

    def beats(self, winner: str, loser: str) -> bool:
        """Tell whether `winner` stands before `loser` in the orders, directly or through others."""
        below = self._below.get(winner)
        if below is None:
            found: set[str] = set()
            todo = [winner]
            while todo:
                slug = todo.pop()
                for order in self.precedence:
                    if slug in order:
                        fresh = set(order[order.index(slug) + 1 :]) - found
                        found |= fresh
                        todo += fresh
            below = self._below[winner] = frozenset(found)
        return loser in below

    def page(self, name: str) -> Page:
        """Return the page of a code or slug, in any case. Raises KnowledgeError that names the nearest one."""
        found = self.by_code.get(name.upper()) or self.pages.get(name.lower())
        if found is None:
            raise KnowledgeError("", 0, f'no rule "{name}"{nearest(name, (*self.pages, *self.by_code))}')
        return found


_loaded: Knowledge | None = None


def load() -> Knowledge:
    """Return the built-in knowledge, made once per process. Raises KnowledgeError when `rules/` cannot be used."""
    global _loaded
    if _loaded is None:
        _loaded = _from_data(compiled.load_data())
    return _loaded


def from_folder(folder: str) -> Knowledge:
    """Return the knowledge of another `rules/` folder, parsed anew (tests, checks of a rules folder). Raises
    KnowledgeError."""
    return _from_data(compile_rules(folder))


def compile_rules(folder: str) -> dict[str, Any]:
    """Return the rules of `folder` as plain data. Raises KnowledgeError."""
    from noclobber.knowledge.compile import compile_rules as compile_

    return compile_(str(folder))


def module_source(folder: str) -> str:
    """Return the text of `noclobber/_rules.py` for a wheel. Raises KnowledgeError."""
    return compiled.module_source(str(folder))


def _from_data(data: dict[str, Any]) -> Knowledge:
    return Knowledge(
        Vocabulary(data["entries"], data["patterns"], data["index"], data["digest"]),
        {page["slug"]: _pages.from_data(page) for page in data["pages"]},
        [tuple(order) for order in data["precedence"]],
        data["digest"],
    )
