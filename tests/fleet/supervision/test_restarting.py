"""When a replica that died is started again."""

from __future__ import annotations

import pytest

from sm120kit.fleet.spec import RestartPolicy
from sm120kit.fleet.supervision.restarting import after_death
from sm120kit.fleet.types import Cause, Death

POLICY = RestartPolicy(most=3, window=100, first_delay=1, longest_delay=3)


def deaths(*moments: float, cause: str = "") -> list[Death]:
    return [Death(at, "signal SIGKILL", "log", (Cause(f"{cause}{at}", "message"),)) for at in moments]


@pytest.mark.parametrize(("number", "delay"), [(1, 1), (2, 2), (3, 3), (4, None)])
def test_the_pause_doubles_up_to_its_limit_and_ends_at_the_number_allowed(number: int, delay: float | None) -> None:
    following = after_death(POLICY, deaths(*range(number)), now=50, ever_answered=True)
    assert following.delay_s == delay
    assert bool(following.reason) == (delay is None)


def test_deaths_of_long_ago_do_not_count() -> None:
    assert after_death(POLICY, deaths(1, 2, 3, 200), now=201, ever_answered=True).delay_s == 1


def test_no_restart_where_none_is_wanted() -> None:
    assert after_death(RestartPolicy(most=0), deaths(1), now=2, ever_answered=True).delay_s is None


def test_the_same_reason_twice_before_it_ever_answered_is_enough() -> None:
    same = [Death(at, "exit code 1", "log", (Cause("attention.backend-unsupported", "fa3"),)) for at in (1, 2)]
    assert after_death(POLICY, same, now=3, ever_answered=False).delay_s is None
    assert after_death(POLICY, same, now=3, ever_answered=True).delay_s == 2
    assert after_death(POLICY, deaths(1, 2), now=3, ever_answered=False).delay_s == 2


def test_a_death_that_left_no_trace_may_have_come_from_outside() -> None:
    silent = [Death(at, "signal SIGKILL", "log", ()) for at in (1, 2)]
    assert after_death(POLICY, silent, now=3, ever_answered=False).delay_s == 2
