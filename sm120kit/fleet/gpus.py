"""The memory of the GPUs, as NVML or a simulation of it tells."""

from __future__ import annotations

from typing import Protocol

from sm120kit.fleet.types import Struct


class GpuMemory(Struct, frozen=True):
    """One GPU's memory, in bytes."""

    used: int
    total: int


class GpuReader(Protocol):
    """Reads them, as often as it is asked."""

    def read(self) -> dict[str, GpuMemory]:
        """By UUID. May take a second; never hangs.

        Raises:
            Sm120kitError: they cannot be read.
        """
