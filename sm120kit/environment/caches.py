"""Caches of compiled kernels: moved to a local disk where they would lie on a network or fuse mount.

Locks do not hold there, and files vanish under the reader (``Stale file handle``): flashinfer#3777, #993.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sm120kit.diagnosis import Case
from sm120kit.environment.types import KEPT, Variable
from sm120kit.snapshot.types import Mount

_LOCAL = "/var/tmp"


@dataclass(frozen=True)
class _Cache:
    """A cache: its variable, who must be installed for it to matter, where it lies when the variable is unset."""

    variable: str
    distribution: str
    below: Literal["home", "xdg", "temporary"]
    default: str
    folder: str
    """Name of its folder below the local one."""


_CACHES = (
    # FlashInfer appends .cache/flashinfer itself, so this is the base.
    _Cache("FLASHINFER_WORKSPACE_BASE", "flashinfer-python", "home", "", "flashinfer"),
    _Cache("TRITON_CACHE_DIR", "triton", "home", ".triton/cache", "triton"),
    _Cache("TORCHINDUCTOR_CACHE_DIR", "torch", "temporary", "", "inductor"),
    _Cache("TORCH_EXTENSIONS_DIR", "torch", "xdg", "torch_extensions", "torch_extensions"),
    _Cache("TVM_FFI_CACHE_DIR", "apache-tvm-ffi", "home", ".cache/tvm-ffi", "tvm-ffi"),
    _Cache("SGLANG_CACHE_DIR", "sglang", "home", ".cache/sglang", "sglang"),
    _Cache("SGLANG_JIT_CACHE_DIR", "sglang", "home", ".cache/sglang/jit", "sglang/jit"),
    _Cache("SGLANG_DG_CACHE_DIR", "sglang", "home", ".cache/deep_gemm", "deep_gemm"),
    _Cache("DG_JIT_CACHE_DIR", "deep-gemm", "home", ".deep_gemm", "deep_gemm"),
    _Cache("CUDA_CACHE_PATH", "torch", "home", ".nv/ComputeCache", "nv"),
)


def cache_variables(case: Case) -> Iterator[Variable]:
    """The variables of those caches that lie on a slow mount unless told otherwise."""
    mounts, environment = case.snapshot.host.slow_mounts, case.snapshot.environment
    local = _local_folder(case)
    for cache in _CACHES:
        default = _default(case, cache)
        slow = _mount_of(default, mounts)
        if slow is None or not local or case.distribution(cache.distribution) is None:
            continue
        own, current = posixpath.join(local, cache.folder), environment.get(cache.variable, "")
        reason = (
            f"{default} lies on {slow.path} ({slow.file_system}), where locks do not hold and files vanish under the "
            f"reader. On a machine shared with others, make {local} yours alone first: mkdir -m 700 {local}."
        )
        if current in ("", own) or _mount_of(current, mounts):
            yield Variable(cache.variable, "set", reason, own)
        else:
            yield Variable(cache.variable, "set-if-unset", f"{reason} {KEPT}", own)


def _default(case: Case, cache: _Cache) -> str:
    environment = case.snapshot.environment
    home = environment.get("HOME", "")
    if cache.below == "temporary":
        # torch itself uses the temporary folder; SGLang redirects it below its own cache.
        if case.distribution("sglang"):
            return home and posixpath.join(home, ".cache/sglang")
        return environment.get("TMPDIR") or "/tmp"
    if cache.below == "xdg":
        base = environment.get("XDG_CACHE_HOME") or (home and posixpath.join(home, ".cache"))
        return base and posixpath.join(base, cache.default)
    return home and posixpath.join(home, cache.default).rstrip("/")


def _local_folder(case: Case) -> str:
    """A folder of this user's on a disk of this machine; empty where even that lies on a slow mount."""
    environment, mounts = case.snapshot.environment, case.snapshot.host.slow_mounts
    xdg = environment.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/") and not _mount_of(xdg, mounts):
        return posixpath.join(xdg, "sm120kit")
    user = re.sub(r"[^\w.-]", "_", posixpath.basename(environment.get("HOME", "").rstrip("/"))) or "user"
    folder = f"{_LOCAL}/sm120kit-{user}"
    return "" if _mount_of(folder, mounts) else folder


def _mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    below = (mount for mount in mounts if path and f"{path}/".startswith(f"{mount.path.rstrip('/')}/"))
    return max(below, key=lambda mount: len(mount.path), default=None)
