"""Kernel caches that were built through a toolkit that is being replaced.

FlashInfer keys its cache by version and architecture alone, and tvm-ffi by source and flags: both go on using
objects of the former compiler after a switch, since the path they were built through stays the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice

_DEEPEST = 6
_MOST = 20_000
"""Folders looked into before the search gives up: a cache of one machine has some hundreds."""


def caches_built_through(cuda_home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Folders of built modules whose build.ninja names ``cuda_home``, sorted."""
    needles = (f"cuda_home = {cuda_home}\n".encode(), f"{cuda_home}/bin/nvcc".encode())
    found = []
    for folder in _roots(environment):
        for path in _build_files(folder):
            try:
                with open(path, "rb") as file:  # noqa: PTH123
                    content = file.read(1 << 20)
            except OSError:
                continue
            if any(needle in content for needle in needles):
                found.append(os.path.dirname(path))
    return tuple(sorted(found))


def _roots(environment: Mapping[str, str]) -> tuple[str, ...]:
    home = environment.get("HOME", "") or os.path.expanduser("~")
    workspace = environment.get("FLASHINFER_WORKSPACE_BASE") or home
    cache = environment.get("XDG_CACHE_HOME") or f"{home}/.cache"
    tvm = environment.get("TVM_FFI_CACHE_DIR") or f"{cache}/tvm-ffi"
    return f"{workspace}/.cache/flashinfer", tvm, f"{home}/.cache/tvm-ffi"


def _build_files(folder: str) -> Iterator[str]:
    for here, folders, names in islice(os.walk(folder), _MOST):
        if here.removeprefix(folder).count("/") >= _DEEPEST:
            folders.clear()
        if "build.ninja" in names:
            yield f"{here}/build.ninja"
