"""sqlglot expressions → Expr."""

from __future__ import annotations

from .statements import Expr, Name
from .tokens import _column_name, _lone, _parts

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


class _Expressions:
    """Mixin of _Reader."""

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
