"""Every bad fixture with all its fixes: the text compiles, what was fixed is gone, nothing has come, a second run changes nothing; good files stay."""
from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from helpers import FIXTURES, cases, display, everything_on, whole_run
from noclobber import engine, knowledge, verdict
from noclobber.analyse import Workspace
from noclobber.cli import fixing
from noclobber.fixes import SLUGS

#: Fixtures that must be fixed altogether: none of the findings of the rule is left.
CLEAN = {
    "orm-increment": ["link_hits"], "blind-sql-update": ["meter_drivers"], "unchecked-rowcount": ["recipe_version", "withdraw_entry"],
    "blind-object-put": ["apiary_bucket", "geofence_async", "ranking_resource"], "blind-http-put": ["branch_rules", "seat_map_request", "stock_patch"],
    "stale-retry": ["crossword_loop", "feature_list_s3"], "orm-full-save": ["meter_reading", "weather_mast"], "unset-as-null": ["boat_log", "choir_members"],
    "unchecked-conditional-result": ["menu_core", "tour_queryset", "signal_async"], "retry-without-jitter": ["locker_sleep", "quota_async"],
    "check-then-act": ["parcel_state"], "orm-check-then-act": ["lost_property", "mail_rounds"], "version-not-bumped": ["clause_sqlite", "rota_around"],
}
#: Fixtures in the folder of a rule with a fix. The normal set holds those above and every eighth of the others, `pytest -m corpus` the rest.
BAD = [path for path in cases() if path.stem.endswith("_bad") and path.parent.name in (*SLUGS, "seeds")]
MUST = {FIXTURES / slug / f"{name}_bad.py" for slug, names in CLEAN.items() for name in names}
SWEEP = [path if path in MUST or n % 8 == 0 else pytest.param(path, marks=pytest.mark.corpus) for n, path in enumerate(BAD)]


def key(finding) -> tuple[str, str, str]:
    return finding.name, finding.function, finding.record


@pytest.mark.parametrize("path", SWEEP, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_bad_programs(path: Path) -> None:
    data, name, config = path.read_bytes(), display(path), everything_on()
    pages = knowledge.load().pages

    def work():
        workspace = Workspace(config, buffers={os.path.abspath(name): data})
        item = engine.analyse_item(data, name, config, workspace)
        before = verdict.settle([item]).findings
        done = fixing.fix_file(item, data, lambda one: verdict.settle([one]).findings, workspace, True)
        return before, done, verdict.settle([done.item]).findings

    before, done, after = engine.on_big_stack(work)
    compile(done.data, name, "exec")
    known, left = Counter(map(key, before)), Counter(map(key, after))
    lost = {slug for finding in before for slug in finding.also}  # what had lost to the finding that is gone
    assert not {found: count for found, count in (left - known).items() if found[0] not in lost}
    fixed = Counter(key(finding) for finding, _ in done.applied)
    for found, count in fixed.items():
        assert left[found] <= known[found] - count or found[0] in lost
    for finding, fix in done.applied:
        assert fix.applicability in ("safe", "unsafe") and bool(fix.reason) == (fix.applicability == "unsafe")
        assert pages[finding.name].fix in ("safe", "unsafe") if fix.reason else pages[finding.name].fix == "safe"
        assert fix.applicability == "unsafe" or finding.confidence == "high"
    if path.stem.removesuffix("_bad") in CLEAN.get(path.parent.name, ()):
        assert done.applied and not any(finding.name == path.parent.name for finding in after)
    elif not done.applied:
        assert done.data == data


def test_good_programs_have_nothing_to_fix() -> None:
    """No finding of a rule with a fix stands in a good or near file, so that there is none to offer."""
    good = {str(path.resolve()) for path in cases() if path.stem.endswith(("_good", "_near"))}
    assert len(good) > 200
    assert [] == [(path, finding.name) for path, findings in whole_run().items() if path in good for finding in findings if finding.name in SLUGS]


def test_pages_and_code_name_the_same_rules() -> None:
    """`fix` in the front matter: none, or the most that the rule's fix needs."""
    pages = knowledge.load().pages
    with_fix = {slug for slug, page in pages.items() if page.fix != "none"}
    assert with_fix == {*SLUGS, "unused-suppression"}
    assert {slug for slug in with_fix if pages[slug].fix == "safe"} == {"unused-suppression", "per-attempt-idempotency-key", "stale-retry"}
    assert set(CLEAN) <= set(SLUGS) and all((FIXTURES / slug / f"{name}_bad.py").is_file() for slug, names in CLEAN.items() for name in names)
