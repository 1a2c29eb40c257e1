"""As many compilers as cores would run at once, and the memory does not suffice for them: the kernel kills the build

## What it finds
A machine or container with little memory for its number of cores, where something compiles at run time and MAX_JOBS
sets no limit.

## Why it matters
ninja starts one compiler per core and two more. Each nvcc takes 3 to 8 GiB, and one of FlashInfer's fused MoE modules
has 85 files. The kernel ends a compiler (`FAILED: [code=137]`), or the whole server; on a machine whose GPU shares the
memory everything stands still.

## How it is found
Available memory, by the tightest control group, is divided by the number of jobs, times FLASHINFER_NVCC_THREADS. Below
4 GiB for each it warns: 61 GiB and 16 cores are known to fail. FlashInfer reads MAX_JOBS only where it is a plain
number.

## Remedy
Export MAX_JOBS, one for every 8 GiB that are free.

## Sources
- flashinfer-ai/flashinfer#3634, #3636 (RTX 5090, 61 GB, 16 cores: MAX_JOBS=4 holds), #3899, #3078; flash-attention#1549
- flashinfer-python 0.7.2.post1 jit/cpp_ext.py: _get_num_workers
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Signature,
    Unknown,
    at,
    check,
    warning,
)
from sm120kit.diagnosis.serving import builders, listed

SIGNATURES = [
    Signature(
        pattern=r"FAILED: \[code=137\]|nvcc error\s*: '\w+' died due to signal 9"
        r"|Killed signal terminated program cc1plus",
        rank="cause",
        example="FAILED: [code=137] fused_moe_120.cuda.o",
        look_alike="FAILED: [code=2] silu_and_mul.cuda.o",
        source="flashinfer-ai/flashinfer#3634, #3636",
    ),
]

_GIB = 1 << 30
_EXTRA_JOBS = 2
"""ninja runs the number of cores and two more (ninja, util.cc and ninja.cc: GuessParallelism)."""
_TOO_LITTLE = 4
_ENOUGH = 8
"""GiB for one compiler: with less than the first it is known to fail, with the second it is known to hold."""


@check("jit.memory-exhaustion")
def memory_exhaustion(case: Case) -> Iterator[Finding | CannotTell]:
    compiling = [each.name for each in builders(case)]
    if not compiling:
        raise NotApplicable("nothing installed must compile at run time")
    environment, host = case.snapshot.environment, case.snapshot.host
    limit = environment.get("MAX_JOBS", "")
    if limit.isdigit():
        return
    if isinstance(host.memory_available, Unknown) or isinstance(host.cpus, Unknown):
        yield CannotTell("MAX_JOBS", "memory and cores of the machine that will compile are not known")
        return
    threads = environment.get("FLASHINFER_NVCC_THREADS", "")
    each = int(threads) if threads.isdigit() and int(threads) > 0 else 1
    share = host.memory_available.value
    jobs = host.cpus.value + _EXTRA_JOBS
    if share >= jobs * each * _TOO_LITTLE * _GIB:
        return
    holds = max(1, share // (_ENOUGH * each * _GIB))
    yield warning(
        "MAX_JOBS",
        f"{listed(compiling)} would run {jobs} compilers at once with {share // _GIB} GiB of "
        f"memory: each takes 3 to 8 GiB, and the kernel will end some of them",
        [
            at(f"{share // _GIB} GiB available", host.memory_available.source.where),
            at(f"{host.cpus.value} cores", host.cpus.source.where),
            at(f"MAX_JOBS={limit}, which is no number" if limit else "MAX_JOBS is not set", "environment"),
        ],
        [Manual("Limit the number of compilers", (f"export MAX_JOBS={holds} FLASHINFER_NVCC_THREADS=1",))],
    )
