"""`python -m noclobber.dev new-rule SLUG CODE` and `generate [--check]`."""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

RULES_TABLE = "<!-- made by noclobber.dev generate -->\n", "<!-- end of the table -->\n"
README_FAMILIES = (
    ("1", "blind write", "a value read from a record comes back in a write that does not ask whether the record changed"),
    ("2", "ORM", "a loaded row is changed from its own old value, or on a test of it, and saved"),
    ("3", "outcome", "a conditional write whose answer nobody looks at, or whose refusal is swallowed"),
    ("4", "retry", "a conflict is retried with what was read before it, without its condition, for ever, or as if it were throttling"),
    ("5", "effect", "mail, payments, messages inside code that runs again or may be rolled back"),
    ("6", "lock", "locks held across the network, unfenced, released without an owner check"),
    ("7", "agent tool", "tools handed to a model that write records without a version, replace them whole, or keep versions and outcomes back"),
)
BEGIN, END = "<!-- made by noclobber.knowledge.tables.markdown() -->\n", "<!-- end -->\n"
FAMILIES = {"1": ("blind write", "write"), "2": ("ORM", "write"), "3": ("outcome", "write"), "4": ("retry", "retry"), "5": ("effect", "effect"),
            "6": ("lock", "lock"), "7": ("agent tool", "tool")}

CHECK = '''\
"""{code}: WHAT IT FINDS, in one sentence."""
from __future__ import annotations

from typing import Iterator

from noclobber.trace.events import Trace
from noclobber.trace.questions.claims import Claim


def check(trace: Trace) -> Iterator[Claim]:
    raise NotImplementedError("{slug}")
'''
PAGE = '''\
+++
code = "{code}"
slug = "{slug}"
summary = "TODO"
family = "{family}"
group = "{group}"
level = "recommended"
severity = "warning"
scope = "module"
trust = {{right = 0, wrong = 0}}
since = "{since}"
status = "preview"
needs = []
fix = "none"
references = []

[[timeline]]
worker = "A"
role = "read"
text = "reads {{value}}"
state = "{{record}}: 100"
+++
'''


def root() -> Path:
    """The checkout that this package runs from."""
    return Path(__file__).resolve().parents[3]


def new_rule(slug: str, code: str, base: Path | None = None, out: Any = None) -> int:
    """Write the check, the page and the fixture folder of a new rule; say what is left. Returns an exit code; writes over nothing."""
    from noclobber import __version__
    from noclobber.knowledge.pages import SECTIONS

    base, out = base or root(), out or sys.stdout
    family = FAMILIES.get(code[3:4])
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) or not re.fullmatch(r"RMW[1-7]\d\d", code) or family is None:
        print("a rule needs a slug such as `torn-write` and a code such as RMW110", file=sys.stderr)
        return 2
    name = slug.replace("-", "_")
    since = ".".join(__version__.split(".")[:2])
    page = PAGE.format(code=code, slug=slug, family=family[0], group=family[1], since=since) + "\n".join(f"## {title}\nTODO\n" for title in SECTIONS)
    files = {f"src/noclobber/checks/{name}.py": CHECK.format(code=code, slug=slug), f"rules/catalog/{slug}.md": page}
    for kind in ("bad", "good", "near"):
        for number in range(1, 4):
            files[f"tests/fixtures/{name}/case{number}_{kind}.py"] = '"""TODO: a program of real size, in the way people write it."""\n'
    taken = [name for name in files if (base / name).exists()]
    used = [path.name for path in (base / "rules" / "catalog").glob("*.md") if f'code = "{code}"' in path.read_text(encoding="utf-8")]
    if taken or used:
        print(f"there is one already: {', '.join(taken or used)}", file=sys.stderr)
        return 2
    for path, text in files.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text, encoding="utf-8")
        print(path, file=out)
    print(f"left to do: \"{slug}\" in SLUGS of src/noclobber/checks/__init__.py, its place in rules/precedence.toml, every TODO", file=out)
    return 0


def generated(base: Path) -> dict[Path, str]:
    """File → its text with the generated part made anew."""
    from noclobber.knowledge import tables

    found = {}
    for name, begin, end, made in (("rules/README.md", BEGIN, END, tables.markdown()), ("README.md", *RULES_TABLE, rules_table())):
        path = base / name
        text = path.read_text(encoding="utf-8")
        start = text.index(begin) + len(begin)
        found[path] = text[:start] + made + text[text.index(end, start):]
    from noclobber import knowledge
    from noclobber.dev.stores import stores_page

    found[base / "docs" / "stores.md"] = stores_page(knowledge.load().vocabulary)
    return found


def rules_table() -> str:
    """The README's table of the rules, by family, from their pages."""
    from noclobber import knowledge
    from noclobber.config import distrusted

    pages = sorted(knowledge.load().pages.values(), key=lambda page: page.code)
    rows = ["| family | what goes wrong | rules |\n|---|---|---|\n"]
    for digit, family, summary in README_FAMILIES:
        names = ", ".join(f"{page.code} `{page.slug}`" for page in pages if page.code[3] == digit)
        rows.append(f"| {digit}xx {family} | {summary} | {names} |\n")
    held = {page.code for page in pages if distrusted(page)}
    strict = ", ".join(page.code for page in pages if page.level == "strict" and page.code[3] != "0" and page.code not in held)
    mixed = ", ".join(page.code for page in pages if any(level != page.level for level, _ in page.variants.values()) and page.code not in held)
    return "".join(rows) + (
        f"\nThese are on with `--strict` or when selected: {strict}. Of {mixed} some cases are on by default and others are not: their pages say which."
        + (
            f" These need `--preview` (or `--strict`), since fewer than nine in ten of their findings on code that was read were right: {', '.join(sorted(held))}."
            if held
            else ""
        )
        + " The others are on by default.\n"
    )


def generate(check: bool, base: Path | None = None, out: Any = None) -> int:
    """Make the generated parts of the repository anew; `check`: only say which differ. Returns an exit code."""
    base, out = base or root(), out or sys.stdout
    stale = {path: text for path, text in generated(base).items() if not path.exists() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        print(f"{path.relative_to(base).as_posix()}: {'not what the tables say' if check else 'made anew'}", file=out)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0
