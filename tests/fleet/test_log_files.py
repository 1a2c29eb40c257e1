"""Logs of a fleet, read from their end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm120kit.fleet.log_files import Tail, starts
from sm120kit.fleet.types import ProcessId
from tests.fleets import fleet, replica


def test_the_starts_of_one_replica_in_this_launch(tmp_path: Path) -> None:
    for name in (
        "replica-1-20261129T210000-77-1.log",
        "replica-1-20261129T210100-77-2.log",
        "replica-1-20261129T220000-77-10.log",
        "replica-1-20261128T210000-66-1.log",
        "replica-11-20261129T210000-77-1.log",
        "notes.txt",
    ):
        (tmp_path / name).touch()
    one = replica(1, log=str(tmp_path / "replica-1-20261129T220000-77-10.log"))
    found = starts(fleet(one, supervisor=ProcessId(77, 1, "boot")), one)
    assert list(found) == [1, 2, 10]
    assert found[2] == str(tmp_path / "replica-1-20261129T210100-77-2.log")


def test_a_folder_that_is_gone_has_no_starts(tmp_path: Path) -> None:
    one = replica(1, log=str(tmp_path / "gone" / "x.log"))
    assert starts(fleet(one), one) == {}


@settings(max_examples=60)
@given(
    lines=st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=12),
    ended=st.booleans(),
    wanted=st.integers(0, 14),
)
def test_the_last_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool, wanted: int) -> None:
    path = tmp_path_factory.mktemp("log") / "x.log"
    raw = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path.write_bytes(raw)
    everything = [line.decode("utf-8", "surrogateescape") for line in raw.split(b"\n")]
    if everything[-1] == "":
        everything.pop()
    tail = Tail(str(path), wanted)
    try:
        assert [*tail.lines(), *tail.rest()] == (everything[-wanted:] if wanted else [])
    finally:
        tail.close()


def test_lines_that_come_later_are_given_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"old\n" * 100_000 + b"last\n")
    tail = Tail(str(path), 1)
    with path.open("ab") as log:
        assert list(tail.lines()) == ["last"]
        log.write(b"half")
        log.flush()
        assert list(tail.lines()) == []
        log.write(b" and half\nnext")
        log.flush()
        assert list(tail.lines()) == ["half and half"]
        assert list(tail.rest()) == ["next"]
    tail.close()


def test_what_is_no_file_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match=r"no file|directory"):
            Tail(str(path), 5)
