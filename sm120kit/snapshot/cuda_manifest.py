"""What an installer wrote down about a CUDA tree: version.json of NVIDIA's own, file names in conda-meta of conda.

Such words are used only where a file cannot tell its release itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Known, Source
from sm120kit.snapshot.files import Files

_JSON_LIMIT = 256 << 10
_VERSION = pattern(r"\d{1,6}(\.\d{1,6}){1,5}", re.ASCII)

_COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "cuda_nvcc": ("nvcc", "nvcc.profile", "ptxas", "fatbinary", "cudafe++", "nvlink"),
    "libnvvm": ("cicc", "libdevice"),
    "cuda_crt": ("crt",),
    "cuda_cudart": ("runtime-headers", "driver-header", "libcudart", "libcudart-static", "libcudadevrt"),
    "cuda_nvrtc": ("nvrtc",),
}
"""version.json's keys. Where one is absent (no libnvvm and no cuda_crt before 13.0), cuda_nvcc holds its parts."""

_CONDA: Mapping[str, tuple[str, ...]] = {
    "cuda-nvcc-tools": _COMPONENTS["cuda_nvcc"],
    "cuda-nvvm-tools": _COMPONENTS["libnvvm"],
    "cuda-crt-dev": _COMPONENTS["cuda_crt"],
    "cuda-cudart-dev": ("runtime-headers", "driver-header", "libcudart-static", "libcudadevrt"),
    "cuda-cudart": ("libcudart",),
    "cuda-nvrtc": ("nvrtc",),
}
"""conda-forge's package names, up to the platform suffix that some of them carry (``cuda-crt-dev_linux-64``)."""


def read_manifest(files: Files, home: str, environment: str) -> dict[str, Known[str]]:
    """Versions by name of part; empty where there is no manifest or it cannot be read.

    ``environment`` is where a ``conda-meta`` may lie: ``home`` itself, or two folders above ``targets/…``.
    """
    return _version_json(files, home) or _conda_meta(files, environment)


def _version_json(files: Files, home: str) -> dict[str, Known[str]]:
    path = f"{home}/version.json"
    try:
        raw: Any = msgspec.json.decode(files.read(path, _JSON_LIMIT))
    except (OSError, msgspec.MsgspecError, RecursionError):
        return {}
    if not isinstance(raw, dict):
        return {}
    versions = {key: entry.get("version") for key, entry in raw.items() if isinstance(entry, dict)}
    found = {}
    for component, parts in _COMPONENTS.items():
        key = component if component in versions or component in ("cuda_cudart", "cuda_nvrtc") else "cuda_nvcc"
        version = versions.get(key)
        if isinstance(version, str) and _VERSION.fullmatch(version):
            found.update(dict.fromkeys(parts, Known(version, Source("file", path))))
    return found


def _conda_meta(files: Files, home: str) -> dict[str, Known[str]]:
    folder = f"{home}/conda-meta"
    try:
        names = files.names(folder)
    except OSError:
        return {}
    found = {}
    for name in names:
        if not name.startswith("cuda-") or name.count("-") < 3 or not name.endswith(".json"):
            continue
        package, version, _ = name.rsplit("-", 2)
        parts = _CONDA.get(package.partition("_")[0], ())
        if _VERSION.fullmatch(version):
            found.update(dict.fromkeys(parts, Known(version, Source("file", f"{folder}/{name}"))))
    return found
