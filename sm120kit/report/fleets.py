"""All fleets of this machine as a table."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.fleet.types import Fleet
from sm120kit.report.fleet_words import duration, verified
from sm120kit.report.grid import Cell, Column, write_grid
from sm120kit.report.lines import Lines


def render_fleets(fleets: Sequence[Fleet], now: float, *, width: int = 100, colour: bool = False) -> str:
    """One row for each fleet, as it is at the moment ``now``."""
    lines = Lines(width)
    if not fleets:
        lines.prose("No fleet. sm120kit launch starts one.")
        return lines.render(colour=colour)
    write_grid(
        lines,
        [
            Column("fleet", [Cell(each.name, "bold") for each in fleets], need=9),
            Column("state", [_state(each) for each in fleets], need=8),
            Column("verified", [Cell(f"{verified(each)} of {len(each.replicas)}") for each in fleets], need=7),
            Column("level", [Cell(each.level) for each in fleets], need=3),
            Column("granted", [Cell(f"{each.granted_total:,}") for each in fleets], right=True, need=6),
            Column("for", [Cell(_age(each, now)) for each in fleets], right=True, need=4),
            Column("model", [Cell(each.served_model_name or each.model) for each in fleets], need=5, least=12),
        ],
    )
    return lines.render(colour=colour)


def _state(fleet: Fleet) -> Cell:
    kind = "rehearsal, " if fleet.rehearsal else ""
    if fleet.ended:
        return Cell(f"{kind}ended", "dim")
    if fleet.verified:
        return Cell(f"{kind}verified", "bold green")
    return Cell(f"{kind}not verified", "bold yellow")


def _age(fleet: Fleet, now: float) -> str:
    return duration(now - (fleet.updated if fleet.ended else fleet.started))
