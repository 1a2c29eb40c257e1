"""Whose socket it is that an address leads to: asked of the real kernel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.types import ProcessId, Verdict
from sm120kit.fleet.verification.port_owner import Holder, judge_port_owner, listening

_LISTEN = """
import os, socket, sys, time
host, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind((host, port))
server.listen()
if how == "forked" and os.fork():
    server.close()
    time.sleep(60)
print(server.getsockname()[1], flush=True)
time.sleep(60)
"""


@contextmanager
def listener(
    host: str = "127.0.0.1", port: int = 0, how: str = "itself", *more: str
) -> Iterator[tuple[ProcessId, int]]:
    """A process that listens, and its port."""
    command = [sys.executable, "-c", _LISTEN, host, str(port), how, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            found = int(process.stdout.readline())
            root = identify(process.pid)
            assert root is not None
            yield root, found
        finally:
            os.killpg(process.pid, 9)


def judged(url: str, root: ProcessId, port: int) -> Verdict:
    """The verdict over what is there now."""
    return judge_port_owner(url, root, listening([port]))


def test_its_own_socket() -> None:
    with listener() as (root, port):
        verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert verdict.passed is True
    assert f"127.0.0.1:{port} is held by process {root.pid}" in verdict.evidence


def test_the_socket_of_a_child() -> None:
    with listener(how="forked") as (root, port):
        verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert verdict.passed is True
    assert verdict.evidence.endswith(f"which process {root.pid} started")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_socket_bound_to_every_address(host: str) -> None:
    with listener(host) as (root, port):
        assert judged(f"http://127.0.0.1:{port}", root, port).passed is True


def test_a_strangers_socket_is_named_without_its_secrets() -> None:
    with listener("127.0.0.1", 0, "itself", "--api-key", "s3cret") as (stranger, port), listener() as (root, _):
        verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert verdict.passed is False
    assert f"held by process {stranger.pid} (" in verdict.evidence
    assert "s3cret" not in verdict.evidence


def test_a_stranger_beside_us_at_the_very_address() -> None:
    with listener() as (root, port), listener(port=port) as (stranger, _):
        verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert verdict.passed is False
    assert f"process {stranger.pid}" in verdict.evidence


def test_a_stranger_at_another_address_does_not_matter() -> None:
    with listener() as (root, port), listener("127.0.0.2", port):
        assert judged(f"http://127.0.0.1:{port}", root, port).passed is True
        assert judged(f"http://127.0.0.2:{port}", root, port).passed is False


def test_a_stranger_at_every_address_beside_us_at_the_very_one() -> None:
    with listener() as (root, port), listener("0.0.0.0", port) as (stranger, _):
        assert judged(f"http://127.0.0.1:{port}", root, port).passed is True
        assert judged(f"http://127.0.0.1:{port}", stranger, port).passed is False
        assert judged(f"http://localhost:{port}", root, port).passed is False


def test_a_stranger_with_ipv6_alone_does_not_matter() -> None:
    root = identify(os.getpid())
    assert root is not None
    holders = [Holder("0.0.0.0", 9, os.getpid()), Holder("::", 9, 1)]
    assert judge_port_owner("http://127.0.0.1:9", root, holders).passed is True
    assert judge_port_owner("http://[::1]:9", root, holders).passed is False
    assert judge_port_owner("http://127.0.0.1:9", root, holders[1:]).passed is False


def test_a_socket_that_a_stranger_inherited_is_still_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        os.set_inheritable(server.fileno(), True)
        hold = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
        with subprocess.Popen(hold, pass_fds=[server.fileno()], stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout is not None
                child.stdout.readline()
                root = identify(child.pid)
                assert root is not None
                # Of the two holders, the kernel's list may name either: here it names the one that is not ours.
                inode = os.readlink(f"/proc/self/fd/{server.fileno()}")
                holders = [Holder("127.0.0.1", port, os.getpid(), inode)]
                assert judge_port_owner(f"http://127.0.0.1:{port}", root, holders).passed is True
            finally:
                child.kill()


def test_nobody_listens() -> None:
    with listener() as (root, port):
        verdict = judge_port_owner("http://127.0.0.1:9", root, listening([9]))
        elsewhere = judged(f"http://127.0.0.3:{port}", root, port)
    assert verdict.passed is False
    assert verdict.evidence == "nobody listens on 127.0.0.1:9"
    assert f"process {root.pid} listens on 127.0.0.1:{port}" in elsewhere.evidence


def test_a_process_that_has_ended() -> None:
    with listener() as (root, port):
        pass
    verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert verdict.passed is False
    assert verdict.evidence == f"the server's process {root.pid} has ended"
    with listener() as (stranger, port):
        verdict = judged(f"http://127.0.0.1:{port}", root, port)
    assert f"has ended; 127.0.0.1:{port} is held by process {stranger.pid} (" in verdict.evidence


def test_a_process_of_somebody_else() -> None:
    with listener() as (root, port):
        verdict = judge_port_owner(f"http://127.0.0.1:{port}", root, [Holder("127.0.0.1", port, None)])
    assert verdict.passed is False
    assert "a process of another user" in verdict.evidence
