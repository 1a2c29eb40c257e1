"""Shapes of answers: what is compared with genuine servers."""

from __future__ import annotations

import pytest

from sm120kit.fleet.rehearsal.shapes import blank, differences, fits, merged, shape_of

pytestmark = pytest.mark.rehearsal


def test_a_shape_holds_names_and_types_and_no_value() -> None:
    answer = {"a": 1, "b": [1.5, None], "c": {"d": "secret"}, "e": [], "f": True}
    assert shape_of(answer) == {"a": "int", "b": ["float|null"], "c": {"d": "str"}, "e": [], "f": "bool"}


def test_two_that_were_seen_are_both_taken() -> None:
    shape = merged(shape_of({"a": 1, "b": {"x": 1}, "c": [1]}), shape_of({"a": None, "b": None, "c": ["s"], "d": 1}))
    fittings: list[dict[str, object]] = [{"a": 2, "b": None, "c": []}, {"a": None, "b": {"x": 3}, "c": ["t"], "d": 5}]
    for fitting in fittings:
        assert differences(shape, shape_of(fitting)) == []
    assert merged(shape, shape) == shape
    assert differences(shape, shape) == []
    assert differences(shape, shape_of({"a": "s", "b": None, "c": []})) == ["a: str instead of int|null"]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"a": 1, "b": {"c": 1.0}}, []),
        ({"b": {"c": 1.0}}, ["a: missing"]),
        ({"a": 1, "b": {"c": 1.0, "z": 1}}, ["b.z: not in the genuine answer"]),
        ({"a": 1, "b": {"c": 1}}, ["b.c: int instead of float"]),
        ({"a": 1, "b": [1]}, ["b: a list instead of an object"]),
        ({"a": 1, "b": None}, ["b: null instead of an object"]),
    ],
)
def test_differences_are_named(seen: object, expected: list[str]) -> None:
    assert differences(shape_of({"a": 1, "b": {"c": 1.0}}), shape_of(seen)) == expected


def test_blanks_fit_their_shape() -> None:
    shape = merged(shape_of({"a": 1, "b": {"c": "s"}, "d": [1], "e": None}), shape_of({"a": 1, "b": None, "d": []}))
    made = blank(shape)
    assert made == {"a": 0, "b": {"c": ""}, "d": [], "e": None}
    assert differences(shape, shape_of(made)) == []
    assert fits("int|null", None)
    assert not fits("int|null", "x")
    assert not fits("int", True)
