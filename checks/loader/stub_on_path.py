"""The loader finds a stub of the driver's library before the driver's own

## What it finds
A libcuda.so.1 or libnvidia-ml.so.1 in a `stubs` folder that comes first on the loader's search path.

## Why it matters
Stubs are there to link against where no driver is. A program that loads one gets an error from every call:
CUDA_ERROR_STUB_LIBRARY (34), "CUDA driver is a stub library", or NVML's "Function Not Found". Image builds make a link
libcuda.so.1 in the stubs folder and put that folder on LD_LIBRARY_PATH so that an import works without a GPU; when
both stay in the image, the driver that the container toolkit mounts at start is never reached.

## How it is found
The search path is LD_LIBRARY_PATH, then /etc/ld.so.cache, then the default folders. Links are resolved. The name
libcuda.so alone, which linkers look for, does no harm. In an image the driver is not there yet: a stub on
LD_LIBRARY_PATH will come before it in any case, one that the cache names may.

## Remedy
Take the folder off the path, and the link libcuda.so.1 out of it. For the build alone, use LIBRARY_PATH, which the
linker reads and the loader does not.

## Sources
- cuda.h: CUDA_ERROR_STUB_LIBRARY
- NVIDIA/warp#219; fboulnois/stable-diffusion-docker#13; NVIDIA/nvidia-docker#508
"""

import posixpath
import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)

SIGNATURES = [
    Signature(
        pattern=r"CUDA driver is a stub library|CUDA_ERROR_STUB_LIBRARY",
        rank="cause",
        example="RuntimeError: CUDA driver error: CUDA driver is a stub library",
        look_alike="/usr/bin/ld: skipping incompatible /usr/local/cuda/lib64/stubs/libcuda.so when searching -lcuda",
        source="cuda.h (CUDA_ERROR_STUB_LIBRARY); NVIDIA/warp#219",
    ),
]


@check("loader.stub-on-path")
def stub_on_path(case: Case) -> Iterator[Finding | CannotTell]:
    driver = case.snapshot.driver
    if isinstance(driver.libcuda, Unknown):
        yield CannotTell("libcuda.so.1", driver.libcuda.reason)
        return
    found = list(zip(driver.libcuda_links, driver.libcuda.value, strict=False))[:1]
    if isinstance(driver.nvml_library, Known):
        found.append((driver.nvml_library.value, driver.nvml_library.value))
    if not found:
        raise NotApplicable("no library of a driver is on the loader's path")
    for link, real in found:
        if "stubs" in link.split("/") or "stubs" in real.split("/"):
            yield _stub(case, link, real)


def _stub(case: Case, link: str, real: str) -> Finding:
    folder, name = posixpath.split(link)
    first = folder.rstrip("/") in {each.rstrip("/") for each in case.snapshot.loader_dirs}
    live = case.snapshot.target.live
    where = "LD_LIBRARY_PATH" if first else "/etc/ld.so.cache and the default folders"
    comes = (
        "is what a program loads" if live else "comes before the driver's" if first else "may come before the driver's"
    )
    return finding(
        Severity.ERROR if first or live else Severity.WARNING,
        link,
        f"{link} is a stub, and {comes}: every call of CUDA through it fails",
        [at("found by the loader", where), *([at("leads to", real)] if real != link else [])],
        [_remedy(case, folder, first), Manual(f"Take {name} out of the folder", (f"rm {shlex.quote(link)}",))],
    )


def _remedy(case: Case, folder: str, first: bool) -> Manual:
    if not first:
        return Manual("Take the folder out of /etc/ld.so.conf.d and make the cache anew", ("ldconfig",))
    kept = ":".join(each for each in case.snapshot.loader_dirs if each.rstrip("/") != folder)
    command = f"export LD_LIBRARY_PATH={shlex.quote(kept)}" if kept else "unset LD_LIBRARY_PATH"
    return Manual("Take the folder off LD_LIBRARY_PATH; for linking alone, LIBRARY_PATH does", (command,))
