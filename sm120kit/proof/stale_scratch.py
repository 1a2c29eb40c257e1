"""Scratch folders of proofs whose process was killed: found by a lock that its end lets go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator

PREFIX = "sm120kit-proof-"
_YOUNG_S = 5.0
"""Seconds in which a folder may have been made and not locked yet."""


@contextlib.contextmanager
def locked_scratch() -> Iterator[str]:
    """A folder of its own that goes with the block, locked as long as this process lives."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: then nothing tells that it is stale
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            yield folder
        finally:
            os.close(descriptor)


def sweep() -> None:
    """Remove such folders of this user that nobody holds any more."""
    base = tempfile.gettempdir()
    for name in os.listdir(base) if os.path.isdir(base) else ():
        path = f"{base}/{name}"
        if name.startswith(PREFIX):
            with contextlib.suppress(OSError):
                if _is_stale(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_stale(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < _YOUNG_S:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
