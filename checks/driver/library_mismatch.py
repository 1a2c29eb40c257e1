"""The driver's libraries and the loaded kernel module are of different versions

## What it finds
A `libcuda.so` file whose version is not that of the loaded kernel module, or NVML saying so itself.

## Why it matters
Kernel module and user-space libraries speak a private protocol and must be of one version to the last digit.
Otherwise nothing starts: "Failed to initialize NVML: Driver/library version mismatch". It happens when packages were
updated and the old module is still loaded, and in containers with a driver of their own after the host's was updated.

## How it is found
/proc/driver/nvidia/version tells the module's version; the name of the file behind the first libcuda.so.1 on the
loader's path tells the library's. A library of a compatibility package (a `compat` folder) is meant to differ and is
left to driver.compat-library. It does not apply where hardware is named by `--gpu`, nor to an unpacked image.

## Remedy
On a host, load the new module: reboot, or unload the old one while nothing uses it. In an LXC container, install
exactly the host's version there. Other containers get it from the host when they are started anew.

## Sources
- nvml.h: NVML_ERROR_LIB_RM_VERSION_MISMATCH
- tinygrad/open-gpu-kernel-modules#47, NVIDIA/nvidia-container-toolkit#394
"""

import re
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Signature,
    Unknown,
    at,
    check,
    error,
    fact_evidence,
)
from sm120kit.diagnosis.drivers import SUBJECT, VERSION_MISMATCH, nvml_error, require_own_machine

SIGNATURES = [
    Signature(
        pattern=r"[Dd]river/library version mismatch|API mismatch: the client has the version",
        rank="cause",
        example="Failed to initialize NVML: Driver/library version mismatch",
        look_alike="Failed to initialize NVML: Unknown Error",
        source="NVIDIA/nvidia-container-toolkit#394; tinygrad/open-gpu-kernel-modules#47",
    ),
    Signature(
        pattern=r"system has unsupported display driver / cuda driver combination|cudaErrorSystemDriverMismatch",
        rank="cause",
        example="RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before "
        "calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported "
        "display driver "
        "/ cuda driver combination",
        look_alike="Error 804: forward compatibility was attempted on non supported HW",
        source="llm-d/llm-d#706; NVIDIA/nvidia-docker#1256; CUDA runtime: cudaErrorSystemDriverMismatch",
        message="The libcuda.so.1 that is loaded and the kernel module of the driver are of different versions",
        remedies=(
            LogRemedy(
                "Compare the two; after an update of the driver, reboot, and start containers anew",
                ("cat /proc/driver/nvidia/version", "ldconfig -p | grep libcuda.so.1"),
            ),
            LogRemedy(
                "In a container: take the image's own libcuda (/usr/local/cuda/compat) off LD_LIBRARY_PATH",
                ("printenv LD_LIBRARY_PATH",),
            ),
        ),
    ),
]


@check("driver.library-mismatch")
def library_mismatch(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    driver = case.snapshot.driver
    library = _first_library(case)
    if nvml_error(case) == VERSION_MISMATCH and isinstance(driver.gpus, Unknown):
        evidence = [at(driver.gpus.reason, "nvmlInit"), fact_evidence("kernel module", driver.module_version)]
        yield _mismatch(case, [*evidence, *([at("first libcuda.so.1", library)] if library else [])])
        return
    if isinstance(driver.module_version, Unknown) and not library:
        raise NotApplicable("neither a kernel module nor a driver library is here")
    if isinstance(driver.module_version, Unknown):
        yield CannotTell(SUBJECT, f"the kernel module's version is not known: {driver.module_version.reason}")
        return
    version = _version_of(library)
    if not version:
        yield CannotTell(SUBJECT, f"{library} does not tell its version" if library else "no libcuda.so.1 is here")
    elif version != driver.module_version.value and "compat" not in library.split("/"):
        module = fact_evidence("kernel module", driver.module_version)
        yield _mismatch(case, [module, at(f"driver library {version}", library)])


def _first_library(case: Case) -> str:
    found = case.snapshot.driver.libcuda
    return found.value[0] if isinstance(found, Known) and found.value else ""


def _version_of(library: str) -> str:
    match = re.search(r"libcuda\.so\.(\d{3,}\.\d+(?:\.\d+)*)$", library)
    return match[1] if match else ""


def _mismatch(case: Case, evidence: list[Evidence]) -> Finding:
    return error(
        SUBJECT,
        "the driver's libraries and the loaded kernel module are of different versions: CUDA will not start",
        evidence,
        [_remedy(case)],
    )


def _remedy(case: Case) -> Manual:
    kind = case.snapshot.host.container
    module = case.snapshot.driver.module_version
    version = module.value if isinstance(module, Known) else "the kernel module's version"
    if isinstance(kind, Known) and kind.value == "lxc":
        text = f"Install exactly {version} in the container, without a kernel module"
        return Manual(text, (f"sh NVIDIA-Linux-x86_64-{version}.run --no-kernel-modules",))
    if isinstance(kind, Known) and kind.value in ("docker", "podman", "kubernetes"):
        return Manual(
            "Start the container anew, so that it gets the host's libraries; an image must not bring its own driver. "
            "If the host says the same, its new module is not loaded yet: reboot it"
        )
    return Manual("Load the module that belongs to the libraries: reboot, or unload the old one", ("reboot",))
