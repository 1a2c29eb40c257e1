"""What stands in a mark: whose servers these are, so that anybody can see whether that supervisor still lives."""

from __future__ import annotations

import re

from sm120kit.fleet.types import ProcessId

_MARK = re.compile(r"(?P<pid>[1-9][0-9]{0,9})-(?P<started>[0-9]{1,19})-(?P<boot>[0-9a-f-]{0,64})")


def write_mark(supervisor: ProcessId) -> str:
    """The mark of all that this supervisor starts."""
    return f"{supervisor.pid}-{supervisor.started}-{supervisor.boot}"


def read_mark(mark: str) -> ProcessId | None:
    """Whose mark that is; ``None`` where it is none of ours."""
    match = _MARK.fullmatch(mark)
    return ProcessId(int(match["pid"]), int(match["started"]), match["boot"]) if match else None
