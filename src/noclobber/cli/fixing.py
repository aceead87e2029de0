"""`--fix`, `--diff`, `fix -i`: which of the offered fixes are taken, in rounds until nothing changes, and what becomes of the files.

A round takes every verified fix that is wanted and touches no other; the changed text is analysed again, and what is found then has its turn
in the next round. Nothing is written before a file is done; then it is written beside itself and moved over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from noclobber.cli.common import Failed

ROUNDS = 10

#: Asked for each fix: (finding, the text before, the text after) → yes, no, or Stop.
Choose = Callable[[Any, Any, bytes, bytes], bool]


class Stop(Exception):
    """The user wants no more fixes."""


@dataclass
class Fixed:
    """What became of one file. `data`: its text at the end; `applied`: (finding, fix), in the order they were made; `item`: the analysis of
    that text; `left`: how many fixes were not taken for being unsafe."""

    path: str
    before: bytes
    data: bytes
    item: Any
    applied: list[tuple[Any, Any]] = field(default_factory=list)
    left: int = 0


def fix_file(item: Any, data: bytes, shown: Callable[[Any], Sequence[Any]], workspace: Any, unsafe: bool, choose: Choose | None = None) -> Fixed:
    """Fix one analysed file in memory.

    `item`: engine.Item of `data`; `shown(item)`: its findings that are shown; `workspace`: analyse.Workspace. `unsafe`: take
    unsafe fixes too. `choose`: asked for each. Raises Stop after `choose` did, with the Fixed as its argument.
    """
    from noclobber import engine
    from noclobber.fixes.apply import apply, compatible
    from noclobber.resolve import Source, SourceError, parse

    path = item.result.path
    done = Fixed(path, data, data, item)
    refused: set[str] = set()
    for _ in range(ROUNDS):
        findings = shown(done.item)
        fixes = [None if isinstance(fix, str) else fix for fix in engine.fixes(done.item, findings, done.data, workspace)]
        if not any(fixes):
            done.left = 0
            break
        source = Source.decode(path, done.data)
        taken: list[tuple[Any, Any]] = []
        edits: list[Any] = []
        done.left = 0
        stopped = False
        for finding, fix in zip(findings, fixes):
            if fix is None or finding.fingerprint in refused:
                continue
            if fix.applicability == "unsafe" and not unsafe:
                done.left += 1
                continue
            if not compatible(edits, fix.edits):
                continue  # its turn comes with the next round
            if choose is not None and not stopped:
                try:
                    wanted = choose(finding, fix, done.data, apply(source, fix.edits))
                except Stop:
                    stopped, wanted = True, False
                if not wanted:
                    refused.add(finding.fingerprint)
                    continue
            elif stopped:
                continue
            taken.append((finding, fix))
            edits += [edit for edit in fix.edits if edit not in edits]
        while taken:
            changed = apply(source, edits)
            try:
                parse(Source.decode(path, changed))
                break
            except SourceError:  # each alone parses: one after the other, then
                taken.pop()
                edits = list(dict.fromkeys(edit for _, fix in taken for edit in fix.edits))
        if taken:
            done.data = changed
            done.applied += taken
            workspace = workspace.with_content(os.path.abspath(path), changed)
            done.item = engine.analyse_item(changed, path, item.config, workspace)
        if stopped:
            raise Stop(done)
        if not taken:
            break
    return done


def patch(done: Fixed, root: str) -> bytes:
    """The change of a file as a patch that `git apply` takes, byte for byte. `root`: what the paths in it are relative to."""
    import difflib

    absolute = os.path.abspath(done.path)
    shown = os.path.relpath(absolute, root) if absolute.startswith(root.rstrip(os.sep) + os.sep) else done.path
    name = shown.replace(os.sep, "/").lstrip("/").encode("utf-8", "surrogateescape")
    out = []
    for line in difflib.diff_bytes(difflib.unified_diff, _rows(done.before), _rows(done.data), b"a/" + name, b"b/" + name):
        out.append(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n")
    return b"".join(out)


def _rows(data: bytes) -> list[bytes]:
    rows = data.split(b"\n")
    return [row + b"\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def write(done: Fixed, root: str) -> str:
    """Write a fixed file: beside it first, then moved over; mode kept. Returns "" or the reason why it was left alone.

    A symbolic link stays one: its target is written, where that lies inside `root`.
    """
    absolute = os.path.abspath(done.path)
    target = os.path.realpath(absolute)
    if os.path.islink(absolute) and not (target + os.sep).startswith(os.path.realpath(root).rstrip(os.sep) + os.sep):
        return "a link that leads out of the tree"
    try:
        with open(target, "rb") as stream:
            if stream.read() != done.before:
                return "the file has changed meanwhile"
        replace_file(target, done.data)
    except OSError as error:
        raise Failed(f"cannot write {done.path}: {(error.strerror or str(error)).lower()}") from None
    return ""


def replace_file(file: str, data: bytes) -> None:
    """Give a file other content at once: no reader sees half of it. Its mode stays. Raises OSError."""
    temporary = f"{file}.{os.getpid()}.tmp"
    mode = os.stat(file).st_mode
    try:
        with open(temporary, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, file)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


# --- what is said of it -------------------------------------------------------------------------------------------------


def told(fixed: Sequence[Fixed], dry: bool) -> str:
    """One line: how many were fixed, in how many files, and what was left out."""
    applied = sum(len(done.applied) for done in fixed)
    files = sum(1 for done in fixed if done.applied)
    left = sum(done.left for done in fixed)
    verb = "would fix" if dry else "fixed"
    text = f"{verb} {applied} finding{'s' if applied != 1 else ''} in {files} file{'s' if files != 1 else ''}" if applied else f"nothing {'to fix' if dry else 'fixed'}"
    return text + (f"; {left} more with --unsafe-fixes" if left else "")


def listed(fixed: Sequence[Fixed]) -> list[str]:
    """One line for each fix that was made."""
    return [f"{done.path}:{finding.place.line}: {finding.code} {fix.title} ({fix.applicability})" for done in fixed for finding, fix in done.applied]


# --- asking ---------------------------------------------------------------------------------------------------------------


class Asking:
    """Asks on a terminal: y, n, a (this and all that follow), q (no more), d (tell the whole story), ?."""

    def __init__(self, pages: Any, lines: Any, color: bool) -> None:
        self.pages, self.lines, self.color = pages, lines, color
        self.all = False

    def __call__(self, finding: Any, fix: Any, before: bytes, after: bytes) -> bool:
        if self.all:
            return True
        place = finding.place
        print(f"\n{place.path}:{place.line}: {finding.code} {finding.message} ({finding.name})")
        print(f"  {fix.applicability} fix: {fix.title}" + (f"\n  unsafe because {fix.reason}" if fix.reason else ""))
        shown = patch(Fixed(place.path, before, after, None), "/nowhere").decode("utf-8", "replace")
        print(shown, end="")
        while True:
            try:
                answer = input("fix this? [y,n,a,q,d,?] ").strip().lower()
            except EOFError:
                answer = "q"
            if answer in ("y", "yes"):
                return True
            if answer in ("n", "no"):
                return False
            if answer in ("a", "all"):
                self.all = True
                return True
            if answer in ("q", "quit"):
                raise Stop
            if answer == "d":
                from noclobber import report
                from noclobber.report.story import story

                report.emit(story(finding, self.pages.get(finding.name), self.lines, []), sys.stdout, self.color)
            else:
                print("y: fix it · n: leave it · a: fix it and all that follow · q: no more · d: the whole story of the finding")
