"""Asks NVML, in a process of its own: ``python -I -S nvml_child.py PYNVML_FOLDER LIBRARY PARENT``.

NVML can hang or crash with a sick driver, and only a process can be ended. The answer is one line of JSON behind
:data:`MARK`. Nothing of sm120kit is imported, and what only the child needs only there.
"""

from __future__ import annotations

import os
import sys
from typing import Any

MARK = "sm120kit.nvml/1 "
MEMORY = ("total", "free")

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""


def ask(nvml: Any) -> dict[str, object]:
    """Driver and GPUs, each value as itself or as ``{"error": name and words of NVML's error}``."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return _named(nvml, error)
    answer: dict[str, object] = {
        "driver": _try(nvml, nvml.nvmlSystemGetDriverVersion),
        "cuda": _try(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2),
        "gpus": [],
    }
    count = _try(nvml, nvml.nvmlDeviceGetCount)
    answer["gpus"] = [_gpu(nvml, index) for index in range(count)] if isinstance(count, int) else count
    return answer


def _gpu(nvml: Any, index: int) -> dict[str, object]:
    try:
        device = nvml.nvmlDeviceGetHandleByIndex(index)
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(device)
        gpu: dict[str, object] = {
            "name": nvml.nvmlDeviceGetName(device),
            "uuid": nvml.nvmlDeviceGetUUID(device),
            "compute_capability": f"{major}.{minor}",
        }
    except nvml.NVMLError as error:
        return _named(nvml, error)
    memory = _try(nvml, nvml.nvmlDeviceGetMemoryInfo, device)
    pci = _try(nvml, nvml.nvmlDeviceGetPciInfo, device)
    gpu["memory"] = memory if isinstance(memory, dict) else {name: getattr(memory, name) for name in MEMORY}
    gpu["pci_bus_id"] = "" if isinstance(pci, dict) else _text(pci.busId)
    gpu["mig_devices"] = _mig_devices(nvml, device)
    gpu["nvlinks"] = _nvlinks(nvml, device)
    gpu["processes"] = _processes(nvml, device)
    return gpu


def _processes(nvml: Any, device: Any) -> list[tuple[int, int]]:
    """Number of each process that computes there, and its bytes (0 = not told). None where NVML does not tell."""
    try:
        found = nvml.nvmlDeviceGetComputeRunningProcesses(device)
    except Exception:  # with a driver that is too old for the call the bindings raise something that is no NVMLError
        return []
    return [(each.pid, each.usedGpuMemory or 0) for each in found]


def _nvlinks(nvml: Any, device: Any) -> Any:
    """How many NVLink connections are up; 0 where NVML says that this GPU has none."""
    up = 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        state = _try(nvml, nvml.nvmlDeviceGetNvLinkState, device, link)
        if isinstance(state, dict):
            absent = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_INVALID_ARGUMENT")
            return up if link or str(state["error"]).startswith(absent) else state
        up += state == nvml.NVML_FEATURE_ENABLED
    return up


def _mig_devices(nvml: Any, device: Any) -> list[str]:
    mode = _try(nvml, nvml.nvmlDeviceGetMigMode, device)
    if isinstance(mode, dict) or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return []
    most = _try(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, device)
    found = []
    for index in range(most if isinstance(most, int) else 0):
        instance = _try(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, device, index)
        if not isinstance(instance, dict):
            uuid = _try(nvml, nvml.nvmlDeviceGetUUID, instance)
            found.append(uuid if isinstance(uuid, str) else f"MIG device {index}")
    return found


def _try(nvml: Any, function: Any, *arguments: Any) -> Any:
    try:
        answer = function(*arguments)
    except nvml.NVMLError as error:
        return _named(nvml, error)
    return _text(answer) if isinstance(answer, bytes) else answer


def _named(nvml: Any, error: Any) -> dict[str, object]:
    names = [name for name in dir(nvml) if name.startswith("NVML_ERROR_") and getattr(nvml, name) == error.value]
    return {"error": f"{names[0] if names else f'NVML error {error.value}'}: {error}"}


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _main(folder: str, library: str, parent: str) -> None:
    import ctypes
    import json
    import signal

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a hang must not outlive whoever asked
    if os.getppid() != int(parent):
        return
    sys.path.append(folder)
    import pynvml

    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    os.write(1, f"\n{MARK}{json.dumps(ask(pynvml))}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
