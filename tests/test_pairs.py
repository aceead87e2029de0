"""Names of accessor pairs."""
from __future__ import annotations

import pytest

from noclobber.knowledge.pairs import halves, is_pair, parted


@pytest.mark.parametrize(("name", "parts"), [
    ("get_balance", ("get", "balance")), ("load", ("load", "")), ("_read_settings", ("read", "settings")), ("aget_item", ("get", "item")), ("async_load", ("load", "")),
    ("getBalance", ("get", "balance")), ("fetch_cart_by_id", ("fetch", "cart")), ("save_state_to_disk", ("save", "state")), ("find_by_id", ("find", "")), ("loaded", None),
    ("getter", None), ("add_item", None), ("update", None), ("asset", None), ("target", None), ("reset", None),
])
def test_parts(name: str, parts: tuple[str, str] | None) -> None:
    assert parted(name) == parts


@pytest.mark.parametrize(("getter", "setter", "strict", "loose"), [
    ("get_balance", "set_balance", True, True), ("get", "save", True, True), ("get_job", "save", False, True), ("find_by_id", "save", True, True), ("get_job", "save_order", False, False),
    ("load", "set", False, False), ("read", "write", True, True), ("set_balance", "get_balance", False, False), ("get_balance", "delete_balance", False, False),
])
def test_pairs(getter: str, setter: str, strict: bool, loose: bool) -> None:
    assert is_pair(getter, setter) is strict and is_pair(getter, setter, loose=True) is loose


def test_halves_need_both() -> None:
    assert halves(["get_balance", "save_order", "print"], lambda: True) == (set(), set())
    assert halves(["get_balance", "set_balance", "set_limit"], lambda: False) == ({"get_balance"}, {"set_balance"})
    assert halves(["get", "save"], lambda: False) == (set(), set())
    assert halves(["get", "save"], lambda: True) == ({"get"}, {"save"})
    assert halves(["load", "save", "read", "write"], lambda: False) == ({"load"}, {"save"})
