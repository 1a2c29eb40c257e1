"""Whether a fleet has come to an end of its start, or to its end."""

from __future__ import annotations

from collections.abc import Iterable

from sm120kit.fleet.types import STOPS, Fleet, Replica


def settled(fleet: Fleet, indices: Iterable[int] | None = None) -> bool:
    """Every replica, or each of ``indices``, is verified, or is not going to be."""
    wanted = None if indices is None else set(indices)
    return fleet.ended or all(_settled(each) for each in fleet.replicas if wanted is None or each.index in wanted)


def all_failed(fleet: Fleet) -> bool:
    """No server runs, and none will be started again."""
    return bool(fleet.replicas) and all(each.state == "failed" for each in fleet.replicas)


def ended_as_asked(fleet: Fleet) -> bool:
    """Its supervisor ended it because somebody wanted it; one that was killed did not."""
    return fleet.ended and any(event.replica is None and event.text == STOPS for event in fleet.events)


def _settled(replica: Replica) -> bool:
    if replica.state == "unverified":
        return not replica.phase  # with one it is ending, and may be started again
    return replica.state in ("verified", "failed", "stopped")
