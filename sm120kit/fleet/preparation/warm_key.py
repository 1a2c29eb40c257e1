"""The name of what JIT caches depend on. Pure, but for the model's config.json, whose text it is given."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.snapshot import Snapshot

_PACKAGES = ("sglang", "sglang-kernel", "flashinfer-python", "flashinfer-jit-cache", "flashinfer-cubin", "torch",
             "triton", "apache-tvm-ffi", "nvidia-cutlass-dsl", "tilelang")  # fmt: skip
"""What compiles kernels, or brings their sources."""

_NOT_ABOUT_KERNELS = frozenset({
    "model_path", "served_model_name", "host", "port", "nccl_port", "random_seed", "api_key", "admin_api_key",
    "log_level", "log_level_http", "log_requests", "log_requests_level", "enable_metrics", "reasoning_parser",
    "tool_call_parser", "chat_template", "tokenizer_path", "tokenizer_mode", "watchdog_timeout",
    "soft_watchdog_timeout", "ssl_keyfile", "ssl_certfile", "ssl_keyfile_password", "ssl_ca_certs", "trust_remote_code",
    "decode_log_interval", "show_time_cost", "download_dir", "load_format", "model_loader_extra_config",
    "preferred_sampling_params", "sampling_defaults", "skip_server_warmup", "warmups", "stream_interval",
})  # fmt: skip
"""Settings that no kernel is chosen by. Any other counts: a leader too many costs its loading time, one too few makes
eight servers compile the same thing at once."""

_VARIABLES = ("CUDA_HOME", "FLASHINFER_WORKSPACE_BASE", "FLASHINFER_CUDA_ARCH_LIST", "TORCH_CUDA_ARCH_LIST",
              "SGLANG_CACHE_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME", "HOME")  # fmt: skip
"""Where the caches lie, and what they are built with."""


def warm_key(
    snapshot: Snapshot,
    line: LaunchLine,
    *,
    compute_capabilities: tuple[str, ...],
    model_config: bytes,
    environment: Mapping[str, str],
) -> str:
    """32 hexadecimal digits; empty for servers that compile nothing, since they run on the CPU.

    ``model_config``: text of the model's config.json, else its name. Secrets do not enter.
    """
    if line.text("device") == "cpu":
        return ""
    known = snapshot.distributions
    versions = {each.name: each.version for each in known.value} if isinstance(known, Known) else {}
    driver = snapshot.driver.version
    parts = {
        "versions": {name: versions[name] for name in _PACKAGES if name in versions},
        "sglang": line.version,
        "driver": driver.value if isinstance(driver, Known) else "",
        "compute_capabilities": sorted(set(compute_capabilities)),
        "model": sha256(model_config).hexdigest(),
        "settings": {name: value for name, value in sorted(line.given.items()) if name not in _NOT_ABOUT_KERNELS},
        "variables": {name: environment[name] for name in _VARIABLES if name in environment},
    }
    return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:32]
