"""The rule pages: shape, wording, examples that do what they say."""
from __future__ import annotations

import re

import pytest

from helpers import FIXTURES, differences, item_of, lint_bytes, markers, near
from noclobber import knowledge, verdict
from noclobber.finding import ROLES
from noclobber.knowledge.pages import SECTIONS, Page

PAGES = sorted(knowledge.load().pages.values(), key=lambda page: page.code)
RULES = [page for page in PAGES if not page.own]
OWN = [page for page in PAGES if page.own]
FAMILIES = {
    "0": "linter", "1": "blind write", "2": "ORM", "3": "unused outcome", "4": "retries", "5": "side effects", "6": "locks", "7": "agent tools",
}
#: Words of a timeline that finding.interleaving always knows.
PLACEHOLDERS = {"record", "value", "read", "write", "key", "changed", "old", "basis", "once", "twice", "lost"}
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug)
each_rule = pytest.mark.parametrize("page", RULES, ids=lambda page: page.slug)
each_own = pytest.mark.parametrize("page", OWN, ids=lambda page: page.slug)


def blocks(page: Page, title: str) -> list[str]:
    """The python code blocks of one section."""
    return [match[1] for match in _BLOCK.finditer(page.sections.get(title, "") + "\n")]


def name(page: Page, title: str, number: int) -> str:
    return f"{page.slug.replace('-', '_')}_{title.lower().replace(' ', '_')}_{number}.py"


@each
def test_code_and_family(page: Page) -> None:
    assert page.family == FAMILIES[page.code[3]]
    assert knowledge.load().by_code[page.code].slug == page.slug
    assert page.path.endswith(f"rules/catalog/{page.slug}.md")


@each
def test_summary(page: Page) -> None:
    """One line that stands alone: no capital, no full stop, no advice."""
    assert 10 <= len(page.summary) <= 80
    assert page.summary[0].islower()
    assert not page.summary.endswith(".")
    assert "\n" not in page.summary
    assert "race condition" not in page.summary


@each_rule
def test_sections(page: Page) -> None:
    assert tuple(page.sections) == SECTIONS


@each_own
def test_sections_of_own_rules(page: Page) -> None:
    """The linter's own rules have no timeline and no test recipe; what they have stands in the same order."""
    assert {"What it does", "Example", "Use instead", "When it stays silent"} <= set(page.sections)
    assert tuple(page.sections) == tuple(title for title in SECTIONS if title in page.sections)


@each
def test_text(page: Page) -> None:
    assert "\t" not in page.text
    for line in page.text.split("\n"):
        assert line == line.rstrip()
        assert line.lower() not in ("todo", "tbd")


@each_rule
def test_timeline(page: Page) -> None:
    """Four to six steps of two workers; placeholders that are always filled."""
    assert 4 <= len(page.timeline) <= 6
    assert {worker for worker, *_ in page.timeline} == {"A", "B"}
    assert any(role == "write" for _, role, *_ in page.timeline)
    for _, role, text, state in page.timeline:
        assert role == "" or role in ROLES
        assert set(re.findall(r"\{(\w+)\}", text + state)) <= PLACEHOLDERS
        assert not text.endswith(".")


@each_rule
def test_references(page: Page) -> None:
    """At least two sources, the same in the front matter and in the section."""
    assert len(page.references) >= 2
    linked = re.findall(r"\]\((https://[^)\s]+)\)", page.sections["References"])
    assert linked == list(page.references)


@each_rule
def test_how_it_is_lost_shows_two_writers(page: Page) -> None:
    assert page.sections["How the update is lost"].count("\n| ") >= 4


@each_rule
def test_how_to_test_it(page: Page) -> None:
    text = page.sections["How to test it"]
    assert all(word in text for word in ("**Barrier.**", "**Lost response.**", "**Crash between.**"))


@each_rule
def test_examples_are_found(page: Page) -> None:
    """Each bad block has markers, and exactly those are met."""
    examples = blocks(page, "Example")
    assert len(examples) >= 2, "one block for a library is not enough"
    for number, code in enumerate(examples, 1):
        compile(code, name(page, "Example", number), "exec")
        wanted = markers(code)
        assert [marker.slug for marker in wanted if marker.kind == "expect"], code
        others = {marker.slug for marker in wanted} - {page.slug}
        assert page.slug in {marker.slug for marker in wanted}
        assert not others or page.group == "tool" and all(knowledge.load().pages[slug].group == "tool" for slug in others), "contracts of tools may be broken together"
        wrong = differences(lint_bytes(code.encode(), name(page, "Example", number)), wanted)
        assert not wrong, code + "\n".join(wrong)


@each_own
def test_examples_of_own_rules_are_found(page: Page) -> None:
    """The block gives the page's own finding, on the marked line or the comment above it."""
    for number, code in enumerate(blocks(page, "Example"), 1):
        found = verdict.settle([item_of(code.encode(), name(page, "Example", number))]).findings
        wanted = markers(code)
        assert wanted
        for marker in wanted:
            assert page.slug in {found[index].name for index in near(found, marker.line)}, code
        assert {finding.name for finding in found} == {marker.slug for marker in wanted}


@each
def test_repairs_are_silent(page: Page) -> None:
    """No block outside "Example" gives a finding: neither of this rule nor of any other."""
    for title in page.sections:
        if title == "Example":
            continue
        for number, code in enumerate(blocks(page, title), 1):
            compile(code, name(page, title, number), "exec")
            assert not markers(code)
            wrong = differences(lint_bytes(code.encode(), name(page, title, number)), [])
            assert not wrong, code + "\n".join(wrong)


@each_rule
def test_repairs_are_shown(page: Page) -> None:
    assert blocks(page, "Use instead")


@each_rule
def test_fixtures(page: Page) -> None:
    """A rule is as good as its cases: at least three of each kind."""
    folder = FIXTURES / page.slug
    for kind in ("bad", "good", "near"):
        assert len(list(folder.glob(f"*_{kind}.py"))) >= 3, f"{page.slug}: too few {kind} cases"


def test_every_fixture_folder_has_a_page() -> None:
    known = {page.slug for page in PAGES} | {"seeds", "projects"}
    assert {folder.name for folder in FIXTURES.iterdir() if folder.is_dir() and not folder.name.startswith("__")} <= known


def test_pages_say_whether_there_is_a_fix() -> None:
    from noclobber.fixes import SLUGS

    assert {page.slug for page in knowledge.load().pages.values() if page.fix != "none" and not page.own} == set(SLUGS)
