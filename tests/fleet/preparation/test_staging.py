"""Copies of a model on a RAM disk: whole or not there, made once, and made anew when the model changed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.preparation import staging
from sm120kit.fleet.preparation.staging import MARKER, missing_bytes, read_marker, stage_model, staged_path

MIB = 1 << 20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "Qwen"
    (folder / "parts").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(os.urandom(3 * MIB))
    (folder / "parts" / "more.bin").write_bytes(b"more")
    (folder / ".git").mkdir()
    (folder / ".git" / "huge").write_bytes(b"not a part of the model")
    return folder


def test_the_whole_model_is_copied(source: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    place = Path(stage_model(str(source), str(tmp_path / "ram"), lambda done, whole: told.append((done, whole))))
    assert place == Path(staged_path(str(tmp_path / "ram"), str(source)))
    copied = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert copied == {"config.json", "model.safetensors", "parts/more.bin", MARKER}
    assert (place / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    assert told[-1] == (3 * MIB + 6, 3 * MIB + 6)
    assert missing_bytes(str(tmp_path / "ram"), str(source)) == 0


def test_a_copy_that_fits_is_used_again(source: Path, tmp_path: Path) -> None:
    place = Path(stage_model(str(source), str(tmp_path / "ram")))
    before = (place / "model.safetensors").stat().st_ino
    told: list[int] = []
    assert stage_model(str(source), str(tmp_path / "ram"), lambda done, _: told.append(done)) == str(place)
    assert (place / "model.safetensors").stat().st_ino == before
    assert not told


@pytest.mark.parametrize("change", ["size", "time", "another file", "copy"])
def test_a_copy_that_no_longer_fits_is_made_anew(source: Path, tmp_path: Path, change: str) -> None:
    place = Path(stage_model(str(source), str(tmp_path / "ram")))
    weights = source / "model.safetensors"
    if change == "size":
        weights.write_bytes(b"less")
    elif change == "time":
        os.utime(weights, (1, 1))
    elif change == "another file":
        (source / "tokenizer.json").write_text("{}")
    else:
        os.truncate(place / "model.safetensors", 5)
    assert missing_bytes(str(tmp_path / "ram"), str(source)) > 0
    stage_model(str(source), str(tmp_path / "ram"))
    assert (place / "model.safetensors").read_bytes() == weights.read_bytes()
    assert missing_bytes(str(tmp_path / "ram"), str(source)) == 0


def test_links_of_a_snapshot_of_the_hub_are_followed(tmp_path: Path) -> None:
    repository = tmp_path / "models--Qwen--Qwen3-8B"
    snapshot = repository / "snapshots" / ("b" * 40)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "1").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/1")
    place = Path(stage_model(str(snapshot), str(tmp_path / "ram")))
    assert place.name.startswith("models--Qwen--Qwen3-8B-")
    assert not (place / "config.json").is_symlink()
    assert (place / "config.json").read_text() == "{}"


def test_links_to_folders_are_followed_and_never_round(source: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "vocab.json").write_text("{}")
    (source / "tokenizer").symlink_to(tmp_path / "elsewhere")
    (source / "round").symlink_to(source)
    place = Path(stage_model(str(source), str(tmp_path / "ram")))
    assert (place / "tokenizer" / "vocab.json").read_text() == "{}"
    assert not (place / "round").exists()


def test_a_name_that_is_no_text(source: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(source) + b"/\xff.bin")).touch()
    with pytest.raises(Sm120kitError, match=r"not UTF-8: \\xff\.bin"):
        stage_model(str(source), str(tmp_path / "ram"))


def test_a_link_that_leads_nowhere_is_named(source: Path, tmp_path: Path) -> None:
    (source / "gone.safetensors").symlink_to("/not/mounted")
    with pytest.raises(Sm120kitError, match=r"gone\.safetensors cannot be read"):
        stage_model(str(source), str(tmp_path / "ram"))
    assert not (tmp_path / "ram").exists()


def test_too_little_room(source: Path, tmp_path: Path) -> None:
    with (source / "model.safetensors").open("r+b") as file:
        file.truncate(1 << 43)
    with pytest.raises(Sm120kitError, match="has room for") as refused:
        stage_model(str(source), str(tmp_path / "ram"))
    assert refused.value.exit_code == 4
    assert not [path for path in (tmp_path / "ram").iterdir() if path.is_dir()]


def test_a_disk_that_fills_up_on_the_way_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    monkeypatch.setattr(staging, "_copy_file", full)
    with pytest.raises(Sm120kitError, match="No space left"):
        stage_model(str(source), str(tmp_path / "ram"))
    assert not [path for path in (tmp_path / "ram").iterdir() if path.is_dir()]


def test_a_model_that_changes_while_it_is_copied(source: Path, tmp_path: Path) -> None:
    def change(_done: int, _whole: int) -> None:
        (source / "late.txt").write_text("x")

    with pytest.raises(Sm120kitError, match="was changed while it was copied"):
        stage_model(str(source), str(tmp_path / "ram"), change)
    assert read_marker(staged_path(str(tmp_path / "ram"), str(source))) is None


SLOW = """
import sys, time
from sm120kit.fleet.preparation.staging import stage_model
def progress(done, whole):
    print(done, flush=True)
    time.sleep(float(sys.argv[3]))
print(stage_model(sys.argv[1], sys.argv[2], progress), flush=True)
"""


def copier(source: Path, ram: Path, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, str(source), str(ram), str(pause)], stdout=subprocess.PIPE, text=True
    )


def test_a_copy_that_was_killed_is_cleared_away_by_the_next(source: Path, tmp_path: Path) -> None:
    ram = tmp_path / "ram"
    with copier(source, ram, 30) as process:
        assert process.stdout is not None
        process.stdout.readline()
        place = Path(staged_path(str(ram), str(source)))
        assert Path(f"{place}.part").is_dir()
        process.send_signal(signal.SIGKILL)
    assert not place.exists()
    assert Path(f"{place}.part").is_dir(), "nobody could clear it away"
    stage_model(str(source), str(ram))
    assert not Path(f"{place}.part").exists()
    assert read_marker(str(place)) is not None


def test_two_at_once_make_one_copy(source: Path, tmp_path: Path) -> None:
    ram = tmp_path / "ram"
    with copier(source, ram, 0.2) as first:
        assert first.stdout is not None
        first.stdout.readline()
        told: list[int] = []
        place = stage_model(str(source), str(ram), lambda done, _: told.append(done))
        assert first.stdout.read().splitlines()[-1] == place
    assert not told, "the second waited and found the copy there"


def test_waiting_for_another_ends(source: Path, tmp_path: Path) -> None:
    ram = tmp_path / "ram"
    ready, done = threading.Event(), threading.Event()

    def hold(_copied: int, _whole: int) -> None:
        ready.set()
        done.wait(10)

    holder = threading.Thread(target=stage_model, args=(str(source), str(ram), hold))
    holder.start()
    try:
        assert ready.wait(10)
        begin = time.monotonic()
        with pytest.raises(Sm120kitError, match="another process has been copying"):
            stage_model(str(source), str(ram), limit_s=0.3)
        assert time.monotonic() - begin < 5
    finally:
        done.set()
        holder.join()


def test_a_place_that_cannot_be_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Sm120kitError, match="could not be copied") as refused:
        stage_model(str(source), str(tmp_path / "file" / "ram"))
    assert refused.value.exit_code == 4
