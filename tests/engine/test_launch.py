"""Genuine SGLang servers on the CPU, launched, verified, killed, hung and stopped by the command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sm120kit.cli.main import main
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import marked
from sm120kit.fleet.types import Fleet, ProcessId
from tests.engine.fleets import Launched, chat, launched
from tests.fleet.rehearsing import story

pytestmark = pytest.mark.engine

HANG_S = 15.0


def worker(fleet: Fleet, index: int, name: str) -> ProcessId:
    """One of the processes of a server, by the beginning of its name."""
    root = fleet.replicas[index].process
    assert root is not None
    names = {each: Path(f"/proc/{each.pid}/comm").read_text().strip() for each in family(root)}
    return next(each for each, found in names.items() if found.startswith(name))


@contextmanager
def asked_all_the_time(port: int) -> Iterator[list[str]]:
    """Somebody who asks a server again and again; the list holds what went wrong."""
    wrong: list[str] = []
    answered = [0]
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                chat(port)
                answered[0] += 1
            except (OSError, ValueError, urllib.error.URLError) as error:
                wrong.append(str(error))
            over.wait(0.5)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield wrong
    finally:
        over.set()
        asking.join()
    assert answered[0] > 5


def assert_gone(fleet: Launched, members: tuple[ProcessId, ...]) -> None:
    """Nothing of it is left."""
    state = fleet.state()
    assert state is not None
    assert state.ended, story(state)
    assert not [each for each in members if alive(each)]
    assert marked(state.id) == ()
    for port in fleet.ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))


def members_of(state: Fleet) -> tuple[ProcessId, ...]:
    """Every process of the fleet, the supervisor's own included."""
    assert state.supervisor is not None
    return family(state.supervisor)


def test_two_servers_from_command_to_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with launched("0.5.23", tmp_path, 2, "--detach", "--json", "--hang-limit", f"{HANG_S:g}") as fleet:
        code, out, err = fleet.finished()
        assert code == 0, err
        printed = json.loads(out)
        assert printed["verified"]
        assert printed["level"] == "load"
        assert printed["granted_total"] == 8
        for each in printed["replicas"]:
            assert (each["requested"], each["granted"], each["state"]) == (4, 4, "verified")
            passed = {one["name"] for one in each["verdicts"] if one["passed"]}
            assert passed >= {"port-owner", "model", "generation", "configuration", "concurrency", "load"}
        assert chat(fleet.ports[0])["choices"][0]["finish_reason"] in ("length", "stop")

        before = fleet.state()
        assert before is not None
        with asked_all_the_time(fleet.ports[1]) as wrong:
            os.kill(worker(before, 0, "sglang::schedul").pid, signal.SIGKILL)
            killed = time.monotonic()
            fleet.until(lambda state: not state.verified)
            assert time.monotonic() - killed < 1
            after = fleet.until(lambda state: state.verified)
        assert wrong == []
        assert after.replicas[0].restarts == 1
        assert after.replicas[0].process != before.replicas[0].process
        assert after.replicas[1].process == before.replicas[1].process
        assert after.replicas[1].since == before.replicas[1].since

        scheduler = worker(after, 1, "sglang::schedul").pid
        os.kill(scheduler, signal.SIGSTOP)
        stopped = time.monotonic()
        fleet.until(lambda state: state.replicas[1].state == "hung")
        assert time.monotonic() - stopped < HANG_S + 5
        os.kill(scheduler, signal.SIGCONT)
        again = fleet.until(lambda state: state.verified)
        assert again.replicas[1].process == after.replicas[1].process

        capsys.readouterr()
        assert main(["verify", "genuine", "--level", "standard", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["verified"]

        members = members_of(again)
        assert main(["stop", "genuine"]) == 0
        assert_gone(fleet, members)


def test_the_older_version_also_in_its_endless_drain(tmp_path: Path) -> None:
    with launched("0.5.12", tmp_path, 1, "--detach", "--drain-limit", "8") as fleet:
        code, _, err = fleet.finished()
        assert code == 0, err
        state = fleet.state()
        assert state is not None
        assert state.verified
        with pytest.raises(urllib.error.HTTPError) as refused:
            over_long(fleet.ports[0])
        assert refused.value.code == 400
        refused.value.close()
        members = members_of(state)
        begun = time.monotonic()
        assert main(["stop", "genuine"]) == 0
        assert time.monotonic() - begun < 8 + 15
        assert_gone(fleet, members)
        assert "did not end within 8 s of SIGTERM" in story(fleet.until(lambda state: state.ended))


def over_long(port: int) -> None:
    """A request that holds more tokens than the context: SGLang 0.5.12 never forgets one, and drains for ever."""
    import urllib.request

    body = json.dumps({"text": "x" * 3000, "sampling_params": {"max_new_tokens": 4}}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/generate", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=60).close()


class Stranger(BaseHTTPRequestHandler):
    """Answers everything with 200, as a server of somebody else might."""

    def do_GET(self) -> None:
        """Any question."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "any"}], "model_path": "any", "text": "any"}')

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002 - as the base class names it
        """Say nothing."""


@contextmanager
def stranger_on(port: int) -> Iterator[None]:
    """A server that is none of ours."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Stranger)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_a_port_taken_before_is_refused_at_once_and_one_taken_meanwhile_never_counts(tmp_path: Path) -> None:
    with launched("0.5.23", tmp_path, 1, "--restarts", "0", "--level", "quick") as fleet:
        states = set()

        def look(state: Fleet) -> bool:
            states.add(state.replicas[0].state)
            return state.ended

        fleet.until(lambda state: state.replicas[0].state == "loading")
        with stranger_on(fleet.ports[0]):
            state = fleet.until(look)
            code, _, err = fleet.finished()
            assert code == 1, err
            assert "verified" not in states
            cause = state.replicas[0].deaths[0].causes[0]
            assert cause.check == "server.port-in-use", story(state)
            assert f"is held by process {os.getpid()}" in cause.message

            begun = time.monotonic()
            home = tmp_path / "second"
            home.mkdir()
            with taken(home, fleet.ports[0]) as (code, err):
                assert code == 1
                assert "launch.port-taken" in err
            assert time.monotonic() - begun < 20


@contextmanager
def taken(home: Path, port: int) -> Iterator[tuple[int, str]]:
    """A launch onto a port that somebody has."""
    with launched("0.5.23", home, 1, "--base-port", str(port), name="second") as fleet:
        code, _, err = fleet.finished()
        assert fleet.state() is None
        yield code, err
