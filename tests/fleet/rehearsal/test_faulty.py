"""Every fault that can be asked for, as it is seen from outside."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from sm120kit.capacity.machine import TAKEN_BY_DRIVER
from sm120kit.cli.main import main
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.rehearsal.faults import KINDS
from sm120kit.fleet.rehearsal.gpus import SimulatedGpus
from tests.fleet.rehearsal.stand_ins import FOOTPRINT, PATIENCE_S, VERSIONS, spec_of, started, wait_for

pytestmark = pytest.mark.rehearsal

versions = pytest.mark.parametrize("version", VERSIONS)
TESTED = {
    "hang", "hangs-later", "slow", "crash-at-graphs", "wrong-text", "empty-reasoning", "lower-grant", "stolen-port",
    "refuses-sigterm", "leaks-memory", "dies-later", "exits-at-start",
}  # fmt: skip


def test_none_is_forgotten_here() -> None:
    assert set(KINDS) == TESTED


@pytest.mark.parametrize("fault", ["hang", "hangs-later"])
def test_hangs(fault: str, tmp_path: Path) -> None:
    environment = {"SGLANG_HEALTH_CHECK_TIMEOUT": "1"}
    changes = {"later_s": 0.5, "faults": (fault,)}
    with started(spec_of(), tmp_path, environment=environment, changes=changes) as server:
        server.ready()
        if fault == "hangs-later":
            assert server.get("/server_info", limit_s=5)
        stat = Path(f"/proc/{server.scheduler}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "a stopped scheduler")
        assert server.get("/model_info")
        assert server.ask("GET", "/health")[0] == 503
        assert server.process.poll() is None


def test_slow(tmp_path: Path) -> None:
    took = []
    spec = spec_of(faults=("slow:1",), replicas=2)
    for index in (0, 1):
        with started(spec, tmp_path, index=index) as server:
            server.ready()
            begun = time.monotonic()
            server.post("/generate", {"text": "x", "sampling_params": {"max_new_tokens": 100, "ignore_eos": True}})
            took.append(time.monotonic() - begun)
    assert took[1] > 2 * took[0]


@versions
def test_crash_at_graphs(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(spec_of(version=version, faults=("crash-at-graphs",)), tmp_path) as server:
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
        assert "Scheduler hit an exception: Traceback" in server.log
        assert "Capture cuda graph failed: CUDA out of memory." in server.log
        option = "--cuda-graph-max-bs" if version == "0.5.12" else "--cuda-graph-max-bs-decode"
        assert f"2. set {option} to a smaller value (e.g., 16)" in server.log
        assert "Received sigquit from a child process. It usually means the child failed." in server.log
        assert _named(server.log_path, capsys) == "memory.graph-capture-no-room"


def _named(log: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The cause that ``sm120kit why`` finds."""
    main(["why", str(log), "--json"])
    causes: list[dict[str, str]] = json.loads(capsys.readouterr().out)["causes"]
    return causes[0]["check"]


def test_wrong_text(tmp_path: Path) -> None:
    spec = spec_of(faults=("wrong-text:1",), replicas=2)
    texts = []
    for index in (0, 1):
        with started(spec, tmp_path, index=index) as server:
            texts.append(server.ready().chat()["choices"][0]["message"]["content"])
    assert texts[0] != texts[1]
    assert "!!!!" in texts[1]


def test_empty_reasoning(tmp_path: Path) -> None:
    with started(spec_of(faults=("empty-reasoning",), parser="qwen3"), tmp_path) as server:
        message = server.ready().chat()["choices"][0]["message"]
        assert message["reasoning_content"] is None
        assert message["content"]


@versions
def test_lower_grant(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version, faults=("lower-grant",)), tmp_path) as server:
        info = server.ready().get("/server_info")
        assert info["max_running_requests"] == 4
        assert info["internal_states"][0]["effective_max_running_requests_per_dp"] == 2
        assert server.get("/v1/loads")["loads"][0]["max_running_requests"] == 2
        assert ", max_running_requests=2, " in server.log
        # The older version says nothing of it.
        assert ("max_running_requests was reduced from the requested 4 to 2" in server.log) is (version == "0.5.23")


@versions
def test_stolen_port(version: str, tmp_path: Path) -> None:
    spec = spec_of(version=version, faults=("stolen-port",), load_s=1)
    environment = {"SM120KIT_TEST_MARK": str(tmp_path)}
    stranger = 0
    try:
        with started(spec, tmp_path, environment=environment) as server:
            root = identify(server.process.pid)
            assert root is not None
            wait_for(lambda: bool(_listeners(server.port)), "a stranger")
            (stranger,) = _marked(tmp_path) - {process.pid for process in family(root)}
            assert os.getsid(stranger) != os.getsid(server.process.pid)
            assert server.ask("GET", "/model_info")[0] == 200
            assert server.process.wait(PATIENCE_S) == (3 if version == "0.5.12" else -signal.SIGKILL)
            assert "address already in use" in server.log
            assert "The server is fired up and ready to roll!" in server.log
            assert server.ask("GET", "/model_info")[0] == 200
    finally:
        if stranger:
            os.kill(stranger, signal.SIGKILL)


def _listeners(port: int) -> list[str]:
    """Inodes of the sockets that listen there."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [words[9] for words in lines if words[1].endswith(f":{port:04X}") and words[3] == "0A"]


def _marked(folder: Path) -> set[int]:
    """Processes that inherited the mark of this test."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                marked = f"SM120KIT_TEST_MARK={folder}".encode() in (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found |= {int(process.name)} if marked else set()
    return found


@versions
def test_refuses_sigterm(version: str, tmp_path: Path) -> None:
    with started(spec_of(version=version, faults=("refuses-sigterm",)), tmp_path) as server:
        server.until_said("server_args=")
        wait_for(lambda: "Uvicorn" in server.log, "a port")
        server.process.terminate()
        wait_for(lambda: server.log.count("Gracefully exiting... Remaining number of requests 1.") > 2, "refusals")
        assert server.process.poll() is None


def test_leaks_memory(tmp_path: Path) -> None:
    with started(spec_of(faults=("leaks-memory",)), tmp_path) as server:
        server.ready().terminate()
    left = SimulatedGpus(tmp_path / "gpus").read()["GPU-rehearsal-0"].used - TAKEN_BY_DRIVER
    assert left == pytest.approx(FOOTPRINT, abs=64)


@versions
def test_dies_later(version: str, tmp_path: Path) -> None:
    spec = spec_of(version=version, faults=("dies-later",))
    with started(spec, tmp_path, changes={"later_s": 0.5}) as server:
        assert server.ready().get("/v1/loads")
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL
        assert "crashed with exit code -9" in server.log


def test_exits_at_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(spec_of(faults=("exits-at-start",)), tmp_path) as server:
        assert server.process.wait(PATIENCE_S) == 1
        assert "Load weight" not in server.log
        assert _named(server.log_path, capsys) == "wheels.kernel-package-wrong-cuda"


def test_a_fault_that_happens_once_is_gone_after_a_restart_and_back_in_the_next_launch(tmp_path: Path) -> None:
    spec = spec_of(faults=("exits-at-start:0:once",))
    for launch, code in (("one", 1), ("one", None), ("two", 1)):
        with started(spec, tmp_path, environment={"SM120KIT_FLEET": launch}) as server:
            if code is None:
                server.ready()
            else:
                assert server.process.wait(PATIENCE_S) == code


def test_other_replicas_are_healthy(tmp_path: Path) -> None:
    spec = spec_of(faults=("exits-at-start:1",), replicas=2)
    with started(spec, tmp_path, index=0) as server:
        server.ready()
