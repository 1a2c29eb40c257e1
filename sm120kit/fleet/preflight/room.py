"""What a file system has room for, and whether a folder on it can be written."""

from __future__ import annotations

import os
from typing import NamedTuple


class Room(NamedTuple):
    """The file system that a path would lie on. Sizes are bytes."""

    folder: str
    """The nearest folder that is there: the path itself, or one above it."""
    free: int
    """For this user."""
    inodes: int
    """Files that can still be made; -1 where the file system does not count them."""
    writable: bool


def room_for(path: str) -> Room:
    """Look at the file system that ``path`` lies on or would lie on.

    Raises:
        OSError: it cannot be looked at.
    """
    folder = os.path.abspath(path)
    while folder != "/" and not os.path.isdir(folder):
        if os.path.lexists(folder):
            break  # something that is no folder is in the way
        folder = os.path.dirname(folder)
    state = os.statvfs(folder)
    writable = os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
    return Room(folder, state.f_bavail * state.f_frsize, state.f_favail if state.f_files else -1, writable)
