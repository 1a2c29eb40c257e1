"""What changed between two looks at a fleet, a line for each change: what is printed where no terminal is."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.fleet.types import Fleet, Replica
from sm120kit.text import visible

_BEGUN = "starting"
"""The phase of a server that has said nothing yet: an event tells of its start."""


def changes(before: Fleet | None, after: Fleet) -> tuple[str, ...]:
    """Lines without their ends: what happened since ``before``, then what each replica is at now. ``None``: all of
    it is new."""
    known = {each.index: each for each in before.replicas} if before else {}
    seen = set(before.events) if before else set()
    lines = [(event.replica, event.text) for event in after.events if event not in seen]
    lines += [(each.index, text) for each in after.replicas for text in _of_replica(known.get(each.index), each)]
    return tuple(f"{_about(after, index)}: {visible(text)}" for index, text in lines)


def _about(fleet: Fleet, index: int | None) -> str:
    rehearsed = "rehearsal, " if fleet.rehearsal else ""
    if index is None:
        return rehearsed + visible(fleet.name)
    widest = max((len(str(each.index)) for each in fleet.replicas), default=1)
    return f"{rehearsed}replica {str(index).rjust(widest)}"


def _of_replica(before: Replica | None, after: Replica) -> Iterator[str]:
    """What no event tells: the phase of loading, what was granted, and where the log of a death lies."""
    same = before is not None and before.state == after.state
    if (
        after.state == "loading"
        and after.phase not in ("", _BEGUN)
        and not (same and before and before.phase == after.phase)
    ):
        yield after.phase
    if after.state == "verified" and not same and after.granted is not None:
        requested = "" if after.requested is None else f"{after.requested:,} requested, "
        predicted = "" if after.predicted is None else f"{after.predicted:,} predicted, "
        yield f"{requested}{predicted}{after.granted:,} granted"
    told = before.deaths if before else ()
    for death in after.deaths:
        if death not in told and death.log:
            yield f"its log is {death.log}"
