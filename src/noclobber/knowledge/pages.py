"""Rule pages: `rules/catalog/<slug>.md`, TOML between `+++` lines, then fixed sections in a fixed order."""

from __future__ import annotations

from noclobber.knowledge.errors import KnowledgeError, Record, TomlLines, nearest, parse_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

LEVELS = ("recommended", "strict")
SEVERITIES = ("error", "warning", "info")
SCOPES = ("function", "module", "project")
STATUSES = ("preview", "stable")
#: The least that a rule's fix needs; a `safe` one may be unsafe in some places.
FIXES = ("none", "safe", "unsafe")
GROUPS = ("write", "retry", "effect", "lock", "tool", "own")
#: Roles of a timeline's steps: those of finding.ROLES (a test compares them) or "".
STEP_ROLES = (
    "read",
    "witness",
    "change",
    "write",
    "lock",
    "unlock",
    "loop",
    "conflict",
    "transaction",
    "call",
    "effect",
    "key",
    "policy",
)
SECTIONS = (
    "What it does",
    "How the update is lost",
    "Example",
    "Use instead",
    "When it stays silent",
    "Known problems",
    "How to test it",
    "Fix safety",
    "References",
)
#: Pages of the linter's own rules (0xx) need these only.
OWN_SECTIONS = ("What it does", "Example")

_STRINGS = ("code", "slug", "summary", "family", "group", "level", "severity", "scope", "since", "status", "fix")
_WORDS = {"group": GROUPS, "level": LEVELS, "severity": SEVERITIES, "scope": SCOPES, "status": STATUSES, "fix": FIXES}
_OTHERS = ("trust", "needs", "options", "references", "variant", "timeline")
_REQUIRED = ("code", "slug", "summary", "family", "group", "level", "severity", "scope", "since", "status")


class Page(Record):
    """One rule. `trust`: {"right": n, "wrong": n} findings read; `needs`: sets of kinds; `variants`: name → (level,
    severity); `timeline`: (worker, role, text, state); `text`: everything after the front matter; `path`: as
    'rules/catalog/x.md'."""

    __slots__ = (
        "code",
        "slug",
        "summary",
        "family",
        "group",
        "level",
        "severity",
        "scope",
        "trust",
        "since",
        "status",
        "needs",
        "fix",
        "options",
        "references",
        "variants",
        "timeline",
        "text",
        "path",
        "_sections",
    )

    def __init__(
        self,
        *,
        code: str,
        slug: str,
        summary: str,
        family: str,
        group: str,
        level: str,
        severity: str,
        scope: str,
        since: str,
        status: str,
        trust: dict[str, int] | None = None,
        needs: Iterable[Iterable[str]] = (),
        fix: str = "none",
        options: tuple[str, ...] = (),
        references: tuple[str, ...] = (),
        variants: dict[str, tuple[str, str]] | None = None,
        timeline: tuple[tuple[str, str, str, str], ...] = (),
        text: str = "",
        path: str = "",
    ) -> None:
        self.code = code
        self.slug = slug
        self.summary = summary
        self.family = family
        self.group = group
        self.level = level
        self.severity = severity
        self.scope = scope
        self.trust = trust or {"right": 0, "wrong": 0}
        self.since = since
        self.status = status
        self.needs = tuple(frozenset(kinds) for kinds in needs)
        self.fix = fix
        self.options = options
        self.references = references
        self.variants = variants or {}
        self.timeline = timeline
        self.text = text
        self.path = path
        self._sections: dict[str, str] | None = None

    @property
    def sections(self) -> dict[str, str]:
        """Title → markdown without the heading, in the page's order."""
        if self._sections is None:
            self._sections = {title: text for title, _, text in split_sections(self.text.split("\n"), 0, self.path)}
        return self._sections

    @property
    def own(self) -> bool:
        return self.group == "own"

    def judged(self, variant: str = "") -> tuple[str, str]:
        """Return (level, severity) of the variant, or the page's own."""
        return self.variants.get(variant, (self.level, self.severity))


def from_data(data: dict[str, Any]) -> Page:
    """Build a Page from the plain dict that `parse` made."""
    return Page(**data)


def group_of(code: str) -> str:
    """Return the group that a code belongs to (DESIGN §8, Fingerprint)."""
    hundred = code[3:4]
    if hundred == "4":
        return "write" if code[3:] in ("401", "402", "403") else "retry"
    return {"0": "own", "1": "write", "2": "write", "3": "write", "5": "effect", "6": "lock", "7": "tool"}.get(
        hundred, ""
    )


def parse(text: str, path: str) -> dict[str, Any]:
    """Return the page as plain data (fields of Page; `needs` as tuples). `path`: as it is to be named, ending in
    `<slug>.md`.

    Raises KnowledgeError with the file's own line.
    """
    lines = text.split("\n")
    if not lines or lines[0].strip() != "+++":
        raise KnowledgeError(path, 1, 'a page begins with a line "+++" and its front matter')
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "+++"), 0)
    if not end:
        raise KnowledgeError(path, 1, 'the front matter is never closed with a line "+++"')
    # One empty line in place of the opening +++ keeps the line numbers of the file.
    front_text = "\n".join(["", *lines[1:end]])
    front = parse_toml(front_text, path)
    reader = _Front(front, path, TomlLines(front_text))
    data = reader.read()
    body = "\n".join(lines[end + 1 :]).strip("\n") + "\n"
    _check_sections(lines, end + 1, path, data["code"].startswith("RMW0"))
    data["text"] = body
    data["path"] = path
    return data


class _Front:
    def __init__(self, front: dict, path: str, lines: TomlLines) -> None:
        self.front, self.path, self.lines = front, path, lines

    def error(self, key: str, message: str, *more: str) -> KnowledgeError:
        return KnowledgeError(self.path, self.lines.key(1, key, *more) if key else 1, message)

    def read(self) -> dict[str, Any]:
        front = self.front
        for key in front:
            if key not in _STRINGS and key not in _OTHERS:
                line = self.lines.table(key) or self.lines.key(1, key)
                raise KnowledgeError(self.path, line, f'unknown field "{key}"{nearest(key, (*_STRINGS, *_OTHERS))}')
        for key in _STRINGS:
            if key in front and not isinstance(front[key], str):
                raise self.error(key, f'"{key}" must be a string')
        for key in _REQUIRED:
            if not front.get(key):
                raise KnowledgeError(self.path, 1, f'the front matter lacks "{key}"')
        for key, words in _WORDS.items():
            if key in front and front[key] not in words:
                raise self.error(key, f'"{front[key]}" is no value of "{key}"{nearest(front[key], words)}')
        code, slug = front["code"], front["slug"]
        if not (len(code) == 6 and code.startswith("RMW") and code[3:].isascii() and code[3:].isdigit()):
            raise self.error("code", f'"{code}" is no code: RMW and three digits')
        stem = self.path.replace("\\", "/").rpartition("/")[2].removesuffix(".md")
        if slug != stem:
            raise self.error("slug", f'the slug "{slug}" is not the file\'s name "{stem}"')
        group = group_of(code)
        if front["group"] != group:
            raise self.error("group", f'{code} belongs to the group "{group}", not "{front["group"]}"')
        data = {key: front.get(key, "none" if key == "fix" else "") for key in _STRINGS}
        data["trust"] = self._trust()
        data["needs"] = self._needs(own=code.startswith("RMW0"))
        data["options"] = self._strings("options")
        data["references"] = self._strings("references")
        data["variants"] = {
            row["name"]: (row.get("level", front["level"]), row.get("severity", front["severity"]))
            for row in self._tables("variant", ("name",), {"name": None, "level": LEVELS, "severity": SEVERITIES})
        }
        data["timeline"] = tuple(
            (row["worker"], row.get("role", ""), row["text"], row.get("state", ""))
            for row in self._tables(
                "timeline",
                ("worker", "text"),
                {"worker": ("A", "B"), "role": ("", *STEP_ROLES), "text": None, "state": None},
            )
        )
        return data

    def _strings(self, key: str) -> tuple[str, ...]:
        value = self.front.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(key, f'"{key}" must be a list of strings')
        return tuple(value)

    def _trust(self) -> dict[str, int]:
        value = self.front.get("trust", {"right": 0, "wrong": 0})
        if (
            not isinstance(value, dict)
            or set(value) != {"right", "wrong"}
            or not all(type(n) is int and n >= 0 for n in value.values())
        ):
            raise self.error("trust", '"trust" must be {right = 0, wrong = 0}')
        return {"right": value["right"], "wrong": value["wrong"]}

    def _needs(self, *, own: bool) -> tuple[tuple[str, ...], ...]:
        value = self.front.get("needs", [])
        if not isinstance(value, list) or not all(
            isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds) for kinds in value
        ):
            raise self.error("needs", '"needs" must be a list of lists of kinds: [["read", "write"]]')
        if not value and not own:
            raise KnowledgeError(self.path, 1, 'the front matter lacks "needs"')
        from noclobber.knowledge.tables import TRIAGE_KINDS

        for kinds in value:
            for kind in kinds:
                if kind not in TRIAGE_KINDS:
                    raise self.error("needs", f'unknown kind "{kind}"{nearest(kind, TRIAGE_KINDS)}', f'"{kind}"')
        return tuple(tuple(sorted(set(kinds))) for kinds in value)

    def _tables(
        self, key: str, required: tuple[str, ...], words: dict[str, tuple[str, ...] | None]
    ) -> list[dict[str, str]]:
        rows = self.front.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self.error(key, f'"{key}" is an array of tables: write [[{key}]]')
        for number, row in enumerate(rows):
            start = self.lines.table(key, number)
            for name in required:
                if not row.get(name):
                    raise KnowledgeError(self.path, start, f'[[{key}]] lacks "{name}"')
            for name, value in row.items():
                line = self.lines.key(start, name)
                if name not in words:
                    raise KnowledgeError(self.path, line, f'unknown field "{name}" in [[{key}]]{nearest(name, words)}')
                if not isinstance(value, str):
                    raise KnowledgeError(self.path, line, f'"{name}" must be a string')
                allowed = words[name]
                if allowed is not None and value not in allowed:
                    raise KnowledgeError(self.path, line, f'"{value}" is no value of "{name}"{nearest(value, allowed)}')
        return rows


def split_sections(lines: list[str], start: int, path: str) -> Iterator[tuple[str, int, str]]:
    """Yield (title, line number, text) of every `## ` heading from index `start` on, outside code blocks.

    Raises KnowledgeError for a code block without an end.
    """
    title, heading, fence, opened = "", start, "", 0
    for number in range(start, len(lines)):
        line = lines[number]
        stripped = line.lstrip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]).strip():
                fence = ""
        elif stripped.startswith(("```", "~~~")):
            fence, opened = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))], number + 1
        elif line.startswith("## "):
            if title:
                yield title, heading + 1, "\n".join(lines[heading + 1 : number]).strip("\n")
            title, heading = line[3:].strip(), number
    if fence:
        raise KnowledgeError(path, opened, f"the code block is never closed with {fence}")
    if title:
        yield title, heading + 1, "\n".join(lines[heading + 1 :]).strip("\n")


def _check_sections(lines: list[str], start: int, path: str, own: bool) -> None:
    found: list[str] = []
    for title, line, text in split_sections(lines, start, path):
        if title not in SECTIONS:
            raise KnowledgeError(path, line, f'unknown section "{title}"{nearest(title, SECTIONS)}')
        if title in found:
            raise KnowledgeError(path, line, f'a second section "{title}"')
        if found and SECTIONS.index(title) < SECTIONS.index(found[-1]):
            raise KnowledgeError(
                path, line, f'the section "{title}" stands too late; the order is: {" · ".join(SECTIONS)}'
            )
        if not text.strip():
            raise KnowledgeError(path, line, f'the section "{title}" is empty')
        found.append(title)
    for needed in OWN_SECTIONS if own else SECTIONS:
        if needed not in found:
            raise KnowledgeError(path, start + 1, f'the section "{needed}" is missing')
