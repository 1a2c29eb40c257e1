"""Becomes a server that dies with its parent: ``python -I -S exec_child.py PARENT COMMAND...``.

Nothing of sm120kit is imported. It is a program of its own, since only a process that is no longer ours may set these
things without a risk to the threads of the supervisor.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""

CANNOT_START = 127


def main(parent: int, command: list[str]) -> None:
    """Take the command's place, with the environment as it is."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this could be asked for
        sys.exit(1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
