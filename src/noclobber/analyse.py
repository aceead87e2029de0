"""One file's bytes → its raw findings: triage, walks, checks, callers, places."""
from __future__ import annotations

import gc
import os
import time
from typing import Any, Callable, Iterable, Optional

from noclobber import knowledge
from noclobber.finding import Failure, FileResult, Finding, Guard, Place, Related, told
from noclobber.project import Disk, Entry, Project
from noclobber.resolve import DEPTH_LIMIT, Source, SourceError, index_module, parse, token_bound

#: How far callers are followed upwards until the guard or the read is found (DESIGN §2).
MAX_CALLERS = 3
#: How far above a caller that does not reach the write, and in how many callers at all, the one is looked for that does.
MAX_HANDED, MAX_ASKED = 2, 12
#: Callers of one file that are walked a second time, for the helpers on the way alone.
MAX_SOUGHT = 40
#: How many functions are looked at for other writers of a field.
MAX_WRITERS = 12
_COLLECT_AFTER = 50_000  # new objects; the peak of memory stays within a tenth of the default's


class Workspace:
    """What the analyses of one run share: the project's modules, their triage, what was lowered of them.

    `config`: config.Config. `root`: of the project; "": each file knows its own package only. `tree`: project.Disk, or the like of
    another state of the files. `files()`: absolute paths of the project's files that a run over its root would analyse; callers are
    looked for in these. `buffers`: path → content that stands in for the file's.
    """

    def __init__(self, config: Any, root: str = "", tree: Any = None, files: Optional[Callable[[], Iterable[str]]] = None,
                 buffers: Optional[dict[str, bytes]] = None) -> None:
        from noclobber import triage as sieve
        from noclobber.files import display

        self.config = config
        self.vocabulary = getattr(config, "vocabulary", None) or knowledge.load().vocabulary
        self.pages = [page for page in knowledge.load().pages.values() if page.needs]
        cwd = os.getcwd()
        vocabulary = self.vocabulary
        self.project = Project(
            root, tree or Disk(files), digest=lambda source, tree, index: sieve.read(tree, index, vocabulary),
            shown=lambda path: display(path, cwd), buffers=buffers)
        self._survey: Any = None
        self._library: Any = None

    def again(self, path: str, data: bytes) -> Workspace:
        """The same project with another content of one file."""
        other = Workspace(self.config, self.project.root, self.project.tree)
        other.project.accepts(path, data)
        return other

    def with_content(self, path: str, data: bytes) -> Workspace:
        """The same project with another content of one file; what was read of the others is kept."""
        other = Workspace(self.config, self.project.root, self.project.tree)
        other.project.share(self.project, path)
        other.project.accepts(path, data)
        return other

    def survey_file(self, path: str) -> None:
        """Read a file and what it imports. Raises SourceError and what reading raises."""
        data = self.project.read(path)
        if data is not None and self.needs(path, data):
            enabled = gc.isenabled()
            gc.disable()
            try:
                self.survey.triage(self.project.entry(path) or self.project.parsed(path, data))
            finally:
                if enabled:
                    gc.enable()

    def needs(self, path: str, data: bytes) -> bool:
        """Must the outline of a file be made? Not when it has no needle and imports no module of the project."""
        from noclobber import triage as sieve

        return sieve.has_needle(data, self.vocabulary, self.pages) or self.project.imports_ours(path, data)

    @property
    def survey(self) -> Any:
        if self._survey is None:
            from noclobber.survey import Survey

            self._survey = Survey(self.project, self.vocabulary, self.pages)
        return self._survey

    @property
    def library(self) -> Any:
        if self._library is None:
            from noclobber.link import Library

            self._library = Library(self.project, self.survey.kinds, self.vocabulary)
        return self._library


def analyse(data: bytes, path: str, config: Any, *, triage: bool = True, workspace: Optional[Workspace] = None) -> FileResult:
    """The raw findings in `data`, the content of the file shown as `path`.

    `config`: config.Config. `triage=False` walks every scope. `workspace`: what earlier analyses of this run have read; without one, or
    where it knows another content of the file, the file's imports are read anew.
    """
    thresholds = gc.get_threshold()
    if thresholds[0]:
        # A walk makes many objects that live as long as it does: collecting them at every 700th costs a fifth of it.
        gc.set_threshold(_COLLECT_AFTER, *thresholds[1:])
    try:
        absolute = os.path.abspath(path)
        if workspace is None:
            workspace = Workspace(config, buffers={absolute: data})
        elif not workspace.project.accepts(absolute, data):
            workspace = workspace.again(absolute, data)
        return _analyse(data, path, workspace, triage)
    finally:
        gc.set_threshold(*thresholds)


def _analyse(data: bytes, path: str, workspace: Workspace, triage: bool) -> FileResult:
    from noclobber import triage as sieve

    stats: dict[str, float] = {"lines": float(data.count(b"\n") + 1)}
    started = time.process_time()
    project = workspace.project
    absolute = os.path.abspath(path)
    needed = not triage or workspace.needs(absolute, data)
    enabled = gc.isenabled()
    gc.disable()  # the tree is dropped at once; collecting while it is built doubles its cost
    try:
        if not needed:
            parse(Source.decode(path, data))  # what cannot be read must not look clean
            stats["cpu_triage"] = time.process_time() - started
            return FileResult(path, stats=stats)
        entry = project.entry(absolute) or project.parsed(absolute, data)
        found = workspace.survey.triage(entry)
    except SourceError as error:
        return _newer_syntax(data, error, workspace, path, stats)
    finally:
        if enabled:
            gc.enable()
    stats["cpu_triage"] = time.process_time() - started
    names = found.roots if triage else tuple(found.kinds)
    benches = sieve.benches(found)
    stats["root_lines"] = float(found.root_lines)
    if not names and not benches:
        return FileResult(path, stats=stats)
    return _analyse_roots(entry, names, workspace, path, stats, benches)


def _newer_syntax(data: bytes, error: SourceError, workspace: Workspace, path: str, stats: dict) -> FileResult:
    """The running Python refuses the text. LibCST may know a newer grammar: bound its depth, then lower the file as a whole."""
    failure = FileResult(path, failures=(Failure("RMW001", path, error.line, error.message),), stats=stats)
    if error.reason != "syntax":
        return failure
    source = Source.decode(path, data)
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
    return _analyse_roots(Entry(os.path.abspath(path), path, source, index, None), _scopes(index), workspace, path, stats, _scopes(index))


def _scopes(index: Any) -> tuple[str, ...]:
    """Every scope of a file: the loose statements of the module and of its classes, the functions."""
    return ("<module>", *(f"<class {key}>" for key in index.classes), *index.functions)


def _analyse_roots(entry: Entry, names: Iterable[str], workspace: Workspace, path: str, stats: dict, benches: tuple = ()) -> FileResult:
    """benches: scopes in which something may be exposed to a model."""
    started = time.process_time()
    library = workspace.library
    library.trim()
    run = _Run(library.start(entry), workspace.vocabulary, path)
    before = library.lowered_lines
    if benches:
        run.collect()
    for name in names:
        run.root(name)
    if benches:
        run.tools(benches)
    result = run.result(stats)
    stats["cpu_walk"] = time.process_time() - started
    stats["lowered_lines"] = float(library.lowered_lines - before)
    return result


class _Run:
    """The analysis of one file."""

    def __init__(self, module: Any, vocabulary: Any, path: str, walker: Any = None) -> None:
        from noclobber.checks import SLUGS, load
        from noclobber.link import Ask
        from noclobber.trace.values import Values

        self.module, self.source, self.index, self.vocabulary, self.path = module, module.source, module.index, vocabulary, path
        self.ask = Ask(self.module)
        self.values = Values(vocabulary.entries_of_type)
        self.shared: dict = {}
        self.checks = [(slug, load(slug)) for slug in SLUGS]
        self.failures: list[Failure] = []
        self.claims: dict[tuple, tuple] = {}
        self.walked: dict[Any, tuple] = {}
        self.deep: set[int] = set()
        self.sought = 0  # walks for helpers on the way alone
        self.walker = walker

    def root(self, name: str) -> None:
        scope = self.scope(name)
        if scope is None or self.is_test(name):
            return
        _, claims = self.walk(scope)
        for claim in claims:
            if claim.site.path != self.path and not self.brought_home(claim, scope):
                continue
            if name in self.index.functions and not self.confirmed(claim, scope, 0):
                continue
            if claim.needs_another:
                if self.of_the_deleted(claim, scope):
                    continue
                claim.doubts |= self.by_hand(scope)
            self.keep(claim, scope)

    def of_the_deleted(self, claim: Any, scope: Any) -> bool:
        """Is the function called once for each row that is deleted, and is the claim about what belonged to that row?"""
        from noclobber.trace.questions.guards import asks_for

        if not hasattr(scope, "info") and claim.site.function in self.index.functions:
            # A handler that the module itself connects: its parameters are told by its own walk.
            scope = self.module.scope(claim.site.function)
            claim = next((own for own in self.walk(scope)[1] if own.rule == claim.rule and own.site.at is claim.site.at), claim)
        signals = {signal: row for entry in self.vocabulary.entries("orm") for text in entry.fields.get("deletion_signals", ()) or () for signal, _, row in (text.partition(" -> "),)}
        read = claim.read if hasattr(scope, "info") and set(scope.info.params) & set(signals.values()) else None
        heard = self.ask.heard_by(scope) if read is not None else frozenset()
        return bool(heard) and all(signal in signals and asks_for(read, signals[signal]) for signal in heard)

    def by_hand(self, scope: Any) -> frozenset:
        """The doubt that nobody runs the code twice at the same time, where commands alone lead to it: an operator starts them, some only once."""
        commands, queue, seen = [], [scope], {scope.key}
        while queue:
            each = queue.pop()
            trace = self.walk(each)[0] if len(seen) <= MAX_ASKED else None
            if trace is not None and trace.entry == "command":
                commands.append(each)
                continue
            callers = [caller for caller in self.ask.callers(each) if caller.key not in seen and caller.info.depth <= DEPTH_LIMIT] if trace is not None and hasattr(each, "info") else []
            if not callers:
                return frozenset()
            seen |= {caller.key for caller in callers}
            queue += callers
        once = all(self.vocabulary.match("one_off_command", command.module.name) for command in commands)
        return frozenset(("operator", "one-off") if once else ("operator",))

    def brought_home(self, claim: Any, scope: Any) -> bool:
        """A finding that stands in another module, seen from a scope of this one. False: that module's own analysis has it.

        Otherwise (the read is here, the write there) it is moved to the call in this file through which the write happens.
        """
        calls = [call[1] for call in claim.write.ctx.calls]
        inner = [*calls[1:], claim.write.site]
        for site in inner:
            module = self.ask.library.shown(site.path)
            if module is None or site.function not in module.index.functions:
                continue
            callee = module.scope(site.function)
            if callee.key == scope.key:
                continue
            _, claims = self.walk(callee)
            if any(other.rule == claim.rule and (other.site.at is claim.site.at or other.record == claim.record)
                   or other.site.at is claim.site.at and other.record.rpartition(".")[2] == claim.record.rpartition(".")[2] for other in claims):
                return False  # told there, once for the record
        mine = [site for site in calls if site.path == self.path and site.at is not None]
        if not mine:
            return False
        claim.site = mine[-1]
        return True

    def is_test(self, name: str) -> bool:
        """A test function or class in a module that imports a test framework: it writes what it wants to see refused (DESIGN §11)."""
        first, _, rest = name.partition(".")
        named = first.startswith(("test_", "Test")) or first.startswith("<class Test") or rest.startswith("test_")
        return named and any(target.partition(".")[0] in ("pytest", "unittest") for target in self.index.imports.values())

    def collect(self) -> None:
        """From here on the walks note what they see exposed to a model."""
        from noclobber.trace.exposed import Collected

        self.shared["tooling"] = Collected()

    def tools(self, benches: Iterable[str]) -> None:
        """The rules about tools: all that the module exposes is walked first, then each is looked at."""
        from noclobber.checks import OF_TOOLS
        from noclobber.trace.toolbox import Bench

        for name in benches:
            scope = self.scope(name) if not self.is_test(name) else None
            if scope is not None:
                self.walk(scope)
        toolbox = Bench(self.shared["tooling"], self.module, self.vocabulary, lambda scope: self.walk(scope)[0], self.dispatched).toolbox()
        for trace in {id(tool.body.trace): tool.body.trace for tool in toolbox.tools}.values():
            trace.toolbox = toolbox
            for slug, check in self.checks:
                if slug not in OF_TOOLS:
                    continue
                try:
                    for claim in check(trace):
                        if trace.incomplete:
                            claim.doubts |= {"incomplete"}
                        self.keep(claim)
                except Exception as error:
                    self.internal(f"{slug} in {trace.root}", 1, error)

    def dispatched(self, scope: Any, name: str, names: frozenset) -> Any:
        """The trace of a function that does the work of many tools, for the one of that name; None where it cannot be walked."""
        from noclobber.trace.walk import Walker

        if scope.info.depth > DEPTH_LIMIT or scope.excerpt() is None:
            return None
        walker = Walker(self.ask, self.vocabulary, self.values, self.shared)
        walker.dispatch, walker.dispatch_names = name, names
        try:
            return walker.walk(scope)
        except Exception as error:  # one function must not stop the others
            self.internal(scope.qualname, scope.info.def_line, error)
            return None

    def keep(self, claim: Any, root: Any = None) -> None:
        """One claim for each rule, write and object; of several roots the surest, and of these one that somebody calls."""
        key = (claim.rule, id(claim.site.at), claim.obj if claim.obj else "")
        known = self.claims.get(key)
        if known is None or len(claim.doubts) < len(known[0].doubts) or (
                len(claim.doubts) == len(known[0].doubts) and self.is_unused(known[2]) and not self.is_unused(root)):
            self.claims[key] = (claim, len(self.claims), root)

    def is_unused(self, root: Any) -> bool:
        return hasattr(root, "info") and bool(self.ask.is_unused(root))

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

    def walk(self, scope: Any, sought: tuple = ()) -> tuple:
        """(trace, claims) of a root, once. sought: only helpers on the way to these, and those that hold something, are entered."""
        key = (scope.key, *(other.key for other in sought)) if sought else scope.key
        known = self.walked.get(key)
        if known is not None:
            return known
        self.walked[key] = (None, [])
        if sought:
            self.sought += 1
        if scope.excerpt() is None or sought and self.sought > MAX_SOUGHT:
            return self.walked[key]
        from noclobber.trace.walk import Walker

        walker = (self.walker or Walker)(self.ask, self.vocabulary, self.values, self.shared)
        walker.sought = frozenset(other.key for other in sought)
        line = getattr(getattr(scope, "info", None), "def_line", 1)
        try:
            trace = walker.walk(scope)
        except Exception as error:  # one function must not stop the others
            self.internal(scope.qualname, line, error)
            return self.walked[key]
        claims: list = []
        for slug, check in self.checks:
            try:
                for claim in check(trace):
                    if trace.incomplete:
                        claim.doubts |= {"incomplete"}
                    if claim.write.kind == "write" and claim.write.given is not None and claim.site == claim.write.site:
                        claim.site = claim.write.given
                    claims.append(claim)
            except Exception as error:
                self.internal(f"{slug} in {scope.qualname}", line, error)
        self.walked[key] = (trace, claims)
        return self.walked[key]

    def internal(self, where: str, line: int, error: Exception) -> None:
        self.failures.append(Failure("RMW009", self.path, line, f"internal error: {where}: {told(error)}"))

    def confirmed(self, claim: Any, scope: Any, depth: int, way: tuple = ()) -> bool:
        """All known callers hold the guard: silent. Some do not: the unguarded call is a related place. way: the callees that led here."""
        if depth >= MAX_CALLERS:
            return True
        from noclobber.trace.questions.claims import REFUSED

        judged, milder = False, None
        way = (*(way or self.inside(claim)), scope)
        callers = self.ask.callers(scope)
        if len(callers) > 1:
            callers = sorted(callers, key=self.ask.is_unused)  # the story names one that somebody calls
        queue = [(caller, 0) for caller in callers]
        asked = {scope.key}
        while queue:
            caller, above = queue.pop(0)
            if caller.info.depth > DEPTH_LIMIT or caller.key in asked:
                continue
            asked.add(caller.key)
            trace, claims = self.walk(caller)
            if trace is None:
                continue
            events, partly = _at(trace, claim, scope), False
            if not events and (trace.incomplete or _decorates(scope, caller)):  # lost among the helpers of a long caller; a wrapper's own
                trace, claims = self.walk(caller, way)
                events, partly = _at(trace, claim, scope) if trace is not None else [], True
            if not events and trace is not None and _held_at_change(trace, claim):
                judged = True  # the write is beyond what is followed, the lock is not
                continue
            if not events:
                # A class or function that was handed in: who hands it in says what is called.
                if above < MAX_HANDED and len(asked) < MAX_ASKED and (above or _handed_in(caller, scope.name)):
                    queue += [(further, above + 1) for further in self.ask.callers(caller)]
                continue
            mine = [other for other in claims if other.rule == claim.rule and other.site.at is claim.site.at]
            if not mine:
                judged = judged or not partly or any(_holds(event) or _is_made(event, claim) for event in events)
                continue
            if claim.variant != REFUSED and all(other.variant == REFUSED for other in mine):
                milder = mine[0]  # the caller says of which class the row is
                continue
            if self.confirmed(claim, caller, depth + 1, way):
                from noclobber.trace.questions.claims import Mark

                call = next((call[1] for event in events for call in event.ctx.calls[:1] if hasattr(call[1], "at")), None)
                if call is not None:
                    claim.related.append(Mark("call", call, f"called without a guard in {caller.qualname}()"))
                claim.doubts -= {"parameter"}
                return True
            judged = True
        if milder is not None and not judged:
            claim.variant, claim.message = milder.variant, milder.message
        return not judged

    def inside(self, claim: Any) -> tuple:
        """The functions from the root down to the claim's write."""
        found: dict = {}
        for site in (*(call[1] for call in claim.write.ctx.calls[1:]), claim.write.site, *(mark.site for mark in claim.related)):
            module = self.ask.library.shown(site.path) if hasattr(site, "path") else None
            if module is not None and site.function in module.index.functions:
                found[module.scope(site.function)] = None
        return tuple(found)

    # --- places --------------------------------------------------------------------------------------------------------------
    def result(self, stats: dict) -> FileResult:
        findings = []
        for claim, _, _ in sorted(self.claims.values(), key=lambda kept: kept[1]):
            try:
                findings.append(self.finding(claim, self.census(claim)))
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
            end_column = len(self.lines_of(site)[line - 1].rstrip()) + 1
        return Place(site.path or self.path, line, column, line, max(end_column, column + 1))

    def lines_of(self, site: Any) -> Any:
        """The physical lines of the file that a place is in."""
        module = self.ask.library.shown(site.path) if site.path != self.path else None
        return (module or self.module).source.lines

    def census(self, claim: Any) -> str:
        """Who else writes the field that the claim is about, and how, as a sentence."""
        found = self.writers(claim)
        if not found:
            return ""
        from noclobber.trace.questions.census import told

        return told(claim.record, found)

    def writers(self, claim: Any) -> list[tuple[str, str, tuple[str, str]]]:
        """(function, place, way) of each other function that writes the field that the claim is about."""
        record = getattr(claim.write, "record", None)
        model, dot, field = claim.record.rpartition(".")
        if record is None or record.family != "orm" or not isinstance(record.table, tuple) or not dot or not model:
            return []
        from noclobber.trace.questions.census import ways

        found = []
        for scope in self.ask.writers(field)[:MAX_WRITERS]:
            if scope.info.depth > DEPTH_LIMIT or (scope.module.entry.source.path, scope.qualname) == (claim.site.path, claim.site.function) or self.is_test(scope.qualname):
                continue
            trace, claims = self.walk(scope)
            for site, way in ways(trace, claims, record.table, field) if trace is not None else ():
                if site.function == scope.qualname and site.path == scope.module.entry.source.path:
                    place = self.place(site)
                    found.append((scope.qualname, f"{place.path}:{place.line}", way))
                    break
        return found

    def locks_elsewhere(self, claim: Any) -> bool:
        """Do most of the other writers that guard the field lock its row?"""
        from noclobber.trace.questions.census import BLIND, LOCKED

        ways = [way for _, _, way in self.writers(claim) if way != BLIND]
        return ways.count(LOCKED) * 2 > len(ways)

    def finding(self, claim: Any, census: str = "") -> Finding:
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
            related.append(Related(mark.role, at, mark.text, self.lines_of(mark.site)[at.line - 1].strip()))
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
            write_text=source_text(claim.site.excerpt, claim.site.at, whole=True), census=census,
        )


def _at(trace: Any, claim: Any, scope: Any) -> list:
    """The events at the place of the claim's write that are reached through a function. Of a unit of work: the writes of that very change, for
    many objects are written at one flush."""
    if getattr(claim.write, "unit", False):
        changes = _changes(claim)
        return [event for event in trace.of("write") if event.unit and any(id(trace.events[n].site.at) in changes for n, _ in event.changes)]
    at = claim.write.site.at
    found = [event for event in trace.events if event.site.at is at and any(
        site.path == scope.path and (site.function + ".").startswith(scope.qualname + ".")
        for site in (event.site, *(call[1] for call in event.ctx.calls[1:] if hasattr(call[1], "function"))))]
    # A caller that knows the class enters a save() of its own, where the write stands.
    return found if any(event.kind == claim.write.kind for event in found) else found + [
        event for event in trace.of(claim.write.kind) if any(getattr(call[1], "at", None) is at for call in event.ctx.calls)]


def _holds(event: Any) -> bool:
    """Is anything held there that may guard? Where not every helper was entered, silence alone tells nothing."""
    from noclobber.trace.questions.guards import GUARDS

    return any(lock.kind in GUARDS or lock.kind == "claim" for lock in event.ctx.held)


def _is_made(event: Any, claim: Any) -> bool:
    """Does the caller hand in a record that it has just made, so that what is an update of some row here is its first save there? Does it handle
    the refusal of what is created?"""
    return event.kind == "write" and event.verb == "create" and (event.handled or getattr(claim.write, "verb", "") != "create")


def _changes(claim: Any) -> set:
    """Where the object of a unit of work is changed."""
    return {id(mark.site.at) for mark in claim.related if mark.role == "change"} or {id(claim.site.at)}


def _handed_in(caller: Any, name: str) -> bool:
    """Does the function call something of this name on one of its parameters (`dao.count(…)`)?"""
    text = "\n".join(caller.module.source.lines[caller.info.start - 1:caller.info.end])
    return any(f"{param}.{name}(" in text for param in caller.info.params if param not in ("self", "cls"))


def _held_at_change(trace: Any, claim: Any) -> bool:
    """Is the object of a unit of work changed here, always under a lock?"""
    from noclobber.trace.questions.guards import GUARDS

    places = _changes(claim) if getattr(claim.write, "unit", False) else set()
    changes = [event for event in trace.of("change") if id(event.site.at) in places]
    return bool(changes) and all(any(lock.kind in GUARDS for lock in change.ctx.held) for change in changes)


def _decorates(scope: Any, caller: Any) -> bool:
    return any(text.partition("(")[0].rpartition(".")[2] == scope.name for text in caller.info.decorators)


def traces(data: bytes, path: str, vocabulary: Any, only: Optional[str] = None, walker: Any = None) -> Any:
    """(name, trace, module) of every scope of a file, for contributors and `explain`. Raises SourceError.

    `walker`: a class to walk with instead of `trace.walk.Walker`.
    """
    source = Source.decode(path, data)
    absolute = os.path.abspath(path)
    project = Project(os.path.dirname(absolute), shown=lambda found: path if found == absolute else found, buffers={absolute: data})
    try:
        index, _ = index_module(source, project.module_name(absolute))
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
    from noclobber.link import Library

    entry = Entry(absolute, index.module or path, source, index, None)
    run = _Run(Library(project, vocabulary=vocabulary).module(entry), vocabulary, path, walker)
    for name in _scopes(index):
        if only is not None and name != only:
            continue
        scope = run.scope(name)
        trace = run.walk(scope)[0] if scope is not None else None
        if trace is not None:
            yield name, trace, run.module
    for failure in run.failures:
        print(failure)
