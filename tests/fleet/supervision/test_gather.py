"""Replicas are verified together the first time, and each alone later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from sm120kit.fleet.supervision.gather import Gather


class Asked:
    """Answers as told, and remembers what was asked."""

    def __init__(self, pause_s: float = 0) -> None:
        self.calls: list[tuple[int, ...]] = []
        self._pause_s = pause_s

    async def __call__(self, indices: Sequence[int]) -> Mapping[int, bool]:
        self.calls.append(tuple(indices))
        await asyncio.sleep(self._pause_s)
        return {index: index != 2 for index in indices}


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(), 5)

    asyncio.run(limited())


def test_all_together_then_alone() -> None:
    async def test() -> None:
        asked = Asked()
        gather = Gather([0, 1, 2], asked)
        assert await asyncio.gather(*(gather.verified(index) for index in (2, 0, 1))) == [False, True, True]
        assert asked.calls == [(0, 1, 2)]
        assert await gather.verified(1)
        assert asked.calls == [(0, 1, 2), (1,)]

    run(test)


def test_who_dies_while_the_others_wait_is_waited_for_again() -> None:
    async def test() -> None:
        asked = Asked()
        gather = Gather([0, 1], asked)
        first = asyncio.ensure_future(gather.verified(0))
        await asyncio.sleep(0)
        gather.withdraw(0)
        second = asyncio.ensure_future(gather.verified(1))
        await asyncio.sleep(0.01)
        assert asked.calls == []
        assert first.cancelled()
        assert await gather.verified(0)
        assert await second
        assert asked.calls == [(0, 1)]

    run(test)


def test_who_is_given_up_is_not_waited_for() -> None:
    async def test() -> None:
        asked = Asked()
        gather = Gather([0, 1], asked)
        first = asyncio.ensure_future(gather.verified(0))
        await asyncio.sleep(0)
        gather.give_up(1)
        assert await first
        assert asked.calls == [(0,)]

    run(test)


def test_who_comes_back_while_the_first_verification_runs_is_verified_after_it() -> None:
    async def test() -> None:
        asked = Asked(pause_s=0.05)
        gather = Gather([0, 1], asked)
        lost, kept = (asyncio.ensure_future(gather.verified(index)) for index in (0, 1))
        await asyncio.sleep(0.01)
        gather.withdraw(0)
        again = asyncio.ensure_future(gather.verified(0))
        assert await kept
        assert await again
        assert lost.cancelled()
        assert asked.calls == [(0, 1), (0,)]

    run(test)


def test_a_fault_of_the_verification_reaches_all_who_wait() -> None:
    async def broken(_indices: Sequence[int]) -> Mapping[int, bool]:
        raise ValueError("no")

    async def test() -> None:
        gather = Gather([0, 1], broken)
        results = await asyncio.gather(gather.verified(0), gather.verified(1), return_exceptions=True)
        assert [type(each) for each in results] == [ValueError, ValueError]

    run(test)
