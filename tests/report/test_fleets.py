"""All fleets as a table."""

from __future__ import annotations

from sm120kit.fleet.types import Leftover
from sm120kit.report.fleets import leftover, render_fleets
from tests.fleets import START, fleet, replica


def test_each_fleet_has_its_row() -> None:
    said = render_fleets(
        (
            fleet(replica(0), replica(1)),
            fleet(replica(0), replica(1, "failed"), name="drill", rehearsal=True),
            fleet(replica(0, "stopped", granted=37, before_end="verified"), name="old", ended=True),
        ),
        START + 90,
    ).splitlines()
    assert [line.split() for line in said] == [
        ["fleet", "state", "verified", "level", "granted", "time", "model"],
        ["qwen", "verified", "2", "of", "2", "load", "74", "up", "for", "1:30", "/models/qwen"],
        ["drill", "rehearsal,", "not", "verified", "1", "of", "2", "load", "37", "up", "for", "1:30", "/models/qwen"],
        ["old", "ended", "1", "of", "1", "load", "37", "ended", "0:30", "ago", "/models/qwen"],
    ]


def test_no_fleet() -> None:
    assert render_fleets((), START) == "No fleet. sm120kit launch starts one.\n"


def test_those_that_are_left_out_are_counted_and_long_times_are_days() -> None:
    said = render_fleets((fleet(replica(0)),), START + 3 * 86_400 + 5, left_out=2).splitlines()
    assert "up for 3 days" in said[1]
    assert said[2] == "2 fleets ended more than a day ago: sm120kit fleets --all"


def test_what_is_removed_is_said_with_its_size_and_what_stays() -> None:
    left = Leftover("qwen", "/s/qwen", 24, 7 << 20, ("/var/log/qwen",))
    assert leftover(left) == "qwen: its state and 24 logs, 7.0 MiB in /s/qwen, are removed; logs in /var/log/qwen stay"
