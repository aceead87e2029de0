"""`noclobber rule` and `noclobber rules`."""

from __future__ import annotations

import sys
from typing import Any

from noclobber.cli.common import OK, Failed, Parser, colored, page_named, print_table


def parser() -> Parser:
    cli = Parser("rule")
    cli.add_argument("names", nargs="*", metavar="CODE|NAME")
    cli.add_argument("--all", action="store_true", help="all rules")
    cli.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    cli.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    return cli


def parser_of_rules() -> Parser:
    cli = Parser("rules")
    cli.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    return cli


def run(arguments: list[str]) -> int:
    from noclobber import knowledge

    options = parser().parse(arguments)
    rules = knowledge.load()
    if options.all:
        pages = sorted(rules.pages.values(), key=lambda page: page.code)
    elif options.names:
        pages = [page_named(rules, name) for name in options.names]
    else:
        raise Failed("which rule? noclobber rule CODE, or --all; `noclobber rules` lists them")
    if options.format == "json":
        import json

        print(json.dumps([_page_data(page) for page in pages], indent=2))
        return OK
    texts = [_page_text(page, options.format) for page in pages]
    text = "\n\n".join(texts)
    from noclobber import report

    rows = [[(line, "bold" if line.startswith("#") else "")] for line in text.split("\n")]
    report.emit(rows, sys.stdout, options.format == "text" and colored(options.color, sys.stdout))
    return OK


def _page_text(page: Any, form: str) -> str:
    facts = [page.level, page.severity, page.status, f"fix: {page.fix}", f"since {page.since}"]
    facts += [f"{name}: {level}, {severity}" for name, (level, severity) in page.variants.items()]
    if form == "markdown":
        return f"# {page.code} {page.slug}\n\n{page.summary}\n\n{' · '.join(facts)}\n\n{page.text.strip()}"
    return f"# {page.code} {page.slug}\n{' · '.join(facts)}\n\n{page.summary}\n\n{page.text.strip()}"


def _page_data(page: Any) -> dict[str, Any]:
    right, wrong = page.trust["right"], page.trust["wrong"]
    return {
        "code": page.code,
        "name": page.slug,
        "summary": page.summary,
        "family": page.family,
        "group": page.group,
        "level": page.level,
        "severity": page.severity,
        "scope": page.scope,
        "status": page.status,
        "since": page.since,
        "fix": page.fix,
        "trust": {"right": right, "wrong": wrong},
        "variants": [
            {"name": name, "level": level, "severity": severity} for name, (level, severity) in page.variants.items()
        ],
        "options": list(page.options),
        "references": list(page.references),
        "text": page.text,
    }


def run_rules(arguments: list[str]) -> int:
    from noclobber import knowledge

    options = parser_of_rules().parse(arguments)
    pages = sorted(knowledge.load().pages.values(), key=lambda page: page.code)
    if options.format == "json":
        import json

        print(
            json.dumps(
                [{key: value for key, value in _page_data(page).items() if key != "text"} for page in pages], indent=2
            )
        )
        return OK
    rows = [("code", "name", "level", "severity", "status", "fix", "trust", "summary")]
    for page in pages:
        right, wrong = page.trust["right"], page.trust["wrong"]
        trust = f"{right}/{right + wrong}" if right + wrong else "-"
        rows.append((page.code, page.slug, page.level, page.severity, page.status, page.fix, trust, page.summary))
    if options.format == "markdown":
        rows.insert(1, ("---",) * 8)
        for row in rows:
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
        return OK
    print_table(rows)
    return OK
