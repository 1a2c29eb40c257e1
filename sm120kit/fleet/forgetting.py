"""Removes what an ended fleet left: its state and its logs. Never those of one that runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.state import FleetFolder, folder_of, hold, names
from sm120kit.fleet.supervising import read_fleet
from sm120kit.fleet.types import Fleet, Leftover

RECENT_S = 86_400.0
"""An ended fleet is shown unasked for so long."""

_GONE = ".forgotten-"


def is_recent(fleet: Fleet, now: float) -> bool:
    """Whether it runs, or ended within the last day."""
    return not fleet.ended or now - fleet.updated < RECENT_S


def forget(name: str, before: Callable[[Leftover], None]) -> Leftover:
    """Remove the state and the logs of an ended fleet; ``before`` is told first what that is.

    Raises:
        Sm120kitError: there is none of that name, or it runs (2); it cannot be removed (4).
    """
    folder = folder_of(name)
    try:
        if not stat.S_ISDIR(os.lstat(folder.path).st_mode):
            raise Sm120kitError(
                f"{folder.path} is no folder, and none of ours", hint="Look at it, and remove it yourself"
            )
    except FileNotFoundError:
        raise _unknown(name) from None
    fleet: Fleet | None = None
    with contextlib.suppress(Sm120kitError):  # a state that cannot be read is forgotten as well
        fleet = read_fleet(name)
    lock = hold(folder)
    if lock is None or (fleet and not fleet.ended):
        if lock is not None:
            os.close(lock)
        raise Sm120kitError(
            f"{name} runs, and only what has ended is forgotten", hint=f"Stop it first: sm120kit stop {name}"
        )
    try:
        left = _look(folder, fleet)
        before(left)
        _remove(folder)
    finally:
        os.close(lock)
    return left


def _unknown(name: str) -> Sm120kitError:
    from sm120kit.nearest import did_you_mean

    return Sm120kitError(
        f"there is no fleet {name!r}", hint=did_you_mean(name, names(), otherwise="See them all: sm120kit fleets --all")
    )


def _look(folder: FleetFolder, fleet: Fleet | None) -> Leftover:
    size = logs = 0
    for place, _, files in os.walk(folder.path):
        for each in files:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, each)).st_size
            logs += place == folder.logs and each.endswith(".log")
    told = {os.path.dirname(each.log) for each in fleet.replicas if each.log} if fleet else set()
    return Leftover(folder.name, folder.path, logs, size, tuple(sorted(told - {folder.logs})))


def _remove(folder: FleetFolder) -> None:
    """By a name that no fleet can have first: what is cut short is no half of a fleet then."""
    home = os.path.dirname(folder.path)
    gone = os.path.join(home, f"{_GONE}{folder.name}-{os.getpid()}")
    try:
        for each in os.listdir(home):
            if each.startswith(_GONE):  # of one that was cut short
                shutil.rmtree(os.path.join(home, each), ignore_errors=True)
        os.rename(folder.path, gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise Sm120kitError(
            f"{error.filename or folder.path} cannot be removed: {error.strerror}",
            hint="Set that right, or remove it yourself",
            exit_code=TARGET_UNREADABLE,
        ) from error
