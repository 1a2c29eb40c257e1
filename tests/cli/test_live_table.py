"""How a fleet is shown while something is awaited."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from sm120kit.cli.live_table import Progress
from tests.fleets import event, fleet, replica

ROOT = Path(__file__).resolve().parents[2]

DRAWING = """
import time
from msgspec.structs import replace
from sm120kit.cli.live_table import Progress
from tests.fleets import fleet, replica
one = fleet(*(replica(each, "loading", phase="weights") for each in range(3)), name="x" * 200)
progress = Progress()
progress.show(one)
progress.show(one)
time.sleep(0.3)
progress.show(replace(one, replicas=(replica(0), *one.replicas[1:])))
progress.clear()
print("result")
"""


def test_lines_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.show(fleet(replica(0, "loading", phase="weights"), events=(event("started", 1, 0),)))
    progress.show(fleet(replica(0, "loading", phase="graphs"), events=(event("started", 1, 0),)))
    progress.clear()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["replica 0: started"]


def test_what_was_shown_before_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    one = fleet(replica(0), events=(event("started", 1, 0),))
    Progress(seen=one).show(one)
    assert capsys.readouterr().err == ""


def screen(text: str, rows: int, columns: int) -> list[str]:
    """What a terminal shows after this: it obeys line breaks, and what Progress sends."""
    lines, row, column = [""], 0, 0
    wrap, position = True, 0
    while position < len(text):
        if text.startswith("\x1b[", position):
            end = next(place for place in range(position + 2, len(text)) if text[place].isalpha())
            number, letter = text[position + 2 : end], text[end]
            position = end + 1
            if letter == "F":
                assert int(number) < rows, "the cursor stops at the top, and all would be drawn too low"
                row, column = row - int(number), 0
            elif letter == "J":
                del lines[row + 1 :]
                lines[row] = lines[row][:column]
            elif number == "?7":
                wrap = letter == "h"
            continue
        character = text[position]
        position += 1
        if character == "\n":
            row += 1
            column = 0
            if row == len(lines):
                lines.append("")
        elif character != "\r":
            if column == columns:
                assert not wrap, "a line that is wrapped is two lines to the terminal"
                continue
            lines[row] = lines[row][:column].ljust(column) + character
            column += 1
    return lines


@pytest.mark.parametrize(("rows", "columns"), [(24, 100), (24, 60), (6, 80)])
def test_the_table_is_drawn_over_itself_and_taken_away(rows: int, columns: int) -> None:
    leader, follower = pty.openpty()
    resize(follower, rows, columns)
    process = subprocess.Popen(
        [sys.executable, "-c", DRAWING],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(follower)
    raw = b""
    try:
        while piece := os.read(leader, 1 << 16):
            raw += piece
    except OSError:  # how Linux says that nobody writes any more
        pass
    finally:
        os.close(leader)
        assert process.wait(30) == 0
    text = raw.decode()
    assert screen(text, rows, columns) == ["result", ""]
    before_clear = text[: text.rindex("\x1b[", 0, text.rindex("\x1b["))]
    shown = screen(before_clear, rows, columns)
    assert len(shown) <= rows
    assert any("loading" in line for line in shown)


def resize(descriptor: int, rows: int, columns: int) -> None:
    import fcntl
    import struct

    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
