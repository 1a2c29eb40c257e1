"""Busy is not dead, and one question is asked at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from sm120kit.fleet.supervision.liveness import Liveness


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(), 10)

    asyncio.run(limited())


class Server:
    """Answers while it is told to, and counts questions that are open at the same time."""

    def __init__(self, *, answers: bool) -> None:
        self.answers, self.open, self.most_open, self.asked = answers, 0, 0, 0

    async def ask(self, limit_s: float) -> bool:
        self.asked += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            limit = time.monotonic() + limit_s
            while not self.answers and time.monotonic() < limit:
                await asyncio.sleep(0.01)
            return self.answers
        finally:
            self.open -= 1


def test_a_silent_server_is_seen_at_the_limit() -> None:
    async def test() -> None:
        server = Server(answers=False)
        begun = time.monotonic()
        await Liveness(server.ask, 0.4).until_silent(0.4)
        assert 0.4 <= time.monotonic() - begun < 2
        assert server.most_open == 1

    run(test)


def test_one_that_gets_things_done_is_not_silent() -> None:
    async def test() -> None:
        server = Server(answers=False)
        liveness = Liveness(server.ask, 0.3)
        waiting = asyncio.ensure_future(liveness.until_silent(0.3))
        for _ in range(12):
            await asyncio.sleep(0.1)
            liveness.progress()
        assert not waiting.done()
        await waiting

    run(test)


def test_one_that_answers_is_asked_rarely() -> None:
    async def test() -> None:
        server = Server(answers=True)
        waiting = asyncio.ensure_future(Liveness(server.ask, 0.6).until_silent(0.6))
        await asyncio.sleep(1)
        assert not waiting.done()
        assert 5 <= server.asked <= 12
        waiting.cancel()

    run(test)


def test_one_that_comes_back_is_seen() -> None:
    async def test() -> None:
        server = Server(answers=False)
        liveness = Liveness(server.ask, 0.2)
        await liveness.until_silent(0.2)
        back = asyncio.ensure_future(liveness.until_answer(5))
        await asyncio.sleep(0.3)
        server.answers = True
        assert await back
        server.answers = False
        await asyncio.sleep(0.25)
        assert not await liveness.until_answer(0.3)

    run(test)
