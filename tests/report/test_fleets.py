"""All fleets as a table."""

from __future__ import annotations

from sm120kit.report.fleets import render_fleets
from tests.fleets import START, fleet, replica


def test_each_fleet_has_its_row() -> None:
    said = render_fleets(
        (
            fleet(replica(0), replica(1)),
            fleet(replica(0), replica(1, "failed"), name="drill", rehearsal=True),
            fleet(replica(0, "stopped"), name="old", ended=True),
        ),
        START + 90,
    ).splitlines()
    assert [line.split() for line in said] == [
        ["fleet", "state", "verified", "level", "granted", "for", "model"],
        ["qwen", "verified", "2", "of", "2", "load", "74", "1:30", "/models/qwen"],
        ["drill", "rehearsal,", "not", "verified", "1", "of", "2", "load", "37", "1:30", "/models/qwen"],
        ["old", "ended", "0", "of", "1", "load", "0", "0:30", "/models/qwen"],
    ]


def test_no_fleet() -> None:
    assert render_fleets((), START) == "No fleet. sm120kit launch starts one.\n"
