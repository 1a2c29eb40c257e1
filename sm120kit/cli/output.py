"""Where results go: standard output or a file. Everything else a command says goes to standard error."""

from __future__ import annotations

import errno
import os
import sys
from typing import NamedTuple

from sm120kit.errors import Sm120kitError


class Terminal(NamedTuple):
    """How wide the place is that a person reads the result in, and whether it shows colours."""

    width: int
    colour: bool


PIPED_WIDTH = 100


def terminal(output: str = "") -> Terminal:
    """The terminal on standard output; plain and of fixed width when the result goes into a pipe or a file."""
    if output or not sys.stdout.isatty():
        return Terminal(PIPED_WIDTH, colour=False)
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        width = PIPED_WIDTH
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return Terminal(width or PIPED_WIDTH, colour)


def encoding_of(output: str = "") -> str:
    """The encoding in which :func:`write_result` writes text there."""
    return "utf-8" if output and output != "-" else sys.stdout.encoding or "utf-8"


def write_result(data: str | bytes, output: str = "") -> None:
    """Write a result to standard output, or to the file ``output``.

    Text takes the encoding of standard output, with what that cannot show escaped; bytes go as they are. A reader
    that closes the pipe early is no failure: the command's exit code stays what it is.

    Raises:
        Sm120kitError: the file cannot be written; exit code 2.
    """
    raw = data if isinstance(data, bytes) else data.encode(encoding_of(output), "backslashreplace")
    if output and output != "-":
        _write_file(raw, output)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except OSError as error:
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            raise unwritable(error) from error


def unwritable(error: OSError) -> Sm120kitError:
    """The error for a standard output that takes nothing."""
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    return Sm120kitError(f"standard output cannot be written: {reason}")


def hold_closed_streams() -> None:
    """Put something in the place of standard streams that are closed, so that no file opened later takes their number.

    Reading standard input and writing standard output fail then; what is said on standard error is lost. Programs
    that are started find them closed, as they were.
    """
    # Python has None for each; the lowest free number is what open returns.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def silence_stdout() -> None:
    """Let nothing more be written where nothing can be, not even when the interpreter flushes at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _write_file(data: bytes, output: str) -> None:
    from pathlib import Path

    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise Sm120kitError(
            f"{output} cannot be written: {error.strerror}", hint="Name another file with -o"
        ) from error
