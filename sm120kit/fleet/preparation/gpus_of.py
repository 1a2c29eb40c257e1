"""The GPUs of a snapshot as a fleet sees them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.spec import Gpu
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.types.machine import Gpu as SnapshotGpu
from sm120kit.snapshot.types.snapshot import Snapshot


def gpus_of(snapshot: Snapshot) -> tuple[Gpu, ...]:
    """Every GPU that NVML can read, by its index; none where NVML is not there.

    Raises:
        Sm120kitError: one tells no memory; exit code 4.
    """
    known = snapshot.driver.gpus
    return () if isinstance(known, Unknown) else tuple(_gpu(each) for each in known.value)


def refuse_split(snapshot: Snapshot, chosen: Sequence[Gpu]) -> None:
    """Refuse GPUs that are split into MIG instances: what they have left as a whole is nothing.

    Raises:
        Sm120kitError: the first of them; exit code 2.
    """
    known = snapshot.driver.gpus
    split = {each.uuid for each in known.value if each.mig_devices} if isinstance(known, Known) else set()
    for gpu in chosen:
        if gpu.uuid in split:
            raise Sm120kitError(
                f"GPU {gpu.index} is split into MIG instances, and servers are started on whole GPUs",
                hint="Name the others with --gpus",
            )


def _gpu(gpu: SnapshotGpu) -> Gpu:
    total, free = gpu.memory_total, gpu.memory_free
    if not isinstance(total, Known) or not isinstance(free, Known):
        unknown = total if isinstance(total, Unknown) else free
        reason = unknown.reason if isinstance(unknown, Unknown) else ""
        raise Sm120kitError(
            f"GPU {gpu.index} ({gpu.name}) does not tell its memory: {reason}",
            hint="See what is wrong with it: sm120kit doctor --only 'gpu.*' --only 'driver.*'",
            exit_code=TARGET_UNREADABLE,
        )
    return Gpu(gpu.uuid, gpu.index, gpu.name, gpu.compute_capability, total.value, max(total.value - free.value, 0))
