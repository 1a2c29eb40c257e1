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


def make_runtime() -> str:
    """A new one, for its owner alone.

    Raises:
        OSError: the folder for temporary files cannot be written.
    """
    return tempfile.mkdtemp(prefix=_PREFIX)


def make_part(runtime: str, name: str) -> str:
    """A folder in it for one start of one server; the same name may come again once that one is removed."""
    path = os.path.join(runtime, name)
    os.mkdir(path, 0o700)
    return path


def remove(path: str) -> None:
    """Remove it, or a part of it, as far as that is possible."""
    shutil.rmtree(path, ignore_errors=True)


def remove_runtime(path: str) -> None:
    """Remove one that a state names, if it is what we make: a folder of that name and of this user."""
    if not os.path.basename(path).startswith(_PREFIX):
        return
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
            remove(path)
