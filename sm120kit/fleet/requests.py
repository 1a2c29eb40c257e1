"""What a command wants of a running supervisor: left as a file, taken by it within half a second."""

from __future__ import annotations

import contextlib
import os
import time

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.state import FleetFolder
from sm120kit.fleet.types import Struct

DETACH = b"d"
"""What is written into the pipe to the supervisor by who goes and leaves the servers to it."""

_LARGEST = 1 << 12
_SUFFIX = ".json"


class Restart(Struct, frozen=True):
    """End these replicas and start them again."""

    replicas: tuple[int, ...]


def leave(folder: FleetFolder, request: Restart) -> None:
    """Leave a request.

    Raises:
        Sm120kitError: the folder cannot be written; exit code 4.
    """
    path = f"{folder.requests}/{time.time_ns()}-{os.getpid()}"
    try:
        with open(f"{path}.part", "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(request))
        os.replace(f"{path}.part", f"{path}{_SUFFIX}")
    except OSError as error:
        raise Sm120kitError(
            f"{folder.requests} cannot be written: {error.strerror}", exit_code=TARGET_UNREADABLE
        ) from error


def take(folder: FleetFolder) -> tuple[Restart, ...]:
    """Take all requests away, oldest first. One that cannot be read is dropped."""
    found = []
    if os.path.islink(folder.requests):  # what lies there are no requests, and not ours to remove
        return ()
    try:
        names = sorted(os.listdir(folder.requests))
    except OSError:
        return ()
    for name in names:
        if name.endswith(_SUFFIX):
            with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found.append(_take(f"{folder.requests}/{name}"))
    return tuple(found)


def _take(path: str) -> Restart:
    try:
        # A pipe must not keep the supervisor waiting.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            return msgspec.json.decode(file.read(_LARGEST), type=Restart)
    finally:
        os.unlink(path)
