"""Opens a log, whatever it is: a file, a compressed one, standard input."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError

_HEAD = 64 << 10

_OTHER_COMPRESSIONS = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
"""First bytes, and the program that writes to standard output what they compress."""

_WHAT = "Give a file that a server or a compiler wrote, or - for standard input"

_MOST_CONTROL = 0.02
_FEW_CONTROL = 20
"""Share and number of control characters in its beginning above which something is no text."""


@contextmanager
def open_log(path: str) -> Iterator[BinaryIO]:
    """Open a log for reading; ``-`` is standard input. What gzip compressed is read as it was.

    Raises:
        Sm120kitError: it cannot be opened or read, is empty, is no text, or is compressed otherwise; exit code 4.
    """
    name = "standard input" if path == "-" else path
    try:
        # Whoever opens a named pipe waits until somebody writes, as for standard input.
        raw = io.BufferedReader(io.FileIO(sys.stdin.fileno() if path == "-" else path, closefd=path != "-"), _HEAD)
    except (OSError, ValueError) as error:
        raise _unreadable(f"{name} cannot be opened: {_reason(error)}") from error
    with raw:
        try:
            yield _as_text(raw, name)
        except OSError as error:
            raise _unreadable(f"{name} cannot be read: {_reason(error)}") from error


def _as_text(raw: io.BufferedReader[io.FileIO], name: str) -> BinaryIO:
    head = raw.peek(_HEAD)
    for magic, program in _OTHER_COMPRESSIONS.items():
        if head.startswith(magic):
            raise _unreadable(
                f"{name} is compressed with {program}", f"Read it as: {program} -dc {name} | sm120kit why -"
            )
    if head.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if not head:
        raise _unreadable(f"{name} is empty")
    text = head.replace(b"\x00", b"")
    control = sum(byte < 0x20 and byte not in b"\t\n\r\x1b\b\f" for byte in text)
    if control > max(_FEW_CONTROL, _MOST_CONTROL * len(text)):
        raise _unreadable(f"{name} is no text")
    return cast("BinaryIO", raw)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _unreadable(
    message: str, hint: str = "Give a file that a server or a compiler wrote, or - for standard input"
) -> Sm120kitError:
    return Sm120kitError(message, hint=hint, exit_code=TARGET_UNREADABLE)
