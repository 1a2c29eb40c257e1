"""Which environment variables a snapshot keeps: those that steer compilers, loaders and engines, never a secret."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.redaction import redacted_paths

KEPT = frozenset(
    {
        "CC", "COMPILER_PATH", "CONDA_BUILD_SYSROOT", "CONDA_PREFIX", "CPATH", "CPLUS_INCLUDE_PATH", "CXX",
        "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "MAX_JOBS",
        "PATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONPATH", "PYTHONUSERBASE", "TMPDIR", "VIRTUAL_ENV",
        "XDG_CACHE_HOME", "XDG_DATA_HOME",
    }
)  # fmt: skip
KEPT_PREFIXES = (
    "CUDA", "CUDNN_", "DG_", "FLASHINFER_", "NCCL_", "NVCC_", "NVIDIA_", "PYTORCH_", "SGLANG_", "SGL_",
    "TORCHINDUCTOR_", "TORCH_", "TRITON_", "TVM_",
)  # fmt: skip

_SECRET_WORDS = (
    "KEY", "TOKEN", "SECRET", "PASS", "PWD", "AUTH", "CRED", "COOKIE", "SIGN", "PRIVATE", "BEARER", "CERT", "WEBHOOK",
    "DSN",
)  # fmt: skip


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that matter, by allow-list, sorted; logins in URLs and whatever looks like a token replaced."""
    return {name: redacted_paths(environment[name]) for name in sorted(environment) if _is_kept(name)}


def _is_kept(name: str) -> bool:
    if name in KEPT:
        return True
    return name.startswith(KEPT_PREFIXES) and not any(word in name.upper() for word in _SECRET_WORDS)
