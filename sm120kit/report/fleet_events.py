"""What is printed of a fleet where no terminal is: a line for what happened, one for all replicas of which the same is
told, and now and then a line for how far those are that still load."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sm120kit.fleet.types import Fleet, Replica
from sm120kit.report.fleet_words import duration, numbers
from sm120kit.text import visible

SOONEST_S = 10.0
"""Between two lines that tell how far a fleet is, where that changed."""
LATEST_S = 30.0
"""Without any line, after which one tells that there is still something to wait for."""

_QUIET_S, _LONGEST_S = 0.5, 2.0
"""What happened is told when nothing more has happened for the one, or after the other."""

_ON_THE_WAY = ("waiting", "loading", "verifying", "stopping")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![.,]?\d)", re.ASCII)
"""A number that may differ between replicas; none within an address or a version."""


class Told:
    """What was told of a fleet, and when. What happens to several replicas at almost the same time is told together."""

    def __init__(self, now: float, seen: Fleet | None = None) -> None:
        """``seen``: how the fleet was when everything of it had been told. ``now`` is any clock in seconds."""
        self._told = seen
        self._latest = seen
        self._began = now
        self._changed_at = now
        self._untold_since: float | None = None
        self._said_at = now
        self._stage_at = now
        self._stage = ""

    def lines(self, fleet: Fleet, now: float) -> tuple[str, ...]:
        """What is to be told of it now, lines without their ends."""
        if fleet != self._latest:
            self._latest, self._changed_at = fleet, now
            self._untold_since = now if self._untold_since is None else self._untold_since
        since = self._untold_since
        settled = since is not None and (now - self._changed_at >= _QUIET_S or now - since >= _LONGEST_S)
        lines = [*self.rest()] if settled else []
        stage, whole = _how_far(fleet)
        quiet = now - max(self._said_at, self._stage_at)
        if stage and ((stage != self._stage and now - self._stage_at >= SOONEST_S) or quiet >= LATEST_S):
            lines += [*self.rest(), f"{whole}, after {duration(now - self._began)}"]
            self._stage, self._stage_at = stage, now
        if lines:
            self._said_at = now
        return tuple(lines)

    def rest(self) -> tuple[str, ...]:
        """What was seen and not told yet."""
        before, self._told, self._untold_since = self._told, self._latest, None
        return changes(before, self._latest) if self._latest else ()


def changes(before: Fleet | None, after: Fleet) -> tuple[str, ...]:
    """Lines without their ends: what happened since ``before``. ``None``: all of it is new."""
    known = {each.index: each for each in before.replicas} if before else {}
    seen = set(before.events) if before else set()
    told = [(event.replica, event.text) for event in after.events if event not in seen]
    told += [(each.index, text) for each in after.replicas for text in _of_replica(known.get(each.index), each)]
    # What is told of several replicas in the same words stands where it is told first.
    alike: dict[tuple[bool, str], list[tuple[int | None, str]]] = {}
    for number, (index, text) in enumerate(told):
        words = f"{number}" if index is None or "/" in text else _NUMBER.sub("0", text)
        alike.setdefault((index is None, words), []).append((index, text))
    return tuple(
        f"{_about(after, [index for index, _ in group if index is not None])}: "
        + visible(_ranges([text for _, text in group]))
        for group in alike.values()
    )


def _ranges(texts: list[str]) -> str:
    """Texts that differ in numbers alone as one, with the least and the largest of each number."""
    columns = list(zip(*(_NUMBER.findall(text) for text in texts), strict=True))
    ordered = iter([sorted(set(column), key=lambda each: float(each.replace(",", ""))) for column in columns])

    def both(_: re.Match[str]) -> str:
        values = next(ordered)
        return values[0] if len(values) == 1 else f"{values[0]}-{values[-1]}"

    return _NUMBER.sub(both, texts[0])


def _about(fleet: Fleet, indices: list[int]) -> str:
    rehearsed = "rehearsal, " if fleet.rehearsal else ""
    if not indices:
        return rehearsed + visible(fleet.name)
    if len(set(indices)) > 1:
        return f"{rehearsed}replicas {numbers(sorted(set(indices)))}"
    widest = max((len(str(each.index)) for each in fleet.replicas), default=1)
    return f"{rehearsed}replica {str(indices[0]).rjust(widest)}"


def _of_replica(before: Replica | None, after: Replica) -> Iterator[str]:
    """What no event tells: what was granted, and where the log of a death lies."""
    same = before is not None and before.state == after.state
    if after.state == "verified" and not same and after.granted is not None:
        requested = "" if after.requested is None else f"{after.requested:,} requested, "
        predicted = "" if after.predicted is None else f"{after.predicted:,} predicted, "
        yield f"{requested}{predicted}{after.granted:,} granted"
    told = before.deaths if before else ()
    for death in after.deaths:
        if death not in told and death.log:
            yield f"its log is {death.log}"


def _how_far(fleet: Fleet) -> tuple[str, str]:
    """What those are at that are on their way, without and with the numbers that go on all the time; empty where none
    is."""
    on_the_way = [each for each in fleet.replicas if each.state in _ON_THE_WAY]
    if not on_the_way:
        return "", ""
    if len(on_the_way) == 1:
        stage, at = _stage(on_the_way[0]), on_the_way[0].phase or on_the_way[0].state
        return f"{on_the_way[0].index} {stage}", f"{_about(fleet, [on_the_way[0].index])}: {visible(at)}"
    counted = Counter(_stage(each) for each in on_the_way)
    text = ", ".join(f"{number} of {len(fleet.replicas)} {stage}" for stage, number in counted.items())
    return text, f"{_about(fleet, [])}: {visible(text)}"


def _stage(replica: Replica) -> str:
    """What a replica is at, in words that do not change with every shard."""
    return re.split(r"[,(]", replica.phase if replica.state == "loading" else "")[0].strip() or replica.state
