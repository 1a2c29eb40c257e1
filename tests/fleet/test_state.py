"""The state of a fleet is private, whole at any time, and refused where it is none."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.state import fleets_home, folder_of, hold, load_fleet, make_folder, names, write_fleet
from sm120kit.fleet.types import SCHEMA, Fleet

FLEET = Fleet(SCHEMA, "0", "one", "load", verified=False, rehearsal=False, granted_total=0, replicas=())


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a" * 65, "a b", "\n", "é"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(Sm120kitError, match="no name for a fleet"):
        folder_of(name)


def test_what_was_written_is_read() -> None:
    folder = folder_of("one")
    make_folder(folder)
    assert load_fleet(folder) is None
    assert names() == ()
    write_fleet(folder, FLEET)
    assert load_fleet(folder) == FLEET
    assert names() == ("one",)
    assert os.stat(folder.state).st_mode & 0o777 == 0o600
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    assert fleets_home().startswith(os.environ["XDG_STATE_HOME"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff", b"{}"])
def test_a_file_that_is_no_state(content: bytes) -> None:
    folder = folder_of("one")
    make_folder(folder)
    Path(folder.state).write_bytes(content)
    with pytest.raises(Sm120kitError, match="cannot be read") as caught:
        load_fleet(folder)
    assert caught.value.exit_code == 4
    assert "sm120kit fleets --forget one" in caught.value.hint


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_keeps_nobody_waiting(make: Callable[[str], None]) -> None:
    folder = folder_of("one")
    make_folder(folder)
    make(folder.state)
    with pytest.raises(Sm120kitError, match="it is no file"):
        load_fleet(folder)
    assert names() == ("one",), "it is not passed over in silence"


def test_a_lock_that_nobody_can_take_is_said_to_be_one() -> None:
    folder = folder_of("one")
    make_folder(folder)
    os.mkdir(folder.lock)
    with pytest.raises(Sm120kitError, match="lock cannot be taken as a lock: Is a directory") as caught:
        hold(folder)
    assert caught.value.exit_code == 4


def test_a_write_that_fails_leaves_the_old_state_and_nothing_beside_it() -> None:
    folder = folder_of("one")
    make_folder(folder)
    write_fleet(folder, FLEET)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))  # as a full disk, which takes the first bytes
    try:
        with pytest.raises(OSError, match="large"):
            write_fleet(folder, replace(FLEET, model="another"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert load_fleet(folder) == FLEET
    assert [name for name in os.listdir(folder.path) if "state" in name] == ["state.json"]


def test_a_state_of_a_later_release_is_refused() -> None:
    folder = folder_of("one")
    make_folder(folder)
    write_fleet(folder, replace(FLEET, schema="sm120kit.fleet/2"))
    with pytest.raises(Sm120kitError, match="schema is sm120kit"):
        load_fleet(folder)


def test_the_lock_is_held_by_one() -> None:
    folder = folder_of("one")
    make_folder(folder)
    first = hold(folder)
    assert first is not None
    assert hold(folder) is None
    os.close(first)
    second = hold(folder)
    assert second is not None
    os.close(second)


def test_a_link_in_place_of_the_state_is_not_followed(tmp_path: Path) -> None:
    folder = folder_of("one")
    make_folder(folder)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    Path(folder.lock).symlink_to(victim)
    with pytest.raises(Sm120kitError, match="symbolic"):
        hold(folder)
    assert victim.read_text() == "mine"


def test_a_long_name_is_not_repeated_whole() -> None:
    with pytest.raises(Sm120kitError, match="no name for a fleet") as refused:
        folder_of("a" * 100_000)
    assert len(refused.value.message) < 150
