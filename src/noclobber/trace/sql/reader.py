"""One sqlglot tree → a Statement."""

from __future__ import annotations

from dataclasses import replace

from .conditions import _Conditions
from .expressions import _Expressions
from .lists import inline
from .repair import _Flags
from .statements import Expr, Name, ParamRef, Predicate, Statement
from .tokens import _column_name, _lone, _parts


class _Reader(_Conditions, _Expressions):
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
        inline(exp, node)
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
        inline(exp, node)
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
