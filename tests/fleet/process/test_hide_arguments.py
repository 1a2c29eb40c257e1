"""A secret that was typed is not seen by ``ps``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHILD = """
import sys
from sm120kit.fleet.process.hide_arguments import hide_arguments
print(hide_arguments(sys.argv[1:2]), flush=True)
sys.stdin.readline()
"""


def test_a_typed_secret_is_written_over() -> None:
    command = [sys.executable, "-c", CHILD, "sésame-123", "--api-key=sésame-123", "plain"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
        process.kill()
    assert "sésame" not in shown
    assert shown.endswith("\0--api-key=***********\0plain\0")
