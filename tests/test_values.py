"""Abstract values: interning, join, templates, paths, the size of origin sets."""
from __future__ import annotations

import itertools

import pytest

from noclobber.trace.values import (
    CLOCK, CONST, MAX_OBJECTS, MAX_ORIGINS, MAX_PATH, NOT_LITERAL, RANDOM, SERVER, UNKNOWN, Lit, Origin, Query, Template, Values, identity, reads_of,
)

V = Values()
READ = Origin("read", 1)
OTHER = Origin("read", 2)
KEY = V.origin(Origin("param", "key"))
NAME = V.origin(Origin("param", "name"))
ROW = V.origin(READ)


# --- interning --------------------------------------------------------------------------------------------------------


def test_equal_values_are_identical() -> None:
    assert V.const(1) is V.const(1)
    assert V.origin(READ) is ROW
    assert V.template(["a", KEY]) is V.template(["a", KEY])
    assert V.make(frozenset((READ,)), objs=frozenset((1,))) is V.make(frozenset((READ,)), objs=frozenset((1,)))


def test_values_of_another_table_are_others() -> None:
    assert Values().const(1) is not V.const(1)


@pytest.mark.parametrize("a, b", list(itertools.combinations((1, 1.0, True, "1", b"1", None, 0, False, "", 1j), 2)))
def test_literals_of_other_types_are_others(a: object, b: object) -> None:
    assert V.const(a) is not V.const(b)


@pytest.mark.parametrize("more", [dict(name="x"), dict(typ="t"), dict(flags=frozenset(("f",))), dict(objs=frozenset((1,))), dict(ref=("dotted", "a")), dict(shape=Lit(1, "int"))])
def test_every_field_counts(more: dict) -> None:
    assert V.make(frozenset((READ,)), **more) is not V.make(frozenset((READ,)))


def test_literal_of_a_value() -> None:
    assert V.const("a").literal == "a" and V.const("a").text == "a"
    assert V.const(3).literal == 3 and V.const(3).text is None
    assert KEY.literal is NOT_LITERAL and KEY.text is None
    assert V.none.is_none and not V.const(0).is_none and not KEY.is_none


def test_dotted() -> None:
    assert V.make(ref=("dotted", "a.b")).dotted == "a.b"
    assert V.make(ref=("class", 1)).dotted == "" and KEY.dotted == ""


# --- origins ------------------------------------------------------------------------------------------------------------


def test_at_adds_a_step() -> None:
    assert READ.at("a").at("b").path == ("a", "b")


def test_paths_are_cut_at_depth_4() -> None:
    assert MAX_PATH == 4
    origin = READ
    for step in "abcd":
        origin = origin.at(step)
    assert origin.path == ("a", "b", "c", "d")
    assert origin.at("e").path == ("a", "b", "c", "…")
    assert origin.at("e").at("f") == origin.at("e") == origin.at("g")


@pytest.mark.parametrize("origin", [CONST, RANDOM, CLOCK, UNKNOWN, SERVER])
def test_what_has_no_parts(origin: Origin) -> None:
    assert origin.at("a") is origin


def test_what_an_opaque_call_made_has_no_known_parts() -> None:
    made = READ.at("()")
    part = made.at("a")
    assert part == READ.at("(.)")  # some part of what the call gave back, nobody knows which
    assert part.at("b") is part


def test_a_value_that_is_an_origin() -> None:
    assert ROW.origins == ROW.same == {READ} and not ROW.incr


@pytest.mark.parametrize("origin", [CONST, RANDOM, CLOCK, UNKNOWN, SERVER])
def test_what_proves_no_identity(origin: Origin) -> None:
    value = V.origin(origin)
    assert value.origins == {origin} and not value.same and not identity(value)


def test_identity_and_reads() -> None:
    value = V.make(frozenset((READ, CLOCK, Origin("param", "x"))), same=frozenset((READ, CLOCK)))
    assert identity(value) == {READ}
    assert reads_of(value) == {READ}


def test_origin_sets_are_cut_at_32() -> None:
    assert MAX_ORIGINS == 32
    params = [Origin("param", f"p{i}") for i in range(33)]
    assert V.make(frozenset(params[:32])).origins == frozenset(params[:32])
    cut = V.make(frozenset(params), same=frozenset(params))
    assert cut.origins == {UNKNOWN} and not cut.same


def test_reads_are_the_last_to_be_forgotten() -> None:
    params = [Origin("param", f"p{i}") for i in range(40)]
    cut = V.make(frozenset([*params, READ, Origin("outcome", 3)]), same=frozenset((READ, params[0])), incr=frozenset((params[1],)))
    assert cut.origins == {READ, Origin("outcome", 3), UNKNOWN}
    assert cut.same == {READ} and not cut.incr


def test_too_many_reads_are_unknown() -> None:
    assert V.make(frozenset(Origin("read", i) for i in range(33))).origins == {UNKNOWN}


def test_too_many_objects_are_none() -> None:
    assert V.make(objs=frozenset(range(MAX_OBJECTS))).objs == frozenset(range(MAX_OBJECTS))
    assert V.make(objs=frozenset(range(MAX_OBJECTS + 1))).objs == frozenset()


def test_derived_is_the_union_without_identity() -> None:
    value = V.derived(ROW, [KEY, V.const(1)])
    assert value.origins == {READ, Origin("param", "key")}
    assert not value.same and value.shape is None


def test_derived_of_constants_is_constant() -> None:
    assert V.derived(V.const(1), V.const(2)).origins == {CONST}
    assert V.derived().origins == frozenset()


def test_replace_keeps_the_rest() -> None:
    value = V.origin(READ, typ="t", objs=frozenset((1,)), flags=frozenset(("f",)))
    other = V.replace(value, name="n")
    assert (other.origins, other.same, other.typ, other.objs, other.flags, other.name) == (value.origins, value.same, "t", {1}, {"f"}, "n")
    assert V.replace(other, name="") is value


# --- join -----------------------------------------------------------------------------------------------------------------


def test_join_is_union() -> None:
    a = V.make(frozenset((READ,)), same=frozenset((READ,)), objs=frozenset((1,)), flags=frozenset(("f",)))
    b = V.make(frozenset((OTHER,)), incr=frozenset((OTHER,)), objs=frozenset((2,)), flags=frozenset(("g",)))
    joined = V.join(a, b)
    assert (joined.origins, joined.same, joined.incr, joined.objs, joined.flags) == ({READ, OTHER}, {READ}, {OTHER}, {1, 2}, {"f", "g"})


SAMPLES = [
    V.none, V.const(1), V.const("a"), ROW, KEY, V.unknown, V.template(["a", KEY]), V.template(["b", KEY]), V.make(frozenset((READ, OTHER)), incr=frozenset((READ,))),
    V.make(ref=("dotted", "a")), V.origin(READ, typ="t", objs=frozenset((1,))), V.origin(READ, typ="u", objs=frozenset((2,)), name="x"),
]


@pytest.mark.parametrize("a", SAMPLES)
def test_join_is_idempotent(a: object) -> None:
    assert V.join(a, a) is a


@pytest.mark.parametrize("a, b", list(itertools.combinations(SAMPLES, 2)))
def test_join_is_commutative(a: object, b: object) -> None:
    assert V.join(a, b) is V.join(b, a)


@pytest.mark.parametrize("a, b", list(itertools.product(SAMPLES, SAMPLES)))
def test_join_grows_and_settles(a: object, b: object) -> None:
    joined = V.join(a, b)
    for side in (a, b):
        assert side.is_none or side.origins <= joined.origins and side.same <= joined.same and side.objs <= joined.objs
    for again in (V.join(joined, a), V.join(joined, b)):
        # A type that two paths contradict is forgotten, and a third one may name it anew: no finding rests on it alone.
        assert (again.origins, again.same, again.incr, again.objs, again.shape, again.ref) == (joined.origins, joined.same, joined.incr, joined.objs, joined.shape, joined.ref)


@pytest.mark.parametrize("a, b, c", list(itertools.product(SAMPLES[1:8], repeat=3)))
def test_join_is_associative(a: object, b: object, c: object) -> None:
    assert V.join(V.join(a, b), c).origins == V.join(a, V.join(b, c)).origins
    assert V.join(V.join(a, b), c).same == V.join(a, V.join(b, c)).same


def test_an_unbound_name_gives_way() -> None:
    assert V.join(None, ROW) is ROW and V.join(ROW, None) is ROW
    assert V.join(None, None) is V.unknown


def test_none_on_one_path_is_remembered_as_a_flag() -> None:
    for joined in (V.join(V.none, ROW), V.join(ROW, V.none)):
        assert joined.origins == {READ} and joined.same == {READ} and joined.flags == {"maybe-none"}
    assert V.join(V.none, V.none) is V.none


def test_shape_is_a_must() -> None:
    assert V.join(V.const(1), V.const(2)).shape is None
    assert V.join(V.const(1), V.const(1)).shape == Lit(1, "int")
    assert V.join(V.const(1), V.const(True)).shape is None
    assert V.join(V.template(["a", KEY]), V.template(["b", KEY])).shape is None


def test_type_name_and_target() -> None:
    assert V.join(V.make(typ="a"), V.make(typ="b")).typ is None
    assert V.join(V.make(typ="a"), V.make(name="x")).typ == "a"
    assert V.join(V.make(ref=("dotted", "a")), V.make(ref=("dotted", "b"))).ref is None
    assert V.join(V.make(frozenset((READ,)), name="x"), V.make(frozenset((OTHER,)), name="x")).name == "x"
    assert V.join(V.make(frozenset((READ,)), name="x"), V.make(frozenset((OTHER,)), name="y")).name == ""


def query(**more: object) -> Query:
    return Query(("orm", "x"), "select", ("T",), **more)


def test_filters_and_locks_of_a_query_are_musts() -> None:
    a = V.make(query=query(filters=("f", "g"), flags=frozenset(("lock",))))
    b = V.make(query=query(filters=("g", "h")))
    assert V.join(a, b).query == query(filters=("g",), flags=frozenset(("may lock",)))


def test_what_could_not_be_read_of_a_query_is_a_may() -> None:
    a = V.make(query=query(flags=frozenset(("open", "lock"))))
    b = V.make(query=query(flags=frozenset(("lock",))))
    assert V.join(a, b).query.flags == {"open", "lock"}


def test_sets_of_a_query_add_up() -> None:
    assert V.join(V.make(query=query(sets=(1, 2))), V.make(query=query(sets=(2, 3)))).query.sets == (1, 2, 3)


def test_other_queries_are_no_query() -> None:
    assert V.join(V.make(query=query()), V.make(query=query()._replace(verb="update"))).query is None
    assert V.join(V.make(query=query()), V.make(name="x")).query == query()


# --- templates --------------------------------------------------------------------------------------------------------------


def test_literal_pieces_become_a_literal() -> None:
    assert V.template(["a", V.const("b"), V.const(1)]) is V.const("ab1")
    assert V.template([]) is V.const("")


def test_holes_stay() -> None:
    value = V.template(["a/", KEY, "/b"])
    assert value.shape == Template(("a/", KEY, "/b"))
    assert value.origins == KEY.origins and not value.same


def test_pieces_are_merged_and_templates_spliced() -> None:
    inner = V.template(["b", KEY, "c"])
    assert V.template(["a", "", inner, "", V.const("d")]).shape == Template(("ab", KEY, "cd"))


def test_truth_values_are_holes() -> None:
    assert V.template(["a", V.const(True)]).shape == Template(("a", V.const(True)))
    assert V.template(["a", V.none]).shape == Template(("a", V.none))


def test_a_template_has_the_origins_of_its_holes() -> None:
    assert V.template([KEY, V.const(1), ROW]).origins == {Origin("param", "key"), READ}
    assert V.template(["x", NAME], origins=frozenset((READ,))).origins == {READ, Origin("param", "name")}


def test_long_templates_lose_their_shape() -> None:
    pieces = [part for i in range(31) for part in (str(i), V.origin(Origin("param", f"p{i}")))]
    assert type(V.template(pieces[:60]).shape) is Template
    assert V.template(pieces).shape is None and len(V.template(pieces).origins) == 31


def test_repr_shows_what_contributors_need() -> None:
    assert repr(V.const("a")) == "«'a'»"
    assert repr(V.make(frozenset((READ.at("n"), OTHER, CLOCK)), same=frozenset((READ.at("n"),)), incr=frozenset((OTHER,)), typ="t", objs=frozenset((3,)))) == "«<t> @3 ~clock0 =read1.n ±read2»"
