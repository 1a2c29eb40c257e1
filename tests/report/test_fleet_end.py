"""How fleets ended, as text."""

from __future__ import annotations

from sm120kit.report.fleet_end import end_lines, render_end
from sm120kit.report.fleet_words import REHEARSAL, one_line
from tests.fleets import START, event, fleet, replica

STOPPED = fleet(
    replica(0, "stopped"),
    ended=True,
    events=(
        event("verified", 5, 0),
        event("stops", 50),
        event("is killed", 51, 0),
        event("stopped: nothing is left", 52),
    ),
)


def test_only_what_was_said_since_it_began_to_stop() -> None:
    assert end_lines(STOPPED) == ("replica 0: is killed", "stopped: nothing is left")
    assert end_lines(fleet(replica(0, "stopped"), ended=True, events=(event("one"), event("two")))) == ("two",)
    assert end_lines(fleet(replica(0))) == ()


def test_one_that_ended_and_one_of_which_something_is_left() -> None:
    left = fleet(replica(0, "stopping"), name="other", events=(event("process 7 \x1b"),))
    said = render_end((STOPPED, left), START)
    assert said.splitlines() == [
        "qwen: ended",
        "  replica 0: is killed",
        "  stopped: nothing is left",
        "other: something of it still runs",
        "  process 7 \\x1b",
    ]


def test_one_that_had_ended_before() -> None:
    assert render_end((STOPPED,), START + 90, already=("qwen",)) == "qwen: had ended already, 0:30 ago\n"


def test_a_rehearsal_says_so() -> None:
    said = render_end((fleet(replica(0), rehearsal=True, ended=True), fleet(replica(0))), START).splitlines()
    assert said[0] == said[-1] == REHEARSAL


def test_no_fleet() -> None:
    assert render_end((), START) == "No fleet runs.\n"


def test_how_far_it_is_on_one_line() -> None:
    assert one_line(fleet(replica(0), replica(1))) == "all 2 verified at level load"
    coming = fleet(replica(0), *(replica(each, "loading") for each in range(1, 6)), rehearsal=True)
    assert one_line(coming) == (
        "rehearsal: 1 of 6 verified; replica 1 loading, replica 2 loading, replica 3 loading and 2 more"
    )
