"""Which exit code a file has that cannot be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sm120kit.errors import code_of
from tests.cli.conftest import Command

FILES = (
    ("doctor", "--env-file"),
    ("doctor", "--suppressions"),
    ("smoke", "--suppressions"),
    ("env", "--env-file"),
    ("launch", "--config"),
    ("launch", "--rehearse", "--api-key-file"),
)
TARGETS = (
    ("doctor", "--python"),
    ("doctor", "--site-packages"),
    ("doctor", "--cuda-home"),
    ("doctor", "--root"),
    ("doctor", "--image-archive"),
    ("doctor", "--snapshot"),
    ("why",),
)


@pytest.mark.parametrize(("words", "code"), [*((words, 2) for words in FILES), *((words, 4) for words in TARGETS)])
def test_a_path_that_is_not_there(sm120kit: Command, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    answer = sm120kit(*words, str(tmp_path / "nowhere"))
    assert (answer.code, answer.out) == (code, "")
    assert "nowhere" in answer.err


@pytest.mark.parametrize(("number", "code"), [(errno.ENOENT, 2), (errno.EISDIR, 2), (errno.EACCES, 4), (errno.EIO, 4)])
def test_one_that_is_there_and_cannot_be_read(number: int, code: int) -> None:
    assert code_of(OSError(number, os.strerror(number))) == code


@pytest.mark.parametrize(
    "words",
    [("doctor", "--env-file"), ("doctor", "--suppressions"), ("doctor", "--snapshot"), ("why",), ("fix", "--apply")],
)
def test_a_misspelt_file_is_answered_with_the_nearest(
    sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tmp_path / "monday.json").write_text("")
    monkeypatch.chdir(tmp_path)
    assert sm120kit(*words, "monday.jsn").err.endswith("\n  Did you mean monday.json?\n")
    assert sm120kit(*words, f"{tmp_path}/mnday.json").err.endswith(f"\n  Did you mean {tmp_path}/monday.json?\n")
