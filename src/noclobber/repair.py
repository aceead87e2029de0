"""Fixes for findings that are shown: drafted from the claim's own nodes, verified by analysing the changed text, offered only then.

`fixes_for` is called for the findings of one file after verdict, so that nothing is drafted for what is hidden, suppressed or known, and
never by the flake8 plugin. A draft counts when the changed file parses, the finding is gone from its function, and nothing has come.
"""
from __future__ import annotations

import os
from collections import Counter
from typing import Any, Iterable, Optional, Sequence

from noclobber.analyse import Workspace, _Run
from noclobber.finding import Finding, Fix, Unfixed, told
from noclobber.resolve import Source, SourceError


#: A change is tried by walking its function again, once for each finding in it; a longer one would take minutes.
MAX_LINES = 1_500


def fixes_for(data: bytes, path: str, config: Any, findings: Sequence[Finding], workspace: Optional[Workspace] = None) -> list[Any]:
    """For each finding of the file shown as `path` its verified finding.Fix, or the reason (str) why there is none ("": its rule has none)."""
    from noclobber.fixes import HELPED, SLUGS

    answers: list[Any] = [""] * len(findings)
    wanted = [number for number, finding in enumerate(findings) if (finding.name in SLUGS or finding.name in HELPED) and finding.place.path == path]
    if not wanted:
        return answers
    absolute = os.path.abspath(path)
    if workspace is None:
        workspace = Workspace(config, buffers={absolute: data})
    elif not workspace.project.accepts(absolute, data):
        workspace = workspace.again(absolute, data)
    bench = None
    for number in wanted:
        try:
            bench = bench or _Bench(data, path, workspace)
            answers[number] = bench.fix(findings[number])
        except Exception as error:  # a fix is an offer: without one the finding still stands
            answers[number] = f"internal error: {told(error)}"
    return answers


class _Bench:
    """One file with its claims, walked as far as the findings need."""

    def __init__(self, data: bytes, path: str, workspace: Workspace) -> None:
        self.path, self.workspace = path, workspace
        self.absolute = os.path.abspath(path)
        project = workspace.project
        self.entry = project.entry(self.absolute) or project.parsed(self.absolute, data)
        library = workspace.library
        self.run = _Run(library.start(self.entry), workspace.vocabulary, path)
        self.roots: Optional[tuple] = None

    def fix(self, finding: Finding) -> Any:
        from noclobber.fixes import SLUGS, row_lock
        from noclobber.fixes.job import Job

        if self.length(finding.function) > MAX_LINES:
            return f"its function has more than {MAX_LINES:,} lines: no change is tried there"
        found = self.claim(finding)
        if found is None:
            return "the finding is seen through its callers only"
        reason = ""
        for draft in self.drafts(finding, found[2]) if finding.name in SLUGS else ():
            answer = self.tried(finding, *found, draft)
            if not isinstance(answer, str):
                return answer
            reason = reason or answer
        try:
            line = row_lock.line(Job(found[2], found[1], self.run.module, self.workspace.vocabulary)) if self.is_helped(finding) else ""
        except Exception:  # what has no plain text has no such line
            line = ""
        return Unfixed(reason, line)

    def drafts(self, finding: Finding, claim: Any) -> list:
        """What is tried, in this order. Where the project locks the row for such a write, that comes first; else last."""
        from noclobber.fixes import LOCKED, load, row_lock

        own = load(finding.name)
        if finding.name not in LOCKED:
            return [own]
        return [row_lock.lock_as_elsewhere, own] if self.run.locks_elsewhere(claim) else [own, row_lock.lock]

    @staticmethod
    def is_helped(finding: Finding) -> bool:
        from noclobber.fixes import HELPED, LOCKED

        return finding.name in HELPED or finding.name in LOCKED

    def tried(self, finding: Finding, name: str, trace: Any, claim: Any, write: Any) -> Any:
        """The verified Fix that `write` drafts, or the reason why there is none."""
        from noclobber.fixes.edits import Refused
        from noclobber.fixes.job import Job

        reasons = []
        for attempt in range(2):
            job = None
            try:
                job = Job(claim, trace, self.run.module, self.workspace.vocabulary, attempt)
                draft = write(job)
                if not draft.reason and finding.confidence != "high":
                    return "a finding below high confidence gets no safe fix"
                self.verify(finding, draft, name)
                return Fix(draft.applicability, draft.title, draft.edits, draft.reason)
            except Refused as refusal:
                reasons.append(str(refusal))
                if job is None or not job.has_another:
                    break
        return reasons[0]

    def length(self, function: str) -> int:
        """Lines of a function, or of the loose statements of a class or of the module."""
        index = self.entry.index
        info = index.functions.get(function)
        if info is not None:
            return info.end - info.start + 1
        loose = index.classes[function].loose if function in index.classes else index.loose
        return sum(last - first + 1 for first, last in loose)

    # --- the claim behind a finding ----------------------------------------------------------------------------------------------
    def claim(self, finding: Finding) -> Optional[tuple]:
        """(name of the scope, trace, claim) that the finding was made from."""
        own = [name for name in (finding.function, f"<class {finding.function}>") if name in self.run.index.functions or name[7:-1] in self.run.index.classes]
        for name in (*own, *self.others(own)):
            scope = self.run.scope(name)
            if scope is None:
                continue
            trace, claims = self.run.walk(scope)
            for claim in claims if trace is not None else ():
                if claim.rule == finding.name and (claim.obj or "") == finding.obj and claim.site.path in ("", self.path) and claim.site.at is not None:
                    try:
                        place = self.run.place(claim.site)
                    except LookupError:
                        continue
                    if place == finding.place:
                        return name, trace, claim
        return None

    def others(self, own: Sequence[str]) -> Iterable[str]:
        if self.roots is None:
            self.roots = tuple(self.workspace.survey.triage(self.entry).roots) if self.entry.facts is not None else ()
        return (name for name in self.roots if name not in own)

    # --- verification ------------------------------------------------------------------------------------------------------------
    def verify(self, finding: Finding, draft: Any, name: str) -> None:
        """Raises Refused unless the changed file parses and its function has lost this finding and got no other
        (one that had lost to it is no other)."""
        from noclobber.fixes.apply import apply
        from noclobber.fixes.edits import Refused

        try:
            data = apply(self.entry.source, draft.edits)
            source = Source.decode(self.entry.source.path, data)
        except (ValueError, UnicodeError, SourceError) as error:
            raise Refused(f"the changed text cannot be written: {error}") from None
        other = self.workspace.with_content(self.absolute, data)
        try:
            entry = other.project.entry(self.absolute) or other.project.parsed(self.absolute, source.data)
        except SourceError as error:
            raise Refused(f"the changed file does not parse: {error}") from None
        run = _Run(other.library.start(entry), other.vocabulary, self.path)
        before = Counter(self.seen(self.run, name))
        after = Counter(self.seen(run, name))
        if run.failures:
            raise Refused("the changed function cannot be analysed")
        mine = (finding.name, finding.function, finding.record)
        if after[mine] >= before[mine]:
            raise Refused("the finding would stay")
        if draft.needs_transaction:
            reads = run.walk(run.scope(name))[0].of("read")
            if any(read.outside for read in reads) or not any(read.lock is not None and read.lock.kind == "row" for read in reads):
                raise Refused("no transaction is open where the row would be locked")
        rule = next((key[0] for key in after - before if key[0] not in finding.also), "")
        if rule:
            raise Refused(f"the change would bring another finding ({rule})")

    @staticmethod
    def seen(run: _Run, name: str) -> list[tuple]:
        """(rule, function, record) of each claim that a scope gives."""
        scope = run.scope(name)
        if scope is None:
            return []
        return [(claim.rule, claim.site.function, claim.record) for claim in run.walk(scope)[1] if claim.site.path == run.path]

