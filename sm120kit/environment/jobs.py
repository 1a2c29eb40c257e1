"""How many compilers may run at once. Each nvcc takes gigabytes, and ninja alone would start one per core."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.diagnosis import Case, Known, Unknown
from sm120kit.environment.types import How, Variable

_GIB = 1 << 30
_KEPT_FREE = 16
"""GiB, but at most a quarter of the memory."""
_PER_COMPILER = 8
"""GiB. flashinfer#3634, #3636 (5090, 61 GB, 16 cores: 4 jobs hold), #3899: 3 to 8 GiB per nvcc."""


def job_variables(case: Case) -> Iterator[Variable]:
    """MAX_JOBS and FLASHINFER_NVCC_THREADS, by the machine's memory and cores.

    By the whole memory, not by what is free now: the script outlives this moment, and a second run must write the
    same one.
    """
    host, environment = case.snapshot.host, case.snapshot.environment
    threads = environment.get("FLASHINFER_NVCC_THREADS", "")
    each = int(threads) if _positive(threads) else 1
    if isinstance(host.memory_total, Known) and isinstance(host.cpus, Known):
        shared = _shares_memory_with_gpu(case)
        gib = host.memory_total.value // _GIB
        share = gib // 2 if shared else gib
        free = min(_KEPT_FREE, share // 4)
        count = max(1, min(host.cpus.value, (share - free) // (_PER_COMPILER * each)))
        half = ", half of it left to the GPU, which shares it" if shared else ""
        yield Variable(
            "MAX_JOBS",
            _how(environment.get("MAX_JOBS", "")),
            f"{host.cpus.value} cores and {gib} GiB of memory{half}: {free} GiB are kept free, and each compiler "
            f"may take {_PER_COMPILER * each} GiB. Without a limit ninja starts one compiler per core, and the kernel "
            "kills them (exit code 137). A number that is there already is kept.",
            str(count),
        )
    if case.distribution("flashinfer-python"):
        yield Variable(
            "FLASHINFER_NVCC_THREADS",
            _how(threads),
            "One thread per nvcc, so that MAX_JOBS alone bounds the memory. A number that is there already is kept.",
            "1",
        )


def _how(current: str) -> How:
    """A number that someone has chosen is respected; anything else, ninja would refuse and torch overlook."""
    return "set-if-unset" if not current or _positive(current) else "set"


def _positive(value: str) -> bool:
    return value.isascii() and value.isdigit() and int(value) > 0


def _shares_memory_with_gpu(case: Case) -> bool:
    """GB10 and its like: NVML has no memory figures for a GPU that uses the system's memory."""
    gpus = case.snapshot.driver.gpus
    return isinstance(gpus, Known) and any(isinstance(gpu.memory_total, Unknown) for gpu in gpus.value)
