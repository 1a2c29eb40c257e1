"""Compiled kernels are kept on a network file system, where locks do not hold and files vanish under the reader

## What it finds
A cache of FlashInfer, Triton, torch, tvm-ffi, SGLang or DeepGEMM that lies on NFS or another network mount.

## Why it matters
Several processes build and load the same files at the same moment. Over NFS this ends in `OSError: [Errno 116] Stale
file handle`, in a half-written module, or in a wait without end, and each start takes long.

## How it is found
Every cache's folder, as its variable names it or as it lies by default, is compared with the mount table. Nothing on
the mount is touched. File systems that only come from the host of a virtual machine (9p, virtiofs) and fuse mounts are
a note.

## Remedy
Name a folder on a local disk by the variable; `sm120kit env` prints them all.

## Sources
- flashinfer-ai/flashinfer#3777, #993
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
    at,
    check,
    finding,
)
from sm120kit.diagnosis.kernel_caches import KERNEL_CACHES, default_folder, mount_of

SIGNATURES = [
    Signature(
        pattern=r"\[Errno 116\] Stale file handle",
        rank="cause",
        example="OSError: [Errno 116] Stale file handle: '/home/me/.cache/flashinfer/0.6.18/120f/cached_ops'",
        look_alike="OSError: [Errno 16] Device or resource busy: '.nfs000000000a1b2c3d'",
        source="flashinfer-ai/flashinfer#3777",
    ),
]

_OF_HOST = ("9p", "virtiofs")


@check("jit.cache-on-network-disk")
def cache_on_network_disk(case: Case) -> Iterator[Finding | CannotTell]:
    caches = [each for each in KERNEL_CACHES if case.distribution(each.distribution)]
    if not caches:
        raise NotApplicable("nothing that keeps compiled kernels is installed")
    environment, mounts = case.snapshot.environment, case.snapshot.host.slow_mounts
    for cache in caches:
        folder = environment.get(cache.variable) or default_folder(case, cache)
        mount = mount_of(folder, mounts)
        if not folder:
            yield CannotTell(cache.variable, "the home folder of the target is not known")
        elif mount:
            mild = mount.file_system in _OF_HOST or mount.file_system.startswith("fuse")
            local = f"/var/tmp/{cache.folder}"
            yield finding(
                Severity.NOTE if mild else Severity.WARNING,
                cache.variable,
                f"{cache.distribution} keeps kernels in {folder}, on {mount.path} ({mount.file_system}): locks "
                "do not hold there, and several processes at once get in each other's way",
                [at(f"{mount.file_system} mount", mount.path), at(f"{cache.variable} leads to {folder}", folder)],
                [Manual("Keep them on a local disk", (f"export {cache.variable}={shlex.quote(local)}",))],
            )
