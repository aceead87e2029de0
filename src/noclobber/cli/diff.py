"""`--diff-base`: what is new against the commit that a branch started from.

Both sides are analysed whole: the work tree as it is, the base from git's objects, written to a temporary folder. A finding is
new when the base has none with the same content (baseline.Known), so a lock removed in one module makes the untouched write in
another one new.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from noclobber.cli.common import Failed

SCOPES = ("new", "touched", "files")


def comparison(ref: str, scope: str, paths: Sequence[str], resolver: Any, jobs: int | None) -> Callable[[list[Any]], list[bool]]:
    """A function for verdict.settle: which findings of the work tree are new. Raises Failed where git cannot tell."""
    from noclobber.git import GitError, Repository

    first = os.path.abspath(os.path.join(resolver.cwd, paths[0] if paths else "."))
    try:
        repository = Repository(first if os.path.isdir(first) else os.path.dirname(first))
        base = repository.base(ref)
        changes = repository.changes(base)
        touched = repository.touched_lines(base) if scope == "touched" else {}
    except GitError as error:
        raise Failed(str(error)) from None
    root = os.path.realpath(repository.root)

    def inside(path: str) -> str:
        """A shown path from the repository's root; as it is when it lies outside."""
        absolute = os.path.realpath(os.path.join(resolver.cwd, path))
        return absolute[len(root) + 1 :].replace(os.sep, "/") if absolute.startswith(root + os.sep) else path

    if scope == "files":
        return lambda findings: [inside(finding.path) in changes.changed for finding in findings]
    folder = os.path.realpath(tempfile.mkdtemp(prefix="noclobber-base-"))
    try:
        try:
            repository.export(base, folder)
        except GitError as error:
            raise Failed(str(error)) from None
        known = _known(folder, root, paths, changes, resolver, jobs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    def only_new(findings: list[Any]) -> list[bool]:
        answers, _ = known.split([(finding, inside(finding.path)) for finding in findings])
        new = [not answer for answer in answers]
        if scope == "touched":
            new = [is_new or _is_touched(finding, inside, touched) for is_new, finding in zip(new, findings)]
        return new

    return only_new


def _is_touched(finding: Any, inside: Callable[[str], str], touched: dict[str, set[int]]) -> bool:
    places = [finding.place, *(related.place for related in finding.related if related.role in ("read", "witness", "change"))]
    return any(place.line in touched.get(inside(place.path), ()) for place in places)


class _Mapped:
    """The settings of the work tree, for the folder that holds the base."""

    def __init__(self, resolver: Any, root: str, folder: str) -> None:
        self.cwd = resolver.cwd
        self._resolver, self._root, self._folder = resolver, root, folder
        self._made: dict[int, Any] = {}

    def for_directory(self, directory: str) -> Any:
        below = os.path.relpath(directory, self._folder)
        own = self._resolver.for_directory(self._root if below == "." else os.path.join(self._root, below))
        if id(own) not in self._made:
            real = os.path.realpath(own.root)
            moved = self._folder + real[len(self._root) :] if (real + os.sep).startswith(self._root + os.sep) else self._folder
            words = tuple(os.path.join(own.root, name) for name in own.settings.vocabulary)
            settings = replace(own.settings, vocabulary=words, respect_gitignore=False)
            self._made[id(own)] = (own, replace(own, root=moved, settings=settings))  # `own` is kept, so its id stays its own
        return self._made[id(own)][1]


def _known(folder: str, root: str, paths: Sequence[str], changes: Any, resolver: Any, jobs: int | None) -> Any:
    """What the base holds, under the names that its files have now."""
    from noclobber import baseline, engine, knowledge, verdict

    old_of = {new: old for old, new in changes.renamed.items()}
    wanted = []
    for path in paths or ["."]:
        absolute = os.path.realpath(os.path.join(resolver.cwd, path))
        below = os.path.relpath(absolute, root)
        if below.startswith(".."):
            continue
        there = os.path.normpath(os.path.join(folder, old_of.get(below.replace(os.sep, "/"), below)))
        if os.path.exists(there):
            wanted.append(there)
    # Where single files are named, a function may have come from another one.
    wanted += [os.path.join(folder, old) for old in changes.renamed if old.endswith(".py") and os.path.isfile(os.path.join(folder, old))]
    run = engine.run(wanted, _Mapped(resolver, root, folder), jobs=jobs)
    settled = verdict.settle(run.items, whole=run.whole)
    group = baseline.groups(knowledge.load().pages)
    entries = []
    for finding in settled.findings:
        path = os.path.relpath(finding.path, folder).replace(os.sep, "/")
        entries.append(baseline.entry_of(finding, group(finding.code), changes.renamed.get(path, path)))
    return baseline.Known(entries, group)
