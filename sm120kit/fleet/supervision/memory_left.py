"""Whether the GPUs hold, after the end, what they held before the launch."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuReader
from sm120kit.fleet.spec import Gpu

TOLERANCE = 256 << 20
"""Bytes: what others take and give back meanwhile. A context of CUDA alone holds more."""

_PAUSE_S = 0.25
_GIB = 1 << 30


def memory_left(gpus: Sequence[Gpu], reader: GpuReader, limit_s: float = 5.0) -> tuple[str, ...]:
    """A sentence for each GPU that holds more than before; waits for the driver to give the memory back."""
    limit = time.monotonic() + limit_s
    while True:
        try:
            memory = reader.read()
        except Sm120kitError as error:
            return (f"whether the memory was given back could not be read: {error.message}",)
        over = [(gpu, memory[gpu.uuid].used - gpu.memory_used) for gpu in gpus if gpu.uuid in memory]
        over = [(gpu, size) for gpu, size in over if size > TOLERANCE]
        if not over or time.monotonic() > limit:
            return tuple(
                f"GPU {gpu.index} ({gpu.uuid}) holds {size / _GIB:.1f} GiB more than before the launch, and no process "
                "of this fleet is left: see whose it is with nvidia-smi, on the host where this is a container"
                for gpu, size in over
            )
        time.sleep(_PAUSE_S)
