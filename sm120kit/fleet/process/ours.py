"""Whether what a state names is ours to end: a state may be a copy, may be old, and may be written by anybody."""

from __future__ import annotations

import time
from itertools import pairwise

from sm120kit.fleet.process.identity import alive, boot_id, command_line
from sm120kit.fleet.process.mark_text import read_mark
from sm120kit.fleet.types import ProcessId

SUPERVISOR = "sm120kit.fleet.supervision.supervisor"
"""The program, as ``python -m`` knows it; the name of its fleet is the next word."""

_ENDING_S = 5.0


def supervises(process: ProcessId, name: str) -> bool:
    """Whether that very process runs and is the supervisor of the fleet of that name. One that is just ending has no
    command line any more: its end is waited for."""
    limit = time.monotonic() + _ENDING_S
    while alive(process):
        words = command_line(process.pid)
        if words or time.monotonic() > limit:
            return (SUPERVISOR, name) in pairwise(words)
        time.sleep(0.01)
    return False


def is_left(mark: str) -> bool:
    """Whether a supervisor made this mark that has ended."""
    supervisor = read_mark(mark)
    return supervisor is not None and not alive(supervisor)


def may_be_ended(mark: str) -> bool:
    """Whether what carries this mark was left by a supervisor that has ended. Not so after another start of the
    machine: then somebody has copied the environment of a server."""
    supervisor = read_mark(mark)
    return supervisor is not None and supervisor.boot == boot_id() and not alive(supervisor)
