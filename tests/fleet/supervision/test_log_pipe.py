"""What a server writes arrives whole, without secrets, and never keeps the server waiting."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from sm120kit.fleet.supervision.log_pipe import LogPipe
from sm120kit.fleet.supervision.secrets import Redactor, secret_values


def written(path: Path, *pieces: bytes, secrets: tuple[str, ...] = ()) -> tuple[bytes, list[str]]:
    """The log and the lines told, after a server has written these pieces."""
    lines: list[str] = []

    async def run() -> None:
        pipe = LogPipe(str(path), Redactor(secrets), lines.append)
        for piece in pieces:
            os.write(pipe.writer, piece)
            await asyncio.sleep(0.01)
        pipe.close()

    asyncio.run(run())
    return path.read_bytes(), lines


def test_lines_come_whole_however_they_were_written(tmp_path: Path) -> None:
    log, lines = written(tmp_path / "log", b"one\ntw", b"o\n\nthr", b"ee")
    assert log == b"one\ntwo\n\nthree\n"
    assert lines == ["one", "two", "", "three"]


def test_a_progress_bar_is_followed_while_it_moves(tmp_path: Path) -> None:
    log, lines = written(tmp_path / "log", b"\rLoading: 1/4", b"\rLoading: 2/4", b"\rLoading: 4/4\nend\n")
    assert log == b"\rLoading: 1/4\rLoading: 2/4\rLoading: 4/4\nend\n"
    assert lines[:2] == ["Loading: 1/4", "Loading: 2/4"]
    assert lines[-1] == "end"


def test_bytes_that_are_no_text_stay_what_they_are(tmp_path: Path) -> None:
    raw = bytes(set(range(256)) - {10})
    log, _ = written(tmp_path / "log", raw + b"\n")
    assert log == raw + b"\n"


def test_a_line_without_end_is_cut_and_not_kept_in_memory(tmp_path: Path) -> None:
    count = 40
    log, lines = written(tmp_path / "log", *(b"x" * 60_000 for _ in range(count)))
    assert log.count(b"x") == 60_000 * count
    assert max(map(len, lines)) <= (1 << 20) + 65536


def test_known_secrets_and_those_of_a_known_form_are_taken_out(tmp_path: Path) -> None:
    log, lines = written(
        tmp_path / "log",
        b"server_args=ServerArgs(model_path='/m', api_key='opensesame1')\n",
        b"loading with opensesame1 and HF_TOKEN=hf_abcdefghijklmnopqrstuvwx1\n",
        b"Decode batch, #running-req: 1, token usage: 0.00\n",
        secrets=("opensesame1",),
    )
    assert b"opensesame1" not in log
    assert b"hf_abc" not in log
    assert b"/m" in log
    assert lines[2] == "Decode batch, #running-req: 1, token usage: 0.00"


def test_short_values_are_no_secrets_that_could_be_taken_out_everywhere() -> None:
    assert Redactor(("a", "")).text("a banana") == "a banana"


def test_values_of_variables_with_telling_names_are_secrets() -> None:
    environment = {"HF_TOKEN": "x1", "MY_API_KEY": "x2", "DB_PASSWORD": "x3", "PATH": "/bin", "CUDA_HOME": "/c"}
    assert set(secret_values(environment)) == {"x1", "x2", "x3"}


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    """As on a full disk."""
    lines: list[str] = []
    failures: list[str] = []

    async def run() -> None:
        pipe = LogPipe("/dev/full", Redactor(()), lines.append, failures.append)
        for line in (b"one\n", b"two\n"):
            os.write(pipe.writer, line)
            await asyncio.sleep(0.01)
        pipe.close()

    asyncio.run(run())
    assert lines == ["one", "two"]
    assert len(failures) == 1, "it is said once"
    assert "No space left" in failures[0]


def test_a_flood_neither_blocks_the_writer_nor_loses_a_line(tmp_path: Path) -> None:
    lines: list[str] = []
    count = 50_000

    async def run() -> None:
        pipe = LogPipe(str(tmp_path / "log"), Redactor(()), lines.append)
        code = f"for number in range({count}): print(number)"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=pipe.writer)
        pipe.hand_over()
        while process.poll() is None:
            await asyncio.sleep(0.01)
        pipe.close()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert lines == [str(number) for number in range(count)]


def test_one_that_writes_on_and_on_does_not_keep_the_end_waiting(tmp_path: Path) -> None:
    async def run() -> float:
        pipe = LogPipe(str(tmp_path / "log"), Redactor(()), lambda _: None)
        with subprocess.Popen(["timeout", "10", "yes"], stdout=pipe.writer) as flood:
            pipe.hand_over()
            await asyncio.sleep(0.2)
            begun = time.monotonic()
            pipe.close()
            took = time.monotonic() - begun
            flood.kill()
        return took

    assert asyncio.run(run()) < 8
