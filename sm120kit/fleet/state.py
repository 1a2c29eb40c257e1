"""Where the state of fleets is kept: one folder for each, by XDG, readable by its owner alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.fleet.types import SCHEMA, Fleet, Struct
from sm120kit.xdg import xdg_folder

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHOWN = 80
_LARGEST = 16 << 20
_ROOM = 64 << 10
"""Bytes that a state takes beside the one that it replaces."""


class FleetFolder(Struct, frozen=True):
    """What belongs to one fleet. Nothing is made until something is written."""

    path: str

    @property
    def name(self) -> str:
        """The fleet's name."""
        return os.path.basename(self.path)

    @property
    def state(self) -> str:
        """The fleet as it is (``sm120kit.fleet/1``)."""
        return f"{self.path}/state.json"

    @property
    def lock(self) -> str:
        """Held by the supervisor as long as it lives."""
        return f"{self.path}/lock"

    @property
    def requests(self) -> str:
        """Folder in which a request to the supervisor is left."""
        return f"{self.path}/requests"

    @property
    def logs(self) -> str:
        """Folder of the logs, where the launch names no other."""
        return f"{self.path}/logs"

    @property
    def supervisor_log(self) -> str:
        """What the supervisor itself had to say."""
        return f"{self.path}/supervisor.log"

    @property
    def rehearsal(self) -> str:
        """Folder of the stand-ins: their profiles, and the memory of the simulated GPUs."""
        return f"{self.path}/rehearsal"


def fleets_home() -> str:
    """Folder of all fleets: ``$XDG_STATE_HOME/sm120kit/fleets`` by XDG."""
    return os.path.join(xdg_folder("XDG_STATE_HOME", ".local/state"), "sm120kit", "fleets")


def folder_of(name: str) -> FleetFolder:
    """The folder of the fleet of that name.

    Raises:
        Sm120kitError: it is no name; exit code 2.
    """
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        raise Sm120kitError(
            f"{shown!r} is no name for a fleet",
            hint="Take up to 64 letters, digits, dots, dashes and underscores, as in: --name qwen-27b",
            exit_code=USAGE,
        )
    return FleetFolder(os.path.join(fleets_home(), name))


def make_folder(folder: FleetFolder) -> None:
    """Make the folder and those in it, for their owner alone.

    Raises:
        Sm120kitError: they cannot be made; exit code 4.
    """
    try:
        os.makedirs(os.path.dirname(folder.path), 0o700, exist_ok=True)
        for path in (folder.path, folder.requests, folder.logs):
            os.makedirs(path, 0o700, exist_ok=True)
    except OSError as error:
        raise Sm120kitError(
            f"{folder.path} cannot be made: {error.strerror}",
            hint="Name another place for state in XDG_STATE_HOME",
            exit_code=TARGET_UNREADABLE,
        ) from error


def refuse_without_room(folder: FleetFolder) -> None:
    """Refuse to begin where not even a small state can be written.

    Raises:
        Sm120kitError: it cannot; exit code 4.
    """
    trial = f"{folder.path}/room.{os.getpid()}"
    try:
        with open(trial, "xb") as file:  # noqa: PTH123
            file.write(bytes(_ROOM))
    except OSError as error:
        raise Sm120kitError(
            f"how the servers stand cannot be written down in {folder.path}: {error.strerror}",
            hint="Make room there, or name another place for state in XDG_STATE_HOME",
            exit_code=TARGET_UNREADABLE,
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(trial)


def has_no_room(folder: FleetFolder) -> bool:
    """Whether no state can be written there any more, since the disk is full."""
    try:
        found = os.statvfs(folder.path)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _ROOM or (found.f_files > 0 and found.f_favail == 0)


def hold(folder: FleetFolder) -> int | None:
    """Take the lock of a fleet; the descriptor holds it until its last copy is closed. ``None``: someone has it.

    Raises:
        Sm120kitError: nobody can take it, as on a disk that cannot be written; exit code 4.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(folder.lock, flags, 0o600)
    except OSError as error:
        raise _unusable(folder.lock, "taken as a lock", error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise _unusable(folder.lock, "taken as a lock", error) from error
    return descriptor


def write_fleet(folder: FleetFolder, fleet: Fleet) -> None:
    """Write the state as a whole: who reads it meets the old one or the new one.

    Raises:
        OSError: the folder cannot be written.
    """
    part = f"{folder.state}.{os.getpid()}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(fleet))
        os.replace(part, folder.state)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def remove_state(folder: FleetFolder) -> None:
    """Remove the state, and what a write that was killed left of one.

    Raises:
        Sm120kitError: it stays; exit code 4.
    """
    try:
        for name in os.listdir(folder.path):
            if name == "state.json" or (name.startswith("state.json.") and name.endswith(".part")):
                os.unlink(os.path.join(folder.path, name))
    except OSError as error:
        raise _unusable(folder.state, "removed", error) from error


def load_fleet(folder: FleetFolder) -> Fleet | None:
    """The state as it was written last, which a killed supervisor leaves behind the truth; ``None`` where none is.

    Raises:
        Sm120kitError: it cannot be read; exit code 4.
    """
    try:
        if not stat.S_ISREG(os.lstat(folder.state).st_mode):  # a pipe would keep us waiting
            raise _unreadable(folder, "it is no file")
        with open(folder.state, "rb") as file:  # noqa: PTH123
            raw = file.read(_LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(folder, str(error.strerror)) from error
    try:
        fleet = msgspec.json.decode(raw, type=Fleet)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(folder, str(error)) from error
    if fleet.schema != SCHEMA:
        raise _unreadable(folder, f"its schema is {fleet.schema}, and this release knows {SCHEMA}")
    if fleet.name != folder.name:  # a copy of another one's folder: what it names is the other's
        raise _unreadable(folder, f"it is the state of a fleet called {fleet.name!r}")
    return fleet


def _unreadable(folder: FleetFolder, reason: str) -> Sm120kitError:
    return Sm120kitError(
        f"{folder.state} cannot be read: {reason}",
        hint=f"If no server of it runs any more: sm120kit fleets --forget {folder.name}",
        exit_code=TARGET_UNREADABLE,
    )


def _unusable(path: str, what: str, error: OSError) -> Sm120kitError:
    return Sm120kitError(
        f"{path} cannot be {what}: {error.strerror}",
        hint="Set that right, or name another place for state in XDG_STATE_HOME",
        exit_code=TARGET_UNREADABLE,
    )


def names() -> tuple[str, ...]:
    """Names of all fleets that left a state, in order."""
    try:
        entries = sorted(os.listdir(fleets_home()))
    except OSError:
        return ()
    return tuple(each for each in entries if _NAME.fullmatch(each) and os.path.lexists(folder_of(each).state))
