"""Verifies any number of servers, all at once: the ladder of verdicts, each with its evidence.

All that can be asked of one server by itself is asked of every server side by side. Then the answers are compared, and
at level load all servers are put under load together, so that what they give is what the machine gives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from sm120kit.engines.sglang.client import split_address
from sm120kit.fleet.asking import open_asking
from sm120kit.fleet.gpus import GpuReader
from sm120kit.fleet.spec import Limits, Thinking
from sm120kit.fleet.types import Level, Verdict
from sm120kit.fleet.verification.climb import Climb, Wanted
from sm120kit.fleet.verification.port_owner import Holder, listening, port_of
from sm120kit.fleet.verification.sisters import compare_sisters, make_reference
from sm120kit.fleet.verification.stress import put_under_load
from sm120kit.fleet.verification.types import (
    NAMES,
    Outcome,
    Reference,
    ReplicaOutcome,
    Sisters,
    Subject,
    is_verified,
)

__all__ = ["NAMES", "Outcome", "Reference", "ReplicaOutcome", "Sisters", "Subject", "is_verified", "verify"]


DEFAULT_LIMITS = Limits()


async def verify(
    subjects: Sequence[Subject],
    *,
    level: Level,
    thinking: Thinking = "auto",
    reasoning_parser: str = "",
    arguments: Sequence[str] = (),
    limits: Limits = DEFAULT_LIMITS,
    api_key: str = "",
    gpu_reader: GpuReader | None = None,
    reference: Reference | None = None,
    on_verdict: Callable[[int, Verdict], None] | None = None,
) -> Outcome:
    """Verify servers that answer already, ours or anybody's.

    ``arguments``: those of their launch line, held against what they work with. ``reference``: what sisters that are
    not verified now gave before. ``on_verdict`` is called with a server's number and each of its verdicts, once, when
    it is known. Whatever a server does, this ends within ``limits.verify`` and a little, and no server's fault hides
    another's verdicts.

    Raises:
        Sm120kitError: an address is none.
    """
    for each in subjects:
        split_address(each.url)
    wanted = Wanted(level, thinking, reasoning_parser, tuple(arguments), limits)
    known = reference or Reference()
    climbs = [Climb(each, wanted, on_verdict or _unheard) for each in subjects]
    async with open_asking(api_key) as asking:
        holders = _holders(subjects)
        try:
            await asyncio.gather(*(each.alone(asking, holders) for each in climbs))
        finally:
            await _end(holders)
        await compare_sisters(climbs, gpu_reader, known)
        if level == "load":
            await put_under_load(asking, climbs, known)
    outcomes = tuple(_outcome(each, level) for each in climbs)
    rates = [each.tokens_per_second for each in outcomes if each.tokens_per_second is not None]
    return Outcome(level, outcomes, make_reference(climbs, outcomes, known), sum(rates) if rates else None)


def _outcome(climb: Climb, level: Level) -> ReplicaOutcome:
    verdicts = climb.ordered()
    return ReplicaOutcome(
        climb.index,
        verdicts,
        climb.told.granted,
        climb.tokens_per_second,
        climb.roofline_share,
        climb.memory_used,
        is_verified(verdicts, level, ours=climb.subject.root is not None),
        climb.requested,
        climb.is_stand_in,
    )


def _holders(subjects: Sequence[Subject]) -> asyncio.Task[tuple[Holder, ...]] | None:
    """Looks once, for all servers, at who listens on their ports."""
    ports = {port_of(each.url, each.port) for each in subjects if each.root is not None}
    return asyncio.create_task(asyncio.to_thread(listening, ports)) if ports else None


async def _end(task: asyncio.Task[tuple[Holder, ...]] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _unheard(_index: int, _verdict: Verdict) -> None:
    """Nobody listens."""
