"""What stands in a mark: whose servers these are, so that anybody can see whether that supervisor still lives."""

from __future__ import annotations

from sm120kit.fleet.types import ProcessId


def write_mark(supervisor: ProcessId) -> str:
    """The mark of all that this supervisor starts."""
    return f"{supervisor.pid}-{supervisor.started}-{supervisor.boot}"


def read_mark(mark: str) -> ProcessId | None:
    """Whose mark that is; ``None`` where it is none of ours."""
    pid, _, rest = mark.partition("-")
    started, _, boot = rest.partition("-")
    if not (pid.isdecimal() and started.isdecimal()):
        return None
    return ProcessId(int(pid), int(started), boot)
