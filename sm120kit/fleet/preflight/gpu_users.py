"""Whose memory it is that a GPU holds, where that can be told."""

from __future__ import annotations

from pathlib import Path

from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.machine import GpuProcess
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.text import visible

_GIB = 1 << 30


def users_of(uuid: str, snapshot: Snapshot) -> tuple[str, ...]:
    """A phrase for each process that NVML tells of, with its name where that is one of this machine."""
    known = snapshot.driver.gpus
    gpu = next((each for each in known.value if each.uuid == uuid), None) if isinstance(known, Known) else None
    container = snapshot.host.container
    ours = isinstance(container, Known) and container.value == "none"
    return tuple(_words(process, ours=ours) for process in gpu.processes) if gpu else ()


def _words(process: GpuProcess, *, ours: bool) -> str:
    """In a container a number is the host's, and who has it here is somebody else."""
    size = f" holds {process.memory / _GIB:.2f} GiB" if process.memory else ""
    if not ours:
        return f"process {process.pid} of the host{size}"
    try:
        name = Path(f"/proc/{process.pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return f"process {process.pid}, which is gone,{size}"
    return f"process {process.pid} ({visible(name)}){size}"
