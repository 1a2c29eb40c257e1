"""Of lines alike but for their numbers one is looked at; none is passed over that a signature matches."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.logs.cleaning import without_numbers
from sm120kit.diagnosis.logs.kinds import Kinds
from sm120kit.diagnosis.logs.known import KnownLine, known_lines
from tests.diagnosis.logs.reading import catalogue

KNOWN = known_lines(catalogue())
REQUESTS = [chr(97 + n % 6) * (n // 6 + 1) for n in range(200)]
"""What is left of hexadecimal numbers without their digits."""


def kinds() -> Kinds:
    return Kinds([each.signature.pattern for each in KNOWN], ("torch",))


def choose(made: Kinds, *lines: str) -> set[bytes]:
    shapes = [line.encode() for line in lines]
    return made.choose(set(shapes), shapes)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.check_id}: {known.signature.pattern[:40]}")
def test_lines_that_a_signature_matches_are_all_looked_at(known: KnownLine) -> None:
    made = kinds()
    example = without_numbers(known.signature.example.encode()).decode()
    assert known.asked.may_match(example.encode())
    lines = [f"{example} {request}" for request in REQUESTS]
    assert len(choose(made, *lines)) == len(lines)
    assert len(choose(made, *lines)) == len(lines)


def test_of_other_lines_the_first_of_each_kind() -> None:
    made = kinds()
    first = [f"ERROR: request {request} went" for request in REQUESTS]
    second = [f"ERROR: request {request} came" for request in REQUESTS]
    assert choose(made, *first, *second) == {first[0].encode(), second[0].encode()}
    assert choose(made, *reversed(first), *second) == set()


def test_lines_that_tell_versions_are_all_looked_at() -> None:
    lines = [f"torch: {request}" for request in REQUESTS]
    assert len(choose(kinds(), *lines)) == len(lines)


def test_few_lines_are_all_looked_at() -> None:
    assert len(choose(kinds(), *(f"went {request}" for request in REQUESTS[:10]))) == 10


def test_a_user_s_pattern_that_ignores_case() -> None:
    made = Kinds([r"(?i)widget upside down"], ())
    lines = [f"Widget UPSIDE down {request}" for request in REQUESTS]
    assert len(choose(made, *lines)) == len(lines)


def test_a_pattern_that_asks_for_nothing_passes_over_nothing() -> None:
    made = Kinds([r"\w+ \d+"], ())
    lines = [f"went {request}" for request in REQUESTS]
    assert len(choose(made, *lines)) == len(lines)
