"""Where compiled kernels are kept: the caches of JITs, the variables that move them, and the disks they lie on."""

from __future__ import annotations

import posixpath
from typing import Literal

import msgspec

from sm120kit.diagnosis.case import Case
from sm120kit.snapshot.types.machine import Mount


class KernelCache(msgspec.Struct, frozen=True):
    """A cache: its variable, who must be installed for it to matter, where it lies when the variable is unset."""

    variable: str
    distribution: str
    below: Literal["home", "xdg", "temporary"]
    default: str
    folder: str
    """Name of its folder below a common one."""


KERNEL_CACHES = (
    # FlashInfer appends .cache/flashinfer itself, so this is the base.
    KernelCache("FLASHINFER_WORKSPACE_BASE", "flashinfer-python", "home", "", "flashinfer"),
    KernelCache("TRITON_CACHE_DIR", "triton", "home", ".triton/cache", "triton"),
    KernelCache("TORCHINDUCTOR_CACHE_DIR", "torch", "temporary", "", "inductor"),
    KernelCache("TORCH_EXTENSIONS_DIR", "torch", "xdg", "torch_extensions", "torch_extensions"),
    KernelCache("TVM_FFI_CACHE_DIR", "apache-tvm-ffi", "home", ".cache/tvm-ffi", "tvm-ffi"),
    KernelCache("SGLANG_CACHE_DIR", "sglang", "home", ".cache/sglang", "sglang"),
    KernelCache("SGLANG_JIT_CACHE_DIR", "sglang", "home", ".cache/sglang/jit", "sglang/jit"),
    KernelCache("SGLANG_DG_CACHE_DIR", "sglang", "home", ".cache/deep_gemm", "deep_gemm"),
    KernelCache("DG_JIT_CACHE_DIR", "deep-gemm", "home", ".deep_gemm", "deep_gemm"),
    KernelCache("CUDA_CACHE_PATH", "torch", "home", ".nv/ComputeCache", "nv"),
)


def default_folder(case: Case, cache: KernelCache) -> str:
    """Where a cache lies while its variable is not set; empty where the home folder is not known."""
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


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The network or fuse mount that a path lies on, by name; ``None`` for a local disk."""
    below = (mount for mount in mounts if path and f"{path}/".startswith(f"{mount.path.rstrip('/')}/"))
    return max(below, key=lambda mount: len(mount.path), default=None)
