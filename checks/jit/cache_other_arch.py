"""Kernels were built ahead for another GPU than the one they are meant for

## What it finds
A cache of FlashInfer with built modules, none of them for the GPU that is here or was named.

## Why it matters
FlashInfer keeps its modules by architecture. An image whose build filled the cache on or for another GPU carries them
for nothing: every container of it compiles its kernels anew at the first request, minutes each, and needs a compiler
to do so.

## How it is found
The cache's folders are named after the architectures that their modules were built for (`90a`, `120f`). Numbers are
compared with the compute capability. Other caches are left out: tvm-ffi's and Triton's names do not tell an
architecture.

## Remedy
Fill the cache for the GPU it is meant for: FlashInfer compiles for what FLASHINFER_CUDA_ARCH_LIST names, without a GPU.

## Sources
- flashinfer-python 0.6.7.post2 and 0.7.2.post1: jit/env.py (the folder's name), compilation_context.py
"""

import re
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Severity,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.snapshot.types.jit import BuiltModules


@check("jit.cache-other-arch")
def cache_other_arch(case: Case) -> Iterator[Finding | CannotTell]:
    built = [each for each in case.snapshot.built_modules if each.consumer == "flashinfer" and _architectures(each)]
    if not built:
        raise NotApplicable("no cache of FlashInfer holds a built module")
    wanted = case.compute_capabilities
    if isinstance(wanted, Unknown):
        yield CannotTell(built[0].folder, f"which GPU it is meant for is not known: {wanted.reason}")
        return
    there = {number for each in built for number in _architectures(each)}
    missing = [each for each in wanted.value if each.replace(".", "") not in there]
    if missing:
        yield _for_others(case, built, missing)


def _architectures(built: BuiltModules) -> list[str]:
    """``["90", "120"]`` of ``…/0.7.2/90a_120f/cached_ops``."""
    match = re.search(r"/((?:\d{2,3}[af]?)(?:_\d{2,3}[af]?)*)/cached_ops$", built.folder)
    return re.findall(r"\d{2,3}", match[1]) if match else []


def _for_others(case: Case, built: list[BuiltModules], missing: list[str]) -> Finding:
    count = sum(each.count for each in built)
    names = " and ".join(missing)
    return finding(
        Severity.NOTE if case.snapshot.target.live else Severity.WARNING,
        built[0].folder,
        f"{count} modules of FlashInfer were built ahead, none for compute capability {names}: they will be compiled "
        "anew when the first request needs them",
        [at(f"{each.count} modules for {', '.join(_architectures(each))}", each.folder) for each in built],
        [
            Manual(
                "Fill the cache for the GPU it is meant for, with the variables that this prints",
                tuple(f"sm120kit env --gpu {each}" for each in missing),
            )
        ],
    )
