"""Versions compared as PEP 440 orders them: against packaging, which is the reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from sm120kit.diagnosis.versions import older, version_key, within

NUMBERS = st.integers(0, 12)
VERSIONS = st.builds(
    "{}{}{}{}{}".format,
    st.lists(NUMBERS, min_size=1, max_size=4).map(lambda each: ".".join(map(str, each))),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["a", "b", "rc", ".rc", "-alpha"]), NUMBERS)),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from([".post", "post", "-"]), NUMBERS)),
    st.one_of(st.just(""), st.builds(".dev{}".format, NUMBERS)),
    st.sampled_from(["", "+cu130", "+cpu.1"]),
)


def public(version: str) -> Version:
    return Version(version.partition("+")[0])


@given(VERSIONS, VERSIONS)
def test_orders_as_packaging_does(left: str, right: str) -> None:
    mine, its = (version_key(left), version_key(right)), (public(left), public(right))
    assert mine[0] is not None
    assert mine[1] is not None
    assert (mine[0] < mine[1], mine[0] == mine[1]) == (its[0] < its[1], its[0] == its[1])


@pytest.mark.parametrize("text", ["", "main", "0.5.x", "0.5.12 beta", "1..2"])
def test_what_is_no_version(text: str) -> None:
    assert version_key(text) is None
    assert within(text, "", "") is False
    assert older(text, "1.0") is None


def test_bounds_are_included_and_may_be_open() -> None:
    assert within("0.5.12", "0.5.12", "0.5.12")
    assert within("0.5.12.post1", "0.5.12", "")
    assert not within("0.5.12.post1", "", "0.5.12")
    assert older("0.4.2.post1", "0.4.2.post2") is True
    assert older("0.7.1rc1", "0.7.1") is True
