"""What changed in a fleet, a line for each change."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from sm120kit.fleet.types import Verdict
from sm120kit.report.fleet_events import changes
from tests.fleets import START, death, event, fleet, passed, replica


def test_a_replica_on_its_way() -> None:
    steps = [
        replica(1, "waiting", started=None),
        replica(1, "loading", phase="weights", ready_s=None),
        replica(1, "loading", phase="graphs", ready_s=None),
        replica(1, "loading", phase="graphs", ready_s=None, memory_used=5),
        replica(1, "verifying", ready_s=41.5),
        replica(1, "verifying", verdicts=passed("model")),
        replica(1, "verified", verdicts=passed()),
    ]
    fleets = [None, *(fleet(each) for each in steps)]
    told = [line for one, two in pairwise(fleets) if two for line in changes(one, two)]
    assert told == [
        "replica 1: waiting",
        "replica 1: loading: weights",
        "replica 1: loading: graphs",
        "replica 1: verifying: it answers after 0:41",
        "replica 1: verified: 64 requested, 37 predicted, 37 granted",
    ]


def test_nothing_changed_nothing_said() -> None:
    assert changes(fleet(replica(0), replica(1)), fleet(replica(0), replica(1), updated=START + 70)) == ()


def test_a_verdict_against_it_is_told_with_its_evidence_and_once() -> None:
    short = Verdict("concurrency", False, "16 granted where 37 were predicted")
    before = fleet(replica(0, "verifying", verdicts=passed("model")))
    after = fleet(replica(0, "unverified", verdicts=(*passed("model"), short)))
    assert changes(before, after) == (
        "replica 0: concurrency failed: 16 granted where 37 were predicted",
        "replica 0: unverified",
    )
    assert changes(after, after) == ()


def test_a_death_is_told_with_its_cause_and_the_next_start_counts() -> None:
    well = fleet(replica(3))
    dead = fleet(replica(3, "waiting", deaths=(death(),), phase="starts again in 1 s"))
    again = fleet(replica(3, "loading", deaths=(death(),), restarts=1))
    assert changes(well, dead) == (
        "replica 3: ended: exit code 1: the GPU has no room left for CUDA graphs (log /state/r3.log)",
        "replica 3: waiting: starts again in 1 s",
    )
    assert changes(dead, again) == ("replica 3: loading, start 2",)


def test_of_deaths_only_those_are_told_that_are_new_also_where_old_ones_were_dropped() -> None:
    before = fleet(replica(0, deaths=(death(at=START + 1), death(at=START + 2))))
    after = fleet(replica(0, deaths=(death(at=START + 2), death(at=START + 3, exit="signal SIGKILL", causes=()))))
    assert changes(before, after) == ("replica 0: ended: signal SIGKILL (log /state/r3.log)",)


def test_what_happens_to_the_fleet_as_a_whole() -> None:
    before = fleet(replica(0), events=(event("one"),))
    after = replace(before, events=(event("one"), event("two", 6), event("of a replica", 7, 0)))
    assert changes(before, after) == ("qwen: two",)


def test_every_line_of_a_rehearsal_says_so() -> None:
    rehearsed = fleet(replica(0), replica(1), rehearsal=True, events=(event("every replica is verified"),))
    told = changes(None, rehearsed)
    assert len(told) == 3
    assert all(line.startswith("rehearsal, ") for line in told)


def test_foreign_text_is_escaped() -> None:
    told = changes(None, fleet(replica(0, "loading", phase="a\x1b[2J\nb"), events=(event("\u202e"),)))
    assert told == ("replica 0: loading: a\\x1b[2J\\nb", "qwen: \\u202e")
