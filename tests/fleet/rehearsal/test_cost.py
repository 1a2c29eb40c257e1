"""What stand-ins cost: eight on two cores start at once, and one carries many requests."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fleet.rehearsal.stand_ins import PATIENCE_S, StandIn, spec_of, started, wait_for

pytestmark = pytest.mark.rehearsal

LOAD_S = 1.0
CPU_S = 0.5
"""Of one stand-in from its start until it is ready: measured 0.1 on a quiet machine, and this says that it is not
seconds. Time on the clock is not judged: it is that of a machine which does other things too."""


def _cpu_s(server: StandIn) -> float:
    ticks = 0
    for pid in (server.process.pid, server.scheduler):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def test_eight_at_once(tmp_path: Path) -> None:
    spec = spec_of(replicas=8, load_s=LOAD_S)
    with ExitStack() as stack:
        servers = [stack.enter_context(started(spec, tmp_path, index=number)) for number in range(8)]
        for server in servers:
            server.ready()
        assert max(map(_cpu_s, servers)) < CPU_S
        before = sum(map(_cpu_s, servers))
        time.sleep(0.5)
        assert sum(map(_cpu_s, servers)) - before < 0.1


def test_many_requests_at_once(tmp_path: Path) -> None:
    spec = spec_of(granted=256, arguments=("--max-running-requests", "256"))
    body = b'{"text":"x","sampling_params":{"max_new_tokens":200,"ignore_eos":true}}'
    question = b"POST /generate HTTP/1.1\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    with started(spec, tmp_path) as server, ExitStack() as stack:
        server.ready()
        before = _cpu_s(server)
        address = ("127.0.0.1", server.port)
        clients = [stack.enter_context(socket.create_connection(address, PATIENCE_S)) for _ in range(256)]
        for client in clients:
            client.sendall(question)
        wait_for(lambda: server.get("/v1/loads")["loads"][0]["num_running_reqs"] == 256, "all in flight")
        for client in clients:
            answer = b""
            while data := client.recv(65536):
                answer += data
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert _cpu_s(server) - before < 1.5
