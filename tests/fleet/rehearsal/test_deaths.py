"""How a stand-in starts, hangs, drains and dies: as SGLang was seen to."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from sm120kit.capacity.machine import TAKEN_BY_DRIVER
from sm120kit.fleet.process.family import children
from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.rehearsal.gpus import SimulatedGpus
from tests.fleet.rehearsal.stand_ins import (
    FOOTPRINT,
    PATIENCE_S,
    VERSIONS,
    StandIn,
    spec_of,
    started,
    wait_for,
)

pytestmark = pytest.mark.rehearsal

versions = pytest.mark.parametrize("version", VERSIONS)
HALF_A_MINUTE = {"text": "x", "sampling_params": {"max_new_tokens": 6_000, "ignore_eos": True}}


def _gone(pid: int) -> bool:
    return identify(pid) is None


def _held(folder: Path) -> int:
    """Bytes more than on idle GPUs."""
    return sum(gpu.used - TAKEN_BY_DRIVER for gpu in SimulatedGpus(folder / "gpus").read().values())


def _ask_in_background(server: StandIn, body: object, answers: list[int]) -> threading.Thread:
    def ask() -> None:
        try:
            answers.append(server.ask("POST", "/generate", body)[0])
        except OSError:
            answers.append(0)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@versions
def test_it_refuses_then_is_starting_then_ready(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version, load_s=1), tmp_path) as server:
        seen: list[int] = []
        while not seen or seen[-1] != 200:
            try:
                status = server.ask("GET", "/health")[0]
            except ConnectionRefusedError:
                status = 0
            seen += [status] if not seen or seen[-1] != status else []
            time.sleep(0.005)
        assert seen == [0, 503, 200]
        assert _held(tmp_path) == pytest.approx(FOOTPRINT, abs=64)


@versions
def test_a_health_probe_takes_its_second(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version), tmp_path) as server:
        server.ready()
        begun = time.monotonic()
        assert server.ask("GET", "/health_generate")[0] == 200
        assert time.monotonic() - begun >= 1


def test_health_without_generation_is_at_once(tmp_path: Path) -> None:
    off = {"SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "0"}
    with started(spec_of(), tmp_path, environment=off) as server:
        server.ready()
        begun = time.monotonic()
        assert server.ask("GET", "/health")[0] == 200
        assert time.monotonic() - begun < 0.9


@versions
def test_a_killed_scheduler_takes_the_server_with_it(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version), tmp_path) as server:
        scheduler = server.ready().scheduler
        os.kill(scheduler, signal.SIGKILL)
        begun = time.monotonic()
        wait_for(lambda: _held(tmp_path) == 0, "freed memory")
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
        assert time.monotonic() - begun < 5
        assert f"Subprocess scheduler_0 (pid={scheduler}) crashed with exit code -9. Triggering SIGQUIT" in server.log
        assert "SIGQUIT received. signum=None, frame=None. It usually means one child failed." in server.log


@versions
def test_a_killed_server_takes_its_scheduler_with_it_even_a_stopped_one(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version), tmp_path) as server:
        scheduler = server.ready().scheduler
        os.kill(scheduler, signal.SIGSTOP)
        server.process.kill()
        wait_for(lambda: _gone(scheduler), "the scheduler's end")
        assert _held(tmp_path) == 0


@versions
def test_a_stopped_scheduler_answers_nothing_and_goes_on_where_it_was(version: str, tmp_path: Path) -> None:
    environment = {"SGLANG_HEALTH_CHECK_TIMEOUT": "1"}
    with started(spec_of(version=version), tmp_path, environment=environment) as server:
        scheduler = server.ready().scheduler
        os.kill(scheduler, signal.SIGSTOP)
        assert server.ask("GET", "/model_info")[0] == 200
        assert server.ask("GET", "/health")[0] == 503
        assert "couldn't get a response from detokenizer for last 1 seconds" in server.log
        with pytest.raises(TimeoutError):
            server.get("/server_info", limit_s=0.5)
        os.kill(scheduler, signal.SIGCONT)
        assert server.get("/server_info")["status"] == "ready"
        assert server.ask("GET", "/health")[0] == 200


@versions
def test_sigterm_drains_what_runs(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version), tmp_path) as server:
        server.ready()
        scheduler = server.scheduler
        answers: list[int] = []
        body = {"text": "x", "sampling_params": {"max_new_tokens": 200, "ignore_eos": True}}
        asking = _ask_in_background(server, body, answers)
        wait_for(lambda: server.get("/v1/loads")["loads"][0]["num_running_reqs"] == 1, "a running request")
        server.process.terminate()
        server.until_said("Gracefully exiting... Remaining number of requests 1.")
        assert server.ask("GET", "/health")[0] == 503
        # 0.5.12 kills itself at the end, 0.5.23 does not.
        assert server.process.wait(PATIENCE_S) == (-signal.SIGKILL if version == "0.5.12" else 0)
        asking.join()
        assert answers == [200]
        assert _gone(scheduler)
        assert _held(tmp_path) == 0


@versions
def test_a_request_that_was_too_long_keeps_the_older_version_draining(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version), tmp_path) as server:
        server.ready()
        assert server.ask("POST", "/generate", {"text": "again " * 40_000})[0] == 400
        server.process.terminate()
        if version == "0.5.23":
            assert server.process.wait(PATIENCE_S) == 0
        else:
            wait_for(lambda: server.log.count("Remaining number of requests 1.") >= 3, "an endless drain")
            assert server.process.poll() is None


@versions
def test_a_server_that_knows_it_is_unhealthy_ends_at_once(version: str, tmp_path: Path) -> None:
    environment = {"SGLANG_HEALTH_CHECK_TIMEOUT": "1"}
    with started(spec_of(version=version), tmp_path, environment=environment) as server:
        os.kill(server.ready().scheduler, signal.SIGSTOP)
        assert server.ask("GET", "/health")[0] == 503
        server.terminate()
        assert "Signal SIGTERM received while health check failed. Force exiting." in server.log


def test_a_forced_end_drains_nothing(tmp_path: Path) -> None:
    with started(spec_of(), tmp_path, environment={"SGL_FORCE_SHUTDOWN": "1"}) as server:
        server.ready()
        answers: list[int] = []
        asking = _ask_in_background(server, HALF_A_MINUTE, answers)
        wait_for(lambda: server.get("/v1/loads")["loads"][0]["num_running_reqs"] == 1, "a running request")
        server.terminate()
        asking.join()
        assert answers == [0]


def test_sigterm_ends_one_that_loads(tmp_path: Path) -> None:
    with started(spec_of(load_s=30), tmp_path) as server:
        server.until_said("server_args=")
        wait_for(lambda: len(children(server.process.pid)) == 1, "a scheduler")
        scheduler = server.scheduler
        assert server.terminate() == -signal.SIGTERM
        wait_for(lambda: _gone(scheduler), "the scheduler's end")


@versions
def test_a_port_that_is_taken_while_it_loads(version: str, tmp_path: Path) -> None:
    spec, elsewhere = spec_of(version=version), tmp_path / "other"
    elsewhere.mkdir()
    with started(spec_of(), elsewhere) as other, socket.socket() as keeper:
        other.ready()
        keeper.bind(("127.0.0.1", spec.replicas[0].port))
        keeper.listen()
        accepting = threading.Thread(target=_forward, args=(keeper, other.port), daemon=True)
        accepting.start()
        with started(spec, tmp_path) as server:
            assert server.process.wait(PATIENCE_S) == (3 if version == "0.5.12" else -signal.SIGKILL)
            assert "address already in use" in server.log
            assert "The server is fired up and ready to roll!" in server.log
            assert "Uvicorn running" not in server.log


def _forward(keeper: socket.socket, port: int) -> None:
    """Answer as the server at ``port`` does."""
    while True:
        try:
            client, _ = keeper.accept()
        except OSError:
            return
        with client, socket.create_connection(("127.0.0.1", port)) as behind:
            behind.sendall(client.recv(65536))
            while data := behind.recv(65536):
                client.sendall(data)


def test_a_nccl_port_that_is_taken(tmp_path: Path) -> None:
    spec = spec_of()
    with socket.socket() as keeper:
        keeper.bind(("127.0.0.1", spec.replicas[0].nccl_port))
        keeper.listen()
        with started(spec, tmp_path) as server:
            assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
            assert f"port: {spec.replicas[0].nccl_port}, useIpv6: false, code: -98, name: EADDRINUSE" in server.log


def test_a_gpu_that_is_full_already(tmp_path: Path) -> None:
    spec = spec_of()
    with started(spec, tmp_path) as first:
        first.ready()
        other = spec_of()
        with started(other, tmp_path) as second:
            assert second.process.wait(PATIENCE_S) == -signal.SIGKILL
            assert "torch.OutOfMemoryError: CUDA out of memory." in second.log
            assert "Received sigquit from a child process. It usually means the child failed." in second.log
        assert first.get("/v1/models")


def test_the_older_version_needs_a_port_above_its_own(tmp_path: Path) -> None:
    spec = spec_of(version="0.5.12")
    with started(spec, tmp_path, "--port", "60000") as server:
        assert server.process.wait(PATIENCE_S) == 1
        assert "SGLANG_GRPC_PORT (70000) must be between 1 and 65535" in server.log


def test_a_scheduler_that_is_killed_while_it_loads(tmp_path: Path) -> None:
    with started(spec_of(load_s=30), tmp_path) as server:
        server.until_said("server_args=")
        wait_for(lambda: len(children(server.process.pid)) == 1, "a scheduler")
        os.kill(server.scheduler, signal.SIGKILL)
        assert server.process.wait(PATIENCE_S) == 1
        assert "Rank 0 scheduler died during initialization (exit code: -9)" in server.log


def test_a_living_one_is_known_by_its_start(tmp_path: Path) -> None:
    with started(spec_of(), tmp_path) as server:
        process = identify(server.ready().scheduler)
        assert process is not None
        assert alive(process)
