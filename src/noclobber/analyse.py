"""One file's bytes → its raw findings: triage, walks, checks, callers, places."""
from __future__ import annotations

import gc
import time
from typing import Any, Iterable, Optional

from noclobber import knowledge
from noclobber.finding import Failure, FileResult, Finding, Guard, Place, Related, told
from noclobber.resolve import DEPTH_LIMIT, Source, SourceError, index_module, parse, token_bound

#: How far callers are followed upwards until the guard or the read is found (DESIGN §2).
MAX_CALLERS = 3
_COLLECT_AFTER = 50_000  # new objects; the peak of memory stays within a tenth of the default's


def analyse(data: bytes, path: str, config: Any, *, triage: bool = True) -> FileResult:
    """The raw findings in `data`, the content of the file shown as `path`. `config`: config.Config; `triage=False` walks every scope."""
    thresholds = gc.get_threshold()
    if thresholds[0]:
        # A walk makes many objects that live as long as it does: collecting them at every 700th costs a fifth of it.
        gc.set_threshold(_COLLECT_AFTER, *thresholds[1:])
    try:
        return _analyse(data, path, config, triage)
    finally:
        gc.set_threshold(*thresholds)


def _analyse(data: bytes, path: str, config: Any, triage: bool) -> FileResult:
    vocabulary = getattr(config, "vocabulary", None) or knowledge.load().vocabulary
    pages = [page for page in knowledge.load().pages.values() if page.needs]
    stats: dict[str, float] = {"lines": float(data.count(b"\n") + 1)}
    from noclobber import triage as sieve

    started = time.process_time()
    needed = not triage or sieve.has_needle(data, vocabulary, pages)
    try:
        source = Source.decode(path, data)
    except SourceError as error:
        return FileResult(path, failures=(Failure("RMW001", path, error.line, error.message),), stats=stats)
    enabled = gc.isenabled()
    gc.disable()  # the tree is dropped at once; collecting while it is built doubles its cost
    try:
        try:
            if not needed:
                parse(source)  # what cannot be read must not look clean
                stats["cpu_triage"] = time.process_time() - started
                return FileResult(path, stats=stats)
            index, tree = index_module(source)
        except SourceError as error:
            return _newer_syntax(source, error, vocabulary, path, stats, pages)
        found = sieve.roots(source, tree, index, vocabulary, pages)
        del tree
    finally:
        if enabled:
            gc.enable()
    stats["cpu_triage"] = time.process_time() - started
    names = found.roots if triage else tuple(found.kinds)
    stats["root_lines"] = float(found.root_lines)
    if not names:
        return FileResult(path, stats=stats)
    return _analyse_roots(source, index, names, vocabulary, path, stats, found.kinds)


def _newer_syntax(source: Source, error: SourceError, vocabulary: Any, path: str, stats: dict, pages: Any) -> FileResult:
    """The running Python refuses the text. LibCST may know a newer grammar: bound its depth, then lower the file as a whole."""
    failure = FileResult(path, failures=(Failure("RMW001", path, error.line, error.message),), stats=stats)
    if error.reason != "syntax":
        return failure
    deep = token_bound(source)
    if deep is not None:
        return FileResult(path, failures=(Failure("RMW001", path, deep, f"too deeply nested at line {deep}"),), stats=stats)
    from noclobber.trace import lower

    try:
        excerpt = lower.lower_module(source)
    except lower.LowerError:
        return failure
    from noclobber.outline import outline

    index = outline(source, excerpt)
    stats["slow_path"] = 1.0
    stats["root_lines"] = float(len(source.lines))
    return _analyse_roots(source, index, _scopes(index), vocabulary, path, stats)


def _scopes(index: Any) -> tuple[str, ...]:
    """Every scope of a file: the loose statements of the module and of its classes, the functions."""
    return ("<module>", *(f"<class {key}>" for key in index.classes), *index.functions)


def _analyse_roots(source: Source, index: Any, names: Iterable[str], vocabulary: Any, path: str, stats: dict,
                   kinds: Optional[dict] = None) -> FileResult:
    started = time.process_time()
    run = _Run(source, index, vocabulary, path)
    run.module.kinds = kinds or {}
    for name in names:
        run.root(name)
    result = run.result(stats)
    stats["cpu_walk"] = time.process_time() - started
    stats["lowered_lines"] = float(run.module.lowered_lines)
    return result


class _Run:
    """The analysis of one file."""

    def __init__(self, source: Source, index: Any, vocabulary: Any, path: str, walker: Any = None) -> None:
        from noclobber.checks import SLUGS, load
        from noclobber.link import Ask, Module
        from noclobber.trace.values import Values

        self.source, self.index, self.vocabulary, self.path = source, index, vocabulary, path
        self.module = Module(source, index)
        self.ask = Ask(self.module)
        self.values = Values()
        self.shared: dict = {}
        self.checks = [(slug, load(slug)) for slug in SLUGS]
        self.failures: list[Failure] = []
        self.claims: dict[tuple, tuple] = {}
        self.walked: dict[Any, tuple] = {}
        self.deep: set[int] = set()
        self.walker = walker

    def root(self, name: str) -> None:
        scope = self.scope(name)
        if scope is None:
            return
        _, claims = self.walk(scope)
        for claim in claims:
            if name in self.index.functions and not self.confirmed(claim, scope, 0):
                continue
            self.keep(claim)

    def keep(self, claim: Any) -> None:
        """One claim for each rule, write and object; of several roots the surest."""
        key = (claim.rule, id(claim.site.at), claim.obj if claim.obj else "")
        known = self.claims.get(key)
        if known is None or len(claim.doubts) < len(known[0].doubts):
            self.claims[key] = (claim, len(self.claims))

    def scope(self, name: str) -> Any:
        from noclobber.link import Loose

        index = self.index
        info = index.functions.get(name)
        if info is not None:
            if info.depth > DEPTH_LIMIT:
                self.too_deep(info.deep_line or info.def_line)
                return None
            return self.module.scope(name)
        if name.startswith("<class "):
            cls = index.classes[name[7:-1]]
            if cls.depth > DEPTH_LIMIT:
                self.too_deep(cls.deep_line or cls.def_line)
                return None
            return Loose(self.module, cls.qualname, cls.loose, self.module.klass(name[7:-1]), cls.depth) if cls.loose else None
        if index.depth > DEPTH_LIMIT:
            self.too_deep(index.deep_line or 1)
            return None
        return Loose(self.module, "<module>", index.loose, None, index.depth) if index.loose else None

    def too_deep(self, line: int) -> None:
        if line not in self.deep:
            self.deep.add(line)
            self.failures.append(Failure("RMW001", self.path, line, f"too deeply nested at line {line}"))

    def walk(self, scope: Any) -> tuple:
        """(trace, claims) of a root, once."""
        known = self.walked.get(scope.key)
        if known is not None:
            return known
        self.walked[scope.key] = (None, [])
        if scope.excerpt() is None:
            return self.walked[scope.key]
        from noclobber.trace.walk import Walker

        walker = (self.walker or Walker)(self.ask, self.vocabulary, self.values, self.shared)
        line = getattr(getattr(scope, "info", None), "def_line", 1)
        try:
            trace = walker.walk(scope)
        except Exception as error:  # one function must not stop the others
            self.internal(scope.qualname, line, error)
            return self.walked[scope.key]
        claims: list = []
        for slug, check in self.checks:
            try:
                for claim in check(trace):
                    if trace.incomplete:
                        claim.doubts |= {"incomplete"}
                    claims.append(claim)
            except Exception as error:
                self.internal(f"{slug} in {scope.qualname}", line, error)
        self.walked[scope.key] = (trace, claims)
        return self.walked[scope.key]

    def internal(self, where: str, line: int, error: Exception) -> None:
        self.failures.append(Failure("RMW009", self.path, line, f"internal error: {where}: {told(error)}"))

    def confirmed(self, claim: Any, scope: Any, depth: int) -> bool:
        """All known callers hold the guard: silent. Some do not: the unguarded call is a related place."""
        if depth >= MAX_CALLERS:
            return True
        judged = False
        for caller in self.ask.callers(scope):
            if caller.info.depth > DEPTH_LIMIT:
                continue
            trace, claims = self.walk(caller)
            if trace is None:
                continue
            events = [event for event in trace.events if event.site.at is claim.write.site.at]
            if not events:
                continue
            mine = [other for other in claims if other.rule == claim.rule and other.site.at is claim.site.at]
            if not mine:
                judged = True
                continue
            if self.confirmed(claim, caller, depth + 1):
                from noclobber.trace.questions.claims import Mark

                call = next((call[1] for event in events for call in event.ctx.calls[:1] if hasattr(call[1], "at")), None)
                if call is not None:
                    claim.related.append(Mark("call", call, f"called without a guard in {caller.qualname}()"))
                claim.doubts -= {"parameter"}
                return True
            judged = True
        return not judged

    # --- places --------------------------------------------------------------------------------------------------------------
    def result(self, stats: dict) -> FileResult:
        findings = []
        for claim, _ in sorted(self.claims.values(), key=lambda pair: pair[1]):
            try:
                findings.append(self.finding(claim))
            except Exception as error:
                self.internal(claim.rule, 1, error)
        for line, message in self.module.problems:
            if not any(failure.line == line for failure in self.failures):
                self.failures.append(Failure("RMW001", self.path, line, message))
        return FileResult(self.path, tuple(findings), tuple(self.failures), stats)

    def place(self, site: Any) -> Place:
        from noclobber.trace.positions import place

        line, column, end_line, end_column = place(site.excerpt, site.at)
        if end_line != line:
            end_column = len(self.source.lines[line - 1].rstrip()) + 1
        return Place(self.path, line, column, line, max(end_column, column + 1))

    def finding(self, claim: Any) -> Finding:
        from noclobber.trace.positions import source_text, statement_lines

        place = self.place(claim.site)
        related = []
        for mark in claim.related:
            if mark.site.at is None:
                continue
            try:
                at = self.place(mark.site)
            except LookupError:
                continue
            related.append(Related(mark.role, at, mark.text, self.source.lines[at.line - 1].strip()))
        guards = []
        for site, kind, why in claim.guards:
            try:
                guards.append(Guard(self.place(site), kind, why))
            except LookupError:
                continue
        return Finding(
            name=claim.rule, path=self.path, place=place, function=claim.site.function, record=claim.record, message=claim.message,
            related=tuple(related), guards=tuple(dict.fromkeys(guards)), help=claim.help, teach=claim.teach, doubts=frozenset(claim.doubts - {""}),
            variant=claim.variant, obj=claim.obj, commit=str(getattr(claim.write, "commit", "") or ""),
            statement=statement_lines(claim.site.excerpt, claim.site.at), values=tuple(claim.values),
            write_text=source_text(claim.site.excerpt, claim.site.at, whole=True),
        )


def traces(data: bytes, path: str, vocabulary: Any, only: Optional[str] = None, walker: Any = None) -> Any:
    """(name, trace, module) of every scope of a file, for contributors and `explain`. Raises SourceError.

    `walker`: a class to walk with instead of `trace.walk.Walker`.
    """
    source = Source.decode(path, data)
    try:
        index, _ = index_module(source)
    except SourceError as error:
        from noclobber.trace import lower

        if error.reason != "syntax" or token_bound(source) is not None:
            raise
        try:
            excerpt = lower.lower_module(source)
        except lower.LowerError:
            raise error from None
        from noclobber.outline import outline

        index = outline(source, excerpt)
    run = _Run(source, index, vocabulary, path, walker)
    for name in _scopes(index):
        if only is not None and name != only:
            continue
        scope = run.scope(name)
        trace = run.walk(scope)[0] if scope is not None else None
        if trace is not None:
            yield name, trace, run.module
    for failure in run.failures:
        print(failure)
