"""Whatever lies in the folder of a fleet, its supervisor goes on and the next command says what is true."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.process.ours import SUPERVISOR
from sm120kit.fleet.spec import RestartPolicy
from sm120kit.fleet.state import (
    folder_of,
    has_no_room,
    hold,
    load_fleet,
    make_folder,
    refuse_without_room,
    remove_state,
    write_fleet,
)
from sm120kit.fleet.supervising import Attached, attach, list_fleets, read_fleet, restart
from sm120kit.fleet.types import Fleet, ProcessId, Replica
from tests import fleets
from tests.fleet.rehearsing import Rehearsed, rehearsed, spec_of, story

OURS = identify(os.getpid())


@contextlib.contextmanager
def supervisor_of(name: str) -> Iterator[ProcessId]:
    """What passes for the supervisor of a fleet."""
    command = [sys.executable, "-c", "input()", SUPERVISOR, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        found = identify(process.pid)
        assert found is not None
        yield found


def gone() -> ProcessId:
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = identify(process.pid)
    assert found is not None
    return found


def kept(supervisor: ProcessId | None, *replicas: Replica) -> Fleet:
    """A state that a supervisor wrote."""
    fleet = fleets.fleet(*replicas, name="one", supervisor=supervisor, id="test-nobody", verified=True)
    folder = folder_of("one")
    make_folder(folder)
    write_fleet(folder, fleet)
    return fleet


def restarted(fleet: Rehearsed, index: int) -> Fleet:
    """The fleet once this replica was started again, as asked, and is verified."""
    before = fleet.replica(index).restarts
    restart(fleet.folder, (index,))
    return fleet.until(
        lambda state: state.replicas[index].restarts > before and state.replicas[index].state == "verified"
    )


@pytest.mark.rehearsal
def test_what_is_no_request_keeps_no_other_waiting() -> None:
    with rehearsed(spec_of(1)) as fleet:
        fleet.settled()
        folder = fleet.folder.requests
        os.mkfifo(f"{folder}/0.json")
        os.mkdir(f"{folder}/1.json")
        os.symlink("/dev/zero", f"{folder}/2.json")
        Path(f"{folder}/3.json").write_bytes(b'{"replicas": [0], "x": "\xff"}')
        Path(f"{folder}/4.json").write_bytes(b'{"replicas": [99]}')
        Path(f"{folder}/5.json").write_bytes(b'{"x":' + b"[" * 4000)
        restarted(fleet, 0)
        fleet.stop()


@pytest.mark.rehearsal
def test_a_state_that_was_spoiled_or_taken_away_is_written_again() -> None:
    with rehearsed(spec_of(1)) as fleet:
        before = fleet.settled()
        for content in (b"", b"no state", None):
            os.unlink(fleet.folder.state)
            if content is not None:
                Path(fleet.folder.state).write_bytes(content)
            assert as_written_again(fleet).replicas == before.replicas
        fleet.stop()


def as_written_again(fleet: Rehearsed) -> Fleet:
    limit = time.monotonic() + 5
    while time.monotonic() < limit:
        with contextlib.suppress(Sm120kitError):
            found = load_fleet(fleet.folder)
            if found:
                return found
        time.sleep(0.05)
    raise AssertionError("it was not written again")


@pytest.mark.parametrize(
    "content", [b"", b'{"schema": "sm120kit.fleet/1", "na', b'{"schema": "sm120kit.fleet/9"}', b'{"x":' + b"[" * 9999]
)
def test_what_cannot_be_read_and_belongs_to_nobody_makes_room_for_a_launch(content: bytes) -> None:
    spec = spec_of(1)
    folder = folder_of(spec.name)
    make_folder(folder)
    Path(folder.state).write_bytes(content)
    said: list[str] = []
    assert list_fleets(lambda error: said.append(error.message)) == ()
    assert len(said) == 1
    lock = hold(folder)
    assert lock is not None
    with pytest.raises(Sm120kitError, match="cannot be read"):
        attach(spec)
    os.close(lock)
    assert attach(spec) is None
    remove_state(folder)
    assert load_fleet(folder) is None


def test_a_server_that_ended_unseen_is_not_said_to_run() -> None:
    # As after a death that the supervisor could not write down, on a full disk.
    with supervisor_of("one") as supervisor:
        kept(supervisor, fleets.replica(0, process=gone()), fleets.replica(1, process=OURS))
        found = read_fleet("one")
    assert found is not None
    assert not found.ended
    assert not found.verified
    assert found.granted_total == 37
    assert [each.state for each in found.replicas] == ["unverified", "verified"]
    assert found.replicas[0].phase == "its process has ended"


def test_the_end_is_told_also_where_it_cannot_be_written() -> None:
    kept(gone(), fleets.replica(0, process=gone()))
    folder = folder_of("one")
    os.mkdir(f"{folder.state}.{os.getpid()}.part")
    found = read_fleet("one")
    assert found is not None
    assert found.ended
    assert not found.verified
    assert found.replicas[0].state == "stopped"


@pytest.mark.rehearsal
def test_a_restart_reaches_those_that_were_never_started() -> None:
    faults = ("exits-at-start:0:once", "exits-at-start:1:once")
    spec = spec_of(3, faults=faults, restart=RestartPolicy(most=0), warm_key="c" * 32)
    with rehearsed(spec) as fleet:
        state = fleet.until(lambda state: all(each.state == "failed" for each in state.replicas))
        assert state.replicas[2].started is None, story(state)
        restarted(fleet, 2)
        restarted(fleet, 0)
        restarted(fleet, 1)
        assert fleet.state().verified
        fleet.stop()


def test_how_it_ended_is_told_also_where_nobody_can_take_its_lock() -> None:
    kept(gone(), fleets.replica(0, process=gone()))
    os.mkdir(folder_of("one").lock)
    found = read_fleet("one")
    assert found is not None
    assert (found.ended, found.replicas[0].state) == (True, "stopped")


def test_nothing_is_started_where_no_state_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of("one")
    make_folder(folder)
    refuse_without_room(folder)
    assert sorted(os.listdir(folder.path)) == ["logs", "requests"]
    monkeypatch.setattr("sm120kit.fleet.state._ROOM", 1 << 60)
    assert has_no_room(folder)
    os.mkdir(f"{folder.path}/room.{os.getpid()}")
    with pytest.raises(Sm120kitError, match="cannot be written down") as refused:
        refuse_without_room(folder)
    assert refused.value.exit_code == 4


def test_a_launch_does_not_wait_for_a_state_that_nobody_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of("one")
    make_folder(folder)
    attached = Attached(folder, gone(), -1)
    old, new = fleets.fleet(updated=time.time() - 60), fleets.fleet(updated=time.time())
    attached.refuse_unwritten(old)
    monkeypatch.setattr("sm120kit.fleet.state._ROOM", 1 << 60)
    attached.refuse_unwritten(new)
    with pytest.raises(Sm120kitError, match="the disk is full") as refused:
        attached.refuse_unwritten(old)
    assert refused.value.exit_code == 4


@pytest.mark.rehearsal
def test_a_stopped_sweeper_is_replaced_and_leaves_with_a_killed_supervisor() -> None:
    from tests.fleet.test_rehearsed import sweepers_of

    with rehearsed(spec_of(1)) as fleet:
        state = fleet.settled()
        (first,) = sweepers_of(state)
        os.kill(first, signal.SIGSTOP)
        limit = time.monotonic() + 20
        while sweepers_of(state) in ([], [first]):
            assert time.monotonic() < limit
            time.sleep(0.05)
        (second,) = (identify(pid) for pid in sweepers_of(state))
        assert second is not None
        assert state.supervisor is not None
        os.kill(second.pid, signal.SIGSTOP)
        os.kill(state.supervisor.pid, signal.SIGKILL)
        fleet.stop()
        while alive(second):
            assert time.monotonic() < limit
            time.sleep(0.05)


@pytest.mark.rehearsal
def test_a_sweeper_that_was_stopped_is_ended_with_the_rest() -> None:
    from tests.fleet.test_rehearsed import sweepers_of

    with rehearsed(spec_of(1)) as fleet:
        (sweeper,) = (identify(pid) for pid in sweepers_of(fleet.settled()))
        assert sweeper is not None
        os.kill(sweeper.pid, signal.SIGSTOP)
        fleet.stop()
        assert not alive(sweeper)


@pytest.mark.rehearsal
def test_a_fleet_of_another_name_is_not_in_the_way() -> None:
    folder = folder_of("broken")
    make_folder(folder)
    kept(gone())
    write_fleet(folder, replace(fleets.fleet(name="broken"), supervisor=gone()))
    os.mkdir(folder.lock)
    with rehearsed(spec_of(1)) as fleet:
        assert fleet.settled().verified
        found = {each.name: each.ended for each in list_fleets(lambda error: pytest.fail(error.message))}
        assert found == {"broken": True, "one": True, "test": False}
        fleet.stop()
