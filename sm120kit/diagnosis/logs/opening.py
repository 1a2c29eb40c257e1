"""Opens a log, whatever it is: a file, a compressed one, standard input."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError

_HEAD = 64 << 10

_GIVE = "Give a file that a server or a compiler wrote, or - for standard input"

_OTHER_COMPRESSIONS = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
"""First bytes, and the program that writes to standard output what they compress."""

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

_NUL_PLACES = {
    "utf-16-le": (False, True, False, True),
    "utf-16-be": (True, False, True, False),
    "utf-32-le": (False, True, True, True),
    "utf-32-be": (True, True, True, False),
}
"""Which of four bytes are NUL in a text of ASCII characters."""

_MOST_ASCII = 0.7

_MOST_CONTROL = 0.02
_FEW_CONTROL = 20
"""Share and number of control characters in its beginning above which something is no text."""


@contextmanager
def open_log(path: str) -> Iterator[BinaryIO]:
    """Open a log for reading; ``-`` is standard input. What gzip compressed is read as it was, and what a
    byte order mark, or where its NULs stand, says to be UTF-16 or UTF-32 as UTF-8.

    Raises:
        Sm120kitError: it cannot be opened or read, is empty, is no text, or is compressed otherwise; exit code 4.
    """
    name = "standard input" if path == "-" else path
    try:
        if path != "-":
            _refuse_endless(path)
        raw = io.BufferedReader(io.FileIO(sys.stdin.fileno() if path == "-" else path, closefd=path != "-"), _HEAD)
    except (OSError, ValueError) as error:
        hint = _GIVE
        if isinstance(error, OSError):
            from sm120kit.snapshot.misnamed import near_file

            hint = near_file(path, error, otherwise=_GIVE)
        raise _unreadable(f"{name} cannot be opened: {_reason(error)}", hint) from error
    with raw:
        try:
            yield _as_text(raw, name)
        except OSError as error:
            raise _unreadable(f"{name} cannot be read: {_reason(error)}") from error
        except (EOFError, zlib.error) as error:
            raise _unreadable(f"{name} is a compressed file that is cut off or damaged") from error


def _refuse_endless(path: str) -> None:
    """Refuse what may never end, or never begin: a named pipe nobody writes to, a device.

    What the shell itself opened has a writer: /dev/stdin, and the /dev/fd/63 of ``<(journalctl -b)``.
    """
    mode = os.stat(path).st_mode
    opened_by_shell = path == "/dev/stdin" or path.startswith(("/dev/fd/", "/proc/self/fd/"))
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (opened_by_shell and stat.S_ISFIFO(mode)):
        return
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a device" if stat.S_ISCHR(mode) else "no regular file"
    raise _unreadable(f"{path} is {kind}, and no log", "Give a file, or - to read standard input")


def _as_text(raw: io.BufferedReader[io.FileIO], name: str) -> BinaryIO:
    head = raw.peek(_HEAD)
    for magic, program in _OTHER_COMPRESSIONS.items():
        if head.startswith(magic):
            raise _unreadable(
                f"{name} is compressed with {program}", f"Read it as: {program} -dc {name} | sm120kit why -"
            )
    if head.startswith(b"\x1f\x8b"):
        unpacked = gzip.GzipFile(fileobj=raw)
        try:
            inner = unpacked.peek(_HEAD)
        except (EOFError, zlib.error) as error:
            raise _unreadable(
                f"{name} is a compressed file that is cut off or damaged before its first line"
            ) from error
        if not inner:
            raise _unreadable(f"{name} is empty once unpacked")
        return _recoded(cast("BinaryIO", unpacked), inner)
    if not head:
        raise _unreadable(f"{name} is empty")
    stream = _recoded(cast("BinaryIO", raw), head)
    if encoding_of(stream):
        return stream
    text = head.replace(b"\x00", b"")
    control = sum(byte < 0x20 and byte not in b"\t\n\r\x1b\b\f" for byte in text)
    if control > max(_FEW_CONTROL, _MOST_CONTROL * len(text)):
        raise _unreadable(f"{name} is no text")
    return stream


def _recoded(stream: BinaryIO, head: bytes) -> BinaryIO:
    """The stream as UTF-8, where its beginning says that it is written otherwise."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), "") or _unmarked(head)
    return cast("BinaryIO", codecs.EncodedFile(stream, "utf-8", encoding, "replace")) if encoding else stream


def _unmarked(head: bytes) -> str:
    """The encoding of a text without a byte order mark, by where its NULs stand; empty where they do not tell.

    Most of a log is ASCII, of which each character has its NULs at the same places.
    """
    whole = head[: len(head) // 4 * 4]
    most = len(whole) // 4 * _MOST_ASCII
    nul = tuple(whole[place::4].count(0) > most for place in range(4)) if most else ()
    return next((name for name, places in _NUL_PLACES.items() if nul == places), "")


def encoding_of(stream: BinaryIO) -> str:
    """How the log is written that :func:`open_log` gave; empty for UTF-8."""
    return str(getattr(stream, "file_encoding", "")).upper()


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _unreadable(message: str, hint: str = _GIVE) -> Sm120kitError:
    return Sm120kitError(message, hint=hint, exit_code=TARGET_UNREADABLE)
