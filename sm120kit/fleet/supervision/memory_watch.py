"""Shows how the memory of the GPUs fills while servers load."""

from __future__ import annotations

import asyncio
import contextlib

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuReader
from sm120kit.fleet.spec import FleetSpec
from sm120kit.fleet.supervision.board import Board

PAUSE_S = 2.0
"""NVML is asked in a process of its own, which takes a tenth of a second of a core."""


async def watch_memory(spec: FleetSpec, board: Board, reader: GpuReader, pause_s: float = PAUSE_S) -> None:
    """Put on the board what the GPUs of loading servers hold, until cancelled. Those that run are left alone: their
    memory was judged, and asking for it again and again would wake GPUs that sleep."""
    while True:
        await asyncio.sleep(pause_s)
        if not _loading(board):
            continue
        with contextlib.suppress(Sm120kitError):  # the verification will say it
            memory = await asyncio.to_thread(reader.read)
            for index in _loading(board):
                gpus = spec.replica(index).gpus
                if gpus and all(gpu.uuid in memory for gpu in gpus):
                    board.change(index, memory_used=sum(memory[gpu.uuid].used for gpu in gpus))


def _loading(board: Board) -> list[int]:
    return [each.index for each in board.fleet.replicas if each.state == "loading"]
