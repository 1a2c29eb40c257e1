"""Logs of a fleet, read from their end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm120kit.engines.sglang.access_lines import is_answered_request
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


@settings(max_examples=60)
@given(
    lines=st.lists(st.sampled_from([b"", b"x", b"kept", b"no" * 40_000, b"no"]), max_size=12),
    ended=st.booleans(),
    wanted=st.integers(0, 14),
)
def test_the_last_lines_that_are_kept(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool, wanted: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.log"
    path.write_bytes(b"\n".join(lines) + (b"\n" if ended and lines else b""))
    written = lines if ended or not lines or lines[-1] else lines[:-1]
    kept = [line.decode() for line in written if not line.startswith(b"no")]
    tail = Tail(str(path), wanted, lambda line: not line.startswith(b"no"))
    try:
        assert [*tail.lines(), *tail.rest()] == (kept[-wanted:] if wanted else [])
    finally:
        tail.close()


def test_lines_that_are_left_out_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    answered = b'[2026-11-29 15:28:05] INFO:     127.0.0.1:42168 - "POST /generate HTTP/1.1" 200 OK\n'
    failed = b'[2026-11-29 15:28:05] INFO:     127.0.0.1:42168 - "GET /health HTTP/1.1" 503 Service Unavailable\n'
    path.write_bytes(b"before\n" + b"phase\n" + failed + answered * 50_000)
    tail = Tail(str(path), 2, lambda line: not is_answered_request(line))
    assert [line[:5] for line in tail.lines()] == ["phase", "[2026"]
    assert tail.left_out == 50_000
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
