"""Takes secrets out of this process's own argument list, which every user of the machine may read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_ARG_START, _ARG_END = 45, 46
"""Fields 48 and 49 of /proc/PID/stat (proc(5)), counted from the state on, which follows the name in parentheses."""


def hide_arguments(secrets: Iterable[str]) -> bool:
    """Write over each of them in what ``ps`` and /proc/PID/cmdline show, and say whether none is left there.

    The kernel shows these bytes as they lie in the process's own memory; nothing else reads them any more.
    """
    wanted = [os.fsencode(secret) for secret in secrets if secret]
    if not wanted:
        return True
    try:
        fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        descriptor = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            shown = os.pread(descriptor, end - start, start)
            hidden = shown
            for secret in wanted:
                hidden = hidden.replace(secret, b"*" * len(secret))
            if hidden != shown:
                os.pwrite(descriptor, hidden, start)
        finally:
            os.close(descriptor)
        left = Path("/proc/self/cmdline").read_bytes()
    except (OSError, ValueError, IndexError, OverflowError):
        return False
    return not any(secret in left for secret in wanted)
