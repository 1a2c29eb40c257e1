"""Genuine SGLang servers on the CPU, on loopback: started for one question, ended by their id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from sm120kit.engines.sglang.client import get_json
from sm120kit.errors import Sm120kitError
from tests.engine.venvs import interpreter

START_LIMIT_S = 300.0
STOP_LIMIT_S = 20.0


class Running(NamedTuple):
    """One server that answers."""

    address: str
    log: Path


_LAST_PORT = 55_000
"""SGLang 0.5.12 takes its own port plus 10,000 for gRPC, and ends where that is no port any more."""


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port <= _LAST_PORT:
            return port


ON_THE_CPU = ("--device", "cpu", "--load-format", "dummy", "--attention-backend", "torch_native", "--sampling-backend",
              "pytorch", "--grammar-backend", "none", "--disable-cuda-graph", "--disable-overlap-schedule")  # fmt: skip
"""What makes SGLang serve without a GPU, with weights that it makes up."""


def cpu_environment(home: Path) -> dict[str, str]:
    """All variables of a server on the CPU, which reaches for nothing outside this machine."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
    }


@contextmanager
def serving(version: str, model: Path, home: Path, arguments: Sequence[str]) -> Iterator[Running]:
    """A server with these arguments, once it answers; gone afterwards with all that it started."""
    port = free_port()
    log = home / f"server-{port}.log"
    fixed = (*ON_THE_CPU, "--skip-server-warmup", "--host", "127.0.0.1", "--port", str(port))
    command = [str(interpreter(version)), "-m", "sglang.launch_server", "--model-path", str(model), *fixed, *arguments]
    environment = cpu_environment(home)
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}", log)
        yield Running(f"http://127.0.0.1:{port}", log)
    finally:
        _end(process)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        if process.poll() is not None:
            break
        try:
            get_json(address, "/v1/loads", limit_s=5)
        except Sm120kitError:
            time.sleep(1)
            continue
        return
    raise AssertionError(f"the server did not start; its log ends with:\n{log.read_text('utf-8', 'replace')[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and what it started, each by its id."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)
        _, family = psutil.wait_procs(family, timeout=STOP_LIMIT_S if number == signal.SIGTERM else 5)
    process.wait(timeout=5)
