"""Ends all that a fleet left, when its supervisor ends without having done so.

``python -m sm120kit.fleet.process.sweeper NAME MARK``: standard input is a pipe whose other end only the supervisor
has.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from sm120kit.fleet.process.identity import command_line, is_stopped
from sm120kit.fleet.process.marks import kill, own_processes, sweep

DONE = b"d"
"""What the supervisor writes when there is nothing left to do."""

_GOING_S = 2.0


class Sweeper:
    """The supervisor's end of it."""

    def __init__(self, name: str, mark: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, name, mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        self.pid = self._process.pid

    def dismiss(self) -> None:
        """All is done; wait for it to go."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(DONE)
            self._process.stdin.close()
        try:
            self._process.wait(_GOING_S)
        except subprocess.TimeoutExpired:  # somebody has stopped it
            self._process.kill()
            self._process.wait()

    def replace_if_stopped(self) -> None:
        """End it where somebody has stopped it: its end is seen, and another one is started."""
        if is_stopped(self.pid):
            self._process.kill()

    def buried(self) -> None:
        """It was ended by somebody else."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.poll()


def end_stopped_sweeper(name: str, mark: str) -> None:
    """End the sweeper of a launch whose supervisor is gone, where somebody has stopped it: it would stay for ever."""
    for process in own_processes():
        if is_stopped(process.pid) and command_line(process.pid)[-3:] == (__name__, name, mark):
            kill(process)


def main(name: str, mark: str) -> None:
    """Wait for the supervisor's end."""
    if os.read(0, 1) == DONE:
        return
    sweep(mark)
    from sm120kit.fleet.aftermath import put_right
    from sm120kit.fleet.state import folder_of

    put_right(folder_of(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
