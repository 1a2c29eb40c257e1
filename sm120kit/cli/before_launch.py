"""What stands between an order and its servers: preflight, shown, and the copy of the model on a RAM disk."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from sm120kit.cli.live_table import error_terminal, say
from sm120kit.text import visible

if TYPE_CHECKING:
    from sm120kit.fleet.preparation.prepare import Prepared

_SAID_S = 10.0
"""Between two lines about the copy where no terminal is."""


def passes(prepared: Prepared, *, verbose: bool) -> bool:
    """Ask preflight, show what it found on standard error, and say whether the launch may go on.

    Raises:
        Sm120kitError: ``--force`` names something that preflight cannot find.
    """
    from sm120kit.fleet.preflight.run import run_preflight
    from sm120kit.report.preflight import render_preflight

    found = run_preflight(prepared)
    width, colour = error_terminal()
    text = render_preflight(
        found,
        prepared.spec.name,
        rehearsal=prepared.spec.rehearsal is not None,
        width=width,
        colour=colour,
        verbose=verbose,
        encoding=sys.stderr.encoding or "utf-8",
    )
    say(text.rstrip("\n"))
    return not found.stopping


def stage(prepared: Prepared) -> None:
    """Copy the model to where the servers will load it from, if that was asked for; the progress is shown.

    Raises:
        Sm120kitError: it cannot be copied as a whole; then nothing of it is left.
    """
    folder = prepared.order.stage
    if not folder or prepared.spec.rehearsal:
        return
    from sm120kit.fleet.preparation.staging import stage_model

    copying = _Copying(sys.stderr.isatty())
    stage_model(prepared.place.folder, folder, copying)
    copying.end()
    say(visible(f"sm120kit: the model lies in {prepared.spec.model}"))


class _Copying:
    """Says how far the copy is: on one line that is written over, or from time to time."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._said = -_SAID_S
        self._begun = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._said < (0.2 if self._terminal else _SAID_S) and done < total:
            return
        self._said, self._begun = now, True
        gib = 1 << 30
        text = f"sm120kit: copying the model: {done / gib:.1f} of {total / gib:.1f} GiB"
        click.echo(f"\r{text}\x1b[K" if self._terminal else text, err=True, nl=not self._terminal)

    def end(self) -> None:
        """Nothing more will be said of it."""
        if self._terminal and self._begun:
            click.echo("", err=True)
