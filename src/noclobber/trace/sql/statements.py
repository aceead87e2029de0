"""What was read of one SQL statement: statements, predicates, expressions, placeholders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Name = tuple  # of str | int, a normalised name: lower-case text and hole indexes, ("public.accounts",) or (0, ".acc")
ColumnName = "str | Name"  # lower-case text, or a Name when it has holes


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
