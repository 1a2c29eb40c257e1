"""The only way collectors look at files: confined to a root, bounded in size, never hanging on a dead mount.

Every path given and returned is as the target itself would write it; only :meth:`Files.real_host`, which a child is
asked for, leaves that view. A symbolic link is followed inside the root, wherever it points.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from sm120kit.patterns import pattern

if TYPE_CHECKING:  # a child process reads files without it, and starts in a third of the time
    from sm120kit.snapshot.types.machine import Mount

READ_LIMIT = 4 << 20
"""Bytes read of one file unless a caller knows better."""

_MOST_LINKS = 40
_UNPAIRED = pattern("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a file name."""

T = TypeVar("T")


class SlowReader(Protocol):
    """Does one operation of :class:`Files` in a child that can be killed."""

    def ask(self, operation: str, path: str, limit: int, mount: str, ranges: Sequence[tuple[int, int]] = ()) -> object:
        """Return what the operation of that name returns; raise OSError as it would, or ETIMEDOUT.

        ``mount`` is the slow mount that the path leads to first, ``ranges`` what :meth:`Files.pieces` is given.
        """
        ...


class Files:
    """Reads files of one target. All methods that return data raise ``OSError``; predicates answer False."""

    def __init__(self, root: str = "", slow: Sequence[Mount] = (), slow_reader: SlowReader | None = None) -> None:
        self.root = os.path.realpath(root) if root else ""
        self._slow = tuple(mount.path for mount in slow) if slow_reader else ()
        self._slow_reader = slow_reader
        self._real_folders: dict[str, str] = {}

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The first ``limit`` bytes of a regular file; anything else (device, pipe, socket) is refused."""
        return self._do("read", path, lambda real: _read_regular(real, limit), limit)

    def text(self, path: str, limit: int = READ_LIMIT) -> str:
        """Like :meth:`read`, as UTF-8 with whatever does not fit replaced."""
        return self.read(path, limit).decode("utf-8", "replace")

    def pieces(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Parts of a regular file, each by its offset and size in bytes; shorter where the file ends before."""
        return self._do("pieces", path, lambda real: _read_pieces(real, ranges), ranges=ranges)

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; names that are not UTF-8 keep their bytes as surrogate escapes."""
        return self._do("names", path, lambda real: sorted(os.listdir(real)))

    def size(self, path: str) -> int:
        """Size in bytes of what the path leads to."""
        return self._do("size", path, lambda real: os.stat(real).st_size)

    def mode(self, path: str) -> int:
        """``st_mode`` of what the path leads to."""
        return self._do("mode", path, lambda real: os.stat(real).st_mode)

    def modified(self, path: str) -> float:
        """Modification time of what the path leads to, in seconds since 1970."""
        return self._do("modified", path, lambda real: os.stat(real).st_mtime)

    def link_modified(self, path: str) -> float:
        """Modification time of the path itself, a symbolic link not followed, in seconds since 1970."""
        return self._do("link_modified", path, lambda real: os.lstat(real).st_mtime, follow_last=False)

    def real(self, path: str) -> str:
        """The path with every symbolic link resolved, as the target would write it."""
        resolved_before = self.root or self._slow
        resolve = (lambda real: real) if resolved_before else self._resolved
        return self._inside(self._do("real_host", path, resolve))

    def _resolved(self, path: str) -> str:
        """As the system resolves it. Folders are remembered: a hundred paths of a toolkit lie in a dozen of them."""
        folder, _, name = path.rpartition("/")
        if not folder or name in ("", ".", ".."):
            return os.path.realpath(path, strict=True)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder, strict=True)
        there = f"{self._real_folders[folder].rstrip('/')}/{name}"
        return os.path.realpath(there, strict=True) if stat.S_ISLNK(os.lstat(there).st_mode) else there

    def link(self, path: str) -> str:
        """What a symbolic link says, unresolved."""
        return self._do("link", path, os.readlink, follow_last=False)

    def is_file(self, path: str) -> bool:
        """Whether the path leads to a regular file."""
        return self._is(path, stat.S_ISREG)

    def is_dir(self, path: str) -> bool:
        """Whether the path leads to a folder."""
        return self._is(path, stat.S_ISDIR)

    def is_executable(self, path: str) -> bool:
        """Whether the path leads to a regular file with an execute bit."""
        return self._is(path, lambda mode: stat.S_ISREG(mode) and bool(mode & 0o111))

    def exists(self, path: str) -> bool:
        """Whether the path leads to anything."""
        return self._is(path, lambda _: True)

    def is_link(self, path: str) -> bool:
        """Whether the path itself is a symbolic link, dangling or not."""
        try:
            self.link(path)
        except OSError:
            return False
        return True

    def _is(self, path: str, fits: Callable[[int], bool]) -> bool:
        try:
            return fits(self.mode(path))
        except (OSError, ValueError):
            return False

    def _do(
        self,
        operation: str,
        path: str,
        work: Callable[[str], T],
        limit: int = 0,
        *,
        follow_last: bool = True,
        ranges: Sequence[tuple[int, int]] = (),
    ) -> T:
        if "\0" in path or (not path.isascii() and _UNPAIRED.search(path)):
            raise OSError(errno.EINVAL, "no file can have such a name", repr(path))
        try:
            resolved_before = self.root or self._slow
            return work(self._resolve(path, follow_last=follow_last) if resolved_before else path)
        except _OnSlowMount as turn:
            if self._slow_reader is None:
                raise OSError(errno.ENOTSUP, "on a slow mount", path) from None
            answer: T = self._slow_reader.ask(  # type: ignore[assignment]
                operation, path, limit, turn.mount, ranges
            )
            return answer
        except OSError as error:
            error.filename = path  # as it was asked for, not as it lies below the root
            raise

    def real_host(self, path: str) -> str:
        """The resolved path as this process sees it."""
        return self._resolve(path) if self.root else self._resolved(path)

    def _resolve(self, path: str, *, follow_last: bool = True) -> str:
        """Resolve every link inside the root, one component after the other, never past it."""
        pending = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part == "..":
                if done:
                    done.pop()
                continue
            here = self.root + "/" + "/".join((*done, part))
            for slow in self._slow:
                if here == slow or here.startswith(slow.rstrip("/") + "/"):
                    raise _OnSlowMount(slow)
            try:
                target = os.readlink(here) if follow_last or pending else None
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                target = None
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, "too many symbolic links", path)
            if target.startswith("/"):
                done.clear()
            pending.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
        return self.root + "/" + "/".join(done)

    def _inside(self, host: str) -> str:
        return (host[len(self.root) :] or "/") if self.root else host


class _OnSlowMount(Exception):  # noqa: N818 - a turn in the road, not an error
    """The next component lies on a network or fuse mount."""

    def __init__(self, mount: str) -> None:
        super().__init__(mount)
        self.mount = mount


def _read_regular(path: str, limit: int) -> bytes:
    descriptor = _open_regular(path)
    try:
        pieces = []
        # A buffer as large as the file: a page of memory costs more than a read, and most files are small. Those of
        # /proc say that they hold nothing.
        most = min(os.fstat(descriptor).st_size + 1, 1 << 20) if limit else 0
        while limit > 0 and (piece := os.read(descriptor, min(limit, max(most, 1 << 14)))):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _read_pieces(path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    descriptor = _open_regular(path)
    try:
        return [os.pread(descriptor, size, offset) for offset, size in ranges]
    except OverflowError as error:
        raise OSError(errno.EINVAL, "no file reaches that far", path) from error
    finally:
        os.close(descriptor)


def _open_regular(path: str) -> int:
    if not stat.S_ISREG(os.stat(path).st_mode):  # asked before opening: to open a device can set it in motion
        raise OSError(errno.EINVAL, "not a regular file", path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
