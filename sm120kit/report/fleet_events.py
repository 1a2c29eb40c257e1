"""What changed between two looks at a fleet, a line for each change: what is printed where no terminal is."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.fleet.types import Fleet, Replica
from sm120kit.report.fleet_words import duration, judged
from sm120kit.text import visible


def changes(before: Fleet | None, after: Fleet) -> tuple[str, ...]:
    """Lines without their ends, in the order of the replicas; ``before`` ``None``: everything is new."""
    known = {each.index: each for each in before.replicas} if before else {}
    lines = [
        f"{_prefix(after, replica)}: {visible(text)}"
        for replica in after.replicas
        for text in _of_replica(known.get(replica.index), replica)
    ]
    return (*lines, *(visible(text) for text in _of_fleet(before, after)))


def _prefix(fleet: Fleet, replica: Replica) -> str:
    return f"{_rehearsed(fleet)}replica {str(replica.index).rjust(len(str(len(fleet.replicas) - 1)))}"


def _rehearsed(fleet: Fleet) -> str:
    return "rehearsal, " if fleet.rehearsal else ""


def _of_replica(before: Replica | None, after: Replica) -> Iterator[str]:
    fresh = before is None or before.restarts != after.restarts
    deaths = len(before.deaths) if before else 0
    latest = before.deaths[-1].at if before and before.deaths else 0.0
    for death in after.deaths[deaths:] if len(after.deaths) > deaths else after.deaths:
        if death.at > latest:
            causes = "; ".join(cause.message for cause in death.causes)
            yield (
                f"ended: {death.exit}"
                + (f": {causes}" if causes else "")
                + (f" (log {death.log})" if death.log else "")
            )
    judged_before = () if fresh or before is None else before.verdicts
    for verdict in after.verdicts:
        if not verdict.passed and verdict not in judged_before:
            yield f"{verdict.name} {judged(verdict)}: {verdict.evidence}"
    if before is None or before.state != after.state:
        yield _state(after)
    elif after.state == "loading" and after.phase and after.phase != before.phase:
        yield f"loading: {after.phase}"


def _state(replica: Replica) -> str:
    if replica.state == "loading" and replica.restarts:
        return f"loading, start {replica.restarts + 1}" + (f": {replica.phase}" if replica.phase else "")
    if replica.state == "verifying" and replica.ready_s is not None:
        return f"verifying: it answers after {duration(replica.ready_s)}"
    if replica.state == "verified" and replica.granted is not None:
        requested = "" if replica.requested is None else f"{replica.requested:,} requested, "
        predicted = "" if replica.predicted is None else f"{replica.predicted:,} predicted, "
        return f"verified: {requested}{predicted}{replica.granted:,} granted"
    return replica.state + (f": {replica.phase}" if replica.phase else "")


def _of_fleet(before: Fleet | None, after: Fleet) -> Iterator[str]:
    seen = before.events if before else ()
    for event in after.events:
        if event.replica is None and event not in seen:
            yield f"{_rehearsed(after)}{after.name}: {event.text}"
