"""Waiting for the first of several things, with nothing left running behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence


async def any_of(*works: Awaitable[object]) -> None:
    """Return when one of them has ended; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def before_any(work: Awaitable[None], events: Sequence[asyncio.Event], limit_s: float | None) -> bool:
    """Do ``work``; True when it came to its end before any event did and within the limit, else it is cancelled.

    Raises:
        Exception: what ``work`` raised.
    """
    task = asyncio.ensure_future(work)
    others = [asyncio.ensure_future(each.wait()) for each in events]
    try:
        await asyncio.wait([task, *others], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        return (
            task.done()
            and not task.cancelled()
            and task.exception() is None
            and not any(event.is_set() for event in events)
        )
    finally:
        for each in (task, *others):
            each.cancel()
        results = await asyncio.gather(task, *others, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]
