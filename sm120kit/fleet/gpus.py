"""The memory of the GPUs, as NVML or a simulation of it tells."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Protocol

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
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


class NvmlReader:
    """Asks NVML in a child that can be ended, as the doctor does."""

    def __init__(self, environment: Mapping[str, str] | None = None, limit_s: float = 5.0) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._limit_s = limit_s

    def read(self) -> dict[str, GpuMemory]:
        """By UUID; a GPU whose memory NVML does not tell is left out."""
        from sm120kit.snapshot.context import Context
        from sm120kit.snapshot.driver import read_driver
        from sm120kit.snapshot.facts import Known, Unknown
        from sm120kit.snapshot.files import Files
        from sm120kit.snapshot.loader import Loader
        from sm120kit.snapshot.types.snapshot import Target

        target = Target("interpreter", sys.executable, "the GPUs of this machine")
        context = Context(Files(""), self._environment, (), live=True, target=target)
        driver = read_driver(context, Loader.of(context), ask=True, limit_s=self._limit_s)
        if isinstance(driver.gpus, Unknown):
            raise Sm120kitError(
                f"the GPUs' memory cannot be read: {driver.gpus.reason}",
                hint="See what is wrong with the driver: sm120kit doctor --only 'driver.*'",
                exit_code=TARGET_UNREADABLE,
            )
        return {
            gpu.uuid: GpuMemory(gpu.memory_total.value - gpu.memory_free.value, gpu.memory_total.value)
            for gpu in driver.gpus.value
            if isinstance(gpu.memory_total, Known) and isinstance(gpu.memory_free, Known)
        }
