"""The driver is older than the CUDA that is installed, or than the GPU

## What it finds
A driver whose branch is older than torch's CUDA major or a toolkit's CUDA major needs, or than the first that knows
the GPUs. 13.x needs 580 or newer, 12.x needs 525 or newer; Blackwell GPUs need 570.

## Why it matters
CUDA refuses to start: "The NVIDIA driver on your system is too old". What an nvcc of too new a major compiles ends
with cudaErrorInsufficientDriver when it is loaded. It often comes with an upgrade: newer SGLang pulls a torch built
for CUDA 13.

## How it is found
Minor releases of one CUDA major run on the same driver, so majors are compared. The driver's version is the one given
by `--driver`, else NVML's, else the kernel module's. A forward compatibility package counts: where NVML says that the
driver serves the CUDA release needed, all is well. With `--gpu` it applies only where `--driver` is given too.

## Remedy
A newer driver on the host, or a torch (and toolkit) built for the CUDA major that the driver serves.

## Sources
- docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility
- pytorch/pytorch#162531
- checks/tables/drivers.toml
"""

from collections.abc import Iterator

import msgspec

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Release,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    fact_evidence,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.drivers import SUBJECT, driver_number, oldest_driver
from sm120kit.diagnosis.gpus import gpu_models
from sm120kit.diagnosis.releases import part_release

SIGNATURES = [
    Signature(
        pattern=r"The NVIDIA driver on your system is too old \(found version \d+\)"
        r"|CUDA driver version is insufficient for CUDA runtime version|unsatisfied condition: cuda>=",
        rank="cause",
        example="RuntimeError: The NVIDIA driver on your system is too old (found version 12080). Please update your "
        "GPU driver by downloading and installing a new version",
        look_alike="WARNING: driver version 580.95.05 found",
        source="pytorch/pytorch#162531; NVIDIA/nvidia-container-toolkit#152",
    ),
]


@check("driver.too-old")
def too_old(case: Case) -> Iterator[Finding | CannotTell]:
    if case.hardware_named and not case.request.driver:
        raise NotApplicable("hardware is named by --gpu and no driver by --driver")
    needs = list(_needs(case))
    if not needs:
        raise NotApplicable("nothing installed or named asks for a driver")
    version = case.driver_version
    if isinstance(version, Unknown):
        yield CannotTell(SUBJECT, f"the driver's version is not known: {version.reason}")
        return
    number = driver_number(version.value)
    if not number:
        yield CannotTell(SUBJECT, f"{version.value!r} is no driver version")
        return
    served = None if case.request.driver else Release.of(case.snapshot.driver.cuda_version)
    unmet = [need for need in needs if number < driver_number(need.minimum) and not _serves(served, need.release)]
    if unmet:
        yield _too_old(version, unmet)


class _Need(msgspec.Struct, frozen=True):
    """Something that asks for a driver."""

    severity: Severity
    what: str
    minimum: str
    release: Release | None
    """The CUDA release it was built for; ``None`` for a GPU."""
    evidence: list[Evidence]


def _needs(case: Case) -> Iterator[_Need]:
    torch = case.snapshot.torch
    if isinstance(torch, Known) and torch.value.cuda:
        what = f"torch {torch.value.version} (CUDA {torch.value.cuda})"
        yield from _need_of(Severity.ERROR, what, Release.parse(torch.value.cuda), [at(what, torch.value.path)])
    for use in case.toolkits:
        nvcc, release = use.toolkit.part("nvcc"), part_release(use.toolkit, "nvcc")
        if nvcc and release:
            what = f"{use.toolkit.home} (CUDA {release})"
            yield from _need_of(use.limit(Severity.ERROR), what, release, [part_evidence(nvcc)])
    if case.request.driver and case.request.gpus:
        named = {gpu.name for gpu in case.request.gpus}
        families = {row.family: row for row in gpu_models() if row.name in named}
        for family, model in families.items():
            row = oldest_driver(family=family)
            if row:
                needs = at(f"{family} GPUs need driver {row.minimum} or newer", row.source)
                yield _Need(Severity.ERROR, model.product, row.minimum, None, [needs])


def _need_of(severity: Severity, what: str, release: Release | None, evidence: list[Evidence]) -> Iterator[_Need]:
    row = oldest_driver(cuda=str(release.major)) if release else None
    if row is not None:
        needs = at(f"CUDA {row.cuda}.x needs driver {row.minimum} or newer", row.source)
        yield _Need(severity, what, row.minimum, release, [*evidence, needs])


def _serves(served: Release | None, needed: Release | None) -> bool:
    """Whether NVML says that this driver, or a compatibility package before it, serves that CUDA major."""
    return served is not None and needed is not None and served.major >= needed.major


def _too_old(version: Known[str], unmet: list[_Need]) -> Finding:
    worst = max((need.severity for need in unmet), key=lambda each: each.rank)
    minimum = max((need.minimum for need in unmet), key=driver_number)
    evidence: list[Evidence] = [fact_evidence("driver", version)]
    for need in unmet:
        evidence += need.evidence
    what = " and ".join(need.what for need in unmet)
    remedies = [Manual(f"Install driver {minimum} or newer on the host, with the open kernel module")]
    if any("CUDA 13" in need.what for need in unmet) and driver_number(version.value) >= driver_number("525"):
        text = "Keep the driver and take a torch built for CUDA 12.8, with an SGLang that belongs to it (up to 0.5.10)"
        remedies.append(Manual(text, ("pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu128",)))
    return finding(
        worst,
        SUBJECT,
        f"driver {version.value} is too old for {what}: {minimum} or newer is needed",
        evidence,
        remedies,
    )
