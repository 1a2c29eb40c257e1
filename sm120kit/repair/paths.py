"""States of paths, and the few writes that change them. Nothing else in this project writes below a target."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat

from sm120kit.repair.types import (
    Absent,
    Action,
    DirectoryState,
    FileState,
    LinkState,
    MakeDirectory,
    MakeLink,
    OtherState,
    PathState,
    WriteFile,
)


def read_state(path: str) -> PathState:
    """What stands at ``path`` now; a link is not followed."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Absent()
    except OSError as error:
        return OtherState(f"cannot be looked at: {error.strerror}")
    if stat.S_ISLNK(status.st_mode):
        return LinkState(os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return DirectoryState()
    if not stat.S_ISREG(status.st_mode):
        return OtherState("neither file, folder nor link")
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - plain descriptors throughout this module
            digest = hashlib.sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        return OtherState(f"a file that cannot be read: {error.strerror}")
    return FileState(digest.hexdigest(), stat.S_IMODE(status.st_mode))


def describe(state: PathState) -> str:
    """A state in words: ``a link to lib``."""
    if isinstance(state, LinkState):
        return f"a link to {state.target}"
    if isinstance(state, FileState):
        return f"a file (sha256 {state.sha256[:12]}, mode {state.mode:04o})"
    if isinstance(state, DirectoryState):
        return "a folder"
    return "nothing" if isinstance(state, Absent) else state.what


def perform(action: Action, before: PathState, content: bytes, mark: str) -> None:
    """Do one action. ``mark`` makes the name of a temporary neighbour, so that recovery can find it.

    Raises:
        OSError: as the system says it; EEXIST where something stands now that did not before.
    """
    if isinstance(action, MakeDirectory):
        os.mkdir(action.path, action.mode)
        os.chmod(action.path, action.mode)
    elif isinstance(action, WriteFile):
        write_file(action.path, content, action.mode, mark, fresh=isinstance(before, Absent))
    elif isinstance(action, MakeLink) or isinstance(before, Absent):
        os.symlink(action.target, action.path)
    else:
        place_link(action.path, action.target, mark)


def restore(path: str, before: PathState, content: bytes, mark: str) -> None:
    """Bring one path of ours back to what it was before.

    Raises:
        OSError: as the system says it, such as ENOTEMPTY for a folder that holds something of others.
    """
    if isinstance(before, LinkState):
        place_link(path, before.target, mark)
    elif isinstance(before, FileState):
        write_file(path, content, before.mode, mark)
    elif isinstance(before, Absent):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.rmdir(path)
        else:
            os.unlink(path)
    else:
        raise OSError(errno.EINVAL, f"cannot bring back {describe(before)}", path)


def place_link(path: str, target: str, mark: str) -> None:
    """Make ``path`` a link to ``target`` in one rename, whatever link stood there."""
    neighbour = neighbour_of(path, mark)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(neighbour)
    os.symlink(target, neighbour)
    os.replace(neighbour, path)


def write_file(path: str, content: bytes, mode: int, mark: str, *, fresh: bool = False) -> None:
    """Make ``path`` a file of these bytes in one step, synced first; ``fresh`` refuses to replace anything."""
    neighbour = neighbour_of(path, mark)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(neighbour)
    descriptor = os.open(neighbour, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not fresh:
        os.replace(neighbour, path)
        return
    try:
        os.link(neighbour, path)
    except FileExistsError:
        os.unlink(neighbour)
        raise
    os.unlink(neighbour)


def neighbour_of(path: str, mark: str) -> str:
    """The temporary name beside ``path`` that a write under ``mark`` uses."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.sm120kit-{mark}")


def sync_directory(path: str) -> None:
    """Flush a folder's entries to disk; file systems that cannot are left as they are."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
