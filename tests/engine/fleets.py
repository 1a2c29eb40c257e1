"""Fleets of genuine servers on the CPU, launched by the command line as a person would, and ended whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sm120kit.fleet.state import folder_of, load_fleet
from sm120kit.fleet.supervising import stop
from sm120kit.fleet.types import Fleet
from sm120kit.smoke.tiny_model import write_tiny_model
from tests.engine.servers import ON_THE_CPU, cpu_environment
from tests.engine.venvs import interpreter
from tests.fleet.rehearsing import free_ports, story

LIMIT_S = 420.0
"""What any step may take on a machine that does other things."""


class Launched(NamedTuple):
    """One fleet."""

    name: str
    ports: tuple[int, ...]
    process: subprocess.Popen[str]

    def state(self) -> Fleet | None:
        """As it was written last."""
        return load_fleet(folder_of(self.name))

    def until(self, seen: Callable[[Fleet], bool], limit_s: float = LIMIT_S) -> Fleet:
        """Wait until its state is such."""
        limit = time.monotonic() + limit_s
        while True:
            fleet = self.state()
            if fleet and seen(fleet):
                return fleet
            assert time.monotonic() < limit, story(fleet) if fleet else "it never had a state"
            time.sleep(0.1)

    def finished(self) -> tuple[int, str, str]:
        """Exit code and outputs of the command, when it has ended."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err


@contextmanager
def launched(
    version: str, home: Path, count: int, *options: str, arguments: Sequence[str] = (), name: str = "genuine"
) -> Iterator[Launched]:
    """``sm120kit launch`` for so many servers on the CPU, at work."""
    model = write_tiny_model(home / "model")
    ports = free_ports(2 * count)
    command = [
        *(sys.executable, "-m", "sm120kit", "launch", str(model), "--name", name, "--replicas", str(count)),
        *("--python", str(interpreter(version)), "--gpus", "none", "--no-system-toolkits"),
        *("--base-port", str(ports[0]), "--base-nccl-port", str(ports[count]), *options),
        *("--", *ON_THE_CPU, "--max-running-requests", "4", "--mem-fraction-static", "0.1"),
        *("--max-total-tokens", "8192", "--context-length", "2048", *arguments),
    ]
    states = {key: value for key, value in os.environ.items() if key.startswith("XDG_")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=cpu_environment(home) | states,
    )
    try:
        yield Launched(name, tuple(ports[:count]), process)
    finally:
        stop(folder_of(name), 30)
        process.kill()
        process.communicate()


def chat(port: int, limit_s: float = 60) -> dict[str, Any]:
    """One short answer of a server."""
    question = {"model": "any", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(question).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=limit_s) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
