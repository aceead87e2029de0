"""Accessor pairs: a record that is read and written through the two halves of a pair, `set_balance(id, get_balance(id) + d)`."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional

from noclobber.knowledge.pairs import NAMED_ONLY, PLAIN, STORING, is_pair, parted

from ..events import Accessor, Event, Site, Trace
from ..records import YES, same_value
from ..values import Lit, Value
from .files import is_shared_document
from .guards import GUARDS, held_doubts
from .writes import derived_writes, is_collected, is_step

#: Stores that a pair may stand before. Rows of an ORM are told by the rules about objects.
FAMILIES = ("accessor", "sql", "http", "object", "document", "key", "file")


@dataclass(slots=True)
class Pair:
    """A write through one half of a pair whose payload derives from what the other half gave. write: the event beneath, or the setter's call;
    site: the setter's call; read: the event or call of the getter; getter, setter: their names; label: what they are about."""

    write: Event
    read: Event
    site: Site
    read_site: Site
    getter: str
    setter: str
    label: str
    doubts: frozenset
    family: str


def accessor_writes(trace: Trace) -> Iterator[Pair]:
    """Every write of a record through its pair that nothing guards."""
    for write, read, _, answer in derived_writes(trace, FAMILIES, ("replace", "update", "upsert")):
        doubts = write.doubts | held_doubts(read, write) | (frozenset(("maybe-same",)) if answer != YES else frozenset())
        if write.role == "cache" and not is_step(write.payload, read) and not is_collected(trace, read, write):
            doubts |= {"memoised"}  # what a cache holds can be computed again
        if write.record.family == "accessor":
            yield Pair(write, read, write.site, read.site, read.spec.signature.last if read.spec is not None else "", write.call, write.record.label, doubts, "accessor")
            continue
        pair = paired(trace, read, write)
        if pair is None or write.record.family == "file" and not is_shared_document(trace, read, write):
            continue
        yield Pair(write, read, pair[3], pair[2], pair[0], pair[1], write.record.label, doubts, write.record.family)
    yield from _by_name(trace)


def paired(trace: Trace, read: Event, write: Event) -> Optional[tuple[str, str, Site, Site]]:
    """(getter, setter, place of the getter's call, of the setter's) where read and write happen in the two halves of a pair of the project."""
    depth = 0
    for one, two in zip(read.ctx.calls, write.ctx.calls):
        if one != two:
            break
        depth += 1
    if depth >= len(read.ctx.calls) or depth >= len(write.ctx.calls):
        return None
    getter, setter = trace.callees.get(read.ctx.calls[:depth + 1]), trace.callees.get(write.ctx.calls[:depth + 1])
    if getter is None or setter is None:
        return None
    one, two = getter[0].rpartition("."), setter[0].rpartition(".")
    owner = one[0] == two[0] and getter[1] == setter[1]
    if owner and one[2] == "__init__" and (parted(two[2]) or ("",))[0] in STORING:
        return one[0].rpartition(".")[2], two[2], read.ctx.calls[depth][1], write.ctx.calls[depth][1]  # an object that loads itself when it is made
    if not is_pair(one[2], two[2], loose=owner and bool(one[0]), known=True) or not owner and not (one[0] and two[0]):
        return None
    return one[2], two[2], read.ctx.calls[depth][1], write.ctx.calls[depth][1]


# --- by name alone ----------------------------------------------------------------------------------------------------------------------
def _by_name(trace: Trace) -> Iterator[Pair]:
    calls = [event for event in trace.of("accessor") if isinstance(event, Accessor)]
    if not calls or any(trace.match("conflict_exception", str(name).rpartition(".")[2]) for event in trace.of("swallow") for name in event.types or ()):
        return
    for setter in calls:
        if not setter.writes or _has_witness(trace, setter):
            continue
        for getter in reversed(calls):
            if getter.n < setter.n and not getter.writes and _is_blind(trace, getter, setter):
                owner = setter.owner if isinstance(setter.owner, str) else setter.owner.name
                noun = (parted(setter.name) or ("", ""))[1] or (parted(getter.name) or ("", ""))[1] or owner.rpartition(".")[2].strip("_") or "the record"
                both = paired(trace, getter, setter)
                site, read_site = (both[3], both[2]) if both is not None else (setter.site, getter.site)
                yield Pair(setter, getter, site, read_site, getter.name, setter.name, noun, held_doubts(getter, setter) | {"pattern-only"}, "accessor")
                break


def _is_blind(trace: Trace, getter: Accessor, setter: Accessor) -> bool:
    if getter.site.path != setter.site.path or not _same_owner(getter, setter):
        return False
    owned = _is_store(trace, setter) or _is_store(trace, getter)
    if not is_pair(getter.name, setter.name, loose=owned or _gives_back(trace, getter, setter)):
        return False
    if any(lock.kind in GUARDS for lock in getter.ctx.held & setter.ctx.held):
        return False
    keys = _keys(getter, setter)
    if keys is None or not _is_derived(trace, getter, setter, keys):
        return False
    return _is_shown(trace, getter, setter, owned, bool(keys))


def _gives_back(trace: Trace, getter: Accessor, setter: Accessor) -> bool:
    """`session = sessions.get_session(session_id=…)`, later `sessions.update_session(session)`: the very object goes back, found by what a record is found by."""
    return _entity(getter, setter) is not None and any(name and trace.match("record_ident", name) for _, value in getter.given for name in _names(value))


def _same_owner(getter: Accessor, setter: Accessor) -> bool:
    if isinstance(getter.owner, str) or isinstance(setter.owner, str):
        return getter.owner == setter.owner
    return same_value(getter.owner, setter.owner) == YES


def _is_store(trace: Trace, call: Accessor) -> bool:
    """Does the receiver's name or class say that it keeps records?"""
    name = call.owner.rpartition(".")[2] if isinstance(call.owner, str) else call.owner.name
    if any(word and trace.match("memory_receiver", word) for word in (name.strip("_"), call.typ)):
        return False
    return any(word and trace.match("store_receiver", word) for word in (name.strip("_"), call.typ))


def _keys(getter: Accessor, setter: Accessor) -> Optional[frozenset]:
    """Places of the setter's arguments that are the getter's arguments; None where an argument of the getter is not among them."""
    found: set = set()
    whole = _entity(getter, setter)
    for name, value in getter.given:
        if name and type(value.shape) is Lit and (value.is_none or isinstance(value.shape.value, bool)) or getter.given[0][1] is not value and type(value.shape) is Lit and not name:
            continue  # a flag, a default
        place = next((i for i, (_, other) in enumerate(setter.given) if i not in found and same_value(value, other) == YES), None)
        if place is None:
            if whole is None:
                return None
            continue  # the object that was loaded carries its key
        found.add(place)
    return frozenset(found)


def _entity(getter: Accessor, setter: Accessor) -> Optional[int]:
    """Place of the argument that is the very object that the getter gave, or, as the only one, a changed copy of it."""
    for i, (_, value) in enumerate(setter.given):
        if getter.origin in value.same or len(setter.given) == 1 and value.objs and getter.origin in setter.parts[i]:
            return i
    return None


def _is_derived(trace: Trace, getter: Accessor, setter: Accessor, keys: frozenset) -> bool:
    """Is something written that was computed from what was read?"""
    entity = _entity(getter, setter)
    for i, (_, value) in enumerate(setter.given):
        if i in keys or not any(o.kind == getter.origin.kind and o.n == getter.origin.n for o in setter.parts[i]):
            continue
        if i != entity or getter.origin not in value.same:
            # A field of it alone, or something made with it: a reference to the record is none.
            return not (len(value.same) == 1 and next(iter(value.same)).path and not value.objs)
        if any(getter.n < event.n < setter.n and any(o.kind == getter.origin.kind and o.n == getter.origin.n for o in event.base) for event in trace.of("change")):
            return True
    return False


def _is_shown(trace: Trace, getter: Accessor, setter: Accessor, owned: bool, keyed: bool) -> bool:
    """Do the names say that something is stored, and not kept in an object in memory?"""
    (verb, noun), (write, _) = parted(getter.name) or ("", ""), parted(setter.name) or ("", "")
    storing = verb in STORING and write in STORING
    name = setter.owner.rpartition(".")[2] if isinstance(setter.owner, str) else setter.owner.name
    if trace.match("memory_receiver", name.strip("_")) or trace.match("memory_noun", noun) or setter.typ and trace.match("memory_receiver", setter.typ):
        return False
    if owned:
        return keyed or bool(getter.given) or storing
    if isinstance(setter.owner, str):  # two functions of one module
        return bool(noun) and (keyed and (write in STORING or _is_ident(trace, getter)) or storing)
    if not noun and (verb, write) in PLAIN:
        return bool(getter.given) and (keyed or _is_ident(trace, getter))
    if write in NAMED_ONLY and noun and _gives_back(trace, getter, setter):
        return True
    return bool(noun) and write in STORING and (storing or keyed and _is_ident(trace, getter))


def _is_ident(trace: Trace, getter: Accessor) -> bool:
    """Is the first argument what a record is found by?"""
    value = getter.given[0][1] if getter.given else None
    return value is not None and any(name and trace.match("record_ident", name) for name in _names(value))


def _names(value: Value) -> Iterator[str]:
    yield value.name
    for origin in value.same:
        if origin.kind == "param":
            yield str(origin.path[-1] if origin.path else origin.n).strip("[]'\"")


def _has_witness(trace: Trace, setter: Accessor) -> bool:
    """Is a version passed, by its keyword or as a field of what was read?"""
    for name, value in setter.given:
        if name and trace.match("witness_argument", name) and not value.is_none:
            return True
        if any(o.path and trace.match("version_column", str(o.path[-1]).strip("[]'\"")) for o in value.same):
            return True
    return False


