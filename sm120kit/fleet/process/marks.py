"""Processes of a fleet, found by the mark that each carries in its environment, or by the session it belongs to."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.types import ProcessId

VARIABLE = "SM120KIT_FLEET"
"""Environment variable that holds the mark."""

KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}
"""Without it setproctitle, which SGLang names its processes with, writes over the place where /proc shows the mark."""

_CALM_SCANS = 2
"""So many looks in a row must find nothing: a process may start another one between two of them."""


def marked(mark: str) -> tuple[ProcessId, ...]:
    """All living processes that carry the mark and that this user may look at; none for an empty mark, which would be
    that of everybody's processes."""
    return all_marks().get(mark, ())


def in_session(leader: int) -> tuple[ProcessId, ...]:
    """All living processes of the session that this process began."""
    found = []
    for pid in _all_pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader:
                process = identify(pid)
                if process is not None:
                    found.append(process)
    return tuple(found)


def kill(process: ProcessId, number: int = signal.SIGKILL) -> None:
    """Send a signal to that very process, if it still runs."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(process.pid)
        try:
            if alive(process):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def sweep(mark: str, limit_s: float = 20.0) -> tuple[ProcessId, ...]:
    """End everything that carries the mark, and what it starts meanwhile. Returns what is still there at the end."""
    limit = time.monotonic() + limit_s
    calm = 0
    left: tuple[ProcessId, ...] = ()
    while calm < _CALM_SCANS and time.monotonic() < limit:
        left = marked(mark)
        for process in left:
            kill(process)
        calm = 0 if left else calm + 1
        time.sleep(0.02)
    return left


def all_marks() -> dict[str, tuple[ProcessId, ...]]:
    """Every mark that a living process of this user carries, with its processes."""
    found: dict[str, list[ProcessId]] = {}
    for pid in _all_pids():
        mark = mark_of(pid)
        if mark and (process := identify(pid)):
            found.setdefault(mark, []).append(process)
    return {mark: tuple(processes) for mark, processes in found.items()}


def own_processes() -> Iterator[ProcessId]:
    """All living processes of this user that count as we do, but this one."""
    for pid in _all_pids():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == os.geteuid() and _counts_as_we_do(pid):
                process = identify(pid)
                if process is not None:
                    yield process


def mark_of(pid: int) -> str:
    """The mark that a process carries; empty where it has none, may not be looked at, or lives in a container that we
    see from outside."""
    begin = f"{VARIABLE}=".encode()
    for entry in _environment(pid).split(b"\0"):
        if entry.startswith(begin) and _counts_as_we_do(pid):
            return entry[len(begin) :].decode("utf-8", "replace")
    return ""


def _all_pids() -> Iterator[int]:
    own = os.getpid()
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != own:
            yield int(name)


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _counts_as_we_do(pid: int) -> bool:
    """Whether that process lives in our PID namespace. A mark holds the number that its supervisor has where it lives:
    from outside a container that number is nobody's, and the servers in it would pass for orphans."""
    try:
        own = os.readlink("/proc/self/ns/pid")
    except OSError:
        return True  # a kernel without such namespaces
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == own
    except OSError:
        return False
