"""SQL text → what a statement reads, writes, locks and tests.

`parse(template, dialect)` takes the text as the walk evaluated it: literal pieces (str) and unknown parts (int k = the
k-th unknown value, a *hole*). A quote- and comment-aware tokenizer first turns every placeholder into `:p0, :p1 …` and
every hole into the identifier `__h0__`, repairs places where a hole stands for more than one operand (a SET list, a
WHERE tail, an operator), and only then asks sqlglot, which is imported on demand. What could not be seen because of a
hole is told by the `open_*` flags.

No text makes `parse` raise: what sqlglot refuses becomes a statement with the verb "unread", read as far as tokens
allow.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

__all__ = ["Expr", "Name", "ParamRef", "Predicate", "Statement", "looks_like_sql", "parse"]

Name = tuple  # of str | int, a normalised name: lower-case text and hole indexes, ("public.accounts",) or (0, ".acc")
ColumnName = "str | Name"  # lower-case text, or a Name when it has holes

MAX_LENGTH = 20_000  # longer text is left unread: sqlglot's cost and recursion grow with it
LONG = 1_500  # tokens; a longer statement that two dialects refuse is left unread
MAX_DEPTH = 30  # nesting of brackets and CASE; sqlglot needs about 20 Python frames for each


# ------------------------------------------------------------------------------------------------------- the API's data


@dataclass(frozen=True, slots=True)
class ParamRef:
    """One placeholder. `position` is 0-based: the order of appearance in the whole text, for `$3`, `?3` and `:3` the
    number - 1, and -1 when the number is a hole (`${n}`). `name` is None for positional ones and for names made of
    holes (style "hole").
    """

    position: int
    name: str | None
    style: str  # 'qmark' | 'format' | 'pyformat' | 'named' | 'numeric' | 'hole'


@dataclass(frozen=True, slots=True)
class Expr:
    """One SQL expression, casts and brackets taken off for `form`."""

    form: str  # 'param' 'hole' 'literal' 'column' 'arith' 'excluded' 'now' 'function' 'case' 'subquery' 'other'
    refs: tuple[ParamRef, ...] = ()  # placeholders in it, in order of the text
    holes: tuple[int, ...] = ()
    columns: tuple = ()  # column names in it (lower; a Name when it has holes), subqueries included, excluded.x not
    self_columns: tuple = ()  # those of them that belong to the statement's own main table
    column: str | Name | None = None  # 'column', 'excluded', 'arith': the column
    table: str | None = None  # 'column': the qualifier as written, lower case
    value: object = None  # 'literal'
    function: str = ""  # 'function': lower-case name
    sign: str = ""  # 'arith': '+' '-' '*' '/' '%' '||'; '?' when the operator is a hole
    operand: Expr | None = None  # 'arith': the other side, when it is one operation

    @property
    def params(self) -> tuple[int, ...]:
        """Positions of the placeholders."""
        return tuple(ref.position for ref in self.refs)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the named placeholders."""
        return tuple(ref.name for ref in self.refs if ref.name is not None)


@dataclass(frozen=True, slots=True)
class Predicate:
    """One conjunct of a condition, turned so that the statement's own column stands on the left.

    op: '=' '!=' '<' '<=' '>' '>=' 'in' 'not in' 'is' 'is not' 'like' 'not like' 'between' 'true' 'false' (a bare
    boolean) 'exists' 'not exists', other operators by their lower-case name, '?' when the operator is a hole.
    """

    column: str | Name | None  # None: no column, or several on the left side
    op: str
    value: Expr
    left: Expr  # form 'column' when the column stands alone
    in_or: bool = False  # under OR or NOT: it need not hold
    table: str | None = None  # the column's qualifier as written
    own: bool = True  # the column belongs (or may belong) to the main table
    inner: Statement | None = None  # the subquery of EXISTS, IN (SELECT …), = (SELECT …)

    @property
    def refs(self) -> tuple[ParamRef, ...]:
        return self.left.refs + self.value.refs

    @property
    def must(self) -> bool:
        return not self.in_or


@dataclass(frozen=True, slots=True)
class Statement:
    verb: str  # select update delete insert replace merge begin commit rollback isolation lock_table call other unread
    keyword: str = ""  # the first keyword, lower; for 'unread' the best guess of the verb
    name: str = ""  # of a CTE, for a statement in `inner`
    table: Name = ()  # the main table
    alias: str = ""
    other_tables: tuple[Name, ...] = ()  # joins, USING, UPDATE … FROM, subqueries, CTEs
    columns: tuple[tuple[str | Name | None, Expr], ...] = ()  # the rows that come out: SELECT list or RETURNING
    star: bool = False
    aggregate: bool = False  # an aggregate function and no GROUP BY, or SELECT EXISTS(…)
    exists: bool = False  # SELECT EXISTS(…): table and where are those of the subquery
    distinct: bool = False
    grouped: bool = False
    limit_one: bool = False
    lock: str = ""  # '' 'update' 'no key update' 'share' 'key share' (of this SELECT itself)
    lock_of: tuple[str, ...] = ()
    nowait: bool = False
    skip_locked: bool = False
    advisory: tuple[str, ...] = ()  # locking functions called anywhere in the statement, lower case
    advisory_unlock: tuple[str, ...] = ()
    advisory_key: Expr | None = None  # the arguments of the first of them
    sets: tuple[tuple[str | Name | None, Expr], ...] = ()  # SET, inserted columns, MERGE's matched UPDATE
    rows: int = 0  # INSERT: number of VALUES rows; 0: DEFAULT VALUES or SELECT
    conflict: str | None = None  # None 'nothing' 'update' 'replace'
    conflict_keys: tuple = ()
    conflict_sets: tuple[tuple[str | Name | None, Expr], ...] = ()
    conflict_where: tuple[Predicate, ...] = ()  # ON CONFLICT … WHERE; MERGE: WHEN MATCHED AND …
    where: tuple[Predicate, ...] = ()  # MERGE: its ON
    on: tuple[Predicate, ...] = ()  # conditions of inner joins
    returning: bool = False
    isolation: str = ""  # lower case: 'serializable', 'repeatable read', …
    mode: str = ""  # BEGIN: 'immediate' …; LOCK TABLE: 'exclusive', 'write', …
    procedure: str = ""  # CALL, EXEC
    params: tuple[ParamRef, ...] = ()  # all placeholders of the statement
    holes: tuple[int, ...] = ()
    inner: tuple[Statement, ...] = ()  # CTEs and subqueries, one level; see walk()
    open_columns: bool = False  # a hole may hide more output columns
    open_sets: bool = False  # a hole may hide more assignments
    open_where: bool = False  # a hole may hide more predicates
    open_tail: bool = False  # a hole at the end may hide FOR UPDATE, ON CONFLICT, further predicates
    dialect: str | None = None  # the one that read it

    @property
    def tables(self) -> tuple[Name, ...]:
        return ((self.table,) if self.table else ()) + self.other_tables

    @property
    def writes(self) -> bool:
        verb = self.keyword if self.verb == "unread" else self.verb
        return verb in _WRITE_VERBS

    @property
    def is_open(self) -> bool:
        """A hole may hide a guard: a predicate, a lock, a conflict clause."""
        return self.open_where or self.open_tail

    def walk(self) -> Iterator[Statement]:
        """This statement and all inner ones, outermost first."""
        stack = [self]
        while stack:
            statement = stack.pop()
            yield statement
            stack.extend(reversed(statement.inner))

    def strongest_lock(self) -> str:
        """The strongest row lock that this statement or an inner one takes."""
        return max((s.lock for s in self.walk()), key=_LOCK_RANK.__getitem__)

    @property
    def overwrites(self) -> tuple[tuple[str | Name | None, Expr], ...]:
        """The assignments that replace values of an existing row: SET, the update part of an upsert, the columns of
        REPLACE.
        """
        if self.verb == "insert":
            return self.conflict_sets
        return () if self.verb == "merge" and self.conflict != "update" else self.sets

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All conditions on the row that is written or read."""
        return self.where + self.conflict_where

    def assigns(self, column: str) -> Expr | None:
        """What the statement stores in that column; of an upsert the update part goes before the inserted value."""
        for pairs in (self.conflict_sets, self.sets):
            for name, value in pairs:
                if name == column:
                    return value
        return None

    def predicate_on(self, column: str) -> Predicate | None:
        """The first condition on that own column that must hold, else one under OR or NOT, else None."""
        found = None
        for predicate in self.predicates:
            if predicate.column == column and predicate.own:
                if predicate.must:
                    return predicate
                found = found or predicate
        return found

    def key_predicates(self, is_version: Callable[[str], bool] | None = None) -> tuple[Predicate, ...]:
        """The conditions that say which row: equalities on own, bare columns that must hold and that the statement
        does not itself write (RULES.md, guard); `is_version(column)` takes out version-like columns. MERGE and
        upserts: also see `conflict_keys`.
        """
        written = {name for name, _ in self.overwrites}
        return tuple(
            p
            for p in self.where
            if p.must
            and p.own
            and p.column is not None
            and p.op in ("=", "in", "is")
            and p.left.form in ("column", "hole")
            and p.column not in written
            and not p.value.self_columns
            and not (is_version is not None and isinstance(p.column, str) and is_version(p.column))
        )

    def guard_predicates(self, is_version: Callable[[str], bool] | None = None) -> tuple[Predicate, ...]:
        """The conditions that must hold and test a column that the statement itself writes, or a version-like one."""
        written = {name for name, _ in self.overwrites}
        return tuple(
            p
            for p in self.predicates
            if p.must
            and p.own
            and (
                any(c in written for c in p.left.self_columns + p.value.self_columns + (p.column,))
                or (is_version is not None and isinstance(p.column, str) and is_version(p.column))
            )
        )


_WRITE_VERBS = frozenset(("update", "delete", "insert", "replace", "merge"))
_LOCK_RANK = {"": 0, "key share": 1, "share": 2, "no key update": 3, "update": 4}
_DIALECTS = {
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "cockroachdb": "postgres",
    "redshift": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "oracle": "oracle",
    "oracledb": "oracle",
    "tsql": "tsql",
    "mssql": "tsql",
}

# --------------------------------------------------------------------------------------------------------------- tokens
# Inside the reader a hole is \ue000<k>\ue001: no word character, so that `%s{tail}` and `:id{tail}` end where they
# should.

_HOLE = "\ue000(\\d+)\ue001"
_HOLE_RE = re.compile(_HOLE)
_HOLE_PARTS = re.compile(r"__h(\d+)__")
_LETTER = r"A-Za-z_\u0080-\ud7ff\uf900-\uffff"
_H = "\ue000\\d+\ue001"


def _token_pattern(mysql: bool) -> re.Pattern[str]:
    plain = r"'(?:[^'\\]|\\.|'')*'?" if mysql else r"'(?:[^']|'')*'?"
    comment = r"--[^\n]*|/\*" + (r"|\#[^\n]*" if mysql else "")
    return re.compile(
        rf"""
      (?P<space>\s+)
    | (?P<comment>{comment})
    | (?P<estring>[eE]'(?:[^'\\]|\\.|'')*'?)
    | (?P<string>(?:[nNxXbB]|[uU]&)?{plain})
    | (?P<quoted>"(?:[^"]|"")*"?|`[^`]*`?)
    | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    | (?P<cast>::|:=|\\:|%%)
    | (?P<jsonop>\?\|(?!\|)|\?&(?!&))
    | (?P<param>%\((?P<pyname>[^)]*)\)[a-zA-Z]|%[sbtd](?!\w)|\?\d*|\$(?:\d+|{_H})|(?<![:\w\\\]]):(?P<name>(?:\w|{_H})+))
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![{_LETTER}])|\.\d+|\d+)
    | (?P<word>[@$]{{0,2}}(?:[{_LETTER}]|{_H})(?:[\w$\#]|{_H})*)
    | (?P<op>.)
    """,
        re.X | re.S,
    )


_PATTERNS = {True: _token_pattern(True), False: _token_pattern(False)}


class _Token:
    __slots__ = ("kind", "text", "low", "space", "ref", "hole")

    def __init__(self, kind: str, text: str, space: bool = True, ref: int = -1, hole: int = -1):
        self.kind = kind  # word quoted string number param hole op
        self.text = text
        self.low = text.lower() if kind == "word" else text
        self.space = space
        self.ref = ref  # param: index in the reader's list of placeholders
        self.hole = hole

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text!r}>"


def _join(template: Iterable[str | int]) -> str:
    out = []
    for piece in template:
        if isinstance(piece, str):
            # Private-use characters of the text itself must not look like holes.
            out.append(
                piece.replace("\ue000", " ").replace("\ue001", " ") if "\ue000" in piece or "\ue001" in piece else piece
            )
        else:
            out.append(f"\ue000{int(piece)}\ue001")
    return "".join(out)


def _comment_end(text: str, at: int) -> int:
    """The end of the block comment that starts at `at`; they nest (PostgreSQL)."""
    depth, i = 1, at + 2
    while depth:
        close = text.find("*/", i)
        if close < 0:
            return len(text)
        inner = text.find("/*", i, close)
        if inner >= 0:
            depth, i = depth + 1, inner + 2
        else:
            depth, i = depth - 1, close + 2
    return i


def _tokens(text: str, dialect: str | None, limit: int = -1) -> tuple[list[_Token], list[tuple[str | None, str, int]]]:
    """Significant tokens, and (name, style, number) for each placeholder. `limit`: stop after so many tokens (a cheap
    look).
    """
    match = _PATTERNS[dialect == "mysql"].match
    tokens: list[_Token] = []
    refs: list[tuple[str | None, str, int]] = []
    i, end, space = 0, len(text), False
    while i < end:
        found = match(text, i)
        kind, piece, i = found.lastgroup, found.group(), found.end()
        if kind in ("pyname", "name"):
            kind = "param"
        if kind == "space":
            space = True
            continue
        if kind == "comment":
            if piece == "/*":
                i = _comment_end(text, i - 2)
            space = True
            continue
        token = None
        if kind == "word":
            if _HOLE_RE.fullmatch(piece):
                token = _Token("hole", piece, space, hole=int(piece[1:-1]))
            elif dialect == "sqlite" and piece[0] in "@$" and "\ue000" not in piece:
                token = _Token("param", piece, space, len(refs))
                refs.append((piece.lstrip("@$"), "named", 0))
            else:
                token = _Token("word", piece, space)
        elif kind == "param":
            if piece[-1] == "\ue001" and piece[0] == ":" and piece[1] != "\ue000":
                # `:id{tail}`: the hole belongs to the name only where a name made of parts is likely, `:id_{i}`,
                # `(:id{i}, `
                cut = piece.index("\ue000")
                if piece[cut - 1] != "_" and piece.count("\ue000") == 1 and text[i : i + 1] not in (",", ")"):
                    i -= len(piece) - cut
                    piece = piece[:cut]
                    found = match(text[:i], found.start())
            style = _param_style(found, piece, tokens)
            if style is None:  # modulo, a jsonb operator or an array slice
                token = _Token("op", piece[0], space)
                i = found.start() + 1
            else:
                token = _Token("param", piece, space, len(refs))
                refs.append(style)
        elif kind == "estring":
            token = _Token("string", piece[1:].replace("\\'", "''"), space)
        elif kind == "string":
            token = _Token("string", piece[piece.index("'") :], space)
        elif kind == "dollar":
            close = text.find(piece, i)
            body = text[i:close] if close >= 0 else text[i:]
            i = close + len(piece) if close >= 0 else end
            token = _Token("string", "'" + body.replace("'", "''") + "'", space)
        elif kind == "cast":
            token = _Token("op", {"%%": "%", "\\:": ":"}.get(piece, piece), space)
        elif kind == "jsonop":
            token = _Token("op", piece, space)
        elif kind == "op" and piece == "[":
            name = _bracketed(text, i, dialect, tokens)
            if name is not None:
                token = _Token("quoted", "`" + name + "`", space)
                i += len(name) + 1
        if token is None:
            token = _Token(kind, piece, space)
        tokens.append(token)
        space = False
        if 0 <= limit <= len(tokens):
            break
    return tokens, refs


def _bracketed(text: str, at: int, dialect: str | None, tokens: list[_Token]) -> str | None:
    """The name in [brackets] (SQL Server, SQLite); None where the bracket is an array subscript."""
    close = text.find("]", at)
    if close < 0 or dialect in ("postgres", "mysql", "oracle"):
        return None
    name = text[at:close]
    if not name or name[0].isdigit() or "[" in name or "\n" in name or "`" in name:
        return None
    if tokens and _ends_operand(tokens, len(tokens) - 1):
        return None
    return None if tokens and tokens[-1].low == "array" else name


def _param_style(found: re.Match[str], piece: str, tokens: list[_Token]) -> tuple[str | None, str, int] | None:
    head = piece[0]
    if head == "%":
        if piece[1] == "(":
            name = found.group("pyname")
            return (None, "hole", 0) if "\ue000" in name else (name, "pyformat", 0)
        if piece[1] != "s" and tokens and _ends_operand(tokens, len(tokens) - 1):
            return None
        return None, "format", 0
    if head == "?":
        if len(piece) > 1:
            return (None, "numeric", int(piece[1:])) if len(piece) < 7 else None
        return None, "qmark", 0
    if head == "$":
        if piece[1] == "\ue000":
            return None, "hole", -1
        return (None, "numeric", int(piece[1:])) if len(piece) < 7 else None
    name = found.group("name")
    if "\ue000" in name:
        return None, "hole", 0
    if name.isdecimal():
        # `[1:2]` is a slice: its colon follows an operand, `(:1` and `= :1` do not.
        if len(name) > 6 or (tokens and _ends_operand(tokens, len(tokens) - 1) and tokens[-1].kind != "hole"):
            return None
        return None, "numeric", int(name)
    return name, "named", 0


def _number_params(tokens: list[_Token], refs: list[tuple[str | None, str, int]]) -> list[ParamRef]:
    """Decide which `?` are jsonb operators, then number the placeholders. Returns the ParamRefs by `_Token.ref`."""
    styles = {style for _, style, _ in refs}
    other_style = bool(styles & {"format", "pyformat"}) or any(t.kind == "param" and t.text[0] == "$" for t in tokens)
    out: list[ParamRef] = []
    order = 0
    for i, token in enumerate(tokens):
        if token.kind != "param":
            continue
        name, style, number = refs[token.ref]
        if style == "qmark" and (other_style or _is_json_operator(tokens, i)):
            token.kind, token.ref = "op", -1
            continue
        if style == "numeric":
            position = number - 1
        elif number < 0:
            position = -1
        else:
            position, order = order, order + 1
        token.ref = len(out)
        out.append(ParamRef(position, name, style))
    return out


def _is_json_operator(tokens: list[_Token], i: int) -> bool:
    if i == 0 or i + 1 >= len(tokens) or not _ends_operand(tokens, i - 1):
        return False
    following = tokens[i + 1]
    return following.kind in ("string", "param") or following.low == "array"


# ------------------------------------------------------------------------------------------------ words and their roles

_KEYWORDS = frozenset("""
    select distinct all from where and or not in is like ilike between exists set values into on using join left
    right inner outer full cross natural lateral group order by having limit offset fetch for returning union
    intersect except as case when then else update delete insert replace merge with recursive interval matched do
    conflict duplicate only window top collate escape similar to any some output first next glob regexp rlike match
    upsert ignore
""".split())
_CLAUSES = frozenset("""
    where from group order having limit offset fetch for returning union intersect except on set values and or join
    left right inner outer cross full natural using when then else as window lock output select option with is not
    in like ilike between
""".split())
_SPLIT_NEXT = _CLAUSES | {")", ","}
_OPERAND_STARTS = frozenset(("case", "not", "exists", "interval", "any", "left", "right", "replace"))


def _ends_operand(tokens: list[_Token], i: int) -> bool:
    token = tokens[i]
    if token.kind == "word":
        if token.low not in _KEYWORDS:
            return True
        return i > 0 and tokens[i - 1].text == "."
    if token.kind == "op":
        if token.text == "*":
            return i == 0 or tokens[i - 1].low in ("select", "distinct", "returning", ",", ".", "(")
        return token.text in (")", "]")
    return True


def _starts_operand(token: _Token) -> bool:
    if token.kind == "word":
        return token.low not in _KEYWORDS or token.low in _OPERAND_STARTS
    return token.kind != "op" or token.text == "("


# first keyword → what may follow it (None: anything). "" stands for the end of the text, "h" for a hole, "n" for a
# name.
_TRANSACTION_WORDS = frozenset(("", ";", "transaction", "tran", "work", "h"))
_FIRST: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(
        """
            select explain analyze vacuum pragma attach detach copy grant revoke show describe truncate savepoint
            release listen notify unlisten do prepare deallocate discard reset comment reindex checkpoint call exec
            execute declare unlock optimize use handler upsert kill
        """.split(),
        None,
    ),
    "with": None,
    "update": None,
    "delete": None,
    "merge": None,
    "insert": None,
    "values": frozenset(("(", "h", "row", "n")),
    "begin": _TRANSACTION_WORDS | set("""
            immediate exclusive deferred isolation read concurrent not try select update insert delete merge if
            declare for while execute
        """.split()),
    "start": frozenset(("transaction",)),
    "commit": _TRANSACTION_WORDS | {"and", "prepared"},
    "end": _TRANSACTION_WORDS | {"and"},
    "abort": _TRANSACTION_WORDS | {"and"},
    "rollback": _TRANSACTION_WORDS | {"to", "and", "prepared"},
    "set": None,
    "lock": None,
    "replace": None,
    "refresh": frozenset(("materialized",)),
    "create": frozenset("""
            table index unique view or temp temporary trigger function procedure schema database type sequence
            materialized virtual unlogged extension user role policy rule global local if aggregate domain event
            operator publication subscription server cast collation h clustered nonclustered columnstore fulltext
            spatial foreign statistics synonym package
        """.split()),
}
_FIRST["drop"] = _FIRST["alter"] = _FIRST["create"] | {
    "system",
    "session",
    "owned",
    "constraint",
    "column",
    "primary",
    "user",
}
_STATEMENT_STARTS = frozenset(("select", "update", "delete", "insert", "replace", "merge", "with", "upsert", "values"))


def _looks(tokens: list[_Token]) -> bool:
    """The first tokens of the text are those of a SQL statement."""
    i = 0
    while i < len(tokens) and tokens[i].text in ("(", ";"):
        i += 1
    if i >= len(tokens) or tokens[i].kind != "word":
        return False
    first = tokens[i].low
    if first not in _FIRST:
        return False
    rest = tokens[i + 1 : i + 4]
    following = rest[0].low if rest else ""
    if rest and rest[0].kind == "hole":
        following = "h"
    allowed = _FIRST[first]
    if allowed is not None:
        return following in allowed or (bool(rest) and "n" in allowed and rest[0].kind in ("word", "quoted"))
    third = rest[1].low if len(rest) > 1 else ""
    if first in ("replace", "insert"):
        if following in ("into", "or", "ignore", "overwrite", "low_priority", "high_priority", "delayed", "all", "h"):
            return True
        return (
            bool(rest)
            and rest[0].kind in ("word", "quoted")
            and third in ("(", "values", "select", "set", ".", "default")
        )
    if first == "lock":
        return following in ("table", "tables", "h") or (bool(rest) and third in ("", ";", "in", "."))
    if first == "set":
        return following in (
            "transaction",
            "session",
            "local",
            "global",
            "constraints",
            "role",
            "names",
            "schema",
            "h",
        ) or third in ("=", "to", ".")
    if first == "with":
        return following in ("recursive", "h") or third in ("as", "(") or (bool(rest) and rest[0].kind == "quoted")
    if first in ("update", "delete", "merge", "call", "exec", "use", "kill", "show"):
        return bool(rest) and (rest[0].kind in ("word", "quoted", "hole") or following == "[")
    return True


def looks_like_sql(text: str | Iterable[str | int]) -> bool:
    """Cheap: the first keyword (after comments and brackets) starts a SQL statement. Takes text or a template; no
    sqlglot.
    """
    joined = text if isinstance(text, str) else _join(text)
    head = joined[:4000]
    tokens, _ = _tokens(head, None, limit=12)
    while tokens and tokens[0].kind == "hole" and len(tokens) > 1:  # f"{explain}SELECT …", f"{WITH} UPDATE …"
        tokens = tokens[1:]
    return _looks(tokens)


# ---------------------------------------------------------------------------------------------------------------- parse


def parse(template: str | Iterable[str | int], dialect: str | None = None) -> tuple[Statement, ...]:
    """Read SQL.

    template: the text, or a tuple of literal pieces (str) and unknown parts (int). dialect: 'sqlite', 'postgres',
    'mysql', 'oracle', 'tsql' or None; other names count as None. Returns one Statement for each `;`-separated
    statement, () for empty text, one of verb 'other' for text that is no SQL. Raises nothing. Cached.
    """
    key = (template,) if isinstance(template, str) else tuple(template)
    known = _DIALECTS.get(dialect or "")
    try:
        return _parse(key, known)
    except RecursionError:
        # The caller may itself stand deep in the stack: what is found must not depend on that, so try once on a fresh
        # one.
        result: list[tuple[Statement, ...]] = []
        thread = threading.Thread(target=_parse_into, args=(key, known, result), daemon=True)
        thread.start()
        thread.join()
        return result[0] if result else (Statement("unread"),)


def _parse_into(key: tuple, dialect: str | None, result: list) -> None:
    try:
        result.append(_parse(key, dialect))
    except RecursionError:
        result.append(_unread_text(key, dialect))


@lru_cache(maxsize=8192)
def _parse(template: tuple, dialect: str | None) -> tuple[Statement, ...]:
    text = _join(template)
    if len(text) > MAX_LENGTH:
        return _unread_text(template, dialect)
    tokens, raw_refs = _tokens(text, dialect)
    if not any(t.text != ";" for t in tokens):
        return ()
    head = [t for t in tokens if t.text != ";"]
    while head and head[0].kind == "hole":
        head = head[1:]
    known_start = _looks(head)
    refs = _number_params(tokens, raw_refs)
    holes = frozenset(p for p in template if not isinstance(p, str))
    if not known_start:
        if tokens[0].kind == "hole" or _HOLE_RE.search(tokens[0].text):  # the statement's verb itself is unknown
            guessed = _guess(tokens, refs, holes)
            return (replace(guessed, open_columns=True, open_sets=True, open_where=True, open_tail=True),)
        return (Statement("other"),)
    out = []
    block = False
    for part in _split(tokens):
        block = block or (part[0].low == "begin" and len(part) > 1 and part[1].low in _BLOCK_STARTS)
        if block and part[0].low == "end":
            continue
        statement = _statement(part, refs, holes, dialect)
        if statement is not None:
            out.append(statement)
    return tuple(out)


def _unread_text(template: tuple, dialect: str | None) -> tuple[Statement, ...]:
    """What a look at the first part of a text says that is not read further."""
    tokens, raw_refs = _tokens(_join(template)[:2000], dialect)
    refs = _number_params(tokens, raw_refs)
    if not _looks(tokens):
        return (Statement("other"),)
    return (_guess(tokens, refs, frozenset(p for p in template if not isinstance(p, str))),)


def _split(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Split at `;`. The body of CREATE TRIGGER / PROCEDURE / FUNCTION stays with its statement up to its END."""
    part: list[_Token] = []
    body = depth = 0
    for token in tokens:
        low = token.low if token.kind == "word" else ""
        if part and part[0].low == "create" and low in ("trigger", "procedure", "function", "package"):
            body = 1
        if body and low in ("begin", "case"):
            depth += 1
        elif body and low == "end":
            depth -= 1
        if token.text == ";" and token.kind == "op" and depth <= 0:
            if part:
                yield part
            part, body, depth = [], 0, 0
        else:
            part.append(token)
    if part:
        yield part


_BLOCK_STARTS = frozenset("select update insert delete merge if declare for while execute try".split())
_ISOLATIONS = ("serializable", "repeatable read", "read committed", "read uncommitted", "snapshot")


def _isolation(tokens: list[_Token]) -> str:
    text = " ".join(t.text.strip("'\"").lower().replace("-", " ") for t in tokens)
    return next((level for level in _ISOLATIONS if level in text), "")


def _statement(
    tokens: list[_Token], refs: list[ParamRef], holes: frozenset[int], dialect: str | None
) -> Statement | None:
    # A hole in front of the verb is a comment, EXPLAIN or a WITH clause that is not in sight.
    lead = 0
    while lead < len(tokens) and tokens[lead].kind == "hole":
        lead += 1
    tokens = tokens[lead:]
    while tokens and tokens[0].low == "begin" and len(tokens) > 1 and tokens[1].low in _BLOCK_STARTS:
        tokens = tokens[1:]  # a PL/SQL or T-SQL block opens no transaction
        if tokens[0].low == "try":
            tokens = tokens[1:]
    if not tokens:
        return None
    own_refs = tuple(refs[t.ref] for t in tokens if t.kind == "param")
    own_holes = _holes_of(tokens)
    i = 0
    while i < len(tokens) and tokens[i].text == "(":
        i += 1
    first = tokens[i].low if i < len(tokens) and tokens[i].kind == "word" else ""
    low = [t.low if t.kind == "word" else t.text for t in tokens[:8]]
    following = low[1] if len(low) > 1 else ""
    base = Statement("other", keyword=first, params=own_refs, holes=own_holes)
    locks, unlocks = _advisory_names(tokens)
    if locks or unlocks:
        base = replace(base, advisory=locks, advisory_unlock=unlocks)

    if first in _STATEMENT_STARTS and first != "values":
        return _read(tokens, base, refs, holes, dialect, bool(lead))
    if first == "begin" or (first == "start" and following == "transaction"):
        mode = next((w for w in low[1:3] if w in ("immediate", "exclusive", "deferred", "concurrent")), "")
        return replace(base, verb="begin", mode=mode, isolation=_isolation(tokens), open_tail=bool(own_holes))
    if first == "commit" or (first == "end" and following in ("", "transaction", "work", "tran", "and")):
        return replace(base, verb="commit")
    if first in ("rollback", "abort"):
        if "to" in low[1:4] or "prepared" in low[1:2]:  # to a savepoint: the transaction goes on
            return base
        return replace(base, verb="rollback")
    if first == "set":
        words = [t.low for t in tokens[1:]]
        if "isolation" in words or any("isolation" in w for w in words[:3]):
            return replace(base, verb="isolation", isolation=_isolation(tokens), open_tail=bool(own_holes))
        return base
    if first == "lock":
        return _lock_table(tokens, base, holes)
    if first in ("call", "exec", "execute"):
        name = "".join(_plain(t) for t in _name_tokens(tokens, 1))
        return replace(base, verb="call", procedure=name.lower())
    if first == "truncate":
        at = 2 if following == "table" else 1
        return replace(base, table=_name_at(tokens, at, holes))
    return base


def _holes_of(tokens: Iterable[_Token]) -> tuple[int, ...]:
    found: list[int] = []
    for token in tokens:
        if "\ue000" in token.text:
            for match in _HOLE_RE.finditer(token.text):
                if int(match.group(1)) not in found:
                    found.append(int(match.group(1)))
    return tuple(found)


_LOCK_FUNCTIONS = frozenset("""
    pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_try_advisory_lock
    pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared get_lock sp_getapplock
""".split())
_UNLOCK_FUNCTIONS = frozenset("""
    pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all release_lock release_all_locks
    sp_releaseapplock
""".split())


def _advisory_names(tokens: list[_Token]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    locks, unlocks = [], []
    for i, token in enumerate(tokens):
        if token.kind != "word":
            continue
        low = token.low
        if low in _LOCK_FUNCTIONS:
            locks.append(low)
        elif low in _UNLOCK_FUNCTIONS:
            unlocks.append(low)
        elif low in ("request", "release") and i > 1 and tokens[i - 2].low == "dbms_lock":
            (locks if low == "request" else unlocks).append("dbms_lock." + low)
    return tuple(locks), tuple(unlocks)


def _plain(token: _Token) -> str:
    """A name token's text without quotes, holes in their output form."""
    text = token.text
    if token.kind == "quoted":
        text = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    return _HOLE_RE.sub(r"__h\1__", text)


def _name_tokens(tokens: list[_Token], at: int) -> list[_Token]:
    """The tokens of the dotted name at `at`."""
    out: list[_Token] = []
    while at < len(tokens):
        token = tokens[at]
        if token.kind in ("word", "quoted", "hole"):
            out.append(token)
            if at + 1 < len(tokens) and tokens[at + 1].text == ".":
                out.append(tokens[at + 1])
                at += 2
                continue
        break
    return out


def _name_at(tokens: list[_Token], at: int, holes: frozenset[int]) -> Name:
    return _parts("".join(_plain(t) for t in _name_tokens(tokens, at)), holes)


def _parts(text: str, holes: frozenset[int]) -> Name:
    """'acc___h0__' → ('acc_', 0); '' → ()."""
    text = text.lower()
    if "__h" not in text:
        return (text,) if text else ()
    out: list[str | int] = []
    for n, piece in enumerate(_HOLE_PARTS.split(text)):
        if n % 2 and int(piece) in holes:
            out.append(int(piece))
            continue
        if n % 2:
            piece = f"__h{piece}__"
        if piece:
            if out and isinstance(out[-1], str):
                out[-1] += piece
            else:
                out.append(piece)
    return tuple(out)


def _column_name(text: str, holes: frozenset[int]) -> str | Name | None:
    parts = _parts(text, holes)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _lock_table(tokens: list[_Token], base: Statement, holes: frozenset[int]) -> Statement:
    """LOCK [TABLE] a, b IN x MODE (PostgreSQL, Oracle); LOCK TABLES a WRITE, b AS x READ (MySQL)."""
    i = 2 if len(tokens) > 1 and tokens[1].low in ("table", "tables") else 1
    names: list[Name] = []
    mode = ""
    nowait = False
    while i < len(tokens):
        token = tokens[i]
        if token.low == "only":
            i += 1
            continue
        if token.low == "in" and i + 1 < len(tokens):
            words = []
            i += 1
            while i < len(tokens) and tokens[i].low != "mode":
                words.append(tokens[i].low)
                i += 1
            mode = " ".join(words)
        elif token.low == "nowait":
            nowait = True
        elif token.low in ("read", "write") and names:
            if mode != "write":
                mode = token.low
        elif token.text != "," and (i == 0 or tokens[i - 1].low in ("table", "tables", "lock", "only", ",")):
            name = _name_tokens(tokens, i)
            if name:
                names.append(_parts("".join(_plain(t) for t in name), holes))
                i += len(name) - 1
        i += 1
    if not mode and tokens[1:2] and tokens[1].low != "tables":
        mode = "access exclusive"  # PostgreSQL's default
    names = [n for n in names if n]
    return replace(
        base,
        verb="lock_table",
        table=names[0] if names else (),
        other_tables=tuple(names[1:]),
        mode=mode,
        nowait=nowait,
    )


# --------------------------------------------------------------------------------------- repairs before sqlglot sees it


class _Flags:
    __slots__ = ("columns", "sets", "where", "tail", "operator", "lock", "verb", "conflict", "cursor")

    def __init__(self) -> None:
        self.columns = self.sets = self.where = self.tail = self.operator = self.cursor = False
        self.lock = ""  # from SQL Server's table hints
        self.verb = ""  # 'replace'
        self.conflict: str | None = None

    def all_open(self) -> None:
        self.columns = self.sets = self.where = self.tail = True


def _word(text: str) -> _Token:
    return _Token("word", text)


def _op(text: str) -> _Token:
    return _Token("op", text)


def _unglue(tokens: list[_Token]) -> list[_Token]:
    """Words that literal text and holes make together: a name stays one word, a clause that follows a word is parted
    from it.
    """
    out: list[_Token] = []
    for i, token in enumerate(tokens):
        if token.kind != "word" or "\ue000" not in token.text:
            out.append(token)
            continue
        pieces = [p for p in re.split(f"({_H})", token.text) if p]
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        nxt = "" if following is None else following.low
        dotted = nxt == "." or (i > 0 and tokens[i - 1].text == ".")
        literal = [p for p in pieces if p[0] != "\ue000"]
        part_all = False
        if any(p.lower() in _KEYWORDS for p in literal):
            part_all = True
        elif not literal:
            part_all = not (dotted or nxt in ("set", "values", "(", "=")) or (i > 0 and _ends_operand(tokens, i - 1))
        cut_tail = (
            not part_all
            and not dotted
            and pieces[-1][0] == "\ue000"
            and len(literal) == 1
            and pieces[0] is literal[0]
            and not literal[0].endswith(("_", "$", "#"))
            and (following is None or nxt in _SPLIT_NEXT or nxt == ")")
        )
        if not part_all and not cut_tail:
            out.append(token)
            continue
        for n, piece in enumerate(pieces):
            space = token.space if n == 0 else True
            if piece[0] == "\ue000":
                out.append(_Token("hole", piece, space, hole=int(piece[1:-1])))
            else:
                out.append(_Token("word", piece, space))
    return out


_UPDLOCKS = frozenset(("updlock", "xlock", "tablockx"))
_HINTS = _UPDLOCKS | frozenset(
    "nolock holdlock rowlock tablock paglock readpast serializable readcommitted readcommittedlock nowait index".split()
)
_HEAD_MODIFIERS = frozenset("low_priority high_priority delayed quick ignore only".split())


def _rewrite(tokens: list[_Token], flags: _Flags) -> list[_Token]:
    """Spellings that only one dialect knows, written in the common form, what they mean kept in `flags`."""
    out: list[_Token] = []
    depth = 0
    i, n = 0, len(tokens)
    seen_verb = ""
    while i < n:
        token = tokens[i]
        low = token.low if token.kind == "word" else token.text
        previous = out[-1].low if out else ""
        nxt = tokens[i + 1].low if i + 1 < n else ""
        if low == "(":
            depth += 1
        elif low == ")":
            depth -= 1
        starts = (
            token.kind == "word"
            and previous in ("", "(", ")")
            and low in ("insert", "replace", "upsert", "update", "delete")
        )
        if starts and previous == "(" and nxt == "(":  # the functions replace(…), insert(…)
            starts = False
        if starts and low in ("replace", "insert") and nxt == "(":
            starts = False
        if starts:
            if depth == 0:
                seen_verb = low
            i += 1
            conflict = verb = None
            while i < n and tokens[i].kind == "word" and (tokens[i].low in _HEAD_MODIFIERS or tokens[i].low == "or"):
                if tokens[i].low == "or" and i + 1 < n:
                    i += 1
                    if tokens[i].low == "replace":
                        conflict, verb = "replace", "replace"
                    elif tokens[i].low == "ignore":
                        conflict = "nothing"
                elif tokens[i].low == "ignore":
                    conflict = "nothing"
                i += 1
            if i + 1 < n and tokens[i].low == "top" and low in ("update", "delete", "insert"):
                i += 2
                if tokens[i - 1].text == "(":
                    while i < n and tokens[i - 1].text != ")":
                        i += 1
            if low in ("replace", "upsert"):
                conflict, verb = "replace", "replace"
            if depth == 0 and low != "update" and low != "delete":
                flags.conflict, flags.verb = conflict, verb or ""
            if low in ("insert", "replace", "upsert"):
                out += [_word("INSERT"), _word("INTO")]
                if i < n and tokens[i].low in ("into", "overwrite"):
                    i += 1
            elif low == "delete":
                out.append(_word("DELETE"))
                name = _name_tokens(tokens, i)
                after = tokens[i + len(name)].low if name and i + len(name) < n else ""
                if name and name[0].low != "from" and after not in ("from", ",", "."):
                    out.append(_word("FROM"))  # DELETE t WHERE …
            else:
                out.append(_word("UPDATE"))
            continue
        if low == "with" and nxt == "(" and i + 2 < n and tokens[i + 2].low in _HINTS and previous not in ("", "("):
            i += 2
            while i < n and tokens[i].text != ")":
                if tokens[i].low in _UPDLOCKS:
                    flags.lock = "update"
                elif tokens[i].kind == "hole":
                    flags.tail = True
                i += 1
            i += 1
            continue
        if (
            low == "only"
            and previous in ("from", "join", ",")
            and i + 1 < n
            and tokens[i + 1].kind in ("word", "quoted", "hole")
            and nxt not in _CLAUSES
        ):
            i += 1
            continue
        if low == "current" and nxt == "of" and previous in ("where", "and"):
            out.append(_word("TRUE"))  # the row of an open cursor
            flags.cursor = True
            i += 3
            continue
        if low == "into" and depth == 0 and seen_verb and any(t.low == "returning" for t in out[-40:]):
            break  # RETURNING x INTO :y ends the statement (Oracle)
        if low in ("in", "values") and i + 1 < n and tokens[i + 1].kind in ("hole", "param") and previous != ".":
            after = tokens[i + 2].text if i + 2 < n else ""
            if after != "(" and after != ".":
                if low == "values":
                    flags.sets = True
                out += [token, _op("("), tokens[i + 1], _op(")")]
                i += 2
                continue
        out.append(token)
        i += 1
    return out


_BOUNDARIES = frozenset(("where", "and", "or", "not", "on", "having", "when", "("))


def _untested(out: list[_Token]) -> bool:
    """The last operand in `out` is a bare name right after WHERE, AND, OR …: no operator has come yet."""
    i = len(out) - 1
    while i >= 0 and (
        out[i].kind in ("quoted", "hole")
        or out[i].text == "."
        or (out[i].kind == "word" and out[i].low not in _KEYWORDS)
    ):
        i -= 1
    return 0 <= i < len(out) - 1 and out[i].low in _BOUNDARIES


def _repair(tokens: list[_Token], flags: _Flags) -> list[_Token]:
    """Give every hole a place where an identifier can stand, or drop it and say in `flags` what it may have held."""
    out: list[_Token] = []
    stack: list[str] = []
    clause = ""
    qualifiers = {
        tokens[i].text for i in range(len(tokens) - 1) if tokens[i].kind == "hole" and tokens[i + 1].text == "."
    }
    i, n = 0, len(tokens)
    while i < n:
        token = tokens[i]
        if token.kind == "word":
            low = token.low
            previous = out[-1].low if out else ""
            if previous == ".":
                pass
            elif low in (
                "select",
                "where",
                "set",
                "having",
                "limit",
                "offset",
                "returning",
                "output",
                "values",
                "into",
                "when",
                "group",
                "order",
            ):
                clause = low
            elif low in ("using", "join"):
                clause = "from"
            elif low == "from" and previous != "distinct" and clause != "where":
                clause = "from"
            elif low == "on":
                nxt = tokens[i + 1].low if i + 1 < n else ""
                clause = "conflict" if nxt in ("conflict", "duplicate") else "on"
            elif low in ("for", "fetch"):
                clause = "for"
            elif low in ("update", "delete") and clause != "for":
                clause = "conflict" if previous in ("do", "key") else low
            out.append(token)
            i += 1
            continue
        if token.kind != "hole":
            if token.text == "(":
                stack.append(clause)
                if clause not in ("where", "on", "having"):
                    clause = "into" if clause == "into" else "("
            elif token.text == ")" and stack:
                clause = stack.pop()
            out.append(token)
            i += 1
            continue
        # a run of holes without anything between them
        j = i
        while j < n and tokens[j].kind == "hole":
            j += 1
        run = tokens[i:j]
        following = tokens[j] if j < n else None
        at_end = following is None or following.text == ")"
        previous = out[-1] if out else None
        loose = run
        if (
            following is not None
            and following.text in (".", "(")
            and previous is not None
            and not (following.text == "(" and _ends_operand(out, len(out) - 1))
        ):
            loose = []  # a qualifier or a function's name
            out += run
        elif following is not None and following.text == "." and previous is not None:
            loose, kept = run[:-1], run[-1:]
        elif previous is None or not _ends_operand(out, len(out) - 1):
            if clause == "for":
                loose = run
            elif (
                clause == "select"
                and previous is not None
                and previous.low == "select"
                and len(run) == 1
                and (following is not None and _starts_operand(following) and following.text != "(")
            ):
                i = j  # SELECT {distinct} a
                continue
            else:
                loose = run[1:]
                _place(run[0], clause, out, following if not loose else None, bool(loose), flags)
                if len(run) == 3 and clause in ("where", "on", "having") and out[-1] is run[0] and _untested(out):
                    flags.operator = True
                    out += [_word("GLOB"), run[2]]
                    loose = []
        if loose:
            _drop(loose, clause, out, following, at_end, flags, qualifiers)
        if (
            following is not None
            and following.text == "."
            and loose
            and loose is not run
            and len(loose) < len(run)
            and run[-1] not in out
        ):
            out += kept
        i = j
    return out


def _place(hole: _Token, clause: str, out: list[_Token], following: _Token | None, more: bool, flags: _Flags) -> None:
    """A hole where an operand is due."""
    previous = out[-1].low if out else ""
    out.append(hole)
    ends = following is None and not more
    if clause == "set" and previous in ("set", ","):
        if more or ends or following.low in _CLAUSES or following.text in (",", ")"):
            flags.sets = True
            if ends:
                flags.where = flags.tail = True
        elif following is not None and _starts_operand(following):
            flags.sets = True
            out.append(_op(","))
    elif clause in ("where", "on", "having") and previous in _BOUNDARIES and following is not None:
        if (
            _starts_operand(following)
            and following.text != "("
            and following.low not in ("not",)
            or following.low == "exists"
        ):
            flags.where = True
            out.append(_word("AND"))
    elif clause == "select" and previous == "select" and (ends or (more and following is None)):
        flags.columns = True
        if ends:
            flags.where = flags.tail = True
    elif clause in ("update", "delete", "into") and ends and previous in ("update", "into"):
        flags.all_open()


def _drop(
    run: list[_Token],
    clause: str,
    out: list[_Token],
    following: _Token | None,
    at_end: bool,
    flags: _Flags,
    qualifiers: set[str],
) -> None:
    """Holes after a complete operand: an alias, an operator, or the rest of a clause."""
    nxt = "" if following is None else following.low
    operand_next = following is not None and _starts_operand(following)
    if clause in ("where", "on", "having", "when"):
        if len(run) == 1 and operand_next:
            if _untested(out):
                flags.operator = True
                out.append(_word("GLOB"))
            else:
                flags.where = True
                out.append(_word("AND"))
            return
        if len(run) == 2 and _untested(out):
            flags.operator = True
            out += [_word("GLOB"), run[1]]
            return
        flags.where = True
        flags.tail = flags.tail or at_end
    elif clause == "set":
        if len(run) == 1 and operand_next:
            flags.operator = True
            out.append(_op("+"))
            return
        flags.sets = True
        if at_end:
            flags.where = flags.tail = True
        elif following is not None and following.low not in _CLAUSES and following.text != ",":
            out.append(_op(","))
    elif clause == "select":
        flags.columns = True
        if at_end:
            flags.where = flags.tail = True
    elif clause in ("returning", "output"):
        flags.columns = True
    elif clause in ("from", "update", "delete", "using"):
        if run[0].text in qualifiers:
            out.append(run[0])
            run = run[1:]
            if not run:
                return
        if nxt in ("set", "on", "join", "left", "right", "inner", "cross", "full", ",", "as", "using"):
            return
        flags.tail = True
        if nxt != "where":
            flags.where = True
        if clause == "update" and at_end:
            flags.sets = True
    elif clause == "into":
        if nxt == "(":
            return  # INSERT INTO t {alias} (…)
        flags.sets = True
        flags.tail = flags.tail or at_end
    elif clause == "order":
        direction = len(run) == 1 and bool(out) and out[-1].kind == "hole"
        if at_end and not direction:
            flags.tail = True
    elif clause in ("limit", "offset", "group", "conflict", "values"):
        if at_end:
            flags.tail = True


def _render(tokens: list[_Token], dialect: str | None) -> str:
    out = []
    for token in tokens:
        kind = token.kind
        if kind == "param":
            out.append(f" :p{token.ref} ")
        elif kind == "hole":
            out.append(f" __h{token.hole}__ ")
        elif kind == "quoted" and token.text[0] == "`" and dialect != "mysql":
            out.append(' "' + _plain(token).replace('"', '""') + '" ')
        else:
            text = token.text
            if "\ue000" in text:
                text = _HOLE_RE.sub(r"__h\1__", text)
            out.append(" " + text if token.space else text)
    return "".join(out)


# -------------------------------------------------------------------------------------------------- sqlglot and reading

_sqlglot = None


def _load_sqlglot():
    global _sqlglot
    if _sqlglot is None:
        import logging

        import sqlglot
        import sqlglot.expressions

        logging.getLogger("sqlglot").setLevel(
            logging.CRITICAL
        )  # it warns on every statement it keeps as a plain command
        _sqlglot = sqlglot
    return _sqlglot


def _depth(tokens: list[_Token]) -> int:
    depth = deepest = run = 0
    for token in tokens:
        low = token.low
        if low in ("(", "[", "case"):
            depth += 1
        elif low in (")", "]", "end"):
            depth -= 1
        run = run + 1 if low in ("not", "-", "+", "~", "!", "with", "(", "select", "exists") else 0
        deepest = max(deepest, depth, run // 2)
    return deepest


def _read(
    tokens: list[_Token], base: Statement, refs: list[ParamRef], holes: frozenset[int], dialect: str | None, lead: bool
) -> Statement:
    flags = _Flags()
    repaired = _repair(_rewrite(_unglue(tokens), flags), flags) if holes else _rewrite(tokens, flags)
    if not repaired or _depth(repaired) > MAX_DEPTH:
        return _flagged(_guess(tokens, refs, holes), base, flags, lead)
    sqlglot = _load_sqlglot()
    tried: list[str | None] = []
    for name in (dialect or "postgres", "postgres", None, "mysql", "sqlite", "tsql"):
        if name in tried or (len(repaired) > LONG and len(tried) > 1):
            continue
        tried.append(name)
        try:
            tree = sqlglot.parse_one(_render(repaired, name), read=name)
            statement = _Reader(sqlglot.exp, refs, holes, flags, name).statement(tree)
        except RecursionError:
            raise
        except (
            Exception
        ):  # noqa: BLE001  sqlglot raises more than its own errors on odd text; the next dialect or the tokens decide
            continue
        if statement is not None:
            return _flagged(statement, base, flags, lead)
    return _flagged(_guess(repaired, refs, holes), base, flags, lead)


def _flagged(statement: Statement, base: Statement, flags: _Flags, lead: bool) -> Statement:
    verb, conflict = statement.verb, statement.conflict
    if flags.verb and verb == "insert":
        verb = flags.verb
    if flags.conflict and conflict is None and statement.verb == "insert":
        conflict = flags.conflict
    return replace(
        statement,
        verb=verb,
        conflict=conflict,
        keyword=statement.keyword if verb == "unread" else base.keyword,
        params=base.params,
        holes=base.holes,
        advisory=base.advisory,
        advisory_unlock=base.advisory_unlock,
        lock=statement.lock or flags.lock,
        open_columns=statement.open_columns or flags.columns,
        open_sets=statement.open_sets or flags.sets,
        open_where=statement.open_where or flags.where or flags.cursor,
        open_tail=statement.open_tail or flags.tail,
    )


_NOW_CLASSES = frozenset("""
    currenttimestamp currentdate currenttime currentdatetime currenttimestampltz localtimestamp localtime
    systimestamp sysdate utctimestamp utcdate utctime
""".split())
_NOW_FUNCTIONS = frozenset("""
    now getdate getutcdate sysdatetime sysutcdatetime sysdatetimeoffset clock_timestamp statement_timestamp
    transaction_timestamp timeofday utc_timestamp utc_date utc_time unix_timestamp sysdate systimestamp
    current_timestamp current_date current_time localtime localtimestamp curdate curtime unixepoch
""".split())
_NOW_COLUMNS = frozenset(
    "sysdate systimestamp current_timestamp current_date current_time localtimestamp localtime".split()
)
_NOW_IF_LITERAL = frozenset(
    "datetime date time julianday strftime unixepoch timestamp tsordstodate tsordstotime timetostr".split()
)

_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "DPipe": "||", "IntDiv": "/"}
_OPS = {
    "EQ": "=",
    "NEQ": "!=",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
    "Is": "is",
    "In": "in",
    "Like": "like",
    "ILike": "ilike",
    "NullSafeEQ": "=",
    "NullSafeNEQ": "!=",
    "Glob": "glob",
    "Match": "match",
    "RegexpLike": "regexp",
    "RegexpILike": "regexp",
    "SimilarTo": "similar to",
    "Between": "between",
    "JSONBContains": "?",
    "ArrayContainsAll": "@>",
    "ArrayContainedBy": "<@",
    "ArrayOverlaps": "&&",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class _Reader:
    """Turns one sqlglot tree into a Statement. Every loop over a tree is iterative; recursion follows nested queries
    only.
    """

    def __init__(self, exp, refs: list[ParamRef], holes: frozenset[int], flags: _Flags, dialect: str | None):
        self.exp, self.refs, self.holes, self.flags, self.dialect = exp, refs, holes, flags, dialect
        self.query = (exp.Select, exp.SetOperation, exp.Update, exp.Insert, exp.Delete, exp.Merge)
        self.own: frozenset[str] = frozenset()  # qualifiers of the main table
        self.others: frozenset[str] = frozenset()  # qualifiers of other tables
        self.fresh: frozenset[str] = frozenset(("excluded",))  # qualifiers of the row that INSERT proposes
        self.ctes: dict[str, Name] = {}
        self.open_where = False
        self.done: dict[int, Statement | None] = {}  # by id of the node: a nested query is asked for more than once

    # -- statements

    def statement(self, node) -> Statement | None:
        """None: not a statement this can say something about (the caller tries another dialect)."""
        exp = self.exp
        while isinstance(node, (exp.Subquery, exp.Paren)) and not node.args.get("with_"):
            inner = node.this
            if node.args.get("locks") and isinstance(inner, exp.Select) and not inner.args.get("locks"):
                inner.set("locks", node.args["locks"])
            node = inner
        if id(node) in self.done:
            return self.done[id(node)]
        saved = self.own, self.others, self.fresh, self.ctes, self.open_where
        self.own, self.others, self.fresh, self.open_where = frozenset(), frozenset(), frozenset(("excluded",)), False
        read = None
        for kind, method in (
            (exp.Select, self.select),
            (exp.SetOperation, self.union),
            (exp.Update, self.update),
            (exp.Delete, self.delete),
            (exp.Insert, self.insert),
            (exp.Merge, self.merge),
        ):
            if isinstance(node, kind):
                read = method(node)
                break
        self.own, self.others, self.fresh, self.ctes, self.open_where = saved
        self.done[id(node)] = read
        return read

    def arg(self, node, name: str):
        """`from` and `with` are called `from_` and `with_` in newer releases."""
        value = node.args.get(name + "_")
        return value if value is not None else node.args.get(name)

    def inner(self, node) -> list[Statement]:
        """CTEs (first, they name tables) and the outermost nested queries."""
        exp = self.exp
        out: list[Statement] = []
        with_ = self.arg(node, "with")
        if with_ is not None:
            self.ctes = dict(self.ctes)
            for cte in with_.expressions:
                found = self.statement(cte.this)
                name = cte.alias.lower()
                if found is not None:
                    out.append(replace(found, name=name))
                    self.ctes[name] = found.table
                else:
                    self.ctes[name] = ()
        stack = [v for key, v in reversed(list(node.args.items())) if key not in ("with_", "with")]
        while stack:
            item = stack.pop()
            if isinstance(item, list):
                stack.extend(reversed(item))
            elif isinstance(item, exp.Expression):
                if isinstance(item, self.query) and not isinstance(item.parent, exp.When):
                    found = self.statement(item)
                    if found is not None:
                        out.append(found)
                else:
                    stack.extend(reversed(list(item.args.values())))
        return out

    def table(self, node) -> tuple[Name, str]:
        """(name, alias) of a FROM item; ((), alias) for a subquery of nothing, a table function or VALUES."""
        exp = self.exp
        alias = (node.alias or "").lower() if isinstance(node, exp.Expression) else ""
        if isinstance(node, exp.Schema):
            return self.table(node.this)
        if isinstance(node, exp.Table):
            if isinstance(node.this, exp.Func) or not isinstance(node.this, exp.Identifier):
                return (), alias
            text = ".".join(p.name for p in node.parts if isinstance(p, exp.Identifier))
            name = _parts(text, self.holes)
            if name and isinstance(name[0], str) and len(name) == 1 and name[0] in self.ctes:
                return self.ctes[name[0]], alias or name[0]
            return name, alias
        if isinstance(node, exp.Subquery):
            found = self.statement(node)
            return (found.table if found is not None else ()), alias
        return (), alias

    def sources(self, node) -> list[tuple[Name, str, bool]]:
        """(name, alias, inner join?) of all FROM, JOIN and USING items in order; also collects join conditions."""
        exp = self.exp
        out: list[tuple[Name, str, bool]] = []
        queue = []
        from_ = self.arg(node, "from")
        if from_ is not None:
            queue.append((from_.this, True))
            queue += [(e, True) for e in from_.expressions]
        this = node.args.get("this")
        if isinstance(this, exp.Table) and not isinstance(node, exp.Select):
            queue.insert(0, (this, True))
        for key in ("using", "tables"):
            value = node.args.get(key)
            for item in value if isinstance(value, list) else [value] if isinstance(value, exp.Expression) else []:
                queue.append((item, True))
        for join in node.args.get("joins") or ():
            queue.append((join, True))
        for join in node.args.get("laterals") or ():
            queue.append((join, True))
        conditions: list = []
        n = 0
        while n < len(queue):
            item, hard = queue[n]
            n += 1
            if isinstance(item, exp.Join):
                hard = not item.side and item.kind not in ("LEFT", "RIGHT", "FULL")
                if hard and item.args.get("on") is not None:
                    conditions.append(item.args["on"])
                item = item.this
            elif isinstance(item, exp.Lateral):
                item = item.this
            if isinstance(item, exp.Paren):
                item = item.this
            if item is None:
                continue
            name, alias = self.table(item)
            out.append((name, alias, hard))
            for join in item.args.get("joins") or () if isinstance(item, exp.Expression) else ():
                queue.insert(n, (join, hard))
        self.conditions = conditions  # last: table() may have read a nested query
        return out

    def scope(self, name: Name, alias: str, sources: list[tuple[Name, str, bool]]) -> tuple[Name, ...]:
        """Set the qualifiers; returns the other tables."""
        self.own = frozenset(_qualifiers(name, alias))
        rest = [(n, a) for n, a, _ in sources if not (n == name and a == alias)]
        self.others = frozenset(q for n, a in rest for q in _qualifiers(n, a)) - self.own
        return tuple(n for n, _ in rest if n)

    def select(self, node) -> Statement:
        exp = self.exp
        inner = self.inner(node)
        sources = self.sources(node)
        conditions = self.conditions
        name, alias = (sources[0][0], sources[0][1]) if sources else ((), "")
        others = self.scope(name, alias, sources)
        columns, star, open_columns = self.columns(node.expressions)
        grouped = node.args.get("group") is not None
        aggregate = not grouped and any(self.has_aggregate(e) for e in node.expressions)
        lock, lock_of, nowait, skip = self.locks(node)
        where = self.where(self.arg(node, "where"))
        exists = False
        if not sources and len(node.expressions) == 1:
            only = node.expressions[0]
            while isinstance(only, (exp.Alias, exp.Not, exp.Paren, exp.Cast, exp.Coalesce)):
                only = only.this
            if isinstance(only, (exp.Exists, exp.Subquery)) and inner:
                exists = isinstance(only, exp.Exists)
                aggregate = aggregate or exists or inner[-1].aggregate
                name, alias, where = inner[-1].table, inner[-1].alias, inner[-1].where
        advisory_key = None
        if self.flags is not None:
            advisory_key = self.advisory_key(node)
        return self.finish(
            Statement(
                "select",
                table=name,
                alias=alias,
                columns=columns,
                star=star,
                aggregate=aggregate,
                exists=exists,
                grouped=grouped,
                distinct=node.args.get("distinct") is not None,
                limit_one=self.limit_one(node),
                lock=lock,
                lock_of=lock_of,
                nowait=nowait,
                skip_locked=skip,
                where=where,
                on=self.all_conditions(conditions),
                open_columns=open_columns,
                advisory_key=advisory_key,
            ),
            others,
            inner,
        )

    def union(self, node) -> Statement | None:
        inner = self.inner(node)
        parts = [s for s in inner if not s.name]
        if not parts:
            return None
        first = parts[0]
        lock, lock_of, nowait, skip = self.locks(node)
        return self.finish(
            Statement(
                "select",
                table=first.table,
                alias=first.alias,
                columns=first.columns,
                star=any(s.star for s in parts),
                lock=lock,
                lock_of=lock_of,
                nowait=nowait,
                skip_locked=skip,
                limit_one=self.limit_one(node),
                open_columns=first.open_columns,
            ),
            (),
            inner,
        )

    def update(self, node) -> Statement | None:
        exp = self.exp
        if not node.expressions and not self.flags.sets:
            return None
        inner = self.inner(node)
        sources = self.sources(node)
        conditions = self.conditions
        name, alias, _ = sources[0] if sources else ((), "", True)
        # UPDATE a SET … FROM accounts a (SQL Server): the target is an alias. UPDATE a JOIN b SET b.x (MySQL): the
        # target is what is set.
        targets = {
            c.table.lower()
            for e in node.expressions
            for c in ([e.this] if isinstance(e, exp.EQ) and isinstance(e.this, exp.Column) else [])
        }
        for other, other_alias, _ in sources[1:]:
            if other_alias and (name == (other_alias,) or targets == {other_alias}):
                name, alias = other, other_alias
                break
            if (
                not other_alias
                and other
                and targets
                and targets <= set(_qualifiers(other, ""))
                and not targets & set(_qualifiers(name, alias))
            ):
                name, alias = other, ""
                break
        sources = [s for s in sources if s[0] != (alias,) or not alias]
        others = self.scope(name, alias, sources)
        sets, open_sets = self.sets(node.expressions)
        columns, star, open_columns, returning = self.returning(node)
        return self.finish(
            Statement(
                "update",
                table=name,
                alias=alias,
                sets=sets,
                where=self.where(self.arg(node, "where")),
                on=self.all_conditions(conditions),
                returning=returning,
                columns=columns,
                star=star,
                open_columns=open_columns,
                open_sets=open_sets,
                limit_one=self.limit_one(node),
            ),
            others,
            inner,
        )

    def delete(self, node) -> Statement | None:
        exp = self.exp
        inner = self.inner(node)
        sources = self.sources(node)
        conditions = self.conditions
        targets = node.args.get("tables")
        name, alias, _ = sources[0] if sources else ((), "", True)
        if isinstance(targets, list) and targets and isinstance(targets[0], exp.Table):
            wanted = targets[0].name.lower()
            for other, other_alias, _ in sources:
                if wanted in _qualifiers(other, other_alias) and (other_alias == wanted or not other_alias):
                    name, alias = other, other_alias
                    if other != (wanted,):
                        break
            sources = [s for s in sources if s[0] != (wanted,) or s[0] == name]
        others = self.scope(name, alias, sources)
        columns, star, open_columns, returning = self.returning(node)
        return self.finish(
            Statement(
                "delete",
                table=name,
                alias=alias,
                where=self.where(self.arg(node, "where")),
                on=self.all_conditions(conditions),
                returning=returning,
                columns=columns,
                star=star,
                open_columns=open_columns,
                limit_one=self.limit_one(node),
            ),
            others,
            inner,
        )

    def insert(self, node) -> Statement | None:
        exp = self.exp
        inner = self.inner(node)
        target = node.this
        names: list[str | Name | None] = []
        open_sets = False
        if isinstance(target, exp.Schema):
            for item in target.expressions:
                column = _column_name(item.name, self.holes)
                names.append(column)
                open_sets = open_sets or _lone(column) is not None
            target = target.this
        name, alias = self.table(target)
        if not name:
            return None
        if node.args.get("alias") is not None:
            alias = node.args["alias"].name.lower() or alias
        values = node.args.get("expression")
        if isinstance(values, exp.Expression) and values.alias:
            self.fresh = self.fresh | {values.alias.lower()}  # VALUES (…) AS new ON DUPLICATE KEY UPDATE c = new.c
        self.own = frozenset(_qualifiers(name, alias))
        rows = 0
        cells: list = []
        if isinstance(values, exp.Values):
            rows = len(values.expressions)
            if values.expressions:
                row = values.expressions[0]
                cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        else:
            source = values
            while isinstance(source, (exp.Subquery, exp.Paren)):
                source = source.this
            if isinstance(source, exp.Select):
                cells = [e.this if isinstance(e, exp.Alias) else e for e in source.expressions]
                # Columns of the source query are not those of the target's row.
                self.own = frozenset()
                self.others = frozenset(("",))
        sets = []
        for i, cell in enumerate(cells):
            value = self.expr(cell)
            if value.form == "hole":
                open_sets = open_sets or len(cells) != len(names) or len(cells) == 1
            sets.append((names[i] if i < len(names) else None, value))
        if len(cells) == 1 < len(names) and sets[0][1].form in (
            "param",
            "hole",
        ):  # VALUES %s of execute_values: whole rows
            open_sets = True
            sets = [(c, replace(sets[0][1], form="other", column=None)) for c in names]
        elif len(cells) < len(names):
            sets += [(c, Expr("other")) for c in names[len(cells) :]]
        self.own, self.others = frozenset(_qualifiers(name, alias)), frozenset()
        conflict = None
        keys: tuple = ()
        conflict_sets: tuple = ()
        conflict_where: tuple[Predicate, ...] = ()
        on_conflict = node.args.get("conflict")
        if on_conflict is not None:
            keys = tuple(
                c
                for c in (
                    _column_name((k.this if isinstance(k, exp.Ordered) else k).name, self.holes)
                    for k in on_conflict.args.get("conflict_keys") or ()
                    if hasattr(k, "name")
                )
                if c is not None
            )
            conflict_sets, more = self.sets(on_conflict.expressions)
            open_sets = open_sets or more
            action = str(on_conflict.args.get("action") or "").upper()
            conflict = "update" if conflict_sets or more or "UPDATE" in action else "nothing"
            conflict_where = self.where(self.arg(on_conflict, "where"))
        columns, star, open_columns, returning = self.returning(node)
        return self.finish(
            Statement(
                "insert",
                table=name,
                alias=alias,
                sets=tuple(sets),
                rows=rows,
                conflict=conflict,
                conflict_keys=keys,
                conflict_sets=conflict_sets,
                conflict_where=conflict_where,
                returning=returning,
                columns=columns,
                star=star,
                open_columns=open_columns,
                open_sets=open_sets,
            ),
            (),
            inner,
        )

    def merge(self, node) -> Statement | None:
        exp = self.exp
        inner = self.inner(node)
        name, alias = self.table(node.this)
        using = node.args.get("using")
        sources = [(name, alias, True)]
        if using is not None:
            sources.append((*self.table(using), True))
        others = self.scope(name, alias, sources)
        where = self.where(node.args.get("on"))
        whens = node.args.get("whens")
        conflict, sets, conflict_where, open_sets, inserted = None, (), (), False, ()
        deletes = False
        for when in (whens.expressions if whens is not None else node.expressions):
            then = when.args.get("then")
            if when.args.get("matched"):
                if isinstance(then, exp.Update) and conflict != "update":
                    conflict = "update"
                    sets, open_sets = self.sets(then.expressions)
                    conflict_where = self.where(when.args.get("condition")) + self.where(then.args.get("where"))
                elif isinstance(then, exp.Delete) or "DELETE" in str(then).upper():
                    deletes = True
            elif isinstance(then, exp.Insert):
                names = then.this.expressions if isinstance(then.this, (exp.Tuple, exp.Schema)) else []
                values = then.expression.expressions if then.expression is not None else []
                inserted = tuple((_column_name(c.name, self.holes), self.expr(v)) for c, v in zip(names, values))
        if conflict is None and inserted:
            conflict = "nothing"
        columns, star, open_columns, returning = self.returning(node)
        keys = tuple(p.column for p in where if p.own and p.must and p.op == "=" and p.column is not None)
        return self.finish(
            Statement(
                "merge",
                table=name,
                alias=alias,
                sets=sets or (inserted if conflict == "nothing" else ()),
                where=where,
                conflict=conflict,
                conflict_keys=keys,
                conflict_where=conflict_where,
                returning=returning,
                columns=columns,
                star=star,
                open_columns=open_columns,
                open_sets=open_sets,
                mode="delete" if deletes else "",
            ),
            others,
            inner,
        )

    def finish(self, statement: Statement, others: tuple[Name, ...], inner: list[Statement]) -> Statement:
        seen: list[Name] = []
        for name in others + tuple(t for s in inner for t in s.tables):
            if name and name not in seen and name != statement.table:
                seen.append(name)
        # A self-join or a subquery on the main table itself must stay visible through `inner`, not as another table.
        return replace(
            statement, other_tables=tuple(seen), inner=tuple(inner), open_where=self.open_where, dialect=self.dialect
        )

    # -- parts of statements

    def columns(self, nodes) -> tuple[tuple, bool, bool]:
        exp = self.exp
        out, star, open_columns = [], False, False
        for node in nodes:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                star = True
                continue
            name = None
            body = node
            if isinstance(node, exp.Alias):
                name, body = _column_name(node.alias, self.holes), node.this
            value = self.expr(body)
            if name is None and value.form == "column":
                name = value.column
            if value.form == "hole" and isinstance(node, exp.Column):
                open_columns = True
            out.append((name, value))
        return tuple(out), star, open_columns

    def returning(self, node) -> tuple[tuple, bool, bool, bool]:
        returning = node.args.get("returning")
        if returning is None:
            return (), False, False, False
        return (*self.columns(returning.expressions), True)

    def limit_one(self, node) -> bool:
        limit = node.args.get("limit")
        if limit is None:
            return False
        count = limit.args.get("count") or limit.args.get("expression")
        if count is None:
            return type(limit).__name__ == "Fetch"  # FETCH FIRST ROW ONLY
        return count.name == "1" if isinstance(count, self.exp.Literal) else False

    def locks(self, node) -> tuple[str, tuple[str, ...], bool, bool]:
        best, of, nowait, skip = "", (), False, False
        for lock in node.args.get("locks") or ():
            update, key = bool(lock.args.get("update")), bool(lock.args.get("key"))
            kind = ("no key update" if key else "update") if update else ("key share" if key else "share")
            if _LOCK_RANK[kind] > _LOCK_RANK[best]:
                best = kind
                of = tuple(e.name.lower() for e in lock.expressions)
            wait = lock.args.get("wait")
            nowait = nowait or wait is True
            skip = skip or wait is False
        return best, of, nowait, skip

    def has_aggregate(self, node) -> bool:
        exp = self.exp
        stack = [node]
        while stack:
            item = stack.pop()
            if isinstance(item, exp.AggFunc):
                return True
            if isinstance(item, exp.Window) or isinstance(item, self.query):
                continue
            stack.extend(c for c in item.iter_expressions())
        return False

    def advisory_key(self, node) -> Expr | None:
        exp = self.exp
        for found in node.find_all(exp.Anonymous):
            if found.name.lower() in _LOCK_FUNCTIONS or found.name.lower() in _UNLOCK_FUNCTIONS:
                return self.several(found.expressions)
        return None

    def sets(self, nodes) -> tuple[tuple, bool]:
        exp = self.exp
        out: list[tuple] = []
        open_sets = False
        for node in nodes:
            if not isinstance(node, (exp.EQ, exp.PropertyEQ)):
                open_sets = True
                continue
            left, right = node.this, node.expression
            while isinstance(left, exp.Paren):
                left = left.this
            if isinstance(left, exp.Tuple):
                values = right.expressions if isinstance(right, exp.Tuple) else []
                if not values and isinstance(right, exp.Anonymous) and right.name.lower() == "row":
                    values = right.expressions
                for i, column in enumerate(left.expressions):
                    out.append(
                        (_column_name(column.name, self.holes), self.expr(values[i] if i < len(values) else right))
                    )
                continue
            out.append((_column_name(left.name, self.holes), self.expr(right)))
        return tuple(out), open_sets

    def all_conditions(self, nodes) -> tuple[Predicate, ...]:
        return tuple(p for node in nodes for p in self.where(node))

    def where(self, node) -> tuple[Predicate, ...]:
        exp = self.exp
        if node is None or node is False:
            return ()
        if isinstance(node, exp.Where):
            node = node.this
        out: list[Predicate] = []
        stack = [(node, False)]
        while stack:
            item, in_or = stack.pop()
            while isinstance(item, exp.Paren):
                item = item.this
            if isinstance(item, exp.And):
                stack += [(item.expression, in_or), (item.this, in_or)]
            elif isinstance(item, (exp.Or, exp.Xor)):
                stack += [(item.expression, True), (item.this, True)]
            elif isinstance(item, exp.Not):
                body = item.this
                while isinstance(body, exp.Paren):
                    body = body.this
                if isinstance(body, (exp.And, exp.Or)):
                    stack.append((body, True))
                else:
                    out += self.predicate(body, in_or, negated=True)
            else:
                out += self.predicate(item, in_or, negated=False)
        return tuple(out)

    def predicate(self, node, in_or: bool, negated: bool) -> list[Predicate]:
        exp = self.exp
        kind = type(node).__name__
        if isinstance(node, exp.Exists):
            found = self.statement(node.this)
            body = self.expr(node.this)
            return [
                Predicate(None, "not exists" if negated else "exists", body, Expr("other"), in_or, None, False, found)
            ]
        op = _OPS.get(kind)
        if op is None:
            if isinstance(node, exp.Binary) and not isinstance(
                node, tuple(getattr(exp, n) for n in _SIGNS if hasattr(exp, n))
            ):
                op = getattr(node, "key", kind).lower()
            else:
                return self.bare(node, in_or, negated)
        if node.args.get("negate"):
            negated = not negated
        if kind == "Between":
            left, right = node.this, None
            value = self.several([node.args["low"], node.args["high"]])
        elif kind == "In":
            left, right = node.this, None
            members = node.expressions
            query = node.args.get("query")
            field = node.args.get("field") or node.args.get("unnest")
            if query is not None:
                value = replace(self.expr(query), form="subquery")
            elif field is not None:
                value = self.expr(field)
            else:
                value = self.several(members)
        else:
            left, right = node.this, node.args.get("expression")
            value = self.expr(right) if right is not None else Expr("other")
        if op == "glob" and self.flags.operator:
            op = "?"
        while isinstance(left, exp.Paren):
            left = left.this
        plain = right
        while isinstance(plain, exp.Paren):
            plain = plain.this
        if isinstance(plain, (exp.Any, exp.All)) and op == "=":
            op = "in" if isinstance(plain, exp.Any) else "= all"
            inside = plain.this
            while isinstance(inside, exp.Paren):
                inside = inside.this
            value = self.expr(inside)
        if isinstance(left, exp.Tuple):  # (id, version) = (?, ?)
            rights = plain.expressions if isinstance(plain, exp.Tuple) else []
            return [
                self.make(
                    self.expr(c),
                    self.negate(op, negated),
                    self.expr(rights[i]) if i < len(rights) else value,
                    in_or,
                    right,
                )
                for i, c in enumerate(left.expressions)
            ]
        first = self.expr(left)
        if right is not None and op in _FLIPPED and self.should_flip(first, value):
            first, value, op = value, first, _FLIPPED[op]
        if (
            not first.columns
            and not first.holes
            and not value.columns
            and not value.holes
            and not first.refs
            and not value.refs
        ):
            if first.form == value.form == "literal":
                return []  # 1 = 1
        return [
            self.make(
                first, self.negate(op, negated), value, in_or, right if right is not None else node.args.get("query")
            )
        ]

    def negate(self, op: str, negated: bool) -> str:
        if not negated:
            return op
        return {"=": "!=", "!=": "=", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "is": "is not", "true": "false"}.get(
            op, "not " + op
        )

    def should_flip(self, left: Expr, right: Expr) -> bool:
        def rank(side: Expr) -> int:
            if side.form == "column":
                return 4 if side.self_columns else 2
            if side.form == "hole":
                return 1  # in front it is a column, behind a value: the written order decides
            if side.self_columns:
                return 3
            return 1 if side.columns else 0

        if left.self_columns:
            return False
        return rank(right) > rank(left) and not (left.form == "hole" and right.form != "column")

    def make(self, left: Expr, op: str, value: Expr, in_or: bool, query) -> Predicate:
        column = left.column if left.form in ("column", "excluded") else None
        if left.form == "hole":
            column = left.column
        table = left.table
        own = left.form != "excluded"
        if left.form == "column":
            own = bool(left.self_columns)
        elif left.form not in ("hole", "excluded"):
            distinct = tuple(dict.fromkeys(left.self_columns or left.columns))
            column = distinct[0] if len(distinct) == 1 else None
            own = bool(left.self_columns)
        inner = None
        if query is not None:
            exp = self.exp
            while isinstance(query, (exp.Subquery, exp.Paren, exp.Any, exp.All)):
                query = query.this
            if isinstance(query, self.query):
                inner = self.statement(query)
        return Predicate(column, op, value, left, in_or, table, own, inner)

    def bare(self, node, in_or: bool, negated: bool) -> list[Predicate]:
        """A condition that is no comparison: a boolean column or function, a literal, a hole."""
        left = self.expr(node)
        if left.form == "hole" and not left.refs:
            self.open_where = True
            return []
        if left.form == "literal":
            return []
        return [self.make(left, "false" if negated else "true", Expr("literal", value=True), in_or, None)]

    # -- expressions

    def expr(self, node) -> Expr:
        """Read one expression."""
        exp = self.exp
        while True:
            if isinstance(node, (exp.Paren, exp.Cast, exp.Alias)) or type(node).__name__ == "Collate":
                node = node.this
            elif isinstance(node, exp.Tuple) and len(node.expressions) == 1:
                node = node.expressions[0]
            else:
                break
        refs, holes, columns, own, now, nested = self.collect(node)
        found = {"refs": refs, "holes": holes, "columns": columns, "self_columns": own}
        if isinstance(node, exp.Placeholder):
            return Expr("param" if refs else "other", **found)
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star):
                return Expr("other", **found)
            name, qualifier = _column_name(node.name, self.holes), node.table.lower() or None
            if _lone(name) is not None and not qualifier:
                return Expr("hole", column=name, **found)
            if qualifier in self.fresh:
                return Expr("excluded", column=name, **found)
            if now:
                return Expr("now", **found)
            return Expr("column", column=name, table=qualifier, **found)
        if isinstance(node, exp.Literal):
            if holes:
                return Expr("hole" if _lone(_column_name(node.name, self.holes)) is not None else "other", **found)
            return Expr("literal", value=_literal(node), **found)
        if isinstance(node, exp.Boolean):
            return Expr("literal", value=bool(node.this), **found)
        if isinstance(node, exp.Null):
            return Expr("literal", **found)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            value = _literal(node.this)
            return Expr("literal", value=-value if isinstance(value, (int, float)) else value, **found)
        if isinstance(node, (exp.Subquery, *self.query)):
            return Expr("subquery", **found)
        if isinstance(node, (exp.Case, exp.If)):
            return Expr("case", **found)
        if isinstance(node, (exp.Anonymous, exp.Values)) and not nested:
            proposed = self.proposed(node)
            if proposed is not None:
                return Expr("excluded", column=proposed, **{**found, "columns": (), "self_columns": ()})
        if now and not refs and not columns and not holes and not nested:
            return Expr("now", **found)
        sign = _SIGNS.get(type(node).__name__)
        if sign is not None and not nested:
            return self.arith(node, sign, found)
        if isinstance(node, exp.Anonymous):
            return Expr("function", function=node.name.lower(), **found)
        if isinstance(node, exp.Func) and not isinstance(node, (exp.Connector, exp.Predicate, exp.Binary)):
            try:
                name = node.sql_name().lower()
            except Exception:  # noqa: BLE001  some function classes have no SQL name
                name = type(node).__name__.lower()
            return Expr("function", function=name, **found)
        if isinstance(node, exp.Func) and not isinstance(node, (exp.Connector, exp.Predicate)):
            return Expr("function", function=type(node).__name__.lower(), **found)
        return Expr("other", **found)

    def several(self, nodes) -> Expr:
        """One Expr for a list of expressions; the expression itself when there is one."""
        if len(nodes) == 1:
            return self.expr(nodes[0])
        found = [self.expr(n) for n in nodes]
        return Expr(
            "other",
            *(
                tuple(dict.fromkeys(x for e in found for x in getattr(e, part)))
                for part in ("refs", "holes", "columns", "self_columns")
            ),
        )

    def proposed(self, node) -> str | Name | None:
        """MySQL's VALUES(column) in ON DUPLICATE KEY UPDATE."""
        exp = self.exp
        if isinstance(node, exp.Anonymous) and node.name.lower() != "values":
            return None
        args = node.expressions
        if len(args) == 1 and isinstance(args[0], exp.Tuple):
            args = args[0].expressions
        if len(args) == 1 and isinstance(args[0], (exp.Identifier, exp.Column)):
            return _column_name(args[0].name, self.holes)
        return None

    def arith(self, node, sign: str, found: dict) -> Expr:
        """column ± operand, at the left end of the chain or as the right side of + and *."""
        exp = self.exp
        if self.flags.operator and sign == "+":
            sign = "?"
        left, steps = node, 0
        top_sign = sign
        while _SIGNS.get(type(left).__name__) is not None:
            top_sign = _SIGNS[type(left).__name__]
            left = left.this
            steps += 1
            while isinstance(left, (exp.Paren, exp.Cast)):
                left = left.this
        base = self.core(left)
        operand = None
        if base is not None:
            if steps == 1:
                operand = self.expr(node.expression)
            return Expr("arith", column=base, sign=sign if steps == 1 else top_sign, operand=operand, **found)
        if steps == 1 and sign in ("+", "*", "||", "?"):
            base = self.core(node.expression)
            if base is not None:
                return Expr("arith", column=base, sign=sign, operand=self.expr(node.this), **found)
        return Expr("other", **found)

    def core(self, node) -> str | Name | None:
        """The column when `node` is one, also as COALESCE(column, literal)."""
        exp = self.exp
        while isinstance(node, (exp.Paren, exp.Cast)):
            node = node.this
        if isinstance(node, exp.Coalesce) and all(isinstance(e, (exp.Literal, exp.Boolean)) for e in node.expressions):
            node = node.this
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            if node.table.lower() in self.fresh:
                return None
            name = _column_name(node.name, self.holes)
            return name
        return None

    def collect(self, node) -> tuple[tuple, tuple, tuple, tuple, bool, bool]:
        """(placeholders, holes, columns, own columns, reads the clock?, holds a query?) of `node` and all below it."""
        exp = self.exp
        refs: set[int] = set()
        holes: dict[int, None] = {}
        columns: dict = {}
        own: dict = {}
        now = nested = False
        stack = [(node, 0)]
        while stack:
            item, depth = stack.pop()
            if isinstance(item, exp.Placeholder):
                text = item.this if isinstance(item.this, str) else getattr(item.this, "name", "")
                if text and text[0] == "p" and text[1:].isdecimal() and int(text[1:]) < len(self.refs):
                    refs.add(int(text[1:]))
                continue
            if isinstance(item, exp.Column):
                if isinstance(item.this, exp.Star):
                    continue
                for text in (item.name, item.table):
                    for part in _parts(text, self.holes):
                        if not isinstance(part, str):
                            holes[part] = None
                name, qualifier = _column_name(item.name, self.holes), item.table.lower()
                if not qualifier and name in _NOW_COLUMNS and not getattr(item.this, "quoted", False):
                    now = True
                elif _lone(name) is None and qualifier not in self.fresh and name is not None:
                    columns[name] = None
                    if qualifier in self.own or (not qualifier and not depth and "" not in self.others):
                        own[name] = None
                continue
            if isinstance(item, (exp.Literal, exp.Identifier)):
                if isinstance(item.this, str) and "__h" in item.this:
                    for part in _parts(item.this, self.holes):
                        if not isinstance(part, str):
                            holes[part] = None
                continue
            kind = type(item).__name__.lower()
            if kind in _NOW_CLASSES:
                now = True
            elif isinstance(item, exp.Func):
                name = item.name.lower() if isinstance(item, exp.Anonymous) else kind
                if isinstance(item, exp.Anonymous) and "__h" in name:
                    for part in _parts(name, self.holes):
                        if not isinstance(part, str):
                            holes[part] = None
                if name in _NOW_FUNCTIONS and not (isinstance(item, exp.Anonymous) and item.expressions):
                    now = True
                elif name in _NOW_IF_LITERAL:
                    now = now or any(
                        isinstance(a, exp.Literal) and str(a.this).lower() == "now" for a in item.find_all(exp.Literal)
                    )
            if isinstance(item, self.query):
                nested = True
                depth += 1
            stack.extend((child, depth) for child in reversed(list(item.iter_expressions())))
        ordered = tuple(self.refs[i] for i in sorted(refs))
        return ordered, tuple(holes), tuple(columns), tuple(own), now, nested


def _lone(name: str | Name | None) -> int | None:
    """The hole's index when a name is nothing but one hole."""
    if isinstance(name, tuple) and len(name) == 1 and not isinstance(name[0], str):
        return name[0]
    return None


def _qualifiers(name: Name, alias: str) -> tuple[str, ...]:
    """The words that may stand before a column of that table. An alias hides the name, except in the ON CONFLICT of
    some engines.
    """
    out = [alias] if alias else []
    if name and all(isinstance(p, str) for p in name):
        out += [name[0], name[0].rpartition(".")[2]]
    elif name:
        text = "".join(p if isinstance(p, str) else f"__h{p}__" for p in name)
        out += [text, text.rpartition(".")[2]]
    return tuple(dict.fromkeys(out))


def _literal(node) -> object:
    if node.is_string:
        return node.this
    text = str(node.this)
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


# --------------------------------------------------------------------------------------------- what sqlglot cannot read


def _guess(tokens: list[_Token], refs: list[ParamRef], holes: frozenset[int]) -> Statement:
    """Verb, table, assigned columns and plain equalities by tokens alone, at bracket depth 0."""
    params = tuple(refs[t.ref] for t in tokens if t.kind == "param" and t.ref < len(refs))
    first = next((t.low for t in tokens if t.kind == "word"), "")
    verb, at = "", -1
    depth = 0
    for i, token in enumerate(tokens):
        if token.text == "(" and i:
            depth += 1
        elif token.text == ")":
            depth -= 1
        elif (
            token.kind == "word"
            and depth <= 0
            and token.low in ("select", "update", "delete", "insert", "replace", "merge")
        ):
            verb, at = token.low, i
            break
    table: Name = ()
    if verb:
        i = at + 1
        if verb in ("select", "delete"):
            depth = 0
            while i < len(tokens) and not (tokens[i].low == "from" and depth == 0):
                depth += (tokens[i].text == "(") - (tokens[i].text == ")")
                i += 1
            i += 1
        while (
            i < len(tokens)
            and tokens[i].kind == "word"
            and tokens[i].low in _HEAD_MODIFIERS | {"into", "or", "replace", "lateral"}
        ):
            i += 1
        table = _name_at(tokens, i, holes)
    sets, where = _guess_pairs(tokens, at, verb, refs, holes) if verb else ((), ())
    lows = [t.low for t in tokens]
    lock = ""
    for i in range(len(lows) - 1):
        if lows[i] == "for" and lows[i + 1] in ("update", "share"):
            lock = lows[i + 1]
        elif lows[i] == "for" and lows[i + 1 : i + 4] == ["no", "key", "update"]:
            lock = "no key update"
    return Statement(
        "unread",
        keyword=verb or first,
        table=table,
        sets=sets,
        where=where,
        lock=lock,
        skip_locked="locked" in lows and "skip" in lows,
        nowait="nowait" in lows,
        returning=verb != "select" and "returning" in lows,
        params=params,
        holes=_holes_of(tokens),
    )


def _guess_pairs(
    tokens: list[_Token], at: int, verb: str, refs: list[ParamRef], holes: frozenset[int]
) -> tuple[tuple, tuple]:
    sets: list[tuple] = []
    where: list[Predicate] = []
    clause, depth = "", 0
    unsure = False
    for i in range(at + 1, len(tokens)):
        token = tokens[i]
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
        if depth or token.kind not in ("word", "op"):
            continue
        if token.kind == "word" and token.low in ("set", "where", "from", "returning", "order", "limit", "group", "on"):
            clause = token.low
        elif clause == "where" and token.low in ("or", "not"):
            unsure = True
        elif (
            token.text == "="
            and i + 1 < len(tokens)
            and tokens[i - 1].kind in ("word", "quoted", "hole")
            and tokens[i - 1].low not in _KEYWORDS
        ):
            column = _column_name(_plain(tokens[i - 1]), holes)
            alone = i + 2 >= len(tokens) or tokens[i + 2].text in (",", ")", ";") or tokens[i + 2].low in _CLAUSES
            value = _guess_value(tokens[i + 1], refs, holes) if alone else Expr("other")
            if clause == "set" and verb in ("update", "insert", "merge", "replace"):
                sets.append((column, value))
            elif clause == "where":
                qualifier = _plain(tokens[i - 3]).lower() if i > 2 and tokens[i - 2].text == "." else None
                where.append(
                    Predicate(
                        column,
                        "=",
                        value,
                        Expr("column", columns=(column,), self_columns=(column,), column=column, table=qualifier),
                        False,
                        qualifier,
                    )
                )
    if unsure:
        where = [replace(p, in_or=True) for p in where]
    return tuple(sets), tuple(where)


def _guess_value(token: _Token, refs: list[ParamRef], holes: frozenset[int]) -> Expr:
    if token.kind == "param" and token.ref < len(refs):
        return Expr("param", refs=(refs[token.ref],))
    if token.kind == "hole":
        return Expr("hole", holes=(token.hole,), column=(token.hole,))
    if token.kind == "number":
        try:
            return Expr("literal", value=int(token.text))
        except ValueError:
            return Expr("literal", value=token.text)
    if token.kind == "string" and "\ue000" not in token.text:
        return Expr("literal", value=token.text[1:-1])
    return Expr("other", holes=_holes_of((token,)))
