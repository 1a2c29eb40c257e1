"""Shows a fleet while something is awaited: a table on a terminal, lines for what happened elsewhere. Both on standard
error: standard output is for the result."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from sm120kit.cli.output import PIPED_WIDTH, Terminal

if TYPE_CHECKING:
    from sm120kit.fleet.types import Fleet
    from sm120kit.report.fleet_events import Told

_SOONEST_S, _LATEST_S = 0.2, 0.5
"""Between two drawings: where something changed, and where only the clock in the table went on."""

_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""A line that is too long must stay one line, or the next drawing would begin too low."""


class Progress:
    """Shows each fleet that :meth:`show` is given."""

    def __init__(self, *, seen: Fleet | None = None, table: bool = True) -> None:
        """``seen``: what was shown of it before. ``table`` False: lines also on a terminal."""
        self._terminal = table and _is_terminal()
        self._seen = seen
        self._told: Told | None = None
        self._drawn_at = -_LATEST_S
        self._height = 0

    def show(self, fleet: Fleet) -> None:
        """Show it, where it changed or the clock went on."""
        if self._terminal:
            changed = fleet != self._seen
            if time.monotonic() - self._drawn_at >= (_SOONEST_S if changed else _LATEST_S):
                self._draw(fleet)
                self._seen = fleet
            return
        from sm120kit.report.fleet_events import Told

        now = time.monotonic()
        self._told = self._told or Told(now, self._seen)
        for line in self._told.lines(fleet, now):
            say(line)

    def clear(self) -> None:
        """Say what was not said yet, or take the table away, for the result to stand in its place."""
        for line in self._told.rest() if self._told else ():
            say(line)
        if self._height:
            _write(f"\x1b[{self._height}F\x1b[J")
            self._height = 0

    def _draw(self, fleet: Fleet) -> None:
        from sm120kit.report.fleet import render_live

        width, colour = error_terminal()
        lines = render_live(fleet, time.time(), width=width, colour=colour).splitlines()[: _size().lines - 1]
        back = f"\x1b[{self._height}F\x1b[J" if self._height else ""
        _write(back + _NO_WRAP + "\n".join(lines) + "\n" + _WRAP)
        self._height = len(lines)
        self._drawn_at = time.monotonic()


def error_terminal() -> Terminal:
    """The terminal on standard error; plain and of fixed width where none is."""
    if not _is_terminal():
        return Terminal(PIPED_WIDTH, colour=False)
    return Terminal(_size().columns, colour=not os.environ.get("NO_COLOR"))


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _size() -> os.terminal_size:
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    return os.terminal_size((size.columns or PIPED_WIDTH, size.lines or 24))


def say(line: str) -> None:
    """A line on standard error. Who watches may go away; no fleet depends on it."""
    with suppress(OSError):
        click.echo(line, err=True)


def _write(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
