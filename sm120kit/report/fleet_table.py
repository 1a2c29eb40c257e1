"""The replicas of a fleet as a table: who is at what, since when, and how many requests each was granted."""

from __future__ import annotations

from sm120kit.fleet.types import Fleet, Replica
from sm120kit.report.fleet_words import STYLES, duration, gib
from sm120kit.report.grid import Cell, Column, write_grid
from sm120kit.report.lines import Lines

_RUNNING = ("loading", "verifying", "verified", "unverified", "hung", "stopping")


def write_table(lines: Lines, fleet: Fleet, now: float, *, indent: int = 0) -> None:
    """One row for each replica, as it is at the moment ``now``."""
    replicas = fleet.replicas
    write_grid(
        lines,
        [
            Column("#", [Cell(str(each.index)) for each in replicas], right=True, need=99),
            Column("GPU", [Cell(_gpu(each)) for each in replicas], need=98),
            Column("address", [Cell(each.url) for each in replicas], need=97),
            Column("port", [Cell(str(each.port)) for each in replicas], right=True, need=90),
            Column("state", [Cell(each.state, STYLES[each.state]) for each in replicas], need=99),
            Column("at", [Cell(_at(each), "dim") for each in replicas], need=60, least=14),
            Column("memory", [Cell(_memory(each)) for each in replicas], right=True, need=50),
            Column("time", [Cell(_time(fleet, each, now)) for each in replicas], need=80),
            Column("requested", [Cell(_number(each.requested)) for each in replicas], right=True, need=30),
            Column("predicted", [Cell(_number(each.predicted)) for each in replicas], right=True, need=40),
            Column("granted", [Cell(_number(each.granted)) for each in replicas], right=True, need=85),
            Column("tokens/s", [Cell(_rate(each)) for each in replicas], right=True, need=20),
            Column("restarts", [Cell(str(each.restarts or "")) for each in replicas], right=True, need=70),
        ],
        indent=indent,
    )


def seconds_left(fleet: Fleet, replica: Replica, now: float) -> float | None:
    """What a replica that loads will still take, if it takes as long as those before it; ``None`` = not known."""
    known = [each.ready_s for each in fleet.replicas if each.ready_s is not None and each.index != replica.index]
    if replica.ready_s is not None:
        known.append(replica.ready_s)
    if replica.state != "loading" or replica.started is None or not known:
        return None
    return max(known) - (now - replica.started)


def _gpu(replica: Replica) -> str:
    """Empty where it is not ours, and nobody knows."""
    if replica.url:
        return ""
    return (replica.gpu_index or replica.gpu) if replica.gpu else "cpu"


def _at(replica: Replica) -> str:
    """What it is at; for one that is not well, what is against it."""
    if replica.state in ("unverified", "hung", "failed"):
        against = [verdict.name for verdict in replica.verdicts if verdict.passed is False]
        if replica.state == "unverified" and against:
            return against[0] + (f" and {len(against) - 1} more" if len(against) > 1 else "")
        if replica.state == "failed" and replica.deaths:
            death = replica.deaths[-1]
            return death.causes[0].message if death.causes else death.exit
    return replica.phase if replica.state in ("waiting", "loading", "verifying", "stopping") else ""


def _time(fleet: Fleet, replica: Replica, now: float) -> str:
    if replica.started is None or replica.state not in _RUNNING:
        return ""
    left = seconds_left(fleet, replica, now)
    elapsed = duration(now - replica.started)
    return elapsed if left is None else f"{elapsed} of {duration(now - replica.started + left)}"


def _memory(replica: Replica) -> str:
    return "" if replica.memory_used is None else gib(replica.memory_used)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _rate(replica: Replica) -> str:
    return "" if replica.tokens_per_second is None else f"{replica.tokens_per_second:,.0f}"
