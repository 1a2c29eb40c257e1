"""The lock that lets one transaction run at a time in a data folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator

from sm120kit.data_dir import DataDir
from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError


@contextlib.contextmanager
def locked(data_dir: DataDir) -> Iterator[None]:
    """Hold the one lock of a data folder; the system lets go of it however the process ends.

    Raises:
        Sm120kitError: someone else holds it, or the folder cannot be written.
    """
    _make(data_dir)
    path = f"{data_dir.path}/lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise _unwritable(path, error) from error
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise Sm120kitError(
                f"another repair is at work in {data_dir.path}" + (f" (process {holder})" if holder else ""),
                hint="Wait for it to end and run this again",
                exit_code=TARGET_UNREADABLE,
            ) from error
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(data_dir: DataDir) -> int:
    """The process that holds the lock; 0 where nobody does. Nothing is written."""
    try:
        descriptor = os.open(f"{data_dir.path}/lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdecimal() else -1
    finally:
        os.close(descriptor)
    return 0


def _make(data_dir: DataDir) -> None:
    try:
        for folder in (data_dir.path, data_dir.toolkits, data_dir.journal, f"{data_dir.path}/targets"):
            os.makedirs(folder, 0o755, exist_ok=True)
        owner = os.stat(data_dir.path).st_uid
    except OSError as error:
        raise _unwritable(data_dir.path, error) from error
    if owner != os.geteuid():
        raise Sm120kitError(
            f"{data_dir.path} belongs to user {owner}, and this process runs as user {os.geteuid()}",
            hint="Run as that user, or give another folder with --data-dir",
            exit_code=TARGET_UNREADABLE,
        )


def _unwritable(path: str, error: OSError) -> Sm120kitError:
    return Sm120kitError(
        f"{path} cannot be written: {error.strerror}",
        hint="Make room or give a folder that can be written with --data-dir",
        exit_code=TARGET_UNREADABLE,
    )
