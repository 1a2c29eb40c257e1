"""The private folder of a launch: sockets, secrets and temporary files of its servers, gone when they are.

Its path is short: the name of a Unix socket in it may have 107 bytes with the path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile

_PREFIX = "sm120kit-"
_MARK = "mark"
"""File in it that tells whose it is."""


def make_runtime(mark: str) -> str:
    """A new one of the launch of that mark, for its owner alone.

    Raises:
        OSError: the folder for temporary files cannot be written.
    """
    path = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        with open(os.path.join(path, _MARK), "x", encoding="ascii") as file:  # noqa: PTH123
            file.write(mark)
    except OSError:
        remove(path)
        raise
    return path


def make_part(runtime: str, name: str) -> str:
    """A folder in it for one start of one server; the same name may come again once that one is removed."""
    path = os.path.join(runtime, name)
    os.mkdir(path, 0o700)
    return path


def remove(path: str) -> None:
    """Remove it, or a part of it, as far as that is possible."""
    shutil.rmtree(path, ignore_errors=True)


def remove_runtime(path: str, mark: str) -> None:
    """Remove one that a state names, if it was made for that launch: whatever else it names is not ours to remove."""
    if not (os.path.isabs(path) and os.path.basename(path).startswith(_PREFIX)):
        return
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and _mark_in(path) == mark.encode():
            remove(path)


def _mark_in(path: str) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(os.path.join(path, _MARK), flags), "rb") as file:  # noqa: PTH123
        return file.read(1 << 10)
