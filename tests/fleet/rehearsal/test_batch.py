"""The running batch and its queue, by the clock and without one."""

from __future__ import annotations

import pytest

from sm120kit.fleet.rehearsal.batch import Batch, Generation

pytestmark = pytest.mark.rehearsal


def _batch(granted: int = 2, tokens: int = 1000) -> Batch:
    return Batch(granted, tokens, speed=10)


def _submit(batch: Batch, *sizes: tuple[int, int], stream: bool = False) -> None:
    for number, (prompt, tokens) in enumerate(sizes):
        batch.submit(Generation(f"r{number}", prompt, tokens, stream=stream))


def test_as_many_as_granted_run_and_the_next_begins_when_one_ends() -> None:
    batch = _batch()
    _submit(batch, (1, 10), (1, 5), (1, 10))
    assert [each.rid for each in batch.admit(0)] == ["r0", "r1"]
    assert [each.rid for each in batch.waiting] == ["r2"]
    assert batch.finish(0.45) == []
    assert [each.rid for each in batch.finish(0.6)] == ["r1"]
    assert [each.rid for each in batch.admit(0.6)] == ["r2"]


def test_tokens_come_one_after_another() -> None:
    batch = _batch()
    _submit(batch, (1, 5), stream=True)
    batch.admit(0)
    seen = [made for moment in (0, 0.15, 0.16, 0.25, 0.35, 9) for _, made in batch.progress(moment)]
    assert seen == [1, 2, 3, 5]
    assert batch.made(0.25) == 2
    assert batch.used(0.25) == 3


def test_the_pool_is_never_promised_twice_and_one_request_always_runs() -> None:
    batch = _batch(granted=9, tokens=100)
    _submit(batch, (10, 50), (10, 50), (1, 500))
    assert [each.rid for each in batch.admit(0)] == ["r0"]
    assert [each.rid for each in batch.finish(6)] == ["r0"]
    assert [each.rid for each in batch.admit(6)] == ["r1"]
    batch.abort("r1")
    assert [each.rid for each in batch.admit(7)] == ["r2"]
    batch.abort("r2")
    _submit(batch, (10, 50))
    assert len(batch.admit(8)) == 1


def test_who_waits_can_leave() -> None:
    batch = _batch(granted=1)
    _submit(batch, (1, 5), (1, 5), (1, 5))
    batch.admit(0)
    batch.abort("r1")
    assert [each.rid for each in batch.waiting] == ["r2"]
