"""Signatures as models of calls: parsing, and fitting a call's arguments to their roles.

A signature is Python's own notation with roles as annotations: `set(name: key, value: payload, *, ex: ttl = None)`.
The stored form is plain data (tuples), so that a start neither parses nor imports anything for it.
"""

from __future__ import annotations

from noclobber.knowledge.errors import Record, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs more than the whole vocabulary
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


class _Nothing:
    """The type of NOTHING: no default, no literal, a value that is not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()
#: Stands for NOTHING in stored data (marshal knows Ellipsis; a signature cannot hold one).
_STORED_NOTHING = ...
MAX_LENGTH = 4000


class Param(Record):
    """One parameter. `literal`: the value that an argument must have, else NOTHING; `default`: a literal, else NOTHING.
    With both the same an absent argument fits too (`mode: 'r' = 'r'`).

    `name` is "" for a bare literal (`client('s3')`) and "_" for a placeholder; both match by position only.
    """

    __slots__ = ("name", "role", "kind", "default", "literal")

    def __init__(self, name: str, role: str | None, kind: str, default: Any = NOTHING, literal: Any = NOTHING) -> None:
        self.name = name
        self.role = role
        self.kind = kind  # 'posonly' | 'pos' | 'kw' | 'var' | 'varkw'
        self.default = default
        self.literal = literal


class Bound(Record):
    """A call fitted to a signature.

    `by_role`: role → [(parameter name, argument)] in parameter order; for `*names: key` and `**fields` one pair per
    argument (with its keyword as the name). `by_name`: parameter name → argument, for all named parameters with or
    without a role. `extra`: [(keyword or None, argument)] that the signature does not mention.
    """

    __slots__ = ("by_role", "by_name", "extra")

    def __init__(self) -> None:
        self.by_role: dict[str, list[tuple[str, Any]]] = {}
        self.by_name: dict[str, Any] = {}
        self.extra: list[tuple[str | None, Any]] = []

    def first(self, role: str) -> Any:
        """Return the first argument of that role, else None."""
        pairs = self.by_role.get(role)
        return pairs[0][1] if pairs else None


def plain_literal(argument: Any) -> Any:
    """Return the literal that `argument` is, else NOTHING: for Python literals, `ast.Constant` and `ir.Const`."""
    if argument is None or isinstance(argument, (str, bytes, bool, int, float)):
        return argument
    if type(argument).__name__ in ("Constant", "Const"):
        return argument.value
    return NOTHING


class Signature(Record):
    """`name`: "get", or dotted for a function ("requests.get"), "_.client" for any receiver, ".messages.create" for a
    path from the receiver. `returns`: the text after `->`, else "". `text`: as written."""

    __slots__ = ("name", "params", "returns", "text")

    def __init__(self, name: str, params: tuple[Param, ...], returns: str = "", text: str = "") -> None:
        self.name = name
        self.params = params
        self.returns = returns
        self.text = text

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def is_by_name(self) -> bool:
        """Does it take fields by name and nothing else?"""
        return takes_names_only([(param.name, param.role, param.kind) for param in self.params])

    def roles(self) -> frozenset[str]:
        return frozenset(param.role for param in self.params if param.role)

    def param(self, role: str) -> Param | None:
        """Return the first parameter of that role."""
        return next((param for param in self.params if param.role == role), None)

    def requires(self, role: str) -> bool:
        """Must a call give a positional argument of that role?"""
        param = self.param(role)
        return param is not None and param.kind in ("pos", "posonly") and param.default is NOTHING

    def bind(
        self,
        args: Sequence[Any],
        keywords: Sequence[tuple[str, Any]] = (),
        *,
        open_star: bool = False,
        open_kwargs: bool = False,
        literal: Callable[[Any], Any] = plain_literal,
    ) -> Bound | None:
        """Fit a call. `args`: the positional arguments before any `*x`; `keywords`: (name, argument) pairs in order.

        open_star / open_kwargs: the call also has `*x` / `**x`, so a missing argument may be there. `literal` tells
        the literal that an argument is, else NOTHING (the walker passes its own). Returns None when the call does not
        fit: a required literal is another or unknown, a parameter before `/` is missing, or the call has no argument
        at all although the first parameter has a role and no default (`queue.get()` is no `get(key)`), or it has
        positional arguments where only fields by name are taken (`context.update({…})` is no `update(**fields)`). What
        the signature does not mention never refuses otherwise: signatures may leave their tail out.
        """
        if args and self.is_by_name:
            return None
        bound = Bound()
        given = dict(keywords)
        used: set[str] = set()
        position = 0
        first = self.params[0] if self.params else None
        if (
            first is not None
            and first.role
            and first.kind in ("pos", "posonly")
            and first.default is NOTHING
            and not (args or keywords or open_star or open_kwargs)
        ):
            return None
        for param in self.params:
            kind = param.kind
            if kind == "var":
                while position < len(args):
                    _put(bound, param, param.name, args[position])
                    position += 1
            elif kind == "varkw":
                for name, argument in keywords:
                    if name not in used:
                        used.add(name)
                        _put(bound, param, name, argument, by_name=False)
            elif kind != "kw" and position < len(args):
                if param.literal is not NOTHING and not _same(param.literal, literal(args[position])):
                    return None
                if param.name in given and kind == "pos" and param.name != "_":
                    used.add(param.name)  # given twice: a TypeError at run time; the position wins
                _put(bound, param, param.name, args[position])
                position += 1
            elif kind != "posonly" and param.name in given and param.name not in ("", "_"):
                used.add(param.name)
                if param.literal is not NOTHING and not _same(param.literal, literal(given[param.name])):
                    return None
                _put(bound, param, param.name, given[param.name])
            elif param.literal is not NOTHING and param.default is not NOTHING and _same(param.literal, param.default):
                continue
            elif param.literal is not NOTHING:
                name = _keyword_with(param, keywords, used, literal)
                if name is None:
                    return None
                used.add(name)
            elif kind == "posonly" and param.default is NOTHING and param.name != "_" and not open_star:
                return None
        if position < len(args) or len(used) < len(given):
            bound.extra.extend((None, argument) for argument in args[position:])
            bound.extra.extend((name, argument) for name, argument in keywords if name not in used)
        return bound


def _keyword_with(
    param: Param, keywords: Sequence[tuple[str, Any]], used: set[str], literal: Callable[[Any], Any]
) -> str | None:
    """A bare literal is a position whose name the model does not know: `client('s3')` also fits
    `client(service_name='s3')`."""
    if param.name:
        return None
    for name, argument in keywords:
        if name not in used and _same(param.literal, literal(argument)):
            return name
    return None


def _same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, str) and isinstance(value, str):
        if wanted.endswith("://"):  # a URL's scheme: create_engine("sqlite://") fits every SQLite URL
            return value.startswith(wanted)
        if "*" in wanted:
            from fnmatch import fnmatchcase

            return fnmatchcase(value, wanted)
    return type(wanted) is type(value) and wanted == value


def _put(bound: Bound, param: Param, name: str, argument: Any, *, by_name: bool = True) -> None:
    if param.role:
        bound.by_role.setdefault(param.role, []).append((name, argument))
    if by_name and name not in ("", "_"):
        bound.by_name.setdefault(name, argument)


# --- stored form -------------------------------------------------------------------------------------------------
def from_data(data: tuple) -> Signature:
    """Build a Signature from the plain tuple that `parse` made: (name, params, returns, text)."""
    name, params, returns, text = data
    return Signature(
        name,
        tuple(
            Param(
                param,
                role,
                kind,
                NOTHING if default is _STORED_NOTHING else default,
                NOTHING if literal is _STORED_NOTHING else literal,
            )
            for param, role, kind, default, literal in params
        ),
        returns,
        text,
    )


# --- parsing -----------------------------------------------------------------------------------------------------
def takes_names_only(params: Iterable[tuple]) -> bool:
    """Is a signature with these (name, role, kind, …) one that takes `**fields`, and no positional argument?"""
    params = list(params)
    return any(kind == "varkw" and role for _, role, kind, *_ in params) and all(kind in ("kw", "varkw") for _, _, kind, *_ in params)


class SignatureProblem(ValueError):
    """A signature that cannot be used; the message has no place yet (the loader knows file and line)."""


def parse(text: str, roles: frozenset[str], *, literals: bool = False) -> tuple:
    """Return (name, params, returns, text) as plain data, params being (name, role, kind, default, literal).

    A bare literal (`client('s3')`) and a literal annotation (`mode: 'w'`) require that value. `literals`: an
    unannotated `name = literal` does so too (make, made_by), unless the literal is None; elsewhere it is a default. A
    name without parentheses stands for `name(*_, **_)`. Raises SignatureProblem.
    """
    whole = text.strip()
    if len(whole) > MAX_LENGTH:
        raise SignatureProblem(f"signature longer than {MAX_LENGTH} characters")
    head, inner, returns = _split(whole)
    _check_name(head, whole)
    if inner is None:
        return (head, (("_", None, "var", ..., ...), ("_", None, "varkw", ..., ...)), returns, whole)
    pieces = _pieces(inner, whole)
    return (head, tuple(_params(pieces, roles, literals, whole)), returns, whole)


def _split(text: str) -> tuple[str, str | None, str]:
    """Split `name(inner) -> returns` outside quotes and brackets."""
    open_at = text.find("(")
    arrow = text.find("->")
    if open_at < 0 or 0 <= arrow < open_at:
        name, _, returns = text.partition("->")
        if ")" in text:
            raise SignatureProblem(f'bad signature "{text}": ")" without "("')
        return name.strip(), None, returns.strip()
    close_at = _closing(text, open_at)
    if close_at < 0:
        raise SignatureProblem(f'bad signature "{text}": "(" is never closed')
    tail = text[close_at + 1 :].strip()
    returns = ""
    if tail.startswith("->"):
        returns = tail[2:].strip()
        if not returns:
            raise SignatureProblem(f'bad signature "{text}": nothing after "->"')
    elif tail.startswith((".", "[", "(")):
        raise SignatureProblem(
            f'bad signature "{text}": one call only; give the step in between an entry of its own '
            f'(`make = ["{text[: close_at + 1]} -> store:ID"]`, and the next step in the entry ID)'
        )
    elif tail:
        raise SignatureProblem(f'bad signature "{text}": "{tail}" after the closing parenthesis')
    return text[:open_at].strip(), text[open_at + 1 : close_at], returns


def _closing(text: str, start: int) -> int:
    depth, quote, at = 0, "", start
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def _check_name(name: str, text: str) -> None:
    # A leading dot is a path from the receiver: `.messages.create(...)`. `*` alone stands for every unknown method.
    parts = name[1:].split(".") if name.startswith(".") else name.split(".")
    if name == "*":
        return
    if not all(part.isidentifier() for part in parts):
        raise SignatureProblem(f'bad signature "{text}": "{name}" is no name')


def _pieces(inner: str, text: str) -> list[str]:
    """Split a parameter list at its top-level commas."""
    pieces, depth, quote, start, at = [], 0, "", 0, 0
    while at < len(inner):
        char = inner[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            pieces.append(inner[start:at])
            start = at + 1
        at += 1
    if quote:
        raise SignatureProblem(f'bad signature "{text}": a quote is never closed')
    pieces.append(inner[start:])
    pieces = [piece.strip() for piece in pieces]
    if pieces and not pieces[-1]:  # a trailing comma, or no parameter at all
        pieces.pop()
    if not all(pieces):
        raise SignatureProblem(f'bad signature "{text}": two commas in a row')
    return pieces


def _params(pieces: list[str], roles: frozenset[str], literals: bool, text: str):
    """Parse the pieces as a def; a bare literal gets an invented name, because a def cannot hold one."""
    import ast

    bare: dict[str, Any] = {}
    source = []
    for number, piece in enumerate(pieces):
        value = _literal(piece)
        if value is NOTHING:
            source.append(piece)
        else:
            bare[f"_literal_{number}_"] = value
            source.append(f"_literal_{number}_")
    try:
        tree = ast.parse(f"def f({', '.join(source)}): pass")
        function = tree.body[0]
        if len(tree.body) != 1 or not isinstance(function, ast.FunctionDef):
            raise SyntaxError("not one parameter list")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SignatureProblem(f'bad signature "{text}": {getattr(error, "msg", None) or error}') from None

    arguments = function.args
    positional = [(arg, "posonly") for arg in arguments.posonlyargs] + [(arg, "pos") for arg in arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    rows = [(arg, kind, default) for (arg, kind), default in zip(positional, defaults)]
    if arguments.vararg:
        rows.append((arguments.vararg, "var", None))
    rows += [(arg, "kw", default) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        rows.append((arguments.kwarg, "varkw", None))

    seen: set[str] = set()
    for arg, kind, default_node in rows:
        if arg.arg in bare:
            yield ("", None, kind, ..., bare[arg.arg])
            continue
        if arg.arg != "_" and arg.arg in seen:
            raise SignatureProblem(f'bad signature "{text}": two parameters "{arg.arg}"')
        seen.add(arg.arg)
        wanted = NOTHING if arg.annotation is None else _literal_of(arg.annotation)
        role = None if wanted is not NOTHING else _role(arg, roles, text)
        default: Any = ...
        if default_node is not None:
            default = _literal_of(default_node)
            if default is NOTHING:
                raise SignatureProblem(f'bad signature "{text}": the default of "{arg.arg}" is no literal')
        if wanted is not NOTHING:
            yield (arg.arg, None, kind, default, wanted)
        elif literals and default is not ... and default is not None and arg.annotation is None:
            yield (arg.arg, None, kind, ..., default)
        else:
            yield (arg.arg, role, kind, default, ...)


def _role(arg: Any, roles: frozenset[str], text: str) -> str | None:
    import ast

    if arg.annotation is None:
        return arg.arg if arg.arg in roles else None
    if not isinstance(arg.annotation, ast.Name):
        raise SignatureProblem(f'bad signature "{text}": the annotation of "{arg.arg}" is no role name')
    role = arg.annotation.id
    if role == "_":
        return None
    if role not in roles:
        raise SignatureProblem(f'unknown role "{role}" in "{text}"{nearest(role, roles)}')
    return role


def _literal(piece: str) -> Any:
    import ast

    if piece[0].isalpha() and piece not in ("None", "True", "False") and piece[1:2] not in ("'", '"'):
        return NOTHING  # a name; spares the parser for nearly all pieces
    if piece[0] in "*/_":
        return NOTHING
    try:
        return _literal_of(ast.parse(piece, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NOTHING


def _literal_of(node: Any) -> Any:
    import ast

    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return NOTHING
    return NOTHING if value is ... else value
