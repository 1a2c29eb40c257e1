"""Copies a model to a RAM disk before servers load it: all of it, or nothing.

A copy is made under another name beside its place and renamed when every byte is there; a marker in it tells what it
was made of. A lock that the system lets go of with its holder keeps two from copying the same model at once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.types import Struct
from sm120kit.text import visible

MARKER = "sm120kit-staged.json"
_PART = ".part"
_PIECE = 16 << 20
_MOST_FILES = 20_000
SPARE = 64 << 20
"""Bytes that are to stay free on the disk."""
_WAIT_S = 0.2

Progress = Callable[[int, int], None]
"""Told bytes copied and bytes in all, from time to time."""


class StagedFile(Struct, frozen=True):
    """One file of the source."""

    name: str
    """From the source's folder on."""
    size: int
    modified_ns: int


class Staged(Struct, frozen=True):
    """What a copy was made of."""

    source: str
    files: tuple[StagedFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return sum(file.size for file in self.files)


def staged_path(stage: str, source: str) -> str:
    """Where the copy of the model in the folder ``source`` lies below the folder ``stage``."""
    real = os.path.realpath(source)
    name = os.path.basename(source.rstrip("/")) or "model"
    # The folder of a snapshot of the hub is called after its commit; two levels up stands the model's name.
    if re.fullmatch(r"[0-9a-f]{40}", name):
        name = os.path.basename(os.path.dirname(os.path.dirname(source.rstrip("/")))) or name
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "model"
    return os.path.join(stage, f"{words}-{sha256(os.fsencode(real)).hexdigest()[:12]}")


def look_at_source(source: str) -> Staged:
    """The files that a copy would hold, symbolic links followed.

    Raises:
        Sm120kitError: the folder or one of its files cannot be read; exit code 4.
    """
    files = tuple(sorted(_files(source), key=lambda file: file.name))
    if not files:
        raise Sm120kitError(f"{source} holds no files to copy", exit_code=TARGET_UNREADABLE)
    return Staged(source, files)


def missing_bytes(stage: str, source: str) -> int:
    """Bytes that staging would have to copy: 0 where a copy that still fits is there.

    Raises:
        Sm120kitError: the source cannot be read; exit code 4.
    """
    wanted = look_at_source(source)
    return 0 if read_marker(staged_path(stage, source)) == wanted else wanted.size


def stage_model(source: str, stage: str, progress: Progress | None = None, limit_s: float = 3600.0) -> str:
    """Copy the model, unless a copy that still fits is there, and return where it lies.

    Waits while another process copies the same model, ``limit_s`` seconds at most.

    Raises:
        Sm120kitError: it cannot be read, written, or does not fit (exit code 4).
    """
    wanted = look_at_source(source)
    place = staged_path(stage, source)
    try:
        os.makedirs(stage, 0o755, exist_ok=True)
        with _locked(f"{place}.lock", limit_s):
            _clear(place)
            if read_marker(place) != wanted:
                _copy(wanted, place, progress)
    except OSError as error:
        no_room = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
        raise Sm120kitError(
            f"{source} could not be copied to {place}: {error.strerror or error}"
            + (f": {error.filename}" if error.filename else ""),
            hint="Make room there, or leave --stage out"
            if no_room
            else "Name a folder that can be written, or leave --stage out",
            exit_code=TARGET_UNREADABLE,
        ) from error
    return place


def read_marker(place: str) -> Staged | None:
    """What the copy there was made of; ``None`` where there is none, or it is no longer as it was made."""
    try:
        with open(f"{place}/{MARKER}", "rb") as file:  # noqa: PTH123
            staged = msgspec.json.decode(file.read(16 << 20), type=Staged)
        for each in staged.files:
            if os.stat(f"{place}/{each.name}").st_size != each.size:
                return None
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return staged


def _files(source: str) -> Iterator[StagedFile]:
    def refuse(error: OSError) -> None:
        raise Sm120kitError(
            f"{error.filename} cannot be read: {error.strerror}", exit_code=TARGET_UNREADABLE
        ) from error

    number = 0
    seen: set[str] = set()
    for folder, folders, names in os.walk(source, onerror=refuse, followlinks=True):
        seen.add(os.path.realpath(folder))
        inside = [each for each in folders if not each.startswith(".")]
        # A link to a folder around it would never end.
        folders[:] = [each for each in inside if os.path.realpath(f"{folder}/{each}") not in seen]
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.stat(path)
            except OSError as error:
                raise Sm120kitError(
                    f"{path} cannot be read: {error.strerror}",
                    hint="A link that leads nowhere: download the model again",
                    exit_code=TARGET_UNREADABLE,
                ) from error
            if not _is_text(name):
                raise Sm120kitError(
                    f"{folder} holds a file whose name is not UTF-8: {visible(name)}", exit_code=TARGET_UNREADABLE
                )
            number += 1
            if number > _MOST_FILES:
                raise Sm120kitError(f"{source} holds more than {_MOST_FILES:,} files: that is no model")
            if stat.S_ISREG(status.st_mode) and name != MARKER:
                yield StagedFile(os.path.relpath(path, source), status.st_size, status.st_mtime_ns)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _locked(path: str, limit_s: float) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        limit = time.monotonic() + limit_s
        while not _try_lock(descriptor):
            if time.monotonic() > limit:
                raise Sm120kitError(
                    f"another process has been copying the same model for {limit_s:g} s ({path})",
                    hint="Wait for it, or end it",
                    exit_code=TARGET_UNREADABLE,
                )
            time.sleep(_WAIT_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _clear(place: str) -> None:
    """Remove what a copy left that was cut short. Called with the lock held: nobody else is at it."""
    if os.path.lexists(place + _PART):
        shutil.rmtree(place + _PART)


def _copy(wanted: Staged, place: str, progress: Progress | None) -> None:
    part = place + _PART
    if os.path.lexists(place):
        shutil.rmtree(place)  # of another state of the source; its room is needed
    _refuse_if_full(os.path.dirname(place), wanted)
    os.mkdir(part, 0o755)
    try:
        done = 0
        for file in wanted.files:
            done = _copy_file(wanted, file, part, done, progress)
        with open(f"{part}/{MARKER}", "wb") as marker:  # noqa: PTH123
            marker.write(msgspec.json.encode(wanted))
        if look_at_source(wanted.source) != wanted:
            raise Sm120kitError(
                f"{wanted.source} was changed while it was copied",
                hint="Wait until it is complete, and launch again",
                exit_code=TARGET_UNREADABLE,
            )
        os.rename(part, place)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _copy_file(wanted: Staged, file: StagedFile, part: str, done: int, progress: Progress | None) -> int:
    target = f"{part}/{file.name}"
    os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
    with open(f"{wanted.source}/{file.name}", "rb") as reader, open(target, "xb") as writer:  # noqa: PTH123
        while piece := reader.read(_PIECE):
            writer.write(piece)
            done += len(piece)
            if progress:
                progress(done, wanted.size)
    return done


def _refuse_if_full(folder: str, wanted: Staged) -> None:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if wanted.size + SPARE > free:
        gib = 1 << 30
        raise Sm120kitError(
            f"{wanted.source} holds {wanted.size / gib:.2f} GiB, and {folder} has room for {free / gib:.2f}",
            hint="Make room there (a RAM disk's size is set when it is mounted), or leave --stage out",
            exit_code=TARGET_UNREADABLE,
        )
