"""What a person is shown of a rung, and what is kept of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.proof.flashinfer_module import flashinfer_rung
from sm120kit.proof.scratch import command_shown, open_kept, output_shown, scratch_folder
from sm120kit.proof.types import Rung

COPY = Rung("link", ("tvm-ffi", "a b"), "", ("cp", "{scratch}/from", "{scratch}/to"), {"from": "text\n"})


def test_a_command_that_can_be_typed() -> None:
    assert command_shown(COPY) == "cp from to"
    assert output_shown("/tmp/x/linked.cpp:1: error; in /tmp/x", "/tmp/x") == "linked.cpp:1: error; in ."
    shown = command_shown(flashinfer_rung("norm", "/venv/bin/python", "12.0a"))
    assert shown.startswith(
        'FLASHINFER_WORKSPACE_BASE="$PWD" FLASHINFER_CUDA_ARCH_LIST=12.0a HOME="$PWD" /venv/bin/python '
    )


def test_what_is_kept_runs_by_hand(tmp_path: Path) -> None:
    kept = open_kept(str(tmp_path / "proof"))
    with scratch_folder(COPY, kept) as folder:
        assert Path(folder).name == "link-tvm-ffi-a-b"
    subprocess.run(["sh", f"{folder}/run.sh"], check=True, cwd="/")
    assert Path(folder, "to").read_text() == "text\n"
    with pytest.raises(Sm120kitError, match="is not empty"):
        open_kept(kept.folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(Sm120kitError, match="cannot be used"):
        open_kept(str(tmp_path / "file"))


def test_what_is_not_kept_is_gone() -> None:
    with scratch_folder(COPY, None) as folder:
        assert Path(folder, "from").is_file()
    assert not Path(folder).exists()
