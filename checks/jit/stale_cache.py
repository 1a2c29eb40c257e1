"""Kernels in a JIT's cache were built before the compiler changed, and will be taken as they are

## What it finds
Modules of FlashInfer and tvm-ffi that are older than the compiler they were built through, or than the link that now
leads to another toolkit, a toolkit of links of `sm120kit fix` included.

## Why it matters
FlashInfer names its cache by its own version and the architecture, tvm-ffi by source and flags: neither by the
compiler. Both let ninja decide, which compares times of source and header files. Headers that are older than the module
pass, so after a switch to another toolkit, or back to an older one, modules of the former one stay: undefined symbols,
or code of a compiler that was meant to be gone.

## How it is found
Each module's build.ninja tells through which CUDA home it was built. A module counts where the compiler behind that
path, or a link on the way to it, is newer than the module, and the toolkit's headers are not: with newer headers ninja
builds it anew by itself. Modules built through other paths are no concern of this one.

## Remedy
Move the cache aside; it is built anew, which takes minutes for each module.

## Sources
- flashinfer-python 0.6.7.post2 and 0.7.2.post1: jit/env.py, jit/core.py, jit/cpp_ext.py; flashinfer-ai/flashinfer#4490
- apache-tvm-ffi 0.1.11 cpp/extension.py
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, NotApplicable, Unknown, at, check, warning
from sm120kit.snapshot.types.jit import BuiltModules


@check("jit.stale-cache")
def stale_cache(case: Case) -> Iterator[Finding | CannotTell]:
    built = case.snapshot.built_modules
    if not built:
        raise NotApplicable("no cache of FlashInfer or tvm-ffi holds a built module")
    for each in built:
        if isinstance(each.compiler, Unknown):
            continue  # the toolkit is gone: ninja will not find its headers and says so
        if each.older_count:
            yield _stale(case, each, each.compiler.value)


def _stale(case: Case, built: BuiltModules, compiler: str) -> Finding:
    view = case.snapshot.live_view
    of_view = isinstance(view, Known) and built.cuda_home in (view.value.current, view.value.path)
    through = f"the toolkit of links {built.cuda_home}" if of_view else built.cuda_home
    named = ", ".join(built.older) + (", …" if built.older_count > len(built.older) else "")
    return warning(
        built.folder,
        f"{built.older_count} of {built.count} modules of {built.consumer} in {built.folder} were built through "
        f"{through} before the compiler there changed, and will be taken as they are",
        [at("changed since", compiler), at(f"built before: {named}", built.folder)],
        [
            Manual(
                "Move the cache aside and let it be built anew",
                (f"mv {shlex.quote(built.folder)} {shlex.quote(built.folder + '.old')}",),
            )
        ],
    )
