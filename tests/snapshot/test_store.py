"""Saving and loading snapshots, whoever wrote the file and however it was cut."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.store import SIZE_LIMIT, dump_snapshot, load_snapshot, parse_snapshot
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.text import encode_json
from tests.builders import flashinfer, no_driver, snapshot, toolkit
from tests.reports import ok, report

WHOLE = snapshot(consumers=(flashinfer(),), toolkits=(toolkit(), toolkit("/usr/local/cuda-13.2", "13.2")))


def refused(data: bytes) -> Sm120kitError:
    """The error of reading ``data``."""
    with pytest.raises(Sm120kitError) as caught:
        parse_snapshot(data, "given.json")
    assert caught.value.exit_code == TARGET_UNREADABLE
    assert "given.json" in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("taken", [snapshot(), WHOLE, snapshot(driver=no_driver())])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, taken: Snapshot) -> None:
    path = tmp_path / "monday.json"
    path.write_bytes(dump_snapshot(taken))
    assert load_snapshot(str(path)) == taken


def test_a_name_that_is_no_utf8_can_be_saved_and_loaded() -> None:
    taken = replace(WHOLE, environment={"CUDA_HOME": "/opt/caf\udce9"})
    assert parse_snapshot(dump_snapshot(taken), "x").environment == {"CUDA_HOME": "/opt/caf\\xe9"}


def test_a_file_cut_short_anywhere_is_one_line() -> None:
    data = dump_snapshot(snapshot()).rstrip()
    for length in range(1, len(data), 97):
        refused(data[:length])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"not json", "no JSON"),
        (b"\x7fELF\x02\x01\x01", "no JSON"),
        (b"[1, 2]", "no snapshot"),
        (b'"text"', "no snapshot"),
        (b"{}", "no snapshot of sm120kit"),
        (b'{"schema": 5}', "no snapshot of sm120kit"),
        (b'{"schema": "spdx/3"}', "no snapshot of sm120kit"),
        (b'{"schema": "sm120kit.snapshot/1"}', "does not fit its schema"),
        (b'{"schema": "sm120kit.snapshot/1", "tool_version": "\xff"}', "given.json"),
        (b'{"schema": "sm120kit.snapshot/1", "x": ' + b"[" * 100_000, "no snapshot"),
    ],
)
def test_something_else_is_one_line(data: bytes, said: str) -> None:
    assert said in refused(data).message


def test_a_report_is_called_a_report() -> None:
    assert "'report/1' of sm120kit, no snapshot" in refused(encode_json(report(ok()))).message


def test_a_future_schema_names_both() -> None:
    data = json.loads(dump_snapshot(snapshot()))
    data["schema"] = "sm120kit.snapshot/2"
    error = refused(json.dumps(data).encode())
    assert "sm120kit.snapshot/2" in error.message
    assert "sm120kit.snapshot/1" in error.message
    assert "newer" in error.hint


def test_a_value_of_another_type_names_its_place() -> None:
    data = json.loads(dump_snapshot(snapshot()))
    data["host"]["cpus"]["value"] = "many"
    assert "$.host.cpus" in refused(json.dumps(data).encode()).message


def test_a_field_of_a_newer_minor_version_is_passed_over() -> None:
    data = json.loads(dump_snapshot(snapshot()))
    data["something_new"] = {"deep": [1]}
    assert parse_snapshot(json.dumps(data).encode(), "x") == snapshot()


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("none", "pipe", "loop", "."):
        with pytest.raises(Sm120kitError, match="cannot be read") as caught:
            load_snapshot(str(tmp_path / name))
        assert caught.value.exit_code == TARGET_UNREADABLE


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(Sm120kitError, match="larger than 64 MiB"):
        load_snapshot(str(path))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(dump_snapshot(WHOLE))))
    assert load_snapshot("-") == WHOLE
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(Sm120kitError, match="standard input is empty"):
        load_snapshot("-")
