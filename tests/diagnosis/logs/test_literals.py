"""What patterns demand of a line, and that the sieve never throws away a line that one of them matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.diagnosis.logs.cleaning import clean
from sm120kit.diagnosis.logs.known import Sieve, known_lines
from sm120kit.diagnosis.logs.literals import required_words
from tests.diagnosis.logs.reading import catalogue

KNOWN = known_lines(catalogue())


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"cannot find -lcudart\b", {("lcudart", "cannot", "find")}),
        (r"(?:first|second) thing", {("first",), ("second",)}),
        (r"error(?: in (?P<where>\w+))?: unbalanced", {("unbalanced",)}),
        (r"(?:optional)? \d+", set()),
        (r"(?:optional)*", set()),
        (r"(?:wanted)+", {("wanted",)}),
        (r"(?i)Driver/Library mismatch", {("mismatch", "library", "driver")}),
        (r"^(?!.*not this).*but this", {("this",)}),
        (r"short|longer", {("short",), ("longer",)}),
        (r"a|longer", set()),
        (r"Error 802", {("error",)}),
    ],
)
def test_required_words(pattern: str, words: set[tuple[str, ...]]) -> None:
    assert required_words(pattern) == words


NOISE = st.text(st.characters(max_codepoint=0x17F, exclude_characters="\n"), max_size=30)


@given(st.sampled_from(KNOWN), NOISE, NOISE)
def test_no_line_is_thrown_away_that_a_signature_matches(known: object, before: str, after: str) -> None:
    sieve = Sieve(KNOWN, ())
    for each in KNOWN:
        if each is known:
            line = before + each.signature.example + after
            # Matched as a log's lines are: an ESC before a letter takes that letter with it.
            if any(each.pattern.search(said.text) for said in clean(line.encode())):
                meaning = sieve.sift(re.sub(r"\d", "", line).encode())
                assert meaning is not None
                assert each in meaning.known


def test_a_signature_that_demands_nothing_is_tried_on_every_line() -> None:
    known = [each for each in KNOWN if each.check_id == "toolkit.nv-target-missing"]
    assert Sieve(known, ()).sift(b"nothing of interest") is None
