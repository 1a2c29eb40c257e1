"""nv/target is not found: CUDA's C++ core headers (CCCL) are missing from the compiler's search path

## What it finds
A toolkit whose include folders hold no `nv/target`, taken by something that brings no copy of its own.

## Why it matters
`cuda_fp16.h` and `cuda_bf16.h` include `nv/target`, so every kernel that touches half precision stops with
`fatal error: nv/target: No such file or directory`. `cub`, `thrust` and `cuda/std` come from the same package
(CCCL) and are missing with it. pip's `nvidia-cuda-nvcc` does not ask for that package.

## How it is found
The include folders of this toolkit's `nvcc.profile` are looked through in the compiler's order. FlashInfer
0.6.10 and later put a CCCL of their own before them; for those the toolkit's copy does not matter. Without
an nvcc.profile that can be read it is unknown where nvcc would look, and `toolkit.incomplete` says what is wrong.

## Remedy
Install the CCCL wheel of the compiler's release beside it, or let `sm120kit fix` compose a toolkit of links with one
whole CCCL. Do not copy single folders of another CCCL into `include`: mixed versions break every `cub` include.

## Sources
- NVIDIA/cccl#1571; NX-AI/xlstm#13; NVIDIA/cudnn-frontend#912
- nvidia-cuda-nvcc 13.0.88, 13.2.78, 13.5.37: METADATA has no requirement on nvidia-cuda-cccl
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    LogRemedy,
    NotApplicable,
    Repair,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.alternatives import source_of
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import cccl_package, compose_view

SIGNATURES = [
    Signature(
        pattern=r"fatal error: (?P<header>nv/target|cuda/std/[\w/.]+): No such file or directory",
        rank="cause",
        example="cuda_fp16.h:4492:10: fatal error: nv/target: No such file or directory",
        look_alike="main.cpp:1:10: fatal error: nv/targets.hpp: No such file or directory",
        source="nvcc 13.0.88 without nvidia-cuda-cccl, compiling flashinfer 0.6.7",
        versions="nvcc 12.x and 13.x; flashinfer <= 0.6.9, sglang JIT, tvm-ffi, torch extensions",
        message="{header}, a header of CCCL, is not beside the compiler that ran: the wheel of nvcc does not bring it",
        remedies=(
            LogRemedy("Let a toolkit of links be composed that holds one whole CCCL", ("sm120kit fix",)),
            LogRemedy(
                "Install the CCCL of the compiler's release, which nvcc --version tells (13.0 for example), "
                "where it came from",
                (
                    "python3 -m pip install 'nvidia-cuda-cccl==RELEASE.*'",
                    "conda install -c nvidia cuda-cccl=RELEASE",
                    "apt-get install cuda-cccl-13-0",
                ),
            ),
        ),
    ),
]


@check("toolkit.nv-target-missing")
def nv_target_missing(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for use in case.toolkits:
        if any(copy.has_nv_target for copy in use.toolkit.cccl_copies):
            continue
        without_own = [consumer for consumer in use.consumers if not consumer.uses_bundled_cccl_only]
        if use.consumers and not without_own and not use.named:
            continue
        if isinstance(use.toolkit.profile, Unknown):
            yield CannotTell(use.toolkit.home, f"where its nvcc searches is unknown: {use.toolkit.profile.reason}")
        else:
            yield _missing(case, use, [consumer.name for consumer in without_own])


def _missing(case: Case, use: Use, consumers: list[str]) -> Finding:
    toolkit = use.toolkit
    nvcc = toolkit.part("nvcc")
    evidence: list[Evidence] = [at("no nv/target", folder) for folder in toolkit.include_dirs]
    if nvcc:
        evidence.append(part_evidence(nvcc))
    who = f" (used by {', '.join(consumers)})" if consumers else ""
    return finding(
        use.limit(Severity.ERROR),
        toolkit.home,
        f"nv/target is not on the include path of {toolkit.home}{who}: kernels that use half precision, cub, "
        "thrust or cuda/std will not compile",
        evidence,
        [
            compose_view(toolkit, "Compose a toolkit of links beside it, with one whole CCCL"),
            Repair(
                f"Link one whole CCCL into {toolkit.home} itself; nothing there is replaced or removed",
                "add_missing_links",
                {"cuda_home": toolkit.home},
                needs_consent=True,
            ),
            cccl_package(source_of(case, toolkit), part_release(toolkit, "nvcc")),
        ],
    )
