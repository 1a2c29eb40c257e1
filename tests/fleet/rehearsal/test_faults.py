"""Faults as ``--fault`` takes them."""

from __future__ import annotations

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.rehearsal.faults import KINDS, Fault, faults_of, parse_fault

pytestmark = pytest.mark.rehearsal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hang", Fault("hang", None, False)),
        ("crash-at-graphs:3", Fault("crash-at-graphs", 3, False)),
        ("slow:0:once", Fault("slow", 0, True)),
        (" wrong-text:11 ", Fault("wrong-text", 11, False)),
    ],
)
def test_what_is_asked_for(text: str, expected: Fault) -> None:
    assert parse_fault(text) == expected


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(Sm120kitError, match="'hangs' is no fault") as caught:
        parse_fault("hangs:1")
    assert caught.value.listed == tuple(KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hang:",
        "hang:x",
        "hang:-1",
        "hang:1:",
        "hang:1:twice",
        "hang:1:once:more",
        "hang:once",
        "hang:²",
        f"hang:{'9' * 5000}",
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(Sm120kitError, match="--fault"):
        parse_fault(text)


def test_a_replica_has_its_own_and_those_of_all() -> None:
    texts = ("hang:1", "slow", "leaks-memory:2:once")
    assert [fault.kind for fault in faults_of(texts, 1)] == ["hang", "slow"]
    assert [fault.kind for fault in faults_of(texts, 2)] == ["slow", "leaks-memory"]
