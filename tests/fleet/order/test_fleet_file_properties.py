"""Whatever a fleet.toml holds, it is an order or one line that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.fleet_file import parse_fleet_file
from sm120kit.fleet.order.make_order import make_order
from sm120kit.fleet.order.options import OPTIONS
from sm120kit.fleet.order.print_config import print_config

NAMES = [part for option in OPTIONS for part in (option.key, option.key.rpartition(".")[2])] + ["sglang", "limits", "x"]
SCALARS = st.one_of(st.booleans(), st.integers(-5, 70000), st.floats(), st.text(max_size=12), st.just("all"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from([name for name in NAMES if "." not in name]), VALUES, max_size=4))
def test_anything_of_the_right_form(content: dict[str, Any]) -> None:
    look("".join(f"{name} = {toml(value)}\n" for name, value in content.items()))


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(value) if isinstance(value, float) else json.dumps(value)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    look(text)


def look(text: str) -> None:
    said = ""
    try:
        order = make_order({}, (), parse_fleet_file(text, "/srv/fleet.toml"))
    except Sm120kitError as refused:
        said = refused.message
    if said:
        assert "\n" not in said.partition(" is no TOML: ")[0]
    elif not order.arguments and not order.environment:
        assert make_order({}, (), parse_fleet_file(print_config(order), "/srv/fleet.toml")) == order
