"""The barrier itself: what it holds, in which order it lets go, and when it says that both workers met."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
import race
from race import End, Race, moved

PROGRAM = """\
def add(store, name, lock=None):
    with lock or store.free:
        old = store.value
        store.seen.append(name)
        store.value = old + [name]
        store.done.append(name)
"""
WRITE = 5


class Free:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def add() -> Callable[..., Any]:
    module: dict[str, Any] = {}
    exec(compile(PROGRAM, "program-under-test", "exec"), module)
    return module["add"]


@pytest.fixture
def store() -> Any:
    return types.SimpleNamespace(value=[], seen=[], done=[], free=Free())


def test_both_read_before_either_writes_and_the_first_writes_first(add: Callable[..., Any], store: Any) -> None:
    held = Race("program-under-test", {WRITE})
    assert held.run(lambda: add(store, "a"), lambda: add(store, "b")) == [End(), End()]
    assert held.met and sorted(store.seen) == ["a", "b"] and store.done == ["a", "b"]
    assert store.value == ["b"], "a's write is lost, each time"


def test_without_a_line_nothing_is_held(add: Callable[..., Any], store: Any) -> None:
    held = Race("program-under-test", ())
    held.run(lambda: add(store, "a"), lambda: add(store, "b"))
    assert not held.met and sorted(store.done) == ["a", "b"]


def test_a_lock_keeps_the_second_out_and_they_never_meet(add: Callable[..., Any], store: Any) -> None:
    lock = threading.Lock()
    held = Race("program-under-test", {WRITE}, patience=0.2)
    held.run(lambda: add(store, "a", lock), lambda: add(store, "b", lock))
    assert not held.met and sorted(store.value) == ["a", "b"]


def test_a_worker_that_fails_before_the_line_is_not_waited_for(add: Callable[..., Any], store: Any) -> None:
    held = Race("program-under-test", {WRITE}, patience=60)
    ends = held.run(lambda: add(None, "a"), lambda: add(store, "b"))
    assert [end.told for end in ends] == ["AttributeError", ""] and not held.met and store.value == ["b"]


def test_only_the_first_time_is_held(store: Any) -> None:
    module: dict[str, Any] = {}
    exec(compile("def work(store):\n    for n in range(3):\n        store.done.append(n)\n    return n\n", "loop", "exec"), module)
    held = Race("loop", {3}, patience=60)
    assert [end.told for end in held.run(lambda: module["work"](store), lambda: module["work"](store))] == ["2", "2"]
    assert held.met and store.done == [0, 1, 2, 0, 1, 2]


def test_a_worker_that_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "DEADLINE", 0.1)
    never = threading.Event()
    with pytest.raises(AssertionError, match="a worker has not ended"):
        Race("nothing", ()).run(never.wait)
    never.set()


def test_where_a_line_went() -> None:
    before = "a = read()\nb = a + 1\nwrite(b)\nend()\n"
    assert moved(before, before, 3) == 3
    assert moved(before, "import x\na = read()\nwrite(a, n=1)\ncheck()\nend()\n", 3) == 3, "the most similar of the changed lines"
    assert moved(before, "a = read()\nb = a + 1\nend()\n", 3) == 3, "a line that is gone: the one after it"
    assert moved(before, "for n in many:\n    a = read()\n    b = a + 1\n    write(b)\nend()\n", 3) == 4
    with pytest.raises(ValueError):
        moved(before, before, 9)
