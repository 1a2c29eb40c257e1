"""What gets in the way of a repair: another one, the disk, a path that someone makes, an end at any write."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sm120kit.cli.main import main
from sm120kit.data_dir import open_data_dir
from sm120kit.repair.lock import locked
from tests.cli.fix.conftest import EMPTY, Fix
from tests.kills import count_writes, killed_at
from tests.pictures import picture
from tests.programs import give_up

# What stands in the way


def test_an_empty_folder_in_the_journal_is_no_damage(fix: Fix) -> None:
    fix.applied()
    empty = fix.data_dir / "journal" / "0002"
    empty.mkdir()
    said = f"{empty} is empty: a run ended before it wrote anything, and changed nothing"
    history = fix.run("history")
    assert (history.code, said in history.err) == (0, True)
    assert len(json.loads(fix.run("history", "--json").out)["repairs"]) == 1
    undone = fix.run("undo")
    assert (undone.code, said in undone.err) == (0, True), undone.err
    assert "Repair 1" in undone.out
    assert not empty.exists()
    (fix.data_dir / "journal" / "0004").mkdir()
    assert fix.applied()["applied"] == 2


def test_two_at_once_one_is_refused(fix: Fix) -> None:
    with locked(open_data_dir(str(fix.data_dir))):
        for answer in (fix("--apply"), fix.run("undo"), fix.run("toolkits", "--prune", "--apply")):
            assert answer.code == 4
            assert answer.err.splitlines()[0].endswith(f"(process {os.getpid()})")
            assert "run this again" in answer.err.splitlines()[1]
            assert answer.out == ""
    assert set(fix.written()) == EMPTY
    assert fix("--apply").code == 0


def test_the_data_folder_is_a_file(fix: Fix) -> None:
    fix.data_dir.write_text("")
    answer = fix("--apply")
    assert answer.code == 4
    assert "is not a folder" in answer.err
    assert "--data-dir" in answer.err


def test_the_data_folder_belongs_to_another_user(fix: Fix) -> None:
    if os.geteuid() != 0:
        give_up("only root can give a folder to another user")
    fix.data_dir.mkdir()
    os.chown(fix.data_dir, 12345, 12345)
    answer = fix("--apply")
    assert (answer.code, "belongs to user 12345" in answer.err) == (4, True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for the journal and not for the view."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k,nr_inodes=45", "tmpfs"]
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", *options, str(folder)], check=False, capture_output=True).returncode
    ):
        give_up("a file system can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_the_disk_is_full(fix: Fix, small_disk: Path) -> None:
    full = Fix(fix.sm120kit, fix.tiny, small_disk / "data")
    answer = full("--apply")
    assert answer.code == 4
    assert "No space left on device" in answer.err
    assert set(full.written()) <= EMPTY
    assert len(answer.err.splitlines()) == 2
    subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=1000", str(small_disk)], check=True)
    assert full("--apply").code == 0


def test_the_disk_is_read_only(fix: Fix, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=1000", str(small_disk)], check=True)
    held = Fix(fix.sm120kit, fix.tiny, small_disk / "data")
    held.applied()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for answer in (held("--apply"), held.run("undo")):
        assert answer.code == 4
        assert "Read-only file system" in answer.err
    assert held().code == 0
    assert held.run("history").code == 0
    assert held.run("prove", *held.target).code == 0


@pytest.mark.parametrize("where", ["toolkits", "targets"])
def test_a_path_that_someone_makes_meanwhile(fix: Fix, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The proof stands between what is built and what is switched: the path is made by the compiler."""
    plan = fix.json()["plan"]
    made = plan["current"] if where == "targets" else f"{plan['view']}/lib64/theirs"
    monkeypatch.setenv("PLANT", f"[ -e {shlex.quote(made)} ] || echo theirs > {shlex.quote(made)}")
    answer = fix("--apply")
    assert answer.code == (4 if where == "targets" else 0)
    if where == "targets":
        assert f"{made} became a file" in answer.err
        left = {path for path in fix.written() if path not in EMPTY}
        assert left == {os.path.relpath(made, fix.data_dir), os.path.relpath(Path(made).parent, fix.data_dir)}
    else:
        undone = fix.run("undo")
        assert undone.code == 4
        assert "cannot be taken back" in undone.err
    assert Path(made).read_text() == "theirs\n"


def _every_nth_write(fix: Fix, parts: int) -> None:
    tree = picture(fix.tiny.site_packages)
    apply = ["fix", "--apply", *fix.target, "--data-dir", str(fix.data_dir)]
    undo = ["undo", "--data-dir", str(fix.data_dir)]
    last = count_writes(partial(main, apply), str(fix.data_dir))
    assert last > 60
    state = fix.written()
    assert fix.run("undo").code == 0
    for count in _spread(last, parts):
        assert killed_at(count, partial(main, apply), str(fix.data_dir))
        answer = fix("--apply")
        assert answer.code == 0, answer.err
        assert fix.written() == state
        assert fix.run("undo").code == 0
        assert set(fix.written()) == EMPTY
    assert fix("--apply").code == 0
    last = count_writes(partial(main, undo), str(fix.data_dir))
    assert last > 30
    for count in _spread(last, parts):
        assert fix("--apply").code == 0
        assert killed_at(count, partial(main, undo), str(fix.data_dir))
        # What was cut off is finished by the next command; before the first change, the repair still stands.
        answer = fix.run("undo")
        assert answer.code in (0, 2), answer.err
        assert set(fix.written()) == EMPTY
    assert picture(fix.tiny.site_packages) == tree


def _spread(last: int, parts: int) -> list[int]:
    """Numbers of writes, and of those about the switch, which is among the last ones."""
    return sorted({1, last, last - 3, last - 6, *(last * part // parts for part in range(1, parts))} - {0})


def test_killed_in_the_middle_the_next_command_recovers(fix: Fix) -> None:
    _every_nth_write(fix, 4)


@pytest.mark.wheels
def test_killed_at_any_write_the_next_command_recovers(fix: Fix) -> None:
    """Every write there is, of the command itself: minutes."""
    _every_nth_write(fix, 10_000)
