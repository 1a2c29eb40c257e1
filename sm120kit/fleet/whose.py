"""To which fleet a process belongs."""

from __future__ import annotations

import contextlib

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.process.marks import mark_of
from sm120kit.fleet.state import folder_of, load_fleet, names


def fleet_of(pid: int) -> str:
    """Name of the fleet that this process was started for; empty where it is none that this user has."""
    mark = mark_of(pid)
    for name in names() if mark else ():
        with contextlib.suppress(Sm120kitError):
            fleet = load_fleet(folder_of(name))
            if fleet and fleet.id == mark:
                return name
    return ""
