"""What a finding is. Plain, immutable, picklable data: no analysis, no output.

`trace` and `checks` work with sites (opaque handles); `engine` asks `trace.positions` for their places and builds
`Finding`s; `verdict` fills severity, confidence, `also`, `suppressed`; `report` only prints.
Lines and columns are 1-based; columns count characters (code points); end columns are exclusive (DESIGN §8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ROLES = (
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


@dataclass(frozen=True, slots=True)
class Place:
    path: str  # relative to the working directory, with '/'
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Related:
    role: str  # one of ROLES
    place: Place
    message: str
    source: str = ""  # the stripped text of the place's first line


@dataclass(frozen=True, slots=True)
class Guard:
    """One line of the guard ledger: something that was met and accepted as no guard, and why."""

    place: Place
    kind: str  # e.g. "transaction.atomic", "threading.Lock", "WHERE tenant_id"
    why_not: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the interleaving that loses the update."""

    worker: str  # "A" | "B"
    line: int | None
    text: str
    state: str


@dataclass(frozen=True, slots=True)
class Edit:
    start: tuple[int, int]  # line, column
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    applicability: str  # "safe" | "unsafe"
    title: str
    edits: tuple[Edit, ...]
    reason: str = ""  # why it is unsafe: what it changes


class Unfixed(str):
    """The reason why there is no fix ("": the rule has none). `line`: the line to be written by hand, in the code's own names, or ""."""

    line: str

    def __new__(cls, reason: str, line: str = "") -> "Unfixed":
        made = super().__new__(cls, reason)
        made.line = line
        return made


#: Reasons that lower confidence by one step each (DESIGN §2, Confidence); verdict does the arithmetic.
DOUBTS = {
    "parameter": "the record came in as a parameter and no caller is known",
    "maybe-same": "the two keys are not provably the same",
    "name-only": "the receiver is known by its name only",
    "class-unknown": "the class of the record was not found",
    "handed-over": "the record was handed to an unresolved call in between",
    "session-unknown": "the session that commits is perhaps not the one that the row was loaded in",
    "sql-unread": "the SQL text could not be read",
    "incomplete": "a helper's summary is incomplete",
    "operator": "only a command that an operator starts leads here",
}
#: Reasons that set confidence outright.
CAPS = {"process-lock": "low", "other-column": "low", "pattern-only": "low", "memoised": "medium", "session-lock": "medium", "one-off": "low"}
#: The same reasons in words.
CAP_REASONS = {
    "other-column": "the tested column is none that the write changes",
    "process-lock": "the lock guards one process only",
    "pattern-only": "the call is known by a name pattern only",
    "memoised": "the store is a cache",
    "session-lock": "the lock's owner can lose it while it works",
    "one-off": "only a command that is run once leads here",
}
CONFIDENCES = ("low", "medium", "high")
SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """`name`, `code`: the rule. `place`: the write, one line. `variant`: name of the page's variant or "".

    `doubts`: keys of DOUBTS and CAPS. `obj`, `commit`: what verdict groups by beside the write's place.
    `fingerprint_parts`: (path, qualified function, record text, normalised write); verdict adds the rule's group.
    `statement`: first and last line of the statement that holds the write (pragmas count on any of them), and its
    decorator/def lines for findings about a function.
    """

    name: str
    path: str
    place: Place
    function: str
    record: str
    message: str
    related: tuple[Related, ...] = ()
    guards: tuple[Guard, ...] = ()
    help: str = ""
    teach: str = ""
    doubts: frozenset[str] = frozenset()
    variant: str = ""
    obj: str = ""
    commit: str = ""
    statement: tuple[int, int] = (0, 0)
    values: tuple[tuple[str, str], ...] = ()  # names for the timeline's placeholders: record, value, read, write …
    census: str = ""
    fix: Fix | None = None
    unfixed: str = ""  # why there is no fix although its rule has one
    write_text: str = ""
    # filled by verdict
    code: str = ""
    also: tuple[str, ...] = ()
    severity: str = ""
    confidence: str = ""
    level: str = ""
    interleaving: tuple[Step, ...] = ()
    fingerprint: str = ""
    suppressed: tuple[str, str, int] | None = None  # kind, reason, line
    url: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """RMW001 or RMW009: a file (or one check on it) that could not be analysed."""

    code: str
    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class FileResult:
    """What the analysis of one file gives, before verdict. `stats`: counters for --profile."""

    path: str
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    stats: dict[str, float] = field(default_factory=dict)


# --- the interleaving -------------------------------------------------------------------------------------------------


def interleaving(timeline: Sequence[tuple[str, str, str, str]], finding: Finding) -> tuple[Step, ...]:
    """The page's timeline told with the code's own names.

    `timeline`: (worker, role, text, state) of each step; the role may be "". `{name}` in text and state is taken from
    `finding.values`, then from the related place of that role, then from the words of `_WORDS`; other braces are code
    and stay. A step with a role takes the line of the first related place with that role; a place in another file is
    named in the text instead, since a step's line is a line of the finding's own file.
    """
    places: dict[str, Related] = {}
    for related in finding.related:
        places.setdefault(related.role, related)
    values = {"record": finding.record or "the record", **_WORDS}
    for role, related in places.items():
        if related.source and role in ("read", "write", "key", "lock", "effect"):
            values[role] = f"`{related.source}`"
    if finding.write_text and "\n" not in finding.write_text:
        values.setdefault("write", f"`{finding.write_text}`")
    values["write"] = values.get("write", "writes the record")
    values["read"] = values.get("read", "reads the record")
    values.update((name, value) for name, value in finding.values if value)
    steps = []
    for worker, role, text, state in timeline:
        line: int | None = None
        text = fill(text, values)
        if role == "write":
            line = finding.place.line
        elif role in places:
            place = places[role].place
            if place.path == finding.place.path:
                line = place.line
            else:
                text = f"{text} ({place.path}:{place.line})"
        steps.append(Step(worker, line, text, fill(state, values)))
    return tuple(steps)


#: What a placeholder says when the finding does not know it.
_WORDS = {
    "value": "the value", "key": "the key", "changed": "the new value", "old": "100", "basis": "100", "once": "90", "twice": "80", "lost": "80, should be 70",
}


def fill(text: str, values: dict[str, str]) -> str:
    """`text` with each `{name}` that `values` knows replaced, once, from left to right; any other brace stays as it
    is."""
    out = []
    at = 0
    while True:
        start = text.find("{", at)
        end = text.find("}", start + 1) if start >= 0 else -1
        if end < 0:
            out.append(text[at:])
            return "".join(out)
        name = text[start + 1 : end]
        if name in values:
            out.append(text[at:start] + values[name])
            at = end + 1
        else:
            out.append(text[at : start + 1])
            at = start + 1


# --- the fingerprint --------------------------------------------------------------------------------------------------


def fingerprint(finding: Finding, group: str, path: str | None = None) -> str:
    """16 hex digits that survive unrelated edits, moved lines and a formatter (DESIGN §8).

    Made of path (`path`: relative to the project's root, so that it does not depend on the working directory; default
    the finding's), qualified function, the record's source text, the normalised write and the rule's group.
    """
    import hashlib

    write = finding.write_text or next((r.source for r in finding.related if r.role == "write"), "") or finding.message
    parts = (
        finding.path if path is None else path,
        finding.function,
        normalised(finding.record),
        normalised(write),
        group,
    )
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def content_hash(finding: Finding, group: str) -> str:
    """12 hex digits of record, write and group: the finding wherever its function and file have gone."""
    import hashlib

    write = finding.write_text or next((r.source for r in finding.related if r.role == "write"), "") or finding.message
    digest = hashlib.blake2b(digest_size=6)
    for part in (normalised(finding.record), normalised(write), group):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def normalised(code: str) -> str:
    """Code without what a formatter changes: blanks, line breaks, comments, trailing commas, the kind of quotes.

    Text that is no Python is only stripped of repeated blanks.
    """
    import ast
    import io
    import tokenize

    words: list[str] = []
    try:
        # In brackets line breaks and indentation mean nothing to the tokenizer.
        for token in tokenize.generate_tokens(io.StringIO(f"({code}\n)").readline):
            if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER):
                continue
            if token.type == tokenize.ERRORTOKEN:  # Python 3.12 raises instead
                return " ".join(code.split())
            text = token.string
            if token.type == tokenize.STRING:
                try:
                    text = repr(ast.literal_eval(text))
                except (ValueError, SyntaxError):
                    pass  # an f-string of Python < 3.12
            elif text in (")", "]", "}") and words and words[-1] == ",":
                words.pop()
            words.append(text)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return " ".join(code.split())
    return " ".join(words[1:-1])


# --- what went wrong ------------------------------------------------------------------------------------------------


def told(error: BaseException) -> str:
    """An exception on one line: type, message, and the innermost place in noclobber (for an RMW009)."""
    trace = error.__traceback__
    where = ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        place = name.rpartition("/noclobber/")[2]
        if place != name and place != "engine.py":  # the engine only calls
            where = f" ({place}, line {trace.tb_lineno})"
        trace = trace.tb_next
    text = " ".join(str(error).split())
    return type(error).__name__ + (f", {text}" if text else "") + where
