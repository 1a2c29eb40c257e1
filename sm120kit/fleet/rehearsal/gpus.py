"""Simulated GPUs: named as ``--gpu`` names them, and read as NVML would be."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sm120kit.capacity.machine import TAKEN_BY_DRIVER
from sm120kit.diagnosis.gpus import gpu_models
from sm120kit.diagnosis.hardware import parse_gpus
from sm120kit.errors import OWN_FAULT, Sm120kitError
from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.rehearsal import allocations
from sm120kit.fleet.spec import Gpu

_LIST = "gpus.json"


def simulated_gpus(text: str) -> tuple[Gpu, ...]:
    """The GPUs that ``rtx-pro-6000x8`` or ``rtx-pro-6000x4,b200`` name. Nobody uses them, and the driver has its part:
    what is left for a server is what a plan for the same cards counts with.

    Their UUIDs and names say that they are simulated.

    Raises:
        Sm120kitError: an unknown name, or one whose memory is not known.
    """
    models = {row.name: row for row in gpu_models()}
    found: list[Gpu] = []
    for named in parse_gpus(text):
        if not named.memory_total:
            raise Sm120kitError(
                f"--gpu {text}: the memory of {named.name!r} is not known",
                hint="A rehearsal needs GPUs by name, as in: --gpu rtx-pro-6000x8",
            )
        for _ in range(named.count):
            index = len(found)
            found.append(
                Gpu(
                    uuid=f"GPU-rehearsal-{index}",
                    index=index,
                    name=f"{models[named.name].product} (rehearsal)",
                    compute_capability=named.compute_capability,
                    memory_total=named.memory_total,
                    memory_used=TAKEN_BY_DRIVER,
                )
            )
    return tuple(found)


def lay_out(folder: Path, gpus: tuple[Gpu, ...]) -> None:
    """Make the folder that stands for the driver of these GPUs. What is allocated there already stays."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = folder / f"{_LIST}.part"
    part.write_bytes(msgspec.json.encode(gpus))
    part.replace(folder / _LIST)


class SimulatedGpus:
    """Reads a folder that :func:`lay_out` made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> dict[str, GpuMemory]:
        """Used and total bytes by UUID.

        Raises:
            Sm120kitError: the folder is none of ours.
        """
        try:
            gpus = msgspec.json.decode((self.folder / _LIST).read_bytes(), type=tuple[Gpu, ...])
            taken = allocations.by_gpu(str(self.folder))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Sm120kitError(
                f"the simulated GPUs in {self.folder} cannot be read: {error}", exit_code=OWN_FAULT
            ) from error
        return {gpu.uuid: GpuMemory(gpu.memory_used + taken.get(gpu.uuid, 0), gpu.memory_total) for gpu in gpus}
