"""libcuda.so.1 is here and Triton will not find it: it asks ldconfig and LD_LIBRARY_PATH alone

## What it finds
A driver library that the loader finds in a default folder, while the loader's cache does not list it and
LD_LIBRARY_PATH does not name its folder.

## Why it matters
CUDA itself works. Triton looks for libcuda.so.1 in the output of `/sbin/ldconfig -p`, then in LD_LIBRARY_PATH, and
stops with "libcuda.so cannot found!". Container runtimes mount the driver's libraries after the image's cache was made,
and where nothing runs ldconfig the cache stays as it was.

## How it is found
The loader's search path is followed, and /etc/ld.so.cache is read. TRITON_LIBCUDA_PATH ends Triton's search, so with it
nothing is said. It is an error where an engine is installed, which runs Triton's kernels; else a warning. No
libcuda.so.1 at all is the matter of `driver.unreachable`.

## Remedy
Run ldconfig in the container as root, or name the folder by TRITON_LIBCUDA_PATH.

## Sources
- triton 3.8.0 backends/nvidia/driver.py: libcuda_dirs
- Project-HAMi/HAMi#975; huggingface/text-generation-inference#1330; pytorch/pytorch#107960
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.drivers import require_own_machine
from sm120kit.diagnosis.serving import consumer, engine

SIGNATURES = [
    Signature(
        pattern=r"libcuda\.so cannot found!",
        rank="cause",
        example="AssertionError: libcuda.so cannot found!",
        look_alike="OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
        source="triton 3.8.0 backends/nvidia/driver.py; Project-HAMi/HAMi#975",
    ),
]

_VARIABLE = "TRITON_LIBCUDA_PATH"


@check("loader.libcuda-unfindable", needs="triton")
def libcuda_unfindable(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    triton, driver = consumer(case, "triton"), case.snapshot.driver
    if triton is None:
        return
    if not driver.libcuda_links:
        raise NotApplicable("no libcuda.so.1 is on the loader's path")
    if case.snapshot.environment.get(_VARIABLE):
        return
    if isinstance(driver.libcuda_cached, Unknown):
        yield CannotTell("libcuda.so.1", driver.libcuda_cached.reason)
        return
    path = driver.libcuda_links[0]
    folders = [folder.rstrip("/") for folder in case.snapshot.loader_dirs]
    if driver.libcuda_cached.value or any(each.rpartition("/")[0] in folders for each in driver.libcuda_links):
        return
    serves = engine(case)
    need = f"{serves.name} runs its kernels" if serves else "torch.compile needs it"
    yield finding(
        Severity.ERROR if serves else Severity.WARNING,
        path,
        f"Triton will not find {path}: the loader's cache does not list it, and LD_LIBRARY_PATH does not name its "
        f"folder; {need}",
        [
            at("there, in a default folder of the loader", path),
            at("does not list libcuda.so.1", driver.libcuda_cached.source.where),
            at(f"LD_LIBRARY_PATH={':'.join(folders)}", "LD_LIBRARY_PATH"),
        ],
        [
            Manual("Bring the loader's cache up to date, as root", ("ldconfig",)),
            Manual("Tell Triton", (f"export {_VARIABLE}={shlex.quote(path.rpartition('/')[0])}",)),
        ],
    )
