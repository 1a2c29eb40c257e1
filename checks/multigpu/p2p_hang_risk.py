"""GPUs on PCI cannot reach each other directly, and NCCL may hang in its first exchange

## What it finds
Several GPUs without NVLink, behind an IOMMU that translates their traffic or bridges whose Access Control Services send
it up to the root.

## Why it matters
NCCL and SGLang's own all-reduce write from one GPU straight into another's memory. With translation or redirection in
between, the data does not arrive: both ranks report `Init COMPLETE`, the first all_reduce never returns, and the GPUs
show 100 % without traffic. `nvidia-smi topo -p2p r` says OK on such machines, so it clears nothing.

## How it is found
The type of each GPU's IOMMU group (`DMA`, `DMA-FQ`; `identity` is free of translation) and the control register of
Access Control Services of every bridge above it are read from /sys; the latter only root may read. NVML tells whether
NVLink is up, and a table which models have none. Where NCCL_P2P_DISABLE is set, the direct way is not taken. One GPU
per server never takes it either, so without a launch line this is a note.

## Remedy
Start the server with NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce, which costs speed; or let the firmware and the
kernel pass GPU traffic through (iommu=pt, Access Control Services off).

## Sources
- NVIDIA/nccl#2079; local-inference-lab/rtx6kpro#15; local-inference-lab/vllm#262; gardenlinux/gardenlinux#4556
- PCI Express base specification: Access Control Services; kernel documentation of /sys/kernel/iommu_groups
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Remedy,
    Severity,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.drivers import require_own_machine
from sm120kit.snapshot.types.machine import PciPath

_SUBJECT = "GPUs on PCI"
_TRANSLATING = ("DMA", "DMA-FQ")


@check("multigpu.p2p-hang-risk")
def p2p_hang_risk(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    gpus = case.snapshot.driver.gpus
    count = len(gpus.value) if isinstance(gpus, Known) else 0
    if count < 2:
        raise NotApplicable("fewer than two GPUs are known here")
    if isinstance(gpus, Known) and any(isinstance(each.nvlinks, Known) and each.nvlinks.value for each in gpus.value):
        raise NotApplicable("the GPUs are joined by NVLink")
    line = case.request.launch
    if line and line.tp_size < 2:
        raise NotApplicable("the launch line asks for one GPU")
    if case.snapshot.environment.get("NCCL_P2P_DISABLE") == "1":
        return
    paths = case.snapshot.host.pci_paths
    if not paths:
        yield CannotTell(_SUBJECT, "how the GPUs are joined on PCI cannot be seen here")
        return
    reasons = [evidence for path in paths for evidence in _reasons(path)]
    if reasons:
        yield _risk(count, reasons, Severity.WARNING if line else Severity.NOTE)
        return
    unknown = [each.reason for path in paths for each in (path.iommu, path.redirecting) if isinstance(each, Unknown)]
    if unknown:
        yield CannotTell(_SUBJECT, unknown[0])


def _reasons(path: PciPath) -> Iterator[Evidence]:
    if isinstance(path.iommu, Known) and path.iommu.value in _TRANSLATING:
        yield at(f"GPU {path.address}: IOMMU group of type {path.iommu.value}", path.iommu.source.where)
    if isinstance(path.redirecting, Known) and path.redirecting.value:
        bridges = ", ".join(path.redirecting.value)
        yield at(f"GPU {path.address}: Access Control Services redirect at {bridges}", path.redirecting.source.where)


def _risk(count: int, reasons: list[Evidence], severity: Severity) -> Finding:
    remedies: list[Remedy] = [
        Manual(
            "For a server over several of them, turn the direct way off (slower)",
            ("export NCCL_P2P_DISABLE=1", "python -m sglang.launch_server --disable-custom-all-reduce …"),
        ),
        Manual(
            "Let their traffic pass: add iommu=pt to the kernel's command line and turn Access Control Services off "
            "in the firmware setup; both need a reboot"
        ),
    ]
    return finding(
        severity,
        _SUBJECT,
        f"{count} GPUs without NVLink reach each other through address translation or redirecting bridges: a server "
        "over several of them may hang in its first exchange, whatever nvidia-smi topo says",
        reasons[:8],
        remedies,
    )
