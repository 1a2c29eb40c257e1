"""The whole ladder against small servers: what is healthy passes, and every kind of fault is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sm120kit.fleet.spec import Expectation
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.ladder import Outcome, Subject, verify
from tests.fleet.verification.stand_in import Server, running

PLANNED = Expectation(granted=37, tokens=200_000)


def verified(*servers: Server, **options: Any) -> Outcome:
    """What comes of verifying these."""

    async def run() -> Outcome:
        async with running(*servers):
            subjects = [Subject(i, each.url, requested=64, expected=PLANNED) for i, each in enumerate(servers)]
            return await verify(subjects, **{"level": "load", **options})

    return asyncio.run(run())


def verdict(outcome: Outcome, index: int, name: str) -> Verdict:
    """One verdict."""
    return next(each for each in outcome.replicas[index].verdicts if each.name == name)


def test_healthy_servers_are_verified_at_every_level() -> None:
    names = {
        "quick": ["model", "generation", "configuration", "concurrency", "memory"],
        "standard": ["model", "generation", "thinking", "configuration", "concurrency", "memory", "load"],
        "load": ["model", "generation", "thinking", "configuration", "concurrency", "memory", "load", "throughput"],
    }
    for level, expected in names.items():
        outcome = verified(*(Server() for _ in range(8)), level=level)
        assert outcome.verified
        assert [each.granted for each in outcome.replicas] == [37] * 8
        for each in outcome.replicas:
            assert [verdict.name for verdict in each.verdicts] == expected


def test_each_verdict_is_told_once_when_it_is_known() -> None:
    told: list[tuple[int, str]] = []
    on_verdict: Callable[[int, Verdict], None] = lambda index, verdict: told.append((index, verdict.name))  # noqa: E731
    outcome = verified(Server(), Server(), on_verdict=on_verdict)
    assert sorted(told) == sorted((each.index, one.name) for each in outcome.replicas for one in each.verdicts)
