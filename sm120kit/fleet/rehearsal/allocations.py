"""Memory of simulated GPUs: a folder with one file per allocation. It counts as long as the process that made it lives.

Nothing but the standard library is imported here, since every stand-in imports it at its start.
"""

from __future__ import annotations

import itertools
import json
import os

_NUMBERS = itertools.count()
_SUFFIX = ".allocation"


class OutOfMemoryError(Exception):
    """The GPU has not so much free. Sizes are bytes."""

    def __init__(self, wanted: int, free: int) -> None:
        super().__init__(f"{wanted} bytes wanted, {free} free")
        self.wanted = wanted
        self.free = free


def allocate(folder: str, gpu: str, size: int, *, total: int, leaked: bool = False) -> str:
    """Take ``size`` bytes of a GPU for this process; returns the path of the file that says so.

    ``leaked``: the allocation outlives the process, as memory does that a broken driver never gives back.

    Raises:
        OutOfMemoryError: the GPU's ``total`` has no room for it.
    """
    free = total - used(folder, gpu)
    if size > free:
        raise OutOfMemoryError(size, free)
    pid = os.getpid()
    path = os.path.join(folder, f"{gpu}.{pid}.{next(_NUMBERS)}{_SUFFIX}")
    record = {"gpu": gpu, "bytes": size, "pid": pid, "started": started(pid), "leaked": leaked}
    with open(f"{path}.part", "w", encoding="ascii") as file:  # noqa: PTH123  # pathlib costs a stand-in milliseconds
        json.dump(record, file)
    os.replace(f"{path}.part", path)
    return path


def release(path: str) -> None:
    """Give an allocation back."""
    os.unlink(path)


def used(folder: str, gpu: str) -> int:
    """Bytes of a GPU that are taken now."""
    return by_gpu(folder).get(gpu, 0)


def by_gpu(folder: str) -> dict[str, int]:
    """Bytes taken now, by the GPU's UUID; one of which nothing is taken may be absent."""
    found: dict[str, int] = {}
    for name in os.listdir(folder):
        if not name.endswith(_SUFFIX):
            continue
        try:
            with open(os.path.join(folder, name), encoding="ascii") as file:  # noqa: PTH123  # as above
                record = json.load(file)
        except (OSError, ValueError):  # released while the folder was listed
            continue
        if record["leaked"] or started(record["pid"]) == record["started"]:
            found[record["gpu"]] = found.get(record["gpu"], 0) + record["bytes"]
    return found


def started(pid: int) -> int:
    """When a living process was started, in clock ticks since boot; 0 = there is none of that number."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as above
            state, *fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(fields[18])
