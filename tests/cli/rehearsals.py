"""Launches of stand-ins through the command line: ports, folders, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0


def free_ports(number: int) -> tuple[int, int]:
    """The first of ``number`` ports that follow each other and that nobody has, twice: for HTTP and for NCCL."""
    begin = 20000 + os.getpid() % 290 * 40  # so that tests that run side by side do not reach for the same ones
    found: list[int] = []
    for base in range(begin, 32000, 20):
        with ExitStack() as stack:
            try:
                for port in range(base, base + number):
                    taken = stack.enter_context(socket.socket())
                    taken.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(base)
        if len(found) == 2:
            return found[0], found[1]
    raise AssertionError("no ports are free")


def rehearsal(*words: str, replicas: int = 2, name: str = "drill", load_s: float = 0.2) -> list[str]:
    """The words of a launch of stand-ins that load fast."""
    base, nccl = free_ports(replicas)
    return [
        *("launch", "--rehearse", "--name", name, "--gpu", f"rtx-pro-6000x{replicas}", "--load-s", str(load_s)),
        *("--base-port", str(base), "--base-nccl-port", str(nccl), *words),
    ]


class Running:
    """A command in a process of its own; what it says on standard error can be read at any time."""

    def __init__(self, words: list[str], environment: dict[str, str], said: IO[bytes]) -> None:
        self._said = said
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sm120kit", *words],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,
        )

    def finish(self, number: signal.Signals | None = None) -> tuple[int, str, str]:
        """Send it a signal, wait for its end: exit code, standard output, standard error."""
        if number is not None:
            self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out.decode(), self.said()

    def said(self) -> str:
        """Standard error so far."""
        return os.pread(self._said.fileno(), 1 << 20, 0).decode()

    def stands_by(self) -> None:
        """Wait until its servers are verified and it has said so."""
        until(lambda: "runs as long as this command does" in self.said())


@contextmanager
def running(words: list[str], **variables: str) -> Iterator[Running]:
    """The command, ended at the end of the block."""
    with TemporaryFile() as said:
        command = Running(words, {**os.environ, **variables}, said)
        try:
            yield command
        finally:
            if command.process.poll() is None:
                command.process.kill()
            command.process.communicate(timeout=LIMIT_S)


def state(home: Path, name: str = "drill") -> dict[str, Any] | None:
    """The state file of a fleet, as it lies there."""
    try:
        fleet: dict[str, Any] = json.loads((home / "sm120kit" / "fleets" / name / "state.json").read_bytes())
    except FileNotFoundError:
        return None
    return fleet


def until(condition: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """What the condition gives once it is true."""
    limit = time.monotonic() + limit_s
    while time.monotonic() < limit:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not so within {limit_s:g} s")


def left_over(home: Path) -> list[str]:
    """Command lines of living processes that belong to a fleet of this state folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        of_a_fleet = b"sm120kit.fleet" in words or b"SM120KIT_FLEET=" in environment
        if of_a_fleet and os.fsencode(f"XDG_STATE_HOME={home}\0") in environment and words:
            found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found
