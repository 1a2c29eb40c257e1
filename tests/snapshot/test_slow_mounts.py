"""Network and fuse mounts: found in mountinfo, read in a child, given up after one silence."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.mounts import file_system_of, slow_mounts
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.slow_reader import KillableReader
from sm120kit.snapshot.types.machine import Mount
from tests.snapshot.targets import context

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /data rw,relatime shared:1 master:2 - nfs4 filer:/export rw,vers=4.2
41 40 0:41 / /data/my\\040models rw,relatime - fuse.s3fs s3fs rw,user_id=0
42 22 0:42 /proc/meminfo /proc/meminfo rw,nosuid - fuse.lxcfs lxcfs rw
43 27 0:43 / /mnt/win rw - fuseblk /dev/sdb1 rw
44 27 0:44 / /mnt/c rw - 9p drvfs rw
45 27 0:45 / /lustre rw - lustre mgs@tcp:/fs rw
46 27 0:46 / /nfsd rw - nfsd nfsd rw
47 27 0:47 / /fusectl rw - fusectl fusectl rw
"""


def test_slow_mounts_are_found_deepest_first() -> None:
    found = slow_mounts(MOUNTINFO)
    assert {mount.path: mount.file_system for mount in found} == {
        "/data": "nfs4",
        "/data/my models": "fuse.s3fs",
        "/proc/meminfo": "fuse.lxcfs",
        "/mnt/win": "fuseblk",
        "/mnt/c": "9p",
        "/lustre": "lustre",
    }
    assert found.index(Mount("/data/my models", "fuse.s3fs")) < found.index(Mount("/data", "nfs4"))


@pytest.mark.parametrize("text", ["", "\n\n", "1 2 3", "1 2 3 / /x rw", "garbage - nfs", "1 2 0:1 / - nfs a b", "\x00"])
def test_lines_of_another_form_are_passed_over(text: str) -> None:
    assert slow_mounts(text) == ()


@pytest.fixture
def reader() -> Iterator[KillableReader]:
    made = KillableReader(limit_s=5.0)
    yield made
    made.close()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the child wait for ever, as in a system call on a dead server; its number is written to a file."""
    mark, real = tmp_path / "children", subprocess.Popen
    code = f"import os, sys, time; open({str(mark)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(600)"

    def start(command: list[str], **options: Any) -> Any:
        return real([command[0], "-S", "-c", code], **options)

    monkeypatch.setattr("sm120kit.snapshot.slow_reader.subprocess.Popen", start)
    return mark


def children(mark: Path) -> list[int]:
    return [int(word) for word in mark.read_text().split()] if mark.exists() else []


def test_a_child_answers_as_this_process_would(tmp_path: Path, reader: KillableReader) -> None:
    share = tmp_path / "share"
    share.mkdir()
    odd = os.fsdecode(b"caf\xe9")
    (share / odd).write_bytes(bytes(range(256)) * 5000)
    (share / "link").symlink_to(odd)
    (share / "tool").write_text("#!/bin/sh\n")
    (share / "tool").chmod(0o755)
    (tmp_path / "into").symlink_to("share")
    slow, plain = Files("", [Mount(str(share), "nfs")], reader), Files()
    for base in (str(share), f"{tmp_path}/into", f"{tmp_path}/./share/../share"):
        for method, arguments in (
            ("read", ()), ("read", (10,)), ("text", ()), ("size", ()), ("mode", ()), ("modified", ()), ("real", ()),
            ("pieces", ([(0, 4), (300, 10), (1 << 30, 8)],)), ("link_modified", ()),
            ("is_file", ()), ("is_dir", ()), ("is_executable", ()), ("exists", ()), ("is_link", ()),
        ):  # fmt: skip
            for name in (odd, "link", "tool"):
                path = f"{base}/{name}"
                assert getattr(slow, method)(path, *arguments) == getattr(plain, method)(path, *arguments), method
        assert slow.names(base) == plain.names(base)
        assert slow.link(f"{base}/link") == odd
        assert not slow.exists(f"{base}/missing")
        with pytest.raises(FileNotFoundError):
            slow.read(f"{base}/missing")
        with pytest.raises(OSError, match="not a regular file"):
            slow.read(base)


def test_what_lies_elsewhere_starts_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sm120kit.snapshot.slow_reader.subprocess.Popen", None)
    (tmp_path / "near").write_text("here")
    files = Files("", [Mount(f"{tmp_path}/far", "nfs"), Mount(f"{tmp_path}/ne", "nfs")], KillableReader())
    assert files.text(f"{tmp_path}/near") == "here"
    assert files.real(f"{tmp_path}/near") == str(tmp_path / "near")


def test_one_silence_and_the_mount_is_left_alone(tmp_path: Path, hanging: Path) -> None:
    reader = KillableReader(limit_s=0.5)
    files = Files("", [Mount(f"{tmp_path}/dead", "nfs4"), Mount(f"{tmp_path}/other", "nfs4")], reader)
    start = time.monotonic()
    with pytest.raises(OSError, match=rf"{tmp_path}/dead did not answer") as caught:
        files.read(f"{tmp_path}/dead/file")
    assert caught.value.errno == errno.ETIMEDOUT
    for _ in range(100):
        assert not files.exists(f"{tmp_path}/dead/file")
        with pytest.raises(OSError, match="did not answer"):
            files.names(f"{tmp_path}/dead")
    assert time.monotonic() - start < 2.0
    assert len(children(hanging)) == 1, "one silence must be enough"
    with pytest.raises(OSError, match=rf"{tmp_path}/other did not answer"):
        files.read(f"{tmp_path}/other/file")
    reader.close()
    assert len(children(hanging)) == 2, "another mount deserves a question of its own"
    assert not any(Path(f"/proc/{child}").exists() for child in children(hanging))


def test_a_program_on_a_dead_mount_is_not_started(tmp_path: Path, hanging: Path) -> None:
    reader = KillableReader(limit_s=0.5)
    files = Files("", [Mount(f"{tmp_path}/dead", "fuse.sshfs")], reader)
    with pytest.raises(RunFailure, match="was not run: the network or fuse mount"):
        context(files=files).run([f"{tmp_path}/dead/bin/nvcc"])
    assert len(children(hanging)) == 1


def test_a_child_that_dies_counts_as_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    files = Files("", [Mount(str(tmp_path), "nfs")], KillableReader(limit_s=5.0))
    with pytest.raises(OSError, match="did not answer"):
        files.read(f"{tmp_path}/file")


def test_a_link_out_of_an_image_cannot_reach_a_slow_mount_of_the_host(tmp_path: Path, hanging: Path) -> None:
    image = tmp_path / "image"
    (image / "data").mkdir(parents=True)
    (image / "data/file").write_text("inside")
    (image / "link").symlink_to("/data/file")
    files = Files(str(image), [Mount("/data", "nfs")], KillableReader(limit_s=0.5))
    assert files.text("/link") == "inside"
    assert not children(hanging)


def test_the_root_itself_may_lie_on_a_slow_mount(tmp_path: Path) -> None:
    image = tmp_path / "share/image"
    (image / "etc").mkdir(parents=True)
    (image / "etc/name").write_text("inside")
    (image / "up").symlink_to("../../../../etc/name")
    reader = KillableReader(str(image), limit_s=5.0)
    files = Files(str(image), [Mount(f"{tmp_path}/share", "nfs")], reader)
    try:
        assert files.text("/up") == "inside"
        assert files.real("/up") == "/etc/name"
        assert files.names("/") == ["etc", "up"]
    finally:
        reader.close()


def test_what_a_path_lies_on() -> None:
    table = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw\n"
        "3 1 0:6 / /dev/sh rw - nfs a:/b rw\n"
        "4 2 0:7 / /dev/shm rw - ramfs none rw\n"
    )
    assert file_system_of(table, "/dev/shm/models") == "ramfs", "the later of two on one folder covers the other"
    assert file_system_of(table, "/dev/sh") == "nfs"
    assert file_system_of(table, "/dev/shmx") == "ext4"
    assert file_system_of("", "/x") == ""
