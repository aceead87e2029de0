"""Conditions → predicates; the parts that several kinds of statement share."""

from __future__ import annotations

from dataclasses import replace

from .expressions import _SIGNS
from .statements import _LOCK_RANK, Expr, Predicate
from .tokens import _column_name
from .words import _LOCK_FUNCTIONS, _UNLOCK_FUNCTIONS

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


class _Conditions:
    """Mixin of _Reader."""

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
