"""Brings replicas to their verification: the first time all of them together, later each for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

Verify = Callable[[Sequence[int]], Awaitable[Mapping[int, bool]]]
"""Verifies these replicas side by side and says which are verified."""


class Gather:
    """Waits for every replica that may still answer, so that sisters are compared and loaded at the same time."""

    def __init__(self, indices: Iterable[int], verify: Verify) -> None:
        self._verify = verify
        self._missing = set(indices)
        """Those that the first verification still waits for."""
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._first: asyncio.Task[None] | None = None
        self._first_done = asyncio.Event()

    async def verified(self, index: int) -> bool:
        """Wait for its turn and for the answer."""
        if self._first is not None:
            await self._first_done.wait()
            return (await self._verify((index,)))[index]
        self._waiting[index] = asyncio.get_running_loop().create_future()
        self._missing.discard(index)
        self._begin()
        return await self._waiting[index]

    def withdraw(self, index: int) -> None:
        """It answers no more; the first verification waits for it again, if it has not begun."""
        future = self._waiting.pop(index, None)
        if future:
            future.cancel()
            if self._first is None:
                self._missing.add(index)

    def give_up(self, index: int) -> None:
        """Nobody is to wait for it."""
        self.withdraw(index)
        self._missing.discard(index)
        self._begin()

    def _begin(self) -> None:
        if self._first is None and not self._missing and self._waiting:
            self._first = asyncio.ensure_future(self._verify_all(tuple(sorted(self._waiting))))

    async def _verify_all(self, indices: Sequence[int]) -> None:
        try:
            results = await self._verify(indices)
            for index in indices:
                future = self._waiting.pop(index, None)
                if future and not future.done():
                    future.set_result(results[index])
        except Exception as error:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(error)
        finally:
            self._first_done.set()
