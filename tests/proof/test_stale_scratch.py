"""Scratch folders that a killed proof left are removed by the next one; those in use and those of others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sm120kit.proof.stale_scratch import PREFIX, locked_scratch, sweep

_HOLDER = """
import sys, time
from sm120kit.proof.stale_scratch import locked_scratch
with locked_scratch() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def _long_ago(folder: str | Path) -> None:
    os.utime(folder, (0, 0))


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays() -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    folder = Path(holder.stdout.readline().strip())
    _long_ago(folder)
    sweep()
    assert folder.is_dir()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    sweep()
    assert not folder.exists()


def test_what_was_made_this_moment_and_what_is_no_folder_stay(tmp_path: Path) -> None:
    young, file, link = (tmp_path / f"{PREFIX}{name}" for name in ("young", "file", "link"))
    young.mkdir()
    file.write_text("")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    _long_ago(elsewhere)
    link.symlink_to(elsewhere)
    sweep()
    assert {path.name for path in tmp_path.iterdir()} == {young.name, file.name, link.name, elsewhere.name}


def test_the_folder_goes_with_its_block() -> None:
    with locked_scratch() as folder:
        _long_ago(folder)
        sweep()
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
