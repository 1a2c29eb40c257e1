"""Programs that are missing, hang, crash, talk nonsense or without end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from pytest_subprocess import FakeProcess

from sm120kit.snapshot.runner import OUTPUT_LIMIT, DidNotAnswer, Ran, RunFailure, end_all, run
from tests.snapshot.targets import context, program


def start(*command: str, limit_s: float = 10.0) -> Ran:
    return run(command, environment={"PATH": "/usr/bin:/bin"}, limit_s=limit_s)


def python(code: str, limit_s: float = 10.0) -> Ran:
    return start(sys.executable, "-I", "-S", "-c", code, limit_s=limit_s)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, limit_s: float = 5.0) -> bool:
    end = time.monotonic() + limit_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


class TestStoodIn:
    """What no real program does on demand, through pytest-subprocess."""

    def test_garbage_that_is_not_utf8_is_kept_as_text(self, fp: FakeProcess) -> None:
        fp.register(["nvcc", "--version"], stdout=b"\xff\xfe\x00release 13.0", stderr=b"\x80", returncode=3)
        ran = start("nvcc", "--version")
        assert ran == Ran(("nvcc", "--version"), 3, "\ufffd\ufffd\x00release 13.0", "\ufffd")

    def test_a_flood_is_cut(self, fp: FakeProcess) -> None:
        fp.register(["c++", "-v"], stdout=b"x" * (OUTPUT_LIMIT * 40), stderr=b"y" * (OUTPUT_LIMIT + 1))
        ran = start("c++", "-v")
        assert (ran.stdout, ran.stderr) == ("x" * OUTPUT_LIMIT, "y" * OUTPUT_LIMIT)

    def test_a_silent_program_that_fails(self, fp: FakeProcess) -> None:
        fp.register(["ld"], returncode=-11)
        assert start("ld") == Ran(("ld",), -11, "", "")

    def test_a_program_that_does_not_end(self, fp: FakeProcess) -> None:
        fp.register(["nvcc"], wait=30)
        with pytest.raises(DidNotAnswer, match=r"nvcc did not answer within 0\.2 s"):
            start("nvcc", limit_s=0.2)


def test_a_missing_program_is_one_sentence() -> None:
    with pytest.raises(RunFailure, match=r"^/no/such/nvcc cannot be started: No such file or directory$"):
        start("/no/such/nvcc")


def test_a_file_without_execute_permission(tmp_path: Path) -> None:
    (tmp_path / "nvcc").write_text("#!/bin/sh\n")
    with pytest.raises(RunFailure, match="Permission denied"):
        start(str(tmp_path / "nvcc"))


def test_a_text_file_with_an_execute_bit(tmp_path: Path) -> None:
    with pytest.raises(RunFailure, match="Exec format error"):
        start(str(program(tmp_path / "nvcc", "no program\n")))


@pytest.mark.parametrize("argument", ["nul\0byte", "lone \udfff surrogate"])
def test_an_argument_that_cannot_be_passed(argument: str) -> None:
    with pytest.raises(RunFailure):
        start("/bin/echo", argument)


def test_a_real_flood_blocks_nobody() -> None:
    ran = python("import os\nfor _ in range(64): os.write(1, b'o' * 65536); os.write(2, b'e' * 65536)")
    assert (ran.returncode, len(ran.stdout), len(ran.stderr)) == (0, OUTPUT_LIMIT, OUTPUT_LIMIT)


def test_there_is_nothing_to_read_on_standard_input() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_only_the_environment_given_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    assert "secret" not in start("/usr/bin/env").stdout


def test_a_hang_ends_with_all_its_children(tmp_path: Path) -> None:
    marks = tmp_path / "pids"
    code = f"sleep 60 & echo $! >> {marks}; echo $$ >> {marks}; trap '' TERM; wait"
    began = time.monotonic()
    with pytest.raises(DidNotAnswer, match="did not answer within 1 s"):
        start("/bin/sh", "-c", code, limit_s=1.0)
    assert time.monotonic() - began < 4.0
    pids = [int(line) for line in marks.read_text().split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_what_a_program_leaves_behind_ends_too(tmp_path: Path) -> None:
    marks = tmp_path / "pids"
    began = time.monotonic()
    start("/bin/sh", "-c", f"sleep 60 & echo $! > {marks}; echo done")
    assert time.monotonic() - began < 4.0
    assert gone(int(marks.read_text()))


def test_all_that_is_at_work_can_be_ended(tmp_path: Path) -> None:
    mark, failures = tmp_path / "pid", []

    def work() -> None:
        ran = start("/bin/sh", "-c", f"echo $$ > {mark}; exec sleep 60", limit_s=30.0)
        failures.append(ran.returncode)

    thread = threading.Thread(target=work)
    thread.start()
    while not (mark.exists() and mark.read_text().strip()):
        time.sleep(0.01)
    deadline = time.monotonic() + 10.0
    while thread.is_alive() and time.monotonic() < deadline:
        end_all()  # the program may be at work before the thread that started it knows its number
        thread.join(0.05)
    assert failures == [-signal.SIGKILL]


class TestContext:
    """Starting programs of a target."""

    def test_nothing_runs_inside_an_unpacked_image(self, tmp_path: Path) -> None:
        mark = tmp_path / "ran"
        program(tmp_path / "usr/bin/nvcc", f"#!/bin/sh\ntouch {mark}\n")
        image = context(root=tmp_path)
        assert image.which("nvcc") == "/usr/bin/nvcc"
        with pytest.raises(RunFailure, match="nothing is executed inside an unpacked image"):
            image.run(["/usr/bin/nvcc"])
        assert not mark.exists()

    def test_the_variables_of_the_target_reach_the_program(self) -> None:
        target = context(environment={"PATH": "/usr/bin:/bin", "CUDA_HOME": "/opt/cuda"})
        ran = target.run(["/usr/bin/env"], extra_environment={"LC_ALL": "C"})
        assert sorted(ran.stdout.split()) == ["CUDA_HOME=/opt/cuda", "LC_ALL=C", "PATH=/usr/bin:/bin"]

    def test_a_fifo_is_not_started(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "nvcc", 0o755)
        with pytest.raises(RunFailure, match="not a regular file"):
            context().run([str(tmp_path / "nvcc")])

    def test_which_follows_path_and_keeps_its_spelling(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(program(tmp_path / "relative/nvcc").parents[1])
        real = program(tmp_path / "cuda-13.0/bin/nvcc")
        (tmp_path / "cuda").symlink_to("cuda-13.0")
        (tmp_path / "plain").mkdir()
        (tmp_path / "plain/nvcc").write_text("not executable")
        (tmp_path / "folder/nvcc").mkdir(parents=True)
        folders = ["", "relative", f"{tmp_path}/plain", f"{tmp_path}/folder", f"{tmp_path}/cuda/bin/", f"{real.parent}"]
        target = context(environment={"PATH": ":".join(folders)})
        assert target.which("nvcc") == f"{tmp_path}/cuda/bin/nvcc"
        assert target.which_all("nvcc") == (f"{tmp_path}/cuda/bin/nvcc", str(real))
        assert target.which(str(real)) == str(real)
        assert target.which(f"{tmp_path}/plain/nvcc") is None
        assert target.which("ptxas") is None

    def test_without_path_the_usual_folders_are_searched(self, tmp_path: Path) -> None:
        program(tmp_path / "usr/local/bin/nvcc")
        assert context(root=tmp_path, environment={}).which("nvcc") == "/usr/local/bin/nvcc"
