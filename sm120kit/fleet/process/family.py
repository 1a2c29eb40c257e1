"""A process and all that it started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.types import ProcessId


def family(root: ProcessId) -> tuple[ProcessId, ...]:
    """``root`` and its living descendants, as far as their parents still live; empty when it does not run."""
    if not alive(root):
        return ()
    found = [root]
    for pid in _descendants(root.pid):
        process = identify(pid)
        if process is not None:
            found.append(process)
    return tuple(found)


def _descendants(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from _descendants(child)


def children(pid: int) -> tuple[int, ...]:
    """Numbers of the processes whose parent this one is, from every of its threads."""
    found: list[int] = []
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return ()
    for task in tasks:
        with suppress(OSError):
            found += [int(each) for each in (task / "children").read_text("ascii").split()]
    return tuple(found)
