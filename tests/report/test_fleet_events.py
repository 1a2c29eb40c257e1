"""What changed in a fleet, a line for each change."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sm120kit.fleet.types import Fleet
from sm120kit.report.fleet_events import Told, changes
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
        "replica 1: answers after 41 s",
        "replica 1: verified",
        "replica 1: 64 requested, 37 predicted, 37 granted",
    ]


def test_nothing_changed_nothing_said() -> None:
    one = fleet(replica(0), replica(1, deaths=(death(),)), events=(event("started"),))
    assert changes(one, replace(one, updated=START + 70)) == ()


def test_what_is_told_of_several_in_the_same_words_is_one_line() -> None:
    started = [event(f"started as process {900 + each} on port {30000 + each}", 1, each) for each in range(5)]
    verified = fleet(*(replica(each, "verified") for each in range(5)), events=(*started, event("x", 2)))
    assert changes(fleet(*(replica(each, "verifying") for each in range(5))), verified) == (
        "replicas 0-4: started as process 900-904 on port 30000-30004",
        "qwen: x",
        "replicas 0-4: 64 requested, 37 predicted, 37 granted",
    )
    refused = [event(f"127.0.0.1:{port} of 1,024 (0.5.23, {port}.5 s)", 1, port) for port in (1, 2)]
    assert changes(None, fleet(replica(1), replica(2), events=tuple(refused)))[0] == (
        "replicas 1, 2: 127.0.0.1:1-2 of 1,024 (0.5.23, 1.5-2.5 s)"
    )
    other = fleet(replica(0), replica(1), events=(event("took 9 s", 1, 0), event("took 11 s", 1, 1)))
    assert changes(None, other)[0] == "replicas 0, 1: took 9-11 s"


def loading(*phases: str) -> Fleet:
    """A fleet whose replicas are at these."""
    return fleet(*(replica(each, "loading", phase=phase) for each, phase in enumerate(phases)))


def test_how_far_it_is_is_told_now_and_then() -> None:
    told = Told(100)
    weights, most = "loading weights, 1 of 4 shards", "loading weights, 3 of 4 shards"
    assert told.lines(loading(weights, weights, weights), 101) == ()
    assert told.lines(loading(most, weights, weights), 111) == ("qwen: 3 of 3 loading weights, after 0:11",)
    assert told.lines(loading(most, most, "capturing graphs, 2 of 7"), 113) == ()
    assert told.lines(loading(most, most, "capturing graphs, 2 of 7"), 121) == (
        "qwen: 2 of 3 loading weights, 1 of 3 capturing graphs, after 0:21",
    )
    assert told.lines(loading(most, most, "capturing graphs, 2 of 7"), 150) == ()
    assert told.lines(loading(most, most, "capturing graphs, 2 of 7"), 151) == (
        "qwen: 2 of 3 loading weights, 1 of 3 capturing graphs, after 0:51",
    )


def test_what_happens_at_almost_the_same_time_is_told_together() -> None:
    told = Told(0, fleet(replica(0, "waiting"), replica(1, "waiting")))
    begun = [event(f"started as process {each}", each, each) for each in (0, 1)]
    assert told.lines(fleet(replica(0, "waiting"), replica(1, "waiting"), events=begun[:1]), 1) == ()
    assert told.lines(fleet(replica(0, "waiting"), replica(1, "waiting"), events=begun), 1.4) == ()
    assert told.lines(fleet(replica(0, "waiting"), replica(1, "waiting"), events=begun), 2) == (
        "replicas 0, 1: started as process 0-1",
    )
    assert told.rest() == ()


def test_what_was_not_told_yet_is_told_at_the_end_and_in_time() -> None:
    told = Told(0, fleet(replica(0)))
    assert told.lines(fleet(replica(0), events=(event("one"),)), 1) == ()
    assert told.rest() == ("qwen: one",)
    busy = [told.lines(fleet(replica(0), events=[event(str(each)) for each in range(n)]), n / 4) for n in range(1, 20)]
    assert [line for lines in busy[:12] for line in lines]


def test_of_a_single_one_that_loads_the_numbers_are_told_too() -> None:
    told = Told(0, loading("", ""))
    one = fleet(replica(0, "verified"), replica(1, "loading", phase="loading weights, 1 of 4 shards"))
    assert told.lines(one, 10)[-1] == "replica 1: loading weights, 1 of 4 shards, after 0:10"


def test_a_fleet_that_stands_says_nothing() -> None:
    stands = fleet(replica(0), replica(1, "failed"))
    told = Told(0, stands)
    assert [told.lines(stands, now) for now in (1, 50, 5000)] == [(), (), ()]


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
    assert len(told) == 2
    assert all(line.startswith("rehearsal, ") for line in told)


def test_foreign_text_is_escaped() -> None:
    told = changes(None, fleet(replica(0, "loading", phase="a\x1b[2J\nb"), name="\x07", events=(event("\u202e"),)))
    assert told == ("\\x07: \\u202e",)
    assert Told(0).lines(loading("a\x1b[2J\nb"), 20) == ("replica 0: a\\x1b[2J\\nb, after 0:20",)


@given(st.lists(st.text(alphabet="0123456789., :a-٣"), min_size=2, max_size=4))
def test_no_text_of_an_event_is_too_odd(texts: list[str]) -> None:
    events = tuple(event(text, 1, each) for each, text in enumerate(texts))
    assert changes(None, fleet(*(replica(each, "loading") for each in range(len(texts))), events=events))
