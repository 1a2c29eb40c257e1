"""Makes a state true again whose supervisor ended without a word, and ends what it left."""

from __future__ import annotations

import contextlib
import os
import time

from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import all_marks, sweep
from sm120kit.fleet.process.ours import is_left, may_be_ended, supervises
from sm120kit.fleet.process.sweeper import end_stopped_sweeper
from sm120kit.fleet.runtime import remove_runtime
from sm120kit.fleet.state import FleetFolder, folder_of, hold, load_fleet, names, write_fleet
from sm120kit.fleet.types import Event, Fleet, Replica

_RUNNING = ("loading", "verifying", "verified", "unverified", "hung")
_GONE = "its process has ended"
_ENDED = "the supervisor ended without a word; what it had started was ended after it"


def put_right(folder: FleetFolder) -> Fleet | None:
    """The state of a fleet as it truly is. Where no supervisor lives, its processes are ended and the state says so, if
    it can be written.

    Raises:
        Sm120kitError: the state cannot be read.
    """
    fleet = load_fleet(folder)
    if fleet is None or fleet.ended:
        return fleet
    if fleet.supervisor and supervises(fleet.supervisor, folder.name):
        return _as_seen(fleet)
    try:
        lock = hold(folder)
    except Sm120kitError:  # nobody can write there: no new supervisor can begin, and nothing of it can be put down
        _end_left(fleet)
        return _as_ended(fleet)
    if lock is None:  # another one is at it, or a new supervisor has just begun
        return load_fleet(folder)
    try:
        _end_left(fleet)
        fleet = _as_ended(load_fleet(folder) or fleet)
        with contextlib.suppress(OSError):  # a full disk; what is returned is true all the same
            write_fleet(folder, fleet)
    finally:
        os.close(lock)
    return fleet


def end_orphans() -> None:
    """End whatever of any fleet has no supervisor any more, also where its state is gone."""
    for name in names():
        with contextlib.suppress(Sm120kitError):  # a state that cannot be read hides no process: those have marks
            put_right(folder_of(name))
    for mark in all_marks():
        if may_be_ended(mark):
            sweep(mark)


def _end_left(fleet: Fleet) -> None:
    """What its supervisor left; nothing where the state names a mark that none made, or one whose supervisor lives."""
    if may_be_ended(fleet.id):
        sweep(fleet.id)
        end_stopped_sweeper(fleet.name, fleet.id)
    if is_left(fleet.id):
        remove_runtime(fleet.runtime, fleet.id)


def _as_seen(fleet: Fleet) -> Fleet:
    """The fleet without servers that are said to run and do not: their supervisor could not write of their end yet."""
    replicas = tuple(
        replace(each, state="unverified", phase=_GONE) if _has_ended(each) else each for each in fleet.replicas
    )
    if replicas == fleet.replicas:
        return fleet
    good = [each for each in replicas if each.state == "verified"]
    return replace(
        fleet,
        replicas=replicas,
        verified=len(good) == len(replicas),
        granted_total=sum(each.granted or 0 for each in good),
    )


def _has_ended(replica: Replica) -> bool:
    return replica.state in _RUNNING and replica.process is not None and not alive(replica.process)


def _as_ended(fleet: Fleet) -> Fleet:
    now = time.time()
    return replace(
        fleet,
        ended=True,
        verified=False,
        granted_total=0,
        updated=now,
        replicas=tuple(_stopped(each, now) for each in fleet.replicas),
        events=(*fleet.events, Event(now, _ENDED)),
    )


def _stopped(replica: Replica, now: float) -> Replica:
    before = replica.before_end or replica.state
    if replica.state == "failed":
        return replace(replica, before_end=before)
    return replace(replica, state="stopped", before_end=before, pid=None, process=None, phase="", since=now)
