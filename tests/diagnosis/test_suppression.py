"""The suppression file."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from sm120kit.diagnosis.suppression import covering, covers, is_expired, read_suppressions
from sm120kit.diagnosis.types import Suppression
from sm120kit.errors import USAGE, Sm120kitError

WHOLE = """
[[suppress]]
check = "toolkit.*"
subject = "/usr/local/cuda-13.0"
reason = "built with CC=gcc-13"
expires = 2027-03-01

[[suppress]]
check = "driver.too-old"
reason = "the driver is updated in March"
expires = "2027-03-31"
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "suppressions.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    assert read_suppressions(written(tmp_path, WHOLE)) == (
        Suppression("toolkit.*", "built with CC=gcc-13", "/usr/local/cuda-13.0", "2027-03-01"),
        Suppression("driver.too-old", "the driver is updated in March", "*", "2027-03-31"),
    )


def test_an_empty_file_suppresses_nothing(tmp_path: Path) -> None:
    assert read_suppressions(written(tmp_path, "")) == ()


SECOND = '[[suppress]]\ncheck = "a.b"\nreason = "r"\n[[suppress]]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SECOND + 'check = "a.b"\nreason = "r"\nexpire = 2027-01-01', ["number 2", "'expire'"]),
        (SECOND + 'check = "a.b"', ["number 2", "no reason"]),
        (SECOND + 'check = "a.b"\nreason = " "', ["number 2", "no reason"]),
        (SECOND + 'reason = "r"', ["number 2", "no check"]),
        (SECOND + 'check = 3\nreason = "r"', ["number 2", "check is not a text"]),
        (SECOND + 'check = "a.b"\nreason = "r"\nexpires = "next year"', ["number 2", "expires", "'next year'"]),
        (SECOND + 'check = "a.b"\nreason = "r"\nexpires = 2027', ["number 2", "expires", "2027"]),
        (SECOND + 'check = "a.b"\nreason = "r"\nsubject = [1]', ["number 2", "subject is not a text"]),
        ('[suppress]\ncheck = "a.b"\nreason = "r"', ["not a list of tables"]),
        ("suppress = [1]", ["number 1", "not a table"]),
        ("[[supress]]\n", ["unknown key 'supress'"]),
        ("[[suppress]\n", ["not TOML"]),
        (b"\xff\xfe", ["not TOML"]),
        (b"#" * (2 << 20), ["larger than 1 MiB"]),
    ],
)
def test_a_file_that_is_wrong_is_one_line(tmp_path: Path, text: str | bytes, said: list[str]) -> None:
    path = written(tmp_path, text)
    with pytest.raises(Sm120kitError) as caught:
        read_suppressions(path)
    assert caught.value.exit_code == USAGE
    assert "\n" not in caught.value.message
    for piece in (str(path), *said):
        assert piece in caught.value.message


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(Sm120kitError, match="cannot be read"):
            read_suppressions(path)


def test_a_line_counts_through_its_last_day() -> None:
    line = Suppression("a.b", "r", expires="2027-03-01")
    assert not is_expired(line, date(2027, 3, 1))
    assert is_expired(line, date(2027, 3, 2))
    assert not is_expired(Suppression("a.b", "r"), date(2999, 1, 1))


def test_check_and_subject_must_both_match() -> None:
    line = Suppression("toolkit.*", "r", "/usr/local/*")
    assert covers(line, "toolkit.incomplete", "/usr/local/cuda-13.0")
    assert not covers(line, "toolkit.incomplete", "/opt/cuda")
    assert not covers(line, "driver.too-old", "/usr/local/cuda-13.0")
    assert covering([Suppression("x.y", "r"), line], "toolkit.incomplete", "/usr/local/cuda") is line
    assert covering([line], "torch.cpu-only", "torch") is None


def test_a_subject_with_brackets_matches_itself() -> None:
    assert covers(Suppression("a.b", "r", "/opt/[1]/cuda"), "a.b", "/opt/[1]/cuda")


def test_a_named_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Sm120kitError, match="pipe cannot be read: not a regular file"):
        read_suppressions(tmp_path / "pipe")
