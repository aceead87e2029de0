"""`python -m noclobber.dev fixes PATH…`: for each rule how many findings have a verified fix, and why the others have none."""
from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from typing import Any, Sequence


def judged(paths: Sequence[str], config: Any) -> list[tuple[Any, Any]]:
    """(finding, verified Fix or the reason why there is none) of all that is found below the paths; "" where the rule has no fix."""
    from noclobber import engine, verdict
    from noclobber.repair import fixes_for

    workspaces = engine.Workspaces()
    run = engine.run(paths, config, jobs=1, workspaces=workspaces)
    settled = verdict.settle(run.items, whole=run.whole)
    items = {item.result.path: item for item in run.items}
    found: list[tuple[Any, Any]] = []

    def work() -> None:
        by_file: dict[str, list] = defaultdict(list)
        for finding in settled.findings:
            if finding.path in items:
                by_file[finding.path].append(finding)
        for path, findings in by_file.items():
            absolute = os.path.abspath(path)
            with open(absolute, "rb") as stream:
                data = stream.read()
            answers = fixes_for(data, path, items[path].config, findings, workspaces.of(items[path].config, absolute))
            found.extend((finding, finding.fix or answer) for finding, answer in zip(findings, answers))

    engine.on_big_stack(work)
    return found


def table(found: Sequence[tuple[Any, Any]]) -> list[str]:
    """One line a rule: findings, offered (safe, unsafe), then the reasons of the others."""
    rules: dict[tuple[str, str], list] = defaultdict(list)
    for finding, answer in found:
        rules[finding.code, finding.name].append(answer)
    rows = [f"{'rule':<42} {'findings':>8} {'safe':>5} {'unsafe':>6} {'none':>5}"]
    totals = Counter()
    for (code, name), answers in sorted(rules.items()):
        kinds = Counter(answer if isinstance(answer, str) else answer.applicability for answer in answers)
        safe, unsafe = kinds.pop("safe", 0), kinds.pop("unsafe", 0)
        rows.append(f"{code + ' ' + name:<42} {len(answers):>8} {safe:>5} {unsafe:>6} {len(answers) - safe - unsafe:>5}")
        rows += [f"{'':<8}{count:>4}  {reason}" for reason, count in kinds.most_common() if reason]
        totals.update(findings=len(answers), safe=safe, unsafe=unsafe)
    rows.append(f"{'total':<42} {totals['findings']:>8} {totals['safe']:>5} {totals['unsafe']:>6} {totals['findings'] - totals['safe'] - totals['unsafe']:>5}")
    return rows


def show(paths: Sequence[str], diffs: bool, rules: Sequence[str], out: Any = None) -> int:
    """Print the table, and with `diffs` each fix."""
    from noclobber.config import Resolver
    from noclobber.report import patch

    out = out or sys.stdout
    config = Resolver({"preset": "strict", "preview": True, "min-confidence": "low"}, isolated=True, environ={})
    found = [(finding, answer) for finding, answer in judged(paths, config) if not rules or finding.code in rules or finding.name in rules]
    if diffs:
        from dataclasses import replace

        from noclobber.resolve import Source

        for finding, answer in found:
            print(f"{finding.path}:{finding.place.line}: {finding.code} " + (f"none: {answer or 'the rule has no fix'}" if isinstance(answer, str) else f"{answer.applicability}: {answer.title}"), file=out)
            if not isinstance(answer, str):
                with open(finding.path, "rb") as stream:
                    lines = Source.decode(finding.path, stream.read()).lines
                print("\n".join(patch.diff(replace(finding, fix=answer), lambda path: lines)[2:]) + "\n", file=out)
    for row in table(found):
        print(row, file=out)
    return 0
