"""What changed in a fleet, a line for each change."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from sm120kit.report.fleet_events import changes
from tests.fleets import START, death, event, fleet, passed, replica


def test_a_replica_on_its_way() -> None:
    started, answers, verified = event("started", 1, 1), event("answers after 41 s", 42, 1), event("verified", 50, 1)
    fleets = [
        fleet(replica(1, "waiting", started=None)),
        fleet(replica(1, "loading", phase="weights"), events=(started,)),
        fleet(replica(1, "loading", phase="graphs"), events=(started,)),
        fleet(replica(1, "loading", phase="graphs", memory_used=5), events=(started,)),
        fleet(replica(1, "verifying"), events=(started, answers)),
        fleet(replica(1, "verifying", verdicts=passed("model")), events=(started, answers)),
        fleet(replica(1, "verified", verdicts=passed()), events=(started, answers, verified)),
    ]
    assert [line for one, two in pairwise([None, *fleets]) if two for line in changes(one, two)] == [
        "replica 1: started",
        "replica 1: weights",
        "replica 1: graphs",
        "replica 1: answers after 41 s",
        "replica 1: verified",
        "replica 1: 64 requested, 37 predicted, 37 granted",
    ]


def test_nothing_changed_nothing_said() -> None:
    one = fleet(replica(0), replica(1, deaths=(death(),)), events=(event("started"),))
    assert changes(one, replace(one, updated=START + 70)) == ()


def test_the_phase_is_told_again_at_the_next_start() -> None:
    dead = fleet(replica(3, "waiting", phase="ended (exit code 1); starts again in 1 s"))
    begun = fleet(replica(3, "loading", phase="starting", restarts=1))
    again = fleet(replica(3, "loading", phase="weights", restarts=1))
    assert changes(dead, begun) == ()
    assert changes(begun, again) == ("replica 3: weights",)
    assert changes(again, again) == ()


def test_of_deaths_only_those_are_told_that_are_new_also_where_old_ones_were_dropped() -> None:
    one, two, three = (death(at=START + each, log=f"/{each}.log") for each in (1, 2, 3))
    assert changes(fleet(replica(0, deaths=(one, two))), fleet(replica(0, deaths=(two, three)))) == (
        "replica 0: its log is /3.log",
    )


def test_what_happens_to_the_fleet_as_a_whole_also_where_old_events_were_dropped() -> None:
    one, two, three = event("one"), event("two", 6), event("three", 7, 0)
    assert changes(fleet(replica(0), events=(one, two)), fleet(replica(0), events=(two, three))) == (
        "replica 0: three",
    )
    assert changes(fleet(replica(0), events=(one,)), fleet(replica(0), events=(one, two))) == ("qwen: two",)


def test_numbers_stand_under_each_other() -> None:
    told = changes(None, fleet(*(replica(each, "waiting") for each in range(11)), events=(event("x", 5, 1),)))
    assert told == ("replica  1: x",)


def test_every_line_of_a_rehearsal_says_so() -> None:
    rehearsed = fleet(replica(0), replica(1), rehearsal=True, events=(event("every replica is verified"),))
    told = changes(None, rehearsed)
    assert len(told) == 3
    assert all(line.startswith("rehearsal, ") for line in told)


def test_foreign_text_is_escaped() -> None:
    told = changes(None, fleet(replica(0, "loading", phase="a\x1b[2J\nb"), name="\x07", events=(event("\u202e"),)))
    assert told == ("\\x07: \\u202e", "replica 0: a\\x1b[2J\\nb")
