"""Starts a supervisor, stays attached to it, asks something of it, stops it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec

from sm120kit.errors import OWN_FAULT, TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.fleet import requests
from sm120kit.fleet.aftermath import end_orphans, put_right
from sm120kit.fleet.differing import differing
from sm120kit.fleet.digest import digest_of
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import VARIABLE, kill
from sm120kit.fleet.process.ours import SUPERVISOR, supervises
from sm120kit.fleet.spec import FleetSpec
from sm120kit.fleet.state import (
    FleetFolder,
    folder_of,
    has_no_room,
    hold,
    load_fleet,
    make_folder,
    names,
    refuse_without_room,
    remove_state,
)
from sm120kit.fleet.types import Fleet, ProcessId

_PAUSE_S = 0.05
_FIRST_STATE_S = 20.0
_STOP_SPARE_S = 30.0
"""What stopping may take beyond the drain limit: killing, sweeping, and waiting for the GPUs' memory."""

_UNWRITTEN_S = 20.0


class Attached:
    """A launch that we stand by: when we go without :meth:`detach`, it ends."""

    def __init__(self, folder: FleetFolder, supervisor: ProcessId, pipe: int) -> None:
        self.folder, self.supervisor, self._pipe = folder, supervisor, pipe

    def fleet(self) -> Fleet:
        """The fleet as it is.

        Raises:
            Sm120kitError: its state is gone or cannot be read.
        """
        fleet = put_right(self.folder)
        if fleet is None:
            raise Sm120kitError(f"the state of fleet {self.folder.name} is gone", exit_code=OWN_FAULT)
        return fleet

    def refuse_unwritten(self, fleet: Fleet) -> None:
        """Refuse to wait for a state that nobody can write.

        Raises:
            Sm120kitError: the disk is full, and ``fleet`` is as it was a while ago; exit code 4.
        """
        if time.time() - fleet.updated > _UNWRITTEN_S and has_no_room(self.folder):
            raise Sm120kitError(
                f"the disk is full: how the servers stand could not be written down in {self.folder.path} for "
                f"{_UNWRITTEN_S:g} s, so they are ended",
                hint="Make room there, or name another place for state in XDG_STATE_HOME, and launch again",
                exit_code=TARGET_UNREADABLE,
            )

    def detach(self) -> None:
        """Leave the servers to the supervisor."""
        with contextlib.suppress(OSError):
            os.write(self._pipe, requests.DETACH)
        self._close()

    def stop(self, limit_s: float) -> Fleet:
        """End all of it and wait for that."""
        self._close()
        return stop(self.folder, limit_s) or self.fleet()

    def _close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


def start(spec: FleetSpec) -> Attached:
    """Start a supervisor for this launch.

    Raises:
        Sm120kitError: a fleet of that name runs, or the supervisor does not come up.
    """
    folder = folder_of(spec.name)
    make_folder(folder)
    end_orphans()
    lock = hold(folder)
    if lock is None:
        raise Sm120kitError(
            f"a fleet called {spec.name} runs already",
            hint=f"Stop it with: sm120kit stop {spec.name}, or give this one another --name",
            exit_code=USAGE,
        )
    try:
        refuse_without_room(folder)
        requests.take(folder)
        shutil.rmtree(folder.rehearsal, ignore_errors=True)
        remove_state(folder)
        pipe = _begin(spec, folder, lock)
    except OSError as error:
        raise Sm120kitError(
            f"the supervisor cannot be started: {error.strerror or error}",
            hint=f"It needs one more process, and room in {folder.path}",
            exit_code=TARGET_UNREADABLE,
        ) from error
    finally:
        os.close(lock)
    return _first_sign(folder, pipe)


def _begin(spec: FleetSpec, folder: FleetFolder, lock: int) -> int:
    """Start it; returns our end of the pipe by which it knows that we are there."""
    spec_read, spec_write = os.pipe()
    attached_read, attached_write = os.pipe()
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    words = [sys.executable, "-m", SUPERVISOR, spec.name]
    words += [str(each) for each in (spec_read, lock, attached_read)]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    log = os.open(folder.supervisor_log, flags, 0o600)
    try:
        begun = subprocess.Popen(
            [*words, *(["rehearsal"] if spec.rehearsal else [])],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder.path,
            start_new_session=True,
            pass_fds=(spec_read, lock, attached_read),
        )
    finally:
        for descriptor in (spec_read, attached_read, log):
            os.close(descriptor)
    with open(spec_write, "wb") as stream, contextlib.suppress(BrokenPipeError):  # noqa: PTH123
        stream.write(msgspec.json.encode(spec))
    begun.wait()  # it goes on in a process of its own, which is nobody's child
    return attached_write


def _first_sign(folder: FleetFolder, pipe: int) -> Attached:
    limit = time.monotonic() + _FIRST_STATE_S
    while time.monotonic() < limit:
        fleet = load_fleet(folder)
        if fleet and fleet.supervisor:
            return Attached(folder, fleet.supervisor, pipe)
        lock = hold(folder)
        if lock is not None:  # nobody has it any more
            os.close(lock)
            break
        time.sleep(_PAUSE_S / 5)
    os.close(pipe)
    raise Sm120kitError(
        "the supervisor did not come up", hint=f"What it said stands in {folder.supervisor_log}", exit_code=OWN_FAULT
    )


def attach(spec: FleetSpec) -> Fleet | None:
    """The running fleet of that name, where it was launched with the same; ``None`` where none runs.

    Raises:
        Sm120kitError: a fleet of that name runs that was launched otherwise.
    """
    try:
        fleet = read_fleet(spec.name)
    except Sm120kitError:
        if _runs(folder_of(spec.name)):
            raise
        return None  # what an earlier launch left cannot be read; it makes room for a new one
    if fleet is None or fleet.ended:
        return None
    if fleet.spec_digest != digest_of(spec):
        raise Sm120kitError(
            f"a fleet called {spec.name} runs already, launched with other settings: {differing(fleet, spec)}",
            hint=f"Stop it first with: sm120kit stop {spec.name}, or give this one another --name",
            exit_code=USAGE,
        )
    return fleet


def _runs(folder: FleetFolder) -> bool:
    """Whether a supervisor holds the lock."""
    lock = hold(folder)
    if lock is None:
        return True
    os.close(lock)
    return False


def read_fleet(name: str) -> Fleet | None:
    """The fleet of that name as it truly is; ``None`` where there never was one."""
    return put_right(folder_of(name))


def list_fleets(unreadable: Callable[[Sm120kitError], None] = lambda _: None) -> tuple[Fleet, ...]:
    """All fleets that left a state, each as it truly is. Where one cannot be read, the reason goes there."""
    found = (_readable(name, unreadable) for name in names())
    return tuple(fleet for fleet in found if fleet)


def _readable(name: str, unreadable: Callable[[Sm120kitError], None]) -> Fleet | None:
    try:
        return read_fleet(name)
    except Sm120kitError as error:
        unreadable(error)
        return None


def stop(folder: FleetFolder, limit_s: float) -> Fleet | None:
    """Have the supervisor end everything; do it ourselves where it does not within ``limit_s`` seconds and a while."""
    fleet = _put_right(folder)
    if fleet is None or fleet.ended or fleet.supervisor is None or not supervises(fleet.supervisor, folder.name):
        return fleet
    kill(fleet.supervisor, signal.SIGTERM)
    limit = time.monotonic() + limit_s + _STOP_SPARE_S
    while time.monotonic() < limit and alive(fleet.supervisor):
        time.sleep(_PAUSE_S)
    kill(fleet.supervisor)
    while alive(fleet.supervisor):
        time.sleep(_PAUSE_S)
    return _put_right(folder)


def _put_right(folder: FleetFolder) -> Fleet | None:
    """The same as :func:`put_right`, once its sweeper, or a thread of the ending supervisor, has let go of the lock."""
    limit = time.monotonic() + _STOP_SPARE_S
    while True:
        fleet = put_right(folder)
        runs = fleet and not fleet.ended and fleet.supervisor
        if not runs or supervises(runs, folder.name) or time.monotonic() > limit:
            return fleet
        time.sleep(_PAUSE_S)


def restart(folder: FleetFolder, replicas: tuple[int, ...]) -> None:
    """Ask the supervisor to end these replicas and start them again.

    Raises:
        Sm120kitError: no supervisor runs, or there is no such replica.
    """
    fleet = put_right(folder)
    if fleet is None or fleet.ended:
        raise Sm120kitError(
            f"no fleet called {folder.name} runs",
            hint="See which there are with: sm120kit fleets",
            exit_code=TARGET_UNREADABLE,
        )
    strange = sorted(set(replicas) - {each.index for each in fleet.replicas})
    if strange:
        raise Sm120kitError(f"fleet {folder.name} has no replica {strange[0]}", exit_code=USAGE)
    requests.leave(folder, requests.Restart(replicas))


def wait_for_change(folder: FleetFolder, until: Callable[[Fleet], bool], limit_s: float | None = None) -> Fleet | None:
    """Wait until the state is such; ``None`` when the limit passed before."""
    limit = None if limit_s is None else time.monotonic() + limit_s
    while limit is None or time.monotonic() < limit:
        fleet = load_fleet(folder)
        if fleet and until(fleet):
            return fleet
        if fleet and fleet.supervisor and not alive(fleet.supervisor):
            return put_right(folder)
        time.sleep(_PAUSE_S)
    return None
