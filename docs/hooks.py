"""mkdocs: a page for each rule, made from rules/catalog when the site is built, so that nothing is written twice."""
from __future__ import annotations

import re
from typing import Any

MARKER = re.compile(r"[ \t]*# (?:expect|alt|todo): [a-z0-9, -]+$", re.M)


def trust(page: Any) -> str:
    """What was measured on code that nobody had looked at."""
    right, wrong = page.trust["right"], page.trust["wrong"]
    return f"{right} of {right + wrong} findings that were read were right" if right + wrong else "not measured yet"


def rule_page(page: Any) -> str:
    """The markdown of one rule's page."""
    facts = f"| code | level | severity | status | fix | since | measured |\n|---|---|---|---|---|---|---|\n| {page.code} | {page.level} | {page.severity} | {page.status} | {page.fix} | {page.since} | {trust(page)} |"
    return f"# {page.code} {page.slug}\n\n{page.summary[:1].upper() + page.summary[1:]}.\n\n{facts}\n\n{MARKER.sub('', page.text.strip())}\n"


def rule_index(pages: list[Any]) -> str:
    """The table of all rules."""
    rows = [f"| [{p.code}]({p.slug}.md) | {p.slug} | {p.level} | {p.severity} | {trust(p)} | {p.summary} |".replace("`|`", "or") for p in pages]
    return "# Rules\n\n| code | name | level | severity | measured | finds |\n|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """mkdocs calls this with the files of docs/site."""
    from mkdocs.structure.files import File

    from noclobber import knowledge

    pages = sorted(knowledge.load().pages.values(), key=lambda page: page.code)
    files.append(File.generated(config, "rules/index.md", content=rule_index(pages)))
    for page in pages:
        files.append(File.generated(config, f"rules/{page.slug}.md", content=rule_page(page)))
    config.not_in_nav = None
    return files
