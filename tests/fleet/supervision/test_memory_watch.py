"""Memory is shown while servers load, and nobody is asked when none does."""

from __future__ import annotations

import asyncio

from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.spec import FleetSpec, Gpu, ReplicaSpec
from sm120kit.fleet.state import folder_of, make_folder
from sm120kit.fleet.supervision.board import Board
from sm120kit.fleet.supervision.memory_watch import watch_memory
from sm120kit.fleet.types import SCHEMA, Fleet, Replica

GIB = 1 << 30


class Counting:
    """Answers more each time."""

    def __init__(self) -> None:
        self.asked = 0

    def read(self) -> dict[str, GpuMemory]:
        self.asked += 1
        return {f"GPU-{number}": GpuMemory(self.asked * GIB, 96 * GIB) for number in range(2)}


def test_memory_of_loading_servers_is_followed_and_that_of_others_left_alone() -> None:
    gpus = [Gpu(f"GPU-{number}", number, "RTX", "12.0", 96 * GIB) for number in range(2)]
    spec = FleetSpec("test", "m", tuple(ReplicaSpec(n, 1, 2, (gpus[n],)) for n in range(2)), "0.5.23", "python")
    replicas = tuple(Replica(n, f"GPU-{n}", 1, None, "waiting", None, None, None) for n in range(2))

    async def run() -> None:
        folder = folder_of("test")
        make_folder(folder)
        board = Board(folder, Fleet(SCHEMA, "0", "test", "quick", False, False, 0, replicas))
        reader = Counting()
        watching = asyncio.ensure_future(watch_memory(spec, board, reader, pause_s=0.01))
        await asyncio.sleep(0.1)
        assert reader.asked == 0
        board.change(0, state="loading")
        while (board.replica(0).memory_used or 0) < 3 * GIB:
            await asyncio.sleep(0.01)
        assert board.replica(1).memory_used is None
        board.change(0, state="verified")
        await asyncio.sleep(0.1)
        asked = reader.asked
        await asyncio.sleep(0.1)
        assert reader.asked == asked
        watching.cancel()

    asyncio.run(asyncio.wait_for(run(), 10))
