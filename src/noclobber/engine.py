"""Runs the analysis over files: collects them, spreads them over processes, and lets no file stop the others.

Whatever goes wrong in one file becomes an RMW009 for that file. `analyse` is imported when the first file is read, so
that the commands which need no analysis stay quick.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from noclobber import files
from noclobber.config import Config, Resolver
from noclobber.finding import Failure, FileResult
from noclobber.finding import told as _told
from noclobber.resolve import Source, SourceError

if TYPE_CHECKING:
    from noclobber import suppress

#: Only a file with these bytes is searched for suppressing comments; what reads them is imported for such files only.
NEEDLE = b"noclobber:"
#: Below this many files a pool costs more than it brings.
POOL_FROM = 200
CHUNK = 8
#: Deep code: LibCST and ast recurse in C (DESIGN §4). A limit that overflows before the stack does.
STACK = 64 * 1024 * 1024
RECURSION = 20_000
#: Restarts of the pool after which the rest is analysed one file at a time.
RESTARTS = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """One analysed file: what the checks found, and what verdict and report need of its text.

    `lines`: the physical lines, kept only for files that have something to show. `noqa`: line → comment, for reported
    lines.
    """

    result: FileResult
    config: Config
    pragmas: tuple[suppress.Pragma, ...] = ()
    noqa: Mapping[int, suppress.Noqa] = field(default_factory=dict)
    lines: tuple[str, ...] | None = None
    seconds: float = 0.0


@dataclass
class RunResult:
    """`items`: by path. `missing`: (path, reason) of what could not be read. `whole`: the run covered a whole
    project."""

    items: list[Item]
    missing: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    excluded: int = 0
    whole: bool = False
    seconds: float = 0.0
    jobs: int = 1
    cwd: str = ""
    _lines: dict[str, Sequence[str] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines.update((item.result.path, item.lines) for item in self.items if item.lines is not None)

    def lines(self, path: str) -> Sequence[str] | None:
        """The physical lines of a shown path: of an analysed file as it was read, else (a related place elsewhere) from
        disk."""
        if path not in self._lines:
            try:
                with open(os.path.join(self.cwd, path), "rb") as stream:
                    self._lines[path] = Source.decode(path, stream.read()).lines
            except (OSError, SourceError):
                self._lines[path] = None
        return self._lines[path]


def run(
    paths: Sequence[str],
    config: Resolver | Config,
    *,
    stdin: tuple[bytes, str] | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    workspaces: Workspaces | None = None,
) -> RunResult:
    """Analyse the files below `paths`, or one buffer.

    `config`: how to find settings, or one Config for all. `stdin`: (bytes, name): analyse this instead of `paths`.
    `jobs`: number of processes; None: as many as there are processors, when there are enough files. `progress(done,
    total)` is called now and then. `workspaces`: what earlier runs of this process have read; the files must not have
    changed since. Raises ConfigError and KnowledgeError for settings that cannot be used, KeyboardInterrupt.
    """
    started = time.perf_counter()
    configs = _Constant(config) if isinstance(config, Config) else config
    workspaces = workspaces or Workspaces()
    if stdin is not None:
        data, name = stdin
        absolute = os.path.abspath(os.path.join(configs.cwd, name))
        own = configs.for_directory(os.path.dirname(absolute))
        if own.settings.force_exclude and files.Excluder(own).named(absolute, False):
            return RunResult([], excluded=1, cwd=configs.cwd, seconds=time.perf_counter() - started)
        own.vocabulary  # noqa: B018  a mistake in it is to be raised here
        shown = files.display(absolute, configs.cwd)
        items = [on_big_stack(lambda: analyse_item(data, shown, own, workspaces.of(own, absolute)))]
        return RunResult(items, cwd=configs.cwd, seconds=time.perf_counter() - started)
    collected = files.collect(paths, configs)
    for own in {id(found.config): found.config for found in collected.files}.values():
        if own.has_user_vocabulary:
            own.vocabulary  # noqa: B018  a mistake in it is to be raised here, once, not in each worker
    total = len(collected.files)
    if jobs is None:
        jobs = processors() if total >= POOL_FROM else 1
    jobs = max(1, min(jobs, total))
    report = progress or (lambda done, total: None)
    if jobs > 1:
        items = _Pool(jobs, collected.files, report, workspaces).run()
    else:
        items = _serial(collected.files, report, workspaces)
    return RunResult(
        items,
        collected.missing,
        collected.warnings,
        collected.excluded,
        collected.whole,
        time.perf_counter() - started,
        jobs,
        configs.cwd,
    )


class _Constant:
    """One Config for every directory."""

    def __init__(self, config: Config) -> None:
        self.cwd = os.getcwd()
        self._config = config

    def for_directory(self, directory: str) -> Config:
        return self._config


#: A directory with one of these is a project's, where neither settings nor a repository say so.
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "manage.py")


class Workspaces:
    """What the files of a project have in common, by project: read once, for one run (or for runs over unchanged files)."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Any] = {}
        self._roots: dict[tuple[int, str], str] = {}

    def of(self, config: Config, absolute: str) -> Any:
        """The analyse.Workspace for a file with these settings."""
        from noclobber.analyse import Workspace

        directory = os.path.dirname(absolute)
        root = self._roots.get((id(config), directory))
        if root is None:
            root = self._roots[id(config), directory] = project_root(config, directory)
        key = (id(config), root)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Workspace(config, root, files=lambda: _files_below(config, root))
        return found


def project_root(config: Config, directory: str) -> str:
    """The directory of the project that a directory belongs to: that of its settings or repository, else the outermost one with a
    project's file; "" where nothing tells."""
    if config.file or os.path.exists(os.path.join(config.root, ".git")):
        inside = config.root.rstrip(os.sep) + os.sep
        if (directory + os.sep).startswith(inside):
            return config.root
    found = ""
    while directory != os.path.dirname(directory):
        if any(os.path.isfile(os.path.join(directory, name)) for name in PROJECT_FILES):
            found = directory
        directory = os.path.dirname(directory)
    return found


def _files_below(config: Config, root: str) -> Sequence[str]:
    """The files that a run over the project would analyse. Without a project there are none to look for callers in."""
    if not root:
        return ()
    return [found.absolute for found in files.collect([root], _Constant(config)).files]


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


# --- fixes ------------------------------------------------------------------------------------------------------------


def fixes(item: Item, findings: Sequence[Any], data: bytes, workspace: Any) -> list[Any]:
    """The verified finding.Fix of each finding of one file, whose content is `data`, or the reason (str) why there is none; in their order. What the
    findings already carry (the linter's own rules) stays. Runs on the caller's stack: see `on_big_stack`."""
    from noclobber.repair import fixes_for

    answers = fixes_for(data, item.result.path, item.config, findings, workspace)
    return [finding.fix or answer for finding, answer in zip(findings, answers)]


def fixes_of(run: RunResult, findings: Sequence[Any], workspaces: Workspaces, stdin: bytes | None = None) -> list[Any]:
    """The same for findings of many files, after a run; files are read again. `stdin`: the content of the run's only file."""
    from noclobber.fixes import HELPED, SLUGS

    items = {item.result.path: item for item in run.items}
    by_file: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        if (finding.name in SLUGS or finding.name in HELPED) and finding.path in items:
            by_file.setdefault(finding.path, []).append(number)
    answers = [finding.fix or "" for finding in findings]

    def work() -> None:
        for path, numbers in by_file.items():
            item = items[path]
            absolute = os.path.abspath(os.path.join(run.cwd, path))
            try:
                data = stdin if stdin is not None else open(absolute, "rb").read()
            except OSError:
                continue
            found = fixes(item, [findings[number] for number in numbers], data, workspaces.of(item.config, absolute))
            for number, answer in zip(numbers, found):
                answers[number] = answer

    if by_file:
        on_big_stack(work)
    return answers


# --- one file ---------------------------------------------------------------------------------------------------------


def analyse_source(data: bytes, path: str, config: Config, workspace: Any = None) -> FileResult:
    """The raw findings in one buffer. Never raises but KeyboardInterrupt: what goes wrong is an RMW009 in the
    result."""
    try:
        from noclobber import analyse

        return analyse.analyse(data, path, config, workspace=workspace)
    except RecursionError:
        return FileResult(
            path, failures=(Failure("RMW009", path, 1, "internal error: the code nests too deeply for the analysis"),)
        )
    except Exception as error:
        return FileResult(path, failures=(Failure("RMW009", path, 1, f"internal error: {_told(error)}"),))


def analyse_item(data: bytes, path: str, config: Config, workspace: Any = None) -> Item:
    """Analysis of one buffer with its comments. Never raises but KeyboardInterrupt."""
    started = time.perf_counter()
    result = analyse_source(data, path, config, workspace)
    lines: Sequence[str] | None = None
    pragmas: tuple[suppress.Pragma, ...] = ()
    noqa: dict[int, suppress.Noqa] = {}
    has_pragma = NEEDLE in data
    if has_pragma or result.findings or result.failures:
        try:
            lines = Source.decode(path, data).lines
        except SourceError:
            lines = None  # the file has its RMW001
    if lines is not None:
        from noclobber import suppress

        if has_pragma:
            pragmas = suppress.scan(lines)
        reported = {finding.place.line for finding in result.findings} | {pragma.line for pragma in pragmas}
        for number in reported:
            comment = suppress.noqa_on(lines[number - 1]) if 0 < number <= len(lines) else None
            if comment is not None:
                noqa[number] = comment
        if not (result.findings or result.failures or pragmas):
            lines = None
    return Item(result, config, pragmas, noqa, None if lines is None else tuple(lines), time.perf_counter() - started)


def _read(found: files.Found, workspaces: Workspaces) -> Item:
    try:
        with open(found.absolute, "rb") as stream:
            data = stream.read()
    except OSError as error:
        failure = Failure("RMW009", found.path, 1, f"cannot read the file: {(error.strerror or str(error)).lower()}")
        return Item(FileResult(found.path, failures=(failure,)), found.config)
    return analyse_item(data, found.path, found.config, workspaces.of(found.config, found.absolute))


def on_big_stack(work: Callable[[], T]) -> T:
    """The result of `work()`, run on a thread whose stack fits deep code, with a recursion limit to match.

    Interrupting the caller interrupts the wait; the thread is a daemon and ends with its current file.
    """
    answer: list[T] = []
    trouble: list[BaseException] = []

    def body() -> None:
        try:
            answer.append(work())
        except BaseException as error:  # handed to the caller
            trouble.append(error)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))  # before the start: the thread may be deep before this one runs again
    size = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=body, name="noclobber", daemon=True)
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()  # when this is interrupted the thread may still be deep, and the limit stays
    sys.setrecursionlimit(limit)
    if trouble:
        raise trouble[0]
    return answer[0]


def _serial(found: Sequence[files.Found], progress: Callable[[int, int], None], workspaces: Workspaces) -> list[Item]:
    stop = threading.Event()
    items: list[Item] = []

    def work() -> None:
        for item in found:
            if stop.is_set():
                return
            items.append(_read(item, workspaces))
            progress(len(items), len(found))

    if not found:
        return items
    try:
        on_big_stack(work)
    finally:
        stop.set()
    return items


# --- many processes ---------------------------------------------------------------------------------------------------

_configs: list[Config] = []
#: Of the parent, inherited by workers that are forked; else a worker reads the project itself.
_inherited: list[tuple[list[Config], Workspaces]] = []
_workspaces: list[Workspaces] = []


def _start(configs: list[Config]) -> None:
    """In a worker: the settings, sent once; an interrupt is the parent's business."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _inherited:
        _configs[:], _workspaces[:] = _inherited[0][0], [_inherited[0][1]]
    else:
        _configs[:], _workspaces[:] = configs, [Workspaces()]


def _work(chunk: list[tuple[str, str, int]]) -> list[tuple[Any, ...]]:
    """In a worker: analyse (path, absolute, index of its settings) each. Items travel without their settings."""

    def body() -> list[tuple[Any, ...]]:
        done = []
        for path, absolute, index in chunk:
            item = _read(files.Found(path, absolute, _configs[index]), _workspaces[0])
            done.append((item.result, item.pragmas, dict(item.noqa), item.lines, item.seconds))
        return done

    return on_big_stack(body)


class _Pool:
    """Analyses files in worker processes, in any order, and hands the items back in the order of the files.

    When a worker dies, the files that were under way go one by one through a fresh process; the one that kills it again
    gets an RMW009. No more chunks are under way than there are workers, so few files are suspected.
    """

    def __init__(
        self, jobs: int, found: Sequence[files.Found], progress: Callable[[int, int], None], workspaces: Workspaces
    ) -> None:
        self._jobs = jobs
        self._workspaces = workspaces
        self._found = found
        self._progress = progress
        configs: dict[int, Config] = {}
        for item in found:
            configs.setdefault(id(item.config), item.config)
        self._configs = list(configs.values())
        index = {key: position for position, key in enumerate(configs)}
        self._sent = [(item.path, item.absolute, index[id(item.config)]) for item in found]
        self._items: dict[int, Item] = {}

    def run(self) -> list[Item]:
        """The items in the order of the files. Forked workers inherit what the parent has read of the projects."""
        import multiprocessing

        forks = multiprocessing.get_start_method() == "fork"
        if forks:
            on_big_stack(self._survey)
            _inherited[:] = [(self._configs, self._workspaces)]
        try:
            return self._run()
        finally:
            _inherited.clear()

    def _survey(self) -> None:
        """Read the projects' files once, for all workers."""
        for found in self._found:
            try:
                self._workspaces.of(found.config, found.absolute).survey_file(found.absolute)
            except Exception:  # noqa: S110  the worker that gets the file reports what is wrong with it
                pass

    def _run(self) -> list[Item]:
        size = max(1, min(CHUNK, len(self._found) // (self._jobs * 2)))
        waiting = [
            list(range(start, min(start + size, len(self._found)))) for start in range(0, len(self._found), size)
        ]
        waiting.reverse()
        restarts = 0
        while waiting:
            suspects = self._many(waiting)
            self._one_by_one(suspects)
            restarts += 1
            if restarts > RESTARTS:
                self._one_by_one([number for chunk in reversed(waiting) for number in chunk])
                break
        return [self._items[number] for number in range(len(self._found))]

    def _executor(self, workers: int) -> Any:
        from concurrent.futures import ProcessPoolExecutor

        return ProcessPoolExecutor(workers, initializer=_start, initargs=(self._configs,))

    def _take(self, numbers: Sequence[int], answers: Sequence[tuple[Any, ...]]) -> None:
        for number, answer in zip(numbers, answers):
            result, *rest = answer
            self._items[number] = Item(result, self._found[number].config, *rest)
        self._progress(len(self._items), len(self._found))

    def _many(self, waiting: list[list[int]]) -> list[int]:
        """Work through `waiting` (from its end). Returns the files that were under way when a worker died."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        suspects: list[int] = []
        under_way: dict[Any, list[int]] = {}
        broken = False
        executor = self._executor(self._jobs)
        try:
            while (waiting or under_way) and not broken:
                while waiting and len(under_way) < self._jobs:
                    chunk = waiting[-1]
                    try:
                        future = executor.submit(_work, [self._sent[number] for number in chunk])
                    except BrokenProcessPool:
                        broken = True
                        break
                    under_way[future] = waiting.pop()
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    numbers = under_way.pop(future)
                    trouble = future.exception()
                    if trouble is None:
                        self._take(numbers, future.result())
                    else:  # a dead worker, or an answer that cannot travel
                        suspects += numbers
                        broken = broken or isinstance(trouble, BrokenProcessPool)
            for numbers in under_way.values():
                suspects += numbers
        except BaseException:
            _end(executor)
            raise
        executor.shutdown(cancel_futures=True)
        return suspects

    def _one_by_one(self, numbers: Sequence[int]) -> None:
        """Each file alone in a process that is replaced when it dies."""
        executor = None
        try:
            for number in numbers:
                executor = executor or self._executor(1)
                try:
                    self._take([number], executor.submit(_work, [self._sent[number]]).result())
                except Exception as error:  # BrokenProcessPool, or an answer that cannot be pickled
                    path = self._found[number].path
                    failure = Failure(
                        "RMW009",
                        path,
                        1,
                        f"internal error: the analysis of this file ended its process ({type(error).__name__})",
                    )
                    self._items[number] = Item(FileResult(path, failures=(failure,)), self._found[number].config)
                    executor.shutdown(cancel_futures=True)
                    executor = None
        except BaseException:
            if executor is not None:
                _end(executor)
            raise
        if executor is not None:
            executor.shutdown()


def _end(executor: Any) -> None:
    """Do not wait for what is under way: the user interrupted."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
