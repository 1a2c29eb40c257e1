"""When a fleet has come to an end of its start."""

from __future__ import annotations

import pytest

from sm120kit.fleet.settled import all_failed, settled
from tests.fleets import fleet, replica


@pytest.mark.parametrize(
    ("state", "phase", "expected"),
    [
        ("waiting", "", False),
        ("loading", "", False),
        ("verifying", "", False),
        ("hung", "", False),
        ("stopping", "", False),
        ("unverified", "a process of it ended", False),
        ("unverified", "", True),
        ("verified", "", True),
        ("failed", "", True),
        ("stopped", "", True),
    ],
)
def test_one_that_is_still_on_its_way_keeps_a_fleet_from_being_settled(state: str, phase: str, expected: bool) -> None:
    assert settled(fleet(replica(0), replica(1, state, phase=phase))) is expected


def test_only_those_asked_about_count() -> None:
    one = fleet(replica(0, "loading"), replica(1))
    assert not settled(one)
    assert settled(one, [1])


def test_what_has_ended_is_settled() -> None:
    assert settled(fleet(replica(0, "loading"), ended=True))


def test_all_failed() -> None:
    assert all_failed(fleet(replica(0, "failed"), replica(1, "failed")))
    assert not all_failed(fleet(replica(0, "failed"), replica(1, "waiting")))
