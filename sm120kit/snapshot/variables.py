"""Which environment variables a snapshot keeps: those that steer compilers, loaders and engines, never a secret."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.patterns import pattern

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

_SECRET_NAME = pattern("KEY|TOKEN|SECRET|PASS|PWD|AUTH|CRED|COOKIE|SIGN|PRIVATE|BEARER|CERT|WEBHOOK|DSN")
_URL_LOGIN = pattern(r"(?<=://)[^/\s]*@")
_URL_SECRET = pattern(r"(?i)(?<=[?&])([^=&\s]*(?:key|token|secret|passw|auth|sig|cred)[^=&\s]*=)[^&\s]*")
_FLAG_SECRET = pattern(r"(?i)(--?[a-z0-9-]*(?:api-key|token|secret|password)[a-z0-9-]*[= ]\s*)\S+")
_LOOKS_SECRET = pattern(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|nvapi-[\w-]{16,}"
    r"|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
REDACTED = "[redacted]"


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that matter, by allow-list, sorted; logins in URLs and whatever looks like a token replaced."""
    return {name: redacted(environment[name]) for name in sorted(environment) if _is_kept(name)}


def redacted(value: str) -> str:
    """``value`` without logins in URLs and without what looks like a token."""
    value = _URL_LOGIN.sub(f"{REDACTED}@", value)
    value = _URL_SECRET.sub(rf"\1{REDACTED}", value)
    value = _FLAG_SECRET.sub(rf"\1{REDACTED}", value)
    return _LOOKS_SECRET.sub(REDACTED, value)


def _is_kept(name: str) -> bool:
    if name in KEPT:
        return True
    return name.startswith(KEPT_PREFIXES) and not _SECRET_NAME.search(name.upper())
