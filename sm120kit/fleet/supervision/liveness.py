"""Whether a server lives: one question at a time, and progress counts as an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

_FRACTION = 6
"""Questions within the limit."""

_SHORT_PAUSE_S = 0.2
"""After a question that failed at once, such as a connection refused."""

Ask = Callable[[float], Awaitable[bool]]
"""Asks the scheduler something; True when it answered within so many seconds."""


class Liveness:
    """Watches one server. A busy one answers late, and is seen by what it gets done instead. Made inside a running
    event loop."""

    def __init__(self, ask: Ask, limit_s: float) -> None:
        self._ask, self._pause_s = ask, limit_s / _FRACTION
        self._last = time.monotonic()
        self._heard = asyncio.Event()

    def progress(self) -> None:
        """Its scheduler has done something: a line of its log says so."""
        self._last = time.monotonic()
        self._heard.set()

    async def until_silent(self, limit_s: float) -> None:
        """Return when it has neither answered nor got anything done for ``limit_s``."""
        while (left := self._last + limit_s - time.monotonic()) > 0:
            answered = await self._ask(left)
            if answered:
                self.progress()
            await asyncio.sleep(self._pause_s if answered else min(_SHORT_PAUSE_S, self._pause_s))

    async def until_answer(self, limit_s: float) -> bool:
        """True as soon as it answers or gets something done again, False when it does not within ``limit_s``."""
        self._heard.clear()
        asking = asyncio.ensure_future(self._keep_asking(limit_s))
        try:
            await asyncio.wait_for(self._heard.wait(), limit_s)
        except asyncio.TimeoutError:
            return False
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return True

    async def _keep_asking(self, limit_s: float) -> None:
        while not await self._ask(limit_s):
            await asyncio.sleep(min(_SHORT_PAUSE_S, self._pause_s))
        self.progress()
