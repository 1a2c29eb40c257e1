"""A process is known by more than its number."""

from __future__ import annotations

import os
import subprocess
import sys

from msgspec.structs import replace

from sm120kit.fleet.process.identity import alive, identify


def test_this_process_is_alive_and_another_start_time_is_another_process() -> None:
    own = identify(os.getpid())
    assert own is not None
    assert alive(own)
    assert not alive(replace(own, started=own.started - 1))
    assert not alive(replace(own, boot="another"))


def test_a_process_that_ended_is_none_even_while_nobody_reaped_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert identify(process.pid) is None
    process.wait()


def test_a_name_with_spaces_and_parentheses_is_no_obstacle() -> None:
    code = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) R (b 1 2'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = identify(process.pid)
        assert found is not None
        assert found.started > 1000
        process.communicate(b"")
