"""The state of a fleet is private, whole at any time, and refused where it is none."""

from __future__ import annotations

import os
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
    assert folder.path in caught.value.hint


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
    with pytest.raises(OSError, match="symbolic"):
        hold(folder)
    assert victim.read_text() == "mine"
