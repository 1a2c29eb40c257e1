"""All fleets of this machine as a table."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.fleet.types import Fleet, Leftover
from sm120kit.report.fleet_words import duration, granted, verified
from sm120kit.report.grid import Cell, Column, write_grid
from sm120kit.report.lines import Lines
from sm120kit.report.wording import counted

_DAY_S = 86_400


def render_fleets(
    fleets: Sequence[Fleet], now: float, *, left_out: int = 0, width: int = 100, colour: bool = False
) -> str:
    """One row for each fleet, as it is at the moment ``now``. ``left_out``: those that ended too long ago."""
    lines = Lines(width)
    if not fleets:
        lines.prose("No fleet. sm120kit launch starts one.")
    else:
        _write_table(lines, fleets, now)
    if left_out:
        lines.prose(f"{counted(left_out, 'fleet')} ended more than a day ago: sm120kit fleets --all", style="dim")
    return lines.render(colour=colour)


def leftover(left: Leftover) -> str:
    """What is removed of an ended fleet, and what is not."""
    stays = f"; logs in {', '.join(left.elsewhere)} stay" if left.elsewhere else ""
    size = f"{left.size / (1 << 20):,.1f} MiB"
    return f"{left.name}: its state and {counted(left.logs, 'log')}, {size} in {left.folder}, are removed{stays}"


def _write_table(lines: Lines, fleets: Sequence[Fleet], now: float) -> None:
    write_grid(
        lines,
        [
            Column("fleet", [Cell(each.name, "bold") for each in fleets], need=9),
            Column("state", [_state(each) for each in fleets], need=8),
            Column("verified", [Cell(f"{verified(each)} of {len(each.replicas)}") for each in fleets], need=7),
            Column("level", [Cell(each.level) for each in fleets], need=3),
            Column("granted", [Cell(f"{granted(each):,}") for each in fleets], right=True, need=6),
            Column("time", [Cell(_age(each, now)) for each in fleets], need=4),
            Column("model", [Cell(each.served_model_name or each.model) for each in fleets], need=5, least=12),
        ],
    )


def _state(fleet: Fleet) -> Cell:
    kind = "rehearsal, " if fleet.rehearsal else ""
    if fleet.ended:
        return Cell(f"{kind}ended", "dim")
    if fleet.verified:
        return Cell(f"{kind}verified", "bold green")
    return Cell(f"{kind}not verified", "bold yellow")


def _age(fleet: Fleet, now: float) -> str:
    seconds = now - (fleet.updated if fleet.ended else fleet.started)
    long = f"{int(seconds // _DAY_S)} days" if seconds >= 2 * _DAY_S else duration(seconds)
    return f"ended {long} ago" if fleet.ended else f"up for {long}"
