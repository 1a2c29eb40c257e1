"""A CUDA compatibility library comes before the driver's own, on a GPU that it is not made for

## What it finds
A loader path on which the first `libcuda.so.1` lies in a `compat` folder, on a GPU that forward compatibility does not
cover.

## Why it matters
The `cuda-compat` packages let data-centre GPUs run newer CUDA on an older driver. On GeForce and workstation GPUs the
same library refuses: `Error 804: forward compatibility was attempted on non supported HW`. Images bring it in
/usr/local/cuda/compat, and LD_LIBRARY_PATH puts it first.

## How it is found
The loader's path is followed for libcuda.so.1. GPUs are judged by NVML's names and a table. NVIDIA names data-centre
GPUs and some RTX cards sold for servers: for the latter, and for GPUs the table does not know, it cannot be told. It
does not apply where hardware is named by `--gpu`, nor to an unpacked image.

## Remedy
Take the compat folder off the path; if the driver is then too old for the installed CUDA, update the driver.

## Sources
- docs.nvidia.com/deploy/cuda-compatibility, forward compatibility: which systems it applies to
- microsoft/onnxruntime#21435, gpustack/gpustack#1254, NVIDIA/nvidia-docker#1515
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Signature,
    Unknown,
    at,
    check,
    error,
    fact_evidence,
)
from sm120kit.diagnosis.drivers import require_own_machine
from sm120kit.diagnosis.gpus import model_by_product
from sm120kit.snapshot.types.machine import Gpu

SIGNATURES = [
    Signature(
        pattern=r"forward compatibility was attempted on non supported HW|cudaErrorCompatNotSupportedOnDevice",
        rank="cause",
        example="Error 804: forward compatibility was attempted on non supported HW",
        look_alike="Error 802: system not yet initialized",
        source="microsoft/onnxruntime#21435; gpustack/gpustack#1254",
    ),
]


@check("driver.compat-library")
def compat_library(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    driver = case.snapshot.driver
    resolved = driver.libcuda.value if isinstance(driver.libcuda, Known) else ()
    first = [*driver.libcuda_links[:1], *resolved[:1]]
    if not first:
        raise NotApplicable("no libcuda.so.1 is on the loader's path")
    library = next((path for path in first if "compat" in path.split("/")), "")
    if not library:
        return
    if isinstance(driver.gpus, Unknown):
        yield CannotTell(library, f"it comes before the driver's own, and the GPUs are not known: {driver.gpus.reason}")
        return
    refused = [gpu for gpu in driver.gpus.value if _is_covered(gpu) is False]
    unknown = [gpu for gpu in driver.gpus.value if _is_covered(gpu) is None]
    if refused:
        names = " and ".join(dict.fromkeys(gpu.name for gpu in refused))
        yield error(
            library,
            f"{library} comes before the driver's own library, and forward compatibility does not cover {names}: CUDA "
            "will not start (error 804)",
            [
                at("first libcuda.so.1 on the loader's path", library),
                fact_evidence("kernel module", driver.module_version),
                *(at(name, "LD_LIBRARY_PATH") for name in _folder_on_path(case, library)),
                *(at(gpu.name, "nvmlDeviceGetName") for gpu in refused[:1]),
            ],
            [_remedy(case, library)],
        )
    elif unknown:
        yield CannotTell(library, f"whether forward compatibility covers {unknown[0].name} is not known")


def _is_covered(gpu: Gpu) -> bool | None:
    """Whether forward compatibility covers this GPU; ``None`` where that is not known."""
    model = model_by_product(gpu.name)
    if model and model.board == "data-centre":
        return True
    if "GeForce" in gpu.name or (model and model.board == "workstation"):
        return False
    return None


def _folder_on_path(case: Case, library: str) -> list[str]:
    return [folder for folder in case.snapshot.loader_dirs if library.startswith(f"{folder.rstrip('/')}/")]


def _remedy(case: Case, library: str) -> Manual:
    folders = _folder_on_path(case, library)
    if not folders:
        return Manual(
            "Take the compat folder out of the loader's configuration and rebuild its cache",
            (f"grep -rn {shlex.quote(library.rpartition('/')[0])} /etc/ld.so.conf.d", "ldconfig"),
        )
    kept = ":".join(folder for folder in case.snapshot.loader_dirs if folder not in folders)
    return Manual(
        "Take the compat folder off LD_LIBRARY_PATH",
        (f"export LD_LIBRARY_PATH={shlex.quote(kept)}" if kept else "unset LD_LIBRARY_PATH",),
    )
