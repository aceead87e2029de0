"""Abstract values: where a value comes from, which objects it may be, what text it has.

A `Value` is immutable and interned (`Values`), so that equal values are identical and a fixpoint is an identity test.
Derivation is a *may* fact: `join` is union. `same` and `incr` say how directly a value is an origin: `same` holds the
origins it equals (through `int()`, `or 0`, a clamp), `incr` those it is plus or minus something; both keep what any path says.
"""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Optional

MAX_PATH = 4  # deeper paths are cut (DESIGN §2)
MAX_ORIGINS = 32  # larger sets become Unknown (DESIGN §2)
MAX_OBJECTS = 6


#: Step of an origin that says: made by taking an opaque tag apart or counting with it.
ALTERED = "[altered]"


class Origin(NamedTuple):
    """Where a value comes from.

    kind: 'read' (event n, path into its result), 'outcome' (what write n answered), 'param' (n = name of the parameter, path),
    'opaque' (result of unresolved call at site n), 'item' (the variable of loop n), 'exc' (exception of event n),
    'const', 'random', 'clock', 'unknown', 'server' (a server-side expression such as F("n")), 'dump' (a patch written out with every
    field, event n), 'fresh' (made anew by event n, inside a loop
    or retried function), 'attempt' (counts the rounds of loop n).
    """

    kind: str
    n: Any = 0
    path: tuple = ()

    def at(self, step: str) -> Origin:
        if self.kind in _PATHLESS or self.path and self.path[-1] == "(.)":
            return self
        if self.path and self.path[-1] == "()":
            return Origin(self.kind, self.n, self.path[:-1] + ("(.)",))  # some part of what an opaque call gave back
        if len(self.path) >= MAX_PATH:
            return Origin(self.kind, self.n, self.path[:MAX_PATH] if self.path[-1] == "…" else self.path[: MAX_PATH - 1] + ("…",))
        return Origin(self.kind, self.n, self.path + (step,))


_PATHLESS = frozenset(("const", "random", "clock", "unknown", "server", "dump", "fresh", "attempt"))
#: Origins that never prove two values to be the same (DESIGN §2, Same record).
NO_IDENTITY = frozenset(("const", "random", "clock", "unknown", "server", "fresh", "attempt"))

CONST = Origin("const")
UNKNOWN = Origin("unknown")
CLOCK = Origin("clock")
RANDOM = Origin("random")
SERVER = Origin("server")
NOTHING: frozenset = frozenset()


class Lit(NamedTuple):
    """Shape of a literal. `type_` keeps 1, 1.0 and True apart."""

    value: Any
    type_: str


class Template(NamedTuple):
    """Shape of a text made of literal pieces (str) and holes (Value)."""

    parts: tuple


class Query(NamedTuple):
    """A statement or queryset under construction.

    entry: (kind, id) of the vocabulary entry that started it; verb: select|update|delete|insert; entity: the Value(s) it was
    started on; filters: (column or '', operator, Value); sets: (column, Value); flags: 'lock', 'fresh' (populate_existing),
    'open' (a filter that could not be read), 'nowait' …; text: SQL text Value for text() statements; session: Value of the session it was begun on.
    """

    entry: tuple
    verb: str
    entity: tuple
    filters: tuple = ()
    sets: tuple = ()
    flags: frozenset = NOTHING
    text: Any = None
    lock_site: Any = None
    session: Any = None


_TEXT = frozenset(("text",))  # it is text on some path


class Value:
    """One abstract value; compare with `is`. Make through `Values`."""

    __slots__ = ("origins", "objs", "same", "incr", "shape", "typ", "ref", "query", "flags", "name")

    origins: frozenset
    objs: frozenset
    same: frozenset
    incr: frozenset
    shape: Any
    typ: Optional[str]
    ref: Optional[tuple]
    query: Optional[Query]
    flags: frozenset
    name: str

    @property
    def literal(self) -> Any:
        """The literal's value, or NOT_LITERAL."""
        return self.shape.value if type(self.shape) is Lit else NOT_LITERAL

    @property
    def is_none(self) -> bool:
        return type(self.shape) is Lit and self.shape.value is None

    @property
    def text(self) -> Optional[str]:
        value = self.literal
        return value if isinstance(value, str) else None

    @property
    def dotted(self) -> str:
        """The dotted name of what it refers to (an imported thing), else ''."""
        return self.ref[1] if self.ref is not None and self.ref[0] == "dotted" else ""

    def __repr__(self) -> str:
        bits = []
        if type(self.shape) is Lit:
            bits.append(repr(self.shape.value))
        elif self.shape is not None:
            bits.append("T" + repr(self.shape.parts))
        if self.typ:
            bits.append(f"<{self.typ}>")
        if self.ref:
            bits.append(f"={self.ref[0]}:{self.ref[1]}")
        if self.objs:
            bits.append("@" + ",".join(str(o) for o in sorted(self.objs)))
        if self.query:
            bits.append(f"{self.query.verb}?")
        bits.extend(f"{'=' if o in self.same else '±' if o in self.incr else '~'}{o.kind}{o.n}{'.'.join(('',) + o.path)}"
                    for o in sorted(self.origins, key=str) if o.kind != "const")
        return "«" + " ".join(bits) + "»"


class _NotLiteral:
    def __repr__(self) -> str:
        return "NOT_LITERAL"


NOT_LITERAL = _NotLiteral()


def _words_of(value: Value) -> frozenset:
    """Flags that keep which texts a value may be, where it is one of several literals."""
    text = value.text if type(value.shape) is Lit else None
    return frozenset((WORD + text,)) if isinstance(text, str) and len(text) <= MAX_WORD else NOTHING


def words_in(value: Value) -> Optional[frozenset]:
    """The texts that a value made of literals may be; None: it may be something else."""
    if type(value.shape) is Lit:
        return frozenset((value.shape.value,)) if isinstance(value.shape.value, str) else None
    if value.shape is not None or any(o.kind != "const" for o in value.origins):
        return None
    return frozenset(flag[len(WORD):] for flag in value.flags if flag.startswith(WORD))


def _but(a: Value, b: Value) -> frozenset:
    """Flags of a value that is one of two, where one of them is certainly not some text: of that the other must be certain, too."""
    found = {flag for flag in a.flags | b.flags if not flag.startswith(NOT)}
    for flag in a.flags | b.flags:
        if flag.startswith(NOT) and all(flag in side.flags or flag[len(NOT):] not in (words_in(side) or (flag[len(NOT):],)) for side in (a, b)):
            found.add(flag)
    return frozenset(found)


WORD, NOT, EXCEPT = "word:", "not:", "except"
MAX_WORD = 60


def _answer_of(a: Value, b: Value) -> Optional[tuple]:
    """`stored = False`, later `stored = cursor.rowcount == 1`: where it is true, the comparison was."""
    for answer, before in ((a, b), (b, a)):
        if type(before.shape) is Lit and before.shape.value is False and answer.ref is not None and answer.ref[0] == "compare":
            return answer.ref
    return None


def _default_of(a: Value, b: Value) -> Optional[tuple]:
    """`store = store or cache`: an object of a library, unless another one was handed in that does the same."""
    for default, given in ((a, b), (b, a)):
        if default.ref is not None and default.ref[0] == "dotted" and "." in default.ref[1] and given.ref is None and given.shape is None and not given.typ and not given.objs \
                and given.origins and all(o.kind == "param" for o in given.origins):
            return default.ref
    return None


def _one_of(a: Value, b: Value) -> Optional[tuple]:
    """The ref of a value that is one of several functions: `HANDLERS[event]`; None: it is something else."""
    if a.ref is None or b.ref is None or not {a.ref[0], b.ref[0]} <= _CALLABLE:
        return None
    mine, others = (value.ref[1] if value.ref[0] == "oneof" else (value,) for value in (a, b))
    known = {value.ref for value in mine}
    choices = (*mine, *(value for value in others if value.ref not in known))
    return ("oneof", choices) if len(choices) <= MAX_CHOICES else None


_CALLABLE = frozenset(("function", "local", "partial", "oneof"))
MAX_CHOICES = 12


class Values:
    """Makes and interns values. One per analysed module."""

    def __init__(self, entries_of: Any = None) -> None:
        """entries_of: the vocabulary's entries of a type."""
        self._table: dict[tuple, Value] = {}
        self._entries_of = entries_of
        self._kin: dict[tuple, Optional[str]] = {}
        self.unknown = self.make(frozenset((UNKNOWN,)))
        self.none = self.const(None)

    def make(
        self,
        origins: frozenset = NOTHING,
        *,
        objs: frozenset = NOTHING,
        same: frozenset = NOTHING,
        incr: frozenset = NOTHING,
        shape: Any = None,
        typ: Optional[str] = None,
        ref: Optional[tuple] = None,
        query: Optional[Query] = None,
        flags: frozenset = NOTHING,
        name: str = "",
    ) -> Value:
        if len(origins) > MAX_ORIGINS:
            # Reads and outcomes carry the findings: they are the last to be forgotten.
            kept = frozenset(o for o in origins if o.kind in ("read", "outcome"))
            origins = (kept if len(kept) <= MAX_ORIGINS else NOTHING) | {UNKNOWN}
            same, incr = same & origins, incr & origins
        if len(objs) > MAX_OBJECTS:
            objs = NOTHING
        key = (origins, objs, same, incr, shape, typ, ref, query, flags, name)
        found = self._table.get(key)
        if found is None:
            found = Value()
            (found.origins, found.objs, found.same, found.incr, found.shape, found.typ, found.ref, found.query, found.flags,
             found.name) = key
            self._table[key] = found
        return found

    def const(self, value: Any) -> Value:
        return self.make(frozenset((CONST,)), shape=Lit(value, type(value).__name__))

    def origin(self, origin: Origin, **more: Any) -> Value:
        """A value that *is* this origin."""
        single = frozenset((origin,))
        return self.make(single, same=NOTHING if origin.kind in NO_IDENTITY else single, **more)

    def derived(self, *parts: Iterable[Value] | Value, **more: Any) -> Value:
        """A value computed from others in a way that is not followed: union of origins, no identity."""
        origins: set = set()
        for part in parts:
            for value in (part,) if type(part) is Value else part:
                origins |= value.origins
        if len(origins) > 1:
            origins.discard(CONST)
        return self.make(frozenset(origins), **more)

    def replace(self, value: Value, **changes: Any) -> Value:
        fields = dict(objs=value.objs, same=value.same, incr=value.incr, shape=value.shape, typ=value.typ, ref=value.ref,
                      query=value.query, flags=value.flags, name=value.name)
        origins = changes.pop("origins", value.origins)
        fields.update(changes)
        return self.make(origins, **fields)

    def join(self, a: Optional[Value], b: Optional[Value]) -> Value:
        """Least upper bound. None stands for a name that is unbound on that path: the other side wins."""
        if a is b or b is None:
            return a if a is not None else self.unknown
        if a is None:
            return b
        none_a, none_b = a.is_none, b.is_none
        if none_a or none_b:
            # `x = None` on one path: the value of the other path is what matters; only the shape is not certain any more.
            other = b if none_a else a
            if none_a and none_b:
                return a
            return self.replace(other, flags=other.flags | {"maybe-none"})
        return self.make(
            a.origins | b.origins,
            objs=a.objs | b.objs,
            same=a.same | b.same,
            incr=a.incr | b.incr,
            shape=a.shape if a.shape == b.shape else None,
            typ=a.typ if a.typ == b.typ else (a.typ or b.typ if not (a.typ and b.typ) else self.kin(a.typ, b.typ)),
            ref=a.ref if a.ref == b.ref else _answer_of(a, b) or _one_of(a, b) or _default_of(a, b),
            query=self._join_query(a.query, b.query),
            flags=(a.flags | b.flags if EXCEPT not in a.flags and EXCEPT not in b.flags else _but(a, b)) | (NOTHING if a.shape == b.shape else _words_of(a) | _words_of(b)) | (_TEXT if type(a.shape) is Template or type(b.shape) is Template else NOTHING),
            name=a.name if a.name == b.name else "",
        )

    def kin(self, a: str, b: str) -> Optional[str]:
        """The type of what is one of two: known by either where both are the same library's (`fs or s3fs.S3FileSystem()`, its annotation), else None."""
        if self._entries_of is None:
            return None
        if (a, b) not in self._kin:
            mine, other = self._entries_of(a), self._entries_of(b)
            self._kin[a, b] = max(a, b) if mine and mine == other else None
        return self._kin[a, b]

    @staticmethod
    def _join_query(a: Optional[Query], b: Optional[Query]) -> Optional[Query]:
        if a == b:
            return a
        if a is None or b is None:
            return a or b
        if a.entry != b.entry or a.verb != b.verb:
            return None
        # Filters and locks are *must* facts: only what both paths put on it holds.
        return a._replace(
            filters=tuple(f for f in a.filters if f in b.filters),
            flags=(a.flags & b.flags) | ((a.flags | b.flags) & {"open", "may lock"}) | ({"may lock"} if "lock" in a.flags ^ b.flags else NOTHING),
            sets=a.sets if a.sets == b.sets else a.sets + tuple(s for s in b.sets if s not in a.sets),
        )

    def template(self, parts: Iterable[str | Value], *, origins: frozenset = NOTHING) -> Value:
        """Text made of pieces; nested templates and text literals are spliced, all-literal text becomes a literal."""
        flat: list = []

        def put(piece: str | Value) -> None:
            if type(piece) is str:
                if flat and type(flat[-1]) is str:
                    flat[-1] += piece
                elif piece:
                    flat.append(piece)
                return
            shape = piece.shape
            if type(shape) is Lit and isinstance(shape.value, (str, int)) and not isinstance(shape.value, bool):
                put(str(shape.value))
            elif type(shape) is Template:
                for inner in shape.parts:
                    put(inner)
            else:
                flat.append(piece)

        found: set = set(origins)
        for part in parts:
            put(part)
            if type(part) is Value:
                found |= part.origins
        if all(type(p) is str for p in flat):
            return self.const("".join(flat))
        if len(found) > 1:
            found.discard(CONST)
        if len(flat) > 60:
            return self.make(frozenset(found))
        return self.make(frozenset(found), shape=Template(tuple(flat)))


def identity(value: Value) -> frozenset:
    """The origins that may prove identity: what the value equals, without constants, clocks and unknowns. `row.id` is `row.pk`."""
    return frozenset(o._replace(path=o.path[:-1] + ("pk",)) if o.path and o.path[-1] == "id" else o for o in value.same if o.kind not in NO_IDENTITY)


def reads_of(value: Value) -> frozenset:
    return frozenset(o for o in value.origins if o.kind == "read")
