"""Where repairs are kept: folders of any name, without the option, several of them, and what is pruned."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.fix.conftest import EMPTY, Fix
from tests.pictures import picture
from tests.tiny_toolkit import Tiny, make_tiny_toolkit

# Where things lie


@pytest.mark.parametrize("name", ["it's one; #1 & (2), ü\nback\\slash", "-dash"])
def test_a_data_folder_of_any_name(sm120kit: Command, tiny: Tiny, tmp_path: Path, name: str) -> None:
    fix = Fix(sm120kit, tiny, tmp_path / name)
    data = fix.applied()
    done = subprocess.run(
        ["sh", "-euc", '. "$1"; printf "%s" "$CUDA_HOME"', "sh", data["env_script"]],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == data["plan"]["current"]
    assert fix("--apply").code == 0
    assert fix.run("undo").code == 0


@pytest.mark.parametrize("name", ['"', "$HOME", "`id`", "a:b"])
def test_a_data_folder_in_which_nvcc_finds_nothing(sm120kit: Command, tiny: Tiny, tmp_path: Path, name: str) -> None:
    answer = Fix(sm120kit, tiny, tmp_path / name)("--apply")
    assert answer.code == 2
    assert "cannot hold a toolkit of links" in answer.err


def test_a_umask_that_shuts_others_out(fix: Fix) -> None:
    before = os.umask(0o077)
    try:
        fix.applied()
    finally:
        os.umask(before)
    modes = {path: state[1] for path, state in fix.written().items() if isinstance(state[1], int)}
    assert {oct(mode) for path, mode in modes.items() if path.count("/") > 1 and not path.endswith(".so")} <= {
        "0o755", "0o644",
    }  # fmt: skip
    assert fix.run("undo").code == 0


@pytest.mark.parametrize("xdg", ["absolute", "relative", "unset"])
def test_where_repairs_are_kept_without_the_option(
    sm120kit: Command, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, xdg: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME")
    if xdg == "absolute":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    elif xdg == "relative":
        monkeypatch.setenv("XDG_DATA_HOME", "data")
    target = ["--no-system-toolkits", "--site-packages", str(tiny.site_packages), "--cuda-home", str(tiny.cuda_home)]
    assert sm120kit("fix", "--apply", *target).code == 0
    expected = tmp_path / ("xdg" if xdg == "absolute" else "home/.local/share")
    assert (expected / "sm120kit/targets").is_dir()
    assert sm120kit("undo").code == 0


def test_without_a_home(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert fix("--apply").code == 0


def test_views_of_a_target_that_went_are_pruned(fix: Fix, tmp_path: Path) -> None:
    other = Fix(fix.sm120kit, make_tiny_toolkit(tmp_path / "other"), fix.data_dir)
    view = other.applied()["plan"]["view"]
    fix.applied()
    kept = picture(fix.data_dir)
    assert "Nothing to remove" in fix.run("toolkits", "--prune").out or "can be removed" not in fix.run("toolkits").out
    shutil.rmtree(tmp_path / "other")
    shown = fix.run("toolkits", "--prune")
    assert "its target is gone" in shown.out
    assert picture(fix.data_dir) == kept
    assert fix.run("toolkits", "--prune", "--apply").code == 0
    assert not Path(view).exists()
    assert fix.run("toolkits", "--prune", "--apply", "--json").code == 0
    assert fix.json("--apply")["plan"]["steps"] == []
    assert fix.run("undo").code == 0
    assert set(fix.written()) == EMPTY


def test_a_view_whose_sources_changed_is_composed_anew(fix: Fix) -> None:
    first = fix.applied()["plan"]["view"]
    library = fix.tiny.cuda_home / "nvvm/libdevice/libdevice.10.bc"
    library.write_bytes(b"CB")
    answer = fix.json()
    assert [each["check"] for each in answer["before"]] == ["repair.view-stale"]
    second = fix.applied()["plan"]["view"]
    assert second != first
    links = {path.name: os.readlink(path) for path in Path(second).rglob("*") if path.is_symlink()}
    assert links["nvcc"] == str(fix.tiny.cuda_home / "bin/nvcc")
    assert not any(str(fix.data_dir) in link for link in links.values())
    assert fix("--apply").code == 0
    assert fix.json()["plan"]["steps"] == []
    # The view before stays, since undoing the second repair returns to it.
    pruned = " ".join(fix.run("toolkits", "--prune").out.split())
    assert pruned.startswith(
        "Nothing can be removed. Each of the 2 toolkits is live, or undoing a repair returns to it"
    )
    assert fix.run("toolkits", "--prune", "--apply").code == 0
    assert fix.run("undo").code == 0
    assert Path(fix.json()["plan"]["current"] or first).exists()
    assert Path(first).is_dir()
    assert not Path(second).exists()


def test_a_view_that_lost_a_link_is_composed_anew(fix: Fix) -> None:
    first = Path(fix.applied()["plan"]["view"])
    (first / "lib64/libcudart.so").unlink()
    answer = fix.json()
    [stale] = [each for each in answer["before"] if each["check"] == "repair.view-stale"]
    assert stale["severity"] == "error"
    assert [each["where"] for each in stale["evidence"]] == [str(first / "lib64/libcudart.so")]
    second = Path(fix.applied()["plan"]["view"])
    assert second != first
    assert (second / "lib64/libcudart.so").exists()
    assert fix.json()["before"] == []


def test_a_header_that_is_gone_behind_a_view_is_missed(fix: Fix) -> None:
    view = fix.applied()["plan"]["view"]
    (fix.tiny.cuda_home / "include/cuda_pipeline.h").unlink()
    [stale] = fix.json()["before"]
    assert (stale["check"], stale["severity"]) == ("repair.view-stale", "warning")
    assert fix().code == 1, "a plan to carry out is something left to repair"
    assert [each["where"] for each in stale["evidence"]] == [str(fix.tiny.cuda_home / "include/cuda_pipeline.h")]
    after = Path(fix.applied()["plan"]["view"])
    assert str(after) != view
    assert not (after / "include/cuda_pipeline.h").is_symlink()


def test_two_data_folders_know_nothing_of_each_other(fix: Fix, tmp_path: Path) -> None:
    first = fix.applied()["plan"]["view"]
    second = Fix(fix.sm120kit, fix.tiny, tmp_path / "second")
    os.environ["CUDA_HOME"] = fix.json()["plan"]["current"] or first
    view = second.applied()["plan"]["view"]
    links = [os.readlink(path) for path in Path(view).rglob("*") if path.is_symlink()]
    assert not any(str(fix.data_dir) in link for link in links)


def test_the_command_as_a_program(fix: Fix) -> None:
    command = [sys.executable, "-m", "sm120kit", "fix", "--apply", *fix.target, "--data-dir", str(fix.data_dir)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
