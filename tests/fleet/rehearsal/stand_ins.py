"""Stand-ins started by tests, on loopback; each is gone afterwards with all that it started."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sm120kit.fleet.process.family import children
from sm120kit.fleet.rehearsal.built_in import FOLDER as MODEL
from sm120kit.fleet.rehearsal.gpus import simulated_gpus
from sm120kit.fleet.rehearsal.profile import make_profile, profile_of, write_profile
from sm120kit.fleet.spec import Expectation, FleetSpec, Rehearsal, ReplicaSpec

VERSIONS = ("0.5.12", "0.5.23")
PATIENCE_S = 20.0
"""For what must happen, on a machine that is busy with other things."""

FOOTPRINT = 80 << 30


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now, low enough for 0.5.12."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port <= 55_000:
            return port


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until it holds."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, f"this did not come: {what}"
        time.sleep(0.01)


class StandIn:
    """One that was started."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path, folder: Path) -> None:
        self.process, self.port, self.log_path, self.folder = process, port, log, folder

    @property
    def log(self) -> str:
        """What it said so far."""
        return self.log_path.read_text("utf-8", "replace")

    @property
    def scheduler(self) -> int:
        """The process below it."""
        (found,) = children(self.process.pid)
        return found

    def until_said(self, text: str) -> None:
        """Wait for it to say something."""
        wait_for(lambda: text in self.log, text)

    def ready(self) -> StandIn:
        """Wait until it says that it is."""
        wait_for(lambda: "ready to roll" in self.log or self.process.poll() is not None, "an end of loading")
        assert "ready to roll" in self.log, self.log
        return self

    def ask(
        self, method: str, path: str, body: object = None, *, limit_s: float = PATIENCE_S, key: str = ""
    ) -> tuple[int, bytes]:
        """One request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit_s)
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str, *, limit_s: float = PATIENCE_S, key: str = "") -> Any:
        """The JSON that it answers."""
        status, body = self.ask("GET", path, limit_s=limit_s, key=key)
        assert status == 200, (status, body)
        return json.loads(body)

    def post(self, path: str, body: object) -> Any:
        """The JSON that it answers to a body."""
        status, answer = self.ask("POST", path, body)
        assert status == 200, (status, answer)
        return json.loads(answer)

    def chat(self, text: str = "Say something.", **changes: Any) -> Any:
        """One chat completion."""
        return self.post("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], **changes})

    def terminate(self) -> int:
        """SIGTERM; returns how it ended."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


def spec_of(
    *,
    version: str = "0.5.23",
    faults: Sequence[str] = (),
    arguments: Sequence[str] = ("--max-running-requests", "4"),
    load_s: float = 0.1,
    granted: int = 4,
    replicas: int = 1,
    parser: str = "",
) -> FleetSpec:
    """A rehearsed launch."""
    gpus = simulated_gpus(f"rtx-pro-6000x{replicas}")
    made = tuple(
        ReplicaSpec(number, free_port(), free_port(), (gpus[number],), Expectation(granted, 100_000, FOOTPRINT))
        for number in range(replicas)
    )
    return FleetSpec(
        name="rehearsed",
        model=MODEL,
        replicas=made,
        sglang=version,
        python=sys.executable,
        arguments=(*arguments, *(("--reasoning-parser", parser) if parser else ())),
        reasoning_parser=parser,
        rehearsal=Rehearsal(load_s, tuple(faults)),
    )


@contextmanager
def started(
    spec: FleetSpec,
    folder: Path,
    *words: str,
    index: int = 0,
    environment: dict[str, str] | None = None,
    changes: dict[str, Any] | None = None,
) -> Iterator[StandIn]:
    """One of its replicas. ``changes``: of its profile."""
    replica = spec.replica(index)
    path = profile_of(spec, replica, folder)
    if changes:
        write_profile(make_profile(spec, replica, folder)._replace(**changes), path)
    log = folder / f"log-{index}-{time.monotonic_ns()}"
    fixed = ("--host", "127.0.0.1", "--port", str(replica.port), "--nccl-port", str(replica.nccl_port))
    command = [sys.executable, "-m", "sm120kit.fleet.rehearsal.server", "--profile", str(path)]
    command += ["--model-path", spec.model, *spec.arguments, *fixed, *words]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    try:
        yield StandIn(process, replica.port, log, folder)
    finally:
        below = children(process.pid)
        for pid in (process.pid, *below) if process.poll() is None else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
