"""The only way collectors start a program: bounded in time and output, its whole process group ended after."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

OUTPUT_LIMIT = 64 << 10
"""Bytes kept of each of a program's two outputs."""


_running: set[int] = set()
"""Process groups that were started and not yet ended."""


class RunFailure(Exception):  # noqa: N818 - reads as what it is
    """The program could not be started or did not end in time; the message is a sentence for people."""


class DidNotAnswer(RunFailure):
    """It was started, and ended by us after its time."""


class Ran(msgspec.Struct, frozen=True):
    """A program that ended. Outputs are UTF-8 with whatever does not fit replaced."""

    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    limit_s: float,
    cwd: str = "/",
    output_limit: int = OUTPUT_LIMIT,
) -> Ran:
    """Run a program without a shell, without standard input, in a session of its own.

    Raises:
        RunFailure: it cannot be started, or did not end within ``limit_s`` seconds.
    """
    name = command[0]
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RunFailure(f"{name} cannot be started: {reason}") from error
    _running.add(process.pid)
    outputs = [_Drain(process.stdout, output_limit), _Drain(process.stderr, output_limit)]
    try:
        returncode = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise DidNotAnswer(f"{name} did not answer within {limit_s:g} s") from None
    except BaseException:
        _end(process)
        raise
    finally:
        _running.discard(process.pid)
    _end_group(process.pid)
    stdout, stderr = (output.text(1.0) for output in outputs)
    return Ran(tuple(command), returncode, stdout, stderr)


def end_all() -> None:
    """End every program that is still at work in a thread, when nobody waits for its answer any more."""
    for group in tuple(_running):
        _end_group(group)


class _Drain:
    """Reads a pipe to its end in a thread and keeps the first bytes, so that no program blocks on a full pipe."""

    def __init__(self, stream: IO[bytes] | None, limit: int) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream, limit), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes] | None, limit: int) -> None:
        if stream is None:
            return
        with contextlib.suppress(OSError, ValueError), stream:
            while piece := stream.read1(65536) if hasattr(stream, "read1") else stream.read(65536):
                self._kept += piece[: max(0, limit - len(self._kept))]

    def text(self, limit_s: float) -> str:
        """What was kept, after waiting at most ``limit_s`` for the end."""
        self._thread.join(limit_s)
        return self._kept.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    _end_group(process.pid)
    with contextlib.suppress(OSError):
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)


def _end_group(pid: int) -> None:
    with contextlib.suppress(OSError, TypeError):
        os.killpg(pid, signal.SIGKILL)
