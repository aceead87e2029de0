"""The only filter between what the checks found and what is shown, in this order (DESIGN §1): confidence, what is not
selected, grouping by write, precedence, suppressions, (baseline,) severity. It counts what it hides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from noclobber import knowledge
from noclobber.finding import CAPS, CONFIDENCES, DOUBTS, SEVERITIES, Failure, Finding, Place, fingerprint, interleaving

if TYPE_CHECKING:
    from noclobber.baseline import Entry, Known
    from noclobber.suppress import Pragma, Pragmas

DOCS = "https://github.com/noclobber/noclobber/blob/main/rules/catalog/{slug}.md"


@dataclass
class Summary:
    """The numbers of a run. `hidden`: reason → count of findings that are not shown."""

    files: int = 0
    analysed: int = 0
    failed: int = 0
    findings: dict[str, int] = field(default_factory=lambda: {"error": 0, "warning": 0, "info": 0})
    suppressed: int = 0
    baselined: int = 0
    older: int = 0
    fixable: int = 0
    unsafe_fixable: int = 0
    hidden: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.findings.values())


@dataclass
class Settled:
    """`findings`: what is shown, sorted by path, line, column, code; failures are among them. `suppressed`: silenced by
    a comment. `errors`: the failures alone. `stale`: (file, entry, number) of baseline entries that nothing matched. `failing`: how many findings are at or above their directory's `fail-on`.
    `pages`: slug → page.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    errors: tuple[Failure, ...]
    failing: int
    summary: Summary
    pages: Mapping[str, Any]
    stale: tuple[tuple[str, Entry, int], ...] = ()
    judged: tuple[tuple[Finding, str, str], ...] = ()

    @property
    def internal_error(self) -> bool:
        return any(error.code == "RMW009" for error in self.errors)


@dataclass
class Baselines:
    """Known findings to subtract: `of(config)` gives the absolute path of the file in force there, or ""; `known`: file → entries.

    `path(shown, file)`: a shown path as the file names it.
    """

    of: Callable[[Any], str]
    known: Mapping[str, Known]
    path: Callable[[str, str], str]


def settle(
    items: Iterable[Any],
    rules: Any = None,
    *,
    no_ignores: bool = False,
    whole: bool = False,
    baselines: Baselines | None = None,
    only_new: Callable[[list[Finding]], list[bool]] | None = None,
) -> Settled:
    """Decide what is shown.

    `items`: one for each file, with `result` (FileResult), `config` (config.Config), `pragmas`, `noqa` (line →
    suppress.Noqa); `engine.Item` is made for it. `rules`: knowledge.Knowledge (default: the loaded one). `no_ignores`:
    comments do not count. `whole`: the run covered the whole project, so comments for rules of project scope can be
    judged. `baselines`: known findings. `only_new(findings)`: whether each is new against another revision; the others are
    counted only.
    """
    rules = rules or knowledge.load()
    summary = Summary()
    shown: list[Finding] = []
    silenced: list[Finding] = []
    errors: list[Failure] = []
    failing = 0
    standing: list[tuple[Finding, Any]] = []
    for item in items:
        summary.files += 1
        # The analysis counts the lines of the scopes that it looked into; a file without any was only sieved.
        summary.analysed += item.result.stats.get("analysed", item.result.stats.get("root_lines", 0)) > 0
        failures = list(item.result.failures)
        kept, hushed = _file(item, rules, summary, no_ignores, whole, failures)
        errors += failures
        summary.failed += bool(failures)
        silenced += hushed
        standing += [(finding, item.config) for finding in kept]
    stale: list[tuple[str, Entry, int]] = []
    judged: list[tuple[Finding, str, str]] = []
    if baselines is not None:
        standing, stale, judged = _without_known(standing, baselines, summary)
    if only_new is not None:
        new = only_new([finding for finding, _ in standing])
        summary.older += new.count(False)
        standing = [pair for pair, is_new in zip(standing, new) if is_new]
    for finding, config in standing:
        shown.append(finding)
        summary.findings[finding.severity] += 1
        summary.fixable += finding.fix is not None and finding.fix.applicability == "safe"
        summary.unsafe_fixable += finding.fix is not None and finding.fix.applicability == "unsafe"
        fail_on = config.settings.fail_on
        failing += fail_on != "never" and SEVERITIES.index(finding.severity) >= SEVERITIES.index(fail_on)
    summary.suppressed = len(silenced)
    shown.sort(key=_position)
    silenced.sort(key=_position)
    errors.sort(key=lambda error: (error.path, error.line, error.code))
    return Settled(tuple(shown), tuple(silenced), tuple(errors), failing, summary, rules.pages, tuple(stale), tuple(judged))


def with_fixes(settled: Settled, fixes: Sequence[Any]) -> Settled:
    """What is shown, with its fixes. `fixes`: of each of `settled.findings` the finding.Fix, or the reason (str) why there is none."""
    findings = tuple(
        (replace(finding, unfixed=str(fix), help=_written_out(finding.help, fix)) if isinstance(fix, str) else replace(finding, fix=fix))
        for finding, fix in zip(settled.findings, fixes)
    )
    summary = settled.summary
    summary.fixable = sum(f.fix is not None and f.fix.applicability == "safe" for f in findings)
    summary.unsafe_fixable = sum(f.fix is not None and f.fix.applicability == "unsafe" for f in findings)
    return replace(settled, findings=findings)


def _written_out(help: str, fix: str) -> str:
    """The help with the line to be written by hand, in the code's own names."""
    line = getattr(fix, "line", "")
    return f"{help}; here: `{line}`" if line and "`" not in line else help


def _without_known(
    standing: list[tuple[Finding, Any]], baselines: Baselines, summary: Summary
) -> tuple[list[tuple[Finding, Any]], list[tuple[str, Entry, int]], list[tuple[Finding, str, str]]]:
    """(what is not known before, entries that nothing matched, (finding, file, path in it) of all that a file could hold)."""
    by_file: dict[str, list[int]] = {file: [] for file in baselines.known}
    judged = []
    for number, (finding, config) in enumerate(standing):
        file = baselines.of(config)
        if file:
            by_file.setdefault(file, []).append(number)
            judged.append((finding, file, baselines.path(finding.path, file)))
    hidden: set[int] = set()
    stale: list[tuple[str, Entry, int]] = []
    for file, numbers in by_file.items():
        known = baselines.known.get(file)
        if known is None:
            continue
        answers, left = known.split([(standing[n][0], baselines.path(standing[n][0].path, file)) for n in numbers])
        hidden.update(number for number, is_known in zip(numbers, answers) if is_known)
        stale += [(file, entry, count) for entry, count in left]
    summary.baselined += len(hidden)
    return [pair for number, pair in enumerate(standing) if number not in hidden], stale, judged


def _position(finding: Finding) -> tuple[str, int, int, str]:
    return finding.place.path, finding.place.line, finding.place.column, finding.code


def _file(
    item: Any, rules: Any, summary: Summary, no_ignores: bool, whole: bool, failures: list[Failure]
) -> tuple[list[Finding], list[Finding]]:
    """(shown, silenced) findings of one file, complete. Adds to `failures` what a check got wrong about its own
    page."""
    config = item.config
    pragmas = None
    if item.pragmas and not no_ignores:
        from noclobber.suppress import Pragmas  # few files have comments for us

        pragmas = Pragmas(item.pragmas, rules.pages, lambda selector: named(selector, rules.pages))

    wanted = []
    for finding in item.result.findings:
        try:
            page = rules.pages[finding.name]
            confidence = confidence_of(finding)
            level = page.variants[finding.variant][0] if finding.variant else page.level
        except KeyError as error:
            failures.append(
                Failure("RMW009", finding.path, finding.place.line, f"{finding.name}: not in its page: {error}")
            )
            continue
        finding = replace(finding, code=page.code, confidence=confidence, level=level)
        if not confidence or CONFIDENCES.index(confidence) < CONFIDENCES.index(config.settings.min_confidence):
            summary.hidden["confidence"] += 1
        elif not config.selection.on(finding.name, level):
            summary.hidden["selection"] += 1
        elif config.ignored(finding.path, page.code, finding.name):
            summary.hidden["per-file-ignores"] += 1
        else:
            wanted.append(finding)
        if pragmas:
            pragmas.silencing(
                finding
            )  # a comment for what another run shows, or for what lost to another rule, is of use
    shown: list[Finding] = []
    silenced: list[Finding] = []

    def take(finding: Finding) -> None:
        reason = pragmas.silencing(finding) if pragmas else None
        comment = None if no_ignores or reason else item.noqa.get(finding.place.line)
        if comment is not None and comment.silences(finding.code, config.settings.respect_noqa):
            reason = ("noqa", "", finding.place.line)
        finding = dressed(finding, rules.pages[finding.name], config)
        if SEVERITIES.index(finding.severity) < SEVERITIES.index(config.settings.min_severity):
            summary.hidden["severity"] += 1
        elif reason is None:
            shown.append(finding)
        else:
            silenced.append(replace(finding, suppressed=reason))

    for finding in winners(wanted, rules, summary.hidden):
        take(finding)
    if pragmas:
        for finding in _own_findings(item, pragmas, rules, config, whole):
            take(finding)
    shown += [
        dressed(failed(failure, rules), rules.pages[rules.by_code[failure.code].slug], config) for failure in failures
    ]
    return shown, silenced


def _own_findings(item: Any, pragmas: Pragmas, rules: Any, config: Any, whole: bool) -> Iterable[Finding]:
    """RMW002, RMW003, RMW004. Lazy: which comments were of use is only known when the earlier findings have been
    judged."""
    from noclobber.suppress import removal

    path = item.result.path

    def own(code: str, pragma: Pragma, message: str) -> Finding | None:
        page = rules.by_code[code]
        if not config.selection.on(page.slug, page.level) or config.ignored(path, code, page.slug):
            return None
        place = Place(path, pragma.line, pragma.column, pragma.line, pragma.end)
        line = pragma.target or pragma.line
        return Finding(
            page.slug,
            path,
            place,
            "",
            "",
            message,
            statement=(line, line),
            code=code,
            level=page.level,
            confidence="high",
            write_text=message,
        )

    def judged(slug: str) -> bool | None:
        if slug not in config.selection.rules:
            return None
        return not item.result.failures and (whole or rules.pages[slug].scope != "project")

    for pragma, message in pragmas.malformed(config.unknown_rule):
        if finding := own("RMW004", pragma, message):
            yield finding
    for pragma in pragmas.without_reason():
        if finding := own("RMW003", pragma, "this suppression says no reason; add `-- reason`"):
            yield finding
    for is_own in (False, True):
        for pragma, selectors in pragmas.unused(is_own, judged):
            text = ", ".join(f"`{selector}`" for selector in selectors)
            if finding := own("RMW002", pragma, f"this suppression silences nothing ({text})"):
                yield replace(finding, fix=removal(pragma, selectors, item.lines) if item.lines is not None else None)


def failed(failure: Failure, rules: Any) -> Finding:
    """The failure as a finding: it has a severity and a place like any other, and cannot be silenced."""
    page = rules.by_code[failure.code]
    line = max(failure.line, 1)
    return Finding(
        page.slug,
        failure.path,
        Place(failure.path, line, 1, line, 1),
        "",
        "",
        failure.message,
        code=page.code,
        level=page.level,
        confidence="high",
        statement=(line, line),
        write_text=failure.message,
    )


def dressed(finding: Finding, page: Any, config: Any) -> Finding:
    """The finding with what its page and the settings say of it."""
    severity = page.variants[finding.variant][1] if finding.variant else page.severity
    return replace(
        finding,
        severity=config.severity_of(page.code, finding.name) or severity,
        interleaving=finding.interleaving or interleaving(page.timeline, finding),
        fingerprint=fingerprint(finding, page.group, config.relative(finding.path)),
        url=finding.url or DOCS.format(slug=finding.name),
    )


def named(selector: str, pages: Mapping[str, Any]) -> frozenset[str]:
    """Slugs that a selector of a comment names: a code, a prefix of codes with a digit, or a name. There is no blanket
    form."""
    if selector in pages:
        return frozenset({selector})
    if not selector.startswith("RMW") or selector == "RMW":
        return frozenset()
    return frozenset(slug for slug, page in pages.items() if page.code.startswith(selector))


def confidence_of(finding: Finding) -> str:
    """high, medium or low; "" below low (the finding is dropped).

    High minus one step for each doubt; a cap holds it down whatever the doubts. Raises KeyError for an unknown reason.
    """
    steps = len(CONFIDENCES)
    for reason in finding.doubts:
        if reason not in CAPS and reason not in DOUBTS:
            raise KeyError(f"unknown reason for doubt: {reason}")
        steps -= reason in DOUBTS
    steps = min([steps, *(CONFIDENCES.index(CAPS[reason]) + 1 for reason in finding.doubts if reason in CAPS)])
    return CONFIDENCES[steps - 1] if steps > 0 else ""


def winners(findings: Sequence[Finding], rules: Any, hidden: Counter[str]) -> list[Finding]:
    """One finding for each write, object and commit; unrelated rules stand side by side. Losers' slugs go to `also`."""
    groups: dict[tuple, dict[str, Finding]] = {}
    for finding in findings:
        place = finding.place
        group = groups.setdefault((place.path, place.line, place.column, finding.obj, finding.commit), {})
        other = group.get(finding.name)
        if other is None:
            group[finding.name] = finding
        else:  # the same rule found twice, e.g. for two keys of one function: the surer one stands
            hidden["duplicate"] += 1
            if CONFIDENCES.index(finding.confidence) > CONFIDENCES.index(other.confidence):
                group[finding.name] = finding
    standing = []
    for group in groups.values():
        for slug, finding in group.items():
            if any(rules.beats(other, slug) for other in group if not rules.beats(slug, other)):
                hidden["precedence"] += 1
                continue
            lost = sorted((other for other in group if rules.beats(slug, other)), key=lambda other: group[other].code)
            standing.append(replace(finding, also=tuple(dict.fromkeys((*finding.also, *lost)))))
    return standing
