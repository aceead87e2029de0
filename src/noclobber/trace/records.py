"""Same record? yes / maybe / no, in one place (DESIGN §2)."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .events import Record
from .values import CLOCK, NO_IDENTITY, RANDOM, Lit, Template, Value, identity

YES, MAYBE, NO = "yes", "maybe", "no"
_RANK = {YES: 2, MAYBE: 1, NO: 0}


def weakest(*answers: str) -> str:
    return min(answers, key=_RANK.__getitem__, default=YES)


def same_value(a: Optional[Value], b: Optional[Value], depth: int = 6) -> str:
    """Are two key parts the same value? An absent part (None or the literal None) equals an absent one."""
    absent_a = a is None or a.is_none
    absent_b = b is None or b.is_none
    if absent_a or absent_b:
        return YES if absent_a and absent_b else NO
    a, b = _unwrapped(a), _unwrapped(b)
    if a is b and type(a.shape) is Template and CLOCK in a.origins and RANDOM not in a.origins:
        return MAYBE  # `f"{today}.json"`, read and written on the same day
    if type(a.shape) is Lit and type(b.shape) is Lit:
        return YES if str(a.shape.value) == str(b.shape.value) else NO
    if depth and (type(a.shape) is Template or type(b.shape) is Template):
        shaped = _same_template(a, b, depth)
        if shaped is not None:
            return shaped
    for whole, part in ((a, b), (b, a)):
        if depth and type(whole.shape) is Template and type(part.shape) not in (Template, Lit) and len(whole.shape.parts) > 1:
            if any(isinstance(hole, Value) and identity(hole) and identity(hole) == identity(part) for hole in whole.shape.parts):
                return NO  # `f"{key}:backup"` is longer than the key
    if a.ref is not None and b.ref is not None and a.ref[0] == b.ref[0] and a.ref[0] in ("dotted", "class", "column"):
        return YES if a.ref[1:] == b.ref[1:] else NO
    if a.objs and a.objs == b.objs and len(a.objs) == 1:
        return YES
    mine, other = identity(a), identity(b)
    if mine & other:
        return YES if len(mine) == 1 and len(other) == 1 else MAYBE
    if (type(a.shape) is Lit) != (type(b.shape) is Lit):
        # A literal against something computed: nothing shows that they are the same.
        return NO
    if mine and other and len(mine) == 1 and len(other) == 1:
        (one,), (two,) = mine, other
        # Two different parameters, fields or results: different until something says otherwise.
        if one.kind == two.kind or "param" in (one.kind, two.kind):
            return NO
    shared = {o for o in a.origins & b.origins if o.kind not in NO_IDENTITY and o.kind != "global"}
    return MAYBE if shared else NO


def _unwrapped(value: Value) -> Value:
    """`f"{key}"` is the key."""
    while type(value.shape) is Template and len(value.shape.parts) == 1 and isinstance(value.shape.parts[0], Value):
        value = value.shape.parts[0]
    return value


def _same_template(a: Value, b: Value, depth: int) -> Optional[str]:
    """Pieces first: different literal pieces no; equal pieces and equal holes yes."""
    left = a.shape.parts if type(a.shape) is Template else (str(a.shape.value),) if type(a.shape) is Lit else None
    right = b.shape.parts if type(b.shape) is Template else (str(b.shape.value),) if type(b.shape) is Lit else None
    if left is None or right is None:
        return None
    left, right = _without_common_ends(list(left), list(right), depth)
    if not left and not right:
        return YES
    if not left or not right:
        return NO
    if len(left) != len(right):
        return _ends_differ(left, right)
    answer = YES
    for one, two in zip(left, right):
        if isinstance(one, str) and isinstance(two, str):
            if one != two:
                return NO
        elif isinstance(one, Value) and isinstance(two, Value):
            answer = weakest(answer, same_value(one, two, depth - 1))
            if answer == NO:
                return NO
        else:
            return _ends_differ(left, right)
    return answer


def _without_common_ends(left: list, right: list, depth: int) -> tuple:
    """Both shapes without the pieces that are the same at either end."""
    for end in (0, -1):
        while left and right:
            one, two = left[end], right[end]
            if isinstance(one, str) and isinstance(two, str):
                if one != two:
                    break
            elif not (isinstance(one, Value) and isinstance(two, Value)) or same_value(one, two, depth - 1) != YES:
                break
            del left[end], right[end]
    return tuple(left), tuple(right)


def _ends_differ(left: tuple, right: tuple) -> str:
    """Shapes of different make: no when their literal ends contradict each other, else maybe (one side may be cut differently)."""
    for i, test in ((0, str.startswith), (-1, str.endswith)):
        one, two = left[i], right[i]
        if isinstance(one, str) and isinstance(two, str) and not (test(one, two) or test(two, one)):
            return NO
    return NO if not any(isinstance(p, Value) for p in left + right) else _shared(left, right)


def _shared(left: tuple, right: tuple) -> str:
    mine = {o for p in left if isinstance(p, Value) for o in identity(p)}
    other = {o for p in right if isinstance(p, Value) for o in identity(p)}
    return MAYBE if mine & other else NO


def same_table(a: Any, b: Any) -> str:
    if a is None or b is None:
        return YES if a is None and b is None else MAYBE
    if isinstance(a, Value) and isinstance(b, Value):
        return NO if _picked_apart(a, b) else same_value(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return NO
        answer = YES
        for one, two in zip(a, b):
            if isinstance(one, Value) and isinstance(two, Value):
                answer = weakest(answer, NO if _picked_apart(one, two) else same_value(one, two))
            elif one != two:
                return NO
        return answer
    return YES if a == b else NO


def _picked_apart(a: Value, b: Value) -> bool:
    """`TABLES["orders"]` and `TABLES["lines"]`, whatever is known of what the mapping holds."""
    mine, other = ({flag for flag in value.flags if isinstance(flag, str) and flag.startswith("at:")} for value in (a, b))
    return bool(mine) and bool(other) and not mine & other


def _other_client(a: Optional[Value], b: Optional[Value]) -> bool:
    """Two clients under different names, neither made from the other: a source and a target."""
    if a is None or b is None or not a.name or not b.name or a.name == b.name:
        return False
    mine, other = identity(a), identity(b)
    if not mine or not other or mine & other:
        return False
    return all(o.kind in ("param", "global") for o in mine | other) and not (mine & b.origins or other & a.origins)


def same_record(read: Record, write: Record, *, key_from_read: Optional[Callable[[str, Value], bool]] = None) -> str:
    """Does `write` go to the record that `read` read?

    key_from_read(column, value): the write's key value is that very column of the row that was read.
    """
    if read.obj is not None and read.obj == write.obj:
        return YES
    tables = same_table(read.table, write.table)
    if tables == NO:
        return NO
    if _other_client(read.owner, write.owner):
        return NO
    if read.store != write.store and not (read.family == write.family or {read.family, write.family} <= {"sql", "orm"}):
        return NO
    mine, other = dict(read.key), dict(write.key)
    if not mine and not other:
        return tables
    common = [column for column in other if column in mine]
    taken = {column for column, value in write.key if key_from_read(column, value)} if key_from_read is not None else set()
    if taken:
        # `WHERE id = row.id`: other key columns of the write may only narrow it.
        if all(same_value(mine[c], other[c]) != NO for c in common if c not in taken):
            return tables
    if common:
        answer = tables
        for column in common:
            answer = weakest(answer, same_value(mine[column], other[column]))
        if answer != NO:
            return answer if len(common) == len(mine) or len(common) == len(other) else weakest(answer, MAYBE)
        return NO
    if "reference" in other and "reference" not in mine and key_from_read is not None and key_from_read("reference", other["reference"]):
        return tables
    if not mine or not other:
        # The whole table on one side: a read of all rows and a write of one of them, or the other way round.
        return weakest(tables, MAYBE) if read.family in ("sql", "orm") else NO
    shared = {o for v in mine.values() for o in identity(v)} & {o for v in other.values() for o in identity(v)}
    return weakest(tables, MAYBE) if shared else NO
