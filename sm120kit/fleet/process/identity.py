"""Which process is which: a number alone is given to another process sooner or later."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sm120kit.fleet.types import ProcessId

_STATE = 0
_STARTED = 19
"""Fields of /proc/PID/stat counted from the state on, which follows the name in parentheses."""


def identify(pid: int) -> ProcessId | None:
    """The process that has this number now; ``None`` where there is none, or only what is left of one (a zombie)."""
    fields = _stat(pid)
    if fields is None or fields[_STATE] in ("Z", "X"):
        return None
    return ProcessId(pid, int(fields[_STARTED]), boot_id())


def alive(process: ProcessId) -> bool:
    """Whether that very process still runs."""
    return identify(process.pid) == process


def is_stopped(pid: int) -> bool:
    """Whether it was told to stand still (SIGSTOP), so that it does nothing until it is told to go on."""
    fields = _stat(pid)
    return fields is not None and fields[_STATE] in ("T", "t")


def command_line(pid: int) -> tuple[str, ...]:
    """The words that it was started with; empty where they may not be read, or it is ending."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(word.decode("utf-8", "surrogateescape") for word in text.split(b"\0")[:-1])


@cache
def boot_id() -> str:
    """What tells this boot from every other; empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields if len(fields) > _STARTED else None
