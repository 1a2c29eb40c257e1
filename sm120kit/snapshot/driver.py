"""The NVIDIA driver: its libraries on the loader's path, its kernel module, and what NVML answers in time."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from sm120kit.snapshot import nvml_child
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.runner import DidNotAnswer, RunFailure
from sm120kit.snapshot.types.machine import Driver, Gpu, GpuProcess, LostGpu

ANSWER_LIMIT_S = 5.0
"""Seconds NVML may take. A driver without persistence mode wakes every GPU first, about a second each."""

_MODULE = "/proc/driver/nvidia/version"
_NO_KERNEL = Unknown("an unpacked image has no kernel of its own")
_COUNT_SOURCE = Source("driver", "nvmlDeviceGetHandleByIndex")


class _Nvml(msgspec.Struct, frozen=True):
    """What the child tells, as facts."""

    version: Fact[str]
    cuda_version: Fact[str]
    gpus: Fact[tuple[Gpu, ...]]
    lost_gpus: tuple[LostGpu, ...] = ()


def read_driver(context: Context, loader: Loader, *, ask: bool, limit_s: float = ANSWER_LIMIT_S) -> Driver:
    """Read it. NVML is asked only on a live target, where its library is found, and if ``ask``."""
    libraries = loader.find_all("libnvidia-ml.so.1")
    nvml = _without_asking(context, libraries, ask) or _ask(context, libraries[0], limit_s)
    module_version, open_module = _module(context.files) if context.live else (_NO_KERNEL, _NO_KERNEL)
    links = loader.find_all("libcuda.so.1")
    return Driver(
        nvml_library=Known(libraries[0], Source("file", libraries[0]))
        if libraries
        else Unknown("no libnvidia-ml.so.1 on the loader's path"),
        version=nvml.version,
        cuda_version=nvml.cuda_version,
        module_version=module_version,
        open_module=open_module,
        gpus=nvml.gpus,
        lost_gpus=nvml.lost_gpus,
        libcuda=Known(tuple(_real(context.files, path) for path in links), Source("system", "loader search path")),
        libcuda_links=links,
        libcuda_cached=Known(loader.is_cached("libcuda.so.1"), Source("file", "/etc/ld.so.cache")),
    )


def _without_asking(context: Context, libraries: tuple[str, ...], ask: bool) -> _Nvml | None:
    if not context.live:
        return _unknown("an unpacked image has no driver of its own")
    if not ask:
        return _unknown("NVML was not asked: the hardware is named by --gpu")
    if not libraries:
        return _unknown("no libnvidia-ml.so.1 on the loader's path")
    return None


def _ask(context: Context, library: str, limit_s: float) -> _Nvml:
    from importlib.util import find_spec

    found = find_spec("pynvml")
    if found is None or found.origin is None:
        return _unknown("nvidia-ml-py, which asks NVML, is not installed beside sm120kit")
    script, folder = nvml_child.__file__, os.path.dirname(found.origin)
    command = [sys.executable, "-I", "-S", script, folder, library, str(os.getpid())]
    try:
        ran = context.run(command, limit_s=limit_s)
    except DidNotAnswer:
        return _unknown(
            f"NVML did not answer within {limit_s:g} s ({library}): the driver hangs, or wakes its GPUs more slowly "
            "than that; compare with nvidia-smi"
        )
    except RunFailure as failure:
        return _unknown(f"NVML could not be asked: {failure}")
    if ran.returncode < 0:
        return _unknown(f"{library} crashed when it was asked ({_signal(-ran.returncode)})")
    line = next((line for line in ran.stdout.splitlines() if line.startswith(nvml_child.MARK)), "")
    if not line:
        words = (ran.stderr.strip() or "it said nothing").splitlines()[-1][:300]
        return _unknown(f"{library} could not be asked: {words}")
    try:
        return _facts(msgspec.json.decode(line[len(nvml_child.MARK) :], type=dict[str, Any]))
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        return _unknown(f"{library} gave an answer that cannot be read: {error}")


def _facts(answer: Mapping[str, Any]) -> _Nvml:
    if "error" in answer:
        return _unknown(_explained(answer["error"]))
    entries = answer["gpus"]
    if isinstance(entries, dict):
        gpus: Fact[tuple[Gpu, ...]] = Unknown(_explained(entries["error"]))
        entries = []
    else:
        read = (_gpu(index, entry) for index, entry in enumerate(entries) if "error" not in entry)
        gpus = Known(tuple(read), _COUNT_SOURCE)
    return _Nvml(
        version=_value(answer["driver"], "nvmlSystemGetDriverVersion"),
        cuda_version=_cuda_release(answer["cuda"]),
        gpus=gpus,
        lost_gpus=tuple(LostGpu(index, entry["error"]) for index, entry in enumerate(entries) if "error" in entry),
    )


def _gpu(index: int, entry: Mapping[str, Any]) -> Gpu:
    memory = entry["memory"]
    total, free = (
        (Unknown(f"NVML gives no memory figure for this GPU: {memory['error']}"),) * 2
        if "error" in memory
        else (Known(int(memory[name]), Source("driver", "nvmlDeviceGetMemoryInfo")) for name in nvml_child.MEMORY)
    )
    return Gpu(
        index=index,
        name=entry["name"],
        uuid=entry["uuid"],
        compute_capability=entry["compute_capability"],
        memory_total=total,
        memory_free=free,
        mig_devices=tuple(entry["mig_devices"]),
        pci_bus_id=entry["pci_bus_id"],
        nvlinks=_value(entry["nvlinks"], "nvmlDeviceGetNvLinkState"),
        processes=tuple(GpuProcess(pid, memory) for pid, memory in entry["processes"]),
    )


def _value(value: Any, function: str) -> Fact[Any]:
    if isinstance(value, dict):
        return Unknown(_explained(value["error"]))
    return Known(value, Source("driver", function))


def _cuda_release(value: Any) -> Fact[str]:
    """NVML counts 1000 for a major and 10 for a minor release: 13000 is 13.0."""
    number = _value(value, "nvmlSystemGetCudaDriverVersion_v2")
    if isinstance(number, Unknown):
        return number
    return Known(f"{number.value // 1000}.{number.value % 1000 // 10}", number.source)


def _explained(error: str) -> str:
    """NVML's error with what nvidia-smi says about it, where that is how people know it."""
    meanings = {
        "NVML_ERROR_LIB_RM_VERSION_MISMATCH": "driver/library version mismatch: the loaded kernel module and the "
        "user-space libraries are of different driver versions",
        "NVML_ERROR_DRIVER_NOT_LOADED": "the NVIDIA kernel module is not loaded, or its device nodes are not here",
        "NVML_ERROR_NO_PERMISSION": "this user may not open the device nodes",
    }
    meaning = meanings.get(error.partition(":")[0])
    return f"{error} ({meaning})" if meaning else error


def kernel_module(version_text: str) -> tuple[Fact[str], Fact[bool]]:
    """Version of the kernel module by the text of /proc/driver/nvidia/version, and whether it is the open one."""
    line = next((line for line in version_text.splitlines() if line.startswith("NVRM version:")), "")
    match = re.search(r"\s(\d{3,}\.\d+(?:\.\d+)*)\s", line)
    if not match:
        nothing = Unknown(f"{_MODULE} names no version")
        return nothing, nothing
    source = Source("file", _MODULE, 1)
    return Known(match[1], source), Known("Open Kernel Module" in line, source)


def _module(files: Files) -> tuple[Fact[str], Fact[bool]]:
    try:
        return kernel_module(files.text(_MODULE, 1 << 16))
    except OSError as error:
        nothing = Unknown(f"{_MODULE}: {error.strerror}")
        return nothing, nothing


def _real(files: Files, path: str) -> str:
    try:
        return files.real(path)
    except OSError:
        return path


def _unknown(reason: str) -> _Nvml:
    return _Nvml(Unknown(reason), Unknown(reason), Unknown(reason))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
