"""The state of one path: copy on write, what is joined by union and what by intersection, heap objects."""
from __future__ import annotations

from noclobber.trace.events import Lock
from noclobber.trace.objects import Obj, State, deep_origins, join_objects, join_states, parts
from noclobber.trace.values import CONST, Origin, Values

V = Values()
A, B, C = V.const("a"), V.const("b"), V.origin(Origin("param", "c"))
ROW = Origin("read", 1)
LOCK, OTHER = Lock("row", 1), Lock("row", 2)


def state(**more: object) -> State:
    made = State()
    for name, value in more.items():
        if name == "env":
            for key, inner in value.items():
                made.bind(key, inner)
        elif name == "heap":
            for oid, obj in value.items():
                made.put(oid, obj)
        else:
            setattr(made, name, frozenset(value))
    return made


# --- copy on write ------------------------------------------------------------------------------------------------------


def test_a_copy_does_not_see_later_bindings() -> None:
    one = state(env={"x": A})
    two = one.copy()
    one.bind("x", B)
    assert two.env["x"] is A and one.env["x"] is B


def test_the_original_does_not_see_bindings_of_the_copy() -> None:
    one = state(env={"x": A})
    two = one.copy()
    two.bind("y", B)
    two.unbind("x")
    assert one.env == {"x": A} and two.env == {"y": B}


def test_copies_of_copies_are_independent() -> None:
    one = state(env={"x": A})
    two = one.copy()
    three = two.copy()
    two.bind("x", B)
    three.bind("x", C)
    assert (one.env["x"], two.env["x"], three.env["x"]) == (A, B, C)


def test_copies_share_until_one_writes() -> None:
    one = state(env={"x": A}, heap={1: Obj("dict")})
    two = one.copy()
    assert two.env is one.env and two.heap is one.heap
    two.bind("x", A)
    assert two.env is one.env  # nothing new
    two.bind("x", B)
    assert two.env is not one.env and two.heap is one.heap


def test_the_heap_is_copied_on_write() -> None:
    old, new = Obj("dict"), Obj("dict", new=True)
    one = state(heap={1: old})
    two = one.copy()
    two.put(1, new)
    assert one.heap[1] is old and two.heap[1] is new
    one.put(2, new)
    assert 2 not in two.heap


def test_unbind_of_an_unbound_name() -> None:
    one = state(env={"x": A})
    two = one.copy()
    two.unbind("y")
    assert two.env is one.env


def test_with_env_keeps_the_rest() -> None:
    one = state(env={"x": A}, heap={1: Obj("dict")}, held=[LOCK], done=[(1, 2)])
    two = one.with_env({"y": B})
    assert two.env == {"y": B} and two.heap is one.heap and two.held == {LOCK} and two.done == {(1, 2)}
    two.bind("z", C)
    assert one.env == {"x": A}


def test_adopt_takes_over_and_stays_apart() -> None:
    one, two = state(env={"x": A}), state(env={"x": B}, heap={1: Obj("dict")}, held=[LOCK])
    one.adopt(two)
    assert one.env["x"] is B and one.held == {LOCK} and 1 in one.heap
    one.bind("x", C)
    two.put(2, Obj("dict"))
    assert two.env["x"] is B and 2 not in one.heap


def test_an_object_is_never_changed_in_place() -> None:
    one = Obj("row", ROW, fields={"a": A})
    two = one.but(fields={"a": B}, handed=True)
    assert one.fields == {"a": A} and not one.handed and two.fields == {"a": B} and two.handed and two.origin == ROW


def test_equals() -> None:
    one = state(env={"x": A}, heap={1: Obj("dict", fields={"a": A})}, held=[LOCK])
    assert one.equals(one.copy())
    assert one.equals(state(env={"x": A}, heap={1: Obj("dict", fields={"a": A})}, held=[LOCK]))
    for name in ("held", "won", "lost", "unchecked", "done"):
        other = one.copy()
        setattr(other, name, frozenset((99,)))
        assert not one.equals(other), name
    other = one.copy()
    other.bind("x", B)
    assert not one.equals(other)
    other = one.copy()
    other.put(1, Obj("dict", fields={"a": B}))
    assert not one.equals(other)
    other = one.copy()
    other.put(2, Obj("dict"))
    assert not one.equals(other)


# --- join of states -----------------------------------------------------------------------------------------------------


def test_no_path_arrives() -> None:
    assert join_states(V, []) is None and join_states(V, [None, None]) is None


def test_one_path_arrives() -> None:
    one = state(env={"x": A}, held=[LOCK])
    assert join_states(V, [None, one, None]) is one


def test_held_locks_are_a_must() -> None:
    assert join_states(V, [state(held=[LOCK, OTHER]), state(held=[OTHER])]).held == {OTHER}
    assert join_states(V, [state(held=[LOCK]), state()]).held == frozenset()
    assert join_states(V, [state(held=[LOCK]), None]).held == {LOCK}
    assert join_states(V, [state(held=[LOCK, OTHER]), state(held=[LOCK]), state(held=[LOCK, OTHER])]).held == {LOCK}


def test_control_is_what_decided_all_paths() -> None:
    assert join_states(V, [state(control=[ROW, CONST]), state(control=[ROW])]).control == {ROW}


def test_outcomes_and_passed_events_are_mays() -> None:
    for name in ("won", "lost", "unchecked", "done"):
        joined = join_states(V, [state(**{name: [1, 2]}), state(**{name: [2, 3]}), state()])
        assert getattr(joined, name) == {1, 2, 3}, name


def test_names_are_joined() -> None:
    joined = join_states(V, [state(env={"x": A, "y": C}), state(env={"x": B, "z": A})])
    assert joined.env["x"] is V.join(A, B)
    assert joined.env["y"] is C and joined.env["z"] is A  # unbound on one path: the other side's


def test_a_join_leaves_its_parts_alone() -> None:
    one, two = state(env={"x": A}, heap={1: Obj("dict", fields={"a": A})}, held=[LOCK]), state(env={"x": B}, heap={1: Obj("dict", fields={"a": B})})
    joined = join_states(V, [one, two])
    joined.bind("x", C)
    joined.put(3, Obj("dict"))
    assert one.env == {"x": A} and two.env == {"x": B} and one.held == {LOCK} and 3 not in one.heap and 3 not in two.heap
    assert one.heap[1].fields == {"a": A}


def test_objects_of_one_path_only_stay() -> None:
    joined = join_states(V, [state(heap={1: Obj("dict")}), state(heap={2: Obj("list")})])
    assert sorted(joined.heap) == [1, 2]


def test_join_reaches_a_fixpoint() -> None:
    one, two = state(env={"x": A}, heap={1: Obj("dict", fields={"a": A})}, done=[1]), state(env={"x": C}, heap={1: Obj("dict", fields={"b": B})}, held=[LOCK])
    joined = join_states(V, [one, two])
    assert join_states(V, [joined, one]).equals(joined) and join_states(V, [joined, two]).equals(joined)


# --- join of objects ------------------------------------------------------------------------------------------------------


def test_the_same_object_is_itself() -> None:
    one = Obj("dict", fields={"a": A})
    assert join_objects(V, one, one) is one
    assert join_objects(V, one, Obj("dict", fields={"a": A})) is one


def test_fields_are_joined() -> None:
    joined = join_objects(V, Obj("dict", fields={"a": A, "b": C}), Obj("dict", fields={"a": B}))
    assert joined.fields == {"a": V.join(A, B), "b": C}


def test_a_field_that_was_not_written_on_one_path_is_what_was_loaded() -> None:
    joined = join_objects(V, Obj("row", ROW, fields={"n": C}), Obj("row", ROW))
    assert joined.fields["n"] is V.join(C, V.origin(ROW.at("n")))
    joined = join_objects(V, Obj("row", ROW), Obj("row", ROW, fields={"n": C}))
    assert joined.fields["n"] is V.join(V.origin(ROW.at("n")), C)


def test_changes_are_mays_and_new_is_a_must() -> None:
    one = Obj("row", ROW, new=True).but(changed=frozenset((1,)), pending=frozenset((1,)))
    two = Obj("row", ROW).but(changed=frozenset((2,)), handed=True)
    joined = join_objects(V, one, two)
    assert joined.changed == {1, 2} and joined.handed and not joined.new
    assert joined.pending == frozenset()  # what was changed where the row is new is no change of a row that others have
    assert join_objects(V, one.but(new=False), two).pending == {1}
    assert join_objects(V, one, one.but(changed=frozenset((3,)))).new


def test_members_are_joined() -> None:
    assert join_objects(V, Obj("list", elem=A), Obj("list", elem=B)).elem is V.join(A, B)
    assert join_objects(V, Obj("list", elem=A), Obj("list")).elem is A


# --- what is inside --------------------------------------------------------------------------------------------------------


def nest(depth: int) -> tuple:
    made = state()
    value = V.origin(ROW)
    for oid in range(1, depth + 1):
        made.put(oid, Obj("dict", fields={"[0]": value}))
        value = V.make(frozenset((CONST,)), objs=frozenset((oid,)))
    return made, value


def test_deep_origins_go_four_levels_down() -> None:
    assert deep_origins(*nest(1)) >= {ROW}
    assert deep_origins(*nest(4)) >= {ROW}
    assert ROW not in deep_origins(*nest(5))


def test_deep_origins_take_members_and_fields() -> None:
    made = state(heap={1: Obj("dict", fields={"['a']": C}, elem=V.origin(ROW))})
    assert deep_origins(made, V.make(objs=frozenset((1,)))) == {Origin("param", "c"), ROW}


def test_a_container_in_itself() -> None:
    me = V.make(frozenset((CONST,)), objs=frozenset((1,)))
    made = state(heap={1: Obj("list", elem=me, fields={"[0]": me, "[1]": C})})
    assert C in list(parts(made, me)) and len(list(parts(made, me))) == 4
    assert deep_origins(made, me) == {CONST, Origin("param", "c")}


def test_objects_that_are_gone() -> None:
    assert list(parts(state(), V.make(objs=frozenset((7,))))) == [V.make(objs=frozenset((7,)))]
