"""Anything of a fleet is killed at any time: nothing of it stays, and its state tells the truth."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time

import pytest

from sm120kit.fleet.aftermath import end_orphans
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.spec import Limits, RestartPolicy
from sm120kit.fleet.supervising import read_fleet
from tests.fleet.rehearsing import Rehearsed, rehearsed, spec_of, story

pytestmark = pytest.mark.rehearsal

LIMITS = Limits(start=30, answer=3, verify=10, hang=1, drain=1)
ALWAYS = RestartPolicy(most=1000, first_delay=0.02, longest_delay=0.1)


def kill_one(fleet: Rehearsed, chance: random.Random, *, spare_supervisor: bool) -> None:
    """Kill one process of the fleet, most often without a word."""
    supervisor = fleet.state().supervisor
    assert supervisor is not None
    members = family(supervisor)
    if spare_supervisor:
        members = members[1:]
    if not members:
        return
    victim = chance.choice(members)
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim.pid, chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_killed_comes_back(seed: int) -> None:
    chance = random.Random(seed)
    with rehearsed(spec_of(3, limits=LIMITS, restart=ALWAYS)) as fleet:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            kill_one(fleet, chance, spare_supervisor=True)
            time.sleep(chance.random() * 0.3)
        state = fleet.until(lambda state: state.verified)
        for each in state.replicas:
            assert each.process is not None
            assert alive(each.process), story(state)
        fleet.stop()


@pytest.mark.parametrize("seed", range(10, 16))
def test_whatever_is_killed_nothing_is_left(seed: int) -> None:
    chance = random.Random(seed)
    with rehearsed(spec_of(2, limits=LIMITS, restart=ALWAYS)) as fleet:
        supervisor = fleet.state().supervisor
        assert supervisor is not None
        end = time.monotonic() + chance.random() * 2.5
        while time.monotonic() < end and alive(supervisor):
            kill_one(fleet, chance, spare_supervisor=False)
            time.sleep(chance.random() * 0.3)
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor.pid, signal.SIGKILL)
        while alive(supervisor):
            time.sleep(0.01)
        end_orphans()
        found = read_fleet(fleet.spec.name)
        assert found is not None
        limit = time.monotonic() + 20  # the sweeper may have been quicker, and be at it
        while not found.ended and time.monotonic() < limit:
            time.sleep(0.05)
            found = read_fleet(fleet.spec.name)
            assert found is not None
        fleet.assert_gone(found)
