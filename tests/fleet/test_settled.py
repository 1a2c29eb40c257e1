"""When a fleet has come to an end of its start."""

from __future__ import annotations

import pytest

from sm120kit.fleet.settled import all_failed, ended_as_asked, settled
from tests.fleets import event, fleet, replica


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
    assert not all_failed(fleet(replica(0, "stopped"), replica(1, "stopped")))


def test_one_whose_supervisor_was_killed_did_not_end_as_asked() -> None:
    told = (event("stops", 50), event("stopped: no process of it is left", 51))
    assert ended_as_asked(fleet(replica(0, "stopped"), ended=True, events=told))
    assert not ended_as_asked(fleet(replica(0, "stopped"), ended=True, events=(event("the supervisor is gone"),)))
    assert not ended_as_asked(fleet(replica(0), events=told))
