"""What is said on standard error: as wide as the terminal there, and one line where there is none."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from tests.cli.conftest import Command


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a person sees on standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    try:
        ran = subprocess.run([sys.executable, "-m", "sm120kit", *arguments], stderr=theirs, timeout=60, check=False)
        assert ran.returncode == 2
        return os.read(ours, 1 << 16).decode().splitlines()
    finally:
        os.close(theirs)
        os.close(ours)


def test_messages_are_wrapped_and_commands_are_not_broken() -> None:
    assert on_terminal(60, "fix", "--apply", "--snapshot", "x") == [
        "sm120kit: --snapshot does not go with this command: a",
        "  snapshot is a record, nothing can be run or changed in it",
        "  Name the target itself, or judge the snapshot with:",
        "    sm120kit doctor --snapshot FILE",
    ]


def test_where_nobody_reads_along_a_message_is_one_line(sm120kit: Command) -> None:
    lines = sm120kit("fix", "--apply", "--snapshot", "x").err.splitlines()
    assert [line[:22] for line in lines] == ["sm120kit: --snapshot d", "  Name the target itse"]


def test_many_names_are_a_list_of_their_own(sm120kit: Command) -> None:
    message, hint, *names = sm120kit("doctor", "--gpu", "nothing").err.splitlines()
    assert message.endswith("no GPU called 'nothing' is known")
    assert hint == "  Give a compute capability such as 12.0, or one of these"
    assert len(names) > 2
    assert all(line.startswith("    ") and len(line) <= 100 for line in names)
    assert "rtx-pro-6000" in names[0]
    assert all(len(line) <= 50 for line in on_terminal(50, "doctor", "--gpu", "nothing"))
